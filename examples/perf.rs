use leaflog::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args[1].as_str() {
        "gen" => {
            let n: u64 = args[3].parse().unwrap();
            let f = match args[4].as_str() {
                "cb" => Format::CodebotV3,
                "v3" => Format::PiV3,
                _ => Format::PiV4,
            };
            let payload: usize = args[5].parse().unwrap();
            let mut out = std::io::BufWriter::with_capacity(
                1 << 20,
                std::fs::File::create(&args[2]).unwrap(),
            );
            let t = Instant::now();
            let w = generate::Shape::new(f, n)
                .payload(payload)
                .compact_every(200)
                .write_to(&mut out)
                .unwrap();
            println!("{w:?} {:?}", t.elapsed());
        }
        "build" => {
            for _ in 0..5 {
                let t = Instant::now();
                let s = OpenOptions::new()
                    .index(IndexMode::Memory)
                    .open(&args[2])
                    .unwrap();
                let e = t.elapsed();
                println!(
                    "build {:?} {:.2} GB/s idx {} B {:?}",
                    e,
                    s.overview().bytes as f64 / e.as_secs_f64() / 1e9,
                    s.index_status().bytes,
                    s.overview().report_count
                );
            }
        }
        "index" => {
            for _ in 0..3 {
                let _ = std::fs::remove_file(format!("{}.idx", args[2]));
                let t = Instant::now();
                let s = OpenOptions::new()
                    .index(IndexMode::Always)
                    .open(&args[2])
                    .unwrap();
                let e = t.elapsed();
                println!(
                    "index {:?} {:.2} GB/s idx {:?}",
                    e,
                    s.overview().bytes as f64 / e.as_secs_f64() / 1e9,
                    s.index_status()
                );
            }
        }
        "build1" => {
            OpenOptions::new()
                .index(IndexMode::Memory)
                .open(&args[2])
                .unwrap();
        }
        "tape" => {
            for _ in 0..5 {
                let data = std::fs::read(&args[2]).unwrap();
                let mut buffers = simd_json::Buffers::new(1 << 12);
                let mut buf = Vec::new();
                let t = Instant::now();
                let mut n = 0usize;
                let mut tape = simd_json::Tape::null();
                let mut prev = 0;
                for end in memchr::memchr_iter(b'\n', &data) {
                    let line = &data[prev..end];
                    prev = end + 1;
                    if line.is_empty() {
                        continue;
                    }
                    buf.clear();
                    buf.extend_from_slice(line);
                    let mut tp = std::mem::replace(&mut tape, simd_json::Tape(Vec::new())).reset();
                    simd_json::fill_tape(&mut buf, &mut buffers, &mut tp).unwrap();
                    n += tp.0.len();
                    tape = tp.reset();
                }
                let e = t.elapsed();
                println!(
                    "tape {:?} {:.2} GB/s {n}",
                    e,
                    data.len() as f64 / e.as_secs_f64() / 1e9
                );
            }
        }
        "resume" => {
            let mut v = vec![];
            for _ in 0..2000 {
                let t = Instant::now();
                let s = Session::open(&args[2]).unwrap();
                let snap = s.snapshot(At::Current).unwrap();
                v.push((t.elapsed(), snap.messages.len(), snap.messages.bytes()));
            }
            v.sort();
            println!("resume {:?} min {:?}", v[1000], v[0]);
        }
        _ => {}
    }
}

use leaflog::{At, IndexMode, OpenOptions, naive};
#[test]
fn cases_agree() {
    for file in std::fs::read_dir("tests/cases").unwrap() {
        let path = file.unwrap().path();
        if path.extension().unwrap() != "jsonl" { continue; }
        let a = naive::Replay::open(&path, naive::ReadOptions::default());
        let b = OpenOptions::new().index(IndexMode::Memory).open(&path);
        match (a, b) {
            (Err(a), Err(b)) => assert_eq!(a.code(), b.code(), "{path:?} {a} / {b}"),
            (Ok(a), Ok(b)) => {
                let (mut oa, mut ob) = (a.overview(), b.overview());
                for o in [&mut oa, &mut ob] { for r in &mut o.reports { r.detail.clear(); } }
                assert_eq!(oa, ob, "{path:?}");
                match (a.snapshot(At::Current, false), b.snapshot(At::Current)) {
                    (Ok(a), Ok(b)) => assert_eq!(a, b, "{path:?}"),
                    (Err(a), Err(b)) => assert_eq!(a.code(), b.code()),
                    (a, b) => panic!("{path:?}\n{a:?}\n{b:?}"),
                }
                assert_eq!(a.snapshot(At::Current, true).unwrap(), b.salvage(At::Current).unwrap(), "{path:?}");
                assert_eq!(a.path(At::Current).ok(), b.path(At::Current).ok());
            }
            (a, b) => panic!("{path:?}\n{:?}\n{:?}", a.map(|a|a.overview()), b.map(|b| b.overview())),
        }
    }
}

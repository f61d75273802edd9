//! The documents say what the code does: their tables are compared with the sources, and a sidecar is
//! read by nothing but what `docs/design.md` states.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use leaflog::generate::Shape;
use leaflog::{CreateOptions, Format, IndexMode, OpenOptions, ReportCode, SessionStorage};
use leaflog::{codebot, pi};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a page of a sidecar, and of a block of its checksums.
const PAGE: usize = 4096;

fn read(path: &str) -> String {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn design() -> String {
    read("docs/design.md")
}

/// The text behind a marker, up to another one behind it.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text
        .split_once(from)
        .unwrap_or_else(|| panic!("`{from}` is not there"));
    rest.split_once(to)
        .unwrap_or_else(|| panic!("`{to}` does not follow `{from}`"))
        .0
}

/// The rows of the first table with this header, cell by cell, without backquotes.
fn table(text: &str, header: &str) -> Vec<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| *line != header);
    assert!(lines.next().is_some(), "no table `{header}`");
    let rows: Vec<Vec<String>> = lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim_matches('|').split(" | ");
            cells
                .map(|cell| cell.trim().trim_matches('`').to_owned())
                .collect()
        })
        .collect();
    assert!(!rows.is_empty(), "the table `{header}` is empty");
    rows
}

fn number(cell: &str) -> usize {
    cell.parse()
        .unwrap_or_else(|_| panic!("`{cell}` is no number"))
}

/// Offset and size of each field of a frame's header.
fn header_fields() -> Vec<(String, usize, usize)> {
    table(&design(), "| offset | size | field | meaning |")
        .into_iter()
        .map(|row| (row[2].clone(), number(&row[0]), number(&row[1])))
        .collect()
}

/// Name and element size of each array of a frame.
fn arrays() -> Vec<(String, usize)> {
    names_and_sizes("| array | bytes | elements | meaning |")
}

/// Name and element size of each column of a page.
fn columns() -> Vec<(String, usize)> {
    names_and_sizes("| column | bytes | meaning |")
}

fn names_and_sizes(header: &str) -> Vec<(String, usize)> {
    table(&design(), header)
        .into_iter()
        .map(|row| (row[0].clone(), number(&row[1])))
        .collect()
}

/// Names and element sizes of the fields of a struct of vectors.
fn vectors(source: &str, name: &str) -> Vec<(String, usize)> {
    between(source, &format!("struct {name} {{"), "\n}")
        .lines()
        .filter_map(|line| {
            let field = line.trim().strip_prefix("pub(crate) ")?;
            let (name, bits) = field.split_once(": Vec<u")?;
            Some((name.to_owned(), number(bits.trim_end_matches(">,")) / 8))
        })
        .collect()
}

/// Names and numbers of a table, and of lines of source that give a name a number.
fn numbered(rows: Vec<Vec<String>>) -> BTreeMap<String, usize> {
    rows.into_iter()
        .map(|row| (row[0].clone(), number(&row[1])))
        .collect()
}

fn variants(source: &str, name: &str) -> BTreeMap<String, usize> {
    let body = between(source, &format!("enum {name} {{"), "\n}");
    let lines = body
        .lines()
        .filter_map(|line| line.trim().split_once(" = "));
    lines
        .map(|(name, value)| (name.to_owned(), number(value.trim_end_matches(','))))
        .collect()
}

#[test]
fn the_fields_of_the_header_fill_256_bytes_without_gaps() {
    let mut at = 0;
    for (field, offset, size) in header_fields() {
        assert_eq!(offset, at, "{field}");
        at += size;
    }
    assert_eq!(at, 256);
}

#[test]
fn the_fields_of_the_header_stand_in_the_order_of_the_code() {
    let source = read("src/index/frame.rs");
    let body = between(&source, "fn words_mut", "\n    }\n");
    let of_code: Vec<String> = body
        .lines()
        .filter_map(|line| line.trim().strip_prefix("&mut self."))
        .map(|field| field.trim_end_matches(',').to_owned())
        .collect();
    let of_table: Vec<String> = header_fields()
        .into_iter()
        .filter(|(name, _, size)| *size == 8 && name != "magic" && name != "hash")
        .map(|(name, _, _)| name)
        .collect();
    assert_eq!(of_table, of_code);
}

#[test]
fn arrays_and_columns_are_those_of_the_code_with_its_element_sizes() {
    let source = read("src/index/columns.rs");
    assert_eq!(arrays(), vectors(&source, "Columns"));
    let source = read("src/index/pages.rs");
    assert_eq!(columns(), vectors(&source, "Slots"));
    let widths = between(&source, "WIDTHS: [usize; 15] = [", "]");
    let widths: Vec<usize> = widths.split(", ").map(number).collect();
    let sizes = columns().into_iter().map(|(_, size)| size);
    assert_eq!(sizes.collect::<Vec<_>>(), widths);
}

/// Bytes of a slot with a lane or without, and so slots a page.
fn slots_a_page(has_lanes: bool) -> usize {
    let columns = columns().into_iter();
    let sizes = columns.filter(|(name, _)| has_lanes || name != "lane");
    PAGE / sizes.map(|(_, size)| size).sum::<usize>()
}

#[test]
fn the_bytes_an_entry_add_up() {
    let rows = table(
        &design(),
        "| format | a slot in pages | table | block checksums | together |",
    );
    let kinds = [(false, true), (false, false), (true, true)];
    assert_eq!(rows.len(), kinds.len());
    for (row, (has_lanes, has_ids)) in rows.iter().zip(kinds) {
        let slot = PAGE as f64 / slots_a_page(has_lanes) as f64;
        let table = if has_ids { 4.0 * 10.0 / 7.0 } else { 0.0 };
        let tree = (slot + table) * 8.0 / 4096.0;
        let expected = [slot, table, tree, slot + table + tree];
        assert_eq!(row[1..], expected.map(|bytes| format!("{bytes:.2}")));
    }
    let text = design().split_whitespace().collect::<Vec<_>>().join(" ");
    let (few, many) = (slots_a_page(true), slots_a_page(false));
    let sentence = format!("{few} slots a page in pi v4, {many} in the other formats");
    assert!(text.contains(&sentence), "expected: {sentence}");
}

#[test]
fn kinds_flags_state_and_reports_have_the_numbers_of_the_code() {
    let (design, kinds) = (design(), read("src/format/kind.rs"));
    let of_table = numbered(table(&design, "| kind | number | |"));
    assert_eq!(of_table, variants(&kinds, "Kind"));

    let states = table(&design, "| place | part of the state |");
    let of_table = states
        .into_iter()
        .map(|row| (row[1].clone(), number(&row[0])));
    let mut of_code = variants(&kinds, "State");
    of_code.insert("the root of the path".to_owned(), of_code.len());
    assert_eq!(of_table.collect::<BTreeMap<_, _>>(), of_code);

    // Both kinds of flags are constants: `1`, or `1 << n`.
    let bits = |source: &str, ty: &str| -> BTreeMap<String, usize> {
        let lines = source.lines().filter_map(|line| {
            let (name, value) = line
                .trim()
                .strip_prefix("pub(crate) const ")?
                .split_once(ty)?;
            let value = value.trim_end_matches([')', ';']);
            let bit = match value.strip_prefix("1 << ") {
                Some(bit) => bit.parse().ok()?,
                None => (value == "1").then_some(0)?,
            };
            Some((name.to_owned(), bit))
        });
        lines.collect()
    };
    let frame = read("src/index/frame.rs");
    let mut of_code = bits(&frame, ": u32 = ");
    of_code.remove("LAYOUT");
    let of_table = numbered(table(&design, "| flag | bit | meaning |"));
    assert_eq!(of_table, of_code);
    let of_code = bits(&read("src/index/columns.rs"), ": Self = Self(");
    let of_table = numbered(table(&design, "| flag of a slot | bit | meaning |"));
    assert_eq!(of_table, of_code);

    let reports: Vec<String> = ReportCode::ALL
        .iter()
        .enumerate()
        .map(|(number, code)| format!("{number} `{code}`"))
        .collect();
    let text = design.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = format!("has the number of its code: {}.", reports.join(", "));
    assert!(text.contains(&sentence), "expected: {sentence}");
}

/// A number of a sidecar's bytes.
fn word(bytes: &[u8], at: usize, size: usize) -> usize {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[at..at + size]);
    usize::try_from(u64::from_le_bytes(word)).expect("fits")
}

fn padded(len: usize, to: usize) -> usize {
    len.div_ceil(to) * to
}

#[test]
fn a_sidecar_reads_by_the_tables_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, number_on_disk, has_lanes) in [
        (Format::CodebotV3, 1, false),
        (Format::PiV1, 2, false),
        (Format::PiV3, 4, false),
        (Format::PiV4, 5, true),
    ] {
        let path = folder.path().join(format!("{format}.jsonl"));
        let mut log = Vec::new();
        Shape::new(format, 12_000)
            .compact_every(300)
            .payload(20)
            .write_to(&mut log)
            .expect("written");
        fs::write(&path, &log).expect("written");
        let session = OpenOptions::new()
            .index(IndexMode::Always)
            .open(&path)
            .expect("a session");
        let sidecar = fs::read(session.index_status().path.expect("a sidecar")).expect("readable");

        let fields: BTreeMap<String, usize> = header_fields()
            .into_iter()
            .map(|(name, offset, size)| (name, word(&sidecar, offset, size.min(8))))
            .collect();
        assert_eq!(&sidecar[..8], b"leaflogI");
        assert_eq!(fields["layout"], 2);
        assert_eq!(&sidecar[12..16], [4, 4, 8, 0]);
        assert_eq!(fields["format"], number_on_disk);
        assert!(sidecar[176..248].iter().all(|&byte| byte == 0));
        let hash = |range: &[u8]| usize::try_from(xxh3_64(range)).expect("fits");
        assert_eq!(fields["hash"], hash(&sidecar[..248]));
        assert_eq!((fields["log_start"], fields["log_end"]), (0, log.len()));
        assert_eq!(fields["head_hash"], hash(&log[..4096]));
        assert_eq!(fields["tail_hash"], hash(&log[log.len() - 4096..]));
        let overview = session.overview().expect("an overview");
        let slots = fields["slots"];
        assert_eq!(slots as u64, overview.entries + overview.records);

        // The parts of the frame, and the tree of checksums level by level.
        let columns_end = PAGE + fields["columns_len"];
        let (mut level, mut at) = (PAGE..columns_end, padded(columns_end, 16));
        loop {
            let start = at;
            for block in sidecar[level.clone()].chunks(PAGE) {
                assert_eq!(word(&sidecar, at, 8), hash(block));
                at += 8;
            }
            level = start..at;
            if level.len() <= PAGE {
                break;
            }
        }
        assert_eq!(fields["columns_root"], hash(&sidecar[level]));
        for part in ["summary", "details"] {
            let start = padded(at, 16);
            at = start + fields[&format!("{part}_len")];
            assert_eq!(fields[&format!("{part}_hash")], hash(&sidecar[start..at]));
        }
        assert_eq!(sidecar.len(), padded(at, PAGE));
        assert!(sidecar[256..PAGE].iter().all(|&byte| byte == 0));

        // The arrays by the pairs at the end of the archive.
        let per_page = slots_a_page(has_lanes);
        let pages = slots.div_ceil(per_page);
        let has_ids = format != Format::PiV1;
        let root = columns_end - 8 * arrays().len();
        let mut found = BTreeMap::new();
        let mut next = PAGE;
        for (array, (name, size)) in arrays().into_iter().enumerate() {
            let pair = root + 8 * array;
            let distance = i32::from_le_bytes(sidecar[pair..pair + 4].try_into().expect("four"));
            let start = pair.checked_add_signed(distance as isize).expect("inside");
            let count = word(&sidecar, pair + 4, 4);
            match name.as_str() {
                "pages" => assert_eq!(count, PAGE * pages),
                "table" if has_ids => assert_eq!(count, (slots * 10).div_ceil(7)),
                "table" => assert_eq!(count, 1),
                "rows" => assert_eq!(count, 8 * fields["rows"]),
                _ => {}
            }
            assert_eq!(start, padded(next, size), "{name}");
            next = start + count * size;
            found.insert(name, (start, size, count));
        }
        assert_eq!(padded(next, 4), root);
        let value = |name: &str, number: usize| {
            let (start, size, count) = found[name];
            assert!(number < count, "{name}");
            word(&sidecar, start + number * size, size)
        };

        // What the columns say, against the log.
        let in_page = |name: &str, slot: usize| {
            let mut at = PAGE + slot / per_page * PAGE;
            for (column, size) in columns() {
                if column == name {
                    return word(&sidecar, at + slot % per_page * size, size);
                }
                at += if column == "lane" && !has_lanes {
                    0
                } else {
                    size * per_page
                };
            }
            panic!("no column `{name}`");
        };
        // One slot in seven, and both sides of the first page's end.
        for slot in (0..slots).filter(|slot| slot % 7 == 0 || slot.abs_diff(per_page) < 2) {
            let (start, len) = (in_page("start", slot), in_page("len", slot));
            let object: serde_json::Value =
                serde_json::from_slice(&log[start..start + len]).expect("an object");
            if has_ids {
                let id = start + in_page("id_at", slot);
                let id = &log[id..id + in_page("id_len", slot)];
                assert_eq!(object["id"].as_str().map(str::as_bytes), Some(id));
            }
            let payload = in_page("payload_at", slot);
            if payload != 0 {
                let end = start + len - in_page("payload_tail", slot);
                let key = if format == Format::CodebotV3 {
                    "data"
                } else {
                    "message"
                };
                let payload: serde_json::Value =
                    serde_json::from_slice(&log[start + payload..end]).expect("a payload");
                assert_eq!(payload, object[key]);
            }
            if in_page("kind", slot) < 32 {
                let (parent, depth) = (in_page("parent", slot), in_page("depth", slot));
                assert_eq!(depth == 0, parent == 4_294_967_295);
                assert!(depth == 0 || depth == in_page("depth", parent) + 1);
                let root = value("rows", 8 * in_page("row", slot) + 7);
                assert_eq!(in_page("depth", root), 0);
            }
        }
        let ends = found["hash_end"].2;
        assert_eq!(value("hash_end", ends - 1), log.len());
        assert_eq!(value("hash", 0), hash(&log));
    }
}

/// A log with its ids and times replaced as `docs/formats.md` replaces them.
fn without_ids_and_times(log: &str, ids: &[String]) -> Vec<String> {
    let mut text = log.to_owned();
    for id in ids {
        text = text.replace(&format!("\"{id}\""), "\"ID\"");
    }
    for key in ["timestamp", "created", "createdAt"] {
        for (before, end, instead) in [("\"", "\"", "TIME"), ("", ",}", "MS")] {
            let before = format!("\"{key}\":{before}");
            let mut parts = text.split(&before);
            let mut out = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                out.push_str(&before);
                let time = part.find(|c| end.contains(c)).unwrap_or(0);
                let is_time = part.starts_with(|c: char| c.is_ascii_digit());
                out.push_str(if is_time { instead } else { &part[..time] });
                out.push_str(&part[time..]);
            }
            text = out;
        }
    }
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_is_written_stands_in_the_formats_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = read("docs/formats.md");
    let shown = between(&page, "<!-- written:begin -->", "<!-- written:end -->");
    for (format, parent, metadata) in [
        (Format::CodebotV3, None, None),
        (Format::PiV3, Some("/p.jsonl"), None),
        (Format::PiV4, Some("p"), Some("{\"own\":1}")),
    ] {
        let path = folder.path().join(format!("{format}.jsonl"));
        let options = CreateOptions {
            parent: parent.map(str::to_owned),
            metadata: metadata.map(str::to_owned),
            format: Some(format),
            ..CreateOptions::in_folder("/w")
        };
        let session = OpenOptions::new().create(&path, &options).expect("made");
        let mut ids = vec![session.session_id()];
        let mut append = |new| {
            let entry = session.append_entry(new, "main").expect("appended");
            ids.push(entry.id.clone());
            entry.id
        };
        if format == Format::CodebotV3 {
            append(codebot::message(
                r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
            ));
            append(codebot::model_change("p", "m"));
        } else {
            let first = append(pi::message(r#"{"role":"user","content":"hi"}"#));
            if format == Format::PiV3 {
                append(pi::model_change("p", "m"));
            }
            append(pi::custom("note", Some("1")));
            if format == Format::PiV4 {
                let record = session.append_record(pi::abort_requested("main", "r1"));
                ids.push(record.expect("appended").id);
                session.create_lane("second", Some(&first)).expect("made");
                session.move_lane("second", None).expect("moved");
                session.set_name(Some("a name")).expect("named");
                session.set_name(None).expect("named");
                session.set_label(&first, Some("start")).expect("labelled");
                session.set_label(&first, None).expect("labelled");
            } else {
                append(pi::label(&first, Some("start")));
            }
        }
        if format != Format::PiV4 {
            session.set_name(Some("a name")).expect("named");
        }
        for entry in session.tree().expect("a tree") {
            if entry.id != "h0" {
                ids.push(entry.id);
            }
        }
        session.close().expect("closed");
        let log = fs::read_to_string(&path).expect("readable");
        let heading = format!("\n{}:\n\n```\n", format.to_string().replace('-', " "));
        let lines: Vec<&str> = between(shown, &heading, "```").lines().collect();
        assert_eq!(without_ids_and_times(&log, &ids), lines, "{format}");
    }
}

#[test]
fn the_limits_of_the_index_are_those_of_the_code() {
    let design = design();
    let constant = |path: &str, name: &str| {
        let source = read(path);
        between(&source, &format!("const {name}: usize = "), ";").to_owned()
    };
    for (path, name) in [
        ("src/index/merge.rs", "MOST_SEGMENTS"),
        ("src/index/sidecar.rs", "MOST_FRAMES"),
    ] {
        let number = constant(path, name);
        assert!(design.contains(&format!("{number} (`{name}`)")), "{name}");
    }
    assert_eq!(
        constant("src/index/ids.rs", "MOST_SLOTS"),
        "(1 << SLOT_BITS) - 1"
    );
    let bits: u32 = between(&read("src/index/ids.rs"), "SLOT_BITS: u32 = ", ";")
        .parse()
        .expect("a number");
    assert_eq!((1 << bits) - 1, 8_388_607);
    assert!(design.contains("| slots of a frame | 8,388,607 |"));
}

#[test]
fn every_limit_is_covered_by_a_test_that_is_there() {
    let header = "| what | limit | what happens there | tests |";
    for row in table(&read("docs/limits.md"), header) {
        let mut path = String::new();
        let named = row[3].split(['`', ',', ';']).map(str::trim);
        let mut count = 0;
        for one in named.filter(|one| !one.is_empty()) {
            let test = match one.split_once(": ") {
                Some((file, test)) => {
                    path = file.to_owned();
                    test
                }
                None => one,
            };
            assert!(
                read(&path).contains(&format!("fn {test}(")),
                "{path}: {test}"
            );
            count += 1;
        }
        assert!(count > 0, "{row:?}");
    }
}

#[test]
fn every_dependency_has_its_line() {
    let manifest = read("Cargo.toml");
    let mut of_manifest = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if inside
            && let Some((name, _)) = line.split_once(" = ")
            // Its own tests turn its features on.
            && name != "leaflog"
        {
            of_manifest.insert(name.to_owned());
        }
    }
    let rows = table(&design(), "| crate | why | bytes on disk |");
    let of_table: BTreeSet<String> = rows.into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(of_table, of_manifest);
}

#[test]
fn every_source_folder_has_its_heading() {
    let design = design();
    let rooms = between(&design, "## Rooms", "\n## ");
    for item in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("readable") {
        let item = item.expect("readable");
        let name = item.file_name().into_string().expect("text");
        if item.path().is_dir() {
            let heading = format!("### [{name}/](../src/{name}/)");
            assert!(rooms.contains(&heading), "no `{heading}`");
        }
    }
}

#[test]
fn the_readme_has_every_command_and_no_other() {
    let source = read("src/cli/args.rs");
    let body = between(&source, "enum Command {", "\n}");
    let of_code: BTreeSet<String> = body
        .lines()
        .filter_map(|line| line.trim().split_once('('))
        .map(|(name, _)| name.to_lowercase())
        .collect();
    let rows = table(&read("README.md"), "| command | does |");
    let of_table: BTreeSet<String> = rows
        .iter()
        .map(|row| {
            row[0]
                .split([' ', '`'])
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(of_table, of_code);
}

#[test]
fn the_readme_shows_the_example_of_the_crate() {
    let library = read("src/lib.rs");
    let shown: Vec<&str> = between(&library, "//! ```\n", "//! ```")
        .lines()
        .map(|line| line.trim_start_matches("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .filter(|line| !line.starts_with('#'))
        .collect();
    let readme = read("README.md");
    let example = between(&readme, "```rust\n", "```");
    assert_eq!(example.lines().collect::<Vec<_>>(), shown);
}

#[test]
fn the_block_for_measured_figures_is_marked() {
    let readme = read("README.md");
    let block = between(&readme, "<!-- numbers:begin -->", "<!-- numbers:end -->");
    let whole = read("docs/performance.md");
    let whole = between(&whole, "<!-- targets:begin -->", "<!-- targets:end -->");
    assert!(block.contains("| | what | target | measured | command |"));
    for number in 1..=10 {
        let row = format!("\n| P{number} | ");
        assert_eq!(block.matches(&row).count(), 1, "README.md: P{number}");
        assert!(whole.contains(&row), "docs/performance.md: P{number}");
    }
}

#[test]
fn no_page_names_an_address_or_a_path_of_somebodys_machine() {
    let pages = [
        "README.md",
        "CHANGELOG.md",
        "docs/design.md",
        "docs/formats.md",
        "docs/limits.md",
        "docs/performance.md",
    ];
    let foreign = [
        "://", "www.", "/home/", "/Users/", "/root/", "/tmp/", "/mnt/", "C:\\",
    ];
    for page in pages {
        for (number, line) in read(page).lines().enumerate() {
            // The working directory that generated sessions name is nobody's.
            let line = line.replace("/home/dev/app", "");
            for text in foreign {
                assert!(!line.contains(text), "{page}:{}: {text}", number + 1);
            }
        }
    }
}

#[test]
fn every_link_leads_to_a_file() {
    for page in [
        "README.md",
        "CHANGELOG.md",
        "docs/design.md",
        "docs/formats.md",
        "docs/limits.md",
        "docs/performance.md",
    ] {
        let text = read(page);
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = format!("{}/{folder}/{file}", env!("CARGO_MANIFEST_DIR"));
            assert!(fs::metadata(&path).is_ok(), "{page}: {target}");
            if !anchor.is_empty() && file.is_empty() {
                let heading = |line: &str| {
                    let title = line.trim_start_matches('#').trim().to_lowercase();
                    line.starts_with('#')
                        && title.replace(' ', "-").replace([',', '.'], "") == anchor
                };
                assert!(text.lines().any(heading), "{page}: {target}");
            }
        }
    }
}

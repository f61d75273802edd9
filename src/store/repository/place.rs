//! Where new sessions stand: the names of folders and files that codebot and pi give and look for.
//! Whatever an id or a working directory says, the result is a name right inside the folder.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::format::format_time;
use crate::model::Format;

/// The longest name of a folder that all file systems in use take.
const LONGEST: usize = 255;

/// The file of a new session, its path within the folder.
pub(super) fn of(format: Format, id: &str, cwd: &str, nanos: u64) -> PathBuf {
    let time = format_time(i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX));
    if format == Format::CodebotV3 {
        let day = time.split('T').next().unwrap_or_default();
        return PathBuf::from(format!("{day}_{id}.jsonl"));
    }
    let time = time.replace([':', '.'], "-");
    Path::new(&folder_name(cwd)).join(format!("{time}_{id}.jsonl"))
}

/// pi's folder for a working directory: `--home-dev-app--`.
fn folder_name(cwd: &str) -> String {
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    let inner: String = inner
        .chars()
        .map(|c| match c {
            '/' | '\\' | ':' => '-',
            c if c.is_control() => '-',
            c => c,
        })
        .collect();
    let name = format!("--{inner}--");
    if name.len() <= LONGEST {
        return name;
    }
    // Listings go by what headers say, so that a cut name only has to be the same every time.
    let mut end = LONGEST - 30;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let start = name.get(..end).unwrap_or_default();
    format!("{start}-{:016x}--", xxh3_64(cwd.as_bytes()))
}

/// Whether a file's name could end with an id.
pub(super) fn may_name(path: &Path, id: &str) -> bool {
    stem(path).is_some_and(|stem| {
        stem.strip_suffix(id)
            .is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// Whether a file's name says for sure which id it has: a time, then `_`, then the id.
pub(in crate::store) fn names(path: &Path) -> Option<&str> {
    let (time, id) = stem(path)?.split_once('_')?;
    let is_time = time
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '-' | 'T' | 'Z'));
    (is_time && !time.is_empty()).then_some(id)
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use super::{LONGEST, may_name, names, of};
    use crate::model::Format;

    const NANOS: u64 = 1_784_019_600_123_000_000;

    fn name(format: Format, cwd: &str) -> String {
        of(format, "id", cwd, NANOS).to_str().unwrap().to_owned()
    }

    #[test]
    fn files_stand_where_their_programs_look_for_them() {
        assert_eq!(name(Format::CodebotV3, "/w"), "2026-07-14_id.jsonl");
        let file = "2026-07-14T09-00-00-123Z_id.jsonl";
        for (cwd, folder) in [
            ("/home/dev/app", "--home-dev-app--"),
            (r"C:\dev", "--C--dev--"),
            ("/", "----"),
            ("", "----"),
            ("../../x", "--..-..-x--"),
            ("/a\nb\x1b", "--a-b---"),
        ] {
            assert_eq!(name(Format::PiV4, cwd), format!("{folder}/{file}"));
            assert_eq!(name(Format::PiV3, cwd), format!("{folder}/{file}"));
        }
    }

    #[test]
    fn no_working_directory_leads_out_of_the_folder() {
        for cwd in [
            "..",
            "../..",
            "/..",
            "a/../../b",
            "é".repeat(400).as_str(),
            "\\\\x\\..",
        ] {
            let path = of(Format::PiV4, "id", cwd, NANOS);
            let parts: Vec<_> = path.components().collect();
            assert_eq!(parts.len(), 2, "{cwd}");
            for part in parts {
                assert!(matches!(part, Component::Normal(_)), "{cwd}");
                assert!(part.as_os_str().len() <= LONGEST, "{cwd}");
            }
        }
    }

    #[test]
    fn names_tell_ids_with_underscores_apart() {
        let path = Path::new("2026-07-14T09-00-00-123Z_a_b.jsonl");
        assert_eq!(names(path), Some("a_b"));
        assert!(may_name(path, "b") && may_name(path, "a_b") && !may_name(path, "_b"));
        assert_eq!(names(Path::new("x_b.jsonl")), None);
        assert!(may_name(Path::new("b.jsonl"), "b"));
    }
}

//! What only the header of a file says: the maker's own object, and a parent that is known by its path.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// No header is longer.
const LONGEST: u64 = 16 << 20;

/// The part of a header of pi v4 that the library does not tell apart.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    #[serde(skip_serializing_if = "Option::is_none")]
    legacy_parent_session_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
}

impl Header {
    /// Of the first line of a file; nothing if that is no header.
    pub(crate) fn of_file(path: &Path) -> Self {
        let Ok(file) = File::open(path) else {
            return Self::default();
        };
        let mut line = Vec::new();
        let read = BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line);
        match read {
            Ok(_) => serde_json::from_slice(&line).unwrap_or_default(),
            Err(_) => Self::default(),
        }
    }

    /// Of the maker's own object alone.
    pub(crate) fn of_metadata(metadata: Option<String>) -> Self {
        Self {
            legacy_parent_session_path: None,
            metadata: metadata.and_then(|json| RawValue::from_string(json).ok()),
        }
    }
}

/// When a file was changed last, in milliseconds since 1970.
pub(crate) fn modified(path: &Path) -> Option<f64> {
    let time = std::fs::metadata(path).and_then(|found| found.modified());
    let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
    // As Node reckons it, to the last bit.
    Some(since.as_secs() as f64 * 1000.0 + f64::from(since.subsec_nanos()) / 1e6)
}

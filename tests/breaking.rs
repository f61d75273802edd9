//! Sessions that are written under bad conditions: logs and sidecars that others damage, odd input,
//! many threads at once, no room. Answers stay right, and logs stay whole lines.

#[path = "breaking/damaged.rs"]
mod damaged;
#[path = "breaking/files.rs"]
mod files;
#[path = "breaking/payloads.rs"]
mod payloads;
mod support;
#[path = "breaking/threads.rs"]
mod threads;

use leaflog::{Format, NewEntry};

/// A message of the user, with more fields of the line's own or of codebot's data.
fn user_with(format: Format, text: &str, more: &str) -> NewEntry {
    let fields = match format {
        Format::CodebotV3 => {
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]{more}}}"#)
        }
        _ => format!(r#"{{"message":{{"role":"user","content":"{text}"}}{more}}}"#),
    };
    NewEntry::new("message", fields)
}

fn user(format: Format, text: &str) -> NewEntry {
    user_with(format, text, "")
}

//! Large logs from a few bytes: one huge line, very many small ones, deep nesting, long runs of one
//! byte. A recipe says what a reader must find in its log, so that no second reader has to be asked.

use super::log::HEADERS;

/// What is large about a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A message with a long text.
    Text,
    /// An entry with arrays in arrays.
    Arrays,
    /// An entry with objects in objects.
    Objects,
    /// A chain of small entries.
    Entries,
    /// Small lines without entries.
    Lines,
    /// A run of one byte on a line.
    Run,
    /// The same with a whole object behind it on the line.
    Spliced,
    /// The same without a newline behind it.
    Torn,
    /// An entry with a long key.
    Key,
    /// An entry with its id many times over.
    Repeated,
    /// An entry with many keys.
    Keys,
    /// Two entries, the first with a long id.
    Id,
    /// Many objects on one line.
    Objected,
    /// Entries of one id.
    Duplicates,
    /// A chain of entries, each before its parent.
    Backwards,
    /// A cycle of entries.
    Cycle,
    /// Labels of entries, and lanes where there are any.
    Labels,
    /// Compactions, each with what it keeps.
    Compactions,
    /// A message with many calls of tools.
    Calls,
    /// A number with many digits.
    Digits,
    /// An object that is opened many times and never closed.
    Open,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 21] = [
        Self::Text,
        Self::Arrays,
        Self::Objects,
        Self::Entries,
        Self::Lines,
        Self::Run,
        Self::Spliced,
        Self::Torn,
        Self::Key,
        Self::Repeated,
        Self::Keys,
        Self::Id,
        Self::Objected,
        Self::Duplicates,
        Self::Backwards,
        Self::Cycle,
        Self::Labels,
        Self::Compactions,
        Self::Calls,
        Self::Digits,
        Self::Open,
    ];
}

/// What runs and texts are made of: in a string each of these may stand again and again.
const FILLS: [&str; 16] = [
    "a",
    "\\\\",
    "\\\"",
    "{",
    "}",
    "[",
    "]",
    "\\u0041",
    "\\ud83d",
    "é",
    "\u{10348}",
    ",",
    ":",
    "\\n",
    "\u{7f}",
    " ",
];

/// What runs on a line of their own are made of.
const RUNS: [&[u8]; 14] = [
    b"\0",
    b"\\",
    b"\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b"{\"a\":",
    b"[{",
    b"\\\"",
    b"{}",
    b"\xff",
    b" ",
    b"{\"id\":\"}",
];

/// A large log.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub shape: Shape,
    /// Which of [`HEADERS`]: codebot, pi v3, pi v4 or pi v1.
    pub format: usize,
    /// About how many bytes.
    pub size: usize,
    fill: usize,
    /// Whether a good entry follows.
    pub followed: bool,
}

/// The largest logs that a recipe makes.
pub const LARGEST: usize = 32 << 20;

impl Recipe {
    /// The recipe that some bytes are: shape, format, size (two bytes; most are small), fill.
    pub fn read(data: &[u8]) -> Self {
        let at = |place: usize| usize::from(data.get(place).copied().unwrap_or(0));
        // From 64 bytes to 32 MiB: each step of the first byte is a sixteenth part more or so.
        let bits = 6 + at(2) * at(2) * 19 / (255 * 255);
        let size = (1 << bits) + (at(3) << bits) / 256;
        Self {
            shape: Shape::ALL[at(0) % Shape::ALL.len()],
            format: 1 + at(1) % 4,
            size: size.min(LARGEST),
            fill: at(4),
            followed: at(1) & 0x80 != 0,
        }
    }

    /// An entry with some fields more.
    fn entry(&self, id: &str, parent: &str, fields: &str) -> String {
        let (parent, time) = match (self.format, parent) {
            (1, "") => ("\"h0\"".to_owned(), "\"2026-07-14T09:00:01Z\""),
            (1, _) => (format!("\"{parent}\""), "\"2026-07-14T09:00:01Z\""),
            (3, _) => (quoted(parent), "1784019601000"),
            _ => (quoted(parent), "\"2026-07-14T09:00:01.000Z\""),
        };
        match self.format {
            1 => format!(
                "{{\"kind\":\"note\",\"id\":\"{id}\",\"parent_id\":{parent},\"timestamp\":{time}{fields}}}\n"
            ),
            3 => format!(
                "{{\"kind\":\"entry\",\"type\":\"note\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":{time}{fields}}}\n"
            ),
            _ => format!(
                "{{\"type\":\"note\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":{time}{fields}}}\n"
            ),
        }
    }

    /// A message of the user's, as a field.
    fn message(&self, text: &str) -> String {
        let blocks = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
        );
        match self.format {
            1 => format!(",\"kind\":\"message\",\"data\":{blocks}"),
            _ => format!(",\"type\":\"message\",\"message\":{blocks}"),
        }
    }

    /// The log, and how many entries of its own it has; none where that is not plain to see.
    pub fn log(&self) -> (Vec<u8>, Option<usize>) {
        let mut log = HEADERS[self.format].as_bytes().to_vec();
        let size = self.size;
        let fill = FILLS[self.fill % FILLS.len()];
        let filled = || fill.repeat(size / fill.len());
        let run = || {
            let run = RUNS[self.fill % RUNS.len()];
            run.repeat(size / run.len())
        };
        let mut add = |line: String| log.extend_from_slice(line.as_bytes());
        let entries = match self.shape {
            Shape::Text => {
                add(self.entry("a", "", &self.message(&filled())));
                Some(1)
            }
            Shape::Arrays => {
                let nested = ["[".repeat(size / 2), "]".repeat(size / 2)].concat();
                add(self.entry("a", "", &format!(",\"x\":{nested}0").replace("]0", "]")));
                Some(1)
            }
            Shape::Objects => {
                let depth = size / 6;
                let nested = ["{\"x\":".repeat(depth), "0".to_owned(), "}".repeat(depth)].concat();
                add(self.entry("a", "", &format!(",\"data\":{nested},\"message\":{nested}")));
                Some(1)
            }
            Shape::Entries => {
                let count = (size / 110).max(1);
                for number in 0..count {
                    add(self.entry(&number.to_string(), &before(number), ""));
                }
                Some(count)
            }
            Shape::Lines => {
                let line = [
                    "\n",
                    "{}\n",
                    "0\n",
                    " \r\n",
                    "\0\n",
                    "x\n",
                    "{\"id\":\"\"}\n",
                ][self.fill % 7];
                add(line.repeat(size / line.len()));
                // pi v1 has no ids to ask for, but a type.
                Some(0)
            }
            Shape::Run | Shape::Spliced | Shape::Torn => {
                log.extend_from_slice(&run());
                match self.shape {
                    Shape::Run => log.push(b'\n'),
                    Shape::Spliced => log.extend_from_slice(self.entry("a", "", "").as_bytes()),
                    _ => {}
                }
                None
            }
            Shape::Key => {
                add(self.entry("a", "", &format!(",\"{}\":0", filled())));
                Some(1)
            }
            Shape::Repeated => {
                let id = [",\"id\":\"b\"", ",\"\\u0069d\":\"b\""][self.fill % 2];
                add(self.entry("a", "", &id.repeat(size / id.len())));
                Some(1)
            }
            Shape::Keys => {
                let mut keys = String::new();
                for number in 0..size / 12 {
                    keys.push_str(&format!(",\"{number}\":0"));
                }
                add(self.entry("a", "", &keys));
                Some(1)
            }
            Shape::Id => {
                let id = filled();
                add(self.entry(&id, "", ""));
                add(self.entry("b", &id, &self.message("b")));
                Some(2)
            }
            Shape::Objected => {
                let count = (size / 110).max(1);
                for number in 0..count {
                    let line = self.entry(&number.to_string(), &before(number), "");
                    add(line.trim_end().to_owned());
                    if self.fill.is_multiple_of(3) {
                        add("\0 ".to_owned());
                    }
                }
                add("\n".to_owned());
                Some(count)
            }
            Shape::Duplicates => {
                let count = (size / 110).max(1);
                for number in 0..count {
                    add(self.entry("a", "", &format!(",\"x\":{number}")));
                }
                Some(if self.format == 4 { count } else { 1 })
            }
            Shape::Backwards => {
                let count = (size / 110).max(1);
                for number in 0..count {
                    let parent = if number + 1 == count {
                        String::new()
                    } else {
                        (number + 1).to_string()
                    };
                    add(self.entry(&number.to_string(), &parent, ""));
                }
                Some(count)
            }
            Shape::Cycle => {
                let count = (size / 110).max(1);
                for number in 0..count {
                    let parent = (number + count - 1) % count;
                    add(self.entry(&number.to_string(), &parent.to_string(), ""));
                }
                Some(count)
            }
            Shape::Labels => {
                let count = (size / 130).max(1);
                for number in 0..count {
                    add(match self.format {
                        3 if self.fill.is_multiple_of(2) => format!(
                            "{{\"kind\":\"lane\",\"lane\":\"{number}\",\"leafId\":null,\"seq\":1}}\n"
                        ),
                        3 => format!(
                            "{{\"kind\":\"fact\",\"fact\":\"label\",\"targetId\":\"{number}\",\"label\":\"{number}\",\"seq\":1}}\n"
                        ),
                        _ => self.entry(
                            &number.to_string(),
                            &before(number),
                            &format!(
                                ",\"type\":\"label\",\"targetId\":\"{number}\",\"label\":\"l\""
                            ),
                        ),
                    });
                }
                Some(if self.format == 3 { 0 } else { count })
            }
            Shape::Compactions => {
                let kept = "{\"role\":\"user\",\"content\":\"c\"}";
                let kept = [kept; 8].join(",");
                let count = (size / 600).max(1);
                for number in 0..count {
                    let fields = match self.format {
                        1 => format!(
                            ",\"kind\":\"compaction\",\"data\":{{\"summary\":\"s\",\"messages\":[{kept}]}}"
                        ),
                        _ => format!(
                            ",\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryId\":\"0\",\"retainedTail\":[{kept}]"
                        ),
                    };
                    add(self.entry(&number.to_string(), &before(number), &fields));
                }
                Some(count)
            }
            Shape::Calls => {
                let mut calls = String::new();
                for number in 0..size / 60 {
                    let id = number / (1 + self.fill % 3);
                    let comma = if number == 0 { "" } else { "," };
                    calls.push_str(&format!(
                        "{comma}{{\"type\":\"toolCall\",\"tool_call\":{{\"id\":\"{id}\"}}}}"
                    ));
                }
                let fields = format!(
                    ",\"kind\":\"message\",\"data\":{{\"role\":\"assistant\",\"content\":[{calls}]}}"
                );
                let own = Self { format: 1, ..*self };
                add(own.entry("a", "", &fields));
                if self.format == 1 { Some(1) } else { None }
            }
            Shape::Digits => {
                let digits = "1".repeat(size);
                let number = match self.fill % 5 {
                    0 => digits,
                    1 => format!("0.{digits}"),
                    2 => format!("1e{digits}"),
                    3 => format!("-{digits}.{digits}"),
                    _ => format!("1E-{digits}"),
                };
                add(self.entry(
                    "a",
                    "",
                    &format!(",\"timestamp\":{number},\"seq\":{number}"),
                ));
                Some(1)
            }
            Shape::Open => {
                let open = ["{\"a\":", "[", "{\"id\":\"", "[{\"a\":["][self.fill % 4];
                add(open.repeat(size / open.len()));
                add("\n".to_owned());
                None
            }
        };
        let entries = entries.map(|count| count + usize::from(self.format == 1));
        if self.followed {
            add_behind(&mut log, self);
        }
        (log, entries.map(|count| count + usize::from(self.followed)))
    }
}

fn add_behind(log: &mut Vec<u8>, recipe: &Recipe) {
    if log.last() != Some(&b'\n') {
        log.push(b'\n');
    }
    log.extend_from_slice(recipe.entry("last", "", &recipe.message("last")).as_bytes());
}

fn quoted(parent: &str) -> String {
    if parent.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{parent}\"")
    }
}

/// The id of the entry before one with a number.
fn before(number: usize) -> String {
    number
        .checked_sub(1)
        .map_or_else(String::new, |it| it.to_string())
}

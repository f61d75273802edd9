//! Changes to a log that keep most of its lines good: lines move, come again, get the ids and values
//! of others, lose their newline. A fuzzer that changes only bytes seldom gets past a line's braces.

/// Numbers that follow from a seed (splitmix64).
pub struct Dice(u64);

impl Dice {
    /// From a seed on.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one, 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.roll() % (end.max(1) as u64)) as usize
    }

    /// One of several.
    pub fn pick<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }
}

/// What fields may be given: values of every type, and those that mean something somewhere.
const VALUES: [&str; 34] = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "1.5",
    "1e3",
    "1e999",
    "9007199254740993",
    "\"\"",
    "\"a\"",
    "\"b\"",
    "\"h0\"",
    "\"main\"",
    "\"side\"",
    "\"user\"",
    "\"assistant\"",
    "\"message\"",
    "\"compaction\"",
    "\"label\"",
    "\"entry\"",
    "\"record\"",
    "\"lane\"",
    "\"fact\"",
    "\"header\"",
    "\"session\"",
    "\"\\ud83d\"",
    "\"2026-07-14T09:00:01Z\"",
    "[]",
    "{}",
    "[{\"type\":\"text\",\"text\":\"t\"}]",
    "{\"role\":\"user\",\"content\":\"c\"}",
];

/// Keys that some format knows.
const KEYS: [&str; 30] = [
    "id",
    "parentId",
    "parent_id",
    "kind",
    "type",
    "lane",
    "seq",
    "timestamp",
    "data",
    "message",
    "role",
    "content",
    "summary",
    "firstKeptEntryId",
    "targetId",
    "label",
    "name",
    "leafId",
    "fact",
    "runId",
    "usage",
    "provider",
    "model",
    "modelId",
    "replacement",
    "retainedTail",
    "version",
    "messages",
    "tool_call_id",
    "stopReason",
];

/// Changes some lines.
pub fn lines(log: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = log
        .split_inclusive(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..=dice.below(3) {
        change(&mut lines, dice);
    }
    lines.concat()
}

fn change(lines: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    if lines.is_empty() {
        lines.push(b"{\"id\":\"a\"}\n".to_vec());
    }
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    let kind = dice.below(13);
    match kind {
        0 => lines.swap(one, other),
        1 => lines.insert(other, lines[one].clone()),
        2 => drop(lines.remove(one)),
        3 => {
            lines[one].pop();
        }
        4 => {
            let at = dice.below(lines[one].len());
            lines[one].insert(at, b'\n');
        }
        5 => {
            let cut = dice.below(lines[one].len());
            lines[one].truncate(cut);
        }
        6 => {
            let at = [0, lines[one].len().saturating_sub(1)][dice.below(2)];
            lines[one].splice(at..at, [0; 3]);
        }
        7 => {
            // The value of a field as another line has it.
            let Some(&from) = dice.pick(&fields(&lines[other])).copied().as_ref() else {
                return;
            };
            let value = lines[other][from.1..from.2].to_vec();
            put(&mut lines[one], dice, &value);
        }
        8..11 => {
            let value = dice.pick(&VALUES).copied().unwrap_or("null");
            put(&mut lines[one], dice, value.as_bytes());
        }
        11 => {
            // A field more, the last of its name perhaps.
            let key = dice.pick(&KEYS).copied().unwrap_or("id");
            let value = dice.pick(&VALUES).copied().unwrap_or("null");
            if let Some(end) = lines[one].iter().rposition(|&byte| byte == b'}') {
                let field = format!(",\"{key}\":{value}");
                lines[one].splice(end..end, field.into_bytes());
            }
        }
        _ => {
            // The same key or text, with an escape in it.
            let places = fields(&lines[one]);
            if let Some(&(key, ..)) = dice.pick(&places)
                && let Some(&byte) = lines[one].get(key)
            {
                let escape = format!("\\u{byte:04x}");
                lines[one].splice(key..=key, escape.into_bytes());
            }
        }
    }
}

/// Puts a value in the place of another one.
fn put(line: &mut Vec<u8>, dice: &mut Dice, value: &[u8]) {
    let places = fields(line);
    if let Some(&(_, start, end)) = dice.pick(&places) {
        line.splice(start..end, value.iter().copied());
    }
}

/// Where keys begin, and where their values do and end, by the look of it, at any depth.
fn fields(line: &[u8]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    for at in 1..line.len() {
        if line[at] != b':' || line[at - 1] != b'"' {
            continue;
        }
        let Some(quote) = line[..at - 1].iter().rposition(|&byte| byte == b'"') else {
            continue;
        };
        let (mut depth, mut in_string, mut end) = (0usize, false, at + 1);
        while let Some(&byte) = line.get(end) {
            match byte {
                b'\\' if in_string => end += 1,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            end += 1;
        }
        found.push((quote + 1, at + 1, end.min(line.len())));
    }
    found
}

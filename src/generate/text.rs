//! Text that looks like a session's: prose, code, tool output, other scripts, escaped for JSON.
//! For the generator only. Never makes text word by word: it cuts pieces out of stock made once, because
//! that is what makes it fast.

use super::random::{Random, to_u64, to_usize};

/// What a text is to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Prose,
    Code,
    Output,
    Foreign,
}

/// A stock of text for each look.
///
/// The stock is cut at spaces only. No escape and no character holds one, so every piece is valid
/// inside a JSON string.
#[derive(Clone, Debug)]
pub(super) struct Words {
    prose: Vec<u8>,
    code: Vec<u8>,
    output: Vec<u8>,
    foreign: Vec<u8>,
}

impl Words {
    /// A stock of about `size` bytes a look. `html_safe` writes `<`, `>` and `&` as Go does.
    pub(super) fn new(random: &mut Random, size: usize, html_safe: bool) -> Self {
        let compare: &[&str] = if html_safe { HTML_SAFE } else { PLAIN };
        Self {
            prose: stock(random, size, &[(WORDS, 40), (MARKS, 1)]),
            code: stock(random, size, &[(CODE, 12), (WORDS, 8), (compare, 1)]),
            output: stock(random, size, &[(OUTPUT, 8), (WORDS, 10), (CODE, 2)]),
            foreign: stock(random, size, &[(WORDS, 6), (FOREIGN, 5), (MARKS, 1)]),
        }
    }

    /// Adds text of about `len` bytes to a line: at least one word, whole words only.
    pub(super) fn text(&self, random: &mut Random, line: &mut Vec<u8>, look: Look, len: u64) {
        let stock = match look {
            Look::Prose => &self.prose,
            Look::Code => &self.code,
            Look::Output => &self.output,
            Look::Foreign => &self.foreign,
        };
        let half = to_u64(stock.len() / 2);
        // The last word goes over the length by half a word on average.
        let mut left = if len > 12 { len - 4 } else { len }.max(1);
        loop {
            let part = left.min(half);
            let start = next_space(stock, to_usize(random.below(half))).saturating_add(1);
            let end = next_space(stock, start.saturating_add(to_usize(part)));
            line.extend_from_slice(stock.get(start..end).unwrap_or_default());
            left -= part;
            if left == 0 {
                return;
            }
            line.push(b' ');
        }
    }
}

/// Where the first space at or after `from` stands, or the end.
fn next_space(stock: &[u8], from: usize) -> usize {
    let rest = stock.get(from..).unwrap_or_default();
    match rest.iter().position(|&byte| byte == b' ') {
        Some(at) => from.saturating_add(at),
        None => stock.len(),
    }
}

/// Words of several lists by weight, separated by spaces.
fn stock(random: &mut Random, size: usize, lists: &[(&[&'static str], u64)]) -> Vec<u8> {
    let total = lists.iter().map(|(_, weight)| weight).sum();
    let mut stock = Vec::with_capacity(size.saturating_add(64));
    while stock.len() < size {
        let mut at = random.below(total);
        for &(words, weight) in lists {
            if at < weight {
                stock.extend_from_slice(random.pick(words).as_bytes());
                break;
            }
            at -= weight;
        }
        stock.push(b' ');
    }
    stock
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "the", "a", "of", "to", "and", "in", "is", "it", "that", "for", "on", "with", "as", "this",
    "be", "are", "not", "by", "we", "so", "then", "when", "file", "line", "test", "build", "error",
    "change", "check", "read", "write", "index", "branch", "session", "parser", "cache", "value",
    "return", "function", "module", "update", "remove", "because", "should", "first", "second",
    "again", "now", "still", "already", "only", "each", "every", "after", "before", "between",
    "missing", "broken", "works", "fails", "passes", "commit", "log", "path", "tree", "leaf",
    "entry", "record", "handler", "request", "response", "timeout", "retry", "config", "default",
    "option", "argument", "buffer", "offset", "length", "header", "footer", "table", "column",
    "query", "result", "expected", "found", "instead", "rename", "move", "copy", "delete", "create",
    "implementation", "documentation", "performance", "regression", "dependency", "concurrency",
    "let's", "don't", "it's", "I'll", "you", "need", "look", "at", "why", "how", "what", "where",
];

#[rustfmt::skip]
const MARKS: &[&str] = &[
    "done.\\n\\n", "first:\\n-", "\\\"yes\\\"", "\\\"quoted\\\"", "`code`", "C:\\\\temp", "(see",
    "below)", "**bold**", "1.", "2.", "note:\\n", "ok,",
];

#[rustfmt::skip]
const CODE: &[&str] = &[
    "let", "mut", "fn", "pub", "self.cache", "match", "Some(value)", "None", "=", "==", "{\\n   ",
    "}\\n\\n", "return;\\n", "if", "else", "for", "in", "0..len", "\\\"key\\\":", "\\\"name\\\",",
    "//", "import", "from", "\\\"./index.js\\\";\\n", "const", "=>", "(x,", "y)", "[0]",
    "\\t\\treturn", "null;", "true,", "x += 1;\\n", "path\\\\to\\\\file", "r\\\"\\\\d+\\\"", "|",
    "||", "assert!(ok);\\n",
];

#[rustfmt::skip]
const OUTPUT: &[&str] = &[
    "test", "result:", "ok.", "12", "passed;", "0", "failed;\\n", "warning:", "unused", "variable",
    "-->", "src/main.rs:10:5\\n", "Compiling", "v0.1.0\\n", "total", "drwxr-xr-x", "root", "4096",
    "README.md\\n", "Cargo.toml\\n", "\\u001b[32mok\\u001b[0m", "\\u001b[31merror\\u001b[0m:", "|",
    "^^^^\\n", "0.01s\\n", "$", "cargo", "npm", "exit", "code", "0x7f", "diff", "--git", "+++",
];

const PLAIN: &[&str] = &["a < b", "x > y", "&&", "<T>", "->", "&self"];

#[rustfmt::skip]
const HTML_SAFE: &[&str] = &[
    "a \\u003c b", "x \\u003e y", "\\u0026\\u0026", "\\u003cT\\u003e", "-\\u003e", "\\u0026self",
];

#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "café", "naïve", "größer", "Straße", "señal", "漢字", "日本語", "テスト", "の", "파일", "ошибка", "файл",
    "ελληνικά", "مرحبا", "👍", "🚀", "👩‍💻", "…", "“so”", "row\u{2028}row", "\\u00e9t\\u00e9",
    "\\ud83d\\ude00", "→", "≤",
];

//! What the checks in `fuzz/` may ask of the inner rooms. For them alone, behind the feature
//! `fuzzing`, and no API: whatever stands here may change or go with any version. It answers
//! questions; it never changes how the library works.

use std::cell::RefCell;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use crate::error::Result;
use crate::format::{self, Meaning, Mutation, Sequence};
use crate::index::{How, Index, MOST_SEGMENTS, build_seeded, extend, merge};
use crate::json::{self, Document, FastParser, Grammar, Json, LEVELS, Number, PADDING, Scanner};
use crate::log::LogFile;
use crate::model::Format;
use crate::store::{self, OpenOptions, Session, told_by_catalog};

/// All formats.
pub const FORMATS: [Format; 5] = [
    Format::CodebotV3,
    Format::PiV1,
    Format::PiV2,
    Format::PiV3,
    Format::PiV4,
];

/// The keys whose places a parser is asked for.
pub const KEYS: [&str; 10] = [
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
];

/// Of parsers that read values at any depth, deeper ones come as [`Tree::Deeper`].
pub const DEEPEST: usize = 48;

/// A value as a parser reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Truth(bool),
    /// A whole number that fits.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// A string, decoded.
    Text(String),
    /// An array.
    List(Vec<Tree>),
    /// An object: all keys, decoded, in order.
    Object(Vec<(String, Tree)>),
    /// An array or object deeper than the parser's [`Parser::levels`].
    Deeper,
}

/// What a line says of itself in one format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Whether the line is kept.
    pub kept: bool,
    /// The id of an entry or a record.
    pub id: Option<String>,
    /// The parent of an entry, or the run of a record.
    pub parent: Option<String>,
    /// The kind of an entry or a record, as it is written.
    pub kind: Option<String>,
    /// The lane of an entry or a record.
    pub lane: Option<String>,
    /// The time of an entry or a record.
    pub time: Option<i64>,
    /// A good number in the sequence.
    pub seq: Option<u64>,
}

/// What a parser says of a line that it accepts. A parser leaves empty what it does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The whole value.
    pub tree: Option<Tree>,
    /// Whether all strings are UTF-8.
    pub utf8: Option<bool>,
    /// Where the values of [`KEYS`] stand, white space behind them perhaps included.
    pub spans: Vec<Option<Range<usize>>>,
    /// The envelope in each of [`FORMATS`].
    pub envelopes: Vec<Envelope>,
    /// All that the line means in each of [`FORMATS`], for parsers to be compared with each other.
    pub meanings: Vec<String>,
}

/// Which JSON a parser takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All, with bytes in its strings that are no UTF-8.
    All,
    /// All that is UTF-8 and one line.
    AllLines,
    /// Some of what is UTF-8.
    Some,
}

/// One way to read a line.
pub struct Parser {
    /// What it is called.
    pub name: &'static str,
    /// What it must not refuse.
    pub takes: Takes,
    /// Values deeper than this come as [`Tree::Deeper`].
    pub levels: usize,
    /// Reads a line; none if it is refused.
    pub read: fn(&[u8]) -> Option<Line>,
}

/// All ways to read a line.
pub const PARSERS: [Parser; 6] = [
    Parser {
        name: "grammar",
        takes: Takes::All,
        levels: DEEPEST,
        read: by_grammar,
    },
    Parser {
        name: "scanner, with the processor's best instructions",
        takes: Takes::AllLines,
        levels: LEVELS - 1,
        read: |line| by_scanner(0, line),
    },
    Parser {
        name: "scanner, with the next instructions",
        takes: Takes::AllLines,
        levels: LEVELS - 1,
        read: |line| by_scanner(1, line),
    },
    Parser {
        name: "scanner, with the last instructions",
        takes: Takes::AllLines,
        levels: LEVELS - 1,
        read: |line| by_scanner(2, line),
    },
    Parser {
        name: "fast, with new buffers",
        takes: Takes::Some,
        levels: DEEPEST,
        read: |line| by_fast_parser(&mut FastParser::new(), line),
    },
    Parser {
        name: "fast, with the buffers of the lines before",
        takes: Takes::Some,
        levels: DEEPEST,
        read: |line| {
            thread_local! {
                static KEPT: RefCell<FastParser> = RefCell::new(FastParser::new());
            }
            KEPT.with_borrow_mut(|parser| by_fast_parser(parser, line))
        },
    },
];

fn by_grammar(line: &[u8]) -> Option<Line> {
    let document = Grammar::parse(line).ok()?;
    Some(Line {
        utf8: Some(document.is_utf8()),
        ..line_of(&document, DEEPEST)
    })
}

/// Reads a line as the first of a text, with the instructions of this number.
fn by_scanner(number: usize, line: &[u8]) -> Option<Line> {
    thread_local! {
        static SCANNERS: RefCell<Vec<Scanner>> = RefCell::new(Scanner::all());
    }
    let mut text = line.to_vec();
    text.extend_from_slice(b"\n\"}]{\"id\":\"\\u0\n");
    SCANNERS.with_borrow_mut(|scanners| {
        let last = scanners.len().checked_sub(1)?;
        let scanned = scanners.get_mut(number.min(last))?.line(&text);
        let document = scanned.document.filter(|_| scanned.len == line.len())?;
        Some(line_of(&document, LEVELS - 1))
    })
}

fn by_fast_parser(parser: &mut FastParser, line: &[u8]) -> Option<Line> {
    let mut buffer = line.to_vec();
    // What follows a line is the next one, whose bytes must not count.
    let next = br#""}]{"id":"\u0"#.iter().cycle();
    buffer.extend(next.take(PADDING));
    parser.parse(&mut buffer, line.len(), |document| {
        line_of(document, DEEPEST)
    })
}

/// The structural scanner with one kind of instructions, for benchmarks.
pub struct Scan(Scanner);

impl Scan {
    /// One for each kind that the processor has, the fastest first.
    pub fn all() -> Vec<Self> {
        Scanner::all().into_iter().map(Self).collect()
    }

    /// The instructions.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Scans the first line of a text: its length without the newline, and whether it is JSON.
    pub fn line(&mut self, text: &[u8]) -> (usize, bool) {
        let scanned = self.0.line(text);
        (scanned.len, scanned.document.is_some())
    }
}

fn line_of(document: &impl Document, levels: usize) -> Line {
    let root = document.root();
    let mut line = Line {
        tree: Some(tree(root, levels)),
        utf8: None,
        spans: KEYS.iter().map(|key| document.span(key)).collect(),
        envelopes: Vec::new(),
        meanings: Vec::new(),
    };
    for format in FORMATS {
        if root.is_object() {
            let meaning = format::interpret(format, root, true);
            let mut told = String::new();
            // Writing to a string does not fail.
            let _ = write!(told, "{meaning:?}");
            line.meanings.push(told);
            line.envelopes.push(envelope(meaning));
        }
    }
    line
}

fn tree<'a>(value: impl Json<'a>, levels: usize) -> Tree {
    if let Some(text) = value.text() {
        return Tree::Text(text.into_owned());
    }
    if let Some(number) = value.number() {
        return match number {
            Number::Whole(whole) => Tree::Whole(whole),
            Number::Real(real) => Tree::Real(real),
        };
    }
    if let Some(truth) = value.boolean() {
        return Tree::Truth(truth);
    }
    if value.is_null() {
        return Tree::Null;
    }
    let Some(levels) = levels.checked_sub(1) else {
        return Tree::Deeper;
    };
    if value.is_array() {
        return Tree::List(value.items().map(|item| tree(item, levels)).collect());
    }
    let fields = value.fields();
    Tree::Object(
        fields
            .map(|(key, value)| (json::lossy(&key).into_owned(), tree(value, levels)))
            .collect(),
    )
}

fn envelope(meaning: Meaning<'_>) -> Envelope {
    let seq = match meaning.sequence {
        Sequence::Number(number) => Some(number),
        Sequence::None | Sequence::Bad => None,
    };
    let kept = meaning.mutation.is_some();
    let own = |text: std::borrow::Cow<'_, str>| text.into_owned();
    match meaning.mutation {
        Some(Mutation::Entry(entry)) => Envelope {
            kept,
            id: entry.id.map(own),
            parent: entry.parent.map(own),
            kind: Some(own(entry.kind_name)),
            lane: entry.lane.map(own),
            time: entry.time,
            seq,
        },
        Some(Mutation::Record(record)) => Envelope {
            kept,
            id: Some(own(record.id)),
            parent: record.run.map(own),
            kind: Some(own(record.kind_name)),
            lane: record.lane.map(own),
            time: record.time,
            seq,
        },
        _ => Envelope {
            kept,
            seq,
            ..Envelope::default()
        },
    }
}

/// The text of a string, from what stands between its quotes.
#[must_use]
pub fn decoded(raw: &[u8]) -> String {
    json::decode(raw).into_owned()
}

/// The time in the field `timestamp` of an object, as a format reads it.
#[must_use]
pub fn time(format: Format, object: &[u8]) -> Option<i64> {
    let document = Grammar::parse(object).ok()?;
    format::entry_time(format, document.root())
}

/// A time as codebot writes it.
#[must_use]
pub fn nanos_text(nanos: u64) -> String {
    format::format_nanos(nanos)
}

/// A JSON text without white space between its tokens.
#[must_use]
pub fn compact(text: &str) -> String {
    json::compact(text)
}

/// A JSON text laid out for people.
#[must_use]
pub fn pretty(text: &[u8]) -> String {
    json::pretty(text)
}

/// A text cut to the length of a title.
#[must_use]
pub fn title(text: &str) -> String {
    format::title(text)
}

/// An object of pi v4 with another parent.
#[must_use]
pub fn reparented(object: &[u8], parent: Option<&str>) -> Option<Vec<u8>> {
    format::reparented(object, parent)
}

/// An object of pi v4 with another number and no lane.
#[must_use]
pub fn renumbered(object: &[u8], seq: u64) -> Option<Vec<u8>> {
    format::renumbered(object, seq)
}

/// Opens a log that is no file. `options` say whether it is read strictly and with salvage.
///
/// # Errors
///
/// Those of [`OpenOptions::open`].
pub fn open(log: Vec<u8>, options: &OpenOptions) -> Result<Session> {
    Session::in_memory(log, options.clone())
}

/// What the bytes of a catalog say of each log, and those of a catalog that says the same. None if they
/// are not believed.
#[must_use]
pub fn catalog(bytes: &[u8]) -> Option<(Vec<String>, Vec<u8>)> {
    told_by_catalog(bytes)
}

/// The bytes of a catalog with this archive, its header and its checksum right.
#[must_use]
pub fn sealed_catalog(archive: &[u8]) -> Option<Vec<u8>> {
    store::sealed_catalog(archive)
}

/// The sidecar of a log that was indexed whenever it had one of these lengths, and in the end, with
/// ids hashed under a given seed and without the identity of any file: the same bytes each time.
#[must_use]
pub fn sidecar(log: &[u8], lengths: &[usize], seed: u64) -> Option<Vec<u8>> {
    let how = How {
        salvage: false,
        strict: false,
        progress: None,
        own: false,
    };
    let mut file = Vec::new();
    let mut known: Option<Index> = None;
    for &length in lengths.iter().chain([&log.len()]) {
        let part = LogFile::in_memory(Path::new("log"), log.get(..length)?.to_vec());
        let built = match &known {
            None => build_seeded(&part, how, seed).ok()?,
            Some(index) => extend(&part, index, how).ok()??,
        };
        let whole = built.index.segments.get(..built.whole)?.to_vec();
        let summary = whole.last()?.summary().ok()?;
        let mut index = Index::new(built.index.format, whole, summary);
        if index.segments.len() > MOST_SEGMENTS {
            index = merge(&index).ok()?;
        }
        let before = known.as_ref().map_or(&[][..], |known| &known.segments);
        let same = index
            .segments
            .iter()
            .zip(before)
            .take_while(|(now, then)| now.header_hash == then.header_hash)
            .count();
        for segment in index.segments.iter().skip(same) {
            file.extend_from_slice(segment.frame_bytes());
        }
        known = Some(index);
    }
    Some(file)
}

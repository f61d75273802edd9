//! Reads the lines of a log into a draft. Long logs are read by two threads: one parses a stretch
//! while the other does the next one; they are joined in order.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use super::build::How;
use super::chunk::{At, Chunk, ObjectPlace};
use super::draft::Draft;
use super::segment::len64;
use super::view::{Answer, Index};
use crate::error::{Code, Error, Result};
use crate::format::{Header, Kind, Meaning, Mutation, by_shape, claims_header, detect, interpret};
use crate::json::{Document, Grammar, Json, Scanner};
use crate::log::{Finding, Line, Lines, LogFile, Piece, Pieces, judge};
use crate::model::Format;

/// A second thread is worth its start from this many bytes on.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Up to where a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    LastNewline,
    End,
}

/// What a reading found.
#[derive(Debug)]
pub(super) struct Scanned {
    /// None if no line has an object.
    pub(super) draft: Option<Draft>,
    /// Whether the header was missing.
    pub(super) salvaged: bool,
    /// Whether there are bytes after the last newline.
    pub(super) has_tail: bool,
    /// Lines read.
    pub(super) lines: u64,
    /// The range that was read, and the hash of its whole lines.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) hash: u64,
    /// Of the hashes of ids.
    pub(super) seed: u64,
}

/// Reads a log from where an index ends, or from its start. Ids are hashed with the seed.
pub(super) fn scan(
    log: &LogFile,
    index: Option<&Index>,
    until: Until,
    how: How<'_>,
    seed: u64,
) -> Answer<Scanned> {
    let start = index.map_or(0, Index::log_end);
    let mut salvaged = false;
    // Where the lines start that are not read yet.
    let mut from = start;
    let draft = match index {
        Some(index) => {
            let details = index.details()?.as_ref().clone();
            let before = Some((&*index.summary, details));
            Some(Draft::new(index.format, index.slots(), before))
        }
        None => match find_format(log, until, how, seed)? {
            None => None,
            Some(mut opening) => {
                salvaged = opening.header.is_none();
                from = opening.after;
                let mut draft = Draft::new(opening.chunk.format, 0, None);
                if let Some(header) = opening.header {
                    draft.summary.set_header(header);
                }
                draft.absorb(&mut opening.chunk);
                Some(draft)
            }
        },
    };
    let lines_before = index.map_or(0, |index| index.summary.lines);
    let Some(draft) = draft else {
        return Ok(Scanned {
            draft: None,
            salvaged,
            has_tail: log.len() > start,
            lines: 0,
            start,
            end: start,
            hash: 0,
            seed,
        });
    };
    let is_titled = draft.summary.first_message.is_some();
    let work = Work {
        how,
        until,
        from,
        format: draft.format,
        seed,
        source: Mutex::new(Source {
            pieces: Pieces::from(log, start),
            ticket: 0,
            has_tail: false,
        }),
        sink: Mutex::new(Sink {
            draft,
            turn: 0,
            stopped: None,
        }),
        turned: Condvar::new(),
        is_titled: AtomicBool::new(is_titled),
    };
    let two = log.len() - from >= WORTH_A_THREAD
        && !how.own
        && std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if two {
        std::thread::scope(|scope| {
            scope.spawn(|| work.run());
            work.run();
        });
    } else {
        work.run();
    }
    let (source, sink) = (work.source.into_inner(), work.sink.into_inner());
    if let Some(Stopped::Failed(error)) = sink.stopped {
        return Err(error.into());
    }
    let (hash, covered) = source.pieces.covered();
    let end = if until == Until::End {
        log.len()
    } else {
        covered
    };
    Ok(Scanned {
        lines: sink.draft.summary.lines - lines_before,
        draft: Some(sink.draft),
        salvaged,
        has_tail: source.has_tail,
        start,
        end,
        hash,
        seed,
    })
}

/// The beginning of a log, up to the line that tells its format.
struct Opening {
    /// None if salvage goes by the shape of an entry.
    header: Option<Header>,
    /// What these lines say beside the header.
    chunk: Chunk,
    /// The offset behind them.
    after: u64,
}

/// Salvage goes by the shape of an object only where no header is found without it, so that it changes
/// nothing about a log that can be read as it is.
fn find_format(log: &LogFile, until: Until, how: How<'_>, seed: u64) -> Result<Option<Opening>> {
    let headed = find_opening(log, until, how, seed, false);
    let is_final = match &headed {
        _ if !how.salvage => true,
        Ok(Some(_)) => true,
        Err(error) => error.code() == Code::Unsupported,
        // The header may be in the last line, which is not to be read yet.
        Ok(None) => until == Until::LastNewline && log.last_line_start()? < log.len(),
    };
    if is_final {
        return headed;
    }
    find_opening(log, until, how, seed, true)
}

fn find_opening(
    log: &LogFile,
    until: Until,
    how: How<'_>,
    seed: u64,
    is_shape_enough: bool,
) -> Result<Option<Opening>> {
    let mut lines = Lines::from(log, 0);
    let mut early = Vec::new();
    let mut count = 0;
    while let Some((line, bytes)) = lines.next()? {
        if !line.terminated && until == Until::LastNewline {
            // The header may be in there.
            return Ok(None);
        }
        count += 1;
        let at = At {
            line: count,
            offset: line.offset,
        };
        let odd = OddLine::of(bytes, line, |document| {
            claims_header(document.root())
                || (is_shape_enough && by_shape(document.root()).is_some())
        });
        early.extend(odd.findings.into_iter().map(|finding| (at, finding)));
        let Some(object) = odd
            .objects
            .first()
            .and_then(|(_, bytes)| Grammar::parse(bytes).ok())
        else {
            continue;
        };
        let (format, header) = match detect(object.root()) {
            Ok((format, header)) => (format, Some(header)),
            Err(error) => match by_shape(object.root())
                .filter(|_| is_shape_enough && error.code() != Code::Unsupported)
            {
                Some(format) => (format, None),
                None => {
                    let error = error.at_line(at.line, at.offset);
                    let error = refusal(how, &early).unwrap_or(error);
                    return Err(error.at_path(log.path()));
                }
            },
        };
        let mut chunk = Chunk::new(format, seed);
        for (at, finding) in early {
            chunk.report(at, finding);
        }
        let is_entry = header.is_none() || format == Format::CodebotV3;
        let skip = usize::from(!is_entry);
        for (start, bytes) in odd.objects.iter().skip(skip) {
            add_object(&mut chunk, bytes, *start, at);
        }
        chunk.lines = count;
        let after = line.offset + len64(line.len) + u64::from(line.terminated);
        return Ok(Some(Opening {
            header,
            chunk,
            after,
        }));
    }
    match refusal(how, &early) {
        Some(error) => Err(error.at_path(log.path())),
        None => Ok(None),
    }
}

/// Why strict reading goes no further than the first of these.
fn refusal(how: How<'_>, findings: &[(At, Finding)]) -> Option<Error> {
    let (at, finding) = findings.first().filter(|_| how.strict)?;
    let text = format!(
        "{}: {}; strict reading goes no further, and tolerant reading finds no header behind it",
        finding.code, finding.detail
    );
    Some(Error::new(Code::InvalidEntry, text).at_line(at.line, at.offset))
}

/// Adds an object of a line that was judged.
fn add_object(chunk: &mut Chunk, object: &[u8], start: u64, at: At) {
    // A judged object parses.
    if let Ok(document) = Grammar::parse(object) {
        let mut meaning = interpret(chunk.format, document.root(), chunk.wants_title());
        let mut place = place_of(&meaning, start, object.len());
        if !document.is_utf8() {
            // U+FFFD may be as long as what it stands for: lengths prove nothing here.
            place.id_at = None;
        }
        chunk.add(&mut meaning, place, at);
    }
}

/// A line that is not simply one object: what it holds, and where in the log.
struct OddLine<'b> {
    objects: Vec<(u64, &'b [u8])>,
    findings: Vec<Finding>,
}

impl<'b> OddLine<'b> {
    fn of(bytes: &'b [u8], line: Line, keeps: impl FnOnce(&Grammar<'_>) -> bool) -> Self {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        let skip = if line.offset == 0 && bytes.starts_with(MARK) {
            MARK.len()
        } else {
            0
        };
        let text = bytes.get(skip..).unwrap_or_default();
        let judged = judge(text, line.terminated, keeps);
        let place = |range: std::ops::Range<usize>| {
            (
                line.offset + len64(skip + range.start),
                text.get(range).unwrap_or_default(),
            )
        };
        Self {
            objects: judged.objects.into_iter().map(place).collect(),
            findings: judged.findings,
        }
    }
}

/// What the threads share.
struct Work<'w> {
    how: How<'w>,
    until: Until,
    /// Lines before this offset were read already.
    from: u64,
    format: Format,
    seed: u64,
    source: Mutex<Source<'w>>,
    sink: Mutex<Sink>,
    turned: Condvar,
    /// What a listing shows of the first message is known; the titles of later ones are not wanted.
    is_titled: AtomicBool,
}

struct Source<'w> {
    pieces: Pieces<'w>,
    ticket: u64,
    has_tail: bool,
}

struct Sink {
    draft: Draft,
    /// The ticket of the piece that is joined next.
    turn: u64,
    stopped: Option<Stopped>,
}

enum Stopped {
    Failed(Error),
    /// Another thread panicked; waiting for it would never end.
    Abandoned,
}

/// Tells the other thread not to wait if this one unwinds.
struct Abandon<'w, 's>(&'w Work<'s>);

impl Drop for Abandon<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.sink.lock().stopped.get_or_insert(Stopped::Abandoned);
            self.0.turned.notify_all();
        }
    }
}

impl Work<'_> {
    fn run(&self) {
        let _guard = Abandon(self);
        let mut buffer = Vec::new();
        let mut chunk = Chunk::new(self.format, self.seed);
        let mut scanner = Scanner::new();
        loop {
            let (ticket, piece) = match self.take(&mut buffer) {
                Ok(Some(taken)) => taken,
                Ok(None) => return,
                Err(error) => return self.fail(error),
            };
            chunk.clear(!self.is_titled.load(Ordering::Relaxed));
            self.parse(piece, &buffer, &mut chunk, &mut scanner);
            let mut sink = self.sink.lock();
            while sink.turn != ticket && sink.stopped.is_none() {
                self.turned.wait(&mut sink);
            }
            if sink.stopped.is_some() {
                return;
            }
            sink.draft.absorb(&mut chunk);
            sink.turn += 1;
            let is_titled = sink.draft.summary.first_message.is_some();
            self.is_titled.store(is_titled, Ordering::Relaxed);
            drop(sink);
            self.turned.notify_all();
            if let Some(progress) = self.how.progress {
                progress(piece.offset + len64(piece.len));
            }
        }
    }

    fn fail(&self, error: Error) {
        self.sink
            .lock()
            .stopped
            .get_or_insert(Stopped::Failed(error));
        self.turned.notify_all();
    }

    /// The next piece and its number.
    fn take(&self, buffer: &mut Vec<u8>) -> Result<Option<(u64, Piece)>> {
        let mut source = self.source.lock();
        let Some(piece) = source.pieces.next(buffer)? else {
            return Ok(None);
        };
        if !piece.terminated {
            source.has_tail = true;
            if self.until == Until::LastNewline {
                return Ok(None);
            }
        }
        let ticket = source.ticket;
        source.ticket += 1;
        Ok(Some((ticket, piece)))
    }

    fn parse(&self, piece: Piece, buffer: &[u8], chunk: &mut Chunk, scanner: &mut Scanner) {
        let done = self.from.saturating_sub(piece.offset);
        let mut next = usize::try_from(done).unwrap_or(usize::MAX).min(piece.len);
        while next < piece.len {
            let rest = buffer.get(next..piece.len).unwrap_or_default();
            chunk.lines += 1;
            next += self.line(rest, piece, piece.offset + len64(next), chunk, scanner) + 1;
        }
    }

    /// The line at the start of a text; its length.
    fn line(
        &self,
        text: &[u8],
        piece: Piece,
        offset: u64,
        chunk: &mut Chunk,
        scanner: &mut Scanner,
    ) -> usize {
        let at = At {
            line: chunk.lines,
            offset,
        };
        let scanned = scanner.line(text);
        let len = scanned.len;
        // Most lines are an object from their first byte to their last; others are looked at closely.
        if let Some(document) = scanned.document
            && document.root().is_object()
            && document.root().span() == (0..len)
        {
            let mut meaning = interpret(self.format, document.root(), chunk.wants_title());
            let place = place_of(&meaning, offset, len);
            chunk.add(&mut meaning, place, at);
        } else {
            let line = Line {
                offset,
                len,
                terminated: piece.terminated,
            };
            self.odd_line(text.get(..len).unwrap_or_default(), line, chunk, at);
        }
        len
    }

    fn odd_line(&self, bytes: &[u8], line: Line, chunk: &mut Chunk, at: At) {
        let odd = OddLine::of(bytes, line, |document| {
            interpret(self.format, document.root(), false)
                .mutation
                .is_some()
        });
        for finding in odd.findings {
            chunk.report(at, finding);
        }
        for (start, object) in odd.objects {
            add_object(chunk, object, start, at);
        }
    }
}

/// Where an object stands, and where in it its id and message payload do.
fn place_of(meaning: &Meaning<'_>, start: u64, len: usize) -> ObjectPlace {
    let mut place = ObjectPlace {
        start,
        len: len64(len),
        id_at: None,
        payload: None,
    };
    let (id, is_message) = match &meaning.mutation {
        Some(Mutation::Entry(entry)) => (
            entry.id.as_deref(),
            entry.kind == Some(Kind::Message) && !entry.inert,
        ),
        Some(Mutation::Record(record)) => (Some(&*record.id), false),
        _ => return place,
    };
    if let Some(id) = id
        && let Some(span) = meaning.id_place.range()
        && span.len() == id.len() + 2
    {
        // As long as its decoded text: written without escapes.
        place.id_at = Some(span.start + 1);
    }
    if is_message && let Some(span) = meaning.payload_place.range() {
        place.payload = Some((span.start, len - span.end));
    }
    place
}

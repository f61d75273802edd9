//! The kept lines of a log as it grows, each once and only when it is finished. Notices a log that was
//! cut or replaced behind what was read; waits for nothing, when to look again is up to the caller.

use super::{Mutation, Mutations, Session};
use crate::error::{Code, Error, Result};
use crate::log::{Identity, LogFile};

/// Bytes before the place that was read up to by which a log is known again.
const ANCHOR: u64 = 4096;

/// The kept lines of a log as it grows, from the first one on.
///
/// It ends where the finished lines do: what follows the last newline may be in the writing. After a
/// [`refresh`](Self::refresh) it goes on with what came since.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, "{\"kind\":\"header\",\"version\":4,\"id\":\"s1\",\"createdAt\":1,\"cwd\":\"/\"}\n").unwrap();
/// use leaflog::{Follow, NewEntry, OpenOptions, Session, SessionStorage};
///
/// let session = Session::open(&path)?;
/// let mut lines: Follow<'_> = session.follow()?;
/// assert!(lines.next().is_none());
///
/// let writer = OpenOptions::new().write(true).open(&path)?;
/// writer.append_entry(NewEntry::new("custom", r#"{"customType":"note"}"#), "main")?;
/// assert!(lines.refresh()?);
/// assert_eq!(lines.next().unwrap()?.kind, "custom");
/// assert!(lines.next().is_none());
/// # Ok::<(), leaflog::Error>(())
/// ```
pub struct Follow<'s> {
    session: &'s Session,
    lines: Mutations,
    file: Identity,
    /// Where the last bytes that were read start, and what they were.
    anchor: (u64, Vec<u8>),
}

impl Session {
    /// All kept lines, and those that come while the session is open, once they are finished.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading the log may meet.
    pub fn follow(&self) -> Result<Follow<'_>> {
        self.inner.check_open()?;
        self.inner.catch_up()?;
        let state = self.state();
        Ok(Follow {
            session: self,
            file: state.log.identity(),
            lines: Mutations::finished(state),
            anchor: (0, Vec::new()),
        })
    }
}

impl Follow<'_> {
    /// Bytes of the log that were read, all of them finished lines.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.lines.offset()
    }

    /// Takes in what was appended since. True if the log has more bytes than were read so far, which
    /// may be those of a line that is not finished.
    ///
    /// # Errors
    ///
    /// `invalid_entry` if the log was cut or written over where it was read already, `storage` if
    /// another file stands in its place; else as [`Session::refresh`].
    pub fn refresh(&mut self) -> Result<bool> {
        if let Err(error) = self.session.refresh() {
            self.check_length()?;
            // A writer that cuts off the torn last line of another one gets in the way once.
            if error.code() != Code::InvalidEntry || self.session.refresh().is_err() {
                return Err(error);
            }
        }
        let state = self.session.state();
        self.check(&state.log)?;
        let has_more = state.log.len() > self.offset();
        self.lines.go_on(state);
        Ok(has_more)
    }

    /// Whether this is the log that was read so far.
    fn check(&self, log: &LogFile) -> Result<()> {
        let path = self.session.log_path();
        if log.len() < self.offset() {
            return Err(self.truncated(log.len()));
        }
        if !log.identity().is_same_file(&self.file) {
            let message = "another file was put in the log's place; open the session again";
            return Err(Error::new(Code::Storage, message).at_path(path));
        }
        let (start, bytes) = &self.anchor;
        let mut now = vec![0; bytes.len()];
        log.fill(&mut now, *start)?;
        if now != *bytes {
            let message =
                "the log was written over where it had been read already; open the session again";
            return Err(Error::new(Code::InvalidEntry, message).at_path(path));
        }
        Ok(())
    }

    /// Whether the file that stands there has what was read so far.
    fn check_length(&self) -> Result<()> {
        match std::fs::metadata(self.session.log_path()) {
            Ok(now) if now.len() < self.offset() => Err(self.truncated(now.len())),
            _ => Ok(()),
        }
    }

    fn truncated(&self, now: u64) -> Error {
        let read = self.offset();
        Error::new(
            Code::InvalidEntry,
            format!("log truncated: {read} bytes of it had been read and it has {now} now; open the session again"),
        )
        .at_path(self.session.log_path())
    }

    /// Remembers what stands before the place that was read up to.
    fn drop_anchor(&mut self) -> Result<()> {
        let end = self.offset();
        let start = end.saturating_sub(ANCHOR);
        let len = usize::try_from(end - start).unwrap_or(0);
        let state = self.lines.state();
        // Not by the mapping, which another program may have cut since it was last looked at.
        let mut bytes = vec![0; len];
        state.log.fill(&mut bytes, start)?;
        self.anchor = (start, bytes);
        Ok(())
    }
}

impl Iterator for Follow<'_> {
    type Item = Result<Mutation>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.offset();
        let next = self.lines.next();
        // Lines are read many at a time.
        if self.offset() != before
            && let Err(error) = self.drop_anchor()
        {
            return Some(Err(error));
        }
        next
    }
}

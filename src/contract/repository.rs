//! The contract of a place with many sessions.

use super::{CreateOptions, ForkScope, SessionStorage};
use crate::error::Result;
use crate::store::Listing;

/// A place with many sessions.
pub trait SessionRepository: Send + Sync {
    /// Makes a session and opens it for writing.
    ///
    /// # Errors
    ///
    /// `already_exists` for an id in use, `invalid_payload` for an id that cannot name a session
    /// or metadata that are no object, `unsupported` for a format that the backend does not have.
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>>;

    /// Opens a session for writing.
    ///
    /// # Errors
    ///
    /// `not_found`, or `locked` if another writer has it.
    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>>;

    /// Opens a session for reading, whoever writes it meanwhile. Writing answers `unsupported`.
    ///
    /// # Errors
    ///
    /// `not_found`.
    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>>;

    /// Opens the session that was active last for writing, if there is any.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>>;

    /// The sessions, the most recently active first. Opens none for writing and takes no lock.
    ///
    /// # Errors
    ///
    /// `not_found` or `storage` if the place itself cannot be read.
    fn list(&self) -> Result<Listing>;

    /// Makes a session out of a part of another one, and opens it for writing. The parent is the
    /// source unless the options name one; the source stays as it is, and may be open.
    ///
    /// # Errors
    ///
    /// `not_found`, `invalid_fork_target` if the entry is unknown or no message, and as
    /// [`create`](Self::create).
    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>>;

    /// Removes a session and what was derived from it. A session that is not there is no error.
    ///
    /// # Errors
    ///
    /// `locked` if a writer has it, `storage` if it cannot be removed.
    fn delete(&self, id: &str) -> Result<()>;
}

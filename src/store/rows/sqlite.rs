//! Sessions in an SQLite database: one file, many sessions, any number of processes. Written ahead
//! (WAL), so that readers and the writer do not wait for each other.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, Row as Answer, ToSql, params_from_iter};

use super::guard::Locks;
use super::repository::{self, existing_session, unknown_session};
use super::sql::{Columns, Connection, SqlRows, Value, add_session, remove_session, sessions};
use super::tables::{TABLES, VERSION};
use super::{NewSession, Place};
use crate::contract::{CreateOptions, ForkScope, Metadata, SessionRepository, SessionStorage};
use crate::disk::{DiskRef, make_folder, private};
use crate::error::{Code, Error, Result};
use crate::log::Identity;
use crate::store::{Durability, Listing, SessionInfo};

/// How long a write waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a database says that it is: `leaf` in ASCII.
const APPLICATION: i64 = 0x6c65_6166;

/// Prepared statements that a connection keeps.
const PREPARED: usize = 64;

/// Sessions in an SQLite database. Clones share it.
///
/// Beside the database stand SQLite's own `-wal` and `-shm`, and a folder `-locks` with a file for
/// each session that is or was open for writing.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("sessions.db");
/// use leaflog::{At, CreateOptions, NewEntry, SessionRepository, SqliteRepository};
///
/// let repository = SqliteRepository::open(&path)?;
/// let session = repository.create(&CreateOptions::in_folder("/work"))?;
/// session.append_entry(NewEntry::new("message", r#"{"message":{"role":"user","content":"hi"}}"#), "main")?;
/// assert_eq!(session.snapshot(At::Current)?.messages.len(), 1);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqliteRepository {
    database: Arc<Database>,
}

#[derive(Debug)]
struct Database {
    path: PathBuf,
    durability: Durability,
    locks: Locks,
    /// Held by the thread of this process that writes, so that those of one process wait for each
    /// other in line and not by asking again and again.
    turn: Arc<Mutex<()>>,
    /// For what concerns the sessions as a whole.
    connection: Mutex<Sqlite>,
}

impl SqliteRepository {
    /// Opens a database, and makes it if there is none: a file that only its owner may read. What
    /// is acknowledged survives the end of the process.
    ///
    /// # Errors
    ///
    /// `storage` if it cannot be opened or made, `unsupported` if a later version of leaflog made
    /// it or if it is another program's.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Durability::default())
    }

    /// As [`open`](Self::open), with a choice of when a write is safe.
    ///
    /// `Process` runs SQLite with `synchronous = NORMAL`: a power cut may cost the last writes and
    /// never the database, which `OFF` would put at stake. `Disk` runs it with `FULL`: each write
    /// is on the disk when it returns.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, durability: Durability) -> Result<Self> {
        let path = std::path::absolute(path.as_ref())
            .map_err(|e| Error::io("find it", path.as_ref(), e))?;
        let locks = Locks::beside(&path);
        let turn = Arc::default();
        make_file(&path)?;
        let connection = Sqlite::connect(&path, durability, &turn)?;
        if !connection.is_made()? {
            let _making = locks.wait_to_make()?;
            if !connection.is_made()? {
                connection.make()?;
            }
        }
        Ok(Self {
            database: Arc::new(Database {
                path,
                durability,
                locks,
                turn,
                connection: Mutex::new(connection),
            }),
        })
    }
}

impl SessionRepository for SqliteRepository {
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>> {
        repository::create(&*self.database, options)
    }

    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        repository::open(&*self.database, id, true)
    }

    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        repository::open(&*self.database, id, false)
    }

    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>> {
        repository::most_recent(&*self.database)
    }

    fn list(&self) -> Result<Listing> {
        repository::list(&*self.database)
    }

    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>> {
        repository::fork(&*self.database, source, scope, options)
    }

    fn delete(&self, id: &str) -> Result<()> {
        self.database.delete(id)
    }
}

impl Database {
    fn connect(&self) -> Result<Mutex<Sqlite>> {
        Sqlite::connect(&self.path, self.durability, &self.turn).map(Mutex::new)
    }

    fn find(&self, id: &str) -> Result<Option<(i64, Metadata)>> {
        let found = sessions(&mut *self.connection.lock(), Some(id))?;
        let one = found.into_iter().next();
        Ok(one.map(|(session, metadata, _)| (session, self.here(metadata))))
    }

    fn here(&self, mut metadata: Metadata) -> Metadata {
        metadata.path = Some(self.path.clone());
        metadata
    }
}

impl Place for Database {
    type Rows = SqlRows<Sqlite>;

    fn create(&self, new: NewSession) -> Result<Self::Rows> {
        let id = &new.metadata.id;
        let own = self.connect()?;
        let mut made = None;
        self.connection.lock().together(&mut |connection| {
            let session = add_session(connection, &new)?;
            let session = session.ok_or_else(|| existing_session(id))?;
            // Before anyone else sees the session.
            made = Some((session, self.locks.take(session, id)?));
            Ok(())
        })?;
        let (session, guard) = made.ok_or_else(|| unknown_session(id))?;
        Ok(SqlRows {
            connection: own,
            session,
            metadata: self.here(new.metadata),
            _writing: Some(guard),
        })
    }

    fn open(&self, id: &str, write: bool) -> Result<Self::Rows> {
        let unknown = || unknown_session(id).at_path(&self.path);
        let (session, metadata) = self.find(id)?.ok_or_else(unknown)?;
        let guard = write
            .then(|| self.locks.take(session, id))
            .transpose()
            .map_err(|error| error.at_path(&self.path))?;
        // It may have been deleted, and another one made, before the lock was there.
        if guard.is_some() && self.find(id)?.map(|found| found.0) != Some(session) {
            return Err(unknown());
        }
        Ok(SqlRows {
            connection: self.connect()?,
            session,
            metadata,
            _writing: guard,
        })
    }

    fn list(&self) -> Result<Vec<SessionInfo>> {
        let found = sessions(&mut *self.connection.lock(), None)?;
        let info = |(_, metadata, totals)| repository::info(self.here(metadata), totals);
        Ok(found.into_iter().map(info).collect())
    }

    fn delete(&self, id: &str) -> Result<()> {
        let Some((session, _)) = self.find(id)? else {
            return Ok(());
        };
        let guard = self.locks.take(session, id);
        let guard = guard.map_err(|error| error.at_path(&self.path))?;
        self.connection
            .lock()
            .together(&mut |connection| remove_session(connection, session))?;
        self.locks.forget(session);
        drop(guard);
        Ok(())
    }
}

/// Makes an empty file that only its owner may read, if there is none. SQLite gives its rights to
/// the files beside it.
fn make_file(path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(&DiskRef::default(), folder)?;
    }
    match private(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io("make it", path, error)),
    }
}

/// A connection.
#[derive(Debug)]
struct Sqlite {
    connection: rusqlite::Connection,
    path: PathBuf,
    identity: Identity,
    turn: Arc<Mutex<()>>,
}

impl Sqlite {
    fn connect(path: &Path, durability: Durability, turn: &Arc<Mutex<()>>) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let synchronous = match durability {
            Durability::Process => "NORMAL",
            Durability::Disk => "FULL",
        };
        let open = || {
            let connection = rusqlite::Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.set_prepared_statement_cache_capacity(PREPARED);
            connection.pragma_update(None, "synchronous", synchronous)?;
            // macOS flushes the disk's own cache only when asked to.
            connection.pragma_update(None, "fullfsync", durability == Durability::Disk)?;
            Ok(connection)
        };
        Ok(Self {
            connection: open().map_err(|error| failed(path, &error))?,
            path: path.to_owned(),
            identity: std::fs::metadata(path)
                .map(|metadata| Identity::of(&metadata))
                .map_err(|e| Error::io("look at it", path, e))?,
            turn: Arc::clone(turn),
        })
    }

    /// Refuses to write into a file that nobody finds any more.
    fn check_place(&self) -> Result<()> {
        let what = match std::fs::metadata(&self.path) {
            Ok(now) if self.identity.is_same_file(&Identity::of(&now)) => return Ok(()),
            Ok(_) => "the database was replaced by another file",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "the database was removed",
            Err(error) => return Err(Error::io("look at it", &self.path, error)),
        };
        Err(Error::new(
            Code::Storage,
            format!("{what} since it was opened; nothing was written, open it again"),
        )
        .at_path(&self.path))
    }

    /// Application, version and how many tables and indexes there are.
    fn look(&self) -> Result<(i64, i64, i64)> {
        let look = || {
            // In one transaction, since another process may be making it.
            self.connection.execute_batch("BEGIN")?;
            let number = |sql: &str| self.connection.query_row(sql, [], |row| row.get(0));
            let found = number("PRAGMA application_id").and_then(|application| {
                let version = number("PRAGMA user_version")?;
                let tables = number("SELECT count(*) FROM sqlite_schema")?;
                Ok((application, version, tables))
            });
            self.connection.execute_batch("COMMIT")?;
            found
        };
        look().map_err(|error| failed(&self.path, &error))
    }

    /// Whether the database has the tables; false if it is empty, an error if it is not ours.
    fn is_made(&self) -> Result<bool> {
        let refuse =
            |message: String| Err(Error::new(Code::Unsupported, message).at_path(&self.path));
        let (application, version, tables) = self.look()?;
        if application == APPLICATION {
            return match version {
                VERSION => Ok(true),
                _ if version > VERSION => refuse(format!(
                    "expected tables of version {VERSION} at the most, found {version}: a later leaflog made them; \
                     update this one"
                )),
                _ => refuse(format!(
                    "expected tables of version {VERSION}, found {version}"
                )),
            };
        }
        if tables == 0 && version == 0 {
            return Ok(false);
        }
        refuse(
            "expected a database of leaflog, found one of another program; choose another file"
                .to_owned(),
        )
    }

    /// Makes the tables. The caller sees to it that only one does.
    fn make(&self) -> Result<()> {
        let make = || {
            let mode: String =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
            if mode == "wal" {
                self.connection.execute_batch(&format!(
                    "BEGIN IMMEDIATE;{TABLES}PRAGMA application_id = {APPLICATION};PRAGMA user_version = {VERSION};COMMIT;"
                ))?;
            }
            Ok(mode)
        };
        let mode = make().map_err(|error| failed(&self.path, &error))?;
        if mode == "wal" {
            return Ok(());
        }
        Err(Error::new(
            Code::Storage,
            format!(
                "expected SQLite to write ahead here, found its mode to be `{mode}`; put the database on a local disk"
            ),
        )
        .at_path(&self.path))
    }
}

impl Connection for Sqlite {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<()> {
        self.ask(sql, values, &mut |_| {})
    }

    fn ask(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns),
    ) -> Result<()> {
        let mut ask = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                each(row);
            }
            Ok(())
        };
        ask().map_err(|error| failed(&self.path, &error))
    }

    fn together(&mut self, work: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let turn = Arc::clone(&self.turn);
        let _turn = turn.lock();
        self.check_place()?;
        self.run("BEGIN IMMEDIATE", &[])?;
        let result = work(self).and_then(|()| self.run("COMMIT", &[]));
        if result.is_err() && !self.connection.is_autocommit() {
            // What failed first is what the caller wants to know.
            let _ = self.run("ROLLBACK", &[]);
        }
        result
    }

    fn freeze(&mut self) -> Result<()> {
        self.run("BEGIN", &[])?;
        // The state is that of the first read.
        self.run("SELECT 1 FROM session LIMIT 1", &[])
    }

    fn sync(&mut self) -> Result<()> {
        // What is committed stands in the log that is written ahead, until SQLite has put it into
        // the database and that on the disk. Of these two only the log may be opened here: closing
        // the database would take the locks of all connections of this process with it.
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        match OpenOptions::new().write(true).open(&log) {
            Ok(file) => file.sync_all().map_err(|e| Error::io("sync it", &log, e))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("open it", &log, error)),
        }
        #[cfg(unix)]
        if let Some(folder) = self.path.parent() {
            std::fs::File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|e| Error::io("sync it", folder, e))?;
        }
        Ok(())
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(number),
            Self::Real(number) => ValueRef::Real(number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Columns for Answer<'_> {
    fn int(&self, at: usize) -> Option<i64> {
        self.get(at).ok().flatten()
    }

    fn real(&self, at: usize) -> Option<f64> {
        self.get(at).ok().flatten()
    }

    fn text(&self, at: usize) -> Option<String> {
        self.get(at).ok().flatten()
    }

    fn bytes(&self, at: usize) -> Option<Vec<u8>> {
        self.get(at).ok().flatten()
    }
}

/// The error for what SQLite refused.
fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => format!(
            "the database was busy for more than {} seconds: another process keeps writing; try again",
            PATIENCE.as_secs()
        ),
        Some(ErrorCode::NotADatabase) => {
            "expected an SQLite database, found another file; choose another path".to_owned()
        }
        Some(ErrorCode::DatabaseCorrupt) => format!(
            "SQLite found the database damaged: {error}; `PRAGMA integrity_check` says what is, a backup helps"
        ),
        _ => format!("SQLite refused: {error}"),
    };
    Error::new(Code::Storage, message).at_path(path)
}

#[cfg(test)]
mod tests {
    use rusqlite::limits::Limit;

    use super::super::Place;
    use super::super::session::RowSession;
    use super::SqliteRepository;
    use crate::contract::{CreateOptions, SessionStorage, pi};
    use crate::error::Code;

    #[test]
    fn a_line_longer_than_sqlite_takes_is_refused_and_stores_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let repository = SqliteRepository::open(folder.path().join("s")).unwrap();
        let options = CreateOptions {
            id: Some("s".to_owned()),
            ..CreateOptions::in_folder("/w")
        };
        let session = crate::SessionRepository::create(&repository, &options);
        session.unwrap().close().unwrap();
        let rows = repository.database.open("s", true).unwrap();
        // By itself it takes 1,000,000,000 bytes.
        let limited = rows.connection.lock();
        limited
            .connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, 10_000)
            .unwrap();
        drop(limited);
        let session = RowSession::new(rows, true);
        let message = |len| {
            let text = "x".repeat(len);
            pi::message(&format!("{{\"role\":\"user\",\"content\":\"{text}\"}}"))
        };
        let error = session.append_entry(message(20_000), "main").unwrap_err();
        assert_eq!(error.code(), Code::Storage, "{error}");
        assert!(error.to_string().contains("too big"), "{error}");
        let kept = session.append_entry(message(2_000), "main").unwrap();
        assert_eq!((kept.seq, kept.parent), (Some(1), None));
    }
}

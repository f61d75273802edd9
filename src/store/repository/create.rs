//! Making sessions, forking them, and removing them: what changes a folder. One at a time takes a
//! name in it, whichever thread or process it is in.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::{Repository, header_id, place, scan};
use crate::contract::{CreateOptions, ForkScope};
use crate::disk::{DiskRef, folder_of, make_folder, sync_folder, with_ending};
use crate::error::{Code, Error, Result};
use crate::format::{Line, header_line, now_nanos};
use crate::index::Sidecar;
use crate::log::{LogFile, Reading};
use crate::model::Format;
use crate::store::cwd::absolute;
use crate::store::fork::{self, Wanted};
use crate::store::publish::{Out, exists, give_back, publish_held};
use crate::store::rules::{cannot_hold, check_session_id};
use crate::store::{Forked, OpenOptions, Session};

/// The file that is locked where a folder cannot be.
const LOCK_FILE: &str = ".leaflog-lock";

impl Repository {
    /// Makes a session and opens it for writing. Without a format it is one of pi v4. The working
    /// directory is made absolute; an empty one is that of the process.
    ///
    /// The file of a pi v3 session appears with its first message, so nothing holds its id until then:
    /// of two sessions with one id the first to have a message gets it, the other one's message fails.
    ///
    /// # Errors
    ///
    /// `already_exists` for an id in use, `invalid_payload` for an id that cannot name a session, a
    /// working directory that can be no path, or metadata that are no object; `unsupported` for pi v1
    /// and v2, and for a parent or metadata that the format cannot hold; `storage`.
    pub fn create(&self, options: &CreateOptions) -> Result<Session> {
        let format = options.format.unwrap_or(Format::PiV4);
        check_format(format, options)?;
        let nanos = now_nanos();
        let id = fork::new_id(format, options)?;
        let options = CreateOptions {
            cwd: absolute(&options.cwd)?,
            ..options.clone()
        };
        let line = header(format, &id, nanos, &options)?;
        let target = self.target(format, &id, &options.cwd, nanos)?;
        if format == Format::PiV3 {
            drop(self.claim(&id)?);
            let options = self.options.clone().write(true);
            let (repository, id) = (self.clone(), id.clone());
            let claim = Box::new(move || repository.claim(&id));
            return Session::create_pending(&target, line.bytes(), options, claim);
        }
        let write = |out: &mut Out| out.put(line.bytes());
        let ((), file) =
            publish_held::<_, _, Error>(&self.options.disk, &target, write, || self.claim(&id))?;
        Session::open_held(&target, self.options.clone(), file)
    }

    /// Makes a session out of a part of another one, and opens it for writing. The parent is the
    /// source and the working directory that of the source, unless the options name others; the
    /// format is that of the source. The source stays as it is, and may be open. A broken path is cut at
    /// its break if the options of the repository say salvage.
    ///
    /// # Errors
    ///
    /// `not_found`, `already_exists`, and as [`Session::fork_to`].
    pub fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Session> {
        self.fork_of(&self.open_read_only(source)?, scope, options)
    }

    /// As [`fork`](Self::fork), out of the session in a file; it need not stand in the folder. Where two
    /// sessions have one id, the file says which is meant.
    ///
    /// # Errors
    ///
    /// As [`fork`](Self::fork).
    pub fn fork_path(
        &self,
        source: impl AsRef<Path>,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Session> {
        let reading = self.options.clone().write(false);
        self.fork_of(&reading.open(source)?, scope, options)
    }

    fn fork_of(
        &self,
        source: &Session,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Session> {
        let nanos = now_nanos();
        let id = fork::new_id(source.format(), options)?;
        let mut options = options.clone();
        let cwd = match &*options.cwd {
            // Where a session without one belongs is up to its own header, which is kept.
            "" => source.overview()?.cwd.unwrap_or_default(),
            cwd => absolute(cwd)?,
        };
        options.cwd.clone_from(&cwd);
        let target = self.target(source.format(), &id, &cwd, nanos)?;
        let wanted = Wanted {
            scope,
            options: &options,
            id: &id,
            nanos,
            salvage: self.options.salvage,
        };
        let (_, file) = fork::fork(source, &target, wanted, || self.claim(&id))?;
        Session::open_held(&target, self.options.clone(), file)
    }

    /// Removes a session with its sidecar and with what was cut off its end when it was repaired. A
    /// session that is not there is no error.
    ///
    /// # Errors
    ///
    /// `locked` if a writer has it, `storage` if it cannot be removed.
    pub fn delete(&self, id: &str) -> Result<()> {
        let logs = match scan::paths(&self.folder) {
            Err(error) if error.code() == Code::NotFound => return Ok(()),
            logs => logs?,
        };
        for path in logs {
            let is_it = match header_id(&path) {
                Some(own) => own == id,
                // A file without a readable header goes by its name. What is no file is no session,
                // and opening it might wait for ever.
                None => place::names(&path) == Some(id) && path.is_file(),
            };
            if is_it {
                delete(&path, &self.options)?;
            }
        }
        Ok(())
    }

    /// Removes the session in a file, as [`delete`](Self::delete) does, and no other that has its id. A
    /// file that is not there is no error; one that is no session is left alone.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use leaflog::{CreateOptions, ForkScope, Repository, SessionStorage};
    ///
    /// let repository = Repository::new(folder.path());
    /// let session = repository.create(&CreateOptions::in_folder("/work"))?;
    /// let path = session.log_path().to_owned();
    /// session.close()?;
    /// repository.fork_path(&path, &ForkScope::Tree, &CreateOptions::default())?;
    /// repository.delete_path(&path)?;
    /// repository.delete_path(&path)?;
    /// assert_eq!(repository.list()?.sessions.len(), 1);
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`delete`](Self::delete), and `invalid_entry` for a file that has no header of a session.
    pub fn delete_path(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if path.symlink_metadata().is_ok() && (!path.is_file() || header_id(path).is_none()) {
            let message =
                "expected a session to delete, found no header of one; remove the file by hand";
            return Err(Error::new(Code::InvalidEntry, message).at_path(path));
        }
        delete(path, &self.options)
    }

    /// The file of a new session, in a folder that exists.
    fn target(&self, format: Format, id: &str, cwd: &str, nanos: u64) -> Result<PathBuf> {
        // Asked again under the lock; here, so that nothing is made for a name that is taken.
        self.check_free(id)?;
        let target = self.folder.join(place::of(format, id, cwd, nanos));
        let disk = &self.options.disk;
        make_folder(disk, folder_of(&target))?;
        if folder_of(&target) != self.folder {
            // Who made the folder may have died before its name was on the disk.
            sync_folder(disk, &self.folder)?;
        }
        Ok(target)
    }

    /// Takes the turn to put a name into the folder, if no session has the id. The turn lasts as long
    /// as the file is open.
    fn claim(&self, id: &str) -> Result<Option<File>> {
        let turn = turn(&self.options.disk, &self.folder);
        self.check_free(id)?;
        Ok(turn)
    }

    fn check_free(&self, id: &str) -> Result<()> {
        check_session_id(id)?;
        let logs = match scan::paths(&self.folder) {
            Err(error) if error.code() == Code::NotFound => return Ok(()),
            logs => logs?,
        };
        let taken = logs.into_iter().find(|path| match place::names(path) {
            Some(named) => named == id,
            None => place::may_name(path, id) && header_id(path).as_deref() == Some(id),
        });
        match taken {
            None => Ok(()),
            Some(path) => Err(Error::new(
                Code::AlreadyExists,
                format!("a session with the id `{id}` exists; open it, or take another id"),
            )
            .at_path(&path)),
        }
    }
}

impl Session {
    /// As [`fork_to`](Self::fork_to), into a file beside this one whose name is the one that the
    /// format's program would give it; that file comes back too. A broken path is cut at its break if the
    /// options of this session say salvage.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use leaflog::{CreateOptions, ForkScope, OpenOptions};
    ///
    /// let session = OpenOptions::new().create(folder.path().join("s.jsonl"), &CreateOptions::default())?;
    /// let (file, forked) = session.fork_beside(&ForkScope::Tree, &CreateOptions::default())?;
    /// let name = file.file_name().unwrap().to_str().unwrap();
    /// assert!(name.ends_with(&format!("_{}.jsonl", forked.session_id)));
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fork_to`](Self::fork_to); `already_exists` for an id that a session of the folder has.
    pub fn fork_beside(
        &self,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<(PathBuf, Forked)> {
        let nanos = now_nanos();
        let id = fork::new_id(self.format(), options)?;
        let name = place::of(self.format(), &id, "", nanos);
        // Without the folder for a working directory, which the source stands in already.
        let name = name.file_name().unwrap_or_default();
        let target = self.log_path().with_file_name(name);
        let beside = Repository::new(folder_of(&target));
        let wanted = Wanted {
            scope,
            options,
            id: &id,
            nanos,
            salvage: self.inner.options.salvage,
        };
        let (forked, file) = fork::fork(self, &target, wanted, || beside.claim(&id))?;
        give_back(&file);
        Ok((target, forked))
    }
}

impl OpenOptions {
    /// Makes a session in a file of the caller's choice and opens it for writing. The folder must exist;
    /// else as [`Repository::create`], but that other sessions may have the id.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("s.jsonl");
    /// use leaflog::{CreateOptions, NewEntry, OpenOptions, SessionStorage};
    ///
    /// let session = OpenOptions::new().create(&path, &CreateOptions::in_folder("/work"))?;
    /// session.append_entry(NewEntry::new("custom", r#"{"customType":"note"}"#), "main")?;
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Repository::create`]; `already_exists` if there is such a file.
    pub fn create(&self, path: impl AsRef<Path>, options: &CreateOptions) -> Result<Session> {
        let path = path.as_ref();
        let format = options.format.unwrap_or(Format::PiV4);
        check_format(format, options)?;
        let nanos = now_nanos();
        let id = fork::new_id(format, options)?;
        let header = header(format, &id, nanos, options)?;
        let writing = self.clone().write(true);
        if format == Format::PiV3 {
            if path.symlink_metadata().is_ok() {
                return Err(exists(path));
            }
            return Session::create_pending(path, header.bytes(), writing, Box::new(|| Ok(None)));
        }
        let write = |out: &mut Out| out.put(header.bytes());
        let ((), file) = publish_held::<_, _, Error>(&writing.disk, path, write, || Ok(()))?;
        Session::open_held(path, writing, file)
    }
}

/// The header of a new session, its working directory made absolute.
fn header(format: Format, id: &str, nanos: u64, options: &CreateOptions) -> Result<Line> {
    let options = CreateOptions {
        cwd: absolute(&options.cwd)?,
        ..options.clone()
    };
    let mut line = Line::default();
    header_line(&mut line, format, id, nanos, &options)?;
    Ok(line)
}

fn check_format(format: Format, options: &CreateOptions) -> Result<()> {
    match format {
        Format::PiV1 | Format::PiV2 => Err(Error::new(
            Code::Unsupported,
            format!(
                "expected codebot-v3, pi-v3 or pi-v4 for a new session, found {format}, which is only read"
            ),
        )),
        Format::CodebotV3 if options.parent.is_some() => {
            Err(cannot_hold(format, "place for a parent session"))
        }
        Format::CodebotV3 | Format::PiV3 if options.metadata.is_some() => {
            Err(cannot_hold(format, "place for metadata"))
        }
        _ => Ok(()),
    }
}

/// Waits for the turn in a folder: by a lock on the folder itself, else on a file in it. None where
/// neither can be locked; then only names keep two sessions apart.
fn turn(disk: &DiskRef, folder: &Path) -> Option<File> {
    let locked = |file: File| file.lock().ok().map(|()| file);
    if let Some(file) = File::open(folder).ok().and_then(locked) {
        return Some(file);
    }
    let path = folder.join(LOCK_FILE);
    let file = disk.create(&path);
    file.or_else(|_| File::options().write(true).open(&path))
        .ok()
        .and_then(locked)
}

/// Removes what belongs to a log, and the log last: who is interrupted between leaves a session that
/// can be deleted again.
fn delete(path: &Path, options: &OpenOptions) -> Result<()> {
    // Only a handle that may write can be locked everywhere.
    let file = File::options()
        .write(true)
        .open(path)
        .or_else(|_| File::open(path));
    let held = match file {
        Ok(file) => match file.try_lock() {
            Ok(()) => Some(file),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    Code::Locked,
                    "another writer has the session; close it there before it is deleted",
                )
                .at_path(path));
            }
            // No writer can hold a lock where there are none.
            Err(TryLockError::Error(_)) => Some(file),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        // The folder decides whether a file may be removed, not the file.
        Err(_) => None,
    };
    let mut derived = vec![Sidecar::beside(path)];
    let sidecar = Sidecar::of(path, options.index_dir.as_deref());
    if let Ok(log) = LogFile::open(path, Reading::Read)
        && let Ok(Ok(loaded)) = sidecar.load(&log, Reading::Read)
    {
        derived.push(loaded.disk.path);
    }
    let torn = with_ending(path, ".torn-");
    let torn = torn.file_name().unwrap_or_default().to_string_lossy();
    // Of sidecars whose writers died.
    let half = with_ending(path, ".idx.");
    let half = format!(
        ".{}",
        half.file_name().unwrap_or_default().to_string_lossy()
    );
    if let Ok(items) = fs::read_dir(folder_of(path)) {
        derived.extend(items.flatten().filter_map(|item| {
            let name = item.file_name();
            if name.to_str()?.starts_with(&*half) && name.to_str()?.ends_with("tmp") {
                return Some(item.path());
            }
            // An offset, and a number where it was not the first one there.
            let place = name.to_str()?.strip_prefix(&*torn)?;
            place
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
                .then(|| item.path())
        }));
    }
    let disk = &options.disk;
    for file in derived.iter().map(PathBuf::as_path).chain([path]) {
        match disk.remove(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove it", file, error));
            }
            _ => {}
        }
    }
    drop(held);
    sync_folder(disk, folder_of(path))
}

//! A place with many sessions: a folder of files, or a database.

use std::sync::Arc;

use leaflog::{
    Code, CreateOptions, Durability, Error, ForkScope, Format, IndexMode, OpenOptions, Repository,
    Result, SessionRepository, SqliteRepository,
};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::answer;
use crate::failure::misasked;
use crate::question::{Asked, Indexed, Keeping, Named, Opening};
use crate::session::Session;
use crate::work::{Work, later};

/// A place as JavaScript holds it.
#[napi]
pub struct Place {
    kept: Arc<Kept>,
}

enum Kept {
    Files {
        repository: Repository,
        options: OpenOptions,
    },
    Rows(SqliteRepository),
}

#[napi]
impl Place {
    /// The place that a JSON text describes.
    #[napi(ts_return_type = "Promise<Place>")]
    pub fn at(keeping: String) -> AsyncTask<Work<Place>> {
        later(move || {
            let keeping = serde_json::from_str(&keeping).map_err(|error| misasked(&error))?;
            let kept = Arc::new(Kept::at(keeping)?);
            Ok(Self { kept })
        })
    }

    /// Answers a question; both are JSON.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn call(&self, question: String) -> AsyncTask<Work<String>> {
        let kept = Arc::clone(&self.kept);
        later(move || {
            let asked = serde_json::from_str(&question).map_err(|error| misasked(&error))?;
            kept.answer(asked)
        })
    }

    /// Makes or opens a session, as a JSON text says.
    #[napi(ts_return_type = "Promise<Session>")]
    pub fn session(&self, opening: String) -> AsyncTask<Work<Session>> {
        let kept = Arc::clone(&self.kept);
        later(move || {
            let opening = serde_json::from_str(&opening).map_err(|error| misasked(&error))?;
            kept.session(opening)
        })
    }
}

impl Kept {
    fn at(keeping: Keeping) -> Result<Self> {
        let durability = match keeping.flush {
            true => Durability::Disk,
            false => Durability::Process,
        };
        match (keeping.folder, keeping.database) {
            (Some(folder), None) => {
                let mut options = OpenOptions::new().durability(durability);
                options = options.index(match keeping.index {
                    Some(Indexed::Always) => IndexMode::Always,
                    Some(Indexed::Memory) => IndexMode::Memory,
                    Some(Indexed::Auto) | None => IndexMode::Auto,
                });
                if let Some(folder) = keeping.index_dir {
                    options = options.index_dir(folder);
                }
                Ok(Self::Files {
                    repository: Repository::new(folder).with_options(options.clone()),
                    options,
                })
            }
            (None, Some(database)) => {
                SqliteRepository::open_with(database, durability).map(Self::Rows)
            }
            _ => Err(Error::new(
                Code::InvalidPayload,
                "expected a folder or a database to keep sessions in",
            )),
        }
    }

    fn session(&self, opening: Opening) -> Result<Session> {
        match self {
            Self::Files {
                repository,
                options,
            } => {
                let opened = match opening {
                    Opening::Create(made) => repository.create(&made.into())?,
                    Opening::Open { named, read_only } => {
                        open(repository, options, named, read_only)?
                    }
                    Opening::Fork {
                        source,
                        scope,
                        made,
                    } => fork(repository, source, &scope.into(), &made.into())?,
                };
                Session::new(Box::new(opened), Some(options.clone()))
            }
            Self::Rows(repository) => {
                let opened = match opening {
                    Opening::Create(made) => repository.create(&made.into())?,
                    Opening::Open { named, read_only } => match read_only {
                        true => repository.open_read_only(&id_of(named)?)?,
                        false => repository.open(&id_of(named)?)?,
                    },
                    Opening::Fork {
                        source,
                        scope,
                        made,
                    } => repository.fork(&id_of(source)?, &scope.into(), &made.into())?,
                };
                Session::new(opened, None)
            }
        }
    }

    fn answer(&self, asked: Asked) -> Result<String> {
        match (self, asked) {
            (Self::Files { repository, .. }, Asked::Delete(named)) => {
                match named.path {
                    Some(path) => repository.delete_path(path)?,
                    None => repository.delete(&id_of(named)?)?,
                }
                Ok("null".to_owned())
            }
            (Self::Rows(repository), Asked::Delete(named)) => {
                repository.delete(&id_of(named)?)?;
                Ok("null".to_owned())
            }
            (_, Asked::Listing) => answer::listing(&self.listing()?),
            (Self::Files { .. }, Asked::Headers) => {
                let sessions = self.listing()?.sessions;
                let of_v4 = sessions.iter().filter(|info| info.format == Format::PiV4);
                answer::list(of_v4, |text, info| {
                    text.push_str(&answer::header(info)?);
                    Ok(())
                })
            }
            (Self::Rows(repository), Asked::Headers) => {
                let sessions = self.listing()?.sessions;
                answer::list(sessions, |text, info| {
                    let session = repository.open_read_only(&info.id)?;
                    text.push_str(&answer::metadata(&session.metadata()?, false)?);
                    Ok(())
                })
            }
        }
    }

    /// What is there; nothing where there is no folder yet.
    fn listing(&self) -> Result<leaflog::Listing> {
        let listing = match self {
            Self::Files { repository, .. } => repository.list(),
            Self::Rows(repository) => repository.list(),
        };
        match listing {
            Err(error) if error.code() == Code::NotFound => Ok(leaflog::Listing::default()),
            listing => listing,
        }
    }
}

/// Opens a session by its file, which then must have the id if one is given, or by its id.
fn open(
    repository: &Repository,
    options: &OpenOptions,
    named: Named,
    read_only: bool,
) -> Result<leaflog::Session> {
    let session = match (&named.path, read_only) {
        (Some(path), false) => repository.open_path(path)?,
        (Some(path), true) => options.clone().write(false).open(path)?,
        (None, false) => repository.open(&id_of(named)?)?,
        (None, true) => return repository.open_read_only(&id_of(named)?),
    };
    Ok(session)
}

fn fork(
    repository: &Repository,
    source: Named,
    scope: &ForkScope,
    options: &CreateOptions,
) -> Result<leaflog::Session> {
    match source.path {
        Some(path) => repository.fork_path(path, scope, options),
        None => repository.fork(&id_of(source)?, scope, options),
    }
}

fn id_of(named: Named) -> Result<String> {
    named.id.ok_or_else(|| {
        Error::new(
            Code::InvalidPayload,
            "expected the id of a session, found none",
        )
    })
}

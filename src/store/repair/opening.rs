//! How a source begins: its format and its header, wherever that stands, or what a new header is made
//! of. Refuses what is no session, as a reader does.

use super::lines::{Keeps, Object, Reader, What};
use super::make::quoted;
use super::report::Place;
use crate::error::{Code, Error, Result};
use crate::format::{
    Header, Kind, Mutation, by_shape, claims_header, detect, entry_time, format_time, hex_id,
    interpret, uuid_v7,
};
use crate::index::build;
use crate::json::{Document, Json};
use crate::log::LogFile;
use crate::model::Format;
use crate::store::OpenOptions;
use crate::store::repository::id_in_name;
use crate::store::state::how;

/// A header that the source has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The line that it starts on.
    pub(super) place: Place,
    /// Where it starts in the source.
    start: u64,
}

/// A header for a source that has none.
#[derive(Debug, Default)]
struct Made {
    session_id: String,
    /// codebot: the id of its entry.
    root: String,
    cwd: String,
    parent: Option<String>,
    name: Option<String>,
}

/// The beginning of a source.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) format: Format,
    pub(super) header: Option<Known>,
    pub(super) session_id: String,
    pub(super) created: Option<i64>,
    made: Option<Made>,
    /// Where a header starts that is none.
    broken: Option<u64>,
}

/// What the first objects of a source say.
#[derive(Default)]
struct Look {
    format: Option<Format>,
    found: Option<(Known, Format, Header)>,
    broken: Option<(u64, Made, Option<i64>)>,
    error: Option<Error>,
    has_object: bool,
}

impl Look {
    fn at(&mut self, place: Place, object: &Object<'_>, log: &LogFile) -> Result<()> {
        let root = object.document.root();
        // What had to be put together tells nothing, unless it is a header after all.
        if object.is_recovered && !(claims_header(root) && detect(root).is_ok()) {
            return Ok(());
        }
        let is_first = !std::mem::replace(&mut self.has_object, true);
        let start = object.source.start;
        if !is_first && !claims_header(root) {
            if self.format.is_none() {
                self.format = certain_shape(object);
            }
            return Ok(());
        }
        match detect(root) {
            Ok((format, header)) => self.found = Some((Known { place, start }, format, header)),
            Err(error) if is_first => {
                let error = error.at_line(place.line, place.offset).at_path(log.path());
                if error.code() == Code::Unsupported {
                    return Err(error);
                }
                self.format = by_shape(root);
                if claims_header(root)
                    && let Some(format) = self.format
                {
                    let (made, created) = Made::from_broken(format, object);
                    self.broken = Some((start, made, created));
                }
                self.error = Some(error);
            }
            Err(_) => {}
        }
        Ok(())
    }
}

impl Opening {
    pub(super) fn of(log: &LogFile, options: &OpenOptions) -> Result<Self> {
        let mut look = Look::default();
        let mut reader = Reader::new(log);
        // Where the first object is no header, one that comes later is looked for.
        while look.found.is_none()
            && reader.read(Keeps::Opening, |found| match &found.what {
                What::Object(object) if look.found.is_none() => look.at(found.at, object, log),
                _ => Ok(()),
            })?
        {}
        if let Some((known, format, header)) = look.found {
            return Ok(Self {
                format,
                header: Some(known),
                session_id: header.session_id,
                created: header.created,
                made: None,
                broken: look.broken.map(|(start, _, _)| start),
            });
        }
        let Some(format) = look.format else {
            return Err(match look.error {
                Some(error) => error,
                None => refused(log, options),
            });
        };
        let (broken, made, created) = match look.broken {
            Some((start, made, created)) => (Some(start), made, created),
            None => (None, Made::default(), None),
        };
        let mut opening = Self {
            format,
            header: None,
            session_id: String::new(),
            created,
            made: Some(made),
            broken,
        };
        opening.complete(log);
        Ok(opening)
    }

    /// Goes on as if no header had been found.
    pub(super) fn forget_header(&mut self, log: &LogFile) {
        self.header = None;
        self.made = Some(Made {
            session_id: self.session_id.clone(),
            ..Made::default()
        });
        self.complete(log);
    }

    /// Gives a header that is to be made its ids.
    fn complete(&mut self, log: &LogFile) {
        let Some(made) = &mut self.made else {
            return;
        };
        if made.session_id.is_empty() {
            made.session_id = match id_in_name(log.path()) {
                Some(id) if !id.is_empty() => id.to_owned(),
                _ if self.format == Format::CodebotV3 => hex_id(),
                _ => uuid_v7(),
            };
        }
        if made.root.is_empty() {
            "h0".clone_into(&mut made.root);
        }
        self.session_id.clone_from(&made.session_id);
    }

    pub(super) fn is_header(&self, object: &Object<'_>) -> bool {
        self.header
            .is_some_and(|header| header.start == object.source.start)
    }

    /// Whether an object is a header that is not to be kept.
    pub(super) fn is_broken(&self, object: &Object<'_>) -> bool {
        self.broken == Some(object.source.start)
    }

    /// Whether an object is a header that is no entry, or none that is to be kept.
    pub(super) fn is_no_slot(&self, object: &Object<'_>) -> bool {
        let is_entry = self.format == Format::CodebotV3;
        self.is_broken(object) || (!is_entry && self.is_header(object))
    }

    /// The id of the entry that a header which is to be made is.
    pub(super) fn made_root(&self) -> Option<&str> {
        let made = self.made.as_ref()?;
        (self.format == Format::CodebotV3).then_some(&made.root)
    }

    /// The line of a header that is to be made.
    pub(super) fn made_line(&self, time: i64) -> Option<String> {
        let made = self.made.as_ref()?;
        let (id, cwd) = (quoted(&made.session_id), quoted(&made.cwd));
        let more = |key: &str, value: &Option<String>| {
            let value = value.as_deref().map(quoted);
            value.map_or_else(String::new, |value| format!(",\"{key}\":{value}"))
        };
        let text = quoted(&format_time(super::make::in_years(time)));
        Some(match self.format {
            Format::CodebotV3 => format!(
                "{{\"kind\":\"header\",\"id\":{},\"timestamp\":{text},\"data\":{{\"version\":3,\"session_id\":{id}{},\"cwd\":{cwd},\"created\":{text}}}}}",
                quoted(&made.root),
                more("name", &made.name)
            ),
            Format::PiV4 => format!(
                "{{\"kind\":\"header\",\"version\":4,\"id\":{id},\"createdAt\":{},\"cwd\":{cwd}{}}}",
                time.max(0),
                more("parentSessionId", &made.parent)
            ),
            format => {
                let version = match format {
                    Format::PiV1 => "",
                    Format::PiV2 => ",\"version\":2",
                    _ => ",\"version\":3",
                };
                format!(
                    "{{\"type\":\"session\"{version},\"id\":{id},\"timestamp\":{text},\"cwd\":{cwd}{}}}",
                    more("parentSession", &made.parent)
                )
            }
        })
    }
}

impl Made {
    /// What a broken header still says, and its time.
    fn from_broken(format: Format, object: &Object<'_>) -> (Self, Option<i64>) {
        let root = object.document.root();
        let is_codebot = format == Format::CodebotV3;
        let text = |key: &str| {
            let place = if is_codebot {
                root.field("data")?.field(key)
            } else {
                root.field(key)
            };
            let text = place?.text()?;
            (!text.is_empty()).then(|| text.into_owned())
        };
        let id = || Some(root.field("id")?.text()?.into_owned());
        let parent = match format {
            Format::PiV4 => text("parentSessionId"),
            Format::CodebotV3 => None,
            _ => text("parentSession"),
        };
        let made = Self {
            session_id: if is_codebot {
                text("session_id")
            } else {
                text("id")
            }
            .unwrap_or_default(),
            root: id().filter(|_| is_codebot).unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent,
            name: text("name").filter(|_| is_codebot),
        };
        (made, entry_time(format, root))
    }
}

/// The format of an object that can be nothing but an entry or a record of one: of a kind that the
/// format knows, and with nothing to report. So a broken header, which has no shape, is no reason to
/// take a file for something else.
fn certain_shape(object: &Object<'_>) -> Option<Format> {
    let root = object.document.root();
    let format = by_shape(root)?;
    let meaning = interpret(format, root, false);
    let is_known = match &meaning.mutation {
        Some(Mutation::Entry(entry)) => entry.kind.is_some(),
        Some(Mutation::Record(record)) => record.kind != Kind::OtherRecord,
        _ => false,
    };
    (is_known && meaning.findings.is_empty()).then_some(format)
}

/// The error that a reader has for a source without any object.
fn refused(log: &LogFile, options: &OpenOptions) -> Error {
    let options = options.clone().salvage(true);
    match build(log, how(&options, None)) {
        Err(error) => error,
        Ok(_) => Error::new(
            Code::InvalidEntry,
            "expected an object on some line, found none that can be recovered",
        )
        .at_path(log.path()),
    }
}

//! The segments of a log seen as one: slots by number, ids to slots, rows of state. Every answer is
//! checked on the way: bounds, checksums, and ids against the log itself.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::columns::{Flags, LOOK8, LOOK16, NONE, ROW_WIDTH};
use super::frame::{IRREGULAR, SALVAGED};
use super::ids::{self, Class};
use super::pages::{Column, InPage};
use super::segment::{Damaged, Segment, are_whole};
use super::summary::{Details, Summary};
use crate::error::{Code, Error};
use crate::format::Kind;
use crate::json::{Document, Grammar, Json};
use crate::log::LogFile;
use crate::model::Format;

/// The number of an entry or a record: its place among them in the file.
pub(crate) type Slot = u32;

/// All segments of a log, and the summary of the last.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) format: Format,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) summary: Arc<Summary>,
    details: Arc<OnceLock<Arc<Details>>>,
}

/// Why an answer could not be given.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The index is wrong and to be rebuilt.
    Index,
    /// The log could not be read.
    Log(Error),
}

impl From<Damaged> for Trouble {
    fn from(_: Damaged) -> Self {
        Self::Index
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Log(error)
    }
}

/// The bytes of an object, and where in them the message payload stands if the index remembers it.
pub(crate) type Object<'l> = (Cow<'l, [u8]>, Option<std::ops::Range<usize>>);

pub(crate) type Answer<T> = std::result::Result<T, Trouble>;

impl Index {
    pub(crate) fn new(format: Format, segments: Vec<Arc<Segment>>, summary: Summary) -> Self {
        Self {
            format,
            segments,
            summary: Arc::new(summary),
            details: Arc::default(),
        }
    }

    /// Whether the log was read by the shape of its entries, for want of a header.
    pub(crate) fn is_salvaged(&self) -> bool {
        let last = self.segments.last();
        last.is_some_and(|segment| segment.header.has(SALVAGED))
    }

    /// The same index in other segments.
    pub(crate) fn with_segments(&self, segments: Vec<Arc<Segment>>) -> Self {
        Self {
            segments,
            details: Arc::default(),
            ..self.clone()
        }
    }

    /// Whether the sidecar was not cut where it is mapped.
    pub(crate) fn is_whole(&self) -> bool {
        are_whole(&self.segments)
    }

    /// What few ask for of the session as a whole.
    pub(crate) fn details(&self) -> std::result::Result<Arc<Details>, Damaged> {
        if let Some(details) = self.details.get() {
            return Ok(Arc::clone(details));
        }
        let details = Arc::new(self.last().ok_or(Damaged)?.details()?);
        Ok(Arc::clone(self.details.get_or_init(|| details)))
    }

    fn last(&self) -> Option<&Segment> {
        self.segments.last().map(|segment| &**segment)
    }

    /// Entries and records in the file.
    pub(crate) fn slots(&self) -> u32 {
        self.last()
            .map_or(0, |last| narrow(last.header.first_slot + last.header.slots))
    }

    /// State rows.
    pub(crate) fn row_count(&self) -> u32 {
        self.last()
            .map_or(0, |last| narrow(last.header.first_row + last.header.rows))
    }

    /// Up to where the log is covered.
    pub(crate) fn log_end(&self) -> u64 {
        self.last().map_or(0, |last| last.header.log_end)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.last().map_or(0, |last| last.header.seed)
    }

    /// Whether parents may have larger slots than their children.
    pub(crate) fn is_irregular(&self) -> bool {
        self.last().is_some_and(|last| last.header.has(IRREGULAR))
    }

    /// Bytes of all segments.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| super::segment::len64(segment.frame_bytes().len()))
            .sum()
    }

    /// Bytes of all segments that were read and checked so far.
    pub(crate) fn bytes_checked(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.bytes_checked())
            .sum()
    }

    /// The segment of a slot, and what it says of the slot.
    #[inline]
    fn find(&self, slot: Slot) -> std::result::Result<(&Segment, InPage<'_>), Damaged> {
        let slot = u64::from(slot);
        let number = match self.segments.as_slice() {
            [_] => 1,
            segments => segments.partition_point(|segment| segment.header.first_slot <= slot),
        };
        let segment = number
            .checked_sub(1)
            .and_then(|number| self.segments.get(number))
            .ok_or(Damaged)?;
        let local = slot.checked_sub(segment.header.first_slot).ok_or(Damaged)?;
        if local >= segment.header.slots {
            return Err(Damaged);
        }
        let local = usize::try_from(local).map_err(|_| Damaged)?;
        Ok((segment, segment.slot(local)?))
    }

    pub(crate) fn kind(&self, slot: Slot) -> std::result::Result<Kind, Damaged> {
        let (_, found) = self.find(slot)?;
        Kind::from_number(found.u8(Column::Kind)).ok_or(Damaged)
    }

    pub(crate) fn flags(&self, slot: Slot) -> std::result::Result<Flags, Damaged> {
        let (_, found) = self.find(slot)?;
        Ok(found.flags())
    }

    /// Kind and flags in one look.
    pub(crate) fn kind_and_flags(&self, slot: Slot) -> std::result::Result<(Kind, Flags), Damaged> {
        let (_, found) = self.find(slot)?;
        let kind = Kind::from_number(found.u8(Column::Kind)).ok_or(Damaged)?;
        Ok((kind, found.flags()))
    }

    /// About how many bytes an entry adds to a context: those of its message, or of the line that one is
    /// made of; 0 if it adds none.
    pub(crate) fn message_len(&self, slot: Slot) -> std::result::Result<usize, Damaged> {
        let (_, found) = self.find(slot)?;
        let around = match Kind::from_number(found.u8(Column::Kind)) {
            Some(Kind::Message) => {
                u32::from(found.u16(Column::PayloadAt)) + u32::from(found.u8(Column::PayloadTail))
            }
            Some(Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage) => 0,
            _ => return Ok(0),
        };
        let len = found.u32(Column::Len).saturating_sub(around);
        usize::try_from(len).map_err(|_| Damaged)
    }

    /// The slot of the parent, if the file has it. Unless the index is irregular it lies before.
    pub(crate) fn parent(&self, slot: Slot) -> std::result::Result<Option<Slot>, Damaged> {
        let (_, found) = self.find(slot)?;
        match found.u32(Column::Parent) {
            NONE => Ok(None),
            parent if parent < slot || (self.is_irregular() && parent < self.slots()) => {
                Ok(Some(parent))
            }
            _ => Err(Damaged),
        }
    }

    pub(crate) fn depth(&self, slot: Slot) -> std::result::Result<u32, Damaged> {
        let (_, found) = self.find(slot)?;
        Ok(found.u32(Column::Depth))
    }

    /// The state row that holds at an entry; none on a cycle.
    pub(crate) fn row_number(&self, slot: Slot) -> std::result::Result<u32, Damaged> {
        let (_, found) = self.find(slot)?;
        Ok(found.u32(Column::Row))
    }

    /// A state row.
    pub(crate) fn row(&self, number: u32) -> std::result::Result<[u32; ROW_WIDTH], Damaged> {
        let number = u64::from(number);
        let after = self
            .segments
            .partition_point(|segment| segment.header.first_row <= number);
        // Segments without rows share their first row with the next one: the last of them has it.
        for segment in self.segments.iter().take(after).rev() {
            let local = number
                .checked_sub(segment.header.first_row)
                .ok_or(Damaged)?;
            if local >= segment.header.rows {
                continue;
            }
            let local = usize::try_from(local).map_err(|_| Damaged)?;
            let mut row = [NONE; ROW_WIDTH];
            for (place, value) in row.iter_mut().enumerate() {
                *value = segment.u32(segment.at.rows, local * ROW_WIDTH + place)?;
            }
            return Ok(row);
        }
        Err(Damaged)
    }

    /// The time in the index: none if it is none, or does not fit there.
    pub(crate) fn time(&self, slot: Slot) -> std::result::Result<Option<i64>, Damaged> {
        let (_, found) = self.find(slot)?;
        Ok(found.time())
    }

    /// The lane's name; none if there is none.
    pub(crate) fn lane(&self, slot: Slot) -> std::result::Result<Option<&str>, Damaged> {
        let (_, found) = self.find(slot)?;
        self.lane_in(found)
    }

    fn lane_in(&self, found: InPage<'_>) -> std::result::Result<Option<&str>, Damaged> {
        if !found.has_lanes() {
            return Ok(None);
        }
        match found.u16(Column::Lane) {
            LOOK16 => Ok(None),
            number => {
                let name = self
                    .summary
                    .lane_names
                    .get(usize::from(number))
                    .ok_or(Damaged)?;
                Ok(Some(name))
            }
        }
    }

    /// The number in the log's sequence (pi v4).
    pub(crate) fn seq(&self, slot: Slot) -> std::result::Result<Option<u64>, Damaged> {
        let (segment, _) = self.find(slot)?;
        seq_in(segment, slot)
    }

    /// Where the object stands in the log.
    pub(crate) fn place(&self, slot: Slot) -> std::result::Result<(u64, u64), Damaged> {
        let (segment, found) = self.find(slot)?;
        place_of(segment, found, slot)
    }

    /// The object's bytes, once its id was found to be the one that the index knows.
    pub(crate) fn object<'l>(&self, log: &'l LogFile, slot: Slot) -> Answer<Cow<'l, [u8]>> {
        self.object_and_payload(log, slot).map(|(bytes, _)| bytes)
    }

    /// The same with the place of the message payload in it, if the index remembers that.
    pub(crate) fn object_and_payload<'l>(
        &self,
        log: &'l LogFile,
        slot: Slot,
    ) -> Answer<Object<'l>> {
        let (segment, found) = self.find(slot)?;
        let bytes = bytes_of(log, segment, found, slot)?;
        if self.format != Format::PiV1 {
            let id = id_in(&bytes, found)?;
            if ids::tag(ids::hash(id.as_bytes(), self.seed())) != found.u32(Column::Tag) {
                return Err(Trouble::Index);
            }
        }
        let payload = payload_in(found, bytes.len())?;
        Ok((bytes, payload))
    }

    /// The id of an entry or record: only its text is read where the index knows where it stands.
    pub(crate) fn id(&self, log: &LogFile, slot: Slot) -> Answer<String> {
        if self.format == Format::PiV1 {
            return Ok(made_up_id(slot));
        }
        let (segment, found) = self.find(slot)?;
        if found.flags().has(Flags::ODD_ID) {
            let bytes = self.object(log, slot)?;
            return Ok(id_in(&bytes, found)?.into_owned());
        }
        let (start, _) = place_of(segment, found, slot)?;
        let len = usize::from(found.u8(Column::IdLen));
        let text = log.read(
            start.saturating_add(u64::from(found.u16(Column::IdAt))),
            len,
        )?;
        let text = text.ok_or(Damaged)?;
        if ids::tag(ids::hash(&text, self.seed())) != found.u32(Column::Tag) {
            return Err(Trouble::Index);
        }
        let text = std::str::from_utf8(&text).map_err(|_| Damaged)?;
        Ok(text.to_owned())
    }

    /// What the page of a slot says of it, in one look.
    pub(crate) fn columns(&self, slot: Slot) -> std::result::Result<SlotColumns<'_>, Damaged> {
        let (segment, found) = self.find(slot)?;
        self.columns_in(segment, found, slot)
    }

    fn columns_in(
        &self,
        segment: &Segment,
        found: InPage<'_>,
        slot: Slot,
    ) -> std::result::Result<SlotColumns<'_>, Damaged> {
        let parent = match found.u32(Column::Parent) {
            NONE => None,
            parent if parent < slot || (self.is_irregular() && parent < self.slots()) => {
                Some(parent)
            }
            _ => return Err(Damaged),
        };
        Ok(SlotColumns {
            slot,
            kind: Kind::from_number(found.u8(Column::Kind)).ok_or(Damaged)?,
            parent,
            time: found.time(),
            lane: self.lane_in(found)?,
            start: place_of(segment, found, slot)?.0,
        })
    }

    /// The slot of the entry or record with an id.
    pub(crate) fn slot_of(&self, log: &LogFile, id: &str, class: Class) -> Answer<Option<Slot>> {
        if self.format == Format::PiV1 {
            return Ok(made_up_slot(id, self.slots()));
        }
        let hash = ids::hash(id.as_bytes(), self.seed());
        self.slot_of_hash(log, id, class, hash)
    }

    /// The same for an id whose hash is at hand.
    pub(crate) fn slot_of_hash(
        &self,
        log: &LogFile,
        id: &str,
        class: Class,
        hash: u64,
    ) -> Answer<Option<Slot>> {
        let found = self.search(log, id, class, hash, |_, _, slot| Ok(slot))?;
        Ok(found.map(|(slot, _)| slot))
    }

    /// What the columns say of the entry or record with an id, and its object.
    pub(crate) fn object_of<'l>(
        &self,
        log: &'l LogFile,
        id: &str,
        class: Class,
    ) -> Answer<Option<(SlotColumns<'_>, Cow<'l, [u8]>)>> {
        if self.format == Format::PiV1 {
            let slot = made_up_slot(id, self.slots());
            let object = |slot| Ok::<_, Trouble>((self.columns(slot)?, self.object(log, slot)?));
            return slot.map(object).transpose();
        }
        let hash = ids::hash(id.as_bytes(), self.seed());
        self.search(log, id, class, hash, |segment, found, slot| {
            self.columns_in(segment, found, slot)
        })
    }

    /// Finds the entry or record with an id. `read` takes what is wanted from its page, which is asked
    /// before the log is: reading both goes on at once then, where one after the other has the
    /// processor wait for memory twice.
    fn search<'i, 'l, T>(
        &'i self,
        log: &'l LogFile,
        id: &str,
        class: Class,
        hash: u64,
        read: impl Fn(&'i Segment, InPage<'i>, Slot) -> std::result::Result<T, Damaged>,
    ) -> Answer<Option<(T, Cow<'l, [u8]>)>> {
        let tag = ids::tag(hash);
        for segment in self.segments.iter().rev() {
            let len = Segment::count(segment.at.table);
            let mut at = ids::home(tag, len);
            for _ in 0..len {
                let place = segment.u32(segment.at.table, at)?;
                if place == NONE {
                    break;
                }
                if let Some(local) = ids::candidate(place, tag) {
                    let local = usize::try_from(local).map_err(|_| Damaged)?;
                    let found = segment.slot(local)?;
                    if found.u32(Column::Tag) == tag {
                        let first = narrow(segment.header.first_slot);
                        let slot = first + u32::try_from(local).map_err(|_| Damaged)?;
                        let wanted = read(segment, found, slot)?;
                        let bytes = bytes_of(log, segment, found, slot)?;
                        if class_in(found)? == class && id_in(&bytes, found)? == id {
                            return Ok(Some((wanted, bytes)));
                        }
                    }
                }
                at = if at + 1 == len { 0 } else { at + 1 };
            }
        }
        Ok(None)
    }

    /// Whether some line names an id with this hash that no entry had so far.
    pub(crate) fn is_wanted(&self, hash: u64) -> std::result::Result<bool, Damaged> {
        let Some(last) = self.last() else {
            return Ok(false);
        };
        let (mut low, mut high) = (0, Segment::count(last.at.wanted));
        while low < high {
            let middle = low + (high - low) / 2;
            match last.u64(last.at.wanted, middle)?.cmp(&hash) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }

    /// Whether lines name an entry with this id that is not there.
    pub(crate) fn lacks(&self, id: &str) -> std::result::Result<bool, Damaged> {
        self.is_wanted(ids::hash(id.as_bytes(), self.seed()))
    }

    /// All hashes that [`is_wanted`](Self::is_wanted) knows.
    pub(crate) fn wanted(&self) -> std::result::Result<Vec<u64>, Damaged> {
        self.last()
            .map_or(Ok(Vec::new()), |last| last.all_u64(last.at.wanted))
    }
}

/// What its page says of an entry or a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotColumns<'i> {
    pub(crate) slot: Slot,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<Slot>,
    pub(crate) time: Option<i64>,
    pub(crate) lane: Option<&'i str>,
    /// The byte offset of the object.
    pub(crate) start: u64,
}

fn seq_in(segment: &Segment, slot: Slot) -> std::result::Result<Option<u64>, Damaged> {
    let Some(run) = segment.last_at_most(segment.at.seq_slot, slot)? else {
        return Ok(None);
    };
    let start = segment.u32(segment.at.seq_slot, run)?;
    let first = segment.u64(segment.at.seq, run)?;
    // Numbers that no log has are no reason to panic.
    Ok(Some(first.saturating_add(u64::from(slot - start))))
}

/// Where the object of a slot stands in the log.
fn place_of(
    segment: &Segment,
    found: InPage<'_>,
    slot: Slot,
) -> std::result::Result<(u64, u64), Damaged> {
    let start = (segment.header.log_start).saturating_add(u64::from(found.u32(Column::Start)));
    let len = match found.u32(Column::Len) {
        u32::MAX => {
            let number = segment
                .last_at_most(segment.at.long_slot, slot)?
                .ok_or(Damaged)?;
            if segment.u32(segment.at.long_slot, number)? != slot {
                return Err(Damaged);
            }
            segment.u64(segment.at.long_len, number)?
        }
        len => u64::from(len),
    };
    Ok((start, len))
}

/// The bytes of a slot, which must at least look like an object.
fn bytes_of<'l>(
    log: &'l LogFile,
    segment: &Segment,
    found: InPage<'_>,
    slot: Slot,
) -> Answer<Cow<'l, [u8]>> {
    let (start, len) = place_of(segment, found, slot)?;
    if start.checked_add(len).is_none_or(|end| end > log.len()) {
        return Err(Trouble::Index);
    }
    let len = usize::try_from(len).map_err(|_| log.no_room(len))?;
    let bytes = log.read(start, len)?.ok_or(Damaged)?;
    if bytes.first() != Some(&b'{') || bytes.last() != Some(&b'}') {
        return Err(Trouble::Index);
    }
    Ok(bytes)
}

/// The id of a slot whose bytes are at hand.
fn id_in<'b>(bytes: &'b [u8], found: InPage<'_>) -> Answer<Cow<'b, str>> {
    if !found.flags().has(Flags::ODD_ID) {
        let at = usize::from(found.u16(Column::IdAt));
        let len = usize::from(found.u8(Column::IdLen));
        let text = bytes.get(at..at + len).ok_or(Damaged)?;
        return std::str::from_utf8(text)
            .map(Cow::Borrowed)
            .map_err(|_| Trouble::Index);
    }
    let document = Grammar::parse(bytes).map_err(|_| Damaged)?;
    let id = document
        .root()
        .field("id")
        .and_then(Json::text)
        .ok_or(Damaged)?;
    Ok(Cow::Owned(id.into_owned()))
}

/// Where the message payload stands in an object of a length.
fn payload_in(
    found: InPage<'_>,
    len: usize,
) -> std::result::Result<Option<std::ops::Range<usize>>, Damaged> {
    let start = found.u16(Column::PayloadAt);
    let tail = found.u8(Column::PayloadTail);
    if start == 0 || start == LOOK16 || tail == LOOK8 {
        return Ok(None);
    }
    let range = usize::from(start)..len.checked_sub(usize::from(tail)).ok_or(Damaged)?;
    if range.is_empty() {
        return Err(Damaged);
    }
    Ok(Some(range))
}

fn class_in(found: InPage<'_>) -> std::result::Result<Class, Damaged> {
    Kind::from_number(found.u8(Column::Kind))
        .map(class_of)
        .ok_or(Damaged)
}

/// Whether a kind's ids are those of entries or of records.
pub(crate) fn class_of(kind: Kind) -> Class {
    if kind.is_record() {
        Class::Record
    } else {
        Class::Entry
    }
}

/// The id that a pi v1 entry is given: its number among the kept lines after the header.
pub(crate) fn made_up_id(slot: Slot) -> String {
    format!("{:08x}", u64::from(slot) + 1)
}

fn made_up_slot(id: &str, slots: u32) -> Option<Slot> {
    let number = u32::from_str_radix(id, 16).ok()?.checked_sub(1)?;
    (number < slots && made_up_id(number) == id).then_some(number)
}

/// A count that was checked to fit into a slot.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

/// The error for a log with more entries than slots can number.
pub(crate) fn too_many(log: &LogFile) -> Error {
    Error::new(
        Code::Unsupported,
        "the log has more than 4,294,967,294 entries and records, more than an index can number; \
         split it, and open the parts",
    )
    .at_path(log.path())
}

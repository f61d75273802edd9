//! A session in a file as one of the stores that the contract speaks of.

use super::rules;
use super::{Entry, Mutation, Mutations, Session, entry, find};
use crate::contract::{
    BranchBounds, EntryQuery, Lane, LogItem, Metadata, NewEntry, NewRecord, RecordQuery,
    SessionStorage, check_limit, codebot, pi,
};
use crate::error::Result;
use crate::json::{Document, Grammar, Json, lossy};
use crate::model::{At, Format, Snapshot, Stats};

impl SessionStorage for Session {
    fn metadata(&self) -> Result<Metadata> {
        let (summary, format) = self.answer(|source| {
            Ok((
                std::sync::Arc::clone(&source.index.summary),
                source.index.format,
            ))
        })?;
        let own = if format == Format::PiV4 {
            self.header_metadata()?
        } else {
            None
        };
        Ok(Metadata {
            id: summary.session_id.clone(),
            created: summary.created,
            cwd: summary.cwd.clone(),
            parent: summary.parent.clone(),
            format,
            path: Some(self.log_path().to_owned()),
            metadata: own,
        })
    }

    fn lanes(&self) -> Result<Vec<Lane>> {
        self.inner.check_open()?;
        if let Some(head) = self.inner.head() {
            return Ok(head.lanes());
        }
        let overview = self.overview()?;
        if !overview.format.has_lanes() {
            return Ok(vec![Lane {
                name: "main".to_owned(),
                leaf: overview.leaf,
            }]);
        }
        let lanes = overview.lanes.into_iter();
        Ok(lanes.map(|(name, leaf)| Lane { name, leaf }).collect())
    }

    fn create_lane(&self, name: &str, at: Option<&str>) -> Result<()> {
        self.inner.create_lane(name, at)
    }

    fn move_lane(&self, name: &str, to: Option<&str>) -> Result<()> {
        self.inner.move_lane(name, to)
    }

    fn append_entry(&self, new: NewEntry, lane: &str) -> Result<Entry> {
        self.inner.append_entry(new, lane)
    }

    fn append_record(&self, new: NewRecord) -> Result<Entry> {
        self.inner.append_record(new)
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>> {
        Session::entry(self, id)
    }

    fn find_entries(&self, query: &EntryQuery) -> Result<Vec<Entry>> {
        query.check()?;
        self.answer(|source| find::entries(source, query))
    }

    fn find_entries_on_branch(
        &self,
        query: &EntryQuery,
        bounds: &BranchBounds,
    ) -> Result<Vec<Entry>> {
        query.check()?;
        self.answer(|source| find::on_branch(source, query, bounds))?
            .ok_or_else(|| rules::unknown_entry(&bounds.start).at_path(self.log_path()))
    }

    fn find_records(&self, query: &RecordQuery) -> Result<Vec<Entry>> {
        query.check()?;
        self.answer(|source| find::records(source, query))
    }

    fn find_open_operations(&self, lane: &str, limit: Option<usize>) -> Result<Vec<Entry>> {
        check_limit(limit)?;
        self.answer(|source| {
            let details = source.index.details()?;
            let open = details.open.get(lane).map(Vec::as_slice);
            find::operations(source, open.unwrap_or_default(), limit)
        })
    }

    fn log(&self, after_seq: Option<u64>, limit: Option<usize>) -> Result<Vec<LogItem>> {
        check_limit(limit)?;
        let after = after_seq.unwrap_or(0);
        let mut items = Vec::new();
        for mutation in self.mutations_behind(after)? {
            let mutation = mutation?;
            if mutation.seq <= after {
                continue;
            }
            items.extend(self.item(mutation));
            if limit.is_some_and(|limit| items.len() >= limit) {
                break;
            }
        }
        Ok(items)
    }

    fn name(&self) -> Result<Option<String>> {
        let name = self.overview()?.name;
        Ok(name.filter(|name| self.format().has_lanes() || !name.is_empty()))
    }

    fn set_name(&self, name: Option<&str>) -> Result<()> {
        let new = match self.format() {
            Format::PiV4 => return self.inner.write_name(name),
            Format::CodebotV3 => codebot::session_info(name.unwrap_or_default()),
            _ => pi::session_info(name.unwrap_or_default()),
        };
        self.inner.append_entry(new, "main").map(|_| ())
    }

    fn label(&self, id: &str) -> Result<Option<String>> {
        self.answer(|source| Ok(source.index.details()?.labels.get(id).cloned()))
    }

    fn set_label(&self, id: &str, label: Option<&str>) -> Result<()> {
        match self.format() {
            Format::PiV4 => self.inner.write_label(id, label),
            Format::CodebotV3 => Err(rules::cannot_hold(Format::CodebotV3, "labels")),
            _ => {
                let new = pi::label(id, label);
                self.inner.append_entry(new, "main").map(|_| ())
            }
        }
    }

    fn stats(&self) -> Result<Stats> {
        self.answer(|source| Ok(source.index.summary.stats()))
    }

    fn snapshot(&self, at: At<'_>) -> Result<Snapshot> {
        match at {
            // The one lane of a format without lanes.
            At::Lane("main") if !self.format().has_lanes() => Session::snapshot(self, At::Current),
            at => Session::snapshot(self, at),
        }
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl Session {
    /// The caller's own object in the header of a pi v4 session.
    fn header_metadata(&self) -> Result<Option<String>> {
        let state = self.state();
        let mut lines = crate::log::Lines::from(&state.log, 0);
        while let Some((_, bytes)) = lines.next()? {
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            let Ok(document) = Grammar::parse(bytes) else {
                continue;
            };
            let metadata = document
                .root()
                .field("metadata")
                .filter(|own| own.is_object());
            return Ok(metadata.map(|own| lossy(own.raw()).into_owned()));
        }
        Ok(None)
    }

    /// The kept lines behind a number of the sequence, and maybe some before.
    fn mutations_behind(&self, after: u64) -> Result<Mutations> {
        let all = self.mutations()?;
        if after == 0 {
            return Ok(all);
        }
        // Between entries stand lines that have no slot: reading starts behind the last entry
        // whose number is too small.
        let start = self.answer(|source| {
            let has_odd_numbers = source.index.summary.count_of(crate::ReportCode::Seq) > 0;
            let Some(last) = find::first_above(source, after)?.checked_sub(1) else {
                return Ok(None);
            };
            if has_odd_numbers || source.index.is_irregular() {
                return Ok(None);
            }
            let (start, len) = source.index.place(last)?;
            Ok(Some((
                start.saturating_add(len),
                entry::number(source.index, last)?,
            )))
        })?;
        let Some((behind, count)) = start else {
            return Ok(all);
        };
        let state = self.state();
        let Some(offset) = state.log.next_line_start(behind)? else {
            return Ok(all);
        };
        let len = usize::try_from(offset - behind).unwrap_or(usize::MAX);
        let rest = state.log.read(behind, len)?.unwrap_or_default();
        if !rest.trim_ascii().is_empty() {
            // More than one object on a line.
            return Ok(all);
        }
        Ok(Mutations::behind(state, offset, count))
    }

    /// A kept line as an item of the log.
    fn item(&self, mutation: Mutation) -> Option<LogItem> {
        let mut item = LogItem::from_line(self.format(), &mutation.bytes, mutation.seq)?;
        if let LogItem::Entry(entry) | LogItem::Record(entry) = &mut item {
            entry.id = mutation.id.unwrap_or_default();
            entry.offset = Some(mutation.offset);
        }
        Some(item)
    }
}

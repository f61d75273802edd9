//! One lane of a session, without naming it in every call.

use super::{BranchBounds, EntryQuery, NewEntry, NewRecord, SessionStorage};
use crate::error::{Code, Error, Result};
use crate::model::{At, Snapshot};
use crate::store::Entry;

/// One lane of a session. It remembers the name only: where the lane stands is asked each time.
pub struct LaneView<'s> {
    session: &'s dyn SessionStorage,
    name: String,
}

impl<'s> LaneView<'s> {
    /// The view of a lane, which need not exist yet.
    #[must_use]
    pub fn of(session: &'s dyn SessionStorage, name: impl Into<String>) -> Self {
        Self {
            session,
            name: name.into(),
        }
    }

    /// The lane's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entry that the lane stands on.
    ///
    /// # Errors
    ///
    /// `invalid_lane` if there is no such lane.
    pub fn leaf(&self) -> Result<Option<String>> {
        self.session
            .lanes()?
            .into_iter()
            .find(|lane| lane.name == self.name)
            .map(|lane| lane.leaf)
            .ok_or_else(|| unknown_lane(&self.name))
    }

    /// Appends an entry on the lane.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::append_entry`].
    pub fn append(&self, new: NewEntry) -> Result<Entry> {
        self.session.append_entry(new, &self.name)
    }

    /// Appends an execution record of a type to the lane.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::append_record`].
    pub fn append_record(&self, kind: &str, fields: &str) -> Result<Entry> {
        self.session
            .append_record(NewRecord::new(kind, self.name.as_str(), fields))
    }

    /// Puts the lane on another entry, or on nothing.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::move_lane`].
    pub fn move_to(&self, entry: Option<&str>) -> Result<()> {
        self.session.move_lane(&self.name, entry)
    }

    /// Goes back to an entry, or to nothing, and says there what the path that is left was about: a
    /// `branch_summary` whose `fromId` is where the lane stood, `root` if that was nothing (pi).
    ///
    /// ```
    /// use leaflog::{CreateOptions, LaneView, MemoryRepository, SessionRepository, pi};
    ///
    /// let session = MemoryRepository::new().create(&CreateOptions::in_folder("/work"))?;
    /// let main = LaneView::of(&*session, "main");
    /// let first = main.append(pi::message(r#"{"role":"user","content":"first try"}"#))?;
    /// main.append(pi::message(r#"{"role":"assistant","content":"it failed"}"#))?;
    /// let summary = main.branch_with_summary(Some(&first.id), "the first try failed")?;
    /// assert_eq!(summary.parent, Some(first.id));
    /// assert_eq!(main.leaf()?, Some(summary.id));
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`move_to`](Self::move_to) and [`append`](Self::append); after the latter the lane has moved.
    pub fn branch_with_summary(&self, to: Option<&str>, summary: &str) -> Result<Entry> {
        let from = self.leaf()?;
        self.move_to(to)?;
        let from = from.as_deref().unwrap_or("root");
        self.append(super::pi::branch_summary(
            from,
            summary,
            &super::pi::More::default(),
        ))
    }

    /// Those entries on the lane's path that a query asks for; none on an empty lane.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::find_entries_on_branch`], and `invalid_lane`.
    pub fn find(&self, query: &EntryQuery) -> Result<Vec<Entry>> {
        query.check()?;
        match self.leaf()? {
            Some(leaf) => self
                .session
                .find_entries_on_branch(query, &BranchBounds::from(leaf)),
            None => Ok(Vec::new()),
        }
    }

    /// The operations of the lane that were started and not finished, the latest first.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::find_open_operations`].
    pub fn open_operations(&self, limit: Option<usize>) -> Result<Vec<Entry>> {
        self.session.find_open_operations(&self.name, limit)
    }

    /// The context of the lane.
    ///
    /// # Errors
    ///
    /// As [`SessionStorage::snapshot`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.session.snapshot(At::Lane(&self.name))
    }
}

/// The error for a lane that does not exist.
pub(crate) fn unknown_lane(name: &str) -> Error {
    Error::new(
        Code::InvalidLane,
        format!("there is no lane `{name}`; `create_lane` makes one"),
    )
}

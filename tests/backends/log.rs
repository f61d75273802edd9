//! A store against the reader of files: its session is written as a log, and both are asked the same.

use std::path::Path;

use leaflog::{At, BranchBounds, EntryQuery, LogItem, Session, SessionRepository, SessionStorage};

use super::ids;

/// The session as a log file.
fn as_log(session: &dyn SessionStorage, path: &Path) {
    let about = session.metadata().unwrap();
    let mut log = format!(
        r#"{{"kind":"header","version":4,"id":"{}","createdAt":{},"cwd":"{}"}}"#,
        about.id,
        about.created.unwrap(),
        about.cwd.unwrap()
    );
    for item in session.log(None, None).unwrap() {
        let json = |text: &Option<String>| serde_json::to_string(text).unwrap();
        log.push('\n');
        let line = match item {
            LogItem::Entry(entry) | LogItem::Record(entry) => entry.text().into_owned(),
            LogItem::Lane { seq, lane, leaf } => format!(
                r#"{{"kind":"lane","seq":{seq},"lane":"{lane}","leafId":{}}}"#,
                json(&leaf)
            ),
            LogItem::Name { seq, name } => format!(
                r#"{{"kind":"fact","seq":{seq},"fact":"name","name":{}}}"#,
                json(&name)
            ),
            LogItem::Label { seq, target, label } => format!(
                r#"{{"kind":"fact","seq":{seq},"fact":"label","targetId":"{target}","label":{}}}"#,
                json(&label)
            ),
            other => panic!("{other:?}"),
        };
        log.push_str(&line);
    }
    log.push('\n');
    std::fs::write(path, log).unwrap();
}

/// Everything that a reader of the file says must be what the store says.
pub fn agrees_with_its_log(repository: &dyn SessionRepository, session: &dyn SessionStorage) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    as_log(session, &path);
    let log = Session::open(&path).unwrap();
    let overview = log.overview().unwrap();
    assert_eq!(overview.reports, []);
    assert_eq!(session.stats().unwrap(), overview.stats);
    assert_eq!(session.name().unwrap(), overview.name);
    let lanes: Vec<_> = session.lanes().unwrap();
    assert_eq!(
        lanes
            .iter()
            .map(|lane| (lane.name.clone(), lane.leaf.clone()))
            .collect::<Vec<_>>(),
        overview.lanes
    );
    for lane in &lanes {
        assert_eq!(
            session.snapshot(At::Lane(&lane.name)).unwrap(),
            log.snapshot(At::Lane(&lane.name)).unwrap()
        );
        let mut open = ids(session.find_open_operations(&lane.name, None));
        open.reverse();
        assert_eq!(
            open,
            overview
                .open_operations
                .get(&lane.name)
                .cloned()
                .unwrap_or_default()
        );
    }
    assert_eq!(
        session.snapshot(At::Current).unwrap(),
        log.snapshot(At::Current).unwrap()
    );
    for entry in session.find_entries(&EntryQuery::default()).unwrap() {
        let at = At::Leaf(&entry.id);
        assert_eq!(session.snapshot(at).unwrap(), log.snapshot(at).unwrap());
        let label = session.label(&entry.id).unwrap();
        assert_eq!(label.as_ref(), overview.labels.get(&entry.id));
        let mut path =
            ids(session
                .find_entries_on_branch(&EntryQuery::default(), &BranchBounds::from(&*entry.id)));
        path.reverse();
        assert_eq!(path, log.path(at).unwrap());
        let stored = log.entry(&entry.id).unwrap().unwrap();
        assert_eq!(stored.bytes, entry.bytes);
        assert_eq!(
            (stored.parent, stored.time, stored.seq),
            (entry.parent, entry.time, entry.seq)
        );
    }
    let listing = repository.list().unwrap();
    let id = session.metadata().unwrap().id;
    let shown = listing.sessions.iter().find(|info| info.id == id).unwrap();
    let info = log.info().unwrap();
    assert_eq!(
        (
            &shown.title,
            shown.updated,
            shown.created,
            shown.message_count
        ),
        (&info.title, info.updated, info.created, info.message_count)
    );
}

//! The operations that are open while lines are joined, in the order in which they were started, lane
//! by lane. Opening and closing take the same time however many are open.

use std::collections::BTreeMap;

use ahash::AHashMap;

/// Open operations by lane.
#[derive(Debug, Default)]
pub(super) struct Operations {
    lanes: AHashMap<String, Lane>,
}

#[derive(Debug, Default)]
struct Lane {
    /// How many were started so far.
    started: u64,
    by_start: BTreeMap<u64, String>,
    starts: AHashMap<String, u64>,
}

impl Operations {
    /// Goes on with those that are open.
    pub(super) fn of(open: BTreeMap<String, Vec<String>>) -> Self {
        let mut operations = Self::default();
        for (lane, ids) in open {
            for id in ids {
                operations.start(&lane, id);
            }
        }
        operations
    }

    /// Opens one. One that is open stays where it is.
    pub(super) fn start(&mut self, lane: &str, id: String) {
        let lane = self.lanes.entry(lane.to_owned()).or_default();
        if !lane.starts.contains_key(&id) {
            lane.starts.insert(id.clone(), lane.started);
            lane.by_start.insert(lane.started, id);
            lane.started += 1;
        }
    }

    /// Closes one, if it is open.
    pub(super) fn finish(&mut self, lane: &str, id: &str) {
        if let Some(lane) = self.lanes.get_mut(lane)
            && let Some(start) = lane.starts.remove(id)
        {
            lane.by_start.remove(&start);
        }
    }

    /// Those that are open, lanes without any left out.
    pub(super) fn into_open(self) -> BTreeMap<String, Vec<String>> {
        let lanes = self.lanes.into_iter();
        let open =
            lanes.map(|(lane, open)| (lane, open.by_start.into_values().collect::<Vec<_>>()));
        open.filter(|(_, ids)| !ids.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Operations;

    #[test]
    fn operations_stay_in_the_order_of_their_starts() {
        let mut operations = Operations::default();
        for id in ["a", "b", "c", "b"] {
            operations.start("main", id.to_owned());
        }
        operations.start("side", "a".to_owned());
        operations.finish("main", "a");
        operations.finish("side", "a");
        operations.finish("none", "a");
        let mut operations = Operations::of(operations.into_open());
        operations.start("main", "a".to_owned());
        let open = operations.into_open();
        assert_eq!(open.len(), 1);
        assert_eq!(open["main"], ["b", "c", "a"]);
    }
}

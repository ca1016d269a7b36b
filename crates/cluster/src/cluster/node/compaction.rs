//! Compaction: etcd keeps every old value until a client asks it to compact. One node at a time does so, for all.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::clocks::Micros;
use super::super::view::View;
use crate::exchange::Revision;

/// Age from which a noted revision is forgotten.
const KEPT: Duration = Duration::from_secs(3_600);
/// Time between two notes of a revision, after each of which etcd may be asked to compact.
const EVERY: Duration = Duration::from_secs(600);

/// Revisions with the times at which they were the last one.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    noted: VecDeque<(Micros, Revision)>,
}

impl Compactor {
    /// The revision to which etcd should be compacted now, if it is the turn of the node `me`: the first by name.
    pub(crate) fn due(&mut self, view: &View, me: &str, now: Micros) -> Option<Revision> {
        let since = self.noted.back().map_or(Micros::MAX, |(at, _)| now.saturating_sub(*at));
        if since < micros(EVERY) {
            return None;
        }
        self.noted.push_back((now, view.known.last()));
        let mut old = None;
        while self.noted.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= micros(KEPT)) {
            old = self.noted.pop_front().map(|(_, revision)| revision);
        }
        old.filter(|&revision| revision > 0 && view.nodes.keys().next().is_some_and(|first| first == me))
    }
}

fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::view::NodeAt;
    use crate::exchange::UpTo;

    #[test]
    fn the_first_node_compacts_to_an_hour_ago() {
        let mut view = View::new(1);
        for name in ["b", "a"] {
            view.nodes.insert(name.to_owned(), NodeAt { lease: 1, record: Default::default() });
        }
        let (mut first, mut second) = (Compactor::default(), Compactor::default());
        let mut told = Vec::new();
        for minute in 0..200 {
            view.known = UpTo::all(1_000 + minute);
            let now = 60_000_000 * minute;
            told.extend(first.due(&view, "a", now).map(|revision| (minute, revision)));
            assert_eq!(second.due(&view, "b", now), None);
        }
        let expected: Vec<_> = (6..20).map(|ten| (10 * ten, 1_000 + 10 * (ten - 6))).collect();
        assert_eq!(told, expected);
    }
}

//! When checkpoints are made, which of them is durable, and what each of them supersedes.
//!
//! - One checkpoint is in progress at a time. It is cut when its time has come, when somebody wants one, or shortly
//!   before a value file is full, so that little of it is left to be synced; the last one when the crawl ends.
//! - A shard in which nothing has changed since the last cut may let its time pass: shards that have nothing to do
//!   would else sync and publish the same state again at every interval. A crawl of one shard keeps its beat, by which
//!   its elapsed time is saved.
//! - A number is given to a cut once. The newest durable one is the last cut, or the one before while that is under
//!   way.
//! - Files that a cut does not name any more go by the rule of the [`Ledger`], whosever they are: when the engine has
//!   heard that the cut is durable. The next merge deletes some of them before it begins, for it needs the room; the
//!   next checkpoint deletes what is left then, before its syncs. Behind the last checkpoint nothing comes that could
//!   carry them: the engine deletes what is left. The file of the checkpoint before goes with the checkpoint itself,
//!   before the engine hears of it ([`super`]).

use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Time;
use crate::container::Container;
use crate::disk::{Disk, Ledger, Removal};
use crate::engine::hold_log::HoldLog;

/// Files that a merge deletes at most before it begins.
const REMOVED_BY_MERGE_MAX: usize = 64;

/// The checkpoints of a process.
pub(in crate::engine) struct Checkpoints {
    /// Number of the last cut.
    number: u64,
    /// True until it is durable.
    is_in_progress: bool,
    /// True for the one with which the crawl ends.
    is_last: bool,
    /// When it was cut, by [`Clock::elapsed`](crate::clock::Clock::elapsed).
    cut_at: Duration,
    /// When the last durable one became so.
    durable_at: Option<Time>,
    /// When the next one is due, and whether it is wanted before.
    due: Time,
    is_wanted: bool,
    /// The value file that was nearly full at a checkpoint.
    cut_before_full: Option<u32>,
    superseded: Ledger,
    /// Rests that began after the last cut.
    pub rests: HoldLog,
}

impl Checkpoints {
    /// Those behind checkpoint `number`, which is durable; the next one is due at `due`.
    pub(crate) fn new(number: u64, due: Time, rests: HoldLog) -> Checkpoints {
        Checkpoints {
            number,
            is_in_progress: false,
            is_last: false,
            cut_at: Duration::ZERO,
            durable_at: None,
            due,
            is_wanted: false,
            cut_before_full: None,
            superseded: Ledger::new(number),
            rests,
        }
    }

    /// Makes one as soon as none is in progress.
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// The next one is due at `due` at the latest.
    pub(crate) fn bring_forward(&mut self, due: Time) {
        self.due = self.due.min(due);
    }

    /// Returns whether one is in progress.
    pub(crate) fn are_in_progress(&self) -> bool {
        self.is_in_progress
    }

    /// Returns whether one is in progress for longer than `most`; `elapsed` is the time of the engine's clock.
    pub(crate) fn are_behind(&self, most: Option<Duration>, elapsed: Duration) -> bool {
        self.is_in_progress && most.is_some_and(|most| elapsed.saturating_sub(self.cut_at) > most)
    }

    /// Number of the last one that is durable; 0 before the first one.
    pub(crate) fn durable(&self) -> u64 {
        self.number - u64::from(self.is_in_progress)
    }

    /// When that became so, in this process.
    pub(crate) fn durable_at(&self) -> Option<Time> {
        self.durable_at
    }

    /// Number of the one that has everything that was taken in so far, if one is wanted.
    pub(crate) fn ahead(&self) -> u64 {
        self.number + u64::from(!self.is_last)
    }

    /// When the next one is due, unless one is in progress: one comes after the other.
    pub(crate) fn next_due(&self) -> Option<Time> {
        (!self.is_in_progress).then_some(self.due)
    }

    /// Returns whether one is to be cut now.
    pub(crate) fn is_due(&mut self, now: Time, container: &Container) -> bool {
        let nearly_full = container.nearly_full().filter(|&number| self.cut_before_full != Some(number));
        let early = nearly_full.is_some() || container.is_full();
        let is_due = !self.is_in_progress && (self.is_wanted || now >= self.due || early);
        if is_due {
            self.cut_before_full = nearly_full.or(self.cut_before_full);
        }
        is_due
    }

    /// Lets the time of the next one pass, which then is due at `next_due`: it would say what the last one says. One
    /// that somebody wants is made, and one that deletes what earlier ones have superseded.
    pub(crate) fn skip_unchanged(&mut self, now: Time, next_due: Time) {
        if now >= self.due && self.superseded.is_empty() && !self.is_wanted && !self.is_in_progress {
            self.due = next_due;
        }
    }

    /// Begins the next one, the last where `is_last` says so; its number.
    pub(crate) fn begin(&mut self, next_due: Time, is_last: bool) -> u64 {
        self.number += 1;
        (self.due, self.is_wanted) = (next_due, false);
        (self.is_in_progress, self.is_last) = (true, is_last);
        self.number
    }

    /// Keeps the files that the cut supersedes until it is durable, and so the hold log before it.
    pub(crate) fn supersede(&mut self, superseded: impl IntoIterator<Item = PathBuf>) {
        let rests = self.rests.cut(self.number);
        self.superseded.supersede(self.number, superseded.into_iter().chain(rests));
    }

    /// Files that no checkpoint ever named.
    pub(crate) fn discard(&mut self, paths: Vec<PathBuf>) {
        self.superseded.supersede(0, paths);
    }

    /// Takes the files that a merge deletes before it begins.
    pub(crate) fn take_some(&mut self, disk: &Disk) -> Removal {
        self.superseded.take(disk, REMOVED_BY_MERGE_MAX)
    }

    /// All that may be deleted.
    pub(crate) fn take_all(&mut self, disk: &Disk) -> Removal {
        self.superseded.take(disk, usize::MAX)
    }

    /// The cut was made, at this moment by [`Clock::elapsed`](crate::clock::Clock::elapsed).
    pub fn cut(&mut self, elapsed: Duration) {
        self.cut_at = elapsed;
    }

    /// The one in progress is durable, at `now` and at `elapsed` by the two clocks; how long after its cut.
    pub(crate) fn committed(&mut self, now: Time, elapsed: Duration) -> Duration {
        self.is_in_progress = false;
        self.durable_at = Some(now);
        self.superseded.durable(self.number);
        self.rests.committed();
        elapsed - self.cut_at
    }

    /// Returns whether the last one of the crawl is durable.
    pub(crate) fn are_over(&self) -> bool {
        self.is_last && !self.is_in_progress
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clock::Stored;
    use crate::disk::simulated::SimulatedDisk;

    const NOW: Time = Time::from_ms(1_000);
    const LATER: Time = Time::from_ms(9_000);

    fn checkpoints(disk: &Disk) -> Checkpoints {
        disk.create_dir_all(Path::new("/crawl")).unwrap();
        let (rests, _) = HoldLog::open(disk.clone(), Path::new("/crawl"), 4, Stored::new(NOW), NOW).unwrap();
        Checkpoints::new(4, NOW, rests)
    }

    #[test]
    fn a_number_is_durable_when_its_checkpoint_is() {
        let mut checkpoints = checkpoints(&SimulatedDisk::new(1).disk());
        assert_eq!((checkpoints.durable(), checkpoints.ahead(), checkpoints.next_due()), (4, 5, Some(NOW)));
        assert_eq!(checkpoints.begin(LATER, false), 5);
        assert_eq!((checkpoints.durable(), checkpoints.ahead(), checkpoints.next_due()), (4, 6, None));
        checkpoints.cut(Duration::from_secs(1));
        assert_eq!(checkpoints.committed(NOW, Duration::from_secs(3)), Duration::from_secs(2));
        assert_eq!((checkpoints.durable(), checkpoints.next_due()), (5, Some(LATER)));
        checkpoints.begin(LATER, true);
        // nothing that is taken in now comes into a checkpoint of this process
        assert_eq!((checkpoints.ahead(), checkpoints.are_over()), (6, false));
        checkpoints.committed(NOW, Duration::from_secs(4));
        assert!(checkpoints.are_over());
    }

    #[test]
    fn a_checkpoint_that_would_say_the_same_again_is_skipped_unless_somebody_wants_it() {
        let disk = SimulatedDisk::new(1).disk();
        let mut checkpoints = checkpoints(&disk);
        let skips = |checkpoints: &mut Checkpoints| {
            checkpoints.skip_unchanged(LATER, LATER + Duration::from_secs(1));
            checkpoints.next_due() != Some(LATER)
        };
        let commit = |checkpoints: &mut Checkpoints, superseded: Vec<PathBuf>| {
            checkpoints.begin(LATER, false);
            checkpoints.supersede(superseded);
            checkpoints.committed(NOW, Duration::ZERO);
        };
        commit(&mut checkpoints, vec![Path::new("/crawl").join("tail")]);
        assert!(!skips(&mut checkpoints), "it deletes a file");
        checkpoints.take_all(&disk).run().unwrap();
        commit(&mut checkpoints, Vec::new());
        checkpoints.want();
        assert!(!skips(&mut checkpoints), "somebody wants it");
        commit(&mut checkpoints, Vec::new());
        checkpoints.skip_unchanged(NOW, NOW);
        assert_eq!(checkpoints.next_due(), Some(LATER), "its time has not come");
        assert!(skips(&mut checkpoints));
    }

    #[test]
    fn a_cut_frees_what_it_supersedes_when_it_is_durable_and_not_before() {
        let disk = SimulatedDisk::new(1).disk();
        let mut checkpoints = checkpoints(&disk);
        checkpoints.rests.push(&[(crate::fingerprint::Fingerprint::from_bits(1), LATER)]).unwrap();
        let path = Path::new("/crawl").join("bucket");
        drop(disk.open(&path, crate::disk::Mode::CreateNew).unwrap());
        checkpoints.begin(LATER, false);
        checkpoints.supersede([path]);
        let left = || disk.list(Path::new("/crawl")).unwrap();
        checkpoints.take_all(&disk).run().unwrap();
        assert_eq!(left(), ["bucket", "rests.g000004"]);
        checkpoints.committed(NOW, Duration::ZERO);
        checkpoints.take_some(&disk).run().unwrap();
        assert!(left().is_empty());
    }
}

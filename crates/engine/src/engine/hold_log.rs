//! The hold log: which hosts must not be contacted before a time that a restart has to keep.
//!
//! A checkpoint has the back-off of every host. One that begins after it (a `Retry-After` of an hour, the fourth
//! back-off in a row) would be forgotten by a crash, and the host be asked again within seconds of the restart. So it
//! is appended here when it begins, and synced beside the crawl within about a second:
//!
//! ```text
//! rests.g000042: header 16, then | origin 8 | until 8, ms since 1970 | crc32 of both 4 |      little-endian
//! ```
//! The file is named by the checkpoint that it follows, and starts again with each. Which files there are, and what
//! they hold beyond the last whole record, is a matter of when the machine stopped: opening takes every record that is
//! whole from the files that follow the checkpoint or a later one that was never finished, and puts what still holds
//! into one new file before it removes the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::clock::{Era, Stored, Time};
use crate::disk::{Disk, DiskFile, HEADER_BYTES, Header, Kind, Mode, Removal, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::BACKOFF_MAX;
use crate::record::layout::RESTS_PREFIX;

const VERSION: u16 = 1;
const RECORD_BYTES: usize = 20;

/// The log.
pub struct HoldLog {
    disk: Disk,
    dir: PathBuf,
    /// The checkpoint that the open file follows.
    number: u64,
    file: Option<(DiskFile, u64)>,
    /// True if anything was appended to the open file since its last sync began.
    unsynced: bool,
    /// Numbers of older files of which the same holds. Their holds are in the checkpoint that was cut, but that may
    /// take long to become durable, and until then nothing else has them.
    older_unsynced: Vec<u64>,
    syncing: bool,
    sync_due: Time,
}

/// Files that are to be made durable.
#[derive(Debug)]
pub struct HoldSync {
    disk: Disk,
    dir: PathBuf,
    paths: Vec<PathBuf>,
}

impl HoldSync {
    /// Syncs the files and their names.
    pub fn run(self) -> Result<()> {
        for path in &self.paths {
            // one that a checkpoint has made superfluous meanwhile is gone
            if let Some(file) = self.disk.open_if_there(path)? {
                file.sync()?;
            }
        }
        self.disk.sync_dir(&self.dir)
    }
}

/// The name of the log that follows checkpoint `number`.
pub(super) fn file_name(number: u64) -> String {
    format!("{RESTS_PREFIX}{number:06}")
}

impl HoldLog {
    /// Opens the log in `dir` behind checkpoint `number`, which was cut at `cut`; says which holds last at `now`.
    pub fn open(
        disk: Disk,
        dir: &Path,
        number: u64,
        cut: Stored,
        now: Time,
    ) -> Result<(Self, Vec<(Fingerprint, Time)>)> {
        let mut holds: BTreeMap<Fingerprint, Time> = BTreeMap::new();
        let mut found = Vec::new();
        for name in disk.list(dir)? {
            let Some(of) = name.strip_prefix(RESTS_PREFIX).and_then(|of| of.parse::<u64>().ok()) else { continue };
            found.push(of);
            if of >= number {
                for (origin, until) in read(&disk, &dir.join(&name))?.0 {
                    let until = believed(until, cut, now);
                    let known = holds.entry(origin).or_insert(until);
                    *known = (*known).max(until);
                }
            }
        }
        holds.retain(|_, until| *until > now);
        let mut log = HoldLog {
            disk,
            dir: dir.to_owned(),
            number,
            file: None,
            unsynced: false,
            older_unsynced: Vec::new(),
            syncing: false,
            sync_due: Time::ZERO,
        };
        if !found.is_empty() {
            let mut bytes = header();
            holds.iter().for_each(|(&origin, &until)| put(&mut bytes, origin, until));
            log.disk.replace(&log.path(number), &bytes)?;
            found.retain(|&of| of != number);
            Removal::new(&log.disk, found.iter().map(|&of| log.path(of)).collect()).run()?;
            log.file = Some((log.disk.open(log.path(number), Mode::Write)?, bytes.len() as u64));
        }
        Ok((log, holds.into_iter().collect()))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(file_name(number))
    }

    /// Appends holds that have just begun.
    pub fn push(&mut self, holds: &[(Fingerprint, Time)]) -> Result<()> {
        if holds.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(holds.len() * RECORD_BYTES);
        let (file, end) = match self.file.take() {
            Some(open) => open,
            None => {
                let file = self.disk.open(self.path(self.number), Mode::Create)?;
                file.set_len(0)?;
                bytes = header();
                (file, 0)
            }
        };
        holds.iter().for_each(|&(origin, until)| put(&mut bytes, origin, until));
        file.write_all_at(&bytes, end)?;
        self.file = Some((file, end + bytes.len() as u64));
        self.unsynced = true;
        Ok(())
    }

    /// Returns when [`HoldLog::next_sync`] has something to do, unless a sync is in progress.
    pub(crate) fn next_sync_due(&self) -> Option<Time> {
        let wanted = self.unsynced || !self.older_unsynced.is_empty();
        (wanted && !self.syncing).then_some(self.sync_due)
    }

    /// Returns what has to be synced now, if anything has: one sync at a time, and not all the time.
    pub(crate) fn next_sync(&mut self, now: Time) -> Option<HoldSync> {
        const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);
        self.next_sync_due().filter(|&due| due <= now)?;
        let newest = std::mem::take(&mut self.unsynced).then_some(self.number);
        let numbers = std::mem::take(&mut self.older_unsynced).into_iter().chain(newest);
        let paths = numbers.map(|number| self.path(number)).collect();
        (self.syncing, self.sync_due) = (true, now + PAUSE);
        Some(HoldSync { disk: self.disk.clone(), dir: self.dir.clone(), paths })
    }

    /// A sync is done.
    pub(crate) fn synced(&mut self) {
        self.syncing = false;
    }

    /// Checkpoint `number` was cut: it has every rest so far, once it is durable, and supersedes the file that is
    /// returned. What was not synced before still has to be.
    pub fn cut(&mut self, number: u64) -> Option<PathBuf> {
        let superseded = self.file.take().map(|_| self.path(self.number));
        if std::mem::take(&mut self.unsynced) {
            self.older_unsynced.push(self.number);
        }
        self.number = number;
        superseded
    }

    /// The last cut is durable, and with it every rest of the files that it supersedes.
    pub(crate) fn committed(&mut self) {
        self.older_unsynced.clear();
    }
}

/// Puts what the files behind checkpoint `from` hold into one that follows checkpoint `to`, a later one.
pub fn carry_over(disk: &Disk, dir: &Path, from: u64, to: u64) -> Result<()> {
    let mut bytes = header();
    for (number, path) in files(disk, dir)? {
        if number >= from {
            read(disk, &path)?.0.into_iter().for_each(|(origin, until)| put(&mut bytes, origin, until.as_written()));
        }
    }
    if bytes.len() == HEADER_BYTES as usize {
        return Ok(());
    }
    disk.replace(&dir.join(file_name(to)), &bytes)
}

/// The files of the log in `dir`, and which checkpoint each follows.
pub fn files(disk: &Disk, dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let names = disk.list(dir)?.into_iter();
    let number = |name: &str| name.strip_prefix(RESTS_PREFIX).and_then(|of| of.parse().ok());
    Ok(names.filter_map(|name| Some((number(&name)?, dir.join(&name)))).collect())
}

/// Returns the offset in the file at `path` at which its whole records end, where it is not whole to its end; and
/// whether that can be the trace of a write that was cut short.
pub fn check(disk: &Disk, path: &Path) -> Result<Option<(u64, bool)>> {
    let (holds, bytes) = read(disk, path)?;
    if bytes >= HEADER_BYTES && Header::check(&disk.open(path, Mode::Read)?, Kind::Rests, VERSION).is_err() {
        return Ok(Some((0, true)));
    }
    let whole = (HEADER_BYTES + (holds.len() * RECORD_BYTES) as u64).min(bytes);
    if whole == bytes {
        return Ok(None);
    }
    let mut rest = vec![0; usize::try_from(bytes - whole).unwrap_or(usize::MAX).min(RECORD_BYTES)];
    disk.open(path, Mode::Read)?.read_exact_at(&mut rest, whole)?;
    let torn = bytes - whole < RECORD_BYTES as u64 || rest.iter().all(|&byte| byte == 0);
    Ok(Some((whole, torn)))
}

/// The end of a rest that began behind the checkpoint of `cut`. A clock that was ahead has written what is longer than
/// any rest; of what is not, nobody knows, and it is kept as it is.
fn believed(until: Stored, cut: Stored, now: Time) -> Time {
    let is_possible = until.as_written() <= now + BACKOFF_MAX;
    let era = if is_possible { Era::OWN } else { Era::before(now, cut) };
    era.rest(until, BACKOFF_MAX)
}

fn header() -> Vec<u8> {
    Header { kind: Kind::Rests, version: VERSION }.to_bytes().to_vec()
}

fn put(out: &mut Vec<u8>, origin: Fingerprint, until: Time) {
    let start = out.len();
    out.extend_from_slice(&origin.bits().to_le_bytes());
    out.extend_from_slice(&until.ms().to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(&out[start..]).to_le_bytes());
}

/// The whole records of a file, up to the first one that is none: what comes then was being written at a crash. And the
/// length of the file.
fn read(disk: &Disk, path: &Path) -> Result<(Vec<(Fingerprint, Stored)>, u64)> {
    let bytes = disk.read(path)?;
    let mut holds = Vec::new();
    let length = bytes.len() as u64;
    if bytes.len() < HEADER_BYTES as usize || bytes.iter().all(|&byte| byte == 0) {
        return Ok((holds, length));
    }
    // a header that a power cut has garbled says nothing against records with a right checksum
    Header::refuse_newer(&disk.open(path, Mode::Read)?, Kind::Rests, VERSION)?;
    let (records, _) = bytes[HEADER_BYTES as usize..].as_chunks::<RECORD_BYTES>();
    for record in records {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| record[at + n]));
        let sum = u32::from_le_bytes(std::array::from_fn(|n| record[16 + n]));
        if crc32fast::hash(&record[..16]) != sum {
            break;
        }
        holds.push((Fingerprint::from_bits(word(0)), Stored::new(Time::from_ms(word(8)))));
    }
    Ok((holds, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::simulated::{Restart, SimulatedDisk};

    const NOW: Time = Time::from_ms(1_000);
    const CUT: Stored = Stored::new(NOW);

    fn hold(origin: u64, until: u64) -> (Fingerprint, Time) {
        (Fingerprint::from_bits(origin), Time::from_ms(until))
    }

    fn remove(disk: &Disk, superseded: Option<PathBuf>) {
        Removal::new(disk, superseded.into_iter().collect()).run().unwrap();
    }

    fn files(disk: &Disk, dir: &Path) -> Vec<String> {
        let mut names = disk.list(dir).unwrap();
        names.sort();
        names
    }

    #[test]
    fn rests_since_the_last_durable_checkpoint_come_back_longest_first_known() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (mut log, known) = HoldLog::open(disk.clone(), dir.path(), 4, CUT, NOW).unwrap();
        assert!(known.is_empty() && files(&disk, dir.path()).is_empty());
        log.push(&[hold(1, 5_000), hold(2, 900)]).unwrap();
        log.push(&[hold(1, 4_000), hold(3, 7_000)]).unwrap();
        // a cut that is never finished takes nothing away
        assert_eq!(log.cut(5), Some(dir.path().join("rests.g000004")));
        log.push(&[hold(4, 8_000)]).unwrap();
        drop(log);
        let (mut log, known) = HoldLog::open(disk.clone(), dir.path(), 4, CUT, NOW).unwrap();
        assert_eq!(known, [hold(1, 5_000), hold(3, 7_000), hold(4, 8_000)]);
        assert_eq!(files(&disk, dir.path()), ["rests.g000004"]);
        log.push(&[hold(5, 9_000)]).unwrap();
        remove(&disk, log.cut(5));
        log.committed();
        assert!(files(&disk, dir.path()).is_empty());
        let (_, known) = HoldLog::open(disk, dir.path(), 5, CUT, NOW).unwrap();
        assert!(known.is_empty());
    }

    #[test]
    fn a_file_that_was_being_written_is_read_as_far_as_it_is_whole() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (mut log, _) = HoldLog::open(disk.clone(), dir.path(), 0, CUT, NOW).unwrap();
        log.push(&[hold(1, 5_000), hold(2, 6_000)]).unwrap();
        let path = dir.path().join("rests.g000000");
        let whole = disk.read(&path).unwrap();
        for len in 0..=whole.len() {
            std::fs::write(&path, &whole[..len]).unwrap();
            let (_, known) = HoldLog::open(disk.clone(), dir.path(), 0, CUT, NOW).unwrap();
            assert_eq!(known.len(), len.saturating_sub(16) / RECORD_BYTES, "{len} bytes");
        }
        let mut garbled = whole.clone();
        garbled[16 + RECORD_BYTES + 3] ^= 1;
        std::fs::write(&path, &garbled).unwrap();
        assert_eq!(HoldLog::open(disk, dir.path(), 0, CUT, NOW).unwrap().1, [hold(1, 5_000)]);
    }

    #[test]
    fn a_garbled_header_hides_no_whole_record_and_a_later_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, path) = (Disk::real(), dir.path().join("rests.g000003"));
        let mut bytes = header();
        put(&mut bytes, Fingerprint::from_bits(7), Time::from_ms(90_000));
        bytes[..HEADER_BYTES as usize].fill(0);
        disk.replace(&path, &bytes).unwrap();
        assert_eq!(read(&disk, &path).unwrap().0, [(Fingerprint::from_bits(7), Stored::new(Time::from_ms(90_000)))]);
        assert_eq!(check(&disk, &path).unwrap(), Some((0, true)));
        let later = Header { kind: Kind::Rests, version: VERSION + 1 }.to_bytes();
        bytes[..HEADER_BYTES as usize].copy_from_slice(&later);
        disk.replace(&path, &bytes).unwrap();
        assert!(matches!(HoldLog::open(disk, dir.path(), 3, CUT, NOW), Err(crate::disk::Error::Newer { .. })));
    }

    #[test]
    fn one_sync_is_out_at_a_time_and_only_where_something_is_new() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (mut log, _) = HoldLog::open(disk, dir.path(), 0, CUT, NOW).unwrap();
        assert!(log.next_sync(NOW).is_none());
        log.push(&[hold(1, 5_000)]).unwrap();
        let sync = log.next_sync(NOW).unwrap();
        log.push(&[hold(2, 5_000)]).unwrap();
        let later = Time::from_ms(9_000);
        assert!(log.next_sync(later).is_none());
        sync.run().unwrap();
        log.synced();
        assert!(log.next_sync(NOW).is_none());
        assert!(log.next_sync(later).is_some());
    }

    #[test]
    fn n07_a_rest_that_begins_right_before_a_cut_is_durable_before_the_checkpoint_is() {
        for seed in 0..40 {
            let simulated = SimulatedDisk::new(seed);
            let (disk, dir) = (simulated.disk(), Path::new("/crawl"));
            disk.create_dir_all(dir).unwrap();
            let (mut log, _) = HoldLog::open(disk.clone(), dir, 4, CUT, NOW).unwrap();
            log.push(&[hold(1, 900_000)]).unwrap();
            log.next_sync(NOW).unwrap().run().unwrap();
            log.synced();
            // within the second in which no sync begins, and before the cut
            log.push(&[hold(2, 900_000)]).unwrap();
            let _not_durable = log.cut(5);
            log.push(&[hold(3, 900_000)]).unwrap();
            let due = log.next_sync_due().expect("what was appended before the cut is not durable yet");
            log.next_sync(due).unwrap().run().unwrap();
            log.synced();
            assert_eq!(log.next_sync_due(), None);
            // the checkpoint is still being written
            simulated.restart(Restart::PowerCut);
            let (_, known) = HoldLog::open(disk, dir, 4, CUT, NOW).unwrap();
            assert_eq!(known, [hold(1, 900_000), hold(2, 900_000), hold(3, 900_000)], "seed {seed}");
        }
    }

    #[test]
    fn n07_a_durable_checkpoint_has_the_rests_before_it_and_leaves_nothing_to_sync() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (mut log, _) = HoldLog::open(disk.clone(), dir.path(), 4, CUT, NOW).unwrap();
        log.push(&[hold(1, 5_000)]).unwrap();
        let superseded = log.cut(5);
        let sync = log.next_sync(NOW).unwrap();
        log.committed();
        remove(&disk, superseded);
        sync.run().unwrap();
        log.synced();
        assert_eq!(log.next_sync_due(), None);
        log.push(&[hold(2, 5_000)]).unwrap();
        remove(&disk, log.cut(6));
        log.committed();
        assert_eq!(log.next_sync_due(), None);
        assert!(files(&disk, dir.path()).is_empty());
    }

    #[test]
    fn rests_of_a_clock_that_was_ahead_are_as_long_as_they_were_and_kept_once() {
        let (hour, now) = (std::time::Duration::from_secs(3_600), Time::from_ms(1 << 40));
        for days in [0, 3, 400, 3_650] {
            let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
            let cut = now + hour * 24 * days;
            let (mut log, _) = HoldLog::open(disk.clone(), dir.path(), 4, Stored::new(cut), cut).unwrap();
            let keys = [1, 2].map(Fingerprint::from_bits);
            log.push(&[(keys[0], cut + hour), (keys[1], cut + hour * 23)]).unwrap();
            drop(log);
            // killed before its first checkpoint, and again
            for later in [0, 1] {
                let now = now + hour / 2 * later;
                let (_, known) = HoldLog::open(disk.clone(), dir.path(), 4, Stored::new(cut), now).unwrap();
                let until = now - hour / 2 * later + hour;
                assert_eq!(known, [(keys[0], until), (keys[1], until + hour * 22)], "{days} days, {later}");
            }
        }
        // nobody can tell it from a rest of 22 hours by the right clock
        let (cut, until) = (Stored::new(now + hour * 20), now + hour * 22);
        assert_eq!(believed(Stored::new(until), cut, now), until);
    }
}

//! Tests of what the simulated disk keeps, loses and tears.

use std::collections::BTreeSet;

use super::*;
use crate::disk::Error;

const DIR: &str = "/d";

fn path(name: &str) -> std::path::PathBuf {
    Path::new(DIR).join(name)
}

fn new(seed: u64) -> (SimulatedDisk, Disk) {
    let simulated = SimulatedDisk::new(seed);
    let disk = simulated.disk();
    disk.create_dir_all(Path::new(DIR)).unwrap();
    (simulated, disk)
}

#[test]
fn it_behaves_like_a_file_system_as_long_as_nothing_happens() {
    let (simulated, disk) = new(1);
    disk.replace(&path("a"), b"first").unwrap();
    disk.replace(&path("a"), b"second, longer").unwrap();
    let file = disk.open(path("a"), Mode::Write).unwrap();
    file.write_all_at(b"S", 0).unwrap();
    file.set_len(6).unwrap();
    assert_eq!(disk.read(path("a")).unwrap(), b"Second");
    assert_eq!(disk.list(Path::new(DIR)).unwrap(), ["a"]);
    assert!(disk.open(path("a"), Mode::CreateNew).is_err() && disk.open(path("b"), Mode::Read).is_err());
    assert!(disk.open("/nowhere/a", Mode::Create).is_err());
    disk.remove(&path("a")).unwrap();
    assert_eq!(file.len().unwrap(), 6, "a removed file stays open");
    simulated.restart(Restart::Killed);
    assert!(file.len().is_err());
    assert!(disk.open_if_there(path("a")).unwrap().is_none());
}

#[test]
fn a_kill_leaves_everything_and_a_power_cut_leaves_what_was_synced() {
    for seed in 0..300 {
        let (simulated, disk) = new(seed);
        let file = disk.open(path("a"), Mode::Create).unwrap();
        file.write_all_at(&[1; 2_000], 0).unwrap();
        file.sync().unwrap();
        disk.sync_dir(Path::new(DIR)).unwrap();
        file.write_all_at(&[2; 1_500], 1_000).unwrap();
        simulated.restart(Restart::Killed);
        assert_eq!(disk.read(path("a")).unwrap().len(), 2_500, "seed {seed}");
        simulated.restart(Restart::PowerCut);
        let left = disk.read(path("a")).unwrap();
        assert_eq!(left[..1_000], [1; 1_000], "seed {seed}");
        assert!((2_000..=2_500).contains(&left.len()), "seed {seed}");
    }
}

#[test]
fn every_kind_of_loss_comes_about() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let (simulated, disk) = new(seed);
        let file = disk.open(path("a"), Mode::Create).unwrap();
        file.write_all_at(&[1; 2_048], 0).unwrap();
        file.sync().unwrap();
        disk.sync_dir(Path::new(DIR)).unwrap();
        file.write_all_at(&[2; 2_048], 0).unwrap();
        disk.rename(&path("a"), &path("b")).unwrap();
        simulated.restart(Restart::PowerCut);
        let (a, b) = (disk.read(path("a")).ok(), disk.read(path("b")).ok());
        assert!(a.is_some() != b.is_some(), "seed {seed}: a rename is done or not done");
        seen.insert(if a.is_some() { "renamed back" } else { "renamed" });
        let left = a.or(b).unwrap();
        let of = |value: u8| left.iter().filter(|&&byte| byte == value).count();
        seen.insert(match (of(1), of(2)) {
            (0, 2_048) => "kept",
            (2_048, 0) => "lost",
            (old, new) if old + new == 2_048 => "torn",
            _ if of(0) >= 512 => "zeroed",
            _ => "garbled",
        });
    }
    let all = ["garbled", "kept", "lost", "renamed", "renamed back", "torn", "zeroed"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn a_failed_sync_is_not_made_good_by_a_later_one() {
    let mut lost = 0;
    for seed in 0..100 {
        let (simulated, disk) = new(seed);
        let file = disk.open(path("a"), Mode::Create).unwrap();
        disk.sync_dir(Path::new(DIR)).unwrap();
        file.write_all_at(b"one", 0).unwrap();
        simulated.fail_at(simulated.changes() + 1, Fault::Error);
        assert!(matches!(file.sync(), Err(Error::Io { .. })));
        file.write_all_at(b"two", 3).unwrap();
        file.sync().unwrap();
        simulated.restart(Restart::PowerCut);
        let left = disk.read(path("a")).unwrap();
        assert_eq!(&left[3..], b"two", "seed {seed}");
        lost += u32::from(&left[..3] != b"one");
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn a_machine_that_stopped_does_nothing_until_it_is_restarted() {
    let (simulated, disk) = new(3);
    disk.replace(&path("a"), b"one").unwrap();
    let next = simulated.changes() + 1;
    simulated.fail_at(next, Fault::Stop);
    let file = disk.open(path("a"), Mode::Write).unwrap();
    assert!(file.write_all_at(b"x", 0).is_err() && simulated.is_stopped());
    assert!(disk.read(path("a")).is_err() && disk.list(Path::new(DIR)).is_err());
    simulated.restart(Restart::PowerCut);
    assert!(disk.read(path("a")).is_ok());
    assert!(simulated.trace().iter().any(|line| line.contains("write 1 bytes at 0 of /d/a -> Stop")));
}

#[test]
fn a_full_disk_takes_nothing_more_until_there_is_room() {
    let (simulated, disk) = new(4);
    let file = disk.open(path("a"), Mode::Create).unwrap();
    simulated.fail_at(simulated.changes() + 1, Fault::Full);
    assert!(file.write_all_at(b"x", 0).is_err() && file.write_all_at(b"x", 0).is_err());
    assert_eq!(disk.free_bytes(Path::new(DIR)).unwrap(), 0);
    file.sync().unwrap();
    simulated.make_room();
    file.write_all_at(b"x", 0).unwrap();
}

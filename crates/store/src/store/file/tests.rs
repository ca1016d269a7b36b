//! The directory as a store: what power cuts, kills and faults of the disk leave, and the files that are written aside.

use super::*;
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::store::Part;

const ROOT: &str = "/mnt/store";

fn content(at: usize) -> Vec<u8> {
    (0..600 + 700 * at).map(|byte| (byte * 31 + at * 7) as u8).collect()
}

fn name(at: usize) -> String {
    format!("{:03}/e1-{}/n{at:06}.pack", at % 2, at / 2)
}

/// Puts objects one after the other until the machine stops; those that were acknowledged.
fn put_all(store: &FileStore) -> Vec<usize> {
    let put = |at: &usize| store.put(&name(*at), &Body::of(content(*at))).is_ok();
    (0..4).take_while(put).collect()
}

fn check(simulated: &SimulatedDisk, acknowledged: &[usize], case: &str) {
    let store = FileStore::new(simulated.disk(), ROOT);
    let mut listed = Vec::new();
    store.list("", &mut |name, bytes| listed.push((name.to_owned(), bytes))).unwrap();
    for at in 0..4 {
        let (name, content) = (name(at), content(at));
        let length = store.length(&name).unwrap();
        assert_eq!(length.is_some(), listed.contains(&(name.clone(), content.len() as u64)), "{case}: {name}");
        match length {
            Some(length) => {
                assert_eq!(length, content.len() as u64, "{case}: {name} is there in parts");
                assert_eq!(store.get(&name, 0..length).unwrap(), content, "{case}: {name}");
            }
            None => assert!(!acknowledged.contains(&at), "{case}: {name} was acknowledged and is lost"),
        }
    }
}

#[test]
fn after_a_power_cut_at_every_change_no_object_is_there_in_parts_and_no_acknowledged_one_is_lost() {
    let whole = SimulatedDisk::new(0);
    assert_eq!(put_all(&FileStore::new(whole.disk(), ROOT)).len(), 4);
    assert!(whole.changes() > 20, "{}", whole.changes());
    let (mut lost, mut kept) = (0, 0);
    for change in 1..=whole.changes() {
        for seed in 0..30 {
            for restart in [Restart::PowerCut, Restart::Killed] {
                let case = format!("change {change}, seed {seed}, {restart:?}");
                let simulated = SimulatedDisk::new(seed);
                simulated.lose_directories();
                simulated.fail_at(change, Fault::Stop);
                let acknowledged = put_all(&FileStore::new(simulated.disk(), ROOT));
                simulated.restart(restart);
                check(&simulated, &acknowledged, &case);
                // the next process repeats all, and then the power is cut without warning
                let (before, store) = (acknowledged.len(), FileStore::new(simulated.disk(), ROOT));
                if store.length(&name(before)).unwrap().is_some() {
                    kept += 1
                } else {
                    lost += 1
                }
                assert_eq!(put_all(&store).len(), 4, "{case}");
                simulated.restart(Restart::PowerCut);
                check(&simulated, &[0, 1, 2, 3], &format!("{case}, repeated"));
            }
        }
    }
    assert!(lost > 100 && kept > 100, "both ends come about: {lost} {kept}");
}

#[test]
fn faults_of_the_disk_leave_no_part_and_a_directory_whose_sync_failed_takes_nothing_more() {
    let whole = SimulatedDisk::new(0);
    put_all(&FileStore::new(whole.disk(), ROOT));
    let mut poisoned = 0;
    for change in 1..=whole.changes() {
        for (seed, fault) in [(1, Fault::Error), (2, Fault::Full), (3, Fault::Error)] {
            let simulated = SimulatedDisk::new(seed);
            simulated.lose_directories();
            simulated.fail_at(change, fault);
            let store = FileStore::new(simulated.disk(), ROOT);
            let mut acknowledged = put_all(&store);
            simulated.make_room();
            // asked again, as callers do
            for at in acknowledged.len()..4 {
                match store.put(&name(at), &Body::of(content(at))) {
                    Ok(()) => acknowledged.push(at),
                    Err(Error::Refused { detail, .. }) => {
                        assert!(detail.contains("sync directory"), "{detail}");
                        poisoned += 1;
                    }
                    Err(error) => panic!("change {change}: {error}"),
                }
            }
            simulated.restart(Restart::PowerCut);
            check(&simulated, &acknowledged, &format!("change {change}, {fault:?}"));
        }
    }
    assert!(poisoned > 0);
}

#[test]
fn a_lying_disk_is_found_out_by_the_test() {
    let mut lost = 0;
    for seed in 0..20 {
        let simulated = SimulatedDisk::new(seed);
        simulated.lie_about_syncs(true);
        let store = FileStore::new(simulated.disk(), ROOT);
        put_all(&store);
        simulated.restart(Restart::PowerCut);
        let there = |at: usize| store.get(&name(at), 0..content(at).len() as u64).is_ok_and(|got| got == content(at));
        lost += usize::from(!(0..4).all(there));
    }
    assert!(lost > 5, "{lost}");
}

#[test]
fn what_a_killed_process_left_aside_is_not_listed_and_goes_a_day_later() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::real(dir.path().join("new/store"), None);
    store.put("a/b", &Body::of(b"x".to_vec())).unwrap();
    let inside = dir.path().join("new/store/a");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let of_age = |seconds: u64| inside.join(format!("{ASIDE}{:x}-{:032x}", now - seconds, 7));
    let (young, old) = (of_age(23 * 3_600), of_age(25 * 3_600));
    [&young, &old].iter().for_each(|path| std::fs::write(path, "half").unwrap());
    std::fs::write(inside.join("not an object"), "x").unwrap();
    let listed = || {
        let mut names = Vec::new();
        store.list("a/", &mut |name, bytes| names.push((name.to_owned(), bytes))).unwrap();
        names
    };
    assert_eq!(listed(), [("a/b".to_owned(), 1)]);
    assert!(old.exists(), "reading removes nothing");
    store.put("a/c", &Body::of(Vec::new())).unwrap();
    assert!(young.exists() && !old.exists());
    assert_eq!(listed().len(), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(store.root).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "a new store is its owner's alone");
}

#[test]
fn an_object_of_other_bytes_is_refused_and_stays_and_a_local_file_that_is_short_is_told_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let store = FileStore::real(dir.path().join("store"), None);
    let large = vec![7; COPY_BYTES + 10];
    store.put("a", &Body::of(large.clone())).unwrap();
    store.put("a", &Body::of(large.clone())).unwrap();
    let mut other = large.clone();
    other[COPY_BYTES + 5] = 8;
    for other in [other, vec![7; 3]] {
        assert!(matches!(store.put("a", &Body::of(other)), Err(Error::Taken { .. })));
    }
    assert_eq!(store.get("a", 0..large.len() as u64).unwrap(), large);
    assert!(matches!(store.get("a", 0..large.len() as u64 + 1), Err(Error::Damaged { .. })));
    let path = dir.path().join("local");
    std::fs::write(&path, "123").unwrap();
    let body = Body::new(Disk::real(), vec![Part::File { path, offset: 0, bytes: 4 }]);
    assert!(matches!(store.put("b", &body), Err(Error::Disk(_))));
    assert_eq!(Disk::real().list(&dir.path().join("store")).unwrap(), ["a"], "nothing is left aside");
}

#[test]
fn a_directory_that_takes_nothing_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let store = FileStore::real(dir.path().join("file/store"), None);
    let error = store.put("a", &Body::of(Vec::new())).unwrap_err();
    assert!(matches!(error, Error::Refused { .. } | Error::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("file"), "{error}");
}

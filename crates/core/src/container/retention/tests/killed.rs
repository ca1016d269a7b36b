//! Kills and power cuts at every change of the disk that a compaction makes.

use super::*;
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};

/// A compaction that does everything a compaction can.
fn eventful(disk: Disk, dir: &Path) -> Archive {
    let mut archive = Archive::on(disk, dir, 2_500, Compression::Gzip);
    let shared = long("shared ");
    archive.store(PAGE, 200, &shared);
    archive.store(OTHER, 200, &shared);
    for version in 0..3 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
        archive.store(THIRD, 304, "");
    }
    archive.store(THIRD, 200, &shared);
    archive.store("http://d.example/secret", 200, &long("secret "));
    archive.close();
    archive.forget_url("http://d.example/secret");
    archive
}

#[test]
fn a_kill_or_power_cut_at_any_change_of_the_disk_leaves_an_archive_that_is_whole() {
    let dir = Path::new("/pages");
    let (mut crashes, mut finished) = (0, false);
    for at in 1.. {
        if finished {
            break;
        }
        for restart in [Restart::Killed, Restart::PowerCut] {
            let simulated = SimulatedDisk::new(at);
            let mut archive = eventful(simulated.disk(), dir);
            let expected = [OTHER, THIRD].map(|url| archive.bodies(url)[0].clone());
            let rule = archive.rule(Keep::Versions(1));
            simulated.fail_at(simulated.changes() + at, Fault::Stop);
            let done = compact(&archive.disk, dir, archive.noted(), &rule, &mut |_, _| {});
            finished = done.is_ok();
            crashes += u64::from(!finished);
            simulated.clear_faults();
            simulated.restart(restart);
            let context = format!("stopped at change {at}, {restart:?}");
            // as it is now, readers find everything but what is being changed at this moment
            let damage: Vec<Finding> = archive.findings(true).into_iter().filter(|finding| finding.damage).collect();
            assert!(damage.is_empty(), "{context}: {damage:#?}");
            archive.reopen();
            assert_eq!(archive.findings(true), [], "{context}");
            for (url, expected) in [OTHER, THIRD].iter().zip(&expected) {
                assert_eq!(archive.bodies(url)[0].1, expected.1, "{context}");
            }
            archive.compact(Keep::Versions(1));
            archive.assert_sound(&context);
            assert_eq!(archive.bodies(PAGE).len(), 1, "{context}");
            assert!(memchr::memmem::find(&archive.blocks(), b"secret secret").is_none(), "{context}");
            let left = archive.disk.list(dir).unwrap();
            assert!(left.iter().all(|name| !name.ends_with(".new") && !name.ends_with(".redo")), "{context}: {left:?}");
        }
    }
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn a_running_crawl_that_is_killed_in_a_compaction_resumes_with_all_its_pages() {
    let dir = Path::new("/pages");
    let mut finished = 0;
    for at in 1..400 {
        let restart = if at % 2 == 0 { Restart::Killed } else { Restart::PowerCut };
        let simulated = SimulatedDisk::new(at);
        let mut archive = eventful(simulated.disk(), dir);
        archive.options.retention.keep = Keep::Versions(1);
        archive.reopen();
        archive.store(THIRD, 200, &long("late words "));
        archive.checkpoint().unwrap();
        simulated.fail_at(simulated.changes() + at, Fault::Stop);
        let mut go_on = || -> Result<()> {
            for round in 0..4 {
                archive.compact_beside(|archive, _| archive.try_store(OTHER, 200, &long("later ")).map(drop))?;
                archive.try_store(OTHER, 200, &long(&format!("round {round} ")))?;
                archive.checkpoint()?;
            }
            Ok(())
        };
        let done = go_on();
        finished = if done.is_ok() { finished + 1 } else { 0 };
        simulated.clear_faults();
        simulated.restart(restart);
        let context = format!("stopped at change {at}, {restart:?}");
        archive.reopen();
        archive.close();
        archive.assert_sound(&context);
        assert_eq!(archive.bodies(THIRD)[0].1, long("late words "), "{context}");
        assert!(archive.bodies("http://d.example/secret").is_empty(), "{context}");
        if finished > 2 {
            return;
        }
    }
    panic!("it never came to its end");
}

//! Compactions during a crawl, which stores pages between their steps.

use super::*;

#[test]
fn beside_a_crawl_files_are_compacted_one_by_one_while_pages_are_stored() {
    let mut archive = Archive::new(3_000, Compression::Gzip);
    archive.options.retention.keep = Keep::Versions(1);
    for version in 0..8 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
        archive.store(OTHER, 200, &long("always the same "));
    }
    archive.checkpoint().unwrap();
    archive.reopen();
    let (mut version, mut rounds) = (8, 0);
    loop {
        let did = archive.compact_beside(|archive, _| {
            if rounds < 4 {
                archive.try_store(PAGE, 200, &long(&format!("version {version} ")))?;
                version += 1;
            }
            Ok(())
        });
        if !did.unwrap() {
            break;
        }
        rounds += 1;
        archive.checkpoint().unwrap();
        assert!(rounds < 100);
    }
    assert!(rounds > 3, "{rounds}");
    assert_eq!(archive.container.value_bytes(), archive.bytes());
    assert_eq!(archive.bodies(PAGE)[0], (200, long(&format!("version {} ", version - 1))));
    assert_eq!(archive.bodies(OTHER)[0].1, long("always the same "));
    archive.close();
    archive.assert_sound("beside a crawl");
    // with every version kept, nothing is ever begun
    archive.options.retention.keep = Keep::All;
    archive.reopen();
    assert!(archive.container.compaction(archive.now).is_none());
}

#[test]
fn a_page_that_comes_to_refer_to_what_is_about_to_go_stops_that() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    archive.options.retention.keep = Keep::Versions(1);
    let old = long("old words ");
    archive.store(PAGE, 200, &old);
    for version in 0..6 {
        archive.store(PAGE, 200, &long(&format!("version {version} ")));
    }
    archive.close();
    archive.reopen();
    let did = archive.compact_beside(|archive, step| {
        if step == 0 {
            let stored = archive.try_store(OTHER, 200, &old)?;
            assert!(stored.saved.is_some(), "it refers to the response that is to go");
        }
        Ok(())
    });
    assert!(!did.unwrap());
    assert_eq!(archive.bodies(OTHER), [(200, old.clone())]);
    // once a file is on its way, nothing refers to what goes with it any more
    let (mut referring, mut own) = (0, 0);
    let did = archive.compact_beside(|archive, step| {
        for version in 0..6 {
            if step == 1 {
                let url = format!("http://{version}.example/");
                match archive.try_store(&url, 200, &long(&format!("version {version} ")))?.saved {
                    Some(_) => referring += 1,
                    None => own += 1,
                }
            }
        }
        Ok(())
    });
    assert!(did.unwrap() && own > 0 && referring > 0, "{own} {referring}");
    archive.close();
    archive.assert_sound("referred");
    assert_eq!(archive.bodies(OTHER), [(200, old)]);
    for version in 0..6 {
        let text = long(&format!("version {version} "));
        assert_eq!(archive.bodies(&format!("http://{version}.example/")), [(200, text)]);
    }
}

#[test]
fn what_is_forgotten_beside_a_crawl_goes_after_the_next_checkpoint_with_its_payload_left_to_others() {
    let mut archive = Archive::new(1 << 20, Compression::Gzip);
    let shared = long("secret words ");
    archive.store(PAGE, 200, &shared);
    archive.store(OTHER, 200, &shared);
    archive.store(THIRD, 200, &long("public words "));
    archive.checkpoint().unwrap();
    archive.forget_url(PAGE);
    archive.container.forget().unwrap();
    assert!(archive.store("http://d.example/", 200, &shared).saved.is_none(), "nothing new refers to it");
    for _ in 0..6 {
        archive.compact_beside(|_, _| Ok(())).unwrap();
        archive.checkpoint().unwrap();
    }
    assert!(archive.container.compaction(archive.now).is_none(), "nothing is owed any more");
    archive.close();
    archive.assert_sound("forgotten beside a crawl");
    assert!(archive.bodies(PAGE).is_empty());
    assert_eq!(archive.bodies(OTHER), [(200, shared)]);
    let reader = archive.reader();
    assert!(reader.newest(key_of(OTHER), OTHER).unwrap().unwrap().is_response());
}

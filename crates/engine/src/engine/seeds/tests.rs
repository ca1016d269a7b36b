//! Seeds keep their numbers and what became of them, whatever ends a process.

use super::*;
use crate::disk::Error;

fn table(dir: &Path, checkpoint: Option<u64>) -> SeedTable {
    SeedTable::open(&Disk::real(), dir, checkpoint, None).unwrap()
}

fn seeds(dir: &Path) -> Vec<SeedRecord> {
    let mut seeds = Vec::new();
    let reader = SeedReader::open(&Disk::real(), dir).unwrap().unwrap();
    reader
        .for_each(|number, seed| {
            assert_eq!(number as usize, seeds.len());
            seeds.push(seed);
            Ok::<_, Error>(())
        })
        .unwrap();
    seeds
}

fn urls(dir: &Path) -> Vec<String> {
    seeds(dir).into_iter().map(|seed| seed.url).collect()
}

#[test]
fn seeds_keep_their_numbers_and_what_became_of_them_up_to_the_last_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    let first = seeds_of.number("http://a.example/", None).unwrap();
    let second = seeds_of.number("https://b.example/", Some("http://b.example/")).unwrap();
    assert_eq!((first, second), (0, 1));
    assert_eq!(seeds_of.number("http://a.example/", None).unwrap(), 0);
    seeds_of.set_redirect(1, "https://c.example/").unwrap();
    seeds_of.set_status(1, SeedStatus::Answered(301)).unwrap();
    seeds_of.set_status(1, SeedStatus::Failed("late".to_owned())).unwrap();
    seeds_of.cut(1).unwrap();
    seeds_of.set_status(0, SeedStatus::Answered(200)).unwrap();
    seeds_of.cut(2).unwrap();
    drop(seeds_of);
    // checkpoint 2 was not finished
    let mut seeds_of = table(dir.path(), Some(1));
    assert_eq!(seeds_of.number("https://b.example/", None).unwrap(), 1);
    assert_eq!(seeds_of.number("http://d.example/", None).unwrap(), 2);
    assert!(seeds_of.has_fallback(1) && !seeds_of.has_fallback(0));
    seeds_of.cut(2).unwrap();
    let found = seeds(dir.path());
    assert_eq!(found[0].status, SeedStatus::Waiting);
    assert_eq!(found[1].status, SeedStatus::Answered(301));
    assert_eq!(found[1].redirected_to.as_deref(), Some("https://c.example/"));
    assert_eq!(found[1].fallback.as_deref(), Some("http://b.example/"));
    assert_eq!(found[2].url, "http://d.example/");
    assert!(SeedTable::open(&Disk::real(), dir.path(), Some(3), None).is_err(), "no mark of checkpoint 3");
}

#[test]
fn n06_seeds_that_no_checkpoint_knows_keep_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    for url in ["http://a.example/", "http://b.example/"] {
        seeds_of.number(url, None).unwrap();
    }
    seeds_of.set_status(1, SeedStatus::Answered(200)).unwrap();
    seeds_of.make_durable().unwrap();
    seeds_of.fates.flush().unwrap();
    drop(seeds_of);
    // another seeds file, in another order
    let mut seeds_of = table(dir.path(), None);
    assert_eq!(seeds_of.number("http://c.example/", None).unwrap(), 2);
    assert_eq!(seeds_of.number("http://b.example/", None).unwrap(), 1);
    assert_eq!(seeds_of.admitted(), 0, "what no checkpoint has is admitted again");
    seeds_of.cut(1).unwrap();
    assert_eq!(urls(dir.path()), ["http://a.example/", "http://b.example/", "http://c.example/"]);
    assert!(seeds(dir.path()).iter().all(|seed| seed.status == SeedStatus::Waiting), "the replay says it again");
}

#[test]
fn a_list_that_was_being_written_is_read_as_far_as_it_is_whole_and_one_that_has_lost_a_seed_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.number("http://b.example/", None).unwrap();
    seeds_of.cut(1).unwrap();
    let known = std::fs::read(list_path(dir.path())).unwrap();
    seeds_of.number("http://c.example/", None).unwrap();
    seeds_of.list.flush().unwrap();
    drop(seeds_of);
    let whole = std::fs::read(list_path(dir.path())).unwrap();
    for at in 0..whole.len() {
        std::fs::write(list_path(dir.path()), &whole[..at]).unwrap();
        match SeedTable::open(&Disk::real(), dir.path(), Some(1), None) {
            Ok(seeds_of) => assert!(at >= known.len() && seeds_of.len() == 2, "{at}"),
            Err(Error::Damaged { path, .. }) => assert!(at < known.len() && path == list_path(dir.path()), "{at}"),
            Err(error) => panic!("{error}"),
        }
        let damage = check(&Disk::real(), dir.path(), Some(1)).map(|found| found.unwrap().iter().any(|found| found.3));
        assert_eq!(damage.unwrap_or(true), at < known.len(), "verify, {at}");
    }
    std::fs::remove_file(list_path(dir.path())).unwrap();
    assert!(matches!(SeedTable::open(&Disk::real(), dir.path(), Some(1), None), Err(Error::Damaged { .. })));
}

#[test]
fn guesses_are_found_by_their_origin_however_many_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    for page in 0..2_000 {
        let host = if page % 2 == 0 { "even" } else { "odd" };
        let (url, fallback) = (format!("https://{host}.example/{page}"), format!("http://{host}.example/{page}"));
        seeds_of.number(&url, Some(&fallback).filter(|_| page % 5 > 0).map(String::as_str)).unwrap();
    }
    for _ in 0..2 {
        let expected: Vec<u32> = (0..2_000).filter(|page| page % 2 == 0 && page % 5 > 0).collect();
        let origin = |url| CanonicalUrl::parse(url).unwrap().origin();
        assert_eq!(seeds_of.guesses_at(&origin("https://even.example/")).unwrap(), expected);
        assert_eq!(seeds_of.guesses_at(&origin("http://even.example/")).unwrap(), [0_u32; 0]);
        seeds_of.cut(1).unwrap();
        seeds_of = table(dir.path(), Some(1));
    }
}

#[test]
fn a_round_is_entered_once_and_forgets_what_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    for url in ["http://a.example/", "http://b.example/"] {
        let number = seeds_of.number(url, None).unwrap();
        seeds_of.set_status(number, SeedStatus::Answered(200)).unwrap();
    }
    assert!(seeds_of.enter_round(1, 4).unwrap() && !seeds_of.enter_round(1, 4).unwrap());
    assert!(!seeds_of.enter_round(9, 4).unwrap());
    seeds_of.cut(1).unwrap();
    let mut seeds_of = table(dir.path(), Some(1));
    assert!(seeds_of.waits_in_round(1, 4) && !seeds_of.waits_in_round(0, 4) && !seeds_of.waits_in_round(0, 0));
    assert!(!seeds_of.enter_round(1, 4).unwrap());
    seeds_of.set_status(1, SeedStatus::Failed("no".to_owned())).unwrap();
    assert!(!seeds_of.waits_in_round(1, 4));
}

#[test]
fn n25_a_seed_takes_few_bytes_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    let count = 30_000;
    for number in 0..count {
        let rest =
            format!("{number}.a-name-as-long-as-names-of-hosts-often-are.example/with/a/path?and=a&query={number}");
        seeds_of.number(&format!("https://{rest}"), Some(&format!("http://{rest}"))).unwrap();
    }
    assert!(seeds_of.memory() <= 56 * count, "{} bytes a seed", seeds_of.memory() / count);
    seeds_of.cut(1).unwrap();
    let seeds_of = table(dir.path(), Some(1));
    assert!(seeds_of.memory() <= 56 * count, "{} bytes a seed", seeds_of.memory() / count);
}

#[test]
fn n25_a_new_checkpoint_of_a_rebuild_has_the_seeds_of_the_last_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.set_status(0, SeedStatus::Answered(200)).unwrap();
    seeds_of.all_admitted();
    seeds_of.cut(4).unwrap();
    seeds_of.set_status(0, SeedStatus::Answered(500)).unwrap();
    seeds_of.cut(5).unwrap();
    drop(seeds_of);
    assert_eq!(renew(&Disk::real(), dir.path(), 4, 5).unwrap(), Kept::All);
    let seeds_of = table(dir.path(), Some(5));
    assert_eq!((seeds_of.len(), seeds_of.admitted()), (1, 1));
    assert_eq!(seeds(dir.path())[0].status, SeedStatus::Answered(200));
    assert!(check(&Disk::real(), dir.path(), Some(5)).unwrap().unwrap().is_empty());
}

#[test]
fn fates_that_are_damaged_anywhere_cost_an_outcome_and_not_the_crawl() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
    let mut seeds_of = table(dir.path(), None);
    let urls_of = ["http://a.example/", "http://b.example/", "http://c.example/"];
    urls_of.iter().for_each(|url| _ = seeds_of.number(url, None).unwrap());
    seeds_of.all_admitted();
    seeds_of.cut(1).unwrap();
    (0..3).for_each(|number| seeds_of.set_status(number, SeedStatus::Answered(200)).unwrap());
    seeds_of.add_scope("http://d.example/").unwrap();
    seeds_of.cut(2).unwrap();
    drop(seeds_of);
    let (path, list) = (fates_path(dir.path()), std::fs::read(list_path(dir.path())).unwrap());
    let whole = std::fs::read(&path).unwrap();
    let mut harmed: Vec<Vec<u8>> = (0..whole.len()).map(|at| whole[..at].to_vec()).collect();
    let flipped =
        |at: usize| whole.iter().enumerate().map(|(n, &byte)| if n == at { byte ^ 1 } else { byte }).collect();
    harmed.extend((0..whole.len()).filter(|at| !(8..10).contains(at)).map(flipped));
    for fates in harmed {
        std::fs::write(&path, &fates).unwrap();
        assert!(SeedTable::open(&disk, dir.path(), Some(2), None).is_err());
        assert!(check(&disk, dir.path(), Some(2)).unwrap().unwrap().iter().all(|found| found.0 == path && found.3));
        assert_eq!(renew(&disk, dir.path(), 2, 3).unwrap(), Kept::Readable);
        assert!(check(&disk, dir.path(), Some(3)).unwrap().unwrap().is_empty());
        assert_eq!((table(dir.path(), Some(3)).len(), urls(dir.path())), (3, urls_of.map(str::to_owned).to_vec()));
        if fates.len() == whole.len() {
            let answered = seeds(dir.path()).iter().filter(|seed| seed.status == SeedStatus::Answered(200)).count();
            assert!(answered >= 2, "one record is lost, and not those behind it");
        }
    }
    // both files: nothing says how many seeds there were
    std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
    std::fs::write(list_path(dir.path()), &list[..list.len() - 4]).unwrap();
    let refused = renew(&disk, dir.path(), 2, 3).unwrap_err();
    assert_eq!(refused.path(), list_path(dir.path()));
}

#[test]
fn before_the_first_checkpoint_the_list_counts_and_the_fates_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.make_durable().unwrap();
    drop(seeds_of);
    for fates in [&b""[..], b"CRAWL", &[0; 60]] {
        std::fs::write(fates_path(dir.path()), fates).unwrap();
        assert!(check(&Disk::real(), dir.path(), None).unwrap().unwrap().is_empty());
        assert_eq!(table(dir.path(), None).len(), 1);
    }
}

#[test]
fn a_list_of_several_shards_is_not_cut_to_less_than_they_know() {
    let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
    let shards: Vec<PathBuf> = Shard::all(2).map(|shard| dir.path().join(shard.dir_name())).collect();
    let mut list = SeedList::open(&disk, dir.path(), &shards).unwrap();
    ["http://a.example/", "http://b.example/"].iter().for_each(|url| _ = list.number(url, None).unwrap());
    list.make_durable().unwrap();
    drop(list);
    let keys = Arc::new(KeyMaker::new(crate::fingerprint::Fingerprinter::random(1), &[]));
    for (shard, dir) in Shard::all(2).zip(&shards) {
        disk.create_dir_all(dir).unwrap();
        SeedTable::open(&disk, dir, None, Some((shard, keys.clone()))).unwrap().cut(1).unwrap();
    }
    let path = list_path(dir.path());
    assert!(!fates_path(dir.path()).exists(), "a crawl of several shards has no fates of its own");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let refused = SeedList::open(&disk, dir.path(), &shards).unwrap_err();
    assert!(matches!(&refused, Error::Damaged { path: of, .. } if *of == path), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing of it is cut off");
    std::fs::remove_file(&path).unwrap();
    assert!(SeedList::open(&disk, dir.path(), &shards).is_err() && !path.exists());
}

#[test]
fn whoever_goes_through_the_seeds_hears_whether_there_are_any() {
    let dir = tempfile::tempdir().unwrap();
    let count = |dir: &Path| {
        let mut count = 0;
        let any = reader::for_each(&Disk::real(), dir, |_, _| {
            count += 1;
            Ok::<_, Error>(())
        });
        (any.unwrap(), count)
    };
    assert_eq!(count(dir.path()), (false, 0));
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.cut(1).unwrap();
    assert_eq!(count(dir.path()), (true, 1));
}

#[test]
fn a_seed_that_was_being_written_is_told_as_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.cut(1).unwrap();
    drop(seeds_of);
    let mut list = std::fs::read(list_path(dir.path())).unwrap();
    let findings = || check(&Disk::real(), dir.path(), Some(1)).unwrap().unwrap();
    assert!(findings().is_empty());
    let whole = list.len() as u64;
    list.extend_from_slice(b"half");
    std::fs::write(list_path(dir.path()), list).unwrap();
    let found = findings();
    let [(path, at, what, is_damage)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((path, *at, *is_damage), (&list_path(dir.path()), whole, false));
    assert!(what.contains("being written"), "{what}");
}

#[test]
fn what_no_checkpoint_knows_of_the_fates_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut seeds_of = table(dir.path(), None);
    seeds_of.number("http://a.example/", None).unwrap();
    seeds_of.cut(1).unwrap();
    let known = std::fs::metadata(fates_path(dir.path())).unwrap().len();
    seeds_of.set_status(0, SeedStatus::Answered(200)).unwrap();
    seeds_of.cut(2).unwrap();
    drop(seeds_of);
    drop(table(dir.path(), Some(1)));
    assert_eq!(std::fs::metadata(fates_path(dir.path())).unwrap().len(), known);
}

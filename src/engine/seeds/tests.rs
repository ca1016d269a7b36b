//! Seeds keep their numbers and what became of them, whatever ends a process.

use super::*;

fn table(dir: &Path, checkpoint: Option<u64>) -> SeedTable {
    SeedTable::open(&Disk::real(), dir, checkpoint).unwrap()
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
    assert!(SeedTable::open(&Disk::real(), dir.path(), Some(3)).is_err(), "no mark of checkpoint 3");
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
        match SeedTable::open(&Disk::real(), dir.path(), Some(1)) {
            Ok(seeds_of) => assert!(at >= known.len() && seeds_of.len() == 2, "{at}"),
            Err(Error::Damaged { path, .. }) => assert!(at < known.len() && path == list_path(dir.path()), "{at}"),
            Err(error) => panic!("{error}"),
        }
        let damage = check(&Disk::real(), dir.path(), Some(1)).map(|found| found.unwrap().iter().any(|found| found.3));
        assert_eq!(damage.unwrap_or(true), at < known.len(), "verify, {at}");
    }
    std::fs::remove_file(list_path(dir.path())).unwrap();
    assert!(matches!(SeedTable::open(&Disk::real(), dir.path(), Some(1)), Err(Error::Damaged { .. })));
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
    renew(&Disk::real(), dir.path(), 4, 5).unwrap();
    let seeds_of = table(dir.path(), Some(5));
    assert_eq!((seeds_of.len(), seeds_of.admitted()), (1, 1));
    assert_eq!(seeds(dir.path())[0].status, SeedStatus::Answered(200));
    assert!(check(&Disk::real(), dir.path(), Some(5)).unwrap().unwrap().is_empty());
    assert!(renew(&Disk::real(), dir.path(), 9, 10).is_err());
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

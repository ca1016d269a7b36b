//! Pages with the same content: stored once, and their links followed from each.

use super::*;
use crawler::container::Reader;
use crawler::container::dedup::{Builder, DedupIndex, Source};

const DIRECTORIES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A site whose directories all have the same page, with links that mean another page in each.
struct Copies;

fn copy() -> String {
    format!("<base href=\"sub/\"><a href=\"next\">x</a><a href=\"../../shared\">x</a>{}", "<p>same</p>".repeat(50))
}

impl Web for Copies {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (200, String::new()),
            "/" => (200, body(&DIRECTORIES.map(|name| format!("/{name}/")))),
            path if path.ends_with('/') => (200, copy()),
            path => (200, format!("<p>{path}</p>")),
        }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        // so that everything is replayed
        settings.checkpoint_interval = Duration::from_secs(3_600);
    }
}

fn all_pages() -> Vec<String> {
    let under = |name: &str| [format!("http://h0.test/{name}/"), format!("http://h0.test/{name}/sub/next")];
    let mut pages: Vec<String> = DIRECTORIES.into_iter().flat_map(under).collect();
    pages.extend(["http://h0.test/".to_owned(), "http://h0.test/shared".to_owned()]);
    pages.sort();
    pages
}

#[test]
fn the_same_content_under_other_urls_is_stored_once_and_followed_from_each_also_after_a_kill() {
    let mut replayed_max = 0;
    for stop in 1..=all_pages().len() {
        let dir = tempfile::tempdir().unwrap();
        let start = Time::from_ms(1_000_000_000_000);
        let mut first = open_at(Rc::new(Copies), dir.path(), start);
        assert_eq!(first.go(stop), None);
        let mut requests = first.requests();
        let now = first.clock.now();
        let before = first.engine.figures().statistics();
        drop(first);
        let mut second = open_at(Rc::new(Copies), dir.path(), now);
        let replayed = second.engine.figures().statistics();
        assert_eq!(replayed.revisits, before.revisits, "stopped at request {stop}");
        assert_eq!(replayed.revisit_bytes_saved, before.revisit_bytes_saved, "stopped at request {stop}");
        assert_eq!(replayed.bytes_received, before.bytes_received, "stopped at request {stop}");
        assert_eq!(replayed.bytes_stored, before.bytes_stored, "stopped at request {stop}");
        replayed_max = replayed_max.max(replayed.revisits);
        assert_eq!(second.go(usize::MAX), Some(Finish::Complete));
        requests.extend(second.requests());
        let mut pages = pages_of(&requests);
        pages.dedup();
        assert_eq!(pages, all_pages(), "stopped at request {stop}");
        let statistics = second.engine.figures().statistics();
        assert_eq!(statistics.revisits, DIRECTORIES.len() as u64 - 1);
        drop(second);
        let reader = Reader::open(Disk::real(), &dir.path().join("pages")).unwrap();
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        for record in records.iter().filter(|record| record.url.ends_with('/') && record.url != "http://h0.test/") {
            assert_eq!(String::from_utf8(reader.response(record).unwrap().body).unwrap(), copy(), "{}", record.url);
        }
        let revisits = records.iter().filter(|record| record.payload_at.is_some()).count();
        assert_eq!(revisits, DIRECTORIES.len() - 1, "stopped at request {stop}");
    }
    assert!(replayed_max > 1, "no more than {replayed_max} revisits were replayed");
}

/// The same site, whose common page an earlier archive has.
struct Earlier(Arc<DedupIndex>);

impl Web for Earlier {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        Copies.answer(url, now)
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        Copies.tune(settings, frontier);
    }

    fn dedup(&self) -> Option<Arc<DedupIndex>> {
        Some(self.0.clone())
    }
}

/// An index that knows the common page only.
fn index_of_copy(dir: &Path) -> Arc<DedupIndex> {
    use sha1::{Digest, Sha1};
    let (path, disk) = (dir.join("earlier.cdxj"), Disk::real());
    let digest = data_encoding::BASE32.encode(&Sha1::digest(copy()));
    let line =
        format!("key 20201121050844 {{\"url\":\"http://old.test/\",\"status\":\"200\",\"digest\":\"{digest}\"}}\n");
    std::fs::write(&path, line).unwrap();
    let mut builder = Builder::default();
    let source = Source { path, is_crawl: false, state: String::new() };
    assert_eq!(builder.add_cdxj(&disk, source).unwrap(), 0);
    builder.finish(&disk, dir).unwrap();
    Arc::new(DedupIndex::open(&disk, dir).unwrap().unwrap())
}

#[test]
fn content_of_an_earlier_archive_is_referred_to_and_followed_also_after_a_kill() {
    let earlier = tempfile::tempdir().unwrap();
    let index = index_of_copy(earlier.path());
    let mut repeated = 0;
    for stop in 1..=all_pages().len() {
        let dir = tempfile::tempdir().unwrap();
        let start = Time::from_ms(1_000_000_000_000);
        let mut first = open_at(Rc::new(Earlier(index.clone())), dir.path(), start);
        assert_eq!(first.go(stop), None);
        let mut requests = first.requests();
        let now = first.clock.now();
        drop(first);
        let mut second = open_at(Rc::new(Earlier(index.clone())), dir.path(), now);
        assert_eq!(second.go(usize::MAX), Some(Finish::Complete));
        requests.extend(second.requests());
        let mut pages = pages_of(&requests);
        let asked = pages.len();
        pages.dedup();
        assert_eq!(pages, all_pages(), "stopped at request {stop}");
        repeated += asked - pages.len();
        drop(second);
        let reader = Reader::open(Disk::real(), &dir.path().join("pages")).unwrap();
        let is_copy = |url: &str| url.ends_with('/') && url != "http://h0.test/";
        for record in reader.records().map(Result::unwrap) {
            assert_eq!(record.is_external, is_copy(&record.url), "{}, stopped at request {stop}", record.url);
            assert!(record.is_external || record.is_response(), "{}", record.url);
            let external = reader.response(&record).unwrap().external;
            assert_eq!(external.map(|found| (found.url, found.date)), {
                is_copy(&record.url).then(|| ("http://old.test/".to_owned(), "2020-11-21T05:08:44Z".to_owned()))
            });
        }
    }
    assert!(repeated > 1, "no reference was met by a replay");
}

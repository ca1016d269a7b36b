//! Seeds that are requests: each is sent once and archived once, wherever the crawl is killed.

use super::*;
use crawler::container::Reader;

/// An API with three pages by POST, which name an item each; one of them has moved, and keeps its method.
struct Api;

const SEEDS: [&str; 5] = [
    "{\"url\": \"http://h0.test/api\", \"json\": {\"page\": 1}}",
    "{\"url\": \"http://h0.test/api\", \"json\": {\"page\": 2}}",
    "{\"url\": \"http://h0.test/api\", \"json\": {\"page\": 3}}",
    "{\"url\": \"http://h0.test/old\", \"json\": {\"page\": 2}}",
    "http://h0.test/api",
];

impl Web for Api {
    fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
        let request = url.request();
        let page = request.as_ref().and_then(|request| request.body().chars().find(char::is_ascii_digit));
        match (url.path(), page) {
            ("/robots.txt", _) => (200, String::new()),
            ("/api", Some(page)) => (200, body(&[format!("/item/{page}")])),
            ("/api", None) => (405, String::new()),
            _ => (200, format!("<p>{}</p>", url.path())),
        }
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        if job.url.path() == "/old" {
            let headers = vec![("location", "/api".to_owned())];
            return Ok(Reply { status: 307, headers, body: Vec::new() });
        }
        let (status, body) = self.answer(&job.url, now);
        Ok(Reply { status, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
    }

    fn seeds(&self) -> Vec<String> {
        SEEDS.map(str::to_owned).to_vec()
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        // so that everything is replayed
        settings.checkpoint_interval = Duration::from_secs(3_600);
    }
}

fn opened(dir: &Path, start: Time) -> Run {
    let mut run = open_without_seeds(Rc::new(Api), dir, start);
    run.engine.seeder().admit_listed();
    run
}

/// Spellings of what is archived, with how often each is.
fn archived(dir: &Path) -> BTreeMap<String, usize> {
    let reader = Reader::open(Disk::real(), &dir.join("pages")).unwrap();
    let mut found = BTreeMap::new();
    for record in reader.records().map(Result::unwrap).filter(|record| !record.robots) {
        *found.entry(record.url).or_default() += 1;
    }
    found
}

#[test]
fn each_request_is_archived_once_wherever_the_crawl_is_killed() {
    let start = Time::from_ms(1_000_000_000_000);
    let calm = tempfile::tempdir().unwrap();
    let mut whole = opened(calm.path(), start);
    assert_eq!(whole.go(usize::MAX), Some(Finish::Complete));
    let requests = whole.requests().len();
    drop(whole);
    let expected = archived(calm.path());
    let of_api = expected.keys().filter(|url| url.starts_with("http://h0.test/api#~POST&")).count();
    // the one that has moved is the request that was listed, too
    assert_eq!((of_api, expected.len()), (3, 3 + 1 + 1 + 3), "{expected:?}");
    assert!(expected.values().all(|&times| times == 1), "{expected:?}");
    for stop in 1..=requests {
        let dir = tempfile::tempdir().unwrap();
        let mut first = opened(dir.path(), start);
        assert_eq!(first.go(stop), None);
        let now = first.clock.now();
        drop(first);
        let before = archived(dir.path());
        let mut second = opened(dir.path(), now);
        assert_eq!(second.go(usize::MAX), Some(Finish::Complete));
        let again: Vec<String> = second.requests().into_iter().map(|(_, url)| url).collect();
        let repeated = again.iter().find(|url| before.contains_key(*url));
        assert_eq!(repeated, None, "stopped at request {stop}");
        drop(second);
        assert_eq!(archived(dir.path()), expected, "stopped at request {stop}");
    }
}

//! A whole crawl, over kills, and what came of it.

use super::*;

const START: Time = Time::from_ms(1_000_000_000_000);

/// The requests of a crawl apart from robots.txt, in the order of the URLs, without `http://`, with its figures and the
/// paths of discovery.
pub struct Crawled {
    pub asked: Vec<String>,
    pub statistics: crawler::record::Statistics,
    pub hops: BTreeMap<String, String>,
    pub skipped: String,
}

impl Crawled {
    /// Crawls `web`, dropped as it is whenever this many requests were made in all.
    pub fn new<W: Web + Clone + 'static>(web: &W, kills: &[usize]) -> Crawled {
        let dir = tempfile::tempdir().unwrap();
        let (mut requests, mut now) = (Vec::new(), START);
        for kill in kills.iter().copied().map(Some).chain([None]) {
            let mut run = open_at(Rc::new(web.clone()), dir.path(), now);
            let before = requests.len();
            let finish = run.go(kill.map_or(usize::MAX, |kill| kill - before));
            requests.extend(run.requests());
            now = run.clock.now();
            if finish.is_some() {
                let log = std::fs::read_to_string(dir.path().join("logs/crawl.log")).unwrap();
                let hops = log.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
                return Crawled {
                    asked: asked(&requests),
                    statistics: run.engine.figures().statistics(),
                    hops: hops.map(|columns| (short(columns[3]), columns[4].to_owned())).collect(),
                    skipped: std::fs::read_to_string(SkippedLog::path(dir.path())).unwrap(),
                };
            }
        }
        unreachable!("the last run goes to the end")
    }
}

fn short(url: &str) -> String {
    url.strip_prefix("http://").unwrap().to_owned()
}

fn asked(requests: &[(Time, String)]) -> Vec<String> {
    let mut pages: Vec<String> = pages_of(requests).iter().map(|url| short(url)).collect();
    pages.dedup();
    pages
}

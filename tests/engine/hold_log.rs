//! The rest that an overloaded host asks for is kept to over a kill, also when no checkpoint came after it.

use super::*;
use crawler::contract;

const START: Time = Time::from_ms(1_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// One host that is overloaded when it is asked for `/busy` the first time.
struct Busy;

impl Web for Busy {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        match url.path() {
            "/robots.txt" => (404, String::new()),
            "/" => (200, body(&["/busy".to_owned()])),
            _ if now < START + HOUR / 2 => (503, String::new()),
            _ => (200, String::new()),
        }
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let (status, body) = self.answer(&job.url, now);
        let mut headers = vec![("content-type", "text/html".to_owned())];
        headers.extend((status == 503).then(|| ("retry-after", "3600".to_owned())));
        Ok(Reply { status, headers, body: body.into_bytes() })
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        // none but the last checkpoint
        settings.checkpoint_interval = HOUR * 10;
    }
}

#[test]
fn a_retry_after_of_an_hour_is_kept_to_over_kills_without_a_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let is_busy = |run: &Run| {
        let record = run.record.borrow();
        record.requests.iter().any(|(_, url)| url.ends_with("/busy"))
            && !record.events.iter().any(|(_, event)| matches!(event, Event::Reply(contract::Reply::Page(_))))
    };
    let mut run = open_at(Rc::new(Busy), dir.path(), START);
    assert_eq!(run.go_until(is_busy), None);
    // one more look, in which the log is written
    run.engine.pump().unwrap();
    let (asked, _) = run.requests().last().cloned().unwrap();
    let mut now = run.clock.now();
    drop(run);
    for _ in 0..3 {
        let mut run = open_at(Rc::new(Busy), dir.path(), now);
        run.clock.advance(HOUR / 5);
        run.engine.pump().unwrap();
        assert!(run.requests().is_empty(), "the host rests for an hour: {:?}", run.requests());
        now = run.clock.now();
    }
    let mut run = open_at(Rc::new(Busy), dir.path(), now);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let (again, url) = run.requests().last().cloned().unwrap();
    assert!(url.ends_with("/busy") && again.since(asked) >= HOUR, "{:?}", run.requests());
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("rests.")), "{left:?}");
}

//! Reports of a crawl that fetches its pages again: the figures of its calendar, what limits it while nothing is due,
//! and the lines of its log.

use super::*;
use crawler::calendar::{Bounds, Mode, ScheduleOptions, WheelOptions};
use crawler::record::{Bottleneck, CalendarFigures, ReadLine, Snapshot};

const START: Time = Time::from_ms(1_700_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// A front page that stays as it is and says 304; it links to `/news`, which is another one every three hours, and to
/// `/gone`, which is there in the first hour.
struct Edited {
    until_fresh: bool,
}

impl Web for Edited {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond answers")
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let mut headers = vec![("content-type", "text/html".to_owned())];
        let hours = now.since(START).as_secs() / 3_600;
        let (status, body) = match job.url.path() {
            "/robots.txt" => (404, String::new()),
            "/news" => (200, format!("<p>edition {}</p>{}", hours / 3, "news ".repeat(100))),
            "/gone" if hours == 0 => (200, "not for long ".repeat(100)),
            "/gone" => (404, String::new()),
            _ => {
                headers.push(("etag", "\"front\"".to_owned()));
                let body = body(&["/news".to_owned(), "/gone".to_owned()]) + &" ".repeat(2_000);
                if job.condition.is_some() { (304, String::new()) } else { (200, body) }
            }
        };
        Ok(Reply { status, headers, body: body.into_bytes() })
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
    }

    fn recrawl(&self) -> Option<RecrawlOptions> {
        let bounds = Bounds { min: HOUR, max: HOUR * 24 };
        Some(RecrawlOptions {
            schedule: ScheduleOptions { mode: Mode::Fixed { interval: HOUR }, bounds, maps: bounds, rules: Vec::new() },
            wheel: WheelOptions::default(),
            by_text: false,
            is_on: true,
            until_fresh: self.until_fresh,
        })
    }
}

fn figures(run: &mut Run) -> CalendarFigures {
    run.engine.figures().gauges().calendar.expect("it fetches pages again")
}

#[test]
fn a_crawl_that_fetches_pages_again_tells_what_is_due_and_what_its_visits_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Edited { until_fresh: false }), dir.path(), START);
    let is_idle = |run: &Run| {
        let record = run.record.borrow();
        record.requests.len() >= 4 && record.events.is_empty()
    };
    assert_eq!(run.go_until(is_idle), None);
    run.clock.advance(HOUR / 2);
    run.engine.pump().unwrap();
    let first = figures(&mut run);
    assert_eq!((first.is_on, first.pages, first.due_now, first.due_today), (true, 3, 0, 3), "{first:?}");
    assert_eq!((first.visits.visits, first.late_ms), (0, 0));
    let next = Duration::from_millis(first.next_due_ms.unwrap());
    let due = run.clock.now() + next;
    assert!(due >= START + HOUR * 9 / 10 && due <= START + HOUR * 11 / 10 + Duration::from_secs(60), "{due:?}");
    assert_eq!(Bottleneck::of(run.engine.figures().doing(), &run.engine.figures().gauges()), Bottleneck::Calendar);
    assert_eq!(run.go_until(|run| run.clock.now() >= START + HOUR * 24), None);
    let later = figures(&mut run);
    let visits = later.visits;
    assert_eq!(visits.visits, visits.same + visits.changed + visits.missing + visits.unanswered, "{visits:?}");
    assert!((20..=26).contains(&visits.not_modified), "{visits:?}");
    assert!((6..=8).contains(&visits.changed) && visits.same > visits.not_modified, "{visits:?}");
    assert!(visits.missing >= 1 && visits.unanswered == 0 && visits.ended == 0, "{visits:?}");
    assert!(visits.not_modified_bytes > visits.not_modified * 2_000, "{visits:?}");
    assert!((1..=3).contains(&later.pages), "some may be queued at this moment: {later:?}");
    let freshness = later.freshness.unwrap();
    assert!((0.1..1.0).contains(&freshness), "{later:?}");
    assert!(later.mean_age_ms.unwrap() > 0 && later.lag_ms < 120_000 && later.stretch < 1.2, "{later:?}");
    drop(run);
    let log = std::fs::read_to_string(CrawlLog::path(dir.path())).unwrap();
    let lines = |path: &str, note: &str| {
        let lines = log.lines().filter_map(|line| ReadLine::parse(line.as_bytes()));
        let of_path = lines.filter(|line| line.url == format!("http://h0.test{path}"));
        of_path.filter(|line| line.has_note(note)).count()
    };
    assert!(lines("/news", "changed") >= 6 && lines("/news", "same") > 6, "{log}");
    assert!(lines("/", "same") >= 20 && lines("/", "changed") == 0, "{log}");
    assert!(lines("/gone", "missing") >= 1, "{log}");
}

#[test]
fn figures_of_the_calendar_go_on_after_a_run_until_nothing_was_due() {
    let dir = tempfile::tempdir().unwrap();
    let web = || Rc::new(Edited { until_fresh: true });
    let mut now = START;
    let mut visits = 0;
    for round in 0..4 {
        let mut run = open_at(web(), dir.path(), now);
        let before = figures(&mut run);
        assert_eq!(before.visits.visits, visits, "round {round}");
        assert_eq!(before.freshness.is_some(), round > 0);
        assert_eq!(run.go(usize::MAX), Some(Finish::Fresh));
        let after = figures(&mut run);
        assert_eq!((after.due_now, after.pages), (0, 3), "round {round}: {after:?}");
        assert!(after.visits.visits >= visits + if round == 0 { 0 } else { 2 }, "round {round}: {after:?}");
        visits = after.visits.visits;
        let stored = Snapshot::read(&Disk::real(), dir.path()).unwrap().unwrap();
        assert_eq!(stored.gauges.calendar.unwrap().visits, after.visits);
        now = run.clock.now() + HOUR * 5;
    }
}

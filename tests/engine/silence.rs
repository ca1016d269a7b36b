//! Hosts that never answer: the crawl ends without them after a while, and asks them at once when it is started again.

use super::*;

const START: Time = Time::from_ms(1_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// `h0.test` names pages of `h1.test`, which is silent up to a time; or is overloaded all day, where it `answers`.
#[derive(Clone, Copy)]
struct Dead {
    until: Time,
    answers: bool,
    pages: usize,
    /// Bad answers are asked for again at the start.
    force: bool,
}

const DEAD: Dead = Dead { until: Time::MAX, answers: false, pages: 1, force: false };

impl Web for Dead {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        match (url.host(), url.path()) {
            ("h1.test", _) if now < self.until => (503, String::new()),
            (_, "/robots.txt") => (404, String::new()),
            ("h0.test", "/") => {
                (200, body(&(0..self.pages).map(|page| format!("http://h1.test/{page}")).collect::<Vec<_>>()))
            }
            _ => (200, String::new()),
        }
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        if job.url.host() == "h1.test" && now < self.until && !self.answers {
            return Err(Failure::Connect);
        }
        let (status, body) = self.answer(&job.url, now);
        Ok(Reply { status, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
    }

    fn names(&self) -> (bool, String) {
        (self.force, String::new())
    }
}

fn asked(run: &Run, host: &str) -> Vec<Time> {
    run.requests().iter().filter(|(_, url)| url.contains(host)).map(|(at, _)| *at).collect()
}

#[test]
fn n12_a_crawl_ends_when_only_hosts_are_left_that_never_answered_and_asks_them_at_once_again() {
    for (pages, is_killed) in [(1, false), (1, true), (100, false)] {
        let dir = tempfile::tempdir().unwrap();
        let mut run = open_at(Rc::new(Dead { pages, ..DEAD }), dir.path(), START);
        assert_eq!(run.go(usize::MAX), Some(Finish::OnlySilentHosts));
        let took = run.clock.now().since(START);
        assert!((MINUTE * 10..MINUTE * 16).contains(&took), "{took:?}");
        let gauges = run.engine.figures().gauges();
        assert_eq!(gauges.queued, pages as u64);
        let resting = gauges.resting.unwrap();
        assert!(resting.is_all && resting.longest[0].host == "http://h1.test", "{resting:?}");
        assert_eq!(resting.longest[0].why, "no connection");
        let last = *asked(&run, "h1.test").last().unwrap();
        let now = run.clock.now();
        drop(run);
        // long before its last rest would have ended
        assert!(now.since(last) < MINUTE * 10, "{:?}", now.since(last));
        let mut run = open_at(Rc::new(Dead { pages, until: now, ..DEAD }), dir.path(), now);
        assert_eq!(run.past, Past::Stopped(Finish::OnlySilentHosts));
        if is_killed {
            drop(run);
            run = open_at(Rc::new(Dead { pages, until: now, ..DEAD }), dir.path(), now);
            assert_eq!(run.past, Past::Killed);
        }
        assert_eq!(run.go_until(|run| !asked(run, "h1.test").is_empty()), None);
        assert!(run.clock.now().since(now) < MINUTE, "{:?}", run.clock.now().since(now));
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        assert_eq!(asked(&run, "h1.test").len(), pages + 1);
    }
}

#[test]
fn n12_a_host_that_answers_that_it_is_overloaded_is_waited_for_as_long_as_it_takes() {
    let dir = tempfile::tempdir().unwrap();
    let until = START + MINUTE * 60;
    let web = Dead { answers: true, until, ..DEAD };
    let mut run = open_at(Rc::new(web), dir.path(), START);
    let in_the_middle = START + MINUTE * 30;
    assert_eq!(run.go_until(|run| run.clock.now() >= in_the_middle), None);
    let resting = run.engine.figures().gauges().resting.unwrap();
    assert!(resting.is_all && resting.ends.is_none(), "{resting:?}");
    assert_eq!(resting.longest[0].why, "robots.txt is answered with 503");
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    assert!(run.clock.now() >= until);
}

#[test]
fn n12_a_host_that_never_answers_is_given_up_after_a_day_while_there_is_other_work() {
    /// A keeper has a page an hour.
    struct Busy;
    impl Web for Busy {
        fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
            let page: usize = url.path().trim_start_matches('/').parse().unwrap_or(0);
            match url.path() {
                "/robots.txt" => (200, "User-agent: *\nCrawl-delay: 1800\n".to_owned()),
                _ if page < 60 => (200, body(&[format!("/{}", page + 1), "http://h1.test/".to_owned()])),
                _ => (200, String::new()),
            }
        }
        fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
            if job.url.host() == "h1.test" {
                return Err(Failure::Connect);
            }
            let (status, body) = self.answer(&job.url, now);
            Ok(Reply { status, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
        }
        fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
            settings.checkpoint_interval = MINUTE * 60;
            settings.robots_cache = MINUTE * 60 * 24 * 7;
            frontier.politeness.crawl_delay_max = MINUTE * 30;
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Busy), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let attempts = asked(&run, "h1.test");
    assert!(attempts.last().unwrap().since(attempts[0]) >= MINUTE * 60 * 20, "{attempts:?}");
    assert_eq!(run.engine.figures().statistics().dropped.values().sum::<u64>(), 1);
}

#[test]
fn n16_a_name_that_did_not_exist_is_asked_for_again_where_the_operator_wants_it() {
    /// `h1.test` has no name up to a time.
    #[derive(Clone, Copy)]
    struct Nameless {
        until: Time,
        names: (bool, &'static str),
    }
    impl Web for Nameless {
        fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
            (if url.path() == "/robots.txt" { 404 } else { 200 }, String::new())
        }
        fn resolve(&self, name: &str, now: Time) -> Result<Duration, Failure> {
            if name == "h1.test" && now < self.until { Err(Failure::NoSuchHost) } else { Ok(MINUTE) }
        }
        fn names(&self) -> (bool, String) {
            (self.names.0, self.names.1.to_owned())
        }
        fn seeds(&self) -> Vec<String> {
            vec!["http://h1.test/".to_owned()]
        }
    }
    let seed = crawler::web::seeds::parse_seeds(b"http://h1.test/").0;
    let cases = [((false, "a"), 0), ((true, "a"), 1), ((false, "b"), 1)];
    // a checkpoint knows by which settings names were asked for
    for (names, again) in cases {
        let dir = tempfile::tempdir().unwrap();
        let web = Nameless { until: Time::MAX, names: (false, "a") };
        let mut run = open_without_seeds(Rc::new(web), dir.path(), START);
        run.engine.seeder().admit_seed(&seed[0].url, None).unwrap();
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        // the answer holds for minutes yet
        let now = run.clock.now();
        drop(run);
        let mut run = open_without_seeds(Rc::new(Nameless { until: now, names }), dir.path(), now);
        let put = match names.0 {
            true => run.engine.seeder().refetch(&seed).unwrap().seeds,
            false => run.engine.seeder().refetch_unresolved().unwrap() as u64,
        };
        assert_eq!(put, again, "{names:?}");
        run.engine.seeder().admit_seed(&seed[0].url, None).unwrap();
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        assert_eq!(run.engine.figures().statistics().pages_stored, again, "{names:?}");
        // what was found out by other settings is not doubted once more
        let now = run.clock.now();
        drop(run);
        let web = Nameless { until: now, names: (false, names.1) };
        let mut run = open_without_seeds(Rc::new(web), dir.path(), now);
        assert_eq!(run.engine.seeder().refetch_unresolved().unwrap(), 0);
    }
}

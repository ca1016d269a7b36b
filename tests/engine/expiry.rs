//! Answers with expiry: what is known of a name or a robots.txt counts for its time, over the departure of its host
//! from memory and over a kill, and is asked for again after it.
//!
//! A keeper, `h0.test`, goes on for half an hour, a page a step; its pages name the URLs of the story at their times.
//! Page n comes after n + 1 steps, and each kill costs another.

use super::*;
use crawler::contract;

const START: Time = Time::from_ms(1_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
/// Pages of the keeper.
const STEPS: u32 = 60;
const STEP: Duration = Duration::from_secs(30);

/// A story, told by the time since its start.
#[derive(Clone)]
struct Story {
    /// Time between two pages of the keeper.
    step: Duration,
    /// Hosts in memory: with two, whoever has nothing to do leaves for the next.
    hosts: usize,
    /// Links of the keeper's pages, each with the step of its page.
    links: &'static [(u32, &'static str)],
    /// Status and text of a robots.txt.
    robots: fn(&str, Duration) -> (u16, &'static str),
    /// The name servers' answer.
    names: fn(&str, Duration) -> Result<Duration, Failure>,
}

const PLAIN: Story =
    Story { step: STEP, hosts: 2, links: &[], robots: |_, _| (200, ""), names: |_, _| Ok(MINUTE * 60) };

impl Web for Story {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        let is_keeper = url.host() == "h0.test";
        if url.path() == "/robots.txt" {
            let delay = format!("User-agent: *\nCrawl-delay: {}\n", self.step.as_secs());
            let (status, text) = (self.robots)(url.host(), now.since(START));
            return (status, if is_keeper { delay } else { text.to_owned() });
        }
        if !is_keeper {
            return (200, String::new());
        }
        let step: u32 = url.path().trim_start_matches('/').parse().unwrap_or(0);
        let mut links: Vec<String> =
            self.links.iter().filter(|&&(at, _)| at == step).map(|(_, link)| format!("http://{link}")).collect();
        if step < STEPS {
            links.push(format!("/{}", step + 1));
        }
        (200, body(&links))
    }

    fn resolve(&self, name: &str, now: Time) -> Result<Duration, Failure> {
        (self.names)(name, now.since(START))
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = MINUTE;
        settings.robots_cache = MINUTE * 10;
        settings.negative_ttl = MINUTE * 10;
        frontier.active_hosts = self.hosts;
    }
}

/// The moment at which the crawl is dropped as it is, and opened again.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// This long after the start, or at the first moment after it at which something happens.
    At(Duration),
    /// The moment when this URL has been asked for and everything is answered.
    Answered(&'static str),
    /// This long after the start, and meanwhile the clock is set back by the second.
    SetBack(Duration, Duration),
}

impl Kill {
    fn is_due(self, run: &Run) -> bool {
        match self {
            Kill::At(time) | Kill::SetBack(time, _) => run.clock.now() >= START + time,
            Kill::Answered(url) => {
                let record = run.record.borrow();
                let is_page = |(_, event): &(Time, Event)| matches!(event, Event::Reply(contract::Reply::Page(_)));
                record.requests.iter().any(|(_, asked)| asked == url) && !record.events.iter().any(is_page)
            }
        }
    }
}

/// The record of a crawl.
struct Recorded {
    requests: Vec<(Time, String)>,
    resolved: Vec<(Time, String)>,
    skipped: String,
    statistics: crawler::record::Statistics,
}

/// Tells the story to its end.
fn tell(story: &Story, kills: &[Kill]) -> Recorded {
    let dir = tempfile::tempdir().unwrap();
    let mut recorded =
        Recorded { requests: Vec::new(), resolved: Vec::new(), skipped: String::new(), statistics: Default::default() };
    let mut now = START;
    for kill in kills.iter().copied().map(Some).chain([None]) {
        let mut run = open_at(Rc::new(story.clone()), dir.path(), now);
        let finish = run.go_until(|run| kill.is_some_and(|kill| kill.is_due(run)));
        assert_eq!(finish, kill.is_none().then_some(Finish::Complete));
        let record = run.record.borrow();
        recorded.requests.extend(record.requests.iter().cloned());
        recorded.resolved.extend(record.resolved.iter().cloned());
        drop(record);
        recorded.statistics = run.engine.figures().statistics();
        now = run.clock.now();
        if let Some(Kill::SetBack(_, by)) = kill {
            now = now - by;
        }
    }
    recorded.skipped = std::fs::read_to_string(SkippedLog::path(dir.path())).unwrap();
    recorded
}

impl Recorded {
    /// Returns the times since the start at which `url` was asked for.
    fn asked(&self, url: &str) -> Vec<Duration> {
        self.requests.iter().filter(|(_, asked)| asked == url).map(|(at, _)| at.since(START)).collect()
    }

    /// Returns the times since the start at which `name` was resolved.
    fn resolved(&self, name: &str) -> Vec<Duration> {
        self.resolved.iter().filter(|(_, asked)| asked == name).map(|(at, _)| at.since(START)).collect()
    }

    fn skipped(&self, url: &str, reason: &str) -> usize {
        let line = format!("{{\"url\":\"{url}\",\"reason\":\"{reason}\"");
        self.skipped.lines().filter(|found| found.starts_with(&line)).count()
    }
}

#[test]
fn a_name_that_does_not_exist_is_resolved_again_only_when_that_answer_has_expired() {
    let story = Story {
        links: &[
            (2, "gone.test/a"),
            (4, "filler.test/1"),
            // five minutes: the host has left memory, and two of the origins are met for the first time
            (10, "gone.test/b"),
            (10, "gone.test:8080/c"),
            (10, "gone.test:8081/d"),
            (14, "filler.test/2"),
            // sixteen minutes: the answer has expired
            (32, "gone.test/e"),
            (32, "gone.test:8080/f"),
        ],
        names: |name, after| match name {
            "gone.test" if after < MINUTE * 15 => Err(Failure::NoSuchHost),
            _ => Ok(MINUTE * 60),
        },
        ..PLAIN
    };
    for kills in [&[][..], &[Kill::At(MINUTE * 4), Kill::At(MINUTE * 7)]] {
        let recorded = tell(&story, kills);
        let resolved = recorded.resolved("gone.test");
        assert!(resolved[0] < MINUTE * 2, "{resolved:?}");
        assert!(resolved.len() > 1 && resolved[1..].iter().all(|&at| at >= MINUTE * 16), "{resolved:?}");
        for url in ["http://gone.test/a", "http://gone.test/b", "http://gone.test:8080/c", "http://gone.test:8081/d"] {
            assert_eq!(recorded.skipped(url, "host given up"), 1, "{url} in {}", recorded.skipped);
            assert!(recorded.asked(url).is_empty(), "{url}");
        }
        for url in ["http://gone.test/e", "http://gone.test:8080/f"] {
            assert_eq!(recorded.asked(url).len(), 1, "{url}");
        }
        assert_eq!(recorded.statistics.dns_failed, 1);
        assert_eq!(recorded.statistics.dropped_total(), 4);
    }
}

#[test]
fn private_addresses_are_remembered_like_a_name_that_does_not_exist() {
    let story = Story {
        links: &[(2, "gone.test/a"), (10, "gone.test:8080/b"), (32, "gone.test:8081/c")],
        names: |name, _| if name == "gone.test" { Err(Failure::PrivateAddress) } else { Ok(MINUTE * 60) },
        ..PLAIN
    };
    for kills in [&[][..], &[Kill::At(MINUTE * 4)]] {
        let recorded = tell(&story, kills);
        let resolved = recorded.resolved("gone.test");
        assert_eq!(resolved.len(), 2, "{resolved:?}");
        assert!(resolved[1] >= MINUTE * 16, "{resolved:?}");
        for url in ["http://gone.test/a", "http://gone.test:8080/b", "http://gone.test:8081/c"] {
            assert_eq!(recorded.skipped(url, "private address"), 1, "{url} in {}", recorded.skipped);
        }
    }
}

#[test]
fn name_servers_that_fail_are_asked_again_when_their_host_may_be() {
    let story = Story {
        step: Duration::from_secs(4),
        hosts: 9,
        links: &[(2, "slow.test/a"), (3, "slow.test:81/b")],
        names: |name, after| match name {
            "slow.test" if after < Duration::from_secs(15) => Err(Failure::Dns),
            _ => Ok(MINUTE * 60),
        },
        ..PLAIN
    };
    let recorded = tell(&story, &[]);
    let resolved = recorded.resolved("slow.test");
    let pause = resolved[1] - resolved[0];
    assert!((Duration::from_secs(10)..Duration::from_secs(12)).contains(&pause), "{resolved:?}");
    assert_eq!(recorded.asked("http://slow.test/a").len(), 1);
    assert_eq!(recorded.asked("http://slow.test:81/b").len(), 1);
}

#[test]
fn an_origin_whose_robots_txt_cannot_be_had_is_asked_for_it_again_only_after_its_time_and_for_no_page_before() {
    let story = Story {
        links: &[(2, "sick.test/a"), (6, "sick.test/b"), (8, "filler.test/"), (16, "sick.test/c")],
        robots: |host, after| match host {
            "sick.test" if after < MINUTE * 10 => (503, ""),
            _ => (200, ""),
        },
        ..PLAIN
    };
    // when the answer is in the archive and in no checkpoint
    let at_once = Kill::Answered("http://sick.test/robots.txt");
    for kills in [&[][..], &[at_once], &[Kill::At(MINUTE * 2), Kill::At(MINUTE * 8)]] {
        let recorded = tell(&story, kills);
        let asked = recorded.asked("http://sick.test/robots.txt");
        let pauses: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(asked.len(), 3, "{kills:?}: {asked:?}");
        assert!(asked[0] < MINUTE * 2, "{asked:?}");
        assert!(pauses[0] >= MINUTE * 5 && pauses[1] >= MINUTE * 10, "{kills:?}: {pauses:?}");
        for url in ["http://sick.test/a", "http://sick.test/b", "http://sick.test/c"] {
            let fetched = recorded.asked(url);
            assert!(fetched.len() == 1 && fetched[0] > asked[2], "{url} at {fetched:?}, {asked:?}");
        }
        assert_eq!(recorded.statistics.dropped_total(), 0);
    }
}

#[test]
fn rules_and_addresses_that_expired_are_replaced_before_the_next_page() {
    let story = Story {
        links: &[
            (2, "calm.test/1"),
            (2, "calm.test/old/1"),
            (2, "calm.test/new/1"),
            // six minutes: the addresses have expired, the rules have not
            (12, "calm.test/old/2"),
            (12, "calm.test/new/2"),
            (14, "filler.test/"),
            // fifteen minutes: both have
            (30, "calm.test/old/3"),
            (30, "calm.test/new/3"),
        ],
        robots: |host, after| match host {
            "calm.test" if after < MINUTE * 5 => (200, "User-agent: *\nDisallow: /old\n"),
            "calm.test" => (200, "User-agent: *\nDisallow: /new\n"),
            _ => (200, ""),
        },
        names: |name, _| Ok(if name == "calm.test" { MINUTE * 4 } else { MINUTE * 60 }),
        ..PLAIN
    };
    for kills in [&[][..], &[3, 8, 14].map(|minutes| Kill::At(MINUTE * minutes))] {
        let recorded = tell(&story, kills);
        let pages: Vec<_> = recorded
            .requests
            .iter()
            .map(|(_, url)| url.as_str())
            .filter(|url| url.starts_with("http://calm.test/"))
            .map(|url| url.trim_start_matches("http://calm.test/"))
            .collect();
        let mut early = pages[1..pages.len() - 3].to_vec();
        early.sort_unstable();
        assert_eq!((pages[0], early), ("robots.txt", vec!["1", "new/1"]), "{kills:?}: {pages:?}");
        assert_eq!(pages[pages.len() - 3..], ["new/2", "robots.txt", "old/3"], "{kills:?}");
        for path in ["old/1", "old/2", "new/3"] {
            assert_eq!(recorded.skipped(&format!("http://calm.test/{path}"), "robots.txt"), 1, "{path}");
        }
        let resolved = recorded.resolved("calm.test");
        assert_eq!(resolved.len(), 3, "{kills:?}: {resolved:?}");
        for (at, minutes) in resolved.iter().zip([1..2, 6..8, 15..20]) {
            assert!(minutes.contains(&(at.as_secs() / 60)), "{kills:?}: {resolved:?}");
        }
    }
}

#[test]
fn nothing_that_was_learnt_before_the_clock_was_set_back_is_believed() {
    let story = Story {
        links: &[(2, "gone.test/a"), (2, "calm.test/1"), (10, "gone.test:8080/b"), (10, "calm.test/2")],
        names: |name, _| if name == "gone.test" { Err(Failure::NoSuchHost) } else { Ok(MINUTE * 60) },
        ..PLAIN
    };
    let counts = |kill| {
        let recorded = tell(&story, &[kill]);
        assert_eq!(recorded.statistics.dropped_total(), 2);
        assert_eq!((recorded.asked("http://calm.test/1").len(), recorded.asked("http://calm.test/2").len()), (1, 1));
        let asked = recorded.asked("http://calm.test/robots.txt").len();
        (recorded.resolved("gone.test").len(), recorded.resolved("calm.test").len(), asked)
    };
    assert_eq!(counts(Kill::At(MINUTE * 3)), (1, 1, 1));
    let month = MINUTE * 60 * 24 * 30;
    assert_eq!(counts(Kill::SetBack(MINUTE * 3, month)), (2, 2, 2));
}

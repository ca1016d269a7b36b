//! robots.txt by RFC 9309 in the engine: what follows from each answer, for how long, and for whom.

use crawler::outcome::Reason;

use super::*;

const START: Time = Time::from_ms(1_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const RULES: &str = "User-agent: *\nDisallow: /no\n";

type Answer = Result<Reply, Failure>;

/// A web of answers by URL and by the time since the start.
#[derive(Clone, Copy)]
struct ScriptedWeb {
    answer: fn(&str, Duration) -> Answer,
    crawl_delay_max: Duration,
    skip_beyond: bool,
    give_up: Duration,
}

impl ScriptedWeb {
    fn new(answer: fn(&str, Duration) -> Answer) -> Self {
        ScriptedWeb { answer, crawl_delay_max: MINUTE * 5, skip_beyond: false, give_up: HOUR * 24 }
    }
}

impl Web for ScriptedWeb {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond says it all")
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Answer {
        (self.answer)(job.url.as_str().strip_prefix("http://").unwrap(), now.since(START))
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.checkpoint_interval = HOUR;
        frontier.politeness.crawl_delay_max = self.crawl_delay_max;
        frontier.politeness.skip_beyond = self.skip_beyond;
        frontier.give_up = self.give_up;
        // hosts of which nothing was ever heard are waited for as long as others
        settings.linger = self.give_up * 2;
    }
}

fn status(status: u16) -> Answer {
    text(status, "")
}

fn text(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type", "text/plain".to_owned())];
    Ok(Reply { status, headers, body: body.as_bytes().to_vec() })
}

fn page(links: &[&str]) -> Answer {
    let body = body(&links.iter().map(|&link| link.to_owned()).collect::<Vec<_>>());
    Ok(Reply { status: 200, headers: vec![("content-type", "text/html".to_owned())], body: body.into_bytes() })
}

fn with(answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.map(|mut reply| {
        reply.headers.push((name, value.to_owned()));
        reply
    })
}

fn moved(to: &str) -> Answer {
    with(status(301), "location", to)
}

/// The record of a crawl.
struct Crawled {
    /// Every request, by the time since the start, without `http://`.
    requests: Vec<(Duration, String)>,
    dropped: BTreeMap<Reason, u64>,
    statistics: crawler::record::Statistics,
    /// The closing lines about sites that show less to a crawler.
    oddities: Vec<(String, String)>,
    crawl_log: String,
    skipped: String,
}

impl Crawled {
    fn pages(&self) -> Vec<&str> {
        self.requests.iter().map(|(_, url)| url.as_str()).filter(|url| !url.ends_with("/robots.txt")).collect()
    }

    fn times_of(&self, url: &str) -> Vec<Duration> {
        self.requests.iter().filter(|(_, asked)| asked == url).map(|&(at, _)| at).collect()
    }
}

fn crawl(web: ScriptedWeb) -> Crawled {
    crawl_with_kills(web, &[])
}

/// Goes like [`crawl`], but is dropped as it is when this many requests were made in all and everything is answered.
fn crawl_with_kills(web: ScriptedWeb, kills: &[usize]) -> Crawled {
    let dir = tempfile::tempdir().unwrap();
    let (mut requests, mut now) = (Vec::new(), START);
    for kill in kills.iter().copied().map(Some).chain([None]) {
        let mut run = open_at(Rc::new(web), dir.path(), now);
        let before = requests.len();
        let finish = run.go_until(|run| {
            let record = run.record.borrow();
            kill.is_some_and(|kill| before + record.requests.len() >= kill) && record.events.is_empty()
        });
        requests.extend(run.requests());
        now = run.clock.now();
        if finish.is_some() {
            let statistics = run.engine.figures().statistics();
            let short = |(at, url): &(Time, String)| (at.since(START), url.strip_prefix("http://").unwrap().to_owned());
            let requests = requests.iter().map(short).collect();
            let read = |name: &str| std::fs::read_to_string(dir.path().join("logs").join(name)).unwrap();
            let (crawl_log, skipped) = (read("crawl.log"), read("skipped.jsonl"));
            let oddities = run.engine.figures().oddities().rows().collect();
            return Crawled { requests, dropped: statistics.dropped.clone(), statistics, oddities, crawl_log, skipped };
        }
    }
    unreachable!("the last run goes to the end")
}

#[test]
fn r8_five_redirects_across_hosts_are_followed_and_the_rules_hold_for_the_first_origin() {
    let web = ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => moved("http://h1.test/robots.txt"),
        "h1.test/robots.txt" => moved("/elsewhere/1"),
        "h1.test/elsewhere/1" => moved("//h2.test/2"),
        "h2.test/2" => moved("http://h3.test:8080/3"),
        "h3.test:8080/3" => moved("http://h4.test/robots.txt"),
        "h4.test/robots.txt" => text(200, RULES),
        "h0.test/" => page(&["/no", "/yes", "http://h2.test/no"]),
        "h2.test/robots.txt" => status(404),
        _ => page(&[]),
    });
    for kills in [&[][..], &[1], &[6], &[3, 7]] {
        let crawled = crawl_with_kills(web, kills);
        let mut pages = crawled.pages();
        pages.sort_unstable();
        pages.dedup();
        let hops = ["h1.test/elsewhere/1", "h2.test/2", "h2.test/no", "h3.test:8080/3"];
        assert_eq!(pages, [&["h0.test/", "h0.test/yes"][..], &hops].concat(), "killed at {kills:?}");
        assert_eq!(crawled.dropped[&Reason::Robots], 1, "killed at {kills:?}");
    }
    let crawled = crawl(web);
    assert_eq!(crawled.times_of("h4.test/robots.txt").len(), 1);
}

#[test]
fn r8_a_sixth_redirect_a_circle_and_one_to_nowhere_count_as_unavailable() {
    let six = ScriptedWeb::new(|url, _| match url {
        "h0.test/" => page(&["/no"]),
        "h0.test/no" => page(&[]),
        "h0.test/robots.txt" => moved("/r1"),
        "h0.test/r6" => text(200, RULES),
        other => moved(&format!("/r{}", other.as_bytes()[9] - b'0' + 1)),
    });
    let circle = ScriptedWeb::new(|url, _| match url {
        "h0.test/" => page(&["/no"]),
        "h0.test/no" => page(&[]),
        "h0.test/robots.txt" => moved("/circle"),
        _ => moved("/robots.txt"),
    });
    let nowhere = ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => moved("file:///etc/robots.txt"),
        "h0.test/" => page(&["/no"]),
        _ => page(&[]),
    });
    for (web, requests) in [(six, 6), (circle, 6), (nowhere, 1)] {
        let crawled = crawl(web);
        assert_eq!(crawled.requests.len(), requests + 2, "{:?}", crawled.requests);
        assert_eq!(crawled.requests[requests + 1].1, "h0.test/no");
    }
}

#[test]
fn r8_an_error_at_the_end_of_redirects_is_the_first_origins() {
    let failing = ScriptedWeb {
        give_up: MINUTE * 20,
        ..ScriptedWeb::new(|url, _| match url {
            "h0.test/robots.txt" => moved("http://h1.test/robots.txt"),
            "h1.test/robots.txt" => status(503),
            _ => page(&[]),
        })
    };
    let crawled = crawl(failing);
    assert!(crawled.pages().is_empty(), "{:?}", crawled.requests);
    assert_eq!(crawled.dropped[&Reason::HostGivenUp], 1);
    let missing = ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => moved("http://h1.test/robots.txt"),
        "h1.test/robots.txt" => status(404),
        _ => page(&[]),
    });
    assert_eq!(crawl(missing).pages(), ["h0.test/"]);
}

#[test]
fn r9_a_4xx_means_that_there_are_no_rules() {
    macro_rules! web {
        ($status:literal) => {
            ScriptedWeb::new(|url, _| if url.ends_with("/robots.txt") { text($status, RULES) } else { page(&["/no"]) })
        };
    }
    for web in [web!(400), web!(401), web!(403), web!(404), web!(410), web!(418), web!(451)] {
        let crawled = crawl(web);
        assert_eq!(crawled.pages(), ["h0.test/", "h0.test/no"]);
        assert_eq!(crawled.times_of("h0.test/robots.txt").len(), 1);
    }
}

/// robots.txt cannot be had for good: it is asked for ever less often, no page is, and after the time that is given
/// to a host its URLs are dropped.
fn assert_held_and_given_up(web: ScriptedWeb) {
    let crawled = crawl(ScriptedWeb { give_up: HOUR * 2, ..web });
    assert!(crawled.pages().is_empty(), "{:?}", crawled.requests);
    let asked = crawled.times_of("h0.test/robots.txt");
    let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses[0] >= MINUTE * 5 && pauses[0] < MINUTE * 6, "{asked:?}");
    assert!(pauses.windows(2).all(|pair| pair[1] > pair[0]), "{asked:?}");
    assert!(*asked.last().unwrap() >= HOUR * 2 && asked[asked.len() - 2] < HOUR * 2, "{asked:?}");
    assert_eq!(crawled.dropped, BTreeMap::from([(Reason::HostGivenUp, 1)]));
    assert_eq!(crawled.statistics.robots_unreachable, asked.len() as u64);
}

#[test]
fn r9_an_error_of_the_server_holds_the_host_until_it_is_given_up() {
    macro_rules! web {
        ($status:literal) => {
            ScriptedWeb::new(|url, _| if url.ends_with("/robots.txt") { status($status) } else { page(&[]) })
        };
    }
    for web in [web!(500), web!(501), web!(502), web!(503), web!(504), web!(599)] {
        assert_held_and_given_up(web);
    }
}

#[test]
fn r9_no_answer_holds_the_host_until_it_is_given_up() {
    macro_rules! web {
        ($failure:ident) => {
            ScriptedWeb::new(|url, _| if url.ends_with("/robots.txt") { Err(Failure::$failure) } else { page(&[]) })
        };
    }
    for web in [web!(Timeout), web!(TooSlow), web!(Connect), web!(Tls), web!(Disconnected), web!(Protocol), web!(Dns)] {
        assert_held_and_given_up(web);
    }
}

#[test]
fn r9_a_host_that_recovers_is_crawled_by_its_rules() {
    let web = ScriptedWeb::new(|url, after| match url {
        "h0.test/robots.txt" if after < MINUTE * 12 => Err(Failure::Timeout),
        "h0.test/robots.txt" => text(200, RULES),
        _ => page(&["/no", "/yes"]),
    });
    for kills in [&[][..], &[1], &[2]] {
        let crawled = crawl_with_kills(web, kills);
        assert_eq!(crawled.pages(), ["h0.test/", "h0.test/yes"], "{kills:?}");
        assert!(crawled.times_of("h0.test/")[0] >= MINUTE * 15, "{kills:?}");
    }
}

#[test]
fn r10_too_many_requests_is_no_leave_to_crawl() {
    let web = |answer| ScriptedWeb::new(answer);
    assert_held_and_given_up(web(|url, _| if url.ends_with("/robots.txt") { status(429) } else { page(&[]) }));
    let recovers = ScriptedWeb::new(|url, after| match url {
        "h0.test/robots.txt" if after < MINUTE => with(status(429), "retry-after", "3600"),
        "h0.test/robots.txt" => text(200, RULES),
        _ => page(&["/no"]),
    });
    // also when the answer is in no checkpoint
    for kills in [&[][..], &[1]] {
        let crawled = crawl_with_kills(recovers, kills);
        assert_eq!(crawled.pages(), ["h0.test/"], "{kills:?}");
        let asked = crawled.times_of("h0.test/robots.txt");
        assert!(asked.len() == 2 && asked[1] >= HOUR && asked[1] < HOUR + MINUTE, "{kills:?}: {asked:?}");
    }
}

#[test]
fn r10_a_short_retry_after_does_not_shorten_the_hold() {
    let crawled = crawl(ScriptedWeb::new(|url, after| match url {
        "h0.test/robots.txt" if after < MINUTE => with(status(503), "retry-after", "1"),
        "h0.test/robots.txt" => text(200, ""),
        _ => page(&[]),
    }));
    let asked = crawled.times_of("h0.test/robots.txt");
    assert!(asked.len() == 2 && asked[1] >= MINUTE * 5, "{asked:?}");
}

/// Pages that last for thirty hours, one in ten minutes; the rules change after one.
fn long_crawl(robots: fn(Duration) -> Answer) -> ScriptedWeb {
    fn next(url: &str) -> Answer {
        let number: u32 = url.rsplit('/').next().unwrap().parse().unwrap_or(0);
        let (one, other) = (format!("/{}", number + 1), format!("/old/{number}"));
        if number < 180 { page(&[&one, &other]) } else { page(&[]) }
    }
    // its own function for each, because a web is plain data
    let answer: fn(&str, Duration) -> Answer = match robots(Duration::MAX) {
        Ok(_) => |url, after| if url.ends_with("/robots.txt") { changed(after) } else { next(url) },
        Err(_) => |url, after| if url.ends_with("/robots.txt") { lost(after) } else { next(url) },
    };
    ScriptedWeb { crawl_delay_max: MINUTE * 10, ..ScriptedWeb::new(answer) }
}

fn changed(after: Duration) -> Answer {
    text(
        200,
        if after < HOUR {
            "User-agent: *\nCrawl-delay: 600\nDisallow: /old"
        } else {
            "User-agent: *\nCrawl-delay: 600"
        },
    )
}

fn lost(after: Duration) -> Answer {
    match after {
        Duration::MAX => Err(Failure::Timeout),
        after if (HOUR..HOUR * 27).contains(&after) => Err(Failure::Timeout),
        after => changed(after),
    }
}

#[test]
fn r11_rules_hold_for_a_day_and_are_fetched_again_then() {
    let crawled = crawl(long_crawl(changed));
    let asked = crawled.times_of("h0.test/robots.txt");
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1] >= HOUR * 24 && asked[1] < HOUR * 24 + MINUTE * 11, "{asked:?}");
    let first_old = crawled.requests.iter().find(|(_, url)| url.contains("/old/")).unwrap().0;
    assert!(first_old > asked[1], "the rules of the first day held until {first_old:?}");
}

#[test]
fn r11_rules_that_expired_are_not_used_while_robots_txt_is_unreachable() {
    let crawled = crawl(long_crawl(lost));
    let asked = crawled.times_of("h0.test/robots.txt");
    assert!(asked.len() > 3, "{asked:?}");
    let (expired, back) = (asked[1], *asked.last().unwrap());
    assert!(back >= HOUR * 27 && expired < HOUR * 25, "{asked:?}");
    let between =
        crawled.requests.iter().filter(|(at, url)| (expired..back).contains(at) && !url.ends_with("robots.txt"));
    assert_eq!(between.count(), 0, "a page was asked for on the word of old rules");
    assert!(crawled.requests.iter().any(|(at, url)| *at > back && url.contains("/old/")));
}

#[test]
fn r12_a_hostile_file_costs_a_crawl_no_more_than_its_size() {
    let crawled = crawl(ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => {
            let stars = format!("Disallow: /{}z\n", "*a".repeat(8_000));
            text(200, &format!("User-agent: *\n{}", stars.repeat(25)))
        }
        "h0.test/" => page(&[&format!("/{}", "a".repeat(1_900))]),
        _ => page(&[]),
    }));
    assert_eq!(crawled.pages().len(), 2);
}

#[test]
fn r15_a_crawl_delay_is_kept_capped_and_never_makes_faster() {
    macro_rules! gaps {
        ($delay:literal) => {{
            let crawled = crawl(ScriptedWeb::new(|url, _| match url {
                "h0.test/robots.txt" => text(200, concat!("User-agent: *\n", $delay)),
                "h0.test/" => page(&["/1", "/2", "/3"]),
                _ => page(&[]),
            }));
            let times: Vec<Duration> = crawled.requests.iter().map(|&(at, _)| at).collect();
            assert_eq!(times.len(), 5);
            times[1..].windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        }};
    }
    let exact = |gaps: Vec<Duration>, delay: Duration| {
        assert!(gaps.iter().all(|gap| (delay..delay + LATENCY * 3).contains(gap)), "{delay:?}: {gaps:?}");
    };
    exact(gaps!("Crawl-delay: 4.2"), Duration::from_millis(4_200));
    exact(gaps!("Request-rate: 1/30"), Duration::from_secs(30));
    exact(gaps!("Crawl-delay: 1e30"), MINUTE * 5);
    for gaps in [gaps!("Crawl-delay: 0.01"), gaps!("Crawl-delay: -7"), gaps!("Crawl-delay: NaN"), gaps!("")] {
        exact(gaps, DELAY);
    }
}

#[test]
fn r15_a_host_that_asks_for_more_than_the_cap_is_left_alone_if_so_configured() {
    let web = ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => text(200, "User-agent: *\nCrawl-delay: 20"),
        "h0.test/" => page(&["/1", "http://h1.test/"]),
        "h1.test/robots.txt" => text(200, "User-agent: *\nCrawl-delay: 3600\nDisallow: /no"),
        _ => page(&["/2", "/no"]),
    });
    let crawled = crawl(ScriptedWeb { skip_beyond: true, ..web });
    assert_eq!(crawled.pages(), ["h0.test/", "h0.test/1", "h0.test/2", "h0.test/no"]);
    assert_eq!(crawled.dropped, BTreeMap::from([(Reason::Robots, 1)]));
    assert!(crawled.skipped.contains("\"rule\":\"Crawl-delay: 3600\""), "{}", crawled.skipped);
    let crawled = crawl(web);
    assert!(crawled.pages().contains(&"h1.test/2"));
    assert!(crawled.skipped.contains("\"rule\":\"Disallow: /no\""), "{}", crawled.skipped);
}

#[test]
fn a_redirect_costs_no_depth_and_its_target_is_asked_of_its_own_robots_txt() {
    let crawled = crawl(ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => status(404),
        "h1.test/robots.txt" => text(200, RULES),
        "h0.test/" => page(&["/1", "/2"]),
        "h0.test/1" => moved("/1/moved"),
        "h0.test/1/moved" => moved("http://h1.test/yes"),
        "h0.test/2" => moved("http://h1.test/no"),
        "h1.test/yes" => page(&["/yes/linked"]),
        _ => page(&[]),
    }));
    let mut pages = crawled.pages();
    pages.sort_unstable();
    let expected = ["h0.test/", "h0.test/1", "h0.test/1/moved", "h0.test/2", "h1.test/yes", "h1.test/yes/linked"];
    assert_eq!(pages, expected);
    assert_eq!(crawled.statistics.depth_max, 2);
    assert_eq!(crawled.dropped, BTreeMap::from([(Reason::Robots, 1)]));
}

#[test]
fn every_request_for_robots_txt_has_a_line_in_crawl_log() {
    let crawled = crawl(ScriptedWeb::new(|url, at| match url {
        "h0.test/robots.txt" => moved("/rules"),
        "h0.test/rules" => text(200, RULES),
        "h0.test/" => page(&["http://h1.test/"]),
        "h1.test/robots.txt" if at < MINUTE => Err(Failure::Timeout),
        "h1.test/robots.txt" => status(503),
        _ => page(&[]),
    }));
    let columns = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = crawled.crawl_log.lines().map(columns).collect();
    assert_eq!(lines.len(), crawled.requests.len(), "{}", crawled.crawl_log);
    let told: Vec<_> = lines.iter().map(|line| (line[1].as_str(), line[3].as_str(), line[4].as_str())).collect();
    let expected = [
        ("301", "http://h0.test/robots.txt", "P"),
        ("200", "http://h0.test/rules", "PR"),
        ("200", "http://h0.test/", "-"),
        ("-4", "http://h1.test/robots.txt", "LP"),
        ("503", "http://h1.test/robots.txt", "LP"),
    ];
    assert_eq!(told[..5], expected);
}

#[test]
fn r16_pages_that_say_nofollow_in_header_or_head_lead_nowhere() {
    let web = ScriptedWeb::new(|url, _| {
        let linked = page(&["/no"]);
        match url {
            "h0.test/robots.txt" => status(404),
            "h0.test/" => page(&["/a", "/b", "/c", "/d", "/e", "/f"]),
            "h0.test/a" => with(linked, "x-robots-tag", "nofollow"),
            "h0.test/b" => with(linked, "X-Robots-Tag", "noindex, NONE"),
            "h0.test/c" => with(with(linked, "x-robots-tag", "otherbot: all"), "x-robots-tag", "crawler: nofollow"),
            "h0.test/d" => with(with(linked, "x-robots-tag", "noindex"), "x-robots-tag", "follow, nofollow"),
            "h0.test/e" => page(&["/no\"><meta name=robots content='noindex, nofollow'>"]),
            "h0.test/f" => with(page(&["/yes"]), "x-robots-tag", "otherbot: noindex, nofollow"),
            _ => page(&[]),
        }
    });
    let crawled = crawl(web);
    assert_eq!(crawled.pages().last(), Some(&"h0.test/yes"));
    assert!(crawled.times_of("h0.test/no").is_empty(), "{:?}", crawled.requests);
}

#[test]
fn n22_cookie_walls_logins_and_pages_made_by_scripts_are_told_in_the_closing_lines() {
    let odd = ScriptedWeb::new(|url, _| match url {
        "h0.test/robots.txt" => status(404),
        "h0.test/" => page(&["/wall", "/there", "/app", "/private", "/plain"]),
        "h0.test/wall" => with(moved("/wall?#again"), "set-cookie", "a=b"),
        "h0.test/wall?" => with(moved("/wall?"), "set-cookie", "a=b"),
        "h0.test/there" => moved("/check"),
        "h0.test/check" => with(moved("/there"), "set-cookie", "a=b"),
        "h0.test/plain" => with(moved("/end"), "set-cookie", "a=b"),
        "h0.test/app" => page(&[]).map(|reply| Reply { body: b"<div id=r></div><script src=/a.js>".to_vec(), ..reply }),
        "h0.test/private" => status(401),
        _ => status(404),
    });
    let crawled = crawl(odd);
    let names: Vec<&str> = crawled.oddities.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["warning: cookie wall", "warning: needs scripts"], "{:?}", crawled.oddities);
    assert!(crawled.oddities[0].1.starts_with("2 pages of h0.test: a redirect to itself"), "{:?}", crawled.oddities);
    assert!(crawled.oddities[1].1.starts_with("1 page of h0.test: hardly any link"), "{:?}", crawled.oddities);
    let private = ScriptedWeb::new(|url, _| if url.ends_with("/robots.txt") { status(404) } else { status(401) });
    let told = crawl(private).oddities;
    assert!(told.len() == 1 && told[0].1.contains("a seed that requires a user name and password"), "{told:?}");
}

#[test]
fn binary_files_and_lines_of_a_megabyte_as_robots_txt_are_harmless() {
    let noise = ScriptedWeb::new(|url, _| {
        if !url.ends_with("/robots.txt") {
            return page(&["/no", "/yes"]);
        }
        let mut random = fastrand::Rng::with_seed(3);
        let mut body: Vec<u8> = (0..200_000).map(|_| random.u8(..)).collect();
        body.extend_from_slice(b"\nUser-agent: *\nDisallow: /no\n");
        Ok(Reply { status: 200, headers: Vec::new(), body })
    });
    assert_eq!(crawl(noise).pages(), ["h0.test/", "h0.test/yes"]);
    // the line takes all the room that the file has
    let line = ScriptedWeb::new(|url, _| match url.ends_with("/robots.txt") {
        true => text(200, &format!("User-agent: *\nDisallow: /no\nDisallow: /{}\nDisallow: /yes", "x".repeat(1 << 20))),
        false => page(&["/no", "/yes"]),
    });
    assert_eq!(crawl(line).pages(), ["h0.test/", "h0.test/yes"]);
    let page_instead = ScriptedWeb::new(|url, _| match url.ends_with("/robots.txt") {
        true => text(200, "<!DOCTYPE html><html><body>User-agent: * Disallow: / </body></html>"),
        false => page(&["/no"]),
    });
    assert_eq!(crawl(page_instead).pages(), ["h0.test/", "h0.test/no"]);
}

#[test]
fn n15_ports_of_a_host_share_its_delay_and_have_rules_of_their_own_also_over_kills() {
    let web = ScriptedWeb::new(|url, _| match url {
        "h0.test/" => page(&["/1", "/2", "/3", "http://h0.test:81/", "http://h0.test:81/no", "http://h0.test:82/"]),
        "h0.test:81/robots.txt" => text(200, RULES),
        "h0.test:82/robots.txt" => moved("http://h0.test:81/robots.txt"),
        "h0.test:81/" => page(&["/4", "/5"]),
        _ => page(&[]),
    });
    for kills in [&[][..], &[2], &[4], &[5, 9], &[7]] {
        let crawled = crawl_with_kills(web, kills);
        for pair in crawled.requests.windows(2) {
            assert!(pair[1].0 >= pair[0].0 + DELAY, "killed at {kills:?}: {:?}", crawled.requests);
        }
        assert_eq!(crawled.dropped, BTreeMap::from([(Reason::Robots, 1)]), "killed at {kills:?}");
        let pages: std::collections::BTreeSet<&str> = crawled.pages().into_iter().collect();
        assert_eq!(pages.len(), 8, "killed at {kills:?}: {pages:?}");
    }
}

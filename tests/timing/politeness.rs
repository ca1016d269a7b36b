//! Politeness, row by row, proved by the server's own log: the real binary against the synthetic web.
//!
//! Delays are some tens of milliseconds, so that the proofs are quick. Without any delay configured a back-off starts
//! with a second; that is what those proofs use that are about back-offs. Nothing here asserts that a crawl is fast.
//! The rows that are arithmetic are proved beside it: `frontier::politeness`, `frontier::tests::polite` in virtual
//! time, `web::retry_after`.

use std::collections::{BTreeMap, HashMap};

use crate::site::{RUSH, Site, interrupt, kill, ms, wait};
use crawler::simweb::{Limits, Plea, Request, SimOptions, Timeline};

/// Clocks count milliseconds: the end of an answer and the start of a request may each lose one.
const SLACK_MS: u64 = 2;

fn calm() -> SimOptions {
    SimOptions { seed: 3, ..SimOptions::default() }.smooth()
}

fn limits(delay_ms: u64) -> Limits {
    Limits { delay_min: ms(delay_ms), slack: ms(SLACK_MS), ..Limits::default() }
}

/// No delays, so that back-offs start with a second.
fn backing_off() -> Limits {
    Limits { back_off: ms(1_000), robots_back_off: ms(1_000), ..limits(0) }
}

fn by_host(log: &[Request]) -> BTreeMap<&str, Vec<&Request>> {
    let mut hosts: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in log {
        hosts.entry(&request.host).or_default().push(request);
    }
    hosts
}

#[test]
fn p1_retry_after_is_kept_in_seconds_and_as_a_date_and_what_is_none_leads_to_a_back_off() {
    let options =
        SimOptions { hosts: 24, pages: 60, overload_share: 1.0, overload_answers: 1, overload_s: 1, ..calm() };
    let site = Site::new(options, RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let log = site.log();
    let refused = log.iter().filter(|request| matches!(request.status, 429 | 503)).count();
    let asked = log.iter().filter(|request| request.rest_until_us.is_some()).count();
    assert!(asked >= 4 && refused >= asked + 8, "{asked} of {refused} refusals asked for a time");
    site.assert_polite(&backing_off());
}

#[test]
fn p1_a_retry_after_of_ten_years_is_kept_for_now_and_over_a_restart() {
    let options =
        SimOptions { hosts: 8, pages: 40, overload_share: 0.5, pleas: vec![Plea::Decade], overload_s: 1, ..calm() };
    let site = Site::new(options, RUSH);
    for limit in ["1s", "2s"] {
        site.crawl.run(&["--max-time", limit]).expect(0, &["time limit"]);
    }
    let refused = site.log().iter().filter(|request| matches!(request.status, 429 | 503)).count();
    assert!(refused > 0);
    site.assert_polite(&backing_off());
}

#[test]
fn p1_a_retry_after_is_kept_although_the_process_was_killed_before_a_checkpoint() {
    let options = SimOptions {
        hosts: 8,
        pages: 40,
        overload_share: 0.5,
        pleas: vec![Plea::Seconds],
        overload_s: 3,
        overload_answers: 1,
        ..calm()
    };
    let site = Site::new(options, RUSH);
    let child = site.crawl.start(&[]);
    let refused = || site.log().iter().filter(|request| request.rest_until_us.is_some()).count();
    let start = std::time::Instant::now();
    while refused() == 0 {
        assert!(start.elapsed() < crate::site::PATIENCE, "nobody refused");
        std::thread::sleep(ms(2));
    }
    // what follows the answer is written down by now, or it is not and the URL is asked for again by the next process
    site.wait_for_requests(site.log().len() + 4);
    let killed_us = site.kill(child);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_polite_over_kills(&Limits { robots_back_off: ms(0), ..backing_off() }, &[killed_us]);
}

#[test]
fn p2_a_host_that_says_nothing_about_when_to_come_back_is_left_alone_and_longer_each_time() {
    let options = SimOptions {
        hosts: 6,
        pages: 30,
        overload_share: 1.0,
        overload_answers: 2,
        pleas: vec![Plea::Silent],
        ..calm()
    };
    let site = Site::new(options, RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_polite(&backing_off());
    for (host, requests) in by_host(&site.log()) {
        let ends: Vec<_> = requests.iter().filter(|r| matches!(r.status, 429 | 503)).map(|r| r.finished_us).collect();
        if let [_, second] = ends[..] {
            let next = requests.iter().find(|request| request.started_us > second).unwrap();
            assert!(next.started_us - second >= (2_000 - SLACK_MS) * 1_000, "{host}: the second rest is not doubled");
        }
    }
}

#[test]
fn p3_the_delay_follows_the_time_of_the_last_fetch_and_the_crawl_delay() {
    let options = SimOptions {
        hosts: 16,
        pages: 80,
        latency: ms(8),
        slow_share: 0.4,
        slow_factor: 6.0,
        robots_crawl_delay_share: 0.3,
        robots_crawl_delay: ms(120),
        ..SimOptions::default()
    };
    let calm = SimOptions { server_error_share: 0.0, flaky_share: 0.0, robots_5xx_share: 0.0, ..options };
    let politeness = "delay_factor = 5.0\ndelay_min = \"20ms\"\ndelay_max = \"200ms\"\ndelay_per_ip = \"1ms\"\n";
    let site = Site::new(calm, politeness);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let crawl_delays: HashMap<_, _> = site.web.expected().crawl_delays.clone().into_iter().collect();
    assert!(!crawl_delays.is_empty());
    site.assert_polite(&Limits { delay_factor: 5.0, delay_max: ms(200), crawl_delays, ..limits(20) });
}

#[test]
fn p4_fast_500s_never_raise_the_rate() {
    let options = SimOptions {
        hosts: 6,
        pages: 120,
        latency: ms(20),
        server_error_share: 0.5,
        fast_errors: true,
        retry_after_s: 0,
        redirect_share: 0.0,
        not_found_share: 0.0,
        robots_share: 0.0,
        robots_missing_share: 0.0,
        ..SimOptions::default()
    };
    let options = SimOptions { flaky_share: 0.0, robots_5xx_share: 0.0, ..options };
    let politeness = "delay_factor = 3.0\ndelay_min = \"5ms\"\ndelay_per_ip = \"1ms\"\n[fetch]\nretries = 0\n";
    let site = Site::new(options, politeness);
    site.crawl.run(&[]).expect(0, &[]);
    let mut after_errors = 0;
    for (host, requests) in by_host(&site.log()) {
        // the delay that the last page asked for, in microseconds; errors take no time and would ask for the least
        let mut pace_us = 0;
        for pair in requests.windows(2) {
            let [before, next] = pair else { unreachable!() };
            match before.status {
                200 => pace_us = 3 * (before.finished_us - before.started_us),
                _ => after_errors += 1,
            }
            let gap_us = next.started_us - before.finished_us;
            assert!(gap_us + SLACK_MS * 1_000 >= pace_us, "{host}{}: {gap_us} < {pace_us}", next.path);
        }
    }
    assert!(after_errors > 20, "{after_errors}");
}

#[test]
fn p5_a_thousand_hosts_on_one_address_keep_its_delay() {
    const DELAY_MS: u64 = 3;
    let options = SimOptions { hosts: 1_000, pages: 1_000, addresses: 1, page_bytes: 500, links: 2, ..calm() };
    let site = Site::new(options, "delay_factor = 0.0\ndelay_min = \"10ms\"\ndelay_per_ip = \"3ms\"\n");
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    let log = site.log();
    assert!(log.len() > 1_900, "{}", log.len());
    // The crawler counts from start to start on its side. The server may see a request late, and then the next one
    // seems to come soon; but over many requests it cannot be late for long.
    let late_us =
        log.windows(51).map(|many| (50 * DELAY_MS * 1_000).saturating_sub(many[50].started_us - many[0].started_us));
    let (worst_us, offences) =
        late_us.fold((0, 0), |(worst, count), us| (worst.max(us), count + u32::from(us > 50_000)));
    assert_eq!(offences, 0, "51 requests came in {worst_us} us less than the delay of their address permits");
    let span_us = log[log.len() - 1].started_us - log[0].started_us;
    let least_us = (log.len() as u64 - 1) * DELAY_MS * 1_000;
    assert!(span_us + 20_000 >= least_us, "{} requests in {span_us} us, not {least_us}", log.len());
    site.assert_polite(&limits(10));
}

/// A web with everything that leads to requests beside plain links.
fn winding() -> SimOptions {
    SimOptions {
        hosts: 40,
        pages: 400,
        addresses: 6,
        redirect_share: 0.15,
        robots_moved_share: 0.4,
        giant_share: 0.1,
        latency: ms(3),
        cross_links: 0.4,
        ..calm()
    }
}

const WINDING: &str = "delay_factor = 0.0\ndelay_min = \"40ms\"\ndelay_per_ip = \"4ms\"\ngive_up = \"2s\"\n";

fn winding_limits() -> Limits {
    Limits { per_ip: ms(4), per_ip_slack: ms(4), ..limits(40) }
}

#[test]
fn p6_gaps_hold_through_redirects_robots_fetches_retries_and_a_clean_restart() {
    let site = Site::new(SimOptions { flaky_share: 0.05, ..winding() }, WINDING);
    for _ in 1..=2 {
        let before = site.log().len();
        let child = site.crawl.start(&[]);
        site.wait_for_requests(before + 80);
        interrupt(child).expect(11, &[]);
    }
    site.crawl.run(&[]).expect(0, &["resuming"]);
    site.assert_whole();
    assert!(site.log().iter().any(|request| request.path.starts_with("/rules/")), "no robots.txt has moved");
    site.assert_polite(&winding_limits());
}

#[test]
fn p6_gaps_hold_over_kills() {
    let site = Site::new(winding(), &format!("{WINDING}[crawl]\ncheckpoint_interval = \"1s\"\n"));
    for round in 1..=3 {
        let child = site.crawl.start(&[]);
        site.wait_for_requests(80 * round);
        kill(child);
    }
    site.crawl.run(&[]).expect(0, &["unclean stop"]);
    site.assert_whole();
    site.assert_polite(&winding_limits());
}

#[test]
fn p6_a_kill_before_the_first_checkpoint_after_a_stop_is_no_clean_stop() {
    // slow hosts rest for long after each answer, and a process that thinks that all have rested asks them at once
    let options = SimOptions { hosts: 30, pages: 200, latency: ms(40), ..winding() };
    let politeness = "delay_factor = 8.0\ndelay_max = \"500ms\"\ndelay_min = \"10ms\"\ndelay_per_ip = \"1ms\"\n";
    let site = Site::new(options, &format!("{politeness}[crawl]\ncheckpoint_interval = \"1h\"\n"));
    let child = site.crawl.start(&[]);
    site.wait_for_requests(20);
    interrupt(child).expect(11, &[]);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(80);
    let killed_us = site.kill(child);
    site.crawl.run(&[]).expect(0, &["unclean stop"]);
    site.assert_whole();
    let limits = Limits { delay_factor: 8.0, delay_max: ms(500), ..limits(10) };
    site.assert_polite_over_kills(&limits, &[killed_us]);
}

#[test]
fn p6_a_host_has_no_more_connections_than_allowed() {
    let politeness = "delay_factor = 0.0\ndelay_min = \"5ms\"\ndelay_per_ip = \"1ms\"\nconnections_per_host = 3\n";
    let site = Site::new(SimOptions { latency: ms(40), hosts: 4, pages: 80, ..winding() }, politeness);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_polite(&Limits { connections_per_host: 3, ..limits(0) });
}

#[test]
fn p7_a_connection_that_stays_open_changes_no_gap_and_robots_txt_is_a_request() {
    let site = Site::new(SimOptions { hosts: 6, pages: 60, ..calm() }, WINDING);
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_polite(&limits(40));
    let log = site.log();
    let mut on_connection: HashMap<u64, usize> = HashMap::new();
    log.iter().for_each(|request| *on_connection.entry(request.connection).or_default() += 1);
    assert!(on_connection.values().any(|&requests| requests > 5), "{on_connection:?}");
    let mut pairs = 0;
    for (host, requests) in by_host(&log) {
        assert_eq!(requests[0].path, "/robots.txt", "{host}");
        if let Some(next) = requests.get(1) {
            assert!(next.started_us - requests[0].finished_us >= (40 - SLACK_MS) * 1_000, "{host}");
            pairs += 1;
        }
    }
    assert!(pairs > 3);
}

#[test]
fn p9_a_host_whose_robots_txt_cannot_be_had_is_held_back_and_no_page_of_it_is_asked_for() {
    let options = SimOptions {
        hosts: 30,
        pages: 90,
        robots_5xx_share: 0.2,
        robots_broken_share: 0.4,
        robots_forbidden_share: 0.2,
        silent_hosts: true,
        ..calm()
    };
    let site = Site::new(
        options,
        &format!("{RUSH}give_up = \"3s\"\n[fetch]\ntimeout_total = \"1s\"\ntimeout_connect = \"1s\"\n"),
    );
    site.crawl.run(&[]).expect(0, &["host given up"]);
    site.assert_whole();
    let log = site.log();
    let unreachable = &site.web.expected().robots_unreachable;
    assert!(unreachable.len() > 5);
    let mut statuses = std::collections::BTreeSet::new();
    for request in log.iter().filter(|request| unreachable.contains(&request.host)) {
        assert_eq!(request.path, "/robots.txt", "{request:?}");
        statuses.insert(request.status);
    }
    assert_eq!(Vec::from_iter(statuses), [0, 429, 500, 503]);
    // of a request that the client gives up, the server sees the end late
    site.assert_polite(&Limits { back_off: ms(0), slack: ms(10), ..backing_off() });
}

/// Everything at once, in small; `cargo bench --bench politeness` does the same with 10,000 hosts.
#[test]
fn p6_everything_at_once_through_a_stop_and_a_kill() {
    let options = SimOptions {
        hosts: 300,
        pages: 900,
        addresses: 20,
        giant_share: 0.1,
        latency: ms(2),
        overload_share: 0.1,
        overload_answers: 1,
        pleas: vec![Plea::Seconds, Plea::Date],
        slow_share: 0.1,
        dead_share: 0.05,
        robots_moved_share: 0.1,
        robots_forbidden_share: 0.05,
        robots_broken_share: 0.05,
        robots_crawl_delay_share: 0.1,
        robots_crawl_delay: ms(60),
        cross_links: 0.3,
        ..calm()
    };
    let politeness = "delay_factor = 2.0\ndelay_max = \"200ms\"\ndelay_min = \"20ms\"\ndelay_per_ip = \"3ms\"\n\
                      give_up = \"1s\"\n[crawl]\ncheckpoint_interval = \"1s\"\n";
    let site = Site::new(options, politeness);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(300);
    interrupt(child).expect(11, &[]);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(700);
    let killed_us = site.kill(child);
    wait(site.crawl.start(&[])).expect(0, &[]);
    site.assert_whole();
    let limits = Limits {
        delay_factor: 2.0,
        delay_max: ms(200),
        crawl_delays: site.web.expected().crawl_delays.clone().into_iter().collect(),
        robots_back_off: ms(1_000),
        per_ip: ms(3),
        per_ip_slack: ms(3),
        ..limits(20)
    };
    println!("{}", Timeline::of(&site.log(), &limits));
    site.assert_polite_over_kills(&limits, &[killed_us]);
}

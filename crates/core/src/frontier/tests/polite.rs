//! Gaps, concurrency, Crawl-delay, back-off, in virtual time.

use super::*;
use crate::frontier::Asked;

#[test]
fn p3_a_host_has_one_request_at_a_time_and_its_delay_between_two() {
    let mut crawl = Crawl::new(small_options(), plain);
    for n in 0..200 {
        crawl.push(url(n % 10, n, 1));
    }
    crawl.run();
    assert_eq!(crawl.out.len(), 200);
    assert_eq!(crawl.concurrency(), 1);
    // One second after the end of the one before, and a fetch takes 20 ms, robots.txt 10.
    for (host, gap) in crawl.gaps(|request| request.host) {
        assert_eq!(gap, MS * 1_010, "host {host}");
    }
    let robots = crawl.requests.iter().filter(|request| request.robots).count();
    assert_eq!(robots, 10, "robots.txt is fetched once a host");
}

#[test]
fn several_connections_run_at_once_and_no_more_than_allowed() {
    let slow = |host| Site { duration: S * 10, ..plain(host) };
    let mut options = small_options();
    options.politeness.connections_per_host = 3;
    let mut crawl = Crawl::new(options, slow);
    (0..12).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert_eq!(crawl.concurrency(), 3);
    assert!(crawl.gaps(|request| request.host)[&1] >= S);
}

#[test]
fn p5_a_thousand_hosts_on_one_address_keep_its_delay() {
    let mut options = small_options();
    options.active_hosts = 2_000;
    options.per_address_active_max = 2_000;
    let mut crawl = Crawl::new(options, |host| Site { address: Ok(1), ..plain(host) });
    (0..1_000).for_each(|host| crawl.push(url(host, 0, 1)));
    crawl.run();
    assert_eq!(crawl.requests.len(), 2_000);
    assert_eq!(crawl.gaps(ip_number)[&1], MS * 250);
    let span = crawl.requests[1_999].start.since(crawl.requests[0].start);
    assert_eq!(span, MS * 250 * 1_999, "the address is used whenever it is free");
}

#[test]
fn a_crowded_address_does_not_fill_the_room() {
    let mut options = small_options();
    options.per_address_active_max = 10;
    let mut crawl =
        Crawl::new(options, |host| Site { address: Ok(if host < 200 { 1 } else { host as u32 }), ..plain(host) });
    (0..240).for_each(|host| crawl.push(url(host, 0, 1)));
    crawl.run();
    assert!(crawl.gaps(ip_number)[&1] >= MS * 250);
    let last_other = crawl.requests.iter().rev().find(|request| request.host >= 200).unwrap();
    assert!(last_other.start.since(START) < S * 60, "{:?}", last_other.start.since(START));
}

#[test]
fn p3_a_crawl_delay_is_kept_up_to_its_cap_and_never_makes_a_host_faster() {
    for (crawl_delay, expected) in [(MS * 100, S), (S * 7, S * 7), (S * 4_000, S * 300)] {
        let delays = |ms: u64| -> fn(u64) -> Site {
            match ms {
                100 => |host| Site { robots: Some(Some(MS * 100)), ..plain(host) },
                7_000 => |host| Site { robots: Some(Some(S * 7)), ..plain(host) },
                _ => |host| Site { robots: Some(Some(S * 4_000)), ..plain(host) },
            }
        };
        let mut crawl = Crawl::new(small_options(), delays(crawl_delay.as_millis() as u64));
        (0..5).for_each(|n| crawl.push(url(1, n, 1)));
        crawl.run();
        let gap = crawl.gaps(|request| request.host)[&1];
        assert!((expected..expected + MS * 50).contains(&gap), "{crawl_delay:?}: {gap:?}");
    }
}

#[test]
fn no_delay_means_no_delay() {
    let mut options = small_options();
    options.politeness = Politeness {
        delay_min: Duration::ZERO,
        delay_factor: 0.0,
        delay_per_ip: Duration::ZERO,
        ..Politeness::default()
    };
    let mut crawl = Crawl::new(options, |host| Site { robots: Some(Some(S * 60)), ..plain(host) });
    (0..100).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert_eq!(crawl.clock.now().since(START), MS * (5 + 10 + 100 * 20));
}

#[test]
fn p2_a_503_is_tried_again_after_the_whole_host_has_rested() {
    let twice_overloaded = |host| Site {
        feedback: |attempt| if attempt < 2 { (Verdict::Retry, None, None) } else { (Verdict::Done, None, None) },
        ..plain(host)
    };
    let mut crawl = Crawl::new(small_options(), twice_overloaded);
    crawl.push(url(1, 0, 1));
    crawl.push(url(1, 1, 0));
    crawl.run();
    let order: Vec<_> = crawl.out.iter().map(|(url, _)| (url.key, url.attempts)).collect();
    assert_eq!(order, [(url(1, 1, 0).key, 2), (url(1, 0, 1).key, 2)], "the retried URL is the next of its host");
    let starts: Vec<_> = crawl.requests.iter().filter(|r| !r.robots).map(|r| r.start).collect();
    let waits: Vec<_> = starts.windows(2).map(|pair| pair[1].since(pair[0]).as_secs()).collect();
    assert!((60..=66).contains(&waits[0]) && (120..=132).contains(&waits[1]), "{waits:?}");
}

#[test]
fn p1_retry_after_is_honoured() {
    let mut crawl = Crawl::new(small_options(), |host| Site {
        feedback: |attempt| match attempt {
            0 => (Verdict::Retry, None, Some(S * 600)),
            1 => (Verdict::Done, None, Some(S * 86_400 * 30)),
            _ => unreachable!(),
        },
        ..plain(host)
    });
    crawl.push(url(1, 0, 1));
    crawl.run_until(START + S * 3_600);
    crawl.push(url(1, 1, 1));
    crawl.run_until(START + S * 86_400 * 2);
    // After a day the addresses are asked for again (5 ms), and the rules.
    let starts: Vec<_> = crawl.requests[1..].iter().map(|request| request.start).collect();
    assert_eq!(starts[1].since(starts[0]), S * 600 + MS * 20);
    assert_eq!(starts[2].since(starts[1]), S * 86_400 + MS * 25, "a day at most");
}

#[test]
fn p4_fast_errors_never_raise_the_rate() {
    let mut options = small_options();
    options.politeness.delay_factor = 100.0;
    let mut crawl = Crawl::new(options, |host| Site {
        feedback: |_| (Verdict::Done, Some(Failure::Protocol), None),
        ..plain(host)
    });
    (0..20).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    let starts: Vec<_> = crawl.requests.iter().filter(|r| !r.robots).map(|r| r.start).collect();
    let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps.is_sorted(), "{gaps:?}");
}

#[test]
fn p6_gaps_hold_over_a_clean_and_an_unclean_restart() {
    for clean in [true, false] {
        let mut crawl = Crawl::new(small_options(), |host| Site {
            robots: Some(Some(S * 20)),
            address: Ok(1 + host as u32 % 2),
            ..plain(host)
        });
        (0..60).for_each(|n| crawl.push(url(n % 6, n, 1)));
        crawl.run_until(START + S * 45);
        let mut ram = Vec::new();
        let cut = crawl.frontier.cut(&mut ram).unwrap();
        let finished: Vec<_> = crawl.out.iter().map(|(url, _)| url.key).collect();
        if !clean {
            crawl.run_until(START + S * 65);
        }
        for (url, _) in std::mem::take(&mut crawl.out) {
            if !finished.contains(&url.key) {
                crawl.expected.insert(url.key);
            }
        }
        crawl.clock.advance(MS * 100);
        crawl.reopen(&cut.state, &ram, clean);
        crawl.run();
        for (host, gap) in crawl.gaps(|request| request.host) {
            // The first request after robots.txt of the start came before the rules were known.
            assert!(gap >= S, "clean {clean}: host {host} {gap:?}");
        }
        let pages: Vec<_> = crawl.requests.iter().filter(|r| !r.robots).copied().collect();
        crawl.requests = pages;
        for (host, gap) in crawl.gaps(|request| request.host) {
            assert!(gap >= S * 20, "clean {clean}: host {host} {gap:?}");
        }
        for (ip, gap) in crawl.gaps(ip_number) {
            assert!(gap >= MS * 250, "clean {clean}: address {ip} {gap:?}");
        }
    }
}

#[test]
fn p6_the_delay_after_a_kill_holds_over_a_stop_that_comes_right_after_it() {
    let mut crawl = Crawl::new(small_options(), plain);
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    // asked, and killed before a cut knows the host
    crawl.push(url(1, 0, 1));
    while crawl.requests.is_empty() && crawl.step() {}
    crawl.reopen(&cut.state, &ram, false);
    crawl.clock.advance(MS * 30);
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    crawl.reopen(&cut.state, &ram, true);
    // its key was forgotten with it: it is met again
    crawl.push(url(1, 1, 1));
    crawl.run_until(START + S * 60);
    assert!(crawl.requests.len() > 1);
    for (host, gap) in crawl.gaps(|request| request.host) {
        assert!(gap >= S, "host {host} {gap:?}");
    }
}

#[test]
fn p6_a_long_back_off_is_told_and_held_after_a_restart() {
    let mut crawl = Crawl::new(small_options(), |host| Site {
        feedback: |_| (Verdict::Retry, None, Some(S * 5_000)),
        ..plain(host)
    });
    crawl.push(url(1, 0, 1));
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    crawl.run_until(START + S * 10);
    let told = crawl.frontier.queues.pacing.take_long_backoffs();
    assert_eq!(told.len(), 1);
    crawl.reopen(&cut.state, &ram, false);
    crawl.frontier.hold(told[0].0, told[0].1, crawl.clock.now());
    crawl.frontier.hold(url(9, 0, 1).origin, told[0].1, crawl.clock.now());
    crawl.push(url(9, 0, 1));
    crawl.requests.clear();
    crawl.run_until(START + S * 5_100);
    assert!(crawl.requests.iter().all(|request| request.start >= told[0].1), "{:?}", crawl.requests);
    assert!(!crawl.requests.is_empty());
}

#[test]
fn p6_a_request_for_the_sake_of_another_host_keeps_the_delays_of_its_own_host_and_address() {
    let mut crawl = Crawl::new(small_options(), plain);
    for host in 1..=2 {
        crawl.push(url(host, 0, 1));
    }
    crawl.run();
    let (there, name, ip) =
        (url(2, 0, 1).origin, url(2, 0, 1).host, crawl.requests.iter().find(|request| request.host == 2).unwrap().ip);
    let asked =
        Asked { origin: there, name, is_foreign: false, politeness: crawl.frontier.queues.pacing.politeness().clone() };
    let begin = |crawl: &mut Crawl, now| crawl.frontier.begin_prerequisite(&asked, ip, now);
    let now = crawl.clock.now();
    let again = begin(&mut crawl, now).unwrap_err();
    assert_eq!(again.since(now), S, "the host was asked just now");
    crawl.clock.advance(S);
    assert_eq!(begin(&mut crawl, again), Ok(()));
    assert!(begin(&mut crawl, again).is_err(), "one is in flight");
    // its own URLs wait for the end of the prerequisite, and then for the delay
    crawl.push(url(2, 1, 1));
    crawl.run_until(again + S * 5);
    assert_eq!(crawl.out.len(), 2);
    let now = crawl.clock.now();
    crawl.frontier.end_prerequisite(&asked, MS * 10, now);
    crawl.run();
    assert_eq!(crawl.out.len(), 3);
    let last = crawl.requests.last().unwrap();
    assert_eq!((last.host, last.start.since(now)), (2, S));
}

#[test]
fn a_quick_robots_txt_does_not_make_a_slow_host_faster() {
    let mut options = small_options();
    options.politeness.delay_factor = 5.0;
    let mut crawl = Crawl::new(options, |host| Site { duration: S * 2, ..plain(host) });
    crawl.push(url(1, 0, 1));
    crawl.run();
    // its rules have expired
    crawl.clock.advance(S * 90_000);
    crawl.push(url(1, 1, 1));
    crawl.run();
    let [.., robots, page] = crawl.requests[..] else { panic!("{:?}", crawl.requests) };
    assert!(robots.robots && !page.robots);
    assert!(page.start.since(robots.end) >= S * 10, "{:?}", page.start.since(robots.end));
}

#[test]
fn a_rest_that_is_told_after_a_restart_holds_a_host_that_is_active_and_is_not_shortened() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..2).for_each(|n| crawl.push(url(1, n, 1)));
    while crawl.out.is_empty() {
        assert!(crawl.step());
    }
    let (now, origin) = (crawl.clock.now(), url(1, 0, 1).origin);
    crawl.frontier.hold(origin, now + S * 3_600, now);
    crawl.frontier.hold(origin, now + S * 60, now);
    crawl.run();
    let last = crawl.requests.last().unwrap();
    assert!(last.start >= now + S * 3_600, "{:?}", last.start.since(now));
}

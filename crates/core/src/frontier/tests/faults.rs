//! URLs that fail by themselves: they wait by themselves, and their host goes on.

use super::*;
use crate::frontier::tuning::WAITING_MAX;
use crate::outcome::{Cause, HostFault};

/// A 500 at the first two attempts for one page of each host.
fn one_bad_page(host: u64) -> Site {
    Site {
        feedback: |attempt| if attempt < 2 { (Verdict::Retry, None, None) } else { (Verdict::Done, None, None) },
        faults: Blame::Url,
        bad: |url| url.ends_with("page-3.html"),
        ..plain(host)
    }
}

/// A 500 whatever is asked for, once.
fn all_bad_once(host: u64) -> Site {
    Site {
        feedback: |attempt| if attempt < 1 { (Verdict::Retry, None, None) } else { (Verdict::Done, None, None) },
        faults: Blame::Url,
        ..plain(host)
    }
}

/// Returns the times at which pages were asked for, from the start on.
fn starts(crawl: &Crawl) -> Vec<Duration> {
    crawl.requests.iter().filter(|request| !request.robots).map(|request| request.start.since(START)).collect()
}

#[test]
fn n17_a_url_that_fails_waits_by_itself_while_its_host_goes_on_at_its_delay() {
    let mut crawl = Crawl::new(small_options(), one_bad_page);
    (0..20).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    let starts = starts(&crawl);
    assert_eq!(starts.len(), 22, "20 pages, and two more attempts");
    assert!(starts[19] < S * 21, "the others are not held up: {starts:?}");
    let waits = [starts[20] - starts[3], starts[21] - starts[20]];
    assert!((S * 60..S * 67).contains(&waits[0]) && (S * 120..S * 133).contains(&waits[1]), "{waits:?}");
    assert_eq!(crawl.out.last().unwrap().0.attempts, 2);
    // nothing but it is left in the end, and nobody waits for longer than for it
    assert_eq!(crawl.clock.now().since(START), starts[21] + MS * 20);
}

#[test]
fn n11_one_page_that_breaks_its_connection_or_is_no_http_does_not_hold_its_host_back() {
    let sites: [fn(u64) -> Site; 2] = [
        |host| Site {
            feedback: |_| (Verdict::GiveUp, Some(Failure::Protocol), None),
            bad: |url| url.ends_with("page-3.html"),
            ..plain(host)
        },
        |host| Site {
            feedback: |_| (Verdict::GiveUp, Some(Failure::Disconnected), None),
            bad: |url| url.ends_with("page-3.html"),
            ..plain(host)
        },
    ];
    for site in sites {
        let mut crawl = Crawl::new(small_options(), site);
        (0..20).for_each(|n| crawl.push(url(1, n, 1)));
        crawl.run();
        assert_eq!(crawl.clock.now().since(START), MS * (5 + 10 + 20 * 1_020));
    }
}

#[test]
fn n11_a_good_answer_forgives_the_host() {
    // each page is answered with a 503 first
    let mut crawl = Crawl::new(small_options(), |host| Site { faults: Blame::Host, ..all_bad_once(host) });
    (0..6).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    let starts = starts(&crawl);
    for pair in starts.chunks(2) {
        assert!((S * 60..S * 67).contains(&(pair[1] - pair[0])), "no back-off is doubled: {starts:?}");
    }
}

#[test]
fn n17_several_failures_in_a_row_are_the_hosts() {
    let mut crawl = Crawl::new(small_options(), all_bad_once);
    (0..12).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    let starts = starts(&crawl);
    assert!(starts[4] < S * 6, "{starts:?}");
    assert!(starts[5] - starts[4] >= S * 60, "{starts:?}");
    assert_eq!(crawl.out.len(), 12);
}

#[test]
fn n17_a_waiting_url_keeps_its_time_over_a_restart() {
    for clean in [true, false] {
        let mut crawl = Crawl::new(small_options(), one_bad_page);
        (0..20).for_each(|n| crawl.push(url(1, n, 1)));
        crawl.run_until(START + S * 30);
        let mut ram = Vec::new();
        let cut = crawl.frontier.cut(&mut ram).unwrap();
        assert_eq!(crawl.frontier.queued(), 1, "it is queued");
        crawl.reopen(&cut.state, &ram, clean);
        assert_eq!(crawl.frontier.queued(), 1);
        crawl.run();
        let starts = starts(&crawl);
        assert!(starts[20] - starts[3] >= S * 60, "{starts:?}");
        assert!(starts[20] - starts[3] < S * 67, "{starts:?}");
    }
}

#[test]
fn n17_a_clock_that_was_set_back_does_not_make_a_url_wait_for_days() {
    let mut crawl = Crawl::new(small_options(), one_bad_page);
    (0..5).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run_until(START + S * 30);
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    crawl.clock = ManualClock::new(Time::from_ms(START.ms() - 86_400_000 * 30));
    crawl.reopen(&cut.state, &ram, true);
    let before = crawl.clock.now();
    crawl.run();
    assert!(crawl.clock.now().since(before) < S * 86_400, "{:?}", crawl.clock.now().since(before));
}

#[test]
fn n17_a_waiting_url_keeps_its_time_on_the_cold_side() {
    let mut options = small_options();
    options.active_hosts = 2;
    let mut crawl = Crawl::new(options, one_bad_page);
    (0..12).for_each(|host| (0..6).for_each(|n| crawl.push(url(host * 4, n, 1))));
    crawl.run();
    assert_eq!(crawl.out.len(), 72);
    let mut attempts: BTreeMap<u64, Vec<Time>> = BTreeMap::new();
    let pages: Vec<_> = crawl.requests.iter().filter(|request| !request.robots).collect();
    pages.iter().for_each(|request| attempts.entry(request.host).or_default().push(request.start));
    for (host, starts) in attempts {
        assert_eq!(starts.len(), 8, "host {host}");
        let waits = [starts[6].since(starts[3]), starts[7].since(starts[6])];
        assert!(waits[0] >= S * 60 && waits[1] >= S * 120, "host {host}: {waits:?}");
    }
}

#[test]
fn n17_urls_that_wait_are_bounded_and_all_come_out() {
    let mut options = small_options();
    options.politeness.delay_min = MS;
    options.politeness.delay_per_ip = Duration::ZERO;
    let mut crawl = Crawl::new(options, |host| Site {
        bad: |url| host_number(url.rsplit('-').next().unwrap()).is_multiple_of(2),
        ..all_bad_once(host)
    });
    (0..1_000).for_each(|n| crawl.push(url(1, n, 1)));
    let mut most = 0;
    while !crawl.frontier.is_idle() && crawl.step() {
        let waiting = crawl.frontier.queues.active.hosts().map(|host| host.waiting.len()).max().unwrap_or(0);
        most = most.max(waiting);
    }
    assert!(most > WAITING_MAX / 2 && most <= WAITING_MAX + 8, "{most}");
    assert_eq!(crawl.out.len(), 1_000);
    assert!(crawl.clock.now().since(START) < S * 3_600, "{:?}", crawl.clock.now().since(START));
}

#[test]
fn n17_waiting_urls_of_a_host_whose_budget_is_spent_are_dropped_at_once() {
    let mut options = small_options();
    options.budget.pages_per_host = Some(10);
    let mut crawl = Crawl::new(options, one_bad_page);
    (0..20).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.clock.now().since(START) < S * 20);
    let dropped = crawl.out.iter().filter(|(_, reason)| *reason == Some(Reason::HostPages));
    assert_eq!(dropped.count(), 10);
}

/// Asks for the first page of a host, whose name and rules are asked for before.
fn first_task(crawl: &mut Crawl) -> (HostId, QueuedUrl) {
    loop {
        let now = crawl.clock.now();
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => {
                let answer = NameAnswer::Found([IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1))].into());
                crawl.frontier.resolved(host, answer, now + S * 86_400, now).unwrap();
            }
            Some(Task::Robots { host, .. }) => {
                let (rules, expires) = (Arc::new(TestRules(None)), now + S * 86_400);
                crawl.frontier.note_answer(host);
                let answer = RobotsAnswer::Rules { rules, expires, duration: MS, bytes: 1 };
                crawl.frontier.robots(host, answer, now).unwrap();
            }
            Some(Task::Fetch { host, url, .. }) => return (host, url),
            Some(Task::Drop { url, reason }) => panic!("{url:?}: {reason:?}"),
            None => crawl.clock.advance(crawl.frontier.next_due().unwrap().since(now)),
        }
    }
}

#[test]
fn a_url_that_is_put_aside_waits_alone_and_costs_its_host_no_delay() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..2).for_each(|n| crawl.push(url(1, n, 1)));
    let (host, first) = first_task(&mut crawl);
    let now = crawl.clock.now();
    crawl.frontier.put_aside(host, now + S * 30, now).unwrap();
    let (host, second) = first_task(&mut crawl);
    assert!(crawl.clock.now() < now + S && second.key != first.key, "its host was not asked, and need not rest");
    crawl.frontier.withdraw(host, crawl.clock.now()).unwrap();
    assert!(!crawl.frontier.only_silent_active(), "a host that waits for the time of a URL has answered");
    let (_, again) = first_task(&mut crawl);
    assert_eq!((crawl.clock.now(), again.key), (now + S * 30, first.key));
}

#[test]
fn a_host_whose_urls_wait_by_themselves_is_waited_for_beside_one_that_never_answered() {
    let mut crawl = Crawl::new(small_options(), one_bad_page);
    (0..5).for_each(|n| crawl.push(url(1, n, 1)));
    while crawl.out.len() < 4 {
        assert!(crawl.step());
    }
    assert_eq!(crawl.frontier.queued(), 1, "one URL waits by itself");
    crawl.push(url(2, 0, 1));
    let now = crawl.clock.now();
    let silent = loop {
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => break host,
            task => assert!(task.is_none(), "{task:?}"),
        }
    };
    crawl.frontier.active_mut().blame(silent, HostFault::Host(Cause::Dns));
    crawl.frontier.resolved(silent, NameAnswer::Unanswered, now + S, now).unwrap();
    assert!(!crawl.frontier.only_silent_active());
}

//! States of hosts: order, budgets, death, names that do not exist, unreachable robots.txt.

use super::*;

#[test]
fn urls_of_a_host_leave_by_priority_and_then_in_the_order_of_arrival() {
    let mut crawl = Crawl::new(small_options(), plain);
    for n in 0..100 {
        crawl.push(url(1, n, (n * 7 % 5) as u8));
    }
    crawl.run();
    let order: Vec<_> = crawl.out.iter().map(|(url, _)| (url.priority, url.via)).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn what_the_rules_forbid_is_dropped_and_costs_no_time() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..50).for_each(|n| crawl.push(private(1, n)));
    crawl.push(url(1, 99, 9));
    crawl.run();
    let dropped = crawl.out.iter().filter(|(_, reason)| *reason == Some(Reason::Robots)).count();
    assert_eq!(dropped, 50);
    assert!(crawl.clock.now().since(START) < S * 2);
}

#[test]
fn a_name_that_does_not_exist_ends_all_its_urls_at_once() {
    let mut crawl = Crawl::new(small_options(), |host| Site { address: Err(Failure::NoSuchHost), ..plain(host) });
    (0..100).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::HostGivenUp)));
    assert!(crawl.clock.now().since(START) < S);
    crawl.push(url(1, 200, 1));
    crawl.run();
    assert_eq!(crawl.out.len(), 101);
    assert!(crawl.requests.is_empty());
}

#[test]
fn private_addresses_end_all_urls_of_a_host() {
    let mut crawl = Crawl::new(small_options(), |host| Site { address: Err(Failure::PrivateAddress), ..plain(host) });
    (0..10).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::PrivateAddress)));
}

#[test]
fn a_dead_host_is_probed_with_back_off_and_given_up_after_its_time() {
    let mut options = small_options();
    options.give_up = S * 3_600;
    options.politeness.dead_after = 4;
    let mut crawl = Crawl::new(options, |host| Site {
        feedback: |_| (Verdict::Retry, Some(Failure::Connect), None),
        ..plain(host)
    });
    (0..30).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::HostGivenUp)));
    let probes = crawl.requests.len();
    assert!((6..14).contains(&probes), "{probes} requests");
    assert!(crawl.clock.now().since(START) > S * 3_600);
    crawl.push(url(1, 99, 1));
    crawl.run();
    assert_eq!(crawl.requests.len(), probes, "a host that was given up is not asked again");
    // but after a day it is
    crawl.clock.advance(S * 86_400);
    (100..110).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!((probes + 1..=2 * probes).contains(&crawl.requests.len()), "{} requests", crawl.requests.len());
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::HostGivenUp)));
    let answering = |host| plain(host);
    crawl.sites = answering;
    crawl.push(url(2, 0, 1));
    crawl.run();
    assert_eq!(crawl.out.last().unwrap().1, None);
    // and one that came back is fetched again
    crawl.clock.advance(S * 86_400 * 2);
    crawl.push(url(1, 200, 1));
    crawl.run();
    assert_eq!(crawl.out.last().unwrap(), &(url(1, 200, 1), None));
}

#[test]
fn name_servers_that_fail_hold_the_host_and_end_it_in_the_end() {
    let mut options = small_options();
    options.give_up = S * 600;
    options.politeness.dead_after = 3;
    let mut crawl = Crawl::new(options, |host| Site { address: Err(Failure::Dns), ..plain(host) });
    (0..3).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::HostGivenUp)));
    assert!(crawl.clock.now().since(START) < S * 3_600);
}

#[test]
fn an_unreachable_robots_txt_holds_the_host_and_nothing_is_fetched() {
    let mut options = small_options();
    options.give_up = S * 3_600;
    let mut crawl = Crawl::new(options, |host| Site { robots: None, ..plain(host) });
    (0..5).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| *reason == Some(Reason::HostGivenUp)));
    assert!(crawl.requests.iter().all(|request| request.robots));
    let waits: Vec<_> = crawl.requests.windows(2).map(|pair| pair[1].start.since(pair[0].start).as_secs()).collect();
    assert!((300..=331).contains(&waits[0]) && (600..=661).contains(&waits[1]), "{waits:?}");
}

#[test]
fn budgets_are_kept_to_the_page_even_with_several_connections() {
    let mut options = small_options();
    options.politeness.connections_per_host = 4;
    options.politeness.delay_min = Duration::ZERO;
    options.budget.pages_per_host = Some(10);
    options.budget.pages_per_domain = Some(25);
    let mut crawl = Crawl::new(options, plain);
    (0..200).for_each(|n| crawl.push(url(n % 4, n, 1)));
    crawl.run();
    let fetched =
        |host| crawl.out.iter().filter(|(u, reason)| reason.is_none() && u.origin == url(host, 0, 1).origin).count();
    let counts: Vec<_> = (0..4).map(fetched).collect();
    assert!(counts.iter().all(|&count| count <= 10), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 25);
    assert!(
        crawl
            .out
            .iter()
            .all(|(_, reason)| reason.is_none_or(|reason| matches!(reason, Reason::HostPages | Reason::DomainPages)))
    );
}

#[test]
fn a_budget_of_a_domain_holds_though_its_hosts_come_and_go() {
    let mut options = small_options();
    options.active_hosts = 3;
    options.budget.pages_per_domain = Some(7);
    let mut crawl = Crawl::new(options, plain);
    for n in 0..400 {
        crawl.push(url(n % 40, n, 1));
        crawl.step();
    }
    crawl.run();
    for domain in 0..10 {
        let key = url(domain * 4, 0, 1).domain;
        let fetched = crawl.out.iter().filter(|(url, reason)| url.domain == key && reason.is_none()).count();
        assert_eq!(fetched, 7, "domain {domain}");
    }
}

#[test]
fn bytes_end_a_host_too() {
    let mut options = small_options();
    options.budget.bytes_per_host = Some(5_100);
    let mut crawl = Crawl::new(options, plain);
    (0..20).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    assert_eq!(crawl.out.iter().filter(|(_, reason)| reason.is_none()).count(), 5);
}

/// Returns what the stores know of a host whose rules and addresses hold for `time` from the start.
fn known(time: Duration) -> Known {
    Known {
        rules: Some((Arc::new(TestRules(None)), START + time)),
        addresses: Some(([IpAddr::V4(Ipv4Addr::from(77))].into(), START + time)),
        ..Known::default()
    }
}

#[test]
fn what_was_known_of_a_host_that_finds_no_room_comes_back_with_it() {
    let mut options = small_options();
    options.active_hosts = 2;
    let mut crawl = Crawl::new(options, plain);
    // two hosts that rest for a while take the room
    for host in [10, 11] {
        crawl.push(url(host, 0, 1));
        crawl.push(url(host, 1, 1));
    }
    let stranger = url(1, 0, 1);
    crawl.expected.insert(stranger.key);
    crawl.frontier.push_known_host(stranger.clone(), known(S * 3_600), START).unwrap();
    assert!(!crawl.frontier.active().knows(stranger.origin));
    crawl.run();
    let asked: Vec<_> = crawl.requests.iter().filter(|request| request.host == 1).collect();
    assert_eq!(asked.len(), 1, "the page and no robots.txt: {asked:?}");
    assert_eq!(asked[0].ip, IpAddr::V4(Ipv4Addr::from(77)));
}

#[test]
fn rules_and_addresses_that_expired_on_the_cold_side_are_asked_for_again() {
    let mut options = small_options();
    options.active_hosts = 1;
    let mut crawl = Crawl::new(options, plain);
    crawl.push(url(10, 0, 1));
    crawl.dispatch();
    let stranger = url(1, 0, 1);
    crawl.expected.insert(stranger.key);
    crawl.frontier.push_known_host(stranger.clone(), known(MS * 2), START).unwrap();
    assert!(!crawl.frontier.active().knows(stranger.origin));
    crawl.run();
    let asked: Vec<_> = crawl.requests.iter().filter(|request| request.host == 1).collect();
    assert_eq!(asked.len(), 2, "robots.txt and the page: {asked:?}");
    assert!(asked[0].robots && !asked[1].robots);
    assert!(asked.iter().all(|request| request.ip == IpAddr::V4(Ipv4Addr::from(2))), "{asked:?}");
}

#[test]
fn a_host_whose_robots_txt_is_known_to_be_unreachable_rests_and_is_given_up_from_its_first_failure_on() {
    for active_hosts in [50, 1] {
        let mut options = small_options();
        options.give_up = S * 3_600;
        options.active_hosts = active_hosts;
        let mut crawl = Crawl::new(options, |host| Site { robots: (host > 1).then_some(None), ..plain(host) });
        // with one place only, the host starts on the disk side
        crawl.push(url(9, 0, 1));
        let unreachable = Known {
            robots_failing_since: Some(START - S * 1_800),
            rests_until: Some(START + S * 200),
            ..Known::default()
        };
        let held = url(1, 0, 1);
        crawl.expected.insert(held.key);
        crawl.frontier.push_known_host(held, unreachable, START).unwrap();
        crawl.run();
        assert_eq!(crawl.out.last().unwrap().1, Some(Reason::HostGivenUp));
        let asked: Vec<_> = crawl.requests.iter().filter(|request| request.host == 1).collect();
        assert!(asked.iter().all(|request| request.robots));
        let first = asked[0].start.since(START);
        assert!((S * 200..S * 202).contains(&first), "asked after {first:?}");
        // at 200 s, and again after a back-off of the second level
        let second = asked[1].start.since(asked[0].start);
        assert!((S * 600..S * 662).contains(&second), "asked again after {second:?}");
        assert_eq!(asked.len(), 3, "the third time, an hour after the first failure, is the last: {asked:?}");
    }
}

#[test]
fn name_servers_that_are_known_to_fail_are_not_asked_before_their_time() {
    let mut crawl = Crawl::new(small_options(), plain);
    let known = Known { rests_until: Some(START + S * 30), ..Known::default() };
    crawl.frontier.push_known_host(url(1, 0, 1), known, START).unwrap();
    assert!(crawl.frontier.next(START + S * 29).unwrap().is_none());
    let task = crawl.frontier.next(START + S * 30).unwrap();
    let Some(Task::Resolve { host, .. }) = task else { panic!("{task:?}") };
    // somebody else knows that they still fail
    crawl.frontier.defer(host, START + S * 50, START + S * 31);
    assert_eq!(crawl.frontier.active().in_flight(), 0);
    assert!(crawl.frontier.next(START + S * 49).unwrap().is_none());
    assert!(matches!(crawl.frontier.next(START + S * 50).unwrap(), Some(Task::Resolve { .. })));
}

#[test]
fn what_is_told_of_an_active_host_does_not_replace_its_own_answers() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.frontier.push_known_host(url(1, 0, 1), known(S * 60), START).unwrap();
    let other = Known {
        robots_failing_since: Some(START),
        rests_until: Some(START + S * 60),
        addresses: Some(([IpAddr::V4(Ipv4Addr::from(78))].into(), START + S * 60)),
        ..Known::default()
    };
    crawl.frontier.preset(url(1, 0, 1).origin, other, START);
    let task = crawl.frontier.next(START).unwrap();
    let Some(Task::Fetch { addresses, .. }) = task else { panic!("{task:?}") };
    assert_eq!(addresses[..], [IpAddr::V4(Ipv4Addr::from(77))]);
}

#[test]
fn a_negative_answer_without_a_time_serves_once() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.push(url(1, 0, 1));
    let Some(Task::Resolve { host, .. }) = crawl.frontier.next(START).unwrap() else { panic!() };
    crawl.frontier.resolved(host, NameAnswer::NoSuchHost, START, START).unwrap();
    assert!(matches!(crawl.frontier.next(START).unwrap(), Some(Task::Drop { .. })));
}

#[test]
fn a_host_whose_answers_are_known_asks_for_neither_robots_nor_addresses() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.frontier.push_known_host(url(1, 0, 1), known(S * 60), START).unwrap();
    let now = crawl.clock.now();
    assert!(crawl.frontier.active().knows(url(1, 0, 1).origin));
    assert!(matches!(crawl.frontier.next(now).unwrap(), Some(Task::Fetch { .. })));
}

#[test]
fn an_address_as_name_is_not_resolved() {
    let mut crawl = Crawl::new(small_options(), plain);
    let literal = QueuedUrl { url: "http://[::1]:8080/x".into(), ..url(1, 0, 1) };
    crawl.push(literal);
    let Some(Task::Robots { origin, addresses, .. }) = crawl.frontier.next(START).unwrap() else { panic!() };
    assert_eq!(&*origin, "http://[::1]:8080");
    assert_eq!(addresses[..], ["::1".parse::<IpAddr>().unwrap()]);
}

#[test]
fn stale_and_repeated_answers_are_ignored() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.push(url(1, 0, 1));
    let Some(Task::Resolve { host, .. }) = crawl.frontier.next(START).unwrap() else { panic!() };
    let stale = HostId { generation: host.generation + 1, ..host };
    for (id, in_flight) in [(stale, 1), (host, 0), (host, 0)] {
        crawl.frontier.resolved(id, NameAnswer::NoSuchHost, START + S, START).unwrap();
        assert_eq!(crawl.frontier.active().in_flight(), in_flight);
    }
}

#[test]
fn an_empty_frontier_is_idle() {
    let mut crawl = Crawl::new(small_options(), plain);
    assert!(crawl.frontier.is_idle());
    assert!(crawl.frontier.next(START).unwrap().is_none());
    assert!(crawl.frontier.next_job(true).unwrap().is_none());
    assert_eq!(crawl.frontier.next_due(), None);
}

#[test]
fn a_name_that_came_into_being_is_found_when_the_answer_that_it_is_not_expires() {
    let mut crawl = Crawl::new(small_options(), |host| Site { address: Err(Failure::NoSuchHost), ..plain(host) });
    crawl.push(url(1, 0, 1));
    crawl.run();
    crawl.clock.advance(NEGATIVE);
    crawl.sites = |host| Site { address: Err(Failure::Dns), ..plain(host) };
    crawl.push(url(1, 1, 1));
    crawl.run_until(crawl.clock.now() + S * 15);
    crawl.sites = plain;
    crawl.run();
    assert_eq!(crawl.out[1].1, None);
}

#[test]
fn frontier_and_jobs_can_be_sent_to_threads() {
    fn sendable<T: Send>() {}
    sendable::<Frontier>();
    sendable::<PartitionJob>();
    sendable::<PartitionDone>();
    sendable::<Task>();
}

#[test]
fn n10_what_a_replay_found_counts_against_budgets_in_memory_and_on_disk_and_over_cuts() {
    const NEW: u64 = 400;
    for (per_host, per_domain, bytes) in [(Some(5), None, None), (None, Some(11), None), (None, None, Some(5_000))] {
        let mut options = small_options();
        (options.active_hosts, options.partitions) = (3, 1);
        options.budget = Budget { pages_per_host: per_host, pages_per_domain: per_domain, bytes_per_host: bytes };
        let mut crawl = Crawl::new(options, plain);
        let hosts: Vec<u64> = (0..12).step_by(2).collect();
        for n in 0..7 {
            hosts.iter().for_each(|&host| crawl.push(url(host, n, 1)));
        }
        // most of them have no place in memory
        crawl.work();
        for host in hosts.iter().copied().chain([NEW]) {
            let url = url(host, 0, 1);
            crawl.frontier.charge(url.origin, url.domain, 3, 3_000).unwrap();
        }
        for recorded in [false, true] {
            if recorded {
                crawl.frontier.record_charges().unwrap();
            }
            let mut ram = Vec::new();
            let cut = crawl.frontier.cut(&mut ram).unwrap();
            crawl.reopen(&cut.state, &ram, true);
        }
        (0..7).for_each(|n| crawl.push(url(NEW, n, 1)));
        crawl.run();
        let fetched = |wanted: &dyn Fn(&QueuedUrl) -> bool| {
            crawl.out.iter().filter(|(url, reason)| reason.is_none() && wanted(url)).count()
        };
        for &host in hosts.iter().chain([&NEW]) {
            let of = url(host, 0, 1);
            let of_host = fetched(&|url| url.origin == of.origin);
            match (per_host, per_domain) {
                (Some(_), _) => assert_eq!(of_host, 2, "host {host}"),
                // two hosts of the list share a domain, and six of its pages were found
                (_, Some(_)) => assert_eq!(fetched(&|url| url.domain == of.domain), if host == NEW { 7 } else { 5 }),
                // a robots.txt of 100 bytes and two pages of 1,000 are less than what is left
                _ => assert_eq!(of_host, 2, "host {host}"),
            }
        }
    }
}

#[test]
fn n29_rules_that_have_expired_are_asked_for_again_before_the_next_page() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.push(url(1, 0, 1));
    crawl.run();
    // the host stays in memory, and its rules hold for a day
    for (hours, robots) in [(1, 1), (22, 1), (2, 2), (25, 3)] {
        crawl.clock.advance(S * 3_600 * hours);
        crawl.push(url(1, crawl.out.len() as u64, 1));
        crawl.run();
        let asked = crawl.requests.iter().filter(|request| request.robots).count();
        assert_eq!(asked, robots, "{hours} hours later");
    }
    assert!(crawl.out.iter().all(|(_, reason)| reason.is_none()));
}

#[test]
fn a_budget_that_is_changed_holds_for_urls_that_wait() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..5).for_each(|n| crawl.push(url(1, n, 1)));
    while crawl.out.is_empty() {
        assert!(crawl.step());
    }
    let budget = Budget { pages_per_host: Some(2), ..*crawl.frontier.budgets().limits() };
    let (politeness, give_up) = (crawl.options.politeness.clone(), crawl.options.give_up);
    crawl.frontier.reconfigure(politeness, budget, None, give_up);
    crawl.run();
    let dropped = crawl.out.iter().filter(|(_, reason)| *reason == Some(Reason::HostPages)).count();
    assert_eq!((crawl.out.len(), dropped), (5, 3));
}

#[test]
fn where_nothing_waits_nobody_is_waited_for_as_silent() {
    let mut crawl = Crawl::new(small_options(), plain);
    assert!(!crawl.frontier.only_silent_active());
    crawl.push(url(1, 0, 1));
    crawl.run();
    assert!(!crawl.frontier.only_silent_active());
}

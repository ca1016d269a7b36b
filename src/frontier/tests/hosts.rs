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
    let answering = |host| plain(host);
    crawl.sites = answering;
    crawl.push(url(2, 0, 1));
    crawl.run();
    assert_eq!(crawl.out.last().unwrap().1, None);
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
    assert!(crawl.out.iter().all(|(_, reason)| reason.is_none_or(|reason| reason == Reason::Budget)));
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

#[test]
fn a_host_whose_answers_are_known_asks_for_neither_robots_nor_addresses() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.push(url(1, 0, 1));
    let now = crawl.clock.now();
    let rules: Arc<dyn Rules> = Arc::new(TestRules(None));
    let addresses: Arc<[IpAddr]> = [IpAddr::V4(Ipv4Addr::from(77))].into();
    crawl.frontier.preset(url(1, 0, 1).origin, Some((rules, now + S * 60)), Some((addresses, now + S * 60)));
    assert!(crawl.frontier.knows(url(1, 0, 1).origin));
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
        crawl.frontier.resolved(id, Err(Failure::NoSuchHost), START).unwrap();
        assert_eq!(crawl.frontier.in_flight(), in_flight);
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
fn a_name_that_came_into_being_is_found_a_day_later() {
    let mut crawl = Crawl::new(small_options(), |host| Site { address: Err(Failure::NoSuchHost), ..plain(host) });
    crawl.push(url(1, 0, 1));
    crawl.run();
    crawl.clock.advance(S * 86_401);
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

//! Rules of robots.txt have their share of the memory: usual ones always fit in, hosts with large ones wait for it.

use super::*;

/// Bytes of memory that all large rules together may take.
fn share(options: &FrontierOptions) -> usize {
    options.memory / 4
}

fn robots_requests(crawl: &Crawl, host: u64) -> usize {
    crawl.requests.iter().filter(|request| request.robots && request.host == host).count()
}

#[test]
fn hosts_for_whose_rules_there_is_no_memory_wait_and_are_crawled_when_others_are_done() {
    let options = small_options();
    let mut crawl = Crawl::new(options.clone(), |host| Site { rules_bytes: 80 << 10, ..plain(host) });
    (0..8).for_each(|host| (0..3).for_each(|n| crawl.push(url(host, n, 1))));
    let mut most = 0;
    while crawl.step() && !crawl.frontier.is_idle() {
        most = most.max(crawl.frontier.active().memory());
    }
    assert!(crawl.expected.is_empty(), "{} URLs never came out", crawl.expected.len());
    assert!(crawl.out.iter().all(|(_, reason)| reason.is_none()), "URLs were dropped");
    // what a host and its URLs take beside the rules
    assert!(most <= share(&options) + (64 << 10), "{most}");
    assert!(most > share(&options) / 2, "{most}: nothing was tight");
    let again = (0..8).filter(|&host| robots_requests(&crawl, host) > 1).count();
    assert!(again >= 5, "{again} hosts had to wait");
    assert!(crawl.requests.iter().all(|request| request.robots || robots_requests(&crawl, request.host) > 0));
}

#[test]
fn rules_for_which_there_will_never_be_memory_end_their_host_and_nothing_of_it_is_fetched() {
    let mut options = small_options();
    options.give_up = S * 3_600;
    let mut crawl =
        Crawl::new(options, |host| Site { rules_bytes: if host == 1 { 1 << 20 } else { 0 }, ..plain(host) });
    (0..5).for_each(|n| crawl.push(url(1, n, 1)));
    (0..5).for_each(|n| crawl.push(url(2, n, 1)));
    crawl.run();
    for (url, reason) in &crawl.out {
        let expected = (host_number(&url.url) == 1).then_some(Reason::HostGivenUp);
        assert_eq!(*reason, expected, "{url:?}");
    }
    assert!(crawl.requests.iter().all(|request| request.robots || request.host == 2));
}

#[test]
fn hosts_with_the_largest_rules_make_room_for_others_and_come_back_with_theirs() {
    let mut crawl = Crawl::new(small_options(), |host| Site {
        rules_bytes: if host < 3 { 80 << 10 } else { 40 << 10 },
        ..plain(host)
    });
    (0..3).for_each(|host| (0..30).for_each(|n| crawl.push(url(host, n, 1))));
    // at this moment nothing is being asked of them
    while crawl.out.len() < 15 {
        assert!(crawl.step());
    }
    assert!(crawl.frontier.active().memory() > 900 << 10, "{}: nothing is tight", crawl.frontier.active().memory());
    crawl.push(url(9, 0, 1));
    crawl.run_until(START + S * 10);
    let out: Vec<u64> = crawl.out.iter().map(|(url, _)| host_number(&url.url)).collect();
    assert!(out.contains(&9), "it waits for hosts with larger rules: {out:?}");
    crawl.run();
    assert!(crawl.out.iter().all(|(_, reason)| reason.is_none()), "URLs were dropped");
    // the one that left has to ask again, at worst a second time when the other one is done
    assert_eq!(robots_requests(&crawl, 9), 1);
    let asked: Vec<usize> = (0..3).map(|host| robots_requests(&crawl, host)).collect();
    assert!(asked.iter().sum::<usize>() <= 5, "{asked:?}");
}

#[test]
fn hosts_with_large_rules_and_urls_without_end_keep_no_other_host_out() {
    let mut crawl = Crawl::new(small_options(), |host| Site {
        rules_bytes: if host < 20 { 200 << 10 } else { 0 },
        duration: if host < 20 { S * 60 } else { MS * 20 },
        ..plain(host)
    });
    (0..20).for_each(|host| (0..10).for_each(|n| crawl.push(url(host, n, 1))));
    crawl.run_until(START + S * 30);
    (20..50).for_each(|host| crawl.push(url(host, 0, 1)));
    crawl.run_until(START + S * 100);
    let others = crawl.out.iter().filter(|(url, _)| host_number(&url.url) >= 20).count();
    assert_eq!(others, 30, "they wait for hosts with large rules");
    crawl.run();
}

#[test]
fn rules_of_usual_size_always_find_memory() {
    let options = FrontierOptions { memory: 1 << 20, active_hosts: 300, ..small_options() };
    let mut crawl = Crawl::new(options.clone(), |host| Site { rules_bytes: 2 << 10, ..plain(host) });
    (0..300).for_each(|host| crawl.push(url(host, 0, 1)));
    let mut most = 0;
    while crawl.step() && !crawl.frontier.is_idle() {
        most = most.max(crawl.frontier.active().memory());
    }
    assert!(most > share(&options), "{most}: nothing was tight");
    assert!((0..300).all(|host| robots_requests(&crawl, host) == 1));
    assert!(crawl.expected.is_empty(), "{} URLs never came out", crawl.expected.len());
}

#[test]
fn n26_what_hosts_leave_in_the_schedule_is_bounded_by_the_hosts_that_are_there() {
    // one in three asks to be left alone for a day, some wait at addresses that they share
    let sites: fn(u64) -> Site = |host| Site {
        address: Ok(host as u32 % 40 + 1),
        feedback: match host % 3 {
            0 => |_| (Verdict::Retry, None, Some(Duration::from_secs(86_400))),
            _ => |_| (Verdict::Done, None, None),
        },
        ..plain(host)
    };
    let mut options = small_options();
    options.politeness.delay_per_ip = MS * 50;
    let mut crawl = Crawl::new(options, sites);
    for host in 0..1_500 {
        (0..2).for_each(|n| crawl.push(url(host, n, 1)));
    }
    let mut most = 0;
    while crawl.clock.now().since(START) < S * 600 && crawl.step() {
        let hosts = crawl.frontier.active().count().max(1);
        most = most.max(crawl.frontier.queues.pacing.wait_queues.scheduled());
        assert!(
            crawl.frontier.queues.pacing.wait_queues.scheduled() <= 4 * 50 + 64 + 1,
            "{} entries, {hosts} hosts",
            crawl.frontier.queues.pacing.wait_queues.scheduled()
        );
    }
    assert!(crawl.out.len() >= 1_000, "{} URLs came out", crawl.out.len());
    println!("at most {most} entries for 50 active hosts");
}

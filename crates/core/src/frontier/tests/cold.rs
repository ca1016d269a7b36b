//! More hosts and URLs than the active side holds.

use super::*;

#[test]
fn many_hosts_beside_few_places_all_come_out() {
    let mut crawl = Crawl::new(small_options(), plain);
    for n in 0..3_000 {
        crawl.push(url(n % 500, n, (n % 3) as u8));
    }
    assert!(crawl.frontier.active().count() <= 50);
    crawl.run();
    assert_eq!(crawl.out.len(), 3_000);
    assert_eq!(crawl.concurrency(), 1);
    assert!(crawl.gaps(|request| request.host).values().all(|&gap| gap >= S));
    let robots = crawl.requests.iter().filter(|request| request.robots).count();
    assert_eq!(robots, 500, "rules come back with the host's record");
}

#[test]
fn a_giant_host_delays_no_other() {
    let mut options = small_options();
    options.buffer_urls = 16;
    let mut crawl = Crawl::new(options, plain);
    for n in 0..100_000 {
        crawl.push(url(4_000, n, 1));
    }
    for host in 0..1_000 {
        (0..3).for_each(|n| crawl.push(url(host, n, 1)));
    }
    crawl.run_until(START + S * 170);
    let small = crawl.out.iter().filter(|(url, _)| url.origin != super::url(4_000, 0, 1).origin).count();
    let elapsed = crawl.clock.now().since(START);
    // 1,000 hosts of three URLs and robots.txt in 49 places take about 4 s for each round of 49.
    assert_eq!(small, 3_000, "after {elapsed:?}");
    assert!(elapsed < S * 180, "{elapsed:?}");
    let giant = crawl.out.len() - small;
    assert!(giant as u64 + 5 >= elapsed.as_secs() * 1_000 / 1_021, "{giant} of the giant after {elapsed:?}");
}

#[test]
fn a_giant_host_comes_out_in_order_from_its_base() {
    let mut options = small_options();
    options.politeness = Politeness {
        delay_min: Duration::ZERO,
        delay_factor: 0.0,
        delay_per_ip: Duration::ZERO,
        ..Politeness::default()
    };
    let mut crawl = Crawl::new(options, plain);
    (0..20_000).for_each(|n| crawl.push(url(1, n, 1)));
    crawl.run();
    let order: Vec<_> = crawl.out.iter().map(|(url, _)| url.via).collect();
    assert!(order.is_sorted());
}

#[test]
fn a_host_that_is_emptied_quickly_gets_more_at_a_time_and_one_that_is_not_does_not() {
    for (delay, grows) in [(Duration::ZERO, true), (S * 10, false)] {
        let mut options = small_options();
        options.politeness =
            Politeness { delay_min: delay, delay_factor: 0.0, delay_per_ip: Duration::ZERO, ..Politeness::default() };
        let mut crawl = Crawl::new(options, |host| Site { duration: MS, ..plain(host) });
        (0..3_000).for_each(|n| crawl.push(url(1, n, 1)));
        let mut buffered = 0;
        while crawl.out.len() < 1_500 && crawl.step() {
            buffered = buffered.max(crawl.frontier.queues.active.buffered);
        }
        assert_eq!(buffered > 100, grows, "{buffered} URLs in memory with a delay of {delay:?}");
        assert!(buffered <= 8 * 64, "{buffered}");
    }
}

#[test]
fn hosts_that_are_spent_leave_neither_cursors_nor_records_in_memory() {
    let mut options = small_options();
    options.partitions = 1;
    let mut crawl = Crawl::new(options, plain);
    (0..4_000).for_each(|n| crawl.push(url(n % 2_000, n, 1)));
    let (mut spent, mut others) = (0, 0);
    while crawl.step() {
        let partition = &crawl.frontier.queues.cold.partitions[0];
        spent = spent.max(partition.cursors.spent.len());
        others = others.max(partition.cursors.begun.len() + partition.recent.records.len());
        if crawl.frontier.is_idle() {
            break;
        }
    }
    assert!(spent > 300 && others < 100, "{spent} hosts are spent, {others} have cursors or records");
    assert_eq!(crawl.out.len(), 4_000);
}

#[test]
fn a_better_priority_overtakes_what_lies_in_the_base() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..2_000).for_each(|n| crawl.push(url(1, n, 5)));
    crawl.run_until(START + S * 30);
    (5_000..5_100).for_each(|n| crawl.push(url(1, n, 1)));
    let before = crawl.out.len();
    crawl.run_until(START + S * 180);
    let better = crawl.out[before..].iter().take(140).filter(|(url, _)| url.priority == 1).count();
    assert!(better >= 90, "{better} of 100");
    crawl.run();
}

#[test]
fn ten_urls_in_a_tail_beside_a_large_base_come_out() {
    let mut options = small_options();
    options.partitions = 1;
    options.active_hosts = 4;
    let mut crawl = Crawl::new(options, plain);
    (0..20_000).for_each(|n| crawl.push(url(n % 8, n, 1)));
    crawl.run_until(START + S * 30);
    (100..110).for_each(|host| crawl.push(url(host, 0, 0)));
    let mut left = 10;
    while left > 0 && crawl.clock.now() < START + S * 4_000 && crawl.step() {
        left = (100..110).filter(|&host| crawl.expected.contains(&url(host, 0, 0).key)).count();
    }
    assert_eq!(left, 0);
}

#[test]
fn a_wildcard_domain_keeps_to_its_places() {
    let mut options = small_options();
    options.per_domain_active_max = 5;
    let one_domain = |host: u64| QueuedUrl { domain: fingerprint(77), ..url(host, 0, 1) };
    let mut crawl = Crawl::new(options, plain);
    (0..300).for_each(|host| crawl.push(one_domain(host)));
    (1_000..1_020).for_each(|host| crawl.push(url(host, 0, 1)));
    crawl.run_until(START + S * 5);
    let others = crawl.out.iter().filter(|(url, _)| url.domain != fingerprint(77)).count();
    assert_eq!(others, 20);
    crawl.run();
}

#[test]
fn hosts_that_are_held_back_give_their_place_to_others() {
    let held = |host| Site {
        feedback: |attempt| {
            if attempt == 0 { (Verdict::Retry, None, Some(S * 3_000)) } else { (Verdict::Done, None, None) }
        },
        ..plain(host)
    };
    let mut crawl = Crawl::new(small_options(), held);
    (0..500).for_each(|host| crawl.push(url(host, 0, 1)));
    crawl.run_until(START + S * 200);
    let asked: BTreeSet<_> = crawl.requests.iter().map(|request| request.host).collect();
    assert_eq!(asked.len(), 500);
    crawl.run();
    assert_eq!(crawl.requests.len(), 1_500);
}

#[test]
fn hosts_with_enough_in_memory_cause_no_merges_and_one_that_runs_dry_does() {
    let mut crawl = Crawl::new(FrontierOptions { partitions: 1, ..small_options() }, plain);
    // more than the buffers hold, and then one more of each host again and again
    (0..5 * 200).for_each(|n| crawl.push(url(n % 5, n, 1)));
    crawl.run_until(START + S * 12);
    let before = crawl.worked;
    for round in 0..60 {
        (0..5).for_each(|host| crawl.push(url(host, 10_000 + round * 5 + host, 1)));
        crawl.run_until(START + S * 12 + MS * 100 * round as u32);
    }
    let jobs = crawl.worked - before;
    assert!(jobs <= 10, "{jobs} jobs in 6 s, in which no host ran dry");
    crawl.push(url(7, 0, 1));
    crawl.run();
    assert_eq!(crawl.out.len(), 5 * 200 + 60 * 5 + 1);
}

#[test]
fn memory_stays_within_its_bound() {
    let mut options = small_options();
    options.memory = 1 << 20;
    options.active_hosts = 10_000;
    options.buffer_urls = 1_000;
    let mut crawl = Crawl::new(options, plain);
    (0..30_000).for_each(|n| crawl.push(url(n % 3_000, n, 1)));
    assert!(crawl.frontier.queues.active.bytes <= 600 << 10, "{}", crawl.frontier.queues.active.bytes);
    let arrays: usize = crawl.frontier.queues.cold.partitions.iter().map(|partition| partition.array.capacity()).sum();
    assert!(arrays <= 400 << 10, "{arrays}");
    crawl.run();
}

#[test]
fn random_pushes_takes_and_merges_lose_and_double_nothing() {
    for seed in 0..6 {
        let mut rng = fastrand::Rng::with_seed(seed);
        println!("seed {seed}");
        let mut options = small_options();
        options.active_hosts = rng.usize(1..30);
        options.buffer_urls = rng.usize(1..20);
        options.politeness.connections_per_host = rng.usize(1..3);
        let mut crawl = Crawl::new(options, |host| Site {
            feedback: |attempt| {
                if attempt == 0 { (Verdict::Retry, Some(Failure::Timeout), None) } else { (Verdict::Done, None, None) }
            },
            address: if host % 11 == 3 { Err(Failure::NoSuchHost) } else { Ok(host as u32 % 7) },
            ..plain(host)
        });
        for n in 0..1_500 {
            let host = rng.u64(..60) * rng.u64(..3);
            crawl.push(if rng.u8(..10) == 0 { private(host, n) } else { url(host, n, rng.u8(..4)) });
            if rng.u8(..8) == 0 {
                crawl.step();
            }
        }
        crawl.run();
        assert_eq!(crawl.out.len(), 1_500, "seed {seed}");
        assert!(crawl.gaps(ip_number).values().all(|&gap| gap >= MS * 250), "seed {seed}");
    }
}

/// Returns the time until five pages of each of sixty hosts are out, which come ten seconds after `wild` domains with
/// hosts without end, of a page each.
fn took_among(wild: u64) -> Duration {
    let options = FrontierOptions { partitions: 16, active_hosts: 256, per_domain_active_max: 32, ..small_options() };
    let uneven = |host| Site { duration: MS * (20 + host as u32 % 7 * 30), ..plain(host) };
    let mut crawl = Crawl::new(options, uneven);
    for n in 0..1_000 * wild {
        crawl.push(QueuedUrl { domain: fingerprint(5_000 + n % wild), ..url(n, 0, 1) });
    }
    crawl.run_until(START + S * 10);
    let start = crawl.clock.now();
    let ordinary = 100_000..100_060;
    for host in ordinary.clone() {
        (0..5).for_each(|page| crawl.push(QueuedUrl { domain: fingerprint(host), ..url(host, page, 1) }));
    }
    let mut left = 300;
    let mut seen = crawl.out.len();
    while left > 0 {
        crawl.step();
        left -= crawl.out[seen..].iter().filter(|(url, _)| ordinary.contains(&host_number(&url.url))).count();
        seen = crawl.out.len();
    }
    crawl.clock.now().since(start)
}

#[test]
fn s18_wildcard_domains_do_not_hold_up_the_others() {
    let (alone, among) = (took_among(0), took_among(12));
    assert!(among < alone * 5 / 4, "{among:?} instead of {alone:?}");
}

#[test]
fn a_url_in_a_tail_comes_out_although_other_partitions_never_run_dry() {
    let mut crawl = Crawl::new(small_options(), plain);
    let alone = QueuedUrl { domain: fingerprint(1 << 40), ..url(1 << 30, 0, 1) };
    let its_own = crawl.frontier.queues.cold.number_of(alone.domain);
    let elsewhere =
        (0_u64..).map(fingerprint).filter(|&domain| crawl.frontier.queues.cold.number_of(domain) != its_own);
    let others: Vec<_> = (0..20_000).zip(elsewhere).map(|(n, domain)| QueuedUrl { domain, ..url(n, 0, 1) }).collect();
    others.into_iter().for_each(|url| crawl.push(url));
    crawl.run_until(START + S * 5);
    crawl.push(alone.clone());
    crawl.run_until(START + S * 30);
    assert!(crawl.frontier.queued() > 15_000, "{}", crawl.frontier.queued());
    assert!(crawl.out.iter().any(|(url, _)| url.key == alone.key), "it still waits");
}

#[test]
fn s18_hosts_without_end_at_one_address_are_asked_for_as_fast_as_it_may_be_asked() {
    for domains in [10, 300] {
        let mut options = small_options();
        options.active_hosts = 256;
        let mut crawl = Crawl::new(options, |host| Site { address: Ok(1), ..plain(host) });
        for n in 0..20_000 {
            crawl.push(QueuedUrl { domain: fingerprint(5_000 + n % domains), ..url(n, 0, 1) });
        }
        // at first each domain is tried by as many hosts as it may have
        crawl.run_until(START + S * 60);
        let before = (crawl.requests.len(), crawl.resolved, crawl.worked);
        crawl.run_until(START + S * 180);
        // four requests a second, of which half are for rules
        let (requests, names) = (crawl.requests.len() - before.0, crawl.resolved - before.1);
        let jobs = crawl.worked - before.2;
        assert!(requests >= 450, "{requests} for {domains} domains");
        // then by one a minute
        let tried = 2 * domains as usize;
        assert!(names <= 3 * requests + tried, "{names} names for {requests} requests to {domains} domains");
        assert!(jobs <= 2 * requests + tried, "{jobs} jobs for {requests} requests to {domains} domains");
    }
}

#[test]
fn at_a_crowded_address_hosts_without_end_let_the_others_have_their_turn() {
    let options = FrontierOptions { active_hosts: 256, per_address_active_max: 16, ..small_options() };
    let mut crawl = Crawl::new(options, |host| Site { address: Ok(1), ..plain(host) });
    for host in 0..60 {
        (0..300).for_each(|page| crawl.push(QueuedUrl { domain: fingerprint(5_000 + host), ..url(host, page, 1) }));
    }
    crawl.run_until(START + S * 60);
    let late = QueuedUrl { domain: fingerprint(9_000), ..url(100, 0, 1) };
    crawl.push(late.clone());
    // a round of 60 hosts takes two minutes
    crawl.run_until(START + S * 600);
    assert!(crawl.out.iter().any(|(url, _)| url.key == late.key), "it has never had its turn");
    let mut asked: BTreeMap<u64, usize> = BTreeMap::new();
    crawl.requests.iter().for_each(|request| *asked.entry(request.host).or_default() += 1);
    assert_eq!(asked.len(), 61, "{asked:?}");
    let requests = crawl.requests.len();
    assert!(requests >= 2_350, "the address may be asked 2,400 times: {requests}");
    let pages = |host: u64| asked.get(&host).copied().unwrap_or(0);
    assert!((0..60).all(|host| pages(host) >= requests / 60 / 4), "{asked:?}");
}

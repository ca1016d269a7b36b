//! Budgets by supporters, round by round.

use super::*;
use crate::disk::SavedState;

fn options(budgets: RoundBudgets) -> FrontierOptions {
    let politeness = Politeness { delay_per_ip: Duration::ZERO, ..small_options().politeness };
    FrontierOptions { rounds: Some(budgets), politeness, ..small_options() }
}

fn few(pages_min: u64, pages_max: u64) -> RoundBudgets {
    RoundBudgets { pages_min, pages_max, ..RoundBudgets::default() }
}

fn domain(number: u64) -> Fingerprint {
    url(4 * number, 0, 1).domain
}

/// Runs to the end; pages of each domain by round.
fn run(crawl: &mut Crawl) -> BTreeMap<u32, BTreeMap<Fingerprint, u64>> {
    let mut pages: BTreeMap<u32, BTreeMap<Fingerprint, u64>> = BTreeMap::new();
    for _ in 0..200_000 {
        let before = crawl.out.len();
        crawl.step();
        let round = crawl.frontier.round().unwrap().0.number;
        for (url, _) in &crawl.out[before..] {
            *pages.entry(round).or_default().entry(url.domain).or_default() += 1;
        }
        if crawl.frontier.is_idle() {
            assert!(crawl.expected.is_empty());
            return pages;
        }
    }
    panic!("no end: {} queued, {:?}", crawl.frontier.queued(), crawl.frontier.round());
}

/// Reads what a cut has of all domains: supporters and pages.
fn domains(crawl: &mut Crawl) -> BTreeMap<Fingerprint, (u64, u64)> {
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    let mut found = BTreeMap::new();
    let mut each = |look: &DomainLook| {
        found.insert(look.domain, (look.round.supporters, look.pages));
    };
    let then = crawl.clock.now();
    let saved = SavedState::new(&cut.state, &ram);
    assert!(for_each_domain(&Disk::real(), crawl.dir.path(), saved, decode_rules, then, &mut each).unwrap());
    found
}

#[test]
fn what_exceeds_the_budget_of_a_round_rests_and_comes_in_later_ones() {
    let politeness = Politeness { delay_min: Duration::ZERO, ..options(few(3, 100)).politeness };
    let mut crawl = Crawl::new(FrontierOptions { politeness, ..options(few(3, 100)) }, plain);
    // a second worker would be idle, and begin a round
    crawl.slots = 1;
    for n in 0..20 {
        crawl.push(url(0, n, 1));
        crawl.push(url(4, n, 1));
        crawl.push(url(8, n, 1));
    }
    (0..50).for_each(|_| crawl.frontier.support(domain(1)).unwrap());
    crawl.frontier.note_seed(domain(2)).unwrap();
    let pages = run(&mut crawl);
    let of = |number| pages.values().map(|round| round.get(&domain(number)).copied().unwrap_or(0)).collect::<Vec<_>>();
    assert_eq!(of(0), [3, 3, 3, 3, 3, 3, 2], "nobody links to it");
    assert_eq!(of(1), [3, 17, 0, 0, 0, 0, 0], "what supporters are worth is known from the second round on");
    assert_eq!(of(2), [20, 0, 0, 0, 0, 0, 0], "a seed's");
    assert_eq!(domains(&mut crawl)[&domain(1)], (50, 20));
}

#[test]
fn rounds_and_supporters_hold_over_cuts_and_small_memory() {
    let seed = fastrand::u64(..);
    let mut rng = fastrand::Rng::with_seed(seed);
    for case in 0..6 {
        let options = FrontierOptions {
            active_hosts: [2, 5, 50][case % 3],
            buffer_urls: rng.usize(1..9),
            partitions: [1, 4][case % 2],
            memory: [1 << 20, 4 << 20][case % 2],
            ..options(few(rng.u64(1..4), 50))
        };
        let mut crawl = Crawl::new(options, plain);
        let mut supported: BTreeMap<Fingerprint, u64> = BTreeMap::new();
        let mut left: Vec<QueuedUrl> = (0..600).map(|n| url(rng.u64(0..60), n, 1)).collect();
        let mut used: BTreeMap<(u32, Fingerprint), u64> = BTreeMap::new();
        let mut ends: BTreeSet<Fingerprint> = BTreeSet::new();
        for _ in 0..400_000 {
            if rng.u8(0..4) == 0
                && let Some(url) = left.pop()
            {
                crawl.push(url);
            }
            if rng.u8(0..3) == 0 {
                let target = domain(rng.u64(0..30));
                crawl.frontier.support(target).unwrap();
                *supported.entry(target).or_default() += 1;
            }
            let before = crawl.out.len();
            crawl.step();
            let round = crawl.frontier.round().unwrap().0.number;
            for (url, _) in &crawl.out[before..] {
                ends.insert(url.key);
                *used.entry((round, url.domain)).or_default() += 1;
            }
            if rng.u8(0..100) == 0 {
                crawl.work();
                let mut ram = Vec::new();
                let cut = crawl.frontier.cut(&mut ram).unwrap();
                let round = crawl.frontier.round();
                crawl.reopen(&cut.state, &ram, true);
                let again = crawl.frontier.round().unwrap().0;
                assert_eq!(Some((again.number, again.limit)), round.map(|(round, _)| (round.number, round.limit)));
            }
            if left.is_empty() && crawl.frontier.is_idle() {
                break;
            }
        }
        assert!(crawl.frontier.is_idle(), "case {case}, seed {seed}: {} queued", crawl.frontier.queued());
        assert!(crawl.expected.is_empty(), "case {case}, seed {seed}");
        let found: BTreeMap<Fingerprint, u64> =
            domains(&mut crawl).into_iter().map(|(domain, (supporters, _))| (domain, supporters)).collect();
        for (target, count) in supported {
            assert_eq!(found.get(&target), Some(&count), "case {case}, seed {seed}");
        }
        // a page that a cut had in flight is fetched once more, and counts when it comes
        let budgets = crawl.options.rounds.unwrap();
        let most = used.values().max().copied().unwrap_or(0);
        assert!(most <= budgets.pages_max, "case {case}, seed {seed}: {most}");
    }
}

#[test]
fn a_domain_of_hosts_without_end_has_as_many_robots_txt_as_pages_in_a_round() {
    let mut crawl = Crawl::new(options(few(5, 100)), plain);
    let wild = |host: u64| QueuedUrl { domain: domain(0), ..url(host, 0, 1) };
    (0..200).for_each(|host| crawl.push(wild(host)));
    let mut asked: BTreeMap<u32, u64> = BTreeMap::new();
    for _ in 0..100_000 {
        let before = crawl.requests.len();
        crawl.step();
        let round = crawl.frontier.round().unwrap().0.number;
        let robots = crawl.requests[before..].iter().filter(|request| request.robots).count() as u64;
        *asked.entry(round).or_default() += robots;
        if crawl.frontier.is_idle() {
            break;
        }
    }
    assert!(crawl.frontier.is_idle() && crawl.expected.is_empty(), "{} queued", crawl.frontier.queued());
    assert_eq!((asked.len(), asked.values().max()), (40, Some(&5)), "{asked:?}");
}

#[test]
fn a_slow_host_does_not_hold_up_the_next_round() {
    let mut crawl =
        Crawl::new(options(few(2, 1_000)), |host| Site { robots: Some((host == 4).then_some(S * 20)), ..plain(host) });
    (0..100).for_each(|n| crawl.push(url(4, n, 1)));
    (0..10).for_each(|n| crawl.push(url(0, n, 1)));
    crawl.frontier.note_seed(domain(1)).unwrap();
    let pages = run(&mut crawl);
    let rounds = pages.iter().filter(|(_, of)| of.contains_key(&domain(0))).count();
    assert_eq!(rounds, 5, "two pages a round: {pages:?}");
    let last = crawl.requests.iter().filter(|request| request.host == 0).map(|request| request.end).max().unwrap();
    assert!(last < START + S * 15, "the slow one takes half an hour");
}

#[test]
fn what_is_on_its_way_holds_up_the_next_round_for_a_hundredth_of_this_one() {
    let politeness = Politeness { delay_min: Duration::ZERO, ..options(few(2, 100)).politeness };
    let mut crawl = Crawl::new(FrontierOptions { politeness, ..options(few(2, 100)) }, plain);
    for host in 0..100 {
        (0..40).for_each(|n| crawl.push(url(4 * host, n, 1)));
    }
    // some key waits for a merge that nobody makes
    crawl.is_fed = true;
    run(&mut crawl);
    let (mut busy_until, mut idle) = (crawl.requests[0].start, Duration::ZERO);
    for request in &crawl.requests {
        idle += request.start.since(busy_until);
        busy_until = busy_until.max(request.end);
    }
    let all = busy_until.since(crawl.requests[0].start);
    assert!(all > MS * 400 && idle < all / 50, "idle for {idle:?} of {all:?}");
}

#[test]
fn a_domain_of_many_hosts_without_supporters_has_the_pages_of_one_host_at_its_delay() {
    let mut crawl = Crawl::new(options(few(10, 1_000)), plain);
    let wild = |host: u64, n| QueuedUrl { domain: domain(0), ..url(host, n, 1) };
    (0..20).for_each(|host| (0..10).for_each(|n| crawl.push(wild(host, n))));
    run(&mut crawl);
    let last = crawl.requests.iter().map(|request| request.end).max().unwrap();
    assert!(last >= START + S * 190, "two hundred pages, one a second: {:?}", last.since(START));
    assert!(last <= START + S * 220, "and no fewer: {:?}", last.since(START));
}

#[test]
fn rounds_that_a_clock_began_that_was_ahead_begin_again_after_a_minute() {
    for days in [1, 365, 3_650] {
        let mut crawl = Crawl::new(options(few(3, 100)), plain);
        let now = crawl.clock.now();
        crawl.clock.advance(S * 86_400 * days);
        crawl.frontier.begin_round(crawl.clock.now());
        for n in 0..20 {
            crawl.push(url(0, n, 1));
        }
        let mut ram = Vec::new();
        let cut = crawl.frontier.cut(&mut ram).unwrap();
        crawl.clock = ManualClock::new(now);
        crawl.reopen(&cut.state, &ram, true);
        assert_eq!(crawl.frontier.round().unwrap().0.begun, now, "{days} days");
        run(&mut crawl);
        assert!(crawl.clock.now() < now + S * 3_600, "{days} days");
    }
}

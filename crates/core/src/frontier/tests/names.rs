//! Origins of one host name: one delay, one limit of connections, one rest.

use super::*;
use crate::frontier::Asked;
use crate::frontier::ledger::Turn;

/// Host 501 and so on are other origins of the name of host 1 and so on.
const ORIGINS: u64 = 500;

/// URL number `n` of another origin of the name of `host`; there are as many as wanted.
fn other(host: u64, origin: u64, n: u64) -> QueuedUrl {
    let first = url(host, 0, 1);
    QueuedUrl { host: first.host, domain: first.domain, ..url(host + ORIGINS * origin, n, 1) }
}

fn name(request: &Request) -> u64 {
    request.host % ORIGINS
}

/// The least time from the end of a request of a name to the start of the next one.
fn least_pause(requests: &[Request]) -> Duration {
    let pause = |pair: &[Request]| pair[1].start.as_signed_ms() - pair[0].end.as_signed_ms();
    let least = requests.windows(2).map(pause).min().unwrap();
    Duration::from_millis(u64::try_from(least).unwrap_or(0))
}

trait Signed {
    fn as_signed_ms(&self) -> i64;
}

impl Signed for Time {
    fn as_signed_ms(&self) -> i64 {
        i64::try_from(self.ms()).unwrap()
    }
}

#[test]
fn n15_http_and_https_of_a_host_share_its_delay_and_its_connection() {
    let mut crawl = Crawl::new(small_options(), |host| Site { duration: S * 3, address: Ok(1), ..plain(host) });
    (0..10).for_each(|n| crawl.push(url(1, n, 1)));
    (0..10).for_each(|n| crawl.push(other(1, 1, n)));
    crawl.run();
    assert_eq!(crawl.requests.len(), 22, "robots.txt stays one for each origin");
    assert_eq!(least_pause(&crawl.requests), S);
    // and no time is lost over it
    assert_eq!(crawl.clock.now().since(START), MS * 5 + (MS * 10 + S) * 2 + (S * 3 + S) * 19 + S * 3);
}

#[test]
fn n15_several_connections_are_those_of_the_name() {
    let mut options = small_options();
    options.politeness.connections_per_host = 2;
    let mut crawl = Crawl::new(options, |host| Site { duration: S * 10, ..plain(host) });
    (0..3).for_each(|origin| (0..4).for_each(|n| crawl.push(other(1, origin, n))));
    crawl.run();
    let running = |at: Time| crawl.requests.iter().filter(|r| r.start <= at && at < r.end).count();
    assert_eq!(crawl.requests.iter().map(|request| running(request.start)).max(), Some(2));
    assert!(crawl.gaps(name)[&1] >= S);
}

#[test]
fn n15_a_crawl_delay_of_one_origin_is_kept_from_the_others_requests_on_too() {
    let mut crawl =
        Crawl::new(small_options(), |host| Site { robots: Some((host >= ORIGINS).then_some(S * 7)), ..plain(host) });
    (0..6).for_each(|n| crawl.push(url(1, n, 1)));
    (0..6).for_each(|n| crawl.push(other(1, 1, n)));
    crawl.run();
    assert_eq!(crawl.out.len(), 12);
    for pair in crawl.requests.windows(2) {
        let asked = pair.iter().any(|request| request.host >= ORIGINS && !request.robots);
        let owed = if asked { S * 7 } else { S };
        assert!(pair[1].start.since(pair[0].end) >= owed, "{pair:?}");
    }
}

#[test]
fn n15_a_rest_that_one_origin_asks_for_is_that_of_the_name_also_after_a_kill() {
    let site = |host| Site {
        feedback: |attempt| {
            if attempt == 0 { (Verdict::Retry, None, Some(S * 500)) } else { (Verdict::Done, None, None) }
        },
        bad: |url| url.ends_with("page-3.html"),
        ..plain(host)
    };
    for killed in [false, true] {
        let mut crawl = Crawl::new(small_options(), site);
        (0..8).for_each(|n| crawl.push(url(1, n, 1)));
        (10..18).for_each(|n| crawl.push(other(1, 1, n)));
        let mut ram = Vec::new();
        let cut = crawl.frontier.cut(&mut ram).unwrap();
        let rests = |crawl: &Crawl| crawl.attempts.contains_key(&url(1, 3, 1).key);
        while !rests(&crawl) && crawl.step() {}
        let until = crawl.clock.now() + S * 500;
        let told = crawl.frontier.queues.pacing.take_long_backoffs();
        assert_eq!(told, [(url(1, 0, 1).host, until)]);
        if killed {
            for (url, _) in std::mem::take(&mut crawl.out) {
                crawl.expected.insert(url.key);
            }
            crawl.reopen(&cut.state, &ram, false);
            let now = crawl.clock.now();
            told.iter().for_each(|&(key, until)| crawl.frontier.hold(key, until, now));
        }
        crawl.requests.clear();
        crawl.run();
        assert!(crawl.requests.iter().all(|request| request.start >= until), "killed {killed}: {:?}", crawl.requests);
    }
}

#[test]
fn n15_the_delay_of_a_name_holds_over_a_clean_and_an_unclean_restart() {
    for (clean, seconds) in (20..40).flat_map(|seconds| [(true, seconds), (false, seconds)]) {
        let mut crawl = Crawl::new(small_options(), |host| Site { robots: Some(Some(S * 3)), ..plain(host) });
        (0..20).for_each(|n| crawl.push(url(1, n, 1)));
        (0..20).for_each(|n| crawl.push(other(1, 1, n)));
        crawl.run_until(START + S * seconds / 2);
        let mut ram = Vec::new();
        let cut = crawl.frontier.cut(&mut ram).unwrap();
        crawl.out.clear();
        crawl.clock.advance(MS * 40);
        for request in &mut crawl.requests {
            request.end = request.end.min(crawl.clock.now());
        }
        crawl.reopen(&cut.state, &ram, clean);
        while !crawl.frontier.is_idle() && crawl.step() {}
        for pair in crawl.requests.windows(2) {
            let owed = if pair.iter().any(|request| request.robots) { S } else { S * 3 };
            assert!(pair[1].start.since(pair[0].end) >= owed, "clean {clean}, {seconds}: {pair:?}");
        }
    }
}

#[test]
fn n15_the_delay_of_a_name_holds_while_its_origins_come_and_go() {
    let mut options = small_options();
    options.active_hosts = 2;
    let mut crawl = Crawl::new(options, plain);
    for n in 0..6 {
        for host in [1, 4, 8, 12] {
            (0..3).for_each(|origin| crawl.push(other(host, origin, n)));
        }
    }
    crawl.run();
    assert_eq!(crawl.out.len(), 72);
    for host in [1, 4, 8, 12] {
        let requests: Vec<_> = crawl.requests.iter().filter(|request| name(request) == host).copied().collect();
        assert!(least_pause(&requests) >= S, "host {host}: {:?}", least_pause(&requests));
    }
}

#[test]
fn n15_many_ports_of_a_name_have_their_turns() {
    let mut crawl = Crawl::new(FrontierOptions { active_hosts: 1_000, ..small_options() }, plain);
    (0..200).for_each(|origin| (0..3).for_each(|n| crawl.push(other(1, origin, n))));
    crawl.run();
    assert_eq!(crawl.requests.len(), 200 + 600);
    assert_eq!(least_pause(&crawl.requests), S);
    let first = |origin: u64| crawl.requests.iter().position(|request| request.host == 1 + ORIGINS * origin);
    let late = (0..200).filter_map(first).max().unwrap();
    assert!(late < 210, "nobody waits for the end of others: {late}");
    let span = crawl.clock.now().since(START);
    assert!(span < S * 830, "the name is used whenever it is free: {span:?}");
}

#[test]
fn n15_a_robots_txt_that_moves_to_another_origin_of_the_name_is_followed() {
    let mut crawl = Crawl::new(small_options(), plain);
    crawl.push(url(1, 0, 1));
    let (host, there) = loop {
        crawl.clock.advance(MS * 5);
        let now = crawl.clock.now();
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => {
                let answer = NameAnswer::Found([IpAddr::V4(Ipv4Addr::LOCALHOST)].into());
                crawl.frontier.resolved(host, answer, now + S * 600, now).unwrap();
            }
            Some(Task::Robots { host, .. }) => break (host, other(1, 1, 0)),
            task => assert!(task.is_none(), "{task:?}"),
        }
    };
    let now = crawl.clock.now();
    let asked = Asked {
        origin: there.origin,
        name: there.host,
        is_foreign: false,
        politeness: crawl.frontier.queues.pacing.politeness().clone(),
    };
    let begin =
        |crawl: &mut Crawl, now| crawl.frontier.begin_prerequisite(&asked, IpAddr::V4(Ipv4Addr::LOCALHOST), now);
    assert!(begin(&mut crawl, now).is_err(), "one request to the name is in flight");
    crawl.frontier.robots_moved(host, MS * 10, now);
    assert_eq!(begin(&mut crawl, now), Err(now + S), "the delay of the name");
    assert_eq!(begin(&mut crawl, now + S), Ok(()));
    crawl.frontier.end_prerequisite(&asked, MS * 10, now + S);
    let rules = Arc::new(LongRules(TestRules(None), 0));
    let answer = RobotsAnswer::Rules { rules, expires: now + S * 600, duration: MS * 10, bytes: 0 };
    crawl.frontier.robots(host, answer, now + S).unwrap();
    assert!(crawl.frontier.next(now + S).unwrap().is_none());
    assert!(matches!(crawl.frontier.next(now + S * 2).unwrap(), Some(Task::Fetch { .. })));
}

#[test]
fn a_host_of_another_shard_is_asked_by_each_machine_so_much_more_seldom() {
    let ledger = Arc::<Ledger>::default();
    let mut crawl = Crawl::new(FrontierOptions { ledger: Some(ledger.clone()), ..small_options() }, plain);
    let now = crawl.clock.now();
    let (there, ip) = (url(1, 0, 1), IpAddr::V4(Ipv4Addr::LOCALHOST));
    let foreign = Asked {
        origin: there.origin,
        name: there.host,
        is_foreign: true,
        politeness: crawl.frontier.queues.pacing.politeness().clone(),
    };
    // machines, and the delays that are between two requests of each, from the moment on at which there are so many
    let mut at = now;
    for (machines, delays) in [(1, 1), (3, 3), (2, 2)] {
        ledger.set_machines(machines);
        if let Err(later) = crawl.frontier.begin_prerequisite(&foreign, ip, at) {
            at = later;
            assert_eq!(crawl.frontier.begin_prerequisite(&foreign, ip, at), Ok(()), "{machines}");
        }
        crawl.frontier.end_prerequisite(&foreign, MS * 10, at);
        let again = crawl.frontier.begin_prerequisite(&foreign, ip, at).unwrap_err();
        assert_eq!(again, at + S * delays, "{machines}");
        at = again;
    }
    let own = Asked { is_foreign: false, ..foreign };
    assert_eq!(crawl.frontier.begin_prerequisite(&own, ip, at), Ok(()));
    crawl.frontier.end_prerequisite(&own, MS * 10, at);
    assert_eq!(crawl.frontier.begin_prerequisite(&own, ip, at), Err(at + S));
}

/// Returns the time until which the ledger of `crawl` keeps a frontier from `host` that knows nothing of it.
fn kept_from(crawl: &Crawl, host: u64, now: Time) -> Option<Time> {
    let (origin, ledger) = (url(host, 0, 1).origin, crawl.options.ledger.as_ref().unwrap());
    let (name, address) = (Fingerprint::from_bits(host), IpAddr::V4(Ipv4Addr::from(1 << 24 | host as u32)));
    let turn = Turn { origin, name, connections: 1, delay: S, address, delay_per_ip: Duration::ZERO };
    ledger.take(turn, now).err()
}

#[test]
fn rests_that_only_a_checkpoint_has_are_in_the_ledger_of_the_next_process() {
    // few places in memory, and hosts that break every connection: most of them rest on the disk side
    let site = |host| Site { feedback: |_| (Verdict::Retry, Some(Failure::Connect), Some(S * 600)), ..plain(host) };
    let options = || FrontierOptions { active_hosts: 4, ledger: Some(Arc::default()), ..small_options() };
    let mut crawl = Crawl::new(options(), site);
    (0..40).for_each(|host| (0..3).for_each(|n| crawl.push(url(host, n, 1))));
    crawl.run_until(START + S * 60);
    crawl.work();
    let (mut ram, now) = (Vec::new(), crawl.clock.now());
    let state = crawl.frontier.cut(&mut ram).unwrap().state;
    let resting = |crawl: &Crawl| (0..40).map(|host| kept_from(crawl, host, now)).collect::<Vec<_>>();
    let before = resting(&crawl);
    let on_disk = (0..40)
        .filter(|&host| before[host as usize].is_some() && !crawl.frontier.active().knows(url(host, 0, 1).origin));
    assert!(on_disk.count() > 10, "{before:?}");
    crawl.options.ledger = options().ledger;
    crawl.reopen(&state, &ram, true);
    assert_eq!(resting(&crawl), before);
}

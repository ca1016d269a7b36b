//! Hosts with several addresses: where the next request goes, and which address rests.

use super::*;

const DEAD: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
const LIVE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 2));

/// The next request of the only host, answered from `answered_from` or failed; says where it was to go first and when.
fn request(crawl: &mut Crawl, answered_from: Option<IpAddr>) -> (IpAddr, Time) {
    loop {
        let now = crawl.clock.now();
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => {
                let answer = NameAnswer::Found([DEAD, LIVE].into());
                crawl.frontier.resolved(host, answer, now + S * 86_400, now).unwrap();
            }
            Some(Task::Robots { host, addresses, .. }) => {
                let rules = Arc::new(TestRules(None));
                let answer = RobotsAnswer::Rules { rules, expires: now + S * 86_400, duration: MS, bytes: 100 };
                answered_from.into_iter().for_each(|ip| crawl.frontier.answered_from(host, ip, now, now));
                crawl.frontier.robots(host, answer, now).unwrap();
                return (addresses[0], now);
            }
            Some(Task::Fetch { host, addresses, .. }) => {
                let failure = answered_from.is_none().then_some(Failure::Connect);
                let feedback = Feedback {
                    is_turned_away: false,
                    started: now,
                    duration: MS,
                    bytes: 100,
                    blame: Blame::Nobody,
                    failure,
                    retry_after: None,
                    address: answered_from,
                    counts_as_page: failure.is_none(),
                    may_lower_delay: failure.is_none(),
                };
                crawl.frontier.done(host, &feedback, None, now).unwrap();
                return (addresses[0], now);
            }
            Some(Task::Drop { url, reason }) => panic!("{url:?}: {reason:?}"),
            None => crawl.clock.advance(crawl.frontier.next_due().unwrap().since(now)),
        }
    }
}

#[test]
fn the_address_that_answers_is_the_first_one_and_rests_for_all_its_hosts() {
    let mut options = small_options();
    options.politeness.delay_per_ip = S * 5;
    let mut crawl = Crawl::new(options, plain);
    (0..8).for_each(|n| crawl.push(url(1, n, 1)));
    // the first request tried a dead address and was answered by the second one
    assert_eq!(request(&mut crawl, Some(LIVE)).0, DEAD);
    let mut before = crawl.clock.now();
    for _ in 0..3 {
        let (first, start) = request(&mut crawl, Some(LIVE));
        assert_eq!(first, LIVE);
        assert!(start.since(before) >= S * 5, "the address that answered has its delay");
        before = start;
    }
    // when it fails, the other one has its turn: it has rested for longer
    assert_eq!(request(&mut crawl, None).0, LIVE);
    assert_eq!(request(&mut crawl, Some(DEAD)).0, DEAD);
    assert_eq!(request(&mut crawl, Some(DEAD)).0, DEAD);
}

//! Hosts that stay silent: those for which there is no place wait in a line, and nobody looks at each of them.

use super::*;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));

/// Begins what may begin, with `room` for suspects: the hosts whose robots.txt is asked for.
fn begin(crawl: &mut Crawl, mut room: usize) -> Vec<(HostId, Knock)> {
    let mut begun = Vec::new();
    let now = crawl.clock.now();
    loop {
        crawl.frontier.let_suspects_in(room);
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => {
                let answer = NameAnswer::Found([ADDRESS].into());
                crawl.frontier.resolved(host, answer, now + S * 86_400, now).unwrap();
            }
            Some(Task::Robots { host, .. }) => {
                let knock = crawl.frontier.knock_of(host);
                room -= usize::from(knock == Knock::Suspect);
                begun.push((host, knock));
            }
            Some(Task::Fetch { .. }) => {}
            Some(Task::Drop { url, reason }) => panic!("{url:?}: {reason:?}"),
            None => return begun,
        }
    }
}

#[test]
fn n13_hosts_without_a_place_wait_in_a_line_and_come_up_when_there_are_places() {
    let mut options = small_options();
    options.politeness.delay_per_ip = Duration::ZERO;
    let mut crawl = Crawl::new(options, plain);
    (0..8).for_each(|host| crawl.push(url(host, 0, 1)));
    let first = begin(&mut crawl, 0);
    assert_eq!(first.len(), 8);
    crawl.clock.advance(S);
    (8..40).for_each(|host| crawl.push(url(host, 0, 1)));
    let mut looks = 0;
    let since = crawl.clock.now();
    while crawl.clock.now() < since + S * 5 {
        assert_eq!(begin(&mut crawl, 0), []);
        assert_eq!((crawl.frontier.suspects.len(), crawl.frontier.schedule.len()), (32, 1), "one entry for all");
        crawl.clock.advance(crawl.frontier.next_due().unwrap().since(crawl.clock.now()));
        looks += 1;
    }
    assert!(looks <= 60, "{looks} looks in 5 s");
    // places become free
    let suspects = begin(&mut crawl, 3);
    assert_eq!((suspects.len(), crawl.frontier.suspects.len()), (3, 29));
    assert!(suspects.iter().all(|&(_, knock)| knock == Knock::Suspect));
    // or one answers, and the others are no suspects for the moment
    let now = crawl.clock.now();
    let rules = Arc::new(TestRules(None));
    let answer = RobotsAnswer::Rules { rules, expires: now + S * 86_400, duration: S, bytes: 100 };
    crawl.frontier.heard(first[0].0);
    crawl.frontier.robots(first[0].0, answer, now).unwrap();
    crawl.clock.advance(MS * 200);
    let strangers = begin(&mut crawl, 0);
    assert!(strangers.iter().all(|&(_, knock)| knock == Knock::Stranger), "{strangers:?}");
    assert!(!strangers.is_empty() && crawl.frontier.suspects.len() < 29, "{strangers:?}");
}

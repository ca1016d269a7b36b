//! Hosts that stay silent: those for which there is no place wait in a line, and nobody looks at each of them.

use super::*;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));

/// Begins what may begin, with `room` for suspects: the hosts whose robots.txt is asked for.
fn begin(crawl: &mut Crawl, mut room: usize) -> Vec<(HostId, Contact)> {
    let mut begun = Vec::new();
    let now = crawl.clock.now();
    loop {
        crawl.frontier.pacing_mut().let_suspects_in(room);
        match crawl.frontier.next(now).unwrap() {
            Some(Task::Resolve { host, .. }) => {
                let answer = NameAnswer::Found([ADDRESS].into());
                crawl.frontier.resolved(host, answer, now + S * 86_400, now).unwrap();
            }
            Some(Task::Robots { host, .. }) => {
                let contact = crawl.frontier.active().contact_of(host);
                room -= usize::from(contact == Contact::Suspect);
                begun.push((host, contact));
            }
            Some(Task::Fetch { .. }) => {}
            Some(Task::Drop { url, reason }) => panic!("{url:?}: {reason:?}"),
            None => return begun,
        }
    }
}

/// Forty hosts at one address, of which this many are asked before any is answered.
fn forty() -> (Crawl, Vec<HostId>) {
    let mut options = small_options();
    options.politeness.delay_per_ip = Duration::ZERO;
    let mut crawl = Crawl::new(options, plain);
    (0..40).for_each(|host| crawl.push(url(host, 0, 1)));
    let first = begin(&mut crawl, 100);
    assert!(first.iter().all(|&(_, contact)| contact == Contact::First), "{first:?}");
    assert_eq!((first.len(), crawl.frontier.queues.pacing.wait_queues.suspects()), (8, 32));
    (crawl, first.into_iter().map(|(host, _)| host).collect())
}

fn answer(crawl: &mut Crawl, hosts: &[HostId]) {
    let now = crawl.clock.now();
    for &host in hosts {
        let rules = Arc::new(TestRules(None));
        let answer = RobotsAnswer::Rules { rules, expires: now + S * 86_400, duration: S, bytes: 100 };
        crawl.frontier.note_answer(host);
        crawl.frontier.robots(host, answer, now).unwrap();
    }
}

#[test]
fn n13_an_answer_at_an_address_lets_two_more_first_contacts_begin_there() {
    let (mut crawl, first) = forty();
    answer(&mut crawl, &first[..3]);
    let more = begin(&mut crawl, 0);
    assert!(more.iter().all(|&(_, contact)| contact == Contact::First), "{more:?}");
    assert_eq!((more.len(), crawl.frontier.queues.pacing.wait_queues.suspects()), (6, 26));
}

#[test]
fn n13_hosts_without_a_place_wait_in_a_line_and_come_up_when_there_are_places() {
    let (mut crawl, first) = forty();
    let mut looks = 0;
    while crawl.clock.now() < START + S * 5 {
        assert_eq!(begin(&mut crawl, 0), []);
        assert_eq!(
            (crawl.frontier.queues.pacing.wait_queues.suspects(), crawl.frontier.queues.pacing.wait_queues.entries()),
            (32, 1),
            "one entry for all"
        );
        crawl.clock.advance(crawl.frontier.next_due().unwrap().since(crawl.clock.now()));
        looks += 1;
    }
    assert!(looks <= 60, "{looks} looks in 5 s");
    // places become free
    let suspects = begin(&mut crawl, 3);
    assert!(suspects.iter().all(|&(_, contact)| contact == Contact::Suspect), "{suspects:?}");
    assert_eq!((suspects.len(), crawl.frontier.queues.pacing.wait_queues.suspects()), (3, 29));
    // or others answer: eleven were in progress, sixteen may be
    answer(&mut crawl, &first);
    let first_contacts = begin(&mut crawl, 0);
    assert!(first_contacts.iter().all(|&(_, contact)| contact == Contact::First), "{first_contacts:?}");
    assert_eq!((first_contacts.len(), crawl.frontier.queues.pacing.wait_queues.suspects()), (13, 16));
}

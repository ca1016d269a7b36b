//! Hours in which hosts are asked, in virtual time: requests, the disk side, restarts and other settings.

use super::*;
use crate::frontier::Asked;
use crate::hours::Hours;

/// 14:00 to 15:00 UTC; the crawls begin at 08:00.
const AFTERNOON: &str = "15:00-16:00 Europe/Berlin";

fn hours(text: &str) -> Option<Arc<Hours>> {
    Some(Arc::new(text.parse().unwrap()))
}

fn options(text: &str) -> FrontierOptions {
    let politeness = Politeness { hours: hours(text), ..small_options().politeness };
    FrontierOptions { politeness, ..small_options() }
}

/// Hours for every other host, by its number.
#[derive(Debug)]
struct OddHosts(Arc<Treatment>);

impl OddHosts {
    fn closed() -> Option<Arc<dyn Treatments>> {
        let treatment = Treatment { politeness: options(AFTERNOON).politeness, budget: Budget::UNLIMITED };
        Some(Arc::new(OddHosts(Arc::new(treatment))))
    }
}

impl Treatments for OddHosts {
    fn of(&self, host: &str) -> Option<Arc<Treatment>> {
        (host_number(host) % 2 == 1).then(|| self.0.clone())
    }

    fn delay_max(&self) -> Duration {
        Duration::ZERO
    }

    fn as_json(&self) -> &str {
        "{}"
    }
}

/// Checks that nothing was asked of the hosts outside of the hours.
fn assert_kept(crawl: &Crawl, is_limited: fn(u64) -> bool, text: &str) {
    let hours = hours(text).unwrap();
    let early = crawl.requests.iter().find(|made| is_limited(made.host) && hours.opens(made.start) != made.start);
    assert!(early.is_none(), "{early:?}");
}

#[test]
fn hosts_are_asked_within_their_hours_alone_and_what_is_in_flight_is_finished() {
    let slow = |host| Site { duration: S * 50, ..plain(host) };
    let mut crawl = Crawl::new(options(AFTERNOON), slow);
    (0..300).for_each(|n| crawl.push(url(n % 3, n, 1)));
    crawl.run();
    assert_kept(&crawl, |_| true, AFTERNOON);
    let days = crawl.clock.now().since(START).as_secs() / 86_400;
    assert_eq!(
        (days, crawl.requests[0].start),
        (1, START + S * 3_600 * 6 + MS * 5),
        "they begin with the hour and a name"
    );
    let is_late = |made: &&Request| made.end > START + S * 3_600 * 7 && made.start < START + S * 3_600 * 7;
    assert!(crawl.requests.iter().any(|made| is_late(&made)), "one was in flight at the end of the first");
}

#[test]
fn hosts_without_hours_go_on_meanwhile_and_all_of_them_find_places() {
    let treatments = OddHosts::closed();
    let mut crawl = Crawl::new(FrontierOptions { treatments, active_hosts: 5, ..small_options() }, plain);
    (0..400).for_each(|n| crawl.push(url(n % 80, n, 1)));
    crawl.run_until(START + S * 3_600);
    assert_eq!(crawl.out.len(), 200, "those without hours are done");
    let worked = crawl.worked;
    crawl.run_until(START + S * 3_600 * 5);
    assert!(crawl.worked - worked < 20, "nobody looks again and again: {}", crawl.worked - worked);
    crawl.run();
    assert_kept(&crawl, |host| host % 2 == 1, AFTERNOON);
    assert!(crawl.clock.now().since(START) < S * 3_600 * 7);
}

#[test]
fn more_hosts_than_places_wait_for_the_hours_of_all_without_a_look_at_each() {
    let mut crawl = Crawl::new(FrontierOptions { active_hosts: 5, ..options(AFTERNOON) }, plain);
    (0..400).for_each(|n| crawl.push(url(n % 80, n, 1)));
    crawl.run_until(START + S * 3_600 * 5);
    assert!(crawl.requests.is_empty() && crawl.worked < 30, "{} jobs", crawl.worked);
    crawl.run();
    assert_kept(&crawl, |_| true, AFTERNOON);
}

#[test]
fn other_hours_hold_at_once_and_after_a_restart() {
    let mut crawl = Crawl::new(options(AFTERNOON), plain);
    (0..30).for_each(|n| crawl.push(url(n % 3, n, 1)));
    crawl.dispatch();
    assert!(crawl.requests.is_empty());
    let next = crawl.frontier.activity(crawl.clock.now(), 1)[0].next;
    assert_eq!(next, Some(START + S * 3_600 * 6));
    let rests = crawl.frontier.active().resting(crawl.clock.now(), 1);
    assert!(rests.hosts == 3 && rests.others == 0 && rests.longest[0].is_closed, "{rests:?}");
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    crawl.options.politeness.hours = hours("09:10-09:20 Europe/Berlin");
    let reopened = crawl.options.politeness.clone();
    crawl.frontier.reconfigure(reopened, crawl.options.budget, None, crawl.options.give_up);
    let next = crawl.frontier.activity(crawl.clock.now(), 1)[0].next;
    assert_eq!(next, Some(START + S * 600), "the settings are others");
    crawl.options.politeness.hours = None;
    crawl.reopen(&cut.state, &ram, true);
    crawl.run();
    assert!(crawl.clock.now().since(START) < S * 3_600, "there are no hours any more");
}

#[test]
fn what_is_asked_for_the_sake_of_another_host_waits_for_the_hours_too() {
    let mut crawl = Crawl::new(options(AFTERNOON), plain);
    let (there, ip, now) = (url(1, 0, 1), IpAddr::V4(Ipv4Addr::LOCALHOST), crawl.clock.now());
    let politeness = crawl.options.politeness.clone();
    let asked = Asked { origin: there.origin, name: there.host, is_foreign: false, politeness };
    let opens = now + S * 3_600 * 6;
    assert_eq!(crawl.frontier.begin_prerequisite(&asked, ip, now), Err(opens));
    let pace = RequisitePace { delay: S, connections: 2 };
    assert_eq!(crawl.frontier.begin_requisite(&asked, ip, pace, now), Err(opens));
    assert_eq!(crawl.frontier.begin_prerequisite(&asked, ip, opens), Ok(()));
}

//! A look beside the frontier agrees with what comes out of it.

use super::*;
use crate::disk::{Removal, SavedState};
use crate::frontier::state::FrontierState;

/// A cut that was made.
#[derive(Clone)]
struct Saved {
    state: FrontierState,
    ram: Vec<u8>,
}

impl Saved {
    fn state(&self) -> SavedState<'_, FrontierState> {
        SavedState::new(&self.state, &self.ram)
    }
}

/// Makes a cut of `crawl` as it is now, and takes it for durable.
fn cut(crawl: &mut Crawl) -> Saved {
    let mut ram = Vec::new();
    let cut = crawl.frontier.cut(&mut ram).unwrap();
    Removal::new(&Disk::real(), cut.superseded).run().unwrap();
    Saved { state: cut.state, ram }
}

fn look_at(crawl: &Crawl, saved: &Saved, url: &QueuedUrl) -> Look {
    let wanted = Wanted { key: url.key, origin: url.origin, host: url.host, domain: url.domain };
    look(&Disk::real(), crawl.dir.path(), saved.state(), wanted, decode_rules, crawl.clock.now()).unwrap()
}

#[test]
fn every_queued_url_is_found_with_its_place_and_no_other_is() {
    let mut crawl = Crawl::new(small_options(), plain);
    let urls: Vec<QueuedUrl> = (0..4_000).map(|n| url(n % 130, n, (n % 5) as u8)).collect();
    let mut kinds = BTreeSet::new();
    for round in 0..4 {
        urls[round * 1_000..(round + 1) * 1_000].iter().for_each(|url| crawl.push(url.clone()));
        let until = crawl.clock.now() + S * 5;
        crawl.run_until(until);
        let saved = cut(&mut crawl);
        let mut places: BTreeMap<Fingerprint, Vec<u64>> = BTreeMap::new();
        for url in urls[..(round + 1) * 1_000].iter().step_by(7) {
            let look = look_at(&crawl, &saved, url);
            assert_eq!(look.queued.is_some(), crawl.expected.contains(&url.key), "round {round}: {url:?}");
            let Some(queued) = look.queued else { continue };
            assert_eq!(queued.url, *url);
            assert!(queued.before < look.urls, "{queued:?} of {}", look.urls);
            let of_host = urls.iter().filter(|other| other.origin == url.origin && crawl.expected.contains(&other.key));
            assert_eq!(look.urls, of_host.count() as u64, "round {round}");
            kinds.insert(format!("{:?}", queued.place));
            places.entry(url.origin).or_default().push(queued.before);
        }
        for mut before in places.into_values() {
            before.sort_unstable();
            assert!(before.is_sorted_by(|a, b| a < b), "two URLs in one place: {before:?}");
        }
    }
    assert!(kinds.len() >= 2, "{kinds:?}");
    crawl.run();
    let saved = cut(&mut crawl);
    let look = look_at(&crawl, &saved, &urls[5]);
    assert_eq!((look.queued, look.urls), (None, 0));
}

#[test]
fn urls_that_come_before_are_those_that_leave_before() {
    let mut options = small_options();
    options.buffer_urls = 4;
    let mut crawl = Crawl::new(options, plain);
    (0..300).for_each(|n| crawl.push(url(1, n, (n % 3) as u8)));
    let saved = cut(&mut crawl);
    let mut expected: Vec<(u64, Fingerprint)> = (0..300)
        .map(|n| url(1, n, 0))
        .map(|url| (look_at(&crawl, &saved, &url).queued.unwrap().before, url.key))
        .collect();
    expected.sort_unstable();
    assert!(expected.iter().enumerate().all(|(n, (before, _))| *before == n as u64));
    let first: BTreeSet<Fingerprint> = expected[..100].iter().map(|(_, key)| *key).collect();
    assert_eq!(first, (0..300).step_by(3).map(|n| url(1, n, 0).key).collect());
}

#[test]
fn a_host_is_told_as_it_stood_in_memory_and_on_disk() {
    let site = |host| match host {
        1 => Site { address: Err(Failure::NoSuchHost), ..plain(host) },
        2 => Site { feedback: |_| (Verdict::Retry, None, Some(S * 500)), ..plain(host) },
        _ => Site { robots: Some(Some(S * 3)), ..plain(host) },
    };
    let mut crawl = Crawl::new(small_options(), site);
    for host in 1..4 {
        (0..20).for_each(|n| crawl.push(url(host, n, 1)));
    }
    crawl.run_until(START + S * 30);
    let saved = cut(&mut crawl);
    let gone = look_at(&crawl, &saved, &url(1, 0, 1)).host.unwrap();
    assert_eq!(gone.standing.gone.map(|(_, reason)| reason), Some(Reason::HostGivenUp));
    let resting = look_at(&crawl, &saved, &url(2, 0, 1));
    let host = resting.host.unwrap();
    assert!(host.standing.backoff_until > crawl.clock.now() && host.standing.backoff_level > 0, "{host:?}");
    let slow = look_at(&crawl, &saved, &url(3, 19, 1));
    let host = slow.host.unwrap();
    assert_eq!(host.rules.unwrap().0.crawl_delay(), Some(S * 3));
    assert!(
        host.standing.pages > 3 && slow.domain_pages >= host.standing.pages,
        "{} pages, {}",
        host.standing.pages,
        slow.domain_pages
    );
    assert!(look_at(&crawl, &saved, &url(77, 0, 1)).host.is_none());
    // hosts that gave their place to others
    (100..400).for_each(|host| (0..3).for_each(|n| crawl.push(url(host, n, 1))));
    let until = crawl.clock.now() + S * 60;
    crawl.run_until(until);
    let saved = cut(&mut crawl);
    let cold = look_at(&crawl, &saved, &url(2, 19, 1));
    assert!(!cold.active && cold.urls == 20, "{cold:?}");
    assert!(cold.host.unwrap().standing.backoff_until > crawl.clock.now());
}

#[test]
fn a_damaged_section_is_refused_and_a_file_that_is_gone_is_told_apart() {
    let mut crawl = Crawl::new(small_options(), plain);
    (0..30_000).for_each(|n| crawl.push(url(n % 500, n, 1)));
    let saved = cut(&mut crawl);
    let mut broken = saved.clone();
    broken.ram[7] ^= 1;
    let asked = url(499, 499, 1);
    let wanted = Wanted { key: asked.key, origin: asked.origin, host: asked.host, domain: asked.domain };
    let ask = |saved: &Saved| look(&Disk::real(), crawl.dir.path(), saved.state(), wanted, decode_rules, START);
    assert!(matches!(ask(&broken), Err(crate::disk::Error::Damaged { .. })));
    ask(&saved).unwrap();
    for name in Disk::real().list(crawl.dir.path()).unwrap() {
        Disk::real().remove(&crawl.dir.path().join(name)).unwrap();
    }
    assert!(ask(&saved).unwrap_err().is_not_found());
}

#[test]
fn a_rest_of_a_host_that_is_not_met_yet_is_told_by_its_origin_and_by_its_name() {
    let mut crawl = Crawl::new(small_options(), plain);
    let (now, until) = (crawl.clock.now(), crawl.clock.now() + S * 500);
    crawl.push(url(7, 0, 1));
    crawl.frontier.hold(url(8, 0, 1).origin, until, now);
    crawl.frontier.hold(url(9, 0, 1).host, until, now);
    let saved = cut(&mut crawl);
    let held = [7, 8, 9].map(|host| look_at(&crawl, &saved, &url(host, 0, 1)).held_until);
    assert_eq!(held, [None, Some(until), Some(until)]);
}

#[test]
fn hosts_that_gave_their_place_to_others_are_told_with_those_that_are_active() {
    let site = |host| match host {
        2 => Site { feedback: |_| (Verdict::Retry, None, Some(S * 500)), ..plain(host) },
        _ => plain(host),
    };
    let mut crawl = Crawl::new(small_options(), site);
    (0..20).for_each(|n| crawl.push(url(2, n, 1)));
    crawl.run_until(START + S * 30);
    (100..400).for_each(|host| (0..3).for_each(|n| crawl.push(url(host, n, 1))));
    let until = crawl.clock.now() + S * 60;
    crawl.run_until(until);
    let saved = cut(&mut crawl);
    let mut urls: Vec<QueuedUrl> = (100..400).map(|host| url(host, 0, 1)).collect();
    urls.retain(|url| look_at(&crawl, &saved, url).active);
    urls.truncate(1);
    urls.push(url(2, 0, 1));
    assert!(!look_at(&crawl, &saved, &urls[1]).active);
    let hosts: Vec<_> = urls.iter().map(|url| (url.origin, url.domain)).collect();
    let (dir, then) = (crawl.dir.path(), crawl.clock.now());
    let found = look_at_hosts(&Disk::real(), dir, saved.state(), &hosts, decode_rules, then).unwrap();
    assert!(urls.iter().all(|url| found.contains_key(&url.origin)));
}

//! Thirty days of sites that change, outages among them: what a consumer has each evening against what the sites have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod near;

use super::change::Reason;
use super::entry::{DAY, Entry, State as Publication};
use super::guard::{Allowed, Days, Limits};
use super::home::Home;
use super::key::{Key, Stored};
use super::pass::{Answers, Changed, Done, Pass};
use super::sighting::{Seen, Sighting};
use super::urls::Urls;
use crate::clock::Time;
use crate::dirs::{Archives, CrawlDirs};
use crate::disk::Disk;
use crate::fingerprint::Fingerprinter;
use crate::web::robots::RobotsRules;
use crate::web::url::{CanonicalUrl, KeyMaker};

const UNCHANGED: Changed<'_> = Changed { forgotten: None, scope: None, obeys: None, likeness: false };

/// The files of a feed whose answers a test makes up.
struct Bench {
    _dir: tempfile::TempDir,
    home: Home,
    keys: KeyMaker,
    archives: Arc<Archives>,
    last: u64,
    days: Days,
    limits: Limits,
    stored: u64,
    answers: Option<Answers>,
    near_duplicates: Option<f64>,
}

impl Bench {
    fn new(limits: Limits) -> Bench {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let home = Home::of(&disk, dir.path());
        home.create(dir.path()).unwrap();
        let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
        let dirs = CrawlDirs::find(&disk, dir.path()).unwrap();
        let archives = Arc::new(Archives::new(disk, dirs, keys.clone()));
        let answers = Some(Answers::new(keys.clone(), false));
        let (days, near_duplicates) = (Days::default(), None);
        Bench { _dir: dir, home, keys, archives, last: 0, days, limits, stored: 0, answers, near_duplicates }
    }

    fn key(&self, url: &str) -> Key {
        Key::of(&CanonicalUrl::parse(url).unwrap(), &self.keys)
    }

    fn see(&mut self, url: &str, at: u64, seen: Seen) {
        self.stored += 1;
        let stored = Stored { shard: 0, record: self.stored };
        let sighting = Sighting { url: url.to_owned(), stored, captured: at, seen };
        let line = sighting.to_line(self.key(url));
        self.answers.as_mut().unwrap().push(&line);
    }

    fn robots(&mut self, url: &str, at: u64, text: &str) {
        let rules = RobotsRules::parse("crawler", text.as_bytes());
        let url = CanonicalUrl::parse(url).unwrap();
        self.answers.as_mut().unwrap().take_robots(&url, Time::from_ms(at), &rules).unwrap();
    }

    fn pass(&mut self, now: u64) -> Done {
        self.pass_with(now, &UNCHANGED)
    }

    fn pass_with(&mut self, now: u64, changed: &Changed<'_>) -> Done {
        let answers = self.answers.replace(Answers::new(self.keys.clone(), false)).unwrap();
        let (home, keys, archives, last) = (&self.home, &self.keys, &self.archives, self.last);
        let pass = Pass { home, keys, archives, last, near_duplicates: self.near_duplicates };
        pass.merge(answers, changed).unwrap();
        pass.guard(&mut self.days, &self.limits, Time::from_ms(now)).unwrap();
        let done = pass.publish(&self.days).unwrap();
        self.last += 1;
        self.home.sweep(self.last).unwrap();
        done
    }

    fn entries(&self) -> Vec<Entry> {
        let mut urls = Urls::open(&self.home, &self.home.urls(self.last)).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = urls.next().unwrap() {
            entries.push(entry);
        }
        entries
    }

    /// The documents of a consumer: each document with its other URLs.
    fn published(&self) -> BTreeMap<String, Vec<String>> {
        let there = |entry: Entry| match entry.published?.state {
            Publication::There { others, .. } => Some((entry.url, others)),
            Publication::Gone { .. } => None,
        };
        self.entries().into_iter().filter_map(there).collect()
    }

    /// Documents that the last pass took away, and why.
    fn gone(&self) -> BTreeMap<String, Reason> {
        let gone = |entry: Entry| match entry.published.filter(|published| published.pass == self.last)?.state {
            Publication::Gone { reason, .. } => Some((entry.url, reason)),
            Publication::There { .. } => None,
        };
        self.entries().into_iter().filter_map(gone).collect()
    }
}

fn content(text: u8) -> Seen {
    Seen::Content { digest: [text; 20], canonical: None, signature: None }
}

fn canonical(text: u8, url: &str) -> Seen {
    Seen::Content { digest: [text; 20], canonical: Some(url.to_owned()), signature: None }
}

fn moved(to: &str) -> Seen {
    Seen::Moved { to: to.to_owned(), is_permanent: true }
}

fn urls(bench: &Bench) -> Vec<String> {
    bench.published().into_keys().collect()
}

const A: &str = "https://a.example/";
const B: &str = "https://a.example/b";
const C: &str = "https://a.example/c";

#[test]
fn a_missing_page_goes_after_two_visits_a_day_apart_and_no_sooner() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.see(B, 0, content(2));
    assert_eq!(bench.pass(0), Done { documents: 2, upserts: 2, deletions: 0 });
    for hours in [1, 2, 24] {
        bench.see(B, hours * DAY / 24, Seen::Absent(Reason::Gone));
        assert_eq!(bench.pass(DAY).deletions, 0, "{hours}");
    }
    // content in between begins the day again
    bench.see(B, DAY + 1, content(2));
    bench.see(B, DAY + 2, Seen::Absent(Reason::Kind));
    assert_eq!(bench.pass(DAY), Done { documents: 2, upserts: 0, deletions: 0 });
    bench.see(A, 2 * DAY, content(1));
    bench.see(B, 2 * DAY + 2, Seen::Absent(Reason::Gone));
    assert_eq!(bench.pass(2 * DAY), Done { documents: 1, upserts: 0, deletions: 1 });
    assert_eq!(bench.gone(), BTreeMap::from([(B.to_owned(), Reason::Gone)]));
    bench.see(B, 3 * DAY, content(2));
    assert_eq!(bench.pass(3 * DAY), Done { documents: 2, upserts: 1, deletions: 0 });
}

#[test]
fn answers_that_come_again_or_late_change_nothing() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 5, content(2));
    bench.pass(5);
    bench.see(A, 4, content(1));
    bench.see(A, 3, Seen::Absent(Reason::Gone));
    assert_eq!(bench.pass(6), Done { documents: 1, upserts: 0, deletions: 0 });
}

#[test]
fn a_new_canonical_url_takes_the_document_over_in_one_step() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.pass(0);
    bench.see(A, 1, canonical(1, B));
    // the canonical URL is not known yet: the page stands for itself
    assert_eq!(bench.pass(1).deletions, 0);
    bench.see(B, 2, content(1));
    assert_eq!(bench.pass(2), Done { documents: 1, upserts: 1, deletions: 1 });
    assert_eq!(bench.published(), BTreeMap::from([(B.to_owned(), vec![A.to_owned()])]));
    assert_eq!(bench.gone(), BTreeMap::from([(A.to_owned(), Reason::Duplicate)]));
    let published = |url: &str| bench.entries().into_iter().find(|entry| entry.url == url).unwrap().published.unwrap();
    assert_eq!(published(A).order, published(B).order);
    // it is missing: both are as before
    bench.see(B, 3, Seen::Absent(Reason::Gone));
    assert_eq!(bench.pass(3).deletions, 0);
    bench.see(B, DAY + 3, Seen::Absent(Reason::Gone));
    bench.see(C, DAY + 3, content(3));
    bench.pass(DAY + 3);
    assert_eq!(urls(&bench), [A, C]);
}

#[test]
fn chains_and_circles_of_canonical_urls_and_redirects_have_an_end() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, canonical(1, B));
    bench.see(B, 0, canonical(2, C));
    bench.see(C, 0, canonical(3, A));
    bench.pass(0);
    assert_eq!(urls(&bench), [A, B, C]);
    let step = |at: usize| format!("https://a.example/step{at}");
    for at in 0..15 {
        bench.see(&step(at), 1, moved(&step(at + 1)));
    }
    bench.see(&step(15), 1, content(9));
    bench.see("https://a.example/from", 1, moved(&step(12)));
    bench.pass(1);
    let others = bench.published().remove(&step(15)).unwrap();
    assert!(others.contains(&step(14)) && others.contains(&"https://a.example/from".to_owned()), "{others:?}");
    // C stands for itself now, and the others are parts of it
    bench.see(C, 2, content(3));
    bench.pass(2);
    assert_eq!(bench.published()[C], [A, B]);
}

#[test]
fn a_redirect_to_nowhere_takes_nothing_away_and_one_to_a_missing_page_does() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.pass(0);
    bench.see(A, 1, moved(B));
    assert_eq!(bench.pass(1).deletions, 0);
    bench.see(B, 2, content(2));
    bench.pass(2);
    assert_eq!(urls(&bench), [B]);
    bench.see(B, 3, Seen::Absent(Reason::Gone));
    bench.see(B, DAY + 3, Seen::Absent(Reason::Gone));
    bench.see(C, DAY + 3, content(3));
    bench.pass(DAY + 3);
    assert_eq!(urls(&bench), [C]);
    // one that has never been a document is known, too
    for day in [2, 3] {
        bench.see("https://a.example/login", day * DAY, Seen::Absent(Reason::Kind));
        bench.see(C, day * DAY, Seen::Moved { to: "https://a.example/login".to_owned(), is_permanent: false });
        bench.see(B, day * DAY, content(2));
        bench.pass(day * DAY);
    }
    assert_eq!(bench.gone(), BTreeMap::from([(C.to_owned(), Reason::Kind)]));
}

#[test]
fn an_answer_that_nothing_confirms_leaves_a_document_gone_or_moved() {
    let mut bench = Bench::new(Limits::default());
    [A, B, C].iter().enumerate().for_each(|(at, url)| bench.see(url, 0, content(at as u8)));
    bench.pass(0);
    for day in [1, 2] {
        bench.see(A, day * DAY, moved(C));
        bench.see(B, day * DAY, Seen::Absent(Reason::Gone));
        bench.see(C, day * DAY, content(2));
        bench.pass(day * DAY);
    }
    assert_eq!(urls(&bench), [C]);
    bench.see(A, 3 * DAY, Seen::Absent(Reason::Gone));
    bench.see(B, 3 * DAY, Seen::Moved { to: C.to_owned(), is_permanent: false });
    bench.see(C, 3 * DAY, content(2));
    assert_eq!(bench.pass(3 * DAY), Done { documents: 1, upserts: 0, deletions: 0 });
    bench.see(A, 4 * DAY, content(0));
    bench.pass(4 * DAY);
    assert_eq!(urls(&bench), [A, C]);
}

#[test]
fn a_page_that_is_gone_stays_gone_when_the_others_are_missing_a_day_later() {
    let mut bench = Bench::new(Limits::default());
    [A, B, C].iter().enumerate().for_each(|(at, url)| bench.see(url, 0, content(at as u8)));
    bench.pass(0);
    for day in [1, 2] {
        bench.see(A, day * DAY, content(0));
        bench.see(B, day * DAY, Seen::Absent(Reason::Gone));
        bench.see(C, day * DAY, content(2));
        bench.pass(day * DAY);
    }
    assert_eq!(urls(&bench), [A, C]);
    [A, C].iter().for_each(|url| bench.see(url, 3 * DAY, Seen::Absent(Reason::Gone)));
    assert_eq!(bench.pass(3 * DAY), Done { documents: 2, upserts: 0, deletions: 0 });
}

#[test]
fn where_most_visits_find_nothing_a_document_goes_after_a_week_and_not_by_visits_of_that_time() {
    let mut bench = Bench::new(Limits::default());
    let page = |at: usize| format!("https://a.example/{at}");
    (0..9).for_each(|at| bench.see(&page(at), 0, content(at as u8)));
    bench.pass(0);
    // six days without an answer but for the first page, then all but two are back
    for day in 1..=7 {
        bench.see(&page(0), day * DAY, content(0));
        (1..9).for_each(|at| bench.see(&page(at), day * DAY, Seen::Absent(Reason::Gone)));
        assert_eq!(bench.pass(day * DAY).deletions, 0, "{day}");
    }
    (0..7).for_each(|at| bench.see(&page(at), 8 * DAY, content(at as u8)));
    assert_eq!(bench.pass(8 * DAY).deletions, 0, "the others were not visited since");
    bench.see(&page(7), 9 * DAY, content(7));
    bench.see(&page(8), 9 * DAY, Seen::Absent(Reason::Gone));
    bench.pass(9 * DAY);
    assert_eq!(bench.gone(), BTreeMap::from([(page(8), Reason::Gone)]));
    // a site that is gone goes
    for day in 10..=17 {
        (0..8).for_each(|at| bench.see(&page(at), day * DAY, Seen::Absent(Reason::Gone)));
        assert_eq!(bench.pass(day * DAY).deletions, if day == 17 { 8 } else { 0 }, "{day}");
    }
}

#[test]
fn a_redirect_for_good_moves_a_document_also_to_one_that_consumers_have_and_only_one() {
    let mut bench = Bench::new(Limits::default());
    let (old, new) = (|at: usize| format!("https://a.example/{at}"), |at: usize| format!("https://b.example/{at}"));
    (0..30).for_each(|at| bench.see(&old(at), 0, content(at as u8)));
    bench.pass(0);
    (0..30).for_each(|at| bench.see(&new(at), 1, content(at as u8)));
    bench.pass(1);
    (0..30).for_each(|at| bench.see(&old(at), 2, moved(&new(at))));
    assert_eq!(bench.pass(2), Done { documents: 30, upserts: 30, deletions: 30 });
    // all pages to one: that is no move, however they come
    for at in 1..30 {
        bench.see(&new(at), 3, moved(&new(0)));
        bench.pass(3);
    }
    assert_eq!(bench.published().len(), 20, "ten may go within a day");
}

#[test]
fn a_redirect_for_now_takes_a_page_away_after_a_day() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.see(B, 0, content(2));
    bench.pass(0);
    let for_now = || Seen::Moved { to: B.to_owned(), is_permanent: false };
    bench.see(A, 1, for_now());
    assert_eq!(bench.pass(1).deletions, 0);
    bench.see(A, DAY + 1, for_now());
    assert_eq!(bench.pass(DAY + 1).deletions, 1);
    assert_eq!(bench.published(), BTreeMap::from([(B.to_owned(), vec![A.to_owned()])]));
}

#[test]
fn a_robots_txt_that_was_read_forbids_and_permits_again() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.see(B, 0, content(2));
    bench.pass(0);
    bench.robots(A, 1, "User-agent: *\nDisallow: /b");
    bench.robots("http://a.example/", 2, "User-agent: *\nDisallow: /");
    bench.pass(2);
    assert_eq!(bench.gone(), BTreeMap::from([(B.to_owned(), Reason::Robots)]));
    bench.robots(A, 3, "");
    bench.pass(3);
    assert_eq!(urls(&bench), [A, B]);
}

#[test]
fn another_scope_takes_pages_away_and_gives_them_back() {
    let mut bench = Bench::new(Limits::default());
    bench.see(A, 0, content(1));
    bench.see(B, 0, content(2));
    bench.pass(0);
    let without = |url: &CanonicalUrl| url.as_str() != B;
    bench.pass_with(1, &Changed { scope: Some(&without), ..UNCHANGED });
    assert_eq!(bench.gone(), BTreeMap::from([(B.to_owned(), Reason::Scope)]));
    let with = |_: &CanonicalUrl| true;
    bench.pass_with(2, &Changed { scope: Some(&with), ..UNCHANGED });
    assert_eq!(urls(&bench), [A, B]);
}

#[test]
fn a_site_that_goes_at_once_waits_for_the_operator() {
    let mut bench = Bench::new(Limits::default());
    let page = |at: usize| format!("https://a.example/{at}");
    (0..100).for_each(|at| bench.see(&page(at), 0, content(1)));
    bench.pass(0);
    for day in 1..=8 {
        (0..100).for_each(|at| bench.see(&page(at), day * DAY, Seen::Absent(Reason::Gone)));
        assert_eq!(bench.pass(day * DAY).deletions, 0);
    }
    assert_eq!(
        bench.days.waiting().map(|day| (day.host.as_str(), day.waiting)).collect::<Vec<_>>(),
        [("a.example", 100)]
    );
    // all but some are back
    (0..80).for_each(|at| bench.see(&page(at), 9 * DAY, content(1)));
    assert_eq!(bench.pass(9 * DAY), Done { documents: 100, upserts: 0, deletions: 0 });
    bench.limits.allowed = vec![Allowed::Host("a.example".to_owned())];
    assert_eq!(bench.pass(9 * DAY), Done { documents: 80, upserts: 0, deletions: 20 });
    assert_eq!(bench.days.waiting().count(), 0);
}

#[test]
fn a_site_that_moves_as_a_whole_loses_nothing_and_one_wrong_canonical_url_takes_nothing() {
    let mut bench = Bench::new(Limits::default());
    let (old, new) = (|at: usize| format!("http://a.example/{at}"), |at: usize| format!("https://a.example/{at}"));
    (0..100).for_each(|at| bench.see(&old(at), 0, content(1)));
    bench.pass(0);
    (0..100).for_each(|at| bench.see(&old(at), 1, moved(&new(at))));
    (0..100).for_each(|at| bench.see(&new(at), 1, content(1)));
    assert_eq!(bench.pass(1), Done { documents: 100, upserts: 100, deletions: 100 });
    (1..100).for_each(|at| bench.see(&new(at), 2, canonical(1, &new(0))));
    // the first one has more URLs now, and none of the others goes
    assert_eq!(bench.pass(2).deletions, 0);
    assert_eq!(bench.published().len(), 100);
}

/// A page of a site.
#[derive(Clone)]
struct Page {
    text: u8,
    state: State,
}

#[derive(Clone, PartialEq)]
enum State {
    There,
    /// Another page is the canonical one.
    PartOf(usize),
    MovedTo(usize),
    /// Since this day.
    Missing(u64),
}

/// Trouble of a day.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    /// Nothing answers.
    Unreachable,
    /// Everything is missing.
    AllMissing,
    /// Everything leads to one page of maintenance, which is an error.
    Maintenance,
    /// Everything leads to the first page for now.
    ToTheFirst,
}

struct Site {
    random: fastrand::Rng,
    pages: Vec<Page>,
    forbidden: BTreeSet<usize>,
    /// Pages that were visited once: a redirect to another one says nothing.
    known: BTreeSet<usize>,
}

impl Site {
    fn url(at: usize) -> String {
        format!("https://a.example/{at}")
    }

    fn live(&mut self) -> Option<usize> {
        let live: Vec<usize> = (0..self.pages.len()).filter(|&at| self.pages[at].state == State::There).collect();
        self.random.choice(live)
    }

    /// True if a page is what others are parts of.
    fn has_parts(&self, page: usize) -> bool {
        self.pages.iter().any(|other| matches!(other.state, State::PartOf(of) | State::MovedTo(of) if of == page))
    }

    fn change(&mut self, day: u64) {
        for _ in 0..self.random.usize(1..8) {
            let Some(page) = self.live() else { return };
            match self.random.u8(..9) {
                0..3 => self.pages.push(Page { text: self.random.u8(..), state: State::There }),
                3..5 => self.pages[page].text = self.random.u8(..),
                _ if self.has_parts(page) => {}
                5 => self.pages[page].state = State::Missing(day),
                6 | 7 => {
                    let other = self.live().filter(|other| *other != page && self.known.contains(other));
                    let is_move = self.random.bool();
                    if let Some(other) = other {
                        self.pages[page].state = if is_move { State::MovedTo(other) } else { State::PartOf(other) };
                    }
                }
                _ => drop(self.forbidden.remove(&page) || self.forbidden.insert(page)),
            }
        }
        for page in &mut self.pages {
            if matches!(page.state, State::Missing(since) if since < day && self.random.u8(..20) == 0) {
                page.state = State::There;
            }
        }
    }

    /// A day's visits of all pages. A page that is forbidden is not visited.
    fn visit(&mut self, bench: &mut Bench, now: u64, trouble: Trouble) {
        if trouble == Trouble::Unreachable {
            return;
        }
        let lines = self.forbidden.iter().map(|page| format!("Disallow: /{page}$\n"));
        bench.robots(A, now, &format!("User-agent: *\n{}", lines.collect::<String>()));
        for (at, page) in self.pages.iter().enumerate().filter(|(at, _)| !self.forbidden.contains(at)) {
            let seen = match (trouble, &page.state) {
                (Trouble::AllMissing, _) => Seen::Absent(Reason::Gone),
                (Trouble::Maintenance, _) => {
                    Seen::Moved { to: "https://a.example/maintenance".to_owned(), is_permanent: true }
                }
                (Trouble::ToTheFirst, _) if at > 0 => Seen::Moved { to: Site::url(0), is_permanent: false },
                (_, State::There) => content(page.text),
                (_, State::PartOf(of)) => canonical(page.text, &Site::url(*of)),
                (_, State::MovedTo(to)) => moved(&Site::url(*to)),
                (_, State::Missing(_)) => Seen::Absent(Reason::Gone),
            };
            if seen == content(page.text) {
                self.known.insert(at);
            }
            bench.see(&Site::url(at), now, seen);
        }
    }

    /// Pages that are documents now.
    fn documents(&self) -> BTreeSet<String> {
        let is_there = |at: &usize| {
            let has_document = match self.pages[*at].state {
                State::There => true,
                // of a forbidden page nobody knows
                State::PartOf(of) => self.forbidden.contains(&of),
                State::MovedTo(_) | State::Missing(_) => false,
            };
            has_document && !self.forbidden.contains(at)
        };
        (0..self.pages.len()).filter(is_there).map(Site::url).collect()
    }
}

/// Days without trouble after which everything is known.
const QUIET: u64 = 2;

fn thirty_days(seed: u64) {
    let random = fastrand::Rng::with_seed(seed);
    let mut site = Site { random, pages: Vec::new(), forbidden: BTreeSet::new(), known: BTreeSet::new() };
    let limits = Limits { share: 1.0, ..Limits::default() };
    let mut bench = Bench::new(limits);
    site.pages.extend((0..20).map(|text| Page { text, state: State::There }));
    // the trouble that lasts, and the day on which it ends
    let (mut trouble, mut end) = (Trouble::None, 1);
    for day in 0..30 {
        if day >= end {
            trouble = match site.random.u8(..15) {
                _ if trouble != Trouble::None || day == 0 || day >= 30 - QUIET => Trouble::None,
                0 => Trouble::Unreachable,
                1 => Trouble::AllMissing,
                2 => Trouble::Maintenance,
                3 => Trouble::ToTheFirst,
                _ => Trouble::None,
            };
            end = day + if trouble == Trouble::None { 1 } else { site.random.u64(1..7) };
            end = end.min(30 - QUIET).max(day + 1);
        }
        let now = day * DAY;
        if trouble == Trouble::None && day < 30 - QUIET {
            site.change(day);
        }
        let before = if day == 0 { Vec::new() } else { urls(&bench) };
        let valid = site.documents();
        site.visit(&mut bench, now, trouble);
        bench.pass(now);
        let after: BTreeSet<String> = urls(&bench).into_iter().collect();
        let wrong: Vec<_> = before.iter().filter(|url| valid.contains(*url) && !after.contains(*url)).collect();
        assert!(wrong.is_empty(), "seed {seed}, day {day}: {wrong:?} went");
    }
    let after: BTreeSet<String> = urls(&bench).into_iter().collect();
    assert_eq!(after, site.documents(), "seed {seed}");
}

#[test]
fn after_thirty_days_of_changes_and_outages_a_consumer_has_the_site_and_no_valid_document_went() {
    let seed = fastrand::u64(..);
    (0..20).for_each(|run| thirty_days(seed.wrapping_add(run)));
}

//! The schedule by tables, and by random visits whose seed is printed.

use std::time::Duration;

use regex::Regex;

use crate::web::site::SiteMatch;

use super::schedule::{GONE_AFTER, JITTER};
use super::{Bounds, Found, History, Mode, PageKind, Past, Plan, Rule, Schedule, ScheduleOptions, Visit};
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const START: Time = Time::from_ms(1_790_000_000_000);
const SAME: Found = Found::Same;
const CHANGED: Found = Found::Changed { modified: None };
const NEW: Found = Found::New { modified: None };

fn options(mode: Mode) -> ScheduleOptions {
    let bounds = Bounds { min: HOUR, max: DAY * 30 };
    ScheduleOptions { mode, bounds, maps: Bounds { min: HOUR, max: DAY }, rules: Vec::new() }
}

fn adaptive() -> Schedule {
    Schedule::new(options(Mode::Adaptive { gain: HOUR }), &[])
}

fn visit(at: Time, found: Found) -> Visit<'static> {
    let (key, host) = (Fingerprint::from_bits(77), Fingerprint::from_bits(5));
    Visit { url: "https://a.example/page", key, host, kind: PageKind::Page, at, found }
}

/// Makes of a plan what the engine makes of it.
fn past(plan: Plan, fetched: Time) -> Past {
    let Plan { due, history, changed, gone } = plan;
    Past { changed, gone, ..Past::of_visited(fetched, due, history) }
}

/// Visits a page whenever it is due; how long each wait was.
fn waits(schedule: &mut Schedule, found: impl IntoIterator<Item = Found>) -> Vec<Duration> {
    let (mut at, mut known) = (START, None);
    let wait = |found| {
        let plan = schedule.plan(&visit(at, found), known.as_ref()).expect("it is visited again");
        let wait = plan.due.since(at);
        known = Some(past(plan, at));
        at = plan.due;
        wait
    };
    found.into_iter().map(wait).collect()
}

/// Returns whether the two are equal within the jitter and the second to which due times are rounded.
fn is_about(found: Duration, expected: Duration) -> bool {
    let apart = found.abs_diff(expected).as_secs_f64();
    apart <= expected.as_secs_f64() * 2.1 * JITTER + 1.0
}

#[test]
fn before_three_visits_compared_it_the_wait_doubles_or_halves() {
    for (found, factor) in [([NEW, SAME, SAME], 2.0), ([NEW, CHANGED, CHANGED], 0.5)] {
        let waits = waits(&mut adaptive(), found);
        for pair in waits.windows(2) {
            assert!(is_about(pair[1], pair[0].mul_f64(factor)), "{found:?}: {waits:?}");
        }
    }
}

#[test]
fn a_page_that_never_changes_is_visited_ever_less_and_one_that_does_ever_more_up_to_the_bounds() {
    let mut schedule = adaptive();
    let slow = waits(&mut schedule, std::iter::once(NEW).chain([SAME; 40]));
    assert!(slow[40] > slow[4] * 2 && slow[40] > DAY * 5, "{slow:?}");
    assert!(slow.iter().all(|&wait| wait <= (DAY * 30).mul_f64(1.0 + JITTER)), "{slow:?}");
    let quick =
        waits(&mut adaptive(), std::iter::once(NEW).chain((0..40).map(|n| if n % 2 == 0 { CHANGED } else { SAME })));
    assert!(quick[40] < HOUR * 6 && quick.iter().all(|&wait| wait >= HOUR.mul_f64(1.0 - JITTER)), "{quick:?}");
}

#[test]
fn a_page_that_changes_faster_than_it_can_be_followed_is_not_given_up() {
    let waits = waits(&mut adaptive(), std::iter::once(NEW).chain([CHANGED; 40]));
    assert!(waits[20..].iter().all(|&wait| is_about(wait, HOUR * 48)), "{waits:?}");
}

#[test]
fn an_answer_that_says_nothing_changes_nothing_and_comes_soon_again() {
    let mut schedule = adaptive();
    let first = schedule.plan(&visit(START, NEW), None).unwrap();
    let known = past(first, START);
    for (after, expected) in [(HOUR, HOUR), (DAY, HOUR * 3), (DAY * 4, HOUR * 12), (DAY * 90, DAY)] {
        let at = START + after;
        let plan = schedule.plan(&visit(at, Found::NoAnswer), Some(&known)).unwrap();
        assert_eq!((plan.history, plan.changed, plan.gone), (known.history, known.changed, known.gone));
        assert!(is_about(plan.due.since(at), expected), "{after:?}: {:?}", plan.due.since(at));
    }
    assert!(schedule.plan(&visit(START, Found::NoAnswer), None).is_some(), "one that never answered");
}

#[test]
fn a_page_is_gone_after_three_visits_over_a_week_and_not_before() {
    for seed in 0..50 {
        let mut schedule = adaptive();
        let of = |at, found| Visit { key: Fingerprint::from_bits(seed), ..visit(at, found) };
        let (mut at, mut known, mut visits) =
            (START + DAY, past(schedule.plan(&of(START, NEW), None).unwrap(), START), 0);
        while let Some(plan) = schedule.plan(&of(at, Found::Gone), Some(&known)) {
            visits += 1;
            known = past(plan, at);
            at = plan.due;
            assert!(visits < 3 && plan.due.since(START) < DAY * 10, "seed {seed}, visit {visits}");
        }
        assert_eq!(visits, 2, "seed {seed}: the third visit says so");
        assert!(at.since(START + DAY) >= GONE_AFTER, "seed {seed}");
    }
}

#[test]
fn visits_in_a_row_within_an_hour_are_one_where_a_page_is_missing_and_one_that_is_back_was_never_gone() {
    let mut schedule = adaptive();
    let mut known = past(schedule.plan(&visit(START, NEW), None).unwrap(), START);
    for minutes in [0, 10, 20, 30] {
        let at = START + DAY + Duration::from_secs(60 * minutes);
        known = past(schedule.plan(&visit(at, Found::Gone), Some(&known)).unwrap(), at);
        assert_eq!(known.gone.unwrap().visits, 1);
    }
    let at = START + DAY * 3;
    known = past(schedule.plan(&visit(at, Found::Gone), Some(&known)).unwrap(), at);
    assert_eq!(known.gone.unwrap().visits, 2);
    let back = schedule.plan(&visit(at + DAY, SAME), Some(&known)).unwrap();
    assert_eq!(back.gone, None);
    assert_eq!(back.changed, START);
}

#[test]
fn fixed_intervals_rules_and_sitemaps_have_what_they_say() {
    let rule = |include: &str, mode, max| Rule {
        name: String::new(),
        include: vec![SiteMatch::Pattern(Regex::new(include).unwrap())],
        mode,
        bounds: Bounds { min: HOUR, max },
    };
    let mut options = options(Mode::Fixed { interval: DAY * 7 });
    options.rules = vec![
        rule("/news/", Mode::Fixed { interval: HOUR * 2 }, DAY),
        rule(r"\.pdf$", Mode::Off, DAY),
        rule("/news|/blog", Mode::Adaptive { gain: HOUR }, HOUR * 5),
    ];
    let mut schedule = Schedule::new(options, &[]);
    let mut wait = |url: &str, kind| {
        let visit = Visit { kind, url, ..visit(START, NEW) };
        schedule.plan(&visit, None).map(|plan| plan.due.since(START))
    };
    assert!(is_about(wait("https://a.example/", PageKind::Page).unwrap(), DAY * 7));
    assert!(is_about(wait("https://a.example/news/1", PageKind::Page).unwrap(), HOUR * 2), "the first rule counts");
    assert_eq!(wait("https://a.example/a.pdf", PageKind::Page), None);
    assert!(wait("https://a.example/blog", PageKind::Page).unwrap() <= (HOUR * 5).mul_f64(1.0 + JITTER));
    assert!(is_about(wait("https://a.example/sitemap.pdf", PageKind::Map).unwrap(), DAY), "its longest interval");
    assert!(!schedule.visits("https://a.example/a.pdf", PageKind::Page));
}

#[test]
fn last_modified_tells_how_long_a_page_was_left_alone() {
    let mut schedule = adaptive();
    let mut first = |modified| schedule.plan(&visit(START, Found::New { modified }), None).unwrap();
    let (old, new) = (first(Some(START - DAY * 900)), first(Some(START)));
    assert!(old.due > new.due);
    assert_eq!(new.due, first(None).due);
    let known = past(new, START);
    let at = START + DAY * 4;
    let mut later = |modified| schedule.plan(&visit(at, Found::Changed { modified }), Some(&known)).unwrap().history;
    let [plain, early, before, future] = [None, Some(START + DAY), Some(START - DAY), Some(at + DAY)].map(&mut later);
    assert!(early.changed_days < plain.changed_days && early.days == plain.days);
    assert_eq!((before, future), (plain, plain), "a date that cannot be is not believed");
}

#[test]
fn a_page_of_a_host_whose_pages_rest_is_visited_later_than_one_of_a_host_whose_pages_change() {
    let mut schedule = adaptive();
    let mut first_wait = |host: u64, found| {
        let host = Fingerprint::from_bits(host);
        for page in 0..40 {
            let key = Fingerprint::from_bits(page);
            let (mut at, mut known) = (START, None::<Past>);
            for found in [NEW, found, found, found, found] {
                let plan = schedule.plan(&Visit { host, key, ..visit(at, found) }, known.as_ref()).unwrap();
                known = Some(past(plan, at));
                at = at + DAY * 2;
            }
        }
        let estimate = schedule.estimate(host, &History::default());
        let plan = schedule.plan(&Visit { host, key: Fingerprint::from_bits(999), ..visit(START, NEW) }, None).unwrap();
        (plan.due.since(START), estimate.per_day)
    };
    let ((rests, slow), (changes, fast)) = (first_wait(1 << 40, SAME), first_wait(2 << 60, CHANGED));
    assert!(rests > changes * 2 && slow * 10.0 < fast, "{rests:?} {slow}, {changes:?} {fast}");
}

#[test]
fn what_was_cut_plans_the_same_and_what_cannot_be_read_is_learnt_again() {
    let seed = 11;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut schedule = adaptive();
    let mut at = START;
    let mut pages: Vec<Option<Past>> = vec![None; 300];
    for round in 0..3_000 {
        let number = random.usize(..pages.len());
        at = at + Duration::from_secs(random.u64(..4_000));
        let found = match &pages[number] {
            None => NEW,
            Some(_) => [SAME, SAME, SAME, CHANGED, Found::NoAnswer, Found::Gone][random.usize(..6)],
        };
        let (key, host) = (Fingerprint::from_bits(number as u64), Fingerprint::from_bits(random.u64(..)));
        let visit = Visit { key, host, ..visit(at, found) };
        let mut saved = Vec::new();
        schedule.cut(&mut saved);
        let mut again = Schedule::new(options(Mode::Adaptive { gain: HOUR }), &saved);
        let plan = schedule.plan(&visit, pages[number].as_ref());
        assert_eq!(again.plan(&visit, pages[number].as_ref()), plan, "seed {seed}, round {round}");
        if let Some(plan) = plan {
            assert!(plan.due > at && plan.due.ms() % 1_000 == 0, "seed {seed}, round {round}: {plan:?}");
            assert!(plan.due.since(at) <= (DAY * 30).mul_f64(1.0 + JITTER) + Duration::from_secs(1));
            let History { visits, changes, days, changed_days } = plan.history;
            assert!(visits >= changes && days >= changed_days && changed_days >= 0.0, "{:?}", plan.history);
            schedule.note_start(plan.due, plan.due);
        }
        pages[number] = plan.map(|plan| past(plan, at));
    }
    let mut saved = Vec::new();
    schedule.cut(&mut saved);
    assert!(saved.len() <= 150_000, "{} bytes", saved.len());
    for cut in [1, 7, saved.len() / 2, saved.len() - 1] {
        assert_eq!(Schedule::new(options(Mode::Off), &saved[..cut]).stretch(), 1.0);
    }
}

/// Pages with one interval, and a crawl that starts this many visits a day, by month: the stretch and the lag. It is
/// resumed each month.
fn overload(demand: impl Fn(usize) -> f64, months: usize) -> Vec<(f64, f64)> {
    let interval = DAY * 2;
    let mut schedule = Schedule::new(options(Mode::Fixed { interval }), &[]);
    let pages = 500.0;
    let mut due = std::collections::BinaryHeap::new();
    let mut free = START;
    for page in 0..500_u64 {
        due.push(std::cmp::Reverse((START.ms() + page * 1_000, page, None::<u64>)));
    }
    let (mut by_month, mut resumed) = (vec![(1.0, 0.0, 0.0); months], 0);
    while let Some(std::cmp::Reverse((due_ms, page, fetched))) = due.pop() {
        let at = free.max(Time::from_ms(due_ms));
        let month = (at.since(START).as_secs() / (30 * 86_400)) as usize;
        if month >= months {
            break;
        }
        free = at + interval.div_f64(pages).mul_f64(demand(month));
        if month > resumed {
            let mut saved = Vec::new();
            schedule.cut(&mut saved);
            (schedule, resumed) = (Schedule::new(options(Mode::Fixed { interval }), &saved), month);
        }
        let visit = Visit { key: Fingerprint::from_bits(page.wrapping_mul(0x9e37_79b9_7f4a_7c15)), ..visit(at, SAME) };
        let plan = |schedule: &mut Schedule, known: Option<&Past>| schedule.plan(&visit, known).unwrap();
        let known = fetched.map(|fetched| {
            schedule.note_start(Time::from_ms(due_ms), at);
            let plan = Plan { due: Time::from_ms(due_ms), history: History::default(), changed: START, gone: None };
            past(plan, Time::from_ms(fetched))
        });
        let next = plan(&mut schedule, known.as_ref());
        let (stretch, lag, visits) = &mut by_month[month];
        *stretch = schedule.stretch();
        *lag += at.since(Time::from_ms(due_ms)).as_secs_f64() / 3_600.0;
        *visits += 1.0;
        due.push(std::cmp::Reverse((next.due.ms(), page, Some(at.ms()))));
    }
    by_month.into_iter().map(|(stretch, lag, visits)| (stretch, lag / f64::max(visits, 1.0))).collect()
}

#[test]
fn a_crawl_with_three_times_as_much_due_as_it_can_visit_stretches_by_three_and_stays_there() {
    let months = overload(|_| 3.0, 18);
    for (stretch, lag) in &months[9..] {
        assert!((2.5..3.3).contains(stretch), "{months:?}");
        assert!(*lag < 20.0, "the interval is 48 hours: {months:?}");
    }
}

#[test]
fn a_crawl_that_keeps_up_stretches_nothing() {
    let months = overload(|_| 0.5, 4);
    assert!(months.iter().all(|(stretch, _)| *stretch < 1.05), "{months:?}");
}

#[test]
fn the_stretch_falls_within_two_months_when_there_is_time_again_and_to_what_is_needed_when_there_is_some() {
    let months = overload(|month| if month < 9 { 3.0 } else { 0.5 }, 12);
    assert!(months[8].0 > 2.5 && months[10].0 < 1.05, "{months:?}");
    let months = overload(|month| if month < 9 { 4.0 } else { 2.0 }, 24);
    for (stretch, lag) in &months[14..] {
        assert!((1.6..2.3).contains(stretch), "{months:?}");
        assert!(*lag < 20.0, "the interval is 48 hours: {months:?}");
    }
}

//! A crawl in virtual time: pages are visited when the schedule says so, as fast as the crawl can.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crawler::calendar::{Found, PageKind, Past, Schedule, ScheduleOptions, Visit};
use crawler::clock::Time;
use crawler::fingerprint::Fingerprint;
use fastrand::Rng;

use crate::model::until_change;

const DAY_MS: f64 = 86_400_000.0;

/// Figures of a crawl in one day.
#[derive(Clone, Copy, Debug, Default)]
pub struct Day {
    pub visits: f64,
    /// Mean over pages and time.
    pub freshness: f64,
    /// The same, in days.
    pub age: f64,
    /// Stretch at its end.
    pub stretch: f64,
    /// The sum of the lags of its visits, in days.
    pub lag: f64,
}

/// The conditions under which a crawl is run.
pub struct Run<'a> {
    pub options: ScheduleOptions,
    /// Changes a day of each page.
    pub rates: &'a [f64],
    /// The host of each page.
    pub hosts: &'a [usize],
    pub days: usize,
    /// Visits a day that the crawl can make from a day on, the last that has begun counts.
    pub capacity: &'a [(usize, f64)],
    /// Rates from a day on, if they change.
    pub later: Option<(usize, &'a [f64])>,
    pub seed: u64,
}

/// A page between two visits.
struct Page {
    past: Option<Past>,
    /// Time of its next change after the last visit.
    changes: f64,
}

/// Runs a crawl; its figures by day.
pub fn run(run: &Run<'_>) -> Vec<Day> {
    let mut rng = Rng::with_seed(run.seed);
    let mut schedule = Schedule::new(run.options.clone(), &[]);
    let mut days = vec![Day::default(); run.days];
    let mut queue = BinaryHeap::new();
    let mut pages: Vec<Page> = Vec::new();
    for page in 0..run.rates.len() {
        // the first visits are spread over the first day
        queue.push(Reverse((rng.u64(..DAY_MS as u64), page)));
        pages.push(Page { past: None, changes: 0.0 });
    }
    let mut free = 0.0;
    let mut saved_day = 0;
    while let Some(Reverse((due_ms, page))) = queue.pop() {
        let due = due_ms as f64 / DAY_MS;
        let at = f64::max(due, free);
        let day = at as usize;
        if day > saved_day {
            // a restart each day, as it were
            let mut saved = Vec::new();
            schedule.cut(&mut saved);
            let last = saved_day..day.min(run.days);
            days[last].iter_mut().for_each(|day| day.stretch = schedule.stretch());
            schedule = Schedule::new(run.options.clone(), &saved);
            saved_day = day;
        }
        if day >= run.days {
            break;
        }
        let capacity = run.capacity.iter().rev().find(|(from, _)| *from <= day).map_or(f64::INFINITY, |found| found.1);
        free = at + 1.0 / capacity;
        days[day].visits += 1.0;
        days[day].lag += at - due;
        let rate = rate_at(run, page, day);
        visit(&mut schedule, (page, run.hosts[page]), &mut pages[page], (due, at), &mut days, run.rates.len());
        let known = &mut pages[page];
        known.changes = at + until_change(rate, &mut rng);
        if let Some((from, later)) = run.later
            && day < from
            && known.changes > from as f64
        {
            // without memory: it may as well be drawn again there
            known.changes = from as f64 + until_change(later[page], &mut rng);
        }
        if let Some(past) = &known.past {
            queue.push(Reverse((past.due.ms(), page)));
        }
    }
    let end = run.days as f64;
    for page in &pages {
        count(page, end, &mut days, run.rates.len());
    }
    days
}

fn rate_at(run: &Run<'_>, page: usize, day: usize) -> f64 {
    run.later.filter(|(from, _)| day >= *from).map_or(run.rates[page], |(_, later)| later[page])
}

fn visit(
    schedule: &mut Schedule,
    (number, host): (usize, usize),
    page: &mut Page,
    (due, at): (f64, f64),
    days: &mut [Day],
    all: usize,
) {
    let time = |day: f64| Time::from_ms((day * DAY_MS) as u64);
    let found = match &page.past {
        None => Found::New { modified: None },
        Some(_) if page.changes < at => Found::Changed { modified: None },
        Some(_) => Found::Same,
    };
    if page.past.is_some() {
        count(page, at, days, all);
        schedule.note_start(time(due), time(at));
    }
    let name = |number: usize| Fingerprint::from_bits((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let visit = Visit {
        url: "http://a.example/",
        key: name(number),
        host: name(host),
        kind: PageKind::Page,
        at: time(at),
        found,
    };
    let plan = schedule.plan(&visit, page.past.as_ref()).expect("pages are never gone");
    let known = Past::of_visited(visit.at, plan.due, plan.history);
    page.past = Some(Past { changed: plan.changed, gone: plan.gone, ..known });
}

/// Counts the time since the last visit of a page: fresh until it changes, older from then on.
fn count(page: &Page, until: f64, days: &mut [Day], all: usize) {
    let Some(past) = &page.past else { return };
    count_copy((past.fetched.ms() as f64 / DAY_MS, page.changes), until, days, all);
}

/// Counts the time of a copy that was made at `from`, of a page that changed then.
pub fn count_copy((from, changes): (f64, f64), until: f64, days: &mut [Day], all: usize) {
    let (changes, all) = (changes.max(from), all as f64);
    for (number, day) in days.iter_mut().enumerate().take(until.ceil() as usize).skip(from as usize) {
        let (start, end) = (from.max(number as f64), until.min(number as f64 + 1.0));
        day.freshness += (changes.clamp(start, end) - start) / all;
        let aging = |time: f64| (time - changes).max(0.0).powi(2) / 2.0;
        day.age += (aging(end) - aging(start)) / all;
    }
}

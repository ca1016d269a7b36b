//! The whole engine, in virtual time: a synthetic web whose pages change by Poisson processes, a network without
//! faults, and beside it the schedule alone with the same pages and rates.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::Result;
use crawler::calendar::Mode;
use crawler::clock::Time;
use crawler::simweb::Changes;
use crawler_simulator::simulator::{Fresh, FreshOptions, keep_fresh};

use crate::run::{Day, Run, count_copy, run};
use crate::{DAYS, HOUR, LEARNT, PAGES, compare, mean, model, options, print_head};

const SEED: u64 = 23;

/// Validators that pages have for their versions.
const KINDS: [(&str, f64); 2] = [("no validators", 1.0), ("ETag, date or both", 0.0)];

pub fn compare_engine() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let number = |after: &str| -> Option<usize> {
        let at = args.iter().position(|arg| arg == after)? + 1;
        args.get(at)?.parse().ok()
    };
    let gains = number("engine").map_or(vec![4, 12], |hours| vec![hours]);
    let days = number("--days").unwrap_or(DAYS);
    let from = LEARNT.min(days / 2);
    let pages = number("--pages").unwrap_or(PAGES);
    println!("{pages} pages, {} hosts, {days} days, seed {SEED}; figures of the days from {from} on", model::HOSTS);
    print_head();
    for hours in gains {
        for (name, bare_share) in KINDS {
            let began = Instant::now();
            let changes =
                Changes { cosmetic_share: 0.0, dated_sitemaps: false, bare_share, ..Changes::from(Time::ZERO) };
            let crawl = FreshOptions {
                seed: SEED,
                hosts: model::HOSTS,
                pages,
                days: u32::try_from(days)?,
                changes,
                schedule: options(Mode::Adaptive { gain: HOUR * hours as u32 }),
                by_text: true,
            };
            let mut tell = |day: f64| eprintln!("day {day:.0} after {:.0} s", began.elapsed().as_secs_f64());
            let fresh = keep_fresh(&crawl, &mut tell).map_err(|broken| anyhow::anyhow!("{broken}"))?;
            let (rates, hosts) = pages_of(&fresh);
            let real = days_of(&fresh, days);
            println!("{:12} {}", format!("{hours} h"), compare((&rates, &hosts), &real, from, SEED));
            if bare_share == 1.0 {
                let alone = Run {
                    options: crawl.schedule.clone(),
                    rates: &rates,
                    hosts: &hosts,
                    days,
                    capacity: &[],
                    later: None,
                    seed: SEED,
                };
                println!("{:12} {}", "alone", compare((&rates, &hosts), &run(&alone), from, SEED));
            }
            println!(
                "{:12} {name}; {} requests for pages, {} answered with 304, {} for robots.txt, {} processes, {:.0} s",
                "",
                fresh.requests,
                fresh.not_modified,
                fresh.robots,
                fresh.processes,
                began.elapsed().as_secs_f64()
            );
            print_months(&real);
        }
    }
    Ok(())
}

/// Rates and hosts of the pages.
fn pages_of(fresh: &Fresh) -> (Vec<f64>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let host = |name: &str| {
        let next = numbers.len();
        *numbers.entry(name.to_owned()).or_insert(next)
    };
    (
        fresh.pages.iter().map(|page| page.per_day).collect(),
        fresh.pages.iter().map(|page| &*page.host).map(host).collect(),
    )
}

/// Returns what the crawl did, and how fresh its copies were, day by day.
fn days_of(fresh: &Fresh, count: usize) -> Vec<Day> {
    let mut days = vec![Day { stretch: 1.0, ..Day::default() }; count];
    for page in &fresh.pages {
        for (number, &(at, changes)) in page.visits.iter().enumerate() {
            let until = page.visits.get(number + 1).map_or(count as f64, |next| next.0);
            if let Some(day) = days.get_mut(at as usize) {
                day.visits += 1.0;
            }
            count_copy((at, changes), until, &mut days, fresh.pages.len());
        }
    }
    days
}

fn print_months(days: &[Day]) {
    let month = |days: &[Day]| {
        let (fresh, age) = (mean(days, |day| day.freshness), mean(days, |day| day.age));
        format!("{fresh:.3} {age:.2}")
    };
    let months: Vec<String> = days.chunks(30).map(month).collect();
    println!("{:12} freshness and age by month: {}", "", months.join(", "));
}

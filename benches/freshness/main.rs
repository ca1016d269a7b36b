//! `cargo bench --bench freshness`: how fresh the schedule keeps an archive, in virtual time.
//!
//! 5,000 pages of 200 hosts change by Poisson processes whose rates are log-normal, 95 % of them within four decades
//! around a change in 20 days: as wide as what studies found (Cho and Garcia-Molina, VLDB 2000; Fetterly et al., WWW
//! 2003; Adar et al., WSDM 2009). The schedule begins without knowledge. At equal numbers of requests it is beside
//! the same interval for all pages, visits in proportion to the rates, and the optimum for known rates, which is the
//! limit (Cho and Garcia-Molina, TODS 2003). `-- FILE.svg` plots the first months.
//!
//! `-- stretch` shows only what happens when more is due than can be visited.
//!
//! `-- engine` crawls a synthetic web whose pages change so, by the whole engine in virtual time (`engine.rs`), and
//! holds that beside the schedule alone; `-- engine 4 --days 120` with a gain of four hours for this many days.

mod engine;
mod model;
mod plot;
mod run;

use std::time::Duration;

use anyhow::Result;
use crawler::calendar::{Bounds, Mode, ScheduleOptions};
use fastrand::Rng;
use run::{Day, Run, run};

const PAGES: usize = 5_000;
const DAYS: usize = 360;
/// Day from which on rates are learnt.
const LEARNT: usize = 180;
const HOUR: Duration = Duration::from_secs(3_600);

fn options(mode: Mode) -> ScheduleOptions {
    let bounds = Bounds { min: HOUR, max: HOUR * 24 * 365 };
    ScheduleOptions { mode, bounds, maps: Bounds { min: HOUR, max: HOUR * 24 }, rules: Vec::new() }
}

fn main() -> Result<()> {
    if std::env::args().any(|arg| arg == "engine") {
        return engine::compare_engine();
    }
    let file = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let seed = 23;
    let rates = model::rates(PAGES, &mut Rng::with_seed(seed));
    if std::env::args().any(|arg| arg == "stretch") {
        limited(&rates, seed);
        return Ok(());
    }
    println!("{PAGES} pages, {DAYS} days, seed {seed}; figures of the days from {LEARNT} on");
    print_head();
    let mut plotted = None;
    for hours in [1, 4, 12, 24] {
        let case = Run {
            options: options(Mode::Adaptive { gain: HOUR * hours }),
            rates: &rates,
            hosts: &hosts_of_pages(),
            days: DAYS,
            capacity: &[],
            later: None,
            seed,
        };
        let days = run(&case);
        let compared = compare((&rates, &hosts_of_pages()), &days, LEARNT, seed);
        println!("{:12} {compared}", format!("{hours} h"));
        if hours == 4 {
            plotted = Some((days, compared));
        }
    }
    limited(&rates, seed);
    moved(&rates, seed);
    if let (Some(file), Some((days, compared))) = (file, plotted) {
        std::fs::write(&file, plot::freshness(&days[..LEARNT], &compared.lines()))?;
    }
    Ok(())
}

fn print_head() {
    println!(
        "{:12} {:>12} | {:>8} {:>8} {:>8} {:>8} {:>8} | {:>9} | {:>8} {:>8} {:>8}",
        "gain", "visits/day", "uniform", "fixed", "prop.", "adaptive", "optimum", "of way", "age u", "age a", "age o"
    );
}

/// Page n is of host n modulo [`model::HOSTS`].
fn hosts_of_pages() -> Vec<usize> {
    (0..PAGES).map(|page| page % model::HOSTS).collect()
}

/// The schedule beside other policies that make as many visits.
struct Compared {
    visits: f64,
    uniform: [f64; 2],
    fixed: f64,
    proportional: f64,
    adaptive: [f64; 2],
    optimum: [f64; 2],
}

fn mean(days: &[Day], of: impl Fn(&Day) -> f64) -> f64 {
    days.iter().map(of).sum::<f64>() / days.len() as f64
}

/// Compares `days` from `from` on with other schedules of as many visits.
fn compare((rates, hosts): (&[f64], &[usize]), days: &[Day], from: usize, seed: u64) -> Compared {
    let learnt = &days[from..];
    let visits = mean(learnt, |day| day.visits);
    let of = |value: fn(f64, f64) -> f64, interval: &dyn Fn(usize) -> f64| {
        let all = rates.iter().enumerate().map(|(page, &rate)| {
            let interval = interval(page);
            if interval.is_finite() { value(rate, interval) } else { 0.0 }
        });
        all.sum::<f64>() / rates.len() as f64
    };
    let same = rates.len() as f64 / visits;
    let sum: f64 = rates.iter().sum();
    let optimum = model::optimum(rates, visits);
    let interval = Duration::from_secs_f64(same * 86_400.0);
    let options = options(Mode::Fixed { interval });
    let fixed = run(&Run { options, rates, hosts, days: LEARNT, capacity: &[], later: None, seed });
    Compared {
        visits,
        uniform: [of(model::freshness, &|_| same), of(model::age, &|_| same)],
        fixed: mean(&fixed[LEARNT / 2..], |day| day.freshness),
        proportional: of(model::freshness, &|page| sum / (visits * rates[page])),
        adaptive: [mean(learnt, |day| day.freshness), mean(learnt, |day| day.age)],
        optimum: [of(model::freshness, &|page| optimum[page]), of(model::age, &|page| optimum[page])],
    }
}

impl Compared {
    fn share_of_optimum(&self) -> f64 {
        (self.adaptive[0] - self.uniform[0]) / (self.optimum[0] - self.uniform[0])
    }

    fn lines(&self) -> [(&'static str, f64); 3] {
        [
            ("optimum, rates known", self.optimum[0]),
            ("the same interval", self.uniform[0]),
            ("in proportion", self.proportional),
        ]
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Compared { visits, uniform, fixed, proportional, adaptive, optimum } = self;
        write!(
            f,
            "{visits:12.0} | {:8.4} {fixed:8.4} {proportional:8.4} {:8.4} {:8.4} | {:7.1} % | {:8.2} {:8.2} {:8.2}",
            uniform[0],
            adaptive[0],
            optimum[0],
            100.0 * self.share_of_optimum(),
            uniform[1],
            adaptive[1],
            optimum[1]
        )
    }
}

/// More is due than the crawl can visit, then less: the stretch.
fn limited(rates: &[f64], seed: u64) {
    let capacity = [(0, f64::INFINITY), (30, 375.0), (180, 3_000.0)];
    println!("\ngain 4 h; from day 30 on 375 visits a day at most, from day 180 on 3,000");
    println!("{:>6} {:>10} {:>10} {:>12} {:>10}", "day", "visits", "stretch", "lag, hours", "freshness");
    let case = Run {
        options: options(Mode::Adaptive { gain: HOUR * 4 }),
        rates,
        hosts: &hosts_of_pages(),
        days: DAYS,
        capacity: &capacity,
        later: None,
        seed,
    };
    let days = run(&case);
    for from in (0..DAYS).step_by(15) {
        let days = &days[from..from + 15];
        let lag = 24.0 * days.iter().map(|day| day.lag).sum::<f64>() / days.iter().map(|day| day.visits).sum::<f64>();
        let stretch = days.last().map_or(1.0, |day| day.stretch);
        println!(
            "{:6} {:10.0} {stretch:10.2} {lag:12.1} {:10.4}",
            from + 15,
            mean(days, |day| day.visits),
            mean(days, |day| day.freshness)
        );
    }
    let compared = compare_window(rates, &days, 120..180);
    println!("days 120 to 180: {:.1} % of the way from uniform to optimum at as many visits", 100.0 * compared);
}

fn compare_window(rates: &[f64], days: &[Day], window: std::ops::Range<usize>) -> f64 {
    let days = &days[window];
    let visits = mean(days, |day| day.visits);
    let all = |intervals: &[f64]| {
        let each = rates.iter().zip(intervals);
        let fresh = each.map(|(&rate, &every)| if every.is_finite() { model::freshness(rate, every) } else { 0.0 });
        fresh.sum::<f64>() / rates.len() as f64
    };
    let uniform = all(&vec![rates.len() as f64 / visits; rates.len()]);
    let optimum = all(&model::optimum(rates, visits));
    (mean(days, |day| day.freshness) - uniform) / (optimum - uniform)
}

/// Half of the pages change their rates, and are learnt again.
fn moved(rates: &[f64], seed: u64) {
    let drawn = model::rates(PAGES, &mut Rng::with_seed(seed + 1));
    let later: Vec<f64> = (0..PAGES)
        .map(|page| if (page / model::HOSTS).is_multiple_of(2) { rates[page] } else { drawn[page] })
        .collect();
    let case = Run {
        options: options(Mode::Adaptive { gain: HOUR * 4 }),
        rates,
        hosts: &hosts_of_pages(),
        days: DAYS,
        capacity: &[],
        later: Some((120, &later)),
        seed,
    };
    let days = run(&case);
    println!("\ngain 4 h; on day 120 every second page gets another rate: part of the way from uniform to optimum");
    for window in [90..120, 120..135, 135..150, 150..180, 180..240, 240..300, 300..360] {
        let rates = if window.start < 120 { rates } else { &later };
        println!(
            "days {:3} to {:3}: {:6.1} %",
            window.start,
            window.end,
            100.0 * compare_window(rates, &days, window.clone())
        );
    }
}

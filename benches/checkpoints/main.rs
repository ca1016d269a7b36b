//! The cost of checkpoints: the same synthetic web crawled by the real binary with checkpoints and without, in turn.
//!
//!     cargo bench --bench checkpoints                    60,000 pages, a checkpoint every 2 s, 4 times each
//!     cargo bench --bench checkpoints -- 20000 1 2       20,000 pages, every second, twice each
//!
//! Prints for each run CPU and pages, and for those with checkpoints what the crawl itself says of them; then the cost
//! of one, and what share of the crawl that is with one every 30 s. Web and crawler share the machine: CPU (user and
//! system of the crawler alone) counts, elapsed times are only as good as the machine is idle.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crawler::disk::Disk;
use crawler::record::{CheckpointCosts, Snapshot};
use crawler::simweb::{SimOptions, SimWeb};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use site::{Crawl, RUSH};

#[path = "../../tests/site/mod.rs"]
mod site;

const SEED: u64 = 11;
/// Interval of checkpoints with which none comes but the last one.
const NEVER: &str = "240h";
/// Seconds between two checkpoints of a crawl when nobody chooses otherwise.
const USUAL_S: f64 = 30.0;
/// Ticks a second in /proc, on every Linux that this runs on.
const TICKS: f64 = 100.0;

/// One crawl.
struct Run {
    cpu_s: f64,
    wall_s: f64,
    pages: u64,
    costs: CheckpointCosts,
}

impl Run {
    fn cpu_us_per_page(&self) -> f64 {
        self.cpu_s * 1e6 / self.pages as f64
    }
}

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<usize>().ok());
    let pages = numbers.next().unwrap_or(60_000);
    let every_s = numbers.next().unwrap_or(2);
    let rounds = numbers.next().unwrap_or(4);
    let options = SimOptions { seed: SEED, hosts: pages.div_ceil(20), pages, ..SimOptions::default() };
    let web = SimWeb::start(SimOptions { latency: Duration::ZERO, ..options.smooth() }).expect("a web on loopback");
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{pages} pages planned, a checkpoint every {every_s} s, {rounds} runs each; load average {}", load.trim());
    let mut runs: BTreeMap<bool, Vec<Run>> = BTreeMap::new();
    for round in 0..rounds {
        // who comes first changes, so that neither always meets the warmer machine
        for with in [round % 2 == 0, round % 2 != 0] {
            let interval = if with { format!("{every_s}s") } else { NEVER.to_owned() };
            let run = crawl(&web, &interval);
            tell(with, &run);
            runs.entry(with).or_default().push(run);
        }
    }
    sum_up(&runs[&true], &runs[&false]);
}

/// Crawls the whole web into a new directory.
fn crawl(web: &SimWeb, interval: &str) -> Run {
    let config = web.config_with(&format!("{RUSH}\n[crawl]\ncheckpoint_interval = \"{interval}\"\n"));
    let crawl = Crawl::new(&web.seeds().join("\n"), &config);
    web.clear_log();
    let start = Instant::now();
    let child = crawl.start(&["--quiet"]);
    let cpu_s = cpu_of(&child);
    let wall_s = start.elapsed().as_secs_f64();
    site::wait(child).expect(0, &[]);
    let snapshot = Snapshot::read(&Disk::real(), &crawl.path("crawl")).expect("figures can be read");
    let statistics = snapshot.expect("the last checkpoint left figures").statistics;
    Run { cpu_s, wall_s, pages: statistics.pages_stored, costs: statistics.checkpoints }
}

/// User and system time of the child when it has ended; it is not collected yet.
fn cpu_of(child: &Child) -> f64 {
    let pid = Pid::from_child(child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("the child can be waited for");
    let path = format!("/proc/{}/stat", child.id());
    let stat = fs::read_to_string(Path::new(&path)).expect("an ended child has figures until it is collected");
    // the name, which may have spaces, ends with the last parenthesis; field 3 comes after it
    let fields = stat.rsplit_once(") ").expect("a name in parentheses").1;
    let ticks = |field: usize| fields.split(' ').nth(field - 3).and_then(|text| text.parse::<f64>().ok());
    (ticks(14).expect("user time") + ticks(15).expect("system time")) / TICKS
}

fn tell(with: bool, run: &Run) {
    let CheckpointCosts { count, pause, pause_max, beside, beside_max, bytes } = run.costs;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let each = |sum: f64| sum / count.max(1) as f64;
    println!(
        "{:<8} {} pages, {:.1} us of CPU a page, {:.0} pages/s{}",
        if with { "with" } else { "without" },
        run.pages,
        run.cpu_us_per_page(),
        run.pages as f64 / run.wall_s,
        match with {
            false => String::new(),
            true => format!(
                "; {count} checkpoints before the last: pause {:.2} ms on average, {:.2} at most; durable after {:.0} \
                 ms, {:.0} at most; {:.2} MB each",
                each(ms(pause)),
                ms(pause_max),
                each(ms(beside)),
                ms(beside_max),
                each(bytes as f64 / 1e6),
            ),
        }
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn sum_up(with: &[Run], without: &[Run]) {
    let of = |runs: &[Run], figure: &dyn Fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    let (cpu_with, cpu_without) = (of(with, &Run::cpu_us_per_page), of(without, &Run::cpu_us_per_page));
    let rate = |run: &Run| run.pages as f64 / run.wall_s;
    let checkpoints = of(with, &|run| run.costs.count as f64);
    let total_with = of(with, &|run| run.cpu_s);
    let each_s = (total_with - of(without, &|run| run.cpu_s)) / checkpoints.max(1.0);
    println!(
        "medians: CPU a page {cpu_with:.1} us with, {cpu_without:.1} without: {:+.1} %; pages/s {:.0} with, {:.0} \
         without: {:+.1} %",
        (cpu_with / cpu_without - 1.0) * 100.0,
        of(with, &rate),
        of(without, &rate),
        (of(with, &rate) / of(without, &rate) - 1.0) * 100.0,
    );
    let cpu_a_second = of(without, &|run| run.cpu_s / run.wall_s);
    println!(
        "a checkpoint costs {:.1} ms of CPU; every {USUAL_S:.0} s that is {:+.2} % of \
         this crawl's {cpu_a_second:.2} cores",
        each_s * 1e3,
        each_s / (USUAL_S * cpu_a_second) * 100.0,
    );
}

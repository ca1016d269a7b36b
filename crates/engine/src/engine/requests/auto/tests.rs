//! The search in virtual time: hosts of all latencies, a line and cores that are queues, and the right answers known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;

/// Microseconds.
type Us = u64;

/// The simulated hosts, and the line and core that requests go through.
#[derive(Clone, Copy, Debug)]
struct World {
    /// Time of a round trip on the empty line, and how many of them a request needs.
    round_trip_ms: u64,
    round_trips: u64,
    /// Mean time that a host thinks: each takes from half of it to one and a half.
    thought_ms: u64,
    /// Time that the line takes for a page, on average, and a core, each for one page after the other.
    line_us: u64,
    core_us: u64,
    /// Per thousand of requests, this many lose a packet and wait for it to be sent again; so do those that find the
    /// buffer of the line full.
    lost: u64,
    buffer_ms: u64,
    /// Sizes of pages vary as those of the web do, not by half.
    is_wild: bool,
    /// Hosts that become ready in a second; this many are from the start.
    hosts_per_s: f64,
    hosts: u64,
    most: usize,
}

const WORLD: World = World {
    round_trip_ms: 20,
    round_trips: 2,
    thought_ms: 0,
    line_us: 0,
    core_us: 0,
    lost: 0,
    buffer_ms: 10_000,
    is_wild: false,
    hosts_per_s: 0.0,
    hosts: u64::MAX / 2,
    most: 4_096,
};

/// The result, in the second half of the time.
#[derive(Debug)]
struct Outcome {
    rate: f64,
    /// Mean time that a page waited for the line.
    waited_ms: f64,
    workers: usize,
    bound: WorkersBound,
}

/// Next stage of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Line,
    Core,
    End,
}

struct Run {
    world: World,
    rng: fastrand::Rng,
    controller: Controller,
    /// Time at which something comes to a stage, the stage, the time at which it began, and thousandths of the mean
    /// size.
    steps: BinaryHeap<Reverse<(Us, Stage, Us, u64)>>,
    line_free: Us,
    core_free: Us,
    ready: f64,
    busy: usize,
    waits: Vec<Us>,
}

impl Run {
    fn new(world: World, seed: u64) -> Run {
        Run {
            world,
            rng: fastrand::Rng::with_seed(seed),
            controller: Controller::new(world.most),
            steps: BinaryHeap::new(),
            line_free: 0,
            core_free: 0,
            ready: world.hosts as f64,
            busy: 0,
            waits: Vec::new(),
        }
    }

    /// A value between half of `mean` and one and a half.
    fn around(&mut self, mean: u64) -> u64 {
        (mean as f64 * (0.5 + self.rng.f64())) as u64
    }

    fn begin(&mut self, now: Us) {
        self.busy += 1;
        self.ready -= 1.0;
        let thought = self.around(self.world.thought_ms * 1_000);
        let mut arrives = now + self.world.round_trip_ms * 1_000 * self.world.round_trips + thought;
        if self.rng.u64(..1_000) < self.world.lost {
            arrives += self.rng.u64(200_000..1_000_000);
        }
        let size = match self.world.is_wild {
            // exponential; a few are far larger
            true => 100.0 - 700.0 * (1.0 - self.rng.f64()).ln() * if self.rng.u8(..50) == 0 { 10.0 } else { 1.0 },
            false => 500.0 + 1_000.0 * self.rng.f64(),
        };
        self.steps.push(Reverse((arrives, Stage::Line, now, size as u64)));
    }

    /// Moves what is at `stage` on to the next one; returns whether a request has ended.
    fn go_on(&mut self, stage: Stage, began: Us, size: u64, now: Us) -> bool {
        let (free, us, next) = match stage {
            Stage::Line => (&mut self.line_free, self.world.line_us, Stage::Core),
            Stage::Core => (&mut self.core_free, self.world.core_us, Stage::End),
            Stage::End => return true,
        };
        if stage == Stage::Line {
            let waits = free.saturating_sub(now);
            if waits > self.world.buffer_ms * 1_000 {
                let again = now + self.rng.u64(200_000..1_000_000);
                self.steps.push(Reverse((again, stage, began, size)));
                return false;
            }
            self.waits.push(waits);
        }
        let begins = if us == 0 { now } else { now.max(*free) };
        *free = begins + us * size / 1_000;
        self.steps.push(Reverse((*free, next, began, size)));
        false
    }

    /// Goes on until `until`; the rate from `since` on.
    fn go(&mut self, since: Us, until: Us) -> f64 {
        let (mut now, mut counted) = (since, 0_u64);
        while now < until {
            while self.busy < self.controller.workers() && self.ready >= 1.0 {
                self.begin(now);
            }
            let next = self.steps.peek().map_or(u64::MAX, |Reverse((due, ..))| *due);
            // without anything to come, a host becomes ready
            let to = next.min(now + 10_000);
            self.ready += self.world.hosts_per_s * (to - now) as f64 / 1e6;
            now = to;
            let time = Time::from_ms(1_000_000 + now / 1_000);
            while let Some(&Reverse((_, stage, began, size))) =
                self.steps.peek().filter(|Reverse((due, ..))| *due <= now)
            {
                self.steps.pop();
                if self.go_on(stage, began, size, now) {
                    self.busy -= 1;
                    counted += 1;
                    self.controller.ended(Kind::Page, Duration::from_micros(now - began), size * 20, time);
                }
            }
            while self.busy < self.controller.workers() && self.ready >= 1.0 {
                self.begin(now);
            }
            let is_short = self.ready >= 1.0 && self.busy >= self.controller.workers();
            self.controller.look(self.busy, is_short, time);
        }
        counted as f64 / ((until - since) as f64 / 1e6)
    }
}

fn crawl(world: World, seconds: u64, seed: u64) -> Outcome {
    let mut run = Run::new(world, seed);
    run.go(0, seconds * 500_000);
    run.waits.clear();
    let rate = run.go(seconds * 500_000, seconds * 1_000_000);
    let waited_ms = run.waits.iter().sum::<u64>() as f64 / run.waits.len().max(1) as f64 / 1e3;
    Outcome { rate, waited_ms, workers: run.controller.workers(), bound: run.controller.bound() }
}

/// Returns the requests a second that hosts, line and cores allow, the least of them.
fn possible(world: World) -> f64 {
    let alone_s = (world.round_trip_ms * world.round_trips + world.thought_ms) as f64 / 1e3
        + (world.line_us + world.core_us) as f64 / 1e6;
    let per_s = |us: u64| if us == 0 { f64::INFINITY } else { 1e6 / us as f64 };
    let hosts = if world.hosts_per_s > 0.0 { world.hosts_per_s } else { f64::INFINITY };
    (world.most as f64 / alone_s).min(per_s(world.line_us)).min(per_s(world.core_us)).min(hosts)
}

/// Asserts that the search has found what `world` permits, with a queue on the line that others hardly see.
fn assert_found(world: World, seconds: u64, bound: WorkersBound) -> Outcome {
    let outcome = crawl(world, seconds, 7);
    let share = outcome.rate / possible(world);
    assert!(share >= 0.9, "{share:.2} of what is possible: {outcome:?} {world:?}");
    assert_eq!(outcome.bound, bound, "{outcome:?} {world:?}");
    outcome
}

#[test]
fn a_full_line_is_found_at_all_latencies_and_its_queue_stays_below_a_round_trip() {
    for (round_trip_ms, thought_ms, line_us) in [
        (20, 0, 2_000), // 100 Mbit/s and pages of 25 KB: fewer workers than at the start
        (20, 100, 1_000),
        (50, 0, 500),
        (100, 0, 2_000),
        (200, 0, 1_000),
        (300, 200, 500),
    ] {
        let world = World { round_trip_ms, thought_ms, line_us, ..WORLD };
        let outcome = assert_found(world, 100, WorkersBound::Line);
        assert!(outcome.waited_ms < round_trip_ms as f64, "{outcome:?} {world:?}");
    }
}

#[test]
fn workers_grow_to_the_ceiling_where_nothing_is_short() {
    for (round_trip_ms, most) in [(200, 1_024), (300, 300), (50, 40)] {
        let outcome = assert_found(World { round_trip_ms, most, ..WORLD }, 100, WorkersBound::Ceiling);
        assert!(outcome.workers * 5 >= most * 4, "but for a step down: {outcome:?}");
    }
}

#[test]
fn few_hosts_are_no_reason_for_more_workers_and_what_is_not_used_is_given_up() {
    let world = World { hosts_per_s: 150.0, hosts: 0, round_trip_ms: 100, ..WORLD };
    let outcome = assert_found(world, 100, WorkersBound::Hosts);
    assert_eq!(outcome.workers, WORKERS_START);
    // many at first, and then few
    let world = World { hosts: 100_000, ..world };
    let mut run = Run::new(world, 3);
    run.go(0, 20_000_000);
    let most = run.controller.workers();
    assert!(most > 8 * WORKERS_START, "{most}");
    run.go(20_000_000, 200_000_000);
    assert_eq!((run.controller.workers(), run.controller.bound()), (WORKERS_START, WorkersBound::Hosts));
}

#[test]
fn busy_cores_keep_the_workers_of_the_start() {
    let world = World { round_trip_ms: 1, core_us: 400, ..WORLD };
    let mut run = Run::new(world, 5);
    run.controller.press(Pressure { cores: true, memory: false });
    let rate = run.go(0, 60_000_000);
    assert!(rate > 0.95 * possible(world), "{rate}");
    assert_eq!(run.controller.bound(), WorkersBound::Cores);
    let workers = run.controller.workers();
    assert!((WORKERS_START..=WORKERS_START * 2).contains(&workers), "{workers}");
    // where nobody says that it is the cores, nothing is lost either
    assert_found(world, 60, WorkersBound::Line);
}

#[test]
fn without_memory_there_are_fewer_workers_each_time_it_is_looked_at() {
    let mut run = Run::new(World { round_trip_ms: 100, ..WORLD }, 6);
    run.go(0, 20_000_000);
    let before = run.controller.workers();
    run.controller.press(Pressure { cores: false, memory: true });
    run.go(20_000_000, 22_000_000);
    let after = run.controller.workers();
    assert!(after < before && run.controller.bound() == WorkersBound::Memory, "{before}, {after}");
    run.go(22_000_000, 60_000_000);
    assert_eq!(run.controller.workers(), WORKERS_MIN);
    run.controller.press(Pressure::default());
    run.go(60_000_000, 100_000_000);
    assert!(run.controller.workers() > WORKERS_START);
}

#[test]
fn a_crawl_that_wanders_to_hosts_far_away_finds_its_rate_again() {
    let mut run = Run::new(World { round_trip_ms: 30, line_us: 1_000, ..WORLD }, 8);
    run.go(0, 60_000_000);
    let near = run.controller.workers();
    run.world.round_trip_ms = 300;
    run.go(60_000_000, 120_000_000);
    let rate = run.go(120_000_000, 180_000_000);
    assert!(rate > 0.9 * possible(run.world), "{rate} {near} {}", run.controller.workers());
    run.world.round_trip_ms = 30;
    run.go(180_000_000, 240_000_000);
    assert!(run.controller.workers() < near * 2, "{} {near}", run.controller.workers());
}

/// Look-ups take a tenth of the time of pages: were they counted like those, their share would be taken for the rate.
#[test]
fn a_mix_that_changes_is_not_taken_for_a_change_of_the_rate() {
    let mut controller = Controller::new(4_096);
    let mut now = Time::from_ms(1_000_000);
    let mut tried = Vec::new();
    for window in 0..40_u32 {
        // the line is full from 64 workers on: what a request takes grows with their number
        let (pages, look_ups) = (400 - 9 * window, 100 + 100 * window);
        let slower = controller.workers() as f64 / 64.0;
        let was_tried = controller.trial;
        for _ in 0..3_000 {
            let end = now + Duration::from_millis(1);
            (0..pages / 100)
                .for_each(|_| controller.ended(Kind::Page, Duration::from_millis(300).mul_f64(slower), 0, end));
            (0..look_ups / 100)
                .for_each(|_| controller.ended(Kind::LookUp, Duration::from_millis(30).mul_f64(slower), 0, end));
            now = end;
            if controller.look(controller.workers(), true, now) {
                break;
            }
        }
        tried.extend(was_tried.map(|_| controller.workers()));
    }
    assert!(controller.bound() == WorkersBound::Line && controller.workers() < 2 * WORKERS_START, "{tried:?}");
}

#[test]
#[ignore = "prints what the search finds on lines that lose packets"]
fn tells_what_is_found_on_lines_that_lose_packets() {
    for (round_trip_ms, round_trips, thought_ms, line_us) in
        [(20, 3, 0, 1_650), (100, 3, 0, 1_650), (300, 3, 0, 1_650), (100, 3, 0, 165), (100, 3, 300, 1_650)]
    {
        for is_wild in [false, true] {
            let world =
                World { round_trip_ms, round_trips, thought_ms, line_us, lost: 60, buffer_ms: 250, is_wild, ..WORLD };
            let outcomes: Vec<Outcome> = (0..12).map(|seed| crawl(world, 100, seed)).collect();
            let mean = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64;
            let least = outcomes.iter().map(|outcome| outcome.rate).fold(f64::INFINITY, f64::min);
            println!(
                "{round_trip_ms} ms, thought {thought_ms}, line {line_us} us, wild {is_wild}: rate {:.2} (least {:.2}) \
                 of possible, queue {:.2} round trips, workers {:.0}",
                mean(&|outcome| outcome.rate) / possible(world),
                least / possible(world),
                mean(&|outcome| outcome.waited_ms) / round_trip_ms as f64,
                mean(&|outcome| outcome.workers as f64)
            );
        }
    }
}

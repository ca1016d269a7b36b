//! The number of workers, where nobody has fixed it: as many as bring something.
//!
//! While hosts are ready and all workers are taken, the number grows as long as the rate of requests grows with it.
//! What ends that is the line or the cores: more requests in flight are then only longer on their way, and what they
//! wait in is a queue that other traffic has to wait in too. By Little's law (workers = rate x time), the rate that
//! does not rise and the time of a request that does are one and the same measurement; so mean times are compared,
//! over windows of some times of a request, and nothing has to be known about single hosts, whose latencies differ by
//! orders. What does differ between two windows is how many of the requests are look-ups, how many robots.txt and how
//! many pages: the time of a window is compared with what the same mix took before.
//!
//! It is a search by trials, one after the other, each against the window before it:
//! - up: a multiple of the workers, first twice as many, later a quarter more. The trial is kept if at least half of
//!   what the step could bring came of it. Otherwise the number goes back to where the rate needs no queue: the new
//!   rate at the old time of a request, which is the bandwidth-delay product of BBR (Cardwell et al., "BBR:
//!   Congestion-Based Congestion Control", ACM Queue 2016).
//! - down: a fifth fewer, and more as long as that is right. The trial is kept if nearly nothing is lost by it: then
//!   there was a queue. Otherwise the number goes back to what the rate of before needs at the time that a request
//!   takes now. So it ends where throughput by delay is largest (Kleinrock, "Power and deterministic rules of thumb for
//!   probabilistic problems in computer communications", 1979). While cores are short, nothing is tried downwards.
//!
//! By chance a few requests are slow, and a lost packet makes one a second longer, so means of times err by a tenth. A
//! full line does not: it brings as many bytes a second as before. So a step up is kept only if it brings more of them
//! ([`FLOW_WORTH`]), and one down is kept if they stay ([`FLOW_SPARED`]), unless the times clearly say otherwise.
//!
//! Differences to both: there is no estimate of the least delay, which would have to expire while a crawl wanders from
//! near hosts to far ones. Each trial is judged by itself, so a wrong one, by chance or since other hosts came up,
//! costs a few windows. Trials become rarer while they change nothing.
//!
//! Nothing here knows a clock or the machine: time, ends of requests and what is short come from outside.

use std::time::Duration;

use crate::clock::Time;
use crate::record::WorkersBound;

/// Workers at the start: as many as keep a fast line busy without knowing it, and few enough for a slow one.
pub const WORKERS_START: usize = 64;
/// The fewest that a full line leaves.
const WORKERS_MIN: usize = 4;
/// The largest step up, and the smallest one.
const STEP_UP: (f64, f64) = (2.0, 1.25);
/// The first step down, and the largest one.
const STEP_DOWN: (f64, f64) = (1.25, 2.0);
/// Part of what a step up could bring at most that has to come of it.
const WORTH: f64 = 0.5;
/// Part of the rate that may be lost by a step down.
const SPARED: f64 = 0.05;
/// Part of a step up that has to come as more bytes a second; and the part that may be missing after a step down.
const FLOW_WORTH: f64 = 0.3;
const FLOW_SPARED: f64 = 0.03;
/// Workers beside those that the rate needs without a queue: a measurement is not that exact.
const MARGIN: f64 = 1.05;
/// While no trial changes anything, this many windows pass between two at most.
const HOLD_MAX: u32 = 8;
/// Requests that take this many times as long as before, or as short, are those of another crawl.
const CHANGED: f64 = 1.25;
/// A window lasts so long at least, and at most.
const WINDOW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// And as many times as long as a request.
const REQUESTS_LONG: u32 = 2;
/// Ends of requests that a mean time is made of: for a large step, and for a small one.
const ENDS: (f64, f64) = (100.0, 400.0);
/// Shortest time in which what a trial changes takes effect; the time of a request, where that is longer.
const SETTLED: Duration = Duration::from_millis(100);
/// Hosts are the bound of a window in which workers were short for less than this share of it.
const SHORT_SHARE: f64 = 0.5;

/// Resources that are short on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// The process could use more cores than there are, or one of its threads more than its core.
    pub cores: bool,
    /// Little memory is left.
    pub memory: bool,
}

/// The purpose of a request: each kind takes a different time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The addresses of a name.
    LookUp,
    /// A robots.txt: often the first request of a connection.
    Robots,
    /// A page.
    Page,
}

/// Requests that have ended, by kind: how many, and the time that they had workers for, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    counts: [f64; 3],
    held_s: [f64; 3],
    /// Bytes of answers, and the seconds in which they came.
    bytes: f64,
    span_s: f64,
}

impl Ended {
    fn add(&mut self, other: &Ended) {
        for kind in 0..3 {
            self.counts[kind] += other.counts[kind];
            self.held_s[kind] += other.held_s[kind];
        }
        self.bytes += other.bytes;
        self.span_s += other.span_s;
    }

    /// Returns the bytes a second as a multiple of those of `before`, where that is known.
    fn flow(&self, before: &Ended) -> Option<f64> {
        let per_s = |ended: &Ended| (ended.bytes > 0.0 && ended.span_s > 0.0).then(|| ended.bytes / ended.span_s);
        Some(per_s(self)? / per_s(before)?)
    }

    fn count(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Returns the time that the same mix takes now, as a multiple of its time in `before`; 1 where nothing can be
    /// compared.
    fn stretch(&self, before: &Ended) -> f64 {
        let (mut now_s, mut then_s) = (0.0, 0.0);
        for kind in 0..3 {
            if self.counts[kind] > 0.0 && before.counts[kind] > 0.0 {
                now_s += self.held_s[kind];
                then_s += self.counts[kind] * before.held_s[kind] / before.counts[kind];
            }
        }
        if now_s > 0.0 && then_s > 0.0 { now_s / then_s } else { 1.0 }
    }
}

/// The search.
#[derive(Debug)]
pub(super) struct Controller {
    start: usize,
    most: usize,
    workers: usize,
    bound: WorkersBound,
    pressure: Pressure,
    window: Window,
    /// Mean time for which a request had its worker.
    held: Duration,
    trial: Option<Trial>,
    /// The windows since the last trial, and how many they are.
    before: Ended,
    windows: u32,
    /// Windows between two trials.
    hold: u32,
    /// The next step up.
    step: f64,
    /// The next step down.
    step_down: f64,
    /// The next trial is a step down.
    is_down_next: bool,
}

/// A change that is being tried.
#[derive(Clone, Copy, Debug)]
struct Trial {
    is_up: bool,
    /// Workers before it, and what they did.
    from: usize,
    before: Ended,
}

/// Counts of the moment.
#[derive(Debug, Default)]
struct Window {
    /// Nothing is counted before.
    since: Time,
    looked: Time,
    /// Workers were short when it was looked at last.
    is_short: bool,
    short: Duration,
    ended: Ended,
    /// The most workers that were busy.
    peak: usize,
}

impl Controller {
    /// A search between [`WORKERS_MIN`] and `most`.
    pub(crate) fn new(most: usize) -> Controller {
        let start = WORKERS_START.min(most);
        Controller {
            start,
            most,
            workers: start,
            bound: WorkersBound::Hosts,
            pressure: Pressure::default(),
            window: Window::default(),
            held: Duration::ZERO,
            trial: None,
            before: Ended::default(),
            windows: 0,
            hold: 1,
            step: STEP_UP.0,
            step_down: STEP_DOWN.0,
            is_down_next: false,
        }
    }

    /// Workers that there are now.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Returns why there are not more.
    pub(crate) fn bound(&self) -> WorkersBound {
        self.bound
    }

    /// Most workers that there may be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Notes what is short from now on.
    pub(crate) fn press(&mut self, pressure: Pressure) {
        self.pressure = pressure;
    }

    /// Counts a request that ends at `now`, had its worker for `held`, and brought `bytes` bytes.
    pub(crate) fn ended(&mut self, kind: Kind, held: Duration, bytes: u64, now: Time) {
        if now >= self.window.since {
            let (held_s, counted_s) = (held.as_secs_f64(), now.since(self.window.since).as_secs_f64());
            let ended = &mut self.window.ended;
            ended.counts[kind as usize] += 1.0;
            ended.held_s[kind as usize] += held_s;
            // of a long answer, what came before the window is not of it
            ended.bytes += bytes as f64 * if held_s > counted_s { counted_s / held_s } else { 1.0 };
        }
    }

    /// Takes note that `busy` workers are busy at `now`; `is_short` says whether none is free although a host is ready.
    /// Returns whether the number has changed.
    pub(crate) fn look(&mut self, busy: usize, is_short: bool, now: Time) -> bool {
        let window = &mut self.window;
        if window.is_short && now > window.since {
            window.short += now.since(window.looked.max(window.since));
        }
        window.peak = window.peak.max(busy);
        (window.looked, window.is_short) = (now, is_short);
        let length = now.since(window.since);
        let ends = if self.step >= 1.5 && self.trial.is_none_or(|trial| trial.is_up) { ENDS.0 } else { ENDS.1 };
        let is_long = length >= WINDOW.0.max(self.held * REQUESTS_LONG) && self.window.ended.count() >= ends;
        if !is_long && length < WINDOW.1 {
            return false;
        }
        let before = self.workers;
        self.judge(length);
        let is_short = self.window.is_short;
        let settled = if self.workers == before { Duration::ZERO } else { SETTLED.max(self.held) };
        self.window = Window { since: now + settled, looked: now, is_short, ..Window::default() };
        self.workers != before
    }

    /// A window of this length is over.
    fn judge(&mut self, length: Duration) {
        let Window { mut ended, short, peak, .. } = self.window;
        ended.span_s = length.as_secs_f64();
        if ended.count() > 0.0 {
            self.held = Duration::from_secs_f64(ended.held_s.iter().sum::<f64>() / ended.count());
        }
        if self.pressure.memory {
            self.forget();
            self.bound = WorkersBound::Memory;
            self.workers = (self.workers * 3 / 4).max(WORKERS_MIN.min(self.most));
        } else if short < length.mul_f64(SHORT_SHARE) {
            self.forget();
            self.bound = WorkersBound::Hosts;
            if peak < self.workers / 2 {
                // what was found when more hosts were ready says little about the next time
                self.workers = (self.workers * 7 / 8).max(self.start.min(self.workers));
            }
        } else {
            self.compare(ended);
        }
    }

    /// Forgets what was measured: it is of no use for the next trial.
    fn forget(&mut self) {
        self.trial = None;
        (self.before, self.windows) = (Ended::default(), 0);
        (self.hold, self.is_down_next, self.step_down) = (1, false, STEP_DOWN.0);
    }

    /// All workers were busy in a window, in which these requests ended.
    fn compare(&mut self, ended: Ended) {
        let Some(trial) = self.trial.take() else {
            if (ended.stretch(&self.before).ln()).abs() > CHANGED.ln() {
                // other hosts, or another line: what was found holds no more
                self.forget();
            }
            self.before.add(&ended);
            self.windows += 1;
            if self.windows >= self.hold {
                self.windows = 0;
                let before = std::mem::take(&mut self.before);
                self.begin_trial(before);
            }
            return;
        };
        let (workers, from) = (self.workers as f64, trial.from as f64);
        // by this many times the rate has changed; and the workers that the larger rate needs without a queue
        let by_time = workers / from / ended.stretch(&trial.before);
        let flow = ended.flow(&trial.before);
        let rate = match flow {
            // a full line brings as many bytes as before, however many requests were quick by chance
            Some(flow) if trial.is_up && flow - 1.0 < FLOW_WORTH * (workers / from - 1.0) => by_time.min(flow.max(1.0)),
            _ => by_time,
        };
        let knee = if trial.is_up { from * rate } else { workers / rate * MARGIN };
        let is_full = flow.is_some_and(|flow| flow >= 1.0 - FLOW_SPARED);
        // of the change of workers, the share that came out as a change of the rate
        let share = (rate - 1.0) / (workers / from - 1.0);
        match trial.is_up {
            true if share >= WORTH => {
                self.step = (self.step * STEP_UP.1).min(STEP_UP.0);
                self.hold = 1;
                self.bound = WorkersBound::Growing;
                self.begin_trial(ended);
            }
            true => {
                self.workers = (knee as usize).clamp(trial.from, self.workers);
                self.bound = self.full();
                self.step = STEP_UP.1;
                self.is_down_next = true;
            }
            false if 1.0 - rate <= SPARED || is_full && 1.0 - rate <= WORTH * (1.0 - workers / from) => {
                self.bound = self.full();
                self.step_down = (self.step_down * STEP_DOWN.0).min(STEP_DOWN.1);
                self.begin_trial(ended);
            }
            false => {
                self.workers = (knee.ceil() as usize).clamp(self.workers, trial.from);
                self.step_down = STEP_DOWN.0;
                self.hold = (self.hold * 2).min(HOLD_MAX);
                self.is_down_next = false;
            }
        }
    }

    /// The line or the cores: whatever else there is, more workers bring no more.
    fn full(&self) -> WorkersBound {
        if self.pressure.cores { WorkersBound::Cores } else { WorkersBound::Line }
    }

    /// Tries another number of workers; those that there are now did what `before` says.
    fn begin_trial(&mut self, before: Ended) {
        let from = self.workers;
        if !self.is_down_next {
            let more = ((from as f64 * self.step).ceil() as usize).min(self.most);
            if more > from {
                if matches!(self.bound, WorkersBound::Hosts | WorkersBound::Memory | WorkersBound::Ceiling) {
                    self.bound = WorkersBound::Growing;
                }
                self.workers = more;
                self.trial = Some(Trial { is_up: true, from, before });
                return;
            }
            self.bound = WorkersBound::Ceiling;
        }
        let fewer = ((from as f64 / self.step_down) as usize).max(WORKERS_MIN.min(from));
        // a queue for the cores keeps nobody else waiting, and rates are not what they seem while others use the cores
        self.is_down_next = fewer < from && !self.pressure.cores;
        if self.is_down_next {
            self.workers = fewer;
            self.trial = Some(Trial { is_up: false, from, before });
        }
    }
}

#[cfg(test)]
mod tests;

//! Live progress on standard error: a display redrawn in place on a terminal, a line every interval elsewhere.

use std::collections::VecDeque;
use std::time::Duration;

use super::Screen;
use super::moment::{Hosts, Moment, TerminalSize};
use crate::clock::Time;
use crate::frontier::Activity;
use crate::record::{Doing, Gauges, Statistics};

/// Ways in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A display of some lines, redrawn in place.
    Live,
    /// One line every interval.
    Lines,
    /// One event of the log every interval.
    Events,
    /// Nothing.
    Quiet,
}

impl Mode {
    /// Returns the mode for `screen`, with `-q` and a log in JSON taken into account.
    pub(crate) fn on(screen: &Screen, quiet: bool, json: bool) -> Self {
        match (quiet, json, screen.is_terminal()) {
            (true, ..) => Mode::Quiet,
            (false, true, _) => Mode::Events,
            (false, false, true) => Mode::Live,
            (false, false, false) => Mode::Lines,
        }
    }
}

/// Shortest time between two redraws.
const REDRAW: Duration = Duration::from_millis(250);
/// Time that "now" covers.
const WINDOW: Duration = Duration::from_secs(10);

/// A moment of the past, to compute the present rate.
#[derive(Clone, Copy, Debug)]
struct Sample {
    elapsed: Duration,
    pages: u64,
    bytes: u64,
}

impl Sample {
    fn of(statistics: &Statistics, elapsed: Duration) -> Self {
        Sample { elapsed, pages: statistics.pages_stored, bytes: statistics.bytes_received }
    }
}

/// Shows how a crawl goes.
#[derive(Debug)]
pub struct Progress {
    mode: Mode,
    interval: Duration,
    screen: Screen,
    /// Time at which something was shown last. `None` before the first time.
    shown: Option<Duration>,
    samples: VecDeque<Sample>,
    /// Activities of hosts by the last report.
    hosts: Hosts,
}

impl Progress {
    /// Shows progress on a screen that logs are written to as well.
    pub(crate) fn on(screen: Screen, mode: Mode, interval: Duration) -> Self {
        Progress { mode, interval, screen, shown: None, samples: VecDeque::new(), hosts: Hosts::default() }
    }

    /// Hosts that the next display has room for; 0 where none are shown.
    pub(crate) fn hosts_wanted(&self) -> usize {
        if self.mode == Mode::Live { self.terminal_size().hosts() } else { 0 }
    }

    /// Takes down what `hosts` do at `as_of`, for the displays that come.
    pub(crate) fn tell_hosts(&mut self, hosts: Vec<Activity>, as_of: Time) {
        self.hosts = Hosts { hosts, as_of };
    }

    fn terminal_size(&self) -> TerminalSize {
        TerminalSize { columns: self.screen.columns(), rows: self.screen.rows() }
    }

    /// Shows the present figures where it is time to; `elapsed` is the time of this session. Call it as often as you
    /// like: it costs a comparison when there is nothing to show.
    pub(crate) fn tick(&mut self, statistics: &Statistics, gauges: &Gauges, doing: Doing, elapsed: Duration) {
        let pause = match self.mode {
            Mode::Quiet => return,
            Mode::Live => REDRAW,
            Mode::Lines | Mode::Events => self.interval,
        };
        if self.samples.is_empty() {
            // Where this session began: what was done before it is not its pace.
            self.samples.push_back(Sample::of(statistics, elapsed));
        }
        let due = match self.shown {
            Some(shown) => elapsed.saturating_sub(shown) >= pause,
            // The first line of a log comes after an interval; a display is there at once.
            None => self.mode == Mode::Live || elapsed >= pause,
        };
        if due {
            self.show(statistics, gauges, doing, elapsed);
        }
    }

    /// Shows the present figures a last time and leaves them standing.
    pub(crate) fn finish(&mut self, statistics: &Statistics, gauges: &Gauges, doing: Doing, elapsed: Duration) {
        if self.mode == Mode::Live {
            self.hosts = Hosts::default();
            self.show(statistics, gauges, doing, elapsed);
        }
        self.screen.keep();
    }

    fn show(&mut self, statistics: &Statistics, gauges: &Gauges, doing: Doing, elapsed: Duration) {
        self.shown = Some(elapsed);
        let (pages_now, bytes_now) = self.rates(statistics, elapsed);
        // The average is over the whole crawl, as the counters are.
        let total = statistics.elapsed.max(elapsed).as_secs_f64();
        let average = if total > 0.0 { statistics.pages_stored as f64 / total } else { 0.0 };
        let elapsed = statistics.elapsed.max(elapsed);
        let moment = Moment { statistics, gauges, doing, elapsed, pages_now, bytes_now, average };
        match self.mode {
            Mode::Live => self.screen.redraw(&moment.display(&self.hosts, self.screen.colour(), self.terminal_size())),
            Mode::Lines => self.screen.print(&(moment.line() + "\n")),
            Mode::Events => moment.event(),
            Mode::Quiet => {}
        }
    }

    /// Pages and bytes a second over the last moments.
    fn rates(&mut self, statistics: &Statistics, elapsed: Duration) -> (f64, f64) {
        let window = WINDOW.max(if self.mode == Mode::Live { WINDOW } else { self.interval });
        let now = Sample::of(statistics, elapsed);
        while self.samples.len() > 1 && elapsed.saturating_sub(self.samples[1].elapsed) >= window {
            self.samples.pop_front();
        }
        let before = self.samples.front().copied().unwrap_or(now);
        self.samples.push_back(now);
        let seconds = elapsed.saturating_sub(before.elapsed).as_secs_f64();
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        let per_second = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        (per_second(now.pages, before.pages), per_second(now.bytes, before.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::tests::Paper;
    use super::*;
    use crate::outcome::{Failure, Reason};

    const SECOND: Duration = Duration::from_secs(1);

    fn progress(mode: Mode, colour: bool) -> (Progress, Paper) {
        let paper = Paper::default();
        let screen = Screen::new(Box::new(paper.clone()), mode == Mode::Live, colour);
        (Progress::on(screen, mode, SECOND * 10), paper)
    }

    fn pages(pages_stored: u64) -> Statistics {
        Statistics { pages_stored, bytes_received: pages_stored << 20, ..Default::default() }
    }

    #[test]
    fn off_a_terminal_there_is_one_line_an_interval() {
        let (mut progress, paper) = progress(Mode::Lines, false);
        for second in 0..35 {
            progress.tick(&pages(u64::from(second) * 2), &Gauges::default(), Doing::Crawling, SECOND * second);
        }
        let text = paper.text();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.starts_with("10s state=crawling pages=20 now=2.0/s average=2.0/s"), "{text}");
        assert!(
            text.lines().nth(1).unwrap().starts_with("20s state=crawling pages=40 now=2.0/s average=2.0/s in=2.0MiB/s"),
            "{text}"
        );
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn now_follows_the_last_seconds_and_average_the_whole_crawl() {
        let (mut progress, paper) = progress(Mode::Live, false);
        for second in 0..=200_u32 {
            let stored = if second <= 100 { u64::from(second) * 10 } else { 1_000 };
            progress.tick(&pages(stored), &Gauges::default(), Doing::Crawling, SECOND * second);
        }
        let text = paper.text();
        let last = text.rsplit("pages ").next().unwrap();
        assert!(last.contains("1,000  now 0.00/s  average 5.0/s"), "{last}");
    }

    #[test]
    fn a_resumed_crawl_does_not_count_its_past_as_present() {
        let (mut progress, paper) = progress(Mode::Lines, false);
        let resumed = Statistics { elapsed: SECOND * 1_000, ..pages(5_000) };
        progress.tick(&resumed, &Gauges::default(), Doing::Crawling, SECOND * 10);
        assert!(paper.text().contains("pages=5000 now=0.00/s average=5.0/s"), "{}", paper.text());
    }

    #[test]
    fn the_display_fits_eighty_columns_with_the_largest_figures() {
        let mut statistics = Statistics {
            pages_stored: u64::MAX / 4,
            bytes_received: u64::MAX / 4,
            bytes_stored: u64::MAX / 4,
            ..Default::default()
        };
        for status in [200, 301, 404, 503] {
            statistics.statuses.insert(status, 888_888_888_888);
        }
        statistics.failures.insert(Failure::Dns, 888_888_888_888);
        statistics.dropped.insert(Reason::Scope, 888_888_888_888);
        let many = 888_888_888_888;
        let gauges = Gauges {
            queued: many,
            keys_seen: many,
            hosts_ready: many,
            hosts_waiting: many,
            in_flight: 10_000,
            disk_free_bytes: u64::MAX,
            ..Default::default()
        };
        let (mut progress, paper) = progress(Mode::Live, false);
        progress.tick(&statistics, &gauges, Doing::Paused, Duration::from_secs(1_000 * 86_400));
        for line in paper.text().lines() {
            assert!(line.chars().count() < 80, "{} {line}", line.chars().count());
        }
        assert_eq!(paper.text().lines().count(), 6);
    }

    #[test]
    fn a_pause_shows_in_every_kind_of_progress_and_a_crawl_that_runs_needs_no_line_for_it() {
        let (mut live, paper) = progress(Mode::Live, false);
        live.tick(&pages(1), &Gauges::default(), Doing::Crawling, SECOND);
        assert!(!paper.text().contains("state"), "{}", paper.text());
        live.tick(&pages(1), &Gauges::default(), Doing::Paused, SECOND * 2);
        assert!(paper.text().contains("\nstate    paused: no new requests until"), "{}", paper.text());
        live.tick(&pages(1), &Gauges::default(), Doing::Crawling, SECOND * 3);
        live.finish(&pages(1), &Gauges::default(), Doing::Done, SECOND * 4);
        let text = paper.text();
        assert_eq!(text.matches("state").count(), 1, "{text}");
        assert!(text.contains("\x1b[5A\r\x1b[J"), "the line is taken away again: {text:?}");
        let (mut lines, paper) = progress(Mode::Lines, false);
        lines.tick(&pages(1), &Gauges::default(), Doing::Paused, SECOND * 10);
        assert!(paper.text().starts_with("10s state=paused pages=1 "), "{}", paper.text());
    }

    #[test]
    fn quiet_says_nothing_and_colours_come_only_where_they_are_wanted() {
        let (mut quiet, paper) = progress(Mode::Quiet, false);
        quiet.tick(&pages(1), &Gauges::default(), Doing::Crawling, SECOND * 60);
        quiet.finish(&pages(1), &Gauges::default(), Doing::Done, SECOND * 61);
        assert_eq!(paper.text(), "");
        for colour in [false, true] {
            let (mut live, paper) = progress(Mode::Live, colour);
            live.tick(&pages(1), &Gauges::default(), Doing::Crawling, SECOND);
            assert_eq!(paper.text().contains("\x1b[1m"), colour);
        }
    }

    #[test]
    fn a_display_is_not_redrawn_more_often_than_eyes_can_follow() {
        let (mut progress, paper) = progress(Mode::Live, false);
        for ms in 0..1_000 {
            progress.tick(&pages(ms), &Gauges::default(), Doing::Crawling, Duration::from_millis(ms));
        }
        assert_eq!(paper.text().matches("pages ").count(), 4);
    }
}

//! Views of a crawl at one moment: as a display for a terminal, as a line for a log, as an event of the log.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Time;
use crate::frontier::Activity;
use crate::outcome::Reason;
use crate::record::{Bottleneck, CalendarFigures, Doing, Gauges, Statistics, TimeLeft};
use crate::text::escape::Escaped;
use crate::text::figures::{rate, short, size, span};

/// Columns of the names of lines, and the blank behind them.
const NAME_COLUMNS: usize = 9;
/// Lines of the display with figures, at most; the line of a calendar takes the place of one of the log.
const FIGURE_LINES: usize = 8;
/// Lines of the terminal that are left to the log above the display.
const LOG_LINES: usize = 8;
/// Time within which something counts as the next to come.
const SOON: Duration = Duration::from_millis(50);
/// Hosts that are shown, at most.
const HOSTS_MAX: usize = 60;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub columns: usize,
    pub rows: usize,
}

impl TerminalSize {
    /// Hosts for which there is room beside the figures.
    pub(crate) fn hosts(self) -> usize {
        self.rows.saturating_sub(FIGURE_LINES + LOG_LINES).min(HOSTS_MAX)
    }
}

/// Activities of hosts, and the time at which they were so.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    pub hosts: Vec<Activity>,
    pub as_of: Time,
}

/// Figures that are shown at one moment.
pub(super) struct Moment<'a> {
    pub statistics: &'a Statistics,
    pub gauges: &'a Gauges,
    pub doing: Doing,
    pub elapsed: Duration,
    pub pages_now: f64,
    pub bytes_now: f64,
    pub average: f64,
}

impl Moment<'_> {
    /// The display: lines of figures, and below them hosts while there is room. The last column is left free, for some
    /// terminals wrap when it is written; a line that wrapped would not be taken away by the next display, nor would
    /// one that has left the screen.
    pub(crate) fn display(&self, hosts: &Hosts, colour: bool, terminal: TerminalSize) -> Vec<String> {
        let columns = terminal.columns.saturating_sub(NAME_COLUMNS + 1);
        let paint = |name: &str, text: &str| match colour {
            true => format!("\x1b[1m{name:<8}\x1b[0m {text}"),
            false => format!("{name:<8} {text}"),
        };
        let figures = self.figures().into_iter().map(|(name, text)| paint(name, fitting(&text, columns)));
        let shown = if self.doing == Doing::Crawling { terminal.hosts() } else { 0 };
        let hosts = hosts.hosts.iter().take(shown).map(|host| {
            let when = match host.next.map(|next| next.since(hosts.as_of)) {
                None => "now".to_owned(),
                Some(wait) if wait < SOON => "next".to_owned(),
                Some(wait) if wait < Duration::from_secs(60) => format!("in {:.1}s", wait.as_secs_f64()),
                Some(wait) => format!("in {}", span(wait).split(' ').next().unwrap_or_default()),
            };
            paint(&when, &cut(&format!("{:>6} queued  {}", short(host.queued), Escaped(&host.url)), columns))
        });
        figures.chain(hosts).take(terminal.rows.saturating_sub(1).max(1)).collect()
    }

    /// The lines of figures with their names; lines without content are left out.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let (statistics, gauges) = (self.statistics, self.gauges);
        let mut lines = vec![("pages", self.pages())];
        let is_crawling = self.doing == Doing::Crawling;
        lines.extend(self.left().filter(|_| is_crawling).map(|left| ("left", left.to_string())));
        lines.push(("queue", self.queue()));
        if is_crawling {
            lines.push(match (self.bottleneck(), &gauges.calendar) {
                (Bottleneck::Calendar, Some(calendar)) => ("waiting", format!("up to date; {}", calendar.next())),
                (bottleneck, _) => ("limited", format!("by {bottleneck}")),
            });
            lines.extend(gauges.constraints.disk_wait.map(|wait| ("waiting", wait.to_string())));
        }
        lines.extend(gauges.calendar.map(|calendar| ("calendar", calendar.line())));
        lines.push(("answers", self.answers()));
        if statistics.dropped_total() > 0 {
            lines.push(("left out", left_out(&statistics.dropped)));
        }
        lines.push((
            "disk",
            format!(
                "{} received  {} stored  {} free",
                size(statistics.bytes_received),
                size(statistics.bytes_stored),
                size(gauges.disk_free_bytes),
            ),
        ));
        match self.doing {
            Doing::Crawling => {
                let resting = gauges.resting.as_ref().filter(|resting| resting.is_all);
                lines.extend(resting.map(|resting| ("resting", resting.line())));
            }
            Doing::Done => {}
            doing => lines.push(("state", doing.meaning().to_owned())),
        }
        lines
    }

    fn pages(&self) -> String {
        // what pages embed is fetched and stored as they are, so that the rates count both
        let requisites = match self.statistics.requisites_stored {
            0 => String::new(),
            number => format!(" + {} requisites", short(number)),
        };
        let limit = self.gauges.limits.pages.map_or(String::new(), |limit| format!(" of {}", short(limit)));
        format!(
            "{}{limit}{requisites}  now {}/s  average {}/s  {}/s  elapsed {}",
            short(self.statistics.pages()),
            rate(self.pages_now),
            rate(self.average),
            size(self.bytes_now as u64),
            span(self.elapsed),
        )
    }

    fn queue(&self) -> String {
        let gauges = self.gauges;
        format!(
            "{} URLs  {} seen  hosts {} ready, {} waiting  {} in flight{}",
            short(gauges.queued),
            short(gauges.keys_seen),
            short(gauges.hosts_ready),
            short(gauges.hosts_waiting),
            gauges.in_flight,
            gauges.workers.map(|workers| format!("  workers {}", short(workers.now))).unwrap_or_default(),
        )
    }

    fn answers(&self) -> String {
        let [_, ok, moved, refused, broken] = self.statistics.status_classes();
        let failed = self.statistics.failures_total();
        let parts = [
            (ok, "OK"),
            (moved, "redirects"),
            (refused, "missing or refused"),
            (broken, "server errors"),
            (failed, "unanswered"),
        ];
        let told: Vec<String> = parts
            .into_iter()
            .filter(|&(number, _)| number > 0)
            .map(|(number, what)| format!("{} {what}", short(number)))
            .collect();
        if told.is_empty() { "none yet".to_owned() } else { told.join("  ") }
    }

    fn bottleneck(&self) -> Bottleneck {
        Bottleneck::of(self.doing, self.gauges)
    }

    fn left(&self) -> Option<TimeLeft> {
        TimeLeft::of(self.statistics, self.gauges, self.pages_now)
    }

    /// The same as an event of the log, by name and number.
    pub(crate) fn event(&self) {
        let (statistics, gauges) = (self.statistics, self.gauges);
        let [_, ok, moved, refused, broken] = statistics.status_classes();
        tracing::info!(
            elapsed_s = self.elapsed.as_secs(),
            state = %self.doing,
            pages = statistics.pages(),
            requisites = statistics.requisites_stored,
            pages_per_second = self.pages_now,
            pages_per_second_average = self.average,
            bytes_per_second = self.bytes_now,
            queued = gauges.queued,
            hosts_ready = gauges.hosts_ready,
            hosts_waiting = gauges.hosts_waiting,
            hosts_resting = gauges.resting.as_ref().map_or(0, |resting| resting.hosts),
            in_flight = gauges.in_flight,
            limited_by = self.bottleneck().code(),
            disk_wait_s = gauges.constraints.disk_wait.map(|wait| wait.duration().as_secs()),
            due_now = gauges.calendar.map(|calendar| calendar.due_now),
            visits = gauges.calendar.map(|calendar| calendar.visits.visits),
            visits_changed = gauges.calendar.map(|calendar| calendar.visits.changed),
            freshness = gauges.calendar.and_then(|calendar| calendar.freshness),
            round = gauges.rounds.map(|rounds| rounds.number),
            left_s = self.left().map(|left| left.time.as_secs()),
            workers = gauges.workers.map(|workers| workers.now),
            workers_bound = gauges.workers.map(|workers| tracing::field::display(workers.bound)),
            status_2xx = ok,
            status_3xx = moved,
            status_4xx = refused,
            status_5xx = broken,
            errors = statistics.failures_total(),
            dropped = statistics.dropped_total(),
            bytes_stored = statistics.bytes_stored,
            disk_free_bytes = gauges.disk_free_bytes,
            "progress"
        );
    }

    /// The same in one line, for logs.
    pub(crate) fn line(&self) -> String {
        let (statistics, gauges) = (self.statistics, self.gauges);
        let [_, ok, moved, refused, broken] = statistics.status_classes();
        let workers = gauges.workers.map(|workers| format!(" workers={} bound={}", workers.now, workers.bound));
        let limit = gauges.limits.pages.map(|limit| format!(" of={limit}"));
        let left = self.left().map(|left| format!(" left={}", span(left.time).replace(' ', "")));
        let rounds = gauges.rounds.map(|rounds| format!(" round={} resting={}", rounds.number, rounds.resting_hosts));
        let rounds = rounds.unwrap_or_default();
        let disk_wait = gauges.constraints.disk_wait;
        let disk_wait = disk_wait.map(|wait| format!(" disk_wait={}", span(wait.duration()).replace(' ', "")));
        let calendar = gauges.calendar.map(calendar).unwrap_or_default();
        format!(
            "{} state={} pages={}{} now={}/s average={}/s in={}/s requisites={} queued={} ready={} waiting={} \
             in_flight={}{} limited_by={}{}{}{rounds}{calendar} 2xx={ok} 3xx={moved} 4xx={refused} 5xx={broken} \
             errors={} left_out={} stored={} free={}",
            span(self.elapsed).replace(' ', ""),
            self.doing,
            statistics.pages(),
            limit.unwrap_or_default(),
            rate(self.pages_now),
            rate(self.average),
            compact(self.bytes_now as u64),
            statistics.requisites_stored,
            gauges.queued,
            gauges.hosts_ready,
            gauges.hosts_waiting,
            gauges.in_flight,
            workers.unwrap_or_default(),
            self.bottleneck().code(),
            disk_wait.unwrap_or_default(),
            left.unwrap_or_default(),
            statistics.failures_total(),
            statistics.dropped_total(),
            compact(statistics.bytes_stored),
            compact(gauges.disk_free_bytes),
        )
    }
}

/// Returns the state of the calendar, in fields of a line.
fn calendar(calendar: CalendarFigures) -> String {
    let fresh = calendar.freshness.map_or(String::new(), |share| format!(" fresh={share:.3}"));
    let next = calendar.next_due_ms.map(|ms| span(Duration::from_millis(ms)).replace(' ', ""));
    let next = next.map_or(String::new(), |next| format!(" next={next}"));
    let (due, visits) = (calendar.due_now, calendar.visits);
    format!(" calendar={} due={due}{next} visits={} changed={}{fresh}", calendar.pages, visits.visits, visits.changed)
}

/// URLs that are never asked for, by reason, the most frequent first.
fn left_out(dropped: &BTreeMap<Reason, u64>) -> String {
    let mut reasons: Vec<_> = dropped.iter().filter(|&(_, &number)| number > 0).collect();
    reasons.sort_by_key(|&(reason, &number)| (std::cmp::Reverse(number), *reason));
    let told: Vec<String> = reasons
        .into_iter()
        .map(|(reason, &number)| match reason {
            Reason::Scope => format!("{} {reason}", short(number)),
            _ => format!("{} by {reason}", short(number)),
        })
        .collect();
    told.join("  ")
}

/// Returns as many fields of a line as `columns` have room for, and of one that is too long alone as many words.
fn fitting(text: &str, columns: usize) -> &str {
    let mut fits = 0;
    for (separator, enough) in [("  ", 1), (" ", 1), ("", 0)] {
        let ends = text.match_indices(separator).map(|(at, _)| at).chain([text.len()]);
        fits = ends.filter(|&end| text[..end].chars().count() <= columns).last().unwrap_or(0);
        if fits >= enough {
            break;
        }
    }
    text[..fits].trim_end()
}

/// Returns as much of a line as `columns` have room for, with a mark where something is missing.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(3)).collect();
    format!("{kept}...").chars().take(columns).collect()
}

/// A size without a blank, so that a line splits at blanks.
fn compact(bytes: u64) -> String {
    size(bytes).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CrawlLimits;

    const NOW: Time = Time::from_ms(1_000_000);

    fn host(url: &str, queued: u64, next_ms: Option<u64>) -> Activity {
        Activity { url: url.into(), queued, next: next_ms.map(|ms| NOW + Duration::from_millis(ms)) }
    }

    fn display(hosts: Vec<Activity>, columns: usize, rows: usize) -> Vec<String> {
        let mut statistics = Statistics { pages_stored: 26, ..Statistics::default() };
        [200, 200, 404].into_iter().for_each(|status| statistics.count_status(status));
        (0..3).for_each(|_| statistics.count_dropped(Reason::Scope));
        statistics.count_dropped(Reason::Robots);
        let limits = CrawlLimits { pages: Some(100), time_s: None };
        let gauges = Gauges { queued: 500, hosts_waiting: 3, limits, ..Gauges::default() };
        let moment = Moment {
            statistics: &statistics,
            gauges: &gauges,
            doing: Doing::Crawling,
            elapsed: Duration::from_secs(12),
            pages_now: 7.4,
            bytes_now: 1_024.0,
            average: 2.2,
        };
        moment.display(&Hosts { hosts, as_of: NOW }, false, TerminalSize { columns, rows })
    }

    #[test]
    fn the_display_tells_limit_time_left_bottleneck_and_hosts_in_words() {
        let hosts = vec![
            host("https://a.example/x", 12, None),
            host("https://b.example/\x1b[2Jy", 3, Some(0)),
            host("https://c.example/", 0, Some(1_240)),
            host("https://d.example/", 0, Some(7_200_000)),
        ];
        let expected = [
            "pages    26 of 100  now 7.4/s  average 2.2/s  1.0 KiB/s  elapsed 12s",
            "left     about 10s to the limit of 100 pages",
            "queue    500 URLs  0 seen  hosts 0 ready, 3 waiting  0 in flight",
            "limited  by politeness: hosts wait for their delays",
            "answers  2 OK  1 missing or refused",
            "left out 3 out of scope  1 by robots.txt",
            "disk     0 B received  0 B stored  0 B free",
            "now          12 queued  https://a.example/x",
            "next          3 queued  https://b.example/\\x1b[2Jy",
            "in 1.2s       0 queued  https://c.example/",
            "in 2h         0 queued  https://d.example/",
        ];
        assert_eq!(display(hosts, 80, 24), expected);
    }

    #[test]
    fn a_crawl_that_waits_for_its_calendar_says_until_when() {
        let (statistics, mut gauges) = (Statistics::default(), Gauges::default());
        gauges.calendar = Some(CalendarFigures {
            is_on: true,
            pages: 40,
            next_due_ms: Some(719_500),
            freshness: Some(0.97),
            stretch: 1.0,
            ..CalendarFigures::default()
        });
        let moment = Moment {
            statistics: &statistics,
            gauges: &gauges,
            doing: Doing::Crawling,
            elapsed: Duration::from_secs(12),
            pages_now: 0.0,
            bytes_now: 0.0,
            average: 0.0,
        };
        let shown = moment.display(&Hosts::default(), false, TerminalSize { columns: 80, rows: 24 });
        assert_eq!(shown[2], "waiting  up to date; the next page is due in 12m 00s", "{shown:#?}");
        assert_eq!(shown[3], "calendar 40 pages  0 due now, 0 today  97 % fresh  0 visits, 0 changed");
        let line = moment.line();
        assert!(
            line.contains(" limited_by=calendar calendar=40 due=0 next=11m59s visits=0 changed=0 fresh=0.970 "),
            "{line}"
        );
    }

    #[test]
    fn hosts_take_the_height_that_is_there_and_never_more() {
        let hosts: Vec<Activity> = (0..100).map(|n| host(&format!("https://h{n}.example/"), n, None)).collect();
        for (rows, lines) in [(5, 4), (8, 7), (16, 7), (20, 11), (24, 15), (50, 41), (500, 67)] {
            let shown = display(hosts.clone(), 80, rows);
            assert_eq!(shown.len(), lines, "{rows}: {shown:#?}");
        }
        let long = vec![host(&format!("https://a.example/{}", "x".repeat(300)), 1, None)];
        for columns in [20, 80, 200] {
            let shown = display(long.clone(), columns, 24);
            assert!(shown.iter().all(|line| line.chars().count() < columns), "{columns}: {shown:#?}");
            assert!(shown.last().unwrap().ends_with("..."), "{shown:#?}");
        }
    }

    #[test]
    fn narrow_columns_leave_whole_fields_out() {
        let line = "855 URLs  1,179 seen  hosts 0 ready, 2 waiting  37 in flight";
        assert_eq!(fitting(line, 80), line);
        assert_eq!(fitting(line, 30), "855 URLs  1,179 seen");
        assert_eq!(fitting(line, 46), "855 URLs  1,179 seen  hosts 0 ready, 2 waiting");
        assert_eq!(fitting(line, 45), "855 URLs  1,179 seen");
        assert_eq!(fitting(line, 5), "855", "a field that is too long alone: its words");
        assert_eq!(fitting(line, 2), "85", "a word that is too long alone: its letters");
        assert_eq!(fitting(Doing::Paused.meaning(), 30), "paused: no new requests until");
        assert_eq!((fitting(line, 0), fitting("", 9)), ("", ""));
    }
}

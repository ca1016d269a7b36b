//! The closing statistics: what a session ends with on standard error, and `status` shows in between.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::config::show_duration;
use crate::outcome::status_text;
use crate::record::layout;
use crate::record::limited::setting;
use crate::record::{CalendarFigures, Finish, Gauges, Oddities, Statistics, Workers};
use crate::text::figures::{brief, count, rate, size, span};
use crate::web::secret::SecretAddress;

/// Names of hosts, domains and patterns beyond a limit that are printed.
const LIMITED_TOLD: usize = 10;

/// Coverage of a crawl as the closing statistics tell it.
#[derive(Clone, Debug)]
pub struct Got {
    /// For people.
    pub sentence: String,
    /// For programs.
    pub figures: Value,
}

/// The content of the closing statistics besides the figures.
#[derive(Clone, Copy, Debug)]
pub struct Closing<'a> {
    /// The crawl directory.
    pub dir: &'a Path,
    /// The seeds file as it was given, `-` for standard input.
    pub seeds: Option<&'a Path>,
    /// Seeds of the command line.
    pub urls: &'a [String],
    /// The configuration file, where one was given.
    pub config: Option<&'a Path>,
    /// Options of the command line that say what is crawled.
    pub options: LineOptions,
    /// `--store`.
    pub store: Option<&'a SecretAddress>,
    /// Peak memory of this process, from [`peak_memory`].
    pub memory_bytes: Option<u64>,
    /// Coverage of the crawl, where it was computed.
    pub coverage: Option<&'a Got>,
}

/// Options of the command line that the line which goes on has to have too.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineOptions {
    /// `--max-pages`.
    pub max_pages: Option<u64>,
    /// `--max-time`.
    pub max_time: Option<Duration>,
    /// `--max-depth`.
    pub max_depth: Option<u16>,
    /// `--force`.
    pub force: bool,
}

impl LineOptions {
    /// The options but for the limit that `finish` is about, each with the blank before it.
    fn but_for(self, finish: Finish) -> String {
        let LineOptions { max_pages, max_time, max_depth, force } = self;
        let mut line = String::new();
        if let Some(pages) = max_pages.filter(|_| finish != Finish::PageLimit) {
            let _ = write!(line, " --max-pages {pages}");
        }
        if let Some(time) = max_time.filter(|_| finish != Finish::TimeLimit) {
            let _ = write!(line, " --max-time {}", show_duration(time));
        }
        if let Some(depth) = max_depth {
            let _ = write!(line, " --max-depth {depth}");
        }
        if force {
            line.push_str(" --force");
        }
        line
    }

    /// Returns what has to be known about the line that goes on after `finish`, where a limit is in its way.
    fn remark(self, finish: Finish) -> Option<&'static str> {
        Some(match finish {
            Finish::PageLimit if self.max_pages.is_some() => {
                "--max-pages is reached and left out here: add a larger one"
            }
            Finish::TimeLimit if self.max_time.is_some() => "--max-time is over and left out here: add a longer one",
            Finish::PageLimit => "once crawl.max_pages is raised in the configuration",
            Finish::TimeLimit => "once crawl.max_time is raised in the configuration",
            Finish::ByteLimit => "once crawl.max_bytes is raised in the configuration",
            _ => return None,
        })
    }
}

/// The closing statistics as lines of text.
pub fn text(statistics: &Statistics, gauges: &Gauges, finish: &Finish, closing: &Closing<'_>) -> String {
    let mut table = Table::default();
    figures(&mut table, statistics, gauges);
    if let Some(coverage) = closing.coverage {
        table.row("content", &coverage.sentence);
    }
    // where a terminal of 24 lines still shows it
    table.row("finish reason", finish);
    if *finish == Finish::OnlySilentHosts {
        let hosts = gauges.resting.iter().flat_map(|resting| resting.hosts());
        hosts.for_each(|host| table.row("never answered", host));
        table.row("", "their URLs stay queued: the same command retries them at once");
    }
    if let Some(bytes) = closing.memory_bytes {
        table.row("peak memory", size(bytes));
    }
    table.row("archive", shell_word(&closing.dir.join(layout::PAGES)));
    table.row("reports", shell_word(&closing.dir.join(layout::REPORTS)));
    if finish.can_resume() {
        table.row("resume with", resume_line(closing, *finish));
        if let Some(remark) = closing.options.remark(*finish) {
            table.row("", remark);
        }
    }
    let dir = shell_word(closing.dir);
    table.row("inspect with", format!("crawler list --dir {dir}"));
    table.row("", format!("crawler report seeds --dir {dir}"));
    table.row("", format!("crawler extract --dir {dir} > titles.tsv"));
    table.0
}

/// A count of answers with this status, and what that means.
fn with_meaning(status: u16, number: u64) -> String {
    match status_text(status) {
        "" => count(number),
        words => format!("{} ({words})", count(number)),
    }
}

/// Returns what sites kept from the crawl although nothing failed, as lines that follow the closing statistics.
pub fn oddities(oddities: &Oddities) -> String {
    let mut table = Table::default();
    for (name, value) in oddities.rows() {
        table.row(&name, value);
    }
    table.0
}

/// The closing statistics as an event of the log; `crawler report` has the rest.
pub fn event(statistics: &Statistics, gauges: &Gauges, finish: &Finish, closing: &Closing<'_>) {
    tracing::info!(
        finish = %finish,
        can_resume = finish.can_resume(),
        elapsed_s = statistics.elapsed.as_secs(),
        pages = statistics.pages(),
        requisites = statistics.requisites_stored,
        requests = statistics.requests,
        retries = statistics.retries,
        bytes_received = statistics.bytes_received,
        bytes_stored = statistics.bytes_stored,
        errors = statistics.failures_total(),
        dropped = statistics.dropped_total(),
        links_found = statistics.links_found,
        robots_denied = statistics.robots_denied,
        hosts = statistics.hosts,
        queued = gauges.queued,
        memory_peak_bytes = closing.memory_bytes.unwrap_or(0),
        dir = %closing.dir.display(),
        "finished"
    );
}

/// The rows that `status` and the closing statistics share.
pub(crate) fn figures(table: &mut Table, statistics: &Statistics, gauges: &Gauges) {
    table.row("elapsed", span(statistics.elapsed));
    let stored = |number| format!("{} ({}/s)", count(number), per_second(number, statistics.elapsed));
    table.row("pages stored", stored(statistics.pages()));
    if statistics.requisites_stored > 0 {
        table.row("requisites", stored(statistics.requisites_stored));
    }
    if statistics.redirects_stored > 0 && gauges.limits.pages.is_some() {
        table.row("redirects", format!("{} of the pages, which no limit counts", count(statistics.redirects_stored)));
    }
    if let Some(rendering) = &gauges.rendering {
        table.row("rendered", rendering.line());
    }
    table.row(
        "bytes",
        format!("{} received, {} stored", size(statistics.bytes_received), size(statistics.bytes_stored)),
    );
    table.row("requests", format!("{}, {} of them retries", count(statistics.requests), count(statistics.retries)));
    for (status, number) in &statistics.statuses {
        table.row(&format!("status {status}"), with_meaning(*status, *number));
    }
    for (failure, number) in &statistics.failures {
        table.row(&format!("error: {failure}"), count(*number));
    }
    table.row("links found", count(statistics.links_found));
    table.row("duplicates", format!("{} links known, {} new", count(statistics.duplicates), count(statistics.unique)));
    if statistics.revisits > 0 {
        let saved = size(statistics.revisit_bytes_saved);
        table.row("same content", format!("{} stored as references, {saved} saved", count(statistics.revisits)));
    }
    if statistics.refetched > 0 {
        let unchanged = count(statistics.not_modified);
        table.row("fetched again", format!("{} pages, {unchanged} not modified", count(statistics.refetched)));
    }
    for (reason, number) in &statistics.dropped {
        table.row(&format!("left out: {reason}"), count(*number));
    }
    limited(table, statistics);
    table.row(
        "robots.txt",
        format!(
            "{} fetched, {} unreachable, {} URLs denied",
            count(statistics.robots_fetched),
            count(statistics.robots_unreachable),
            count(statistics.robots_denied),
        ),
    );
    if statistics.sitemaps > 0 {
        let left_out = match statistics.sitemap_urls_dropped {
            0 => String::new(),
            dropped => format!(", {} left out", count(dropped)),
        };
        let (read, urls) = (count(statistics.sitemaps), count(statistics.sitemap_urls));
        table.row("sitemaps", format!("{read} read, {urls} URLs in them{left_out}"));
    }
    table.row("DNS", format!("{} resolved, {} failed", count(statistics.dns_resolved), count(statistics.dns_failed)));
    table.row("hosts", count(statistics.hosts));
    table.row("depth reached", statistics.depth_max);
    let costs = &statistics.checkpoints;
    if costs.count > 0 {
        table.row(
            "checkpoints",
            format!(
                "{} of {}; longest pause {}, write {}",
                count(costs.count),
                size(costs.bytes / costs.count),
                brief(costs.pause_max),
                brief(costs.beside_max),
            ),
        );
    }
    if let Some(Workers { now, most, bound }) = gauges.workers {
        table.row("workers", format!("{} of at most {}: {}", count(now), count(most), bound.meaning()));
    }
    table.row("still queued", count(gauges.queued));
    if let Some(rounds) = &gauges.rounds {
        table.row("round", rounds.row());
    }
    for (name, value) in gauges.calendar.iter().flat_map(CalendarFigures::rows) {
        table.row(name, value);
    }
}

/// Adds the hosts and domains that ran into a limit, by name.
fn limited(table: &mut Table, statistics: &Statistics) {
    let limited = statistics.limited.by_count();
    for entry in limited.iter().take(LIMITED_TOLD) {
        table.row(&format!("over {}", setting(entry.reason)), entry);
    }
    if let Some(others) = limited.len().checked_sub(LIMITED_TOLD).filter(|&others| others > 0) {
        table.row("over a limit", format!("at least {others} others; logs/skipped.jsonl lists all that were queued"));
    }
}

fn per_second(number: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    rate(if seconds > 0.0 { number as f64 / seconds } else { 0.0 })
}

/// The command line that goes on with the crawl, within the limits that it had.
pub(super) fn resume_line(closing: &Closing<'_>, finish: Finish) -> String {
    let mut line = String::from("crawler");
    if closing.seeds.is_none() && closing.urls.is_empty() && closing.store.is_some() {
        line.push_str(" cluster run");
    }
    closing.urls.iter().for_each(|url| _ = write!(line, " {}", shell_text(url)));
    if let Some(seeds) = closing.seeds {
        let _ = write!(line, " --seeds {}", shell_word(seeds));
    }
    let _ = write!(line, " --dir {}", shell_word(closing.dir));
    if let Some(config) = closing.config {
        let _ = write!(line, " --config {}", shell_word(config));
    }
    if let Some(store) = closing.store {
        let _ = write!(line, " --store {}", shell_text(&store.to_string()));
    }
    line + &closing.options.but_for(finish)
}

/// A path as a shell reads it back, and a terminal shows it.
pub(crate) fn shell_word(path: &Path) -> String {
    shell_text(&path.to_string_lossy())
}

/// A word as a shell reads it back, and a terminal shows it.
pub(crate) fn shell_text(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=~".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('~') {
        return text.to_owned();
    }
    crate::text::escape::escaped(&format!("'{}'", text.replace('\'', "'\\''")))
}

/// Lines of a name and a value.
#[derive(Debug, Default)]
pub(crate) struct Table(pub(crate) String);

impl Table {
    pub(crate) fn row(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name:<24} {value}");
    }
}

/// The most memory that this process has held at once, if the system reports it.
pub fn peak_memory() -> Option<u64> {
    parse_peak(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Failure, Reason};

    fn closing_text(finish: Finish, seeds: &str, config: Option<&Path>) -> String {
        text_with(finish, seeds, config, LineOptions::default())
    }

    fn text_with(finish: Finish, seeds: &str, config: Option<&Path>, options: LineOptions) -> String {
        let mut statistics = Statistics {
            pages_stored: 12_345,
            links_found: 67_890,
            revisits: 1_234,
            revisit_bytes_saved: 5 << 20,
            refetched: 1_000,
            not_modified: 800,
            elapsed: Duration::from_secs(100),
            robots_denied: 3,
            depth_max: 4,
            ..Default::default()
        };
        statistics.count_sitemap(50_000, 12);
        statistics.statuses.insert(200, 12_000);
        statistics.statuses.insert(404, 345);
        statistics.failures.insert(Failure::Timeout, 6);
        statistics.dropped.insert(Reason::Trap, 7);
        [1, 4, 2].into_iter().for_each(|ms| statistics.checkpoints.count_pause(Duration::from_millis(ms)));
        [300, 1_500, 800]
            .into_iter()
            .for_each(|ms| statistics.checkpoints.count_durable(Duration::from_millis(ms), 2_048));
        statistics.limited.count(Reason::DomainPages, "maze.example", 1_234);
        (0..12).for_each(|n| statistics.limited.count(Reason::HostPages, &format!("http://h{n}.test"), 5));
        let (dir, seeds) = (Path::new("./crawl"), Some(Path::new(seeds)));
        let closing = Closing {
            dir,
            seeds,
            urls: &[],
            config,
            options,
            store: None,
            memory_bytes: Some(100 << 20),
            coverage: None,
        };
        text(&statistics, &Gauges { queued: 9, ..Default::default() }, &finish, &closing)
    }

    fn row<'a>(text: &'a str, name: &str) -> &'a str {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
        line[name.len()..].trim()
    }

    #[test]
    fn every_figure_has_its_row() {
        let text = closing_text(Finish::PageLimit, "seeds.txt", None);
        assert!(row(&text, "finish reason").starts_with("page limit reached"));
        assert_eq!(row(&text, "elapsed"), "1m 40s");
        assert_eq!(row(&text, "pages stored"), "12,345 (123/s)");
        assert_eq!(row(&text, "status 200"), "12,000 (OK)");
        assert_eq!(row(&text, "status 404"), "345 (Not Found)");
        assert_eq!(row(&text, "error: timed out"), "6");
        assert_eq!(row(&text, "left out: trap rule"), "7");
        assert_eq!(row(&text, "links found"), "67,890");
        assert_eq!(row(&text, "over pages_per_domain"), "maze.example: 1,234 URLs left out");
        assert_eq!(row(&text, "over pages_per_host"), "http://h0.test: 5 URLs left out");
        assert!(row(&text, "over a limit").starts_with("at least 3 others"), "{text}");
        assert!(row(&text, "robots.txt").ends_with("3 URLs denied"));
        assert!(row(&text, "same content").starts_with("1,234 stored as references, 5"), "{text}");
        assert_eq!(row(&text, "sitemaps"), "1 read, 50,000 URLs in them, 12 left out");
        assert_eq!(row(&text, "fetched again"), "1,000 pages, 800 not modified");
        assert_eq!(row(&text, "depth reached"), "4");
        let checkpoints = "3 of 2.0 KiB; longest pause 4.0 ms, write 1.5 s";
        assert_eq!(row(&text, "checkpoints"), checkpoints);
        assert_eq!(row(&text, "still queued"), "9");
        assert_eq!(row(&text, "peak memory"), "100 MiB");
        assert_eq!(row(&text, "archive"), "./crawl/pages");
        assert_eq!(row(&text, "reports"), "./crawl/reports");
        assert_eq!(row(&text, "inspect with"), "crawler list --dir ./crawl");
    }

    #[test]
    fn the_line_that_resumes_can_be_pasted_into_a_shell() {
        let text = closing_text(Finish::StoppedBySignal, "my seeds' list.txt", Some(Path::new("my.toml")));
        let expected = r"crawler --seeds 'my seeds'\'' list.txt' --dir ./crawl --config my.toml";
        assert_eq!(row(&text, "resume with"), expected);
        assert!(!closing_text(Finish::Complete, "seeds.txt", None).contains("resume with"));
        let max_time = Some(Duration::from_secs(5_400));
        let options = LineOptions { max_pages: Some(5_000), max_time, max_depth: Some(3), force: true };
        let line_after = |finish| text_with(finish, "seeds.txt", None, options);
        let begin = "crawler --seeds seeds.txt --dir ./crawl";
        let stopped = line_after(Finish::StoppedBySignal);
        let all = format!("{begin} --max-pages 5000 --max-time 90m --max-depth 3 --force");
        assert_eq!(row(&stopped, "resume with"), all);
        assert!(!stopped.contains("left out here"), "{stopped}");
    }

    #[test]
    fn urls_of_the_command_line_are_in_the_line_that_resumes_and_a_shell_reads_them_back() {
        let urls = ["example.com".to_owned(), "https://example.org/?a=1&b=it's".to_owned()];
        let seeds = [None, Some(Path::new("more.txt"))];
        let lines = seeds.map(|seeds| {
            let (dir, options) = (Path::new("./crawl"), LineOptions::default());
            let closing = Closing {
                dir,
                seeds,
                urls: &urls,
                config: None,
                options,
                store: None,
                memory_bytes: None,
                coverage: None,
            };
            resume_line(&closing, Finish::StoppedBySignal)
        });
        let begin = r"crawler example.com 'https://example.org/?a=1&b=it'\''s'";
        assert_eq!(lines, [format!("{begin} --dir ./crawl"), format!("{begin} --seeds more.txt --dir ./crawl")]);
    }

    #[test]
    fn the_line_that_resumes_leaves_out_the_limit_that_was_reached_and_says_so() {
        let options = LineOptions { max_pages: Some(5_000), max_depth: Some(0), ..Default::default() };
        let reached = text_with(Finish::PageLimit, "seeds.txt", None, options);
        assert_eq!(row(&reached, "resume with"), "crawler --seeds seeds.txt --dir ./crawl --max-depth 0");
        assert!(reached.contains(" --max-pages is reached and left out here"), "{reached}");
        let timed = text_with(Finish::TimeLimit, "seeds.txt", None, options);
        assert!(row(&timed, "resume with").ends_with(" --max-pages 5000 --max-depth 0"), "{timed}");
        for (finish, key) in
            [(Finish::TimeLimit, "max_time"), (Finish::ByteLimit, "max_bytes"), (Finish::PageLimit, "max_pages")]
        {
            let text = closing_text(finish, "seeds.txt", None);
            assert!(text.contains(&format!(" once crawl.{key} is raised")), "{text}");
        }
    }

    #[test]
    fn peak_memory_is_read_where_the_system_tells() {
        assert_eq!(parse_peak("Name:\tx\nVmHWM:\t  1024 kB\nVmRSS:\t 1 kB\n"), Some(1 << 20));
        assert_eq!(parse_peak("VmHWM:\tmany kB\n"), None);
        assert_eq!(parse_peak(""), None);
        assert!(!cfg!(target_os = "linux") || peak_memory().unwrap() > 1 << 20);
    }
}

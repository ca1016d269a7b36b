//! The table of runs, the medians with ratios, and the course of a long crawl.

use std::fmt::{self, Display};

use super::filled::Past;
use super::own::{Run, Sample};
use super::process::Measured;

/// Parts in which a long crawl is reported.
const PARTS: u64 = 10;

/// One run of one crawler.
#[derive(Clone, Debug)]
pub struct Row {
    name: String,
    pages: u64,
    wall_s: f64,
    user_ms_per_page: f64,
    system_ms_per_page: f64,
    megabytes_per_s: Option<f64>,
    rss_megabytes: f64,
    disk_bytes_per_page: Option<f64>,
}

impl Row {
    /// `bytes` were received; 0 where nobody knows.
    pub fn of(name: String, measured: &Measured, pages: u64, bytes: u64, disk_bytes: Option<u64>) -> Row {
        let each = |sum: f64| sum / pages.max(1) as f64;
        Row {
            name,
            pages,
            wall_s: measured.wall_s,
            user_ms_per_page: each(measured.user_s * 1e3),
            system_ms_per_page: each(measured.system_s * 1e3),
            megabytes_per_s: (bytes > 0).then(|| bytes as f64 / 1e6 / measured.wall_s),
            rss_megabytes: measured.peak_rss as f64 / 1e6,
            disk_bytes_per_page: disk_bytes.map(|bytes| each(bytes as f64)),
        }
    }

    fn cpu_ms_per_page(&self) -> f64 {
        self.user_ms_per_page + self.system_ms_per_page
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none =
            |figure: Option<f64>, digits: usize| figure.map_or("-".into(), |figure| format!("{figure:.digits$}"));
        write!(
            f,
            "{:<22} pages={} pages/s={:.0} MB/s={} cpu_ms/page={:.3} (user {:.3}, system {:.3}) \
             rss_MB={:.0} disk_bytes/page={}",
            self.name,
            self.pages,
            self.pages as f64 / self.wall_s,
            or_none(self.megabytes_per_s, 1),
            self.cpu_ms_per_page(),
            self.user_ms_per_page,
            self.system_ms_per_page,
            self.rss_megabytes,
            or_none(self.disk_bytes_per_page, 0),
        )
    }
}

/// All runs.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The names in the order in which they came first.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.name.as_str()) {
                names.push(&row.name);
            }
        }
        names
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<22} {:>7} {:>8} {:>7} {:>7} {:>17} {:>8} {:>11} {:>7}",
            "medians", "pages", "pages/s", "MB/s", "CPU ms", "least-most", "RSS MB", "disk B/page", "ratio"
        )?;
        let mut first = None;
        for name in self.names() {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.name == name).collect();
            let of = |figure: &dyn Fn(&Row) -> f64| sorted(rows.iter().map(|row| figure(row)).collect());
            let cpu = of(&Row::cpu_ms_per_page);
            let ratio = median(&cpu) / *first.get_or_insert(median(&cpu));
            writeln!(
                f,
                "{name:<22} {:>7.0} {:>8.0} {:>7.1} {:>7.3} {:>17} {:>8.0} {:>11.0} {ratio:>7.2}",
                median(&of(&|row| row.pages as f64)),
                median(&of(&|row| row.pages as f64 / row.wall_s)),
                median(&of(&|row| row.megabytes_per_s.unwrap_or(f64::NAN))),
                median(&cpu),
                format!("{:.3}-{:.3}", cpu[0], cpu[cpu.len() - 1]),
                median(&of(&|row| row.rss_megabytes)),
                median(&of(&|row| row.disk_bytes_per_page.unwrap_or(f64::NAN))),
            )?;
        }
        writeln!(f, "CPU of the crawling process a page; ratio: to the first line, above 1 for those that need more")
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Prints how a crawl went that began with a past: between its first twentieth and its last one, without its start,
/// when the Bloom filter is made again, and without its end. `cpu/pace` is CPU a page in units of the fixed piece of
/// work.
pub fn tell_past(name: &str, past: Past, run: &Run) {
    let (from, to) = (at(&run.samples, run.pages / 20), at(&run.samples, run.pages - run.pages / 20));
    let pages = (to.pages - from.pages).max(1) as f64;
    let cpu_ms = (to.cpu_s - from.cpu_s) * 1e3 / pages;
    let pace_ms = (to.pace_s - from.pace_s) * 1e3 / (to.paces - from.paces).max(1.0);
    println!(
        "{name}: {:>3} M seen, {:>2} M queued: pages={} pages/s={:.0} cpu_ms/page={cpu_ms:.3} pace_ms={pace_ms:.2} \
         cpu/pace={:.4} rss_MB={:.0} start_s={:.1}",
        past.seen / 1_000_000,
        past.queued / 1_000_000,
        run.pages,
        pages / (to.elapsed_s - from.elapsed_s),
        cpu_ms / pace_ms,
        run.measured.peak_rss as f64 / 1e6,
        run.samples.iter().find(|sample| sample.pages > 1).map_or(f64::NAN, |sample| sample.elapsed_s),
    );
}

/// Prints pages/s and CPU a page for each tenth of the pages, and both as they would be if the machine's pace, which is
/// the time of a fixed piece of work, had been the same all along.
pub fn tell_growth(name: &str, samples: &[Sample]) {
    let Some(last) = samples.last() else { return };
    println!(
        "{name}: {:>10} {:>8} {:>10} {:>8} | at an even pace {:>8} {:>10}",
        "pages", "pages/s", "CPU ms", "pace ms", "pages/s", "CPU ms"
    );
    let mean_s = last.pace_s / last.paces.max(1.0);
    let mut before = Sample::default();
    for part in 1..=PARTS {
        let now = at(samples, last.pages * part / PARTS);
        let pages = (now.pages - before.pages).max(1) as f64;
        let rate = pages / (now.elapsed_s - before.elapsed_s).max(1e-3);
        let cpu_ms = (now.cpu_s - before.cpu_s) * 1e3 / pages;
        let pace_s = (now.pace_s - before.pace_s) / (now.paces - before.paces).max(f64::MIN_POSITIVE);
        let slower = pace_s / mean_s;
        println!(
            "{:>width$} {rate:>8.0} {cpu_ms:>10.3} {:>8.2} | {:>24.0} {:>10.3}",
            now.pages,
            pace_s * 1e3,
            rate * slower,
            cpu_ms / slower,
            width = name.len() + 12
        );
        before = now;
    }
}

/// The state at a number of pages, on the line between the two samples around it.
fn at(samples: &[Sample], pages: u64) -> Sample {
    let after = samples.partition_point(|sample| sample.pages < pages).clamp(1, samples.len() - 1);
    let (from, to) = (samples[after - 1], samples[after]);
    let share = (pages - from.pages) as f64 / (to.pages - from.pages).max(1) as f64;
    let between = |part: fn(&Sample) -> f64| part(&from) + (part(&to) - part(&from)) * share;
    Sample {
        elapsed_s: between(|sample| sample.elapsed_s),
        cpu_s: between(|sample| sample.cpu_s),
        pages,
        paces: between(|sample| sample.paces),
        pace_s: between(|sample| sample.pace_s),
    }
}

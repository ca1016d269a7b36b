//! The figures of a crawl, and the table of all.

use super::run::{Run, Sample};

/// Shares of the pages between which a crawl is steady: behind its start, and before hosts run out.
const STEADY: (f64, f64) = (0.1, 0.8);

/// The steady part of a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    pub pages_per_s: f64,
    pub cpu_us_per_page: f64,
    /// Shares of their cores that crawler and web used.
    pub crawler_core: f64,
    pub web_core: f64,
}

impl Steady {
    /// The steady part of a crawl, which takes some seconds at least.
    pub fn of(run: &Run) -> Steady {
        let at = |share: f64| {
            let pages = (run.pages() as f64 * share) as u64;
            run.samples.iter().copied().find(|sample| sample.pages >= pages).unwrap_or_default()
        };
        let (from, to): (Sample, Sample) = (at(STEADY.0), at(STEADY.1));
        let (pages, elapsed_s) = ((to.pages - from.pages) as f64, to.elapsed_s - from.elapsed_s);
        Steady {
            pages_per_s: pages / elapsed_s,
            cpu_us_per_page: (to.cpu_s - from.cpu_s) * 1e6 / pages,
            crawler_core: (to.cpu_s - from.cpu_s) / elapsed_s,
            web_core: (to.web_s - from.web_s) / elapsed_s,
        }
    }
}

/// Prints everything about a crawl.
pub fn tell(name: &str, run: &Run) {
    let (steady, pages) = (Steady::of(run), run.pages() as f64);
    println!("{name}: {}", run.title);
    println!(
        "  steady part: {:.0} pages/s with {:.0} % of its core, {:.0} us of CPU a page, so {:.0} pages/s a whole core; \
         the web's core: {:.0} %",
        steady.pages_per_s,
        steady.crawler_core * 1e2,
        steady.cpu_us_per_page,
        1e6 / steady.cpu_us_per_page,
        steady.web_core * 1e2
    );
    println!(
        "  whole crawl: {} pages in {:.1} s, {:.1} s of CPU, {:.0} us a page (user {:.0}, system {:.0}), \
         peak RSS {:.0} MB",
        run.pages(),
        run.measured.wall_s,
        run.cpu_s(),
        run.cpu_s() * 1e6 / pages,
        run.measured.user_s * 1e6 / pages,
        run.measured.system_s * 1e6 / pages,
        run.measured.peak_rss as f64 / 1e6
    );
    tell_bytes(run);
    tell_served(run);
    run.measured.tell_threads(name, run.pages());
}

fn tell_bytes(run: &Run) {
    let (statistics, pages) = (&run.statistics, run.pages() as f64);
    println!(
        "  bytes a page: {:.0} received, {:.0} in the archive, {:.0} on disk (bodies of the pool: {:.0} sent, \
         {:.0} decoded)",
        statistics.bytes_received as f64 / pages,
        statistics.bytes_stored as f64 / pages,
        run.bytes_on_disk as f64 / pages,
        run.ready.sent_mean,
        run.ready.decoded_mean
    );
    println!(
        "  a page: {:.1} links found, {:.2} new; revisits {}, retries {}, failures {:?}, statuses {:?}",
        statistics.links_found as f64 / pages,
        statistics.unique as f64 / pages,
        statistics.revisits,
        statistics.retries,
        statistics.failures,
        statistics.statuses
    );
}

fn tell_served(run: &Run) {
    let served = run.served;
    println!(
        "  the web served {} hosts: {} connections ({:.3} a host), handshakes {} full, {} resumed, {} failed; {} DNS \
         queries, {} robots.txt, {} pages, {} others",
        run.hosts,
        served.connections,
        served.connections as f64 / f64::from(run.hosts),
        served.full_handshakes,
        served.resumed_handshakes,
        served.failed_handshakes,
        served.dns_queries,
        served.robots,
        served.pages,
        served.others
    );
}

/// A line of the table.
struct Row {
    name: String,
    title: String,
    steady: Steady,
    cpu_us_per_page: f64,
}

/// All crawls.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Keeps a crawl for the medians.
    pub fn push(&mut self, name: &str, run: &Run) {
        self.rows.push(Row {
            name: name.to_owned(),
            title: run.title.clone(),
            steady: Steady::of(run),
            cpu_us_per_page: run.cpu_s() * 1e6 / run.pages() as f64,
        });
    }

    /// Prints the medians of each build on each web.
    pub fn tell(&self) {
        println!("\nmedians: steady pages/s, % of the core, CPU us a page in the steady part and in the whole crawl");
        let mut kinds: Vec<(&str, &str)> = Vec::new();
        for row in &self.rows {
            let kind = (row.name.as_str(), row.title.as_str());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for (name, title) in kinds {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.name == name && row.title == title).collect();
            let of = |figure: fn(&Row) -> f64| median(rows.iter().map(|row| figure(row)).collect());
            println!(
                "{name:<12} {title:<48} {:>6.0} {:>4.0} {:>6.0} {:>6.0}   ({} crawls)",
                of(|row| row.steady.pages_per_s),
                of(|row| row.steady.crawler_core * 1e2),
                of(|row| row.steady.cpu_us_per_page),
                of(|row| row.cpu_us_per_page),
                rows.len()
            );
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

//! `crawler simulate`: a synthetic web to crawl, for trying the crawler out and for measuring it.
//!
//! It writes the seeds, a configuration and the expected end of a crawl into a directory, serves until Ctrl-C or for a
//! set time, and then writes what was requested and judges it. It never touches a crawl directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::UsageError;
use crate::disk::Aside;
use crate::simweb::{
    Expected, FarmKind, Limits, Request, Shares, SimOptions, SimWeb, Timeline, TrapKind, judge, largest_concurrency,
};

/// Offences against politeness that are reported one by one.
const VIOLATIONS_TOLD: usize = 20;

/// Serve a synthetic web on loopback, with its own DNS, to crawl from another terminal.
#[derive(Args, Clone, Debug)]
pub(crate) struct SimulateArgs {
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of hosts.
    #[arg(long, default_value_t = 100)]
    pub hosts: usize,
    /// Number of URLs over all hosts; a few hosts are large, many small.
    #[arg(long, default_value_t = 2_000)]
    pub pages: usize,
    /// Number of registrable domains that the hosts are spread over, linked by a power law: a few are linked by many
    /// others, most by one. 0: no such structure.
    #[arg(long, default_value_t = 0)]
    pub domains: usize,
    /// Exponent of that power law.
    #[arg(long, default_value_t = 2.1, value_name = "EXPONENT", requires = "domains")]
    pub in_degree: f64,
    /// Number of loopback addresses, from 127.0.0.1 on.
    #[arg(long, default_value_t = 4)]
    pub addresses: usize,
    /// Mean time until an answer starts, such as 20ms or 1s.
    #[arg(long, default_value = "20ms", value_parser = duration)]
    pub latency: Duration,
    /// Mean size of a page in bytes.
    #[arg(long, default_value_t = 8_192)]
    pub page_bytes: usize,
    /// Mean number of links of a page.
    #[arg(long, default_value_t = 20)]
    pub links: usize,
    /// Share of the links that lead to other hosts.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    pub cross_links: f64,
    /// Share of URLs that redirect.
    #[arg(long, default_value_t = 0.05, value_name = "SHARE")]
    pub redirects: f64,
    /// Share of URLs that answer 404.
    #[arg(long, default_value_t = 0.03, value_name = "SHARE")]
    pub not_found: f64,
    /// Share of URLs that always answer 500.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub server_errors: f64,
    /// Share of URLs that answer 503 once or twice first.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub flaky: f64,
    /// Share of hosts whose robots.txt excludes something.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    pub robots: f64,
    /// Share of hosts whose robots.txt asks for a Crawl-delay.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub crawl_delay: f64,
    /// Share of hosts whose robots.txt answers 503.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub robots_errors: f64,
    /// Share of hosts whose robots.txt names a sitemap.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub sitemaps: f64,
    /// Share of hosts whose robots.txt is a redirect to another host.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub robots_moved: f64,
    /// Share of hosts whose robots.txt answers 403.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub robots_forbidden: f64,
    /// Share of hosts whose robots.txt is unreachable: 429, 500, a closed connection.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub robots_broken: f64,
    /// Share of all URLs that belong to one giant host.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub giant: f64,
    /// Share of hosts that refuse their first requests for pages with 429 or 503, with all kinds of Retry-After.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub overloaded: f64,
    /// Share of hosts that take twenty times as long as others.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub slow: f64,
    /// Share of hosts that resolve but are dead: no connection, or one that is closed.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub dead: f64,
    /// Some of the dead hosts and broken robots.txt files hang instead of failing.
    #[arg(long)]
    pub silent: bool,
    /// politeness.delay_min, for the written configuration and for the judgement.
    #[arg(long, default_value = "0ms", value_parser = duration)]
    pub delay: Duration,
    /// politeness.delay_factor likewise.
    #[arg(long, default_value_t = 0.0, value_name = "FACTOR")]
    pub delay_factor: f64,
    /// politeness.delay_per_ip likewise.
    #[arg(long, default_value = "0ms", value_parser = duration)]
    pub delay_per_ip: Duration,
    /// Linked names that do not exist, as a share of the hosts.
    #[arg(long, default_value_t = 0.02, value_name = "SHARE")]
    pub unresolvable: f64,
    /// Share of pages sent in gzip.
    #[arg(long, default_value_t = 0.3, value_name = "SHARE")]
    pub gzip: f64,
    /// Number of endless hosts (crawler traps) beside the others: mazes, calendars, sessions, wildcard names, sitemaps,
    /// slow responses. Crawl them with budgets.
    #[arg(long, default_value_t = 0)]
    pub traps: usize,
    /// Kinds of traps, in turn: maze, calendar, session-query, session-path, wildcard, sitemaps, repeating, drip.
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = trap_kind)]
    pub trap_kinds: Vec<TrapKind>,
    /// Time between two bytes of a host of the kind drip.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub drip: Duration,
    /// Number of domains of link farms beside the others, with pages without end. How many requests they get is printed
    /// at the end.
    #[arg(long, default_value_t = 0)]
    pub farms: usize,
    /// Shapes of farms, in turn: dense, wildcard, ring.
    #[arg(long, value_name = "SHAPE,...", value_delimiter = ',', value_parser = farm_kind, requires = "farms")]
    pub farm_kinds: Vec<FarmKind>,
    /// Domains of a farm; 0: one farm of each shape.
    #[arg(long, default_value_t = 0, value_name = "N", requires = "farms")]
    pub farm_size: usize,
    /// Number of networks (/24) that a farm is in.
    #[arg(long, default_value_t = 1, value_name = "N", requires = "farms")]
    pub farm_networks: usize,
    /// Directory for seeds, configuration, expected result and log.
    #[arg(long, default_value = "./simweb", value_name = "DIR")]
    pub out: PathBuf,
    /// End after this many seconds instead of with Ctrl-C.
    #[arg(long = "for", value_name = "SECONDS")]
    pub seconds: Option<u64>,
}

impl SimulateArgs {
    fn options(&self) -> SimOptions {
        SimOptions {
            seed: self.seed,
            hosts: self.hosts,
            pages: self.pages,
            addresses: self.addresses,
            latency: self.latency,
            page_bytes: self.page_bytes,
            links: self.links,
            cross_links: self.cross_links,
            redirect_share: self.redirects,
            not_found_share: self.not_found,
            server_error_share: self.server_errors,
            flaky_share: self.flaky,
            robots_share: self.robots,
            robots_crawl_delay_share: self.crawl_delay,
            robots_5xx_share: self.robots_errors,
            sitemap_share: self.sitemaps,
            robots_moved_share: self.robots_moved,
            robots_forbidden_share: self.robots_forbidden,
            robots_broken_share: self.robots_broken,
            giant_share: self.giant,
            overload_share: self.overloaded,
            slow_share: self.slow,
            dead_share: self.dead,
            silent_hosts: self.silent,
            unresolvable_share: self.unresolvable,
            gzip_share: self.gzip,
            traps: self.traps,
            trap_kinds: self.trap_kinds.clone(),
            drip: self.drip,
            domains: self.domains,
            in_degree_exponent: self.in_degree,
            farms: self.farms,
            farm_kinds: self.farm_kinds.clone(),
            farm_size: self.farm_size,
            farm_networks: self.farm_networks,
            ..SimOptions::default()
        }
    }

    fn is_polite(&self) -> bool {
        self.delay_factor > 0.0 || !self.delay.is_zero() || !self.delay_per_ip.is_zero()
    }

    fn config(&self, web: &SimWeb) -> String {
        if !self.is_polite() {
            return web.config_toml();
        }
        let ms = |time: Duration| time.as_millis();
        web.config_with(&format!(
            "delay_factor = {:?}\ndelay_min = \"{}ms\"\ndelay_per_ip = \"{}ms\"\n",
            self.delay_factor,
            ms(self.delay),
            ms(self.delay_per_ip)
        ))
    }

    /// Returns the limits that the configuration promises to keep. Times are counted in milliseconds, and those between
    /// the requests of two hosts by the client, so that the server may see them some milliseconds shorter.
    fn limits(&self, expected: &Expected) -> Limits {
        let (back_off_s, robots_back_off_s) = if self.is_polite() { (60, 300) } else { (1, 1) };
        let millisecond = Duration::from_millis(1);
        Limits {
            delay_min: self.delay,
            delay_factor: self.delay_factor,
            delay_max: Duration::from_secs(30),
            crawl_delays: if self.is_polite() {
                expected.crawl_delays.clone().into_iter().collect()
            } else {
                [].into()
            },
            per_ip: self.delay_per_ip,
            connections_per_host: 1,
            back_off: Duration::from_secs(back_off_s),
            robots_back_off: Duration::from_secs(robots_back_off_s),
            slack: 2 * millisecond,
            per_ip_slack: (self.delay_per_ip / 4).max(10 * millisecond),
        }
    }
}

/// Runs `crawler simulate` to its end.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let web = SimWeb::start(args.options()).map_err(|e| match e.kind() {
        // options that no web can be made of
        std::io::ErrorKind::InvalidInput => UsageError::because(e.to_string()),
        _ => anyhow::Error::from(e).context("cannot start the synthetic web"),
    })?;
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    write_start(&web, &args.config(&web), &args.out)?;
    print!("{}", introduction(&web, &args.out));
    wait(args.seconds)?;
    let log = web.log();
    let path = args.out.join("requests.jsonl");
    write_lines(&path, log.iter().map(serde_json::to_string))?;
    print!("\nwrote {}\n{}", path.display(), judgement(&log, web.expected(), web.http_port()));
    if args.farms > 0 {
        print!("\n{}\n", Shares::of(&log, web.expected(), web.http_port()));
    }
    print!("{}", politeness(&log, &args.limits(web.expected())));
    Ok(())
}

/// Writes the files that a crawl of `web` begins with, and what it should end with, into `out`.
pub(super) fn write_start(web: &SimWeb, config: &str, out: &Path) -> anyhow::Result<()> {
    write_lines(&out.join("seeds.txt"), web.seeds().into_iter().map(Ok::<_, std::io::Error>))?;
    write_lines(&out.join("crawler.toml"), config.lines().map(Ok::<_, std::io::Error>))?;
    let pages = web.expected().pages.iter().map(|(url, page)| format!("{} {url}", page.status));
    write_lines(&out.join("expected.txt"), pages.map(Ok::<_, std::io::Error>))
}

fn write_lines<T, E>(path: &Path, lines: impl IntoIterator<Item = Result<T, E>>) -> anyhow::Result<()>
where
    T: AsRef<str>,
    E: std::error::Error + Send + Sync + 'static,
{
    let write = || -> anyhow::Result<()> {
        let mut file = BufWriter::new(Aside::create(path)?);
        for line in lines {
            writeln!(file, "{}", line?.as_ref())?;
        }
        Ok(file.into_inner().map_err(IntoInnerError::into_error)?.into_place()?)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn introduction(web: &SimWeb, out: &Path) -> String {
    let (expected, dir) = (web.expected(), out.display());
    format!(
        "{} hosts on port {}, names from {}\n\
         wrote {dir}/seeds.txt, {dir}/crawler.toml, {dir}/expected.txt ({} URLs that a crawl stores)\n\n\
         Crawl it from another terminal:\n\n    \
         crawler --seeds {dir}/seeds.txt --config {dir}/crawler.toml --dir {dir}/crawl\n\n\
         Ctrl-C ends it.\n",
        web.hosts().count(),
        web.http_port(),
        web.dns_address(),
        expected.pages.len(),
    )
}

/// Waits for Ctrl-C, or for the time to pass.
fn wait(seconds: Option<u64>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limit = Duration::from_secs(seconds.unwrap_or(u64::MAX));
    runtime.block_on(async {
        tokio::select! {
            signal = tokio::signal::ctrl_c() => signal.context("cannot wait for Ctrl-C"),
            () = tokio::time::sleep(limit), if seconds.is_some() => Ok(()),
        }
    })
}

/// Returns in a few lines what the log says of the crawls that were made.
fn judgement(log: &[Request], expected: &Expected, port: u16) -> String {
    let requested: BTreeSet<String> = log.iter().map(|request| request.url(port)).collect();
    let forbidden =
        requested.iter().filter(|url| expected.disallowed.contains(*url) || expected.never.contains(*url)).count();
    let unknown = requested.iter().filter(|url| !expected.may_request(url)).count() - forbidden;
    let missing = expected.pages.keys().filter(|url| !requested.contains(*url)).count();
    let concurrency = match largest_concurrency(log) {
        Some((host, most)) => format!("{most} ({})", host.escape_debug()),
        None => "none".to_owned(),
    };
    let traps = requested.iter().filter(|url| expected.is_trap(url)).count();
    let traps = if expected.traps.is_empty() {
        String::new()
    } else {
        format!("of them, in traps without end     {traps} of {} traps\n", expected.traps.len())
    };
    format!(
        "requests                          {}\n\
         distinct URLs                     {}\n{traps}\
         requested, but not to be followed {forbidden}\n\
         requested, but nowhere linked     {unknown}\n\
         expected, but never requested     {missing}\n\
         most requests to a host at once   {concurrency}\n",
        log.len(),
        requested.len(),
    )
}

/// Returns the limits that were not kept, and the crawl over time.
fn politeness(log: &[Request], limits: &Limits) -> String {
    let violations = judge(log, limits);
    let mut text = format!("offences against politeness       {}\n", violations.len());
    for violation in violations.iter().take(VIOLATIONS_TOLD) {
        text.push_str(&format!("  {violation}\n"));
    }
    if !log.is_empty() {
        text.push_str(&format!("\n{}", Timeline::of(log, limits)));
    }
    text
}

/// The kind of trap of that name.
fn trap_kind(text: &str) -> Result<TrapKind, String> {
    let kinds = || TrapKind::ALL.into_iter().chain(TrapKind::OTHERS);
    let found = kinds().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("write one of {}", kinds().map(TrapKind::name).collect::<Vec<_>>().join(", ")))
}

/// The shape of farm of that name.
fn farm_kind(text: &str) -> Result<FarmKind, String> {
    let found = FarmKind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("write one of {}", FarmKind::ALL.map(FarmKind::name).join(", ")))
}

/// Parses `20ms`, `1.5s` or `2m`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit_s = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err("write a number and ms, s or m, such as 20ms".to_owned()),
    };
    let seconds: f64 = number.trim().parse().map_err(|error| format!("{number:?}: {error}"))?;
    Duration::try_from_secs_f64(seconds * unit_s).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        args: SimulateArgs,
    }

    #[test]
    fn a_run_leaves_everything_a_crawl_needs() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("web");
        let line = ["simulate", "--hosts", "5", "--pages", "60", "--for", "0", "--out", out.to_str().unwrap()];
        simulate(&TestCli::parse_from(line).args).unwrap();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert!(read("seeds.txt").starts_with("http://h0000.sim0.test:"));
        toml::from_str::<toml::Table>(&read("crawler.toml")).unwrap();
        let expected = read("expected.txt");
        assert!(expected.lines().count() > 40);
        assert!(expected.lines().all(|line| line[3..].starts_with(" http://")));
        assert_eq!(read("requests.jsonl"), "");
    }

    #[test]
    fn the_judgement_counts_what_was_wrong() {
        let web = SimWeb::start(SimOptions { robots_share: 0.6, ..Default::default() }).unwrap();
        let expected = web.expected();
        let request = |url: &String| {
            let rest = url.strip_prefix("http://").unwrap();
            let (host, path) = rest.split_once('/').unwrap();
            let json = serde_json::json!({
                "host": host.split(':').next().unwrap(), "path": format!("/{path}"), "method": "GET", "status": 200,
                "address": "127.0.0.1", "connection": 0, "user_agent": "", "started_us": 0, "finished_us": 1
            });
            serde_json::from_value::<Request>(json).unwrap()
        };
        let stored = expected.pages.keys().next().unwrap();
        let host = stored.split('/').nth(2).unwrap();
        let excluded = expected.disallowed.iter().find(|url| !url.contains(host)).unwrap();
        let log: Vec<Request> = [stored, stored, excluded, &"http://x.test/".to_owned()].map(request).into();
        let text = judgement(&log, expected, web.http_port());
        let numbers: Vec<usize> =
            text.lines().map(|line| line[34..].split(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, [4, 3, 1, 1, expected.pages.len() - 1, 2], "{text}");
    }

    #[test]
    fn latencies_are_read_with_their_unit() {
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        for wrong in ["20", "ms", "-1s", "1h", "", "nans"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}

//! CPU by stage: what a host costs and what a page costs, from crawls that differ in one thing.
//!
//! A crawl of `H` hosts with `P` pages each takes `H h + H P p` of CPU: a host costs `h` (DNS answer, connection,
//! handshake, robots.txt), a page `p` (request, links, records, stores). Two crawls with different `P` give both. The
//! same with plain HTTP gives the handshake as the difference of both `h`, and the records of TLS as the difference of
//! both `p`. Crawls without robots.txt, and of URLs with addresses for hosts, give these two. Checkpoints and the start
//! are part of all of them and fall out of the differences.

use std::path::Path;

use anyhow::Result;

use super::options::{Options, Scheme};
use super::report::{self, Table};
use super::run::{self, Run};

/// Pages of a host in the crawls for the cost of hosts.
const FEW_PAGES: u32 = 2;

/// The costs of a host and of a page, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    host_us: f64,
    page_us: f64,
}

impl Costs {
    /// Solves for both, from a crawl of many pages of a host and one of few.
    fn of(many: &Run, few: &Run) -> Costs {
        let (many_hosts, few_hosts) = (f64::from(many.hosts), f64::from(few.hosts));
        let (many_pages, few_pages) = (many.pages() as f64, few.pages() as f64);
        let page_s =
            (many.cpu_s() * few_hosts - few.cpu_s() * many_hosts) / (many_pages * few_hosts - few_pages * many_hosts);
        Costs { host_us: (few.cpu_s() - few_pages * page_s) * 1e6 / few_hosts, page_us: page_s * 1e6 }
    }

    /// The cost of a host of a crawl whose pages cost the same.
    fn host_of(self, few: &Run) -> f64 {
        (few.cpu_s() * 1e6 - few.pages() as f64 * self.page_us) / f64::from(few.hosts)
    }
}

/// Crawls all webs, `many` of them with HTTPS already, and prints the costs.
pub fn tell(name: &str, binary: &Path, options: &Options, many: &Run, scratch: &Path, table: &mut Table) -> Result<()> {
    let mut crawl = |options: Options| -> Result<Run> {
        let run = run::crawl(binary, &options, scratch)?;
        report::tell(name, &run);
        table.push(name, &run);
        Ok(run)
    };
    let few = |scheme| options.with(scheme, options.stage_hosts, FEW_PAGES);
    let https = Costs::of(many, &crawl(few(Scheme::Https))?);
    let plain_many = crawl(options.with(Scheme::Http, options.hosts, options.pages_per_host))?;
    let http = Costs::of(&plain_many, &crawl(few(Scheme::Http))?);
    let (mut no_robots, mut by_address) = (few(Scheme::Http), few(Scheme::Http));
    (no_robots.no_robots, by_address.by_address) = (true, true);
    let no_robots = http.host_of(&crawl(no_robots)?);
    let no_names = http.host_of(&crawl(by_address)?);
    println!("\n{name}: CPU by stage, in microseconds");
    println!("  a host {:>8.0}  of which", https.host_us);
    println!("    TLS handshake {:>8.0}", https.host_us - http.host_us);
    println!("    robots.txt    {:>8.0}", http.host_us - no_robots);
    println!("    DNS           {:>8.0}", http.host_us - no_names);
    println!("    the rest      {:>8.0}", no_robots + no_names - http.host_us);
    println!("  a page {:>8.0}  of which", https.page_us);
    println!("    records of TLS {:>7.0}", https.page_us - http.page_us);
    println!("    the rest       {:>7.0}", http.page_us);
    Ok(())
}

//! Options of the command line, and the synthetic web that they mean.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use crawler::simweb::SimOptions;

use super::filled::Past;

const SEED: u64 = 11;

/// Kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// Pages like those of documentation, on few hosts.
    Docs,
    /// Many hosts: nearly every page has a connection, a DNS answer and a robots.txt of its own.
    Wide,
    /// A long crawl, told for each tenth of it.
    Growth,
    /// Crawls that go on from stores with millions of URLs, beside one from empty stores.
    Past,
}

/// Codings in which pages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Coding {
    /// Pages as they are.
    Plain,
    /// Pages with Content-Encoding gzip, to crawlers that accept it.
    Gzip,
}

impl Coding {
    /// Returns the words behind the names of the crawlers in the table.
    pub fn suffix(self) -> &'static str {
        match self {
            Coding::Plain => "",
            Coding::Gzip => ", gzip",
        }
    }
}

/// Measures whole crawls by the real binary.
#[derive(Debug, Parser)]
pub struct Options {
    #[arg(value_enum, default_value = "docs")]
    pub variant: Variant,
    /// Pages of the synthetic web [default: 20000, growth: 500000].
    #[arg(long)]
    pages: Option<usize>,
    /// Its hosts [default: 8, wide: 4000, growth: 5000].
    #[arg(long)]
    hosts: Option<usize>,
    /// Mean size of its pages [default: 24000, wide: 20000, growth: 8000].
    #[arg(long)]
    page_bytes: Option<usize>,
    /// Mean number of their links [default: 140, wide and growth: 30].
    #[arg(long)]
    links: Option<usize>,
    /// Crawls a site that is served already, on loopback; may be given several times. The crawl stays on its host.
    #[arg(long, value_name = "URL")]
    pub site: Vec<String>,
    /// The same, with the URLs in a file.
    #[arg(long, value_name = "FILE")]
    pub seeds: Option<PathBuf>,
    /// Crawls the files below a directory, which this process serves; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub files: Vec<PathBuf>,
    /// Codings in which pages are sent, each in every round; not with `--site`.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "plain")]
    pub codings: Vec<Coding>,
    /// Tells the CPU of each thread of the crawler.
    #[arg(long)]
    pub stages: bool,
    /// Sizes for `past`: millions of URLs seen, and how many of them are queued [default: 0, 1, 10, 100, 100/1,
    /// 100/10].
    #[arg(long, value_name = "SEEN[/QUEUED]", value_delimiter = ',', value_parser = millions)]
    millions: Vec<(u64, u64)>,
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 1)]
    pub rounds: usize,
    /// Connections to a host at once.
    #[arg(long, default_value_t = 8)]
    pub connections: usize,
    /// Another build to measure instead of this one; several are measured in turn.
    #[arg(long, value_name = "PROGRAM")]
    pub binary: Vec<PathBuf>,
    /// Shards of the crawl; several numbers are measured in turn.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1])]
    pub shards: Vec<usize>,
    /// Tells how long links between shards wait; the crawler writes a long log for it.
    #[arg(long)]
    pub waits: bool,
    /// More of the crawler's configuration: a file of sections that this bench does not write itself.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory into which the crawls are written [default: the directory for temporary files].
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Leave the peers out.
    #[arg(long)]
    pub no_peers: bool,
    /// The peers that take part, by their programs [default: all that are found].
    #[arg(long, value_delimiter = ',', value_name = "PROGRAM")]
    pub peers: Vec<String>,
    /// Is the floor itself: gets the URLs of a file from `--server`.
    #[arg(long, value_name = "FILE", requires = "server", hide = true)]
    pub floor: Option<PathBuf>,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pub server: Option<SocketAddr>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Reads `SEEN` or `SEEN/QUEUED`.
fn millions(text: &str) -> Result<(u64, u64), std::num::ParseIntError> {
    let (seen, queued) = text.split_once('/').unwrap_or((text, "0"));
    Ok((seen.parse()?, queued.parse()?))
}

impl Options {
    /// Pages of the synthetic web.
    pub fn pages(&self) -> usize {
        self.pages.unwrap_or(if self.variant == Variant::Growth { 500_000 } else { 20_000 })
    }

    fn hosts(&self) -> usize {
        self.hosts.unwrap_or(match self.variant {
            Variant::Docs => 8,
            Variant::Wide | Variant::Past => 4_000,
            Variant::Growth => 5_000,
        })
    }

    fn page_bytes(&self) -> usize {
        self.page_bytes.unwrap_or(match self.variant {
            Variant::Docs => 24_000,
            Variant::Wide | Variant::Past => 20_000,
            Variant::Growth => 8_000,
        })
    }

    /// The pasts that crawls go on from.
    pub fn pasts(&self) -> Vec<Past> {
        let usual = vec![(0, 0), (1, 0), (10, 0), (100, 0), (100, 1), (100, 10)];
        let chosen = if self.millions.is_empty() { usual } else { self.millions.clone() };
        chosen.iter().map(|(seen, queued)| Past { seen: seen * 1_000_000, queued: queued * 1_000_000 }).collect()
    }

    /// Returns a line that says what is measured.
    pub fn title(&self) -> String {
        match &self.seeds {
            Some(file) => format!("the web of {}", file.display()),
            None if !self.site.is_empty() => self.site.join(" "),
            None if !self.files.is_empty() => format!("the files of {:?}", self.files),
            None => format!("{} hosts, {} pages of {} bytes", self.hosts(), self.pages(), self.page_bytes()),
        }
    }

    /// The seeds of a web that is served already, if it is that which is asked for.
    pub fn served_seeds(&self) -> Result<Option<Vec<String>>> {
        let mut seeds = self.site.clone();
        if let Some(file) = &self.seeds {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let is_seed = |line: &&str| !line.is_empty() && !line.starts_with('#');
            seeds.extend(text.lines().map(str::trim).filter(is_seed).map(str::to_owned));
        }
        Ok((!seeds.is_empty()).then_some(seeds))
    }

    /// Returns whether the crawl is of one site.
    pub fn is_one_site(&self) -> bool {
        self.seeds.is_none() && (self.site.len() == 1 || self.site.is_empty() && !self.files.is_empty())
    }

    /// The synthetic web: all hosts at one address, so that a peer can use it as its proxy and needs no names.
    pub fn web(&self, coding: Coding) -> SimOptions {
        let options = SimOptions {
            seed: SEED,
            hosts: self.hosts(),
            pages: self.pages(),
            addresses: 1,
            page_bytes: self.page_bytes(),
            links: self.links.unwrap_or(if self.variant == Variant::Docs { 140 } else { 30 }),
            robots_missing_share: 0.1,
            gzip_share: if coding == Coding::Gzip { 1.0 } else { 0.0 },
            ..SimOptions::default()
        };
        options.smooth()
    }
}

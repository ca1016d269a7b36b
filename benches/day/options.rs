//! Options of the command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::bodies::Sizes;
use super::certificates::Authority;
use super::hosts::HOSTS_MAX;

/// Schemes of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scheme {
    Https,
    Http,
}

impl Scheme {
    /// Returns the scheme as URLs have it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
        }
    }
}

/// Measures a crawl of many hosts with everything on, on one core.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Hosts of the web, each with its own name, address, certificate and robots.txt.
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(1..=HOSTS_MAX as i64))]
    pub hosts: u32,
    /// Pages of each host; its menu links them all.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub pages_per_host: u32,
    #[arg(long, value_enum, default_value = "https")]
    pub scheme: Scheme,
    /// The web offers HTTP/2.
    #[arg(long)]
    pub http2: bool,
    /// Meaning of the sizes of pages.
    #[arg(long, value_enum, default_value = "sent")]
    pub sizes: Sizes,
    /// Keys of the authorities that sign certificates.
    #[arg(long, value_enum, default_value = "p256")]
    pub authority: Authority,
    /// Crawls more webs, from whose differences the CPU of the stages follows.
    #[arg(long)]
    pub stages: bool,
    /// Hosts of the webs with two pages a host, for the stages.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=HOSTS_MAX as i64))]
    pub stage_hosts: u32,
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 1)]
    pub rounds: usize,
    /// Another build to measure instead of this one; several are measured in turn.
    #[arg(long, value_name = "PROGRAM")]
    pub binary: Vec<PathBuf>,
    /// More of the crawler's configuration: a file of sections that this bench does not write itself.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory into which the crawls are written [default: the directory for temporary files].
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// URLs have addresses for hosts, so that there is no DNS; with `--scheme http`, as certificates have names.
    #[arg(long)]
    pub by_address: bool,
    /// The crawler asks for no robots.txt.
    #[arg(long)]
    pub no_robots: bool,
    /// Is the web itself, whose root certificate goes into that file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub serve: Option<PathBuf>,
    /// Is on its core already.
    #[arg(long, hide = true)]
    pub pinned: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// Returns the words that make the child serve the web of these options.
    pub fn web_words(&self) -> Vec<String> {
        let mut words = vec!["--hosts".to_owned(), self.hosts.to_string()];
        words.extend(["--pages-per-host".to_owned(), self.pages_per_host.to_string()]);
        words.extend(["--scheme".to_owned(), word(self.scheme)]);
        words.extend(["--sizes".to_owned(), word(self.sizes)]);
        words.extend(["--authority".to_owned(), word(self.authority)]);
        words.extend(self.http2.then(|| "--http2".to_owned()));
        words.extend(self.by_address.then(|| "--by-address".to_owned()));
        words
    }

    /// Returns these options for another web, with as many pages of a host.
    pub fn with(&self, scheme: Scheme, hosts: u32, pages_per_host: u32) -> Options {
        Options { scheme, hosts, pages_per_host, ..self.clone() }
    }

    /// Returns the name of the web in the tables.
    pub fn title(&self) -> String {
        let robots = if self.no_robots { ", no robots.txt" } else { "" };
        let names = if self.by_address { ", no DNS" } else { "" };
        format!("{}, {} hosts x {} pages{robots}{names}", self.scheme.name(), self.hosts, self.pages_per_host)
    }
}

/// Returns a choice as the command line has it.
fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

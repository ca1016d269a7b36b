//! `crawler audit`: what is wrong with a site, by what a crawl has stored of it, as a page, a table and JSON.

mod external;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::{Exit, UsageError};
use super::output::{Output, memory};
use super::{CrawlFn, GivenDir, run};
use crate::audit::{Audit, Error, Files, Kind, Options, Summary, Weight};
use crate::clock::{Clock, SystemClock};
use crate::text::escape::Escaped;
use crate::text::figures::count;
use external::Check;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the newest version of all pages of a crawl, running or ended, and writes three files into the directory of \
--output:
  report.html    for people, with pictures: one file, without scripts
  findings.csv   a line for each place of a finding
  audit.json     all of it, for programs and for --compare
Only what was crawled is judged: a URL that was out of scope, too deep or is still waiting is no finding.

--check-external asks for every URL out of scope that links lead to, without following its links: by a crawl of its \
own in OUTPUT/external, with robots.txt, and with the delays, user agent, identity, network and proxy of the audited \
crawl. A link is broken if it leads to 404, 410 or 5xx, if its host does not exist or nothing answers there; what a \
server refuses (401, 403, 429, ...) and time-outs are only counted. Ctrl-C stops the check, and the report says how \
much was not checked; the same command goes on with it within a day. After a complete check it checks all of them \
again.

Kinds of findings, also for --fail-on: broken, external-broken, redirect-loop, redirect-chain, mixed-content, \
title-missing, title-duplicate, description-missing, description-duplicate, h1-missing, h1-duplicate, \
canonical-broken, canonical-redirect, canonical-noindex, canonical-chain, canonical-several, duplicate-content, \
noindex, nofollow-page, nofollow, robots, orphan, sitemap, hreflang-return, hreflang-code, image-alt. --fail-on also \
takes error, warning, any and, with --compare, new.

Examples:
  crawler audit                               read ./crawl, write ./audit
  crawler audit my-crawl --output my-audit
  crawler audit --compare last/audit.json --fail-on broken,new
  crawler audit --check-external --fail-on external-broken

Exit codes: 0 done, 1 findings of --fail-on, 2 usage, 3 damage in the archive, 11 the check of external links was \
stopped, others as those of a crawl.")]
pub(super) struct AuditArgs {
    #[command(flatten)]
    dir: GivenDir,
    /// Directory for the files; it is made if it is not there
    #[arg(long, short, value_name = "DIR", default_value = "./audit")]
    output: PathBuf,
    /// The site as the report calls it; the crawl directory otherwise
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The audit.json of an earlier audit: say what is new and what is fixed
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// End with exit code 1 if there is a finding of one of these kinds; separated by commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = FailOn::parse)]
    fail_on: Vec<FailOn>,
    /// Ask for what links out of the crawl lead to, too, and report what is broken
    #[arg(long)]
    check_external: bool,
    /// With --check-external: settings instead of the settings of the crawl's last run
    #[arg(long, value_name = "FILE", requires = "check_external")]
    config: Option<PathBuf>,
    /// With --check-external: time for the check over all its runs, such as 90s or 2h
    #[arg(long, value_name = "TIME", requires = "check_external", value_parser = run::max_time)]
    max_time: Option<Duration>,
    /// Memory for sorting
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = memory)]
    memory: usize,
}

/// The findings for which the command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailOn {
    Kind(Kind),
    Weight(Weight),
    Any,
    New,
}

impl FailOn {
    fn parse(text: &str) -> Result<FailOn, String> {
        Ok(match text {
            "any" => FailOn::Any,
            "new" => FailOn::New,
            "error" => FailOn::Weight(Weight::Error),
            "warning" => FailOn::Weight(Weight::Warning),
            name => {
                let kind = Kind::parse(name);
                FailOn::Kind(kind.ok_or("write a kind such as broken (--help has all), error, warning, any or new")?)
            }
        })
    }

    /// Findings that make the command fail, or places of them where they have to be new.
    fn met(self, summary: &Summary) -> u64 {
        match self {
            FailOn::Kind(kind) => summary.of(kind).findings,
            FailOn::Weight(weight) => summary.of_weight(weight),
            FailOn::Any => Kind::ALL.iter().map(|kind| summary.of(*kind).findings).sum(),
            FailOn::New => summary.new_places(),
        }
    }

    /// As it is written on the command line.
    fn name(self) -> &'static str {
        match self {
            FailOn::Kind(kind) => kind.name(),
            FailOn::Weight(Weight::Error) => "error",
            FailOn::Weight(_) => "warning",
            FailOn::Any => "any",
            FailOn::New => "new",
        }
    }
}

impl AuditArgs {
    pub(super) fn run(&self, crawl: CrawlFn) -> anyhow::Result<Exit> {
        let dir = self.dir.path();
        if self.fail_on.contains(&FailOn::New) && self.compare.is_none() {
            return Err(UsageError::because("--fail-on new: say which audit is the earlier one, with --compare FILE"));
        }
        run::require_crawl(dir)?;
        let made = fs::create_dir_all(&self.output);
        made.map_err(|e| UsageError::because(format!("cannot make {}: {e}", self.output.display())))?;
        // what cannot be written is reported before the work
        let [html, csv, json] = ["report.html", "findings.csv", "audit.json"].map(|name| self.file(dir, name));
        let (mut html, mut csv, mut json) = (html?, csv?, json?);
        let options = Options {
            memory: self.memory,
            earlier: self.compare.clone(),
            now: SystemClock::new().now(),
            title: self.title.clone(),
        };
        let mut faults = super::archive::Damage::default();
        let mut faulty = |error: crate::archive::Error| faults.note(error.into(), &mut io::stderr());
        let mut audit = Audit::read(dir, options, &mut faulty).map_err(refusal)?;
        let mut exit = Exit::Done;
        if self.check_external {
            let check = Check { dir, output: &self.output, config: self.config.as_deref(), time_max: self.max_time };
            exit = check.run(&mut audit, crawl, &mut faulty)?;
        }
        let files = Files { html: &mut html, csv: &mut csv, json: &mut json };
        let summary = audit.write(&dir.display().to_string(), files).map_err(refusal)?;
        [html, csv, json].into_iter().try_for_each(Output::finish)?;
        self.tell(&summary, &mut io::stdout())?;
        if let Some(earlier) = self.compare.as_deref().filter(|_| summary.is_of_itself) {
            let earlier = earlier.display().to_string();
            let earlier = Escaped(&earlier);
            eprintln!(
                "crawler: {earlier} is an audit of the same crawl, which has fetched nothing since: nothing can be new \
                 or fixed. Crawl again first, into a new directory (--dir)."
            );
        }
        let mut is_met = false;
        for (wanted, found) in self.fail_on.iter().map(|wanted| (wanted, wanted.met(&summary))) {
            if found > 0 {
                is_met = true;
                writeln!(io::stderr(), "crawler: --fail-on {}: {} found", wanted.name(), count(found))?;
            }
        }
        let exit = if is_met && exit == Exit::Done { Exit::Internal } else { exit };
        faults.or(exit, &mut io::stderr())
    }

    fn file(&self, dir: &Path, name: &str) -> anyhow::Result<Output> {
        Output::open(&self.output.join(name), dir, false)
    }

    /// The counts, and where the report is.
    fn tell(&self, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
        for kind in Kind::ALL {
            let found = summary.of(*kind);
            if found.places + found.fixed == 0 {
                continue;
            }
            write!(
                out,
                "{:<22} {:>9} findings, {:>9} places",
                kind.name(),
                count(found.findings),
                count(found.places)
            )?;
            if summary.is_compared {
                write!(out, ", {} new, {} fixed", count(found.new), count(found.fixed))?;
            }
            writeln!(out)?;
        }
        if let Some(external) = &summary.external {
            writeln!(out, "{external}")?;
        }
        let report = self.output.join("report.html").display().to_string();
        writeln!(out, "report: {}", Escaped(&report))
    }
}

/// Turns faults that the user can correct into usage errors.
fn refusal(error: Error) -> anyhow::Error {
    match error {
        Error::Earlier { .. } | Error::Archive(crate::archive::Error::NothingStored(_)) => {
            UsageError::because(error.to_string())
        }
        Error::Archive(crate::archive::Error::Disk(error)) | Error::Disk(error) => error.into(),
        error => error.into(),
    }
}

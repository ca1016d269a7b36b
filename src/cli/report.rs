//! `crawler report`: the tables of a crawl, made now from its logs and its last checkpoint.

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::{ArchiveArg, run};
use crate::crawl::reports::{self, Form, Name};
use crate::ship::Reads;

/// Message where the seeds cannot be reported.
const NO_SEEDS: &str = "seeds were added to this crawl while it ran on many machines: several lists are not read from \
                        the store, so the seeds are not reported";

#[derive(Debug, Args)]
#[command(after_help = "\
Reports:
  crawl         totals of the whole crawl
  coverage      the share of known URLs whose content was got, what was not got
                and why, and how each part is listed; by host
  hosts         one row per host: requests, pages, bytes, errors, queued URLs,
                gaps between requests, the gap that was required, and how many
                requests came too early (there must be none)
  seeds         the outcome of every seed, and where it redirected
  status-codes  URLs by status, or by the reason why there is none
  mime-types    responses and bytes by type
  domains       one row per domain: supporters, pages per round, pages, and
                what waits for the next round; only by this name

crawl, seeds, status-codes and the queue are as of the last checkpoint, everything else as of now; before the first \
checkpoint, crawl and status-codes come from the running crawl. A running crawl is not disturbed. Nothing is written \
without --write. With --store, everything is as of the last checkpoint that the crawl has shipped.

Examples:
  crawler report
  crawler report coverage --min-coverage 95
  crawler report hosts --dir news | sort -k8n | head
  crawler report seeds --json
  crawler report hosts --store s3://bucket/crawls
  crawler report --write                put all of them into reports/")]
pub(super) struct ReportArgs {
    /// Name of the report; all but domains if left out
    #[arg(value_name = "NAME", value_enum)]
    name: Option<Which>,
    #[command(flatten)]
    archive: ArchiveArg,
    /// Print one JSON object per row
    #[arg(long, visible_alias = "jsonl", conflicts_with = "write")]
    json: bool,
    /// End with exit code 1 where less than this share of the known URLs was got as content, in percent
    #[arg(long, value_name = "PERCENT", value_parser = run::percent, conflicts_with = "store")]
    min_coverage: Option<f64>,
    /// Write the tables into reports/ of the crawl directory instead of printing them
    #[arg(long, conflicts_with = "store")]
    write: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    Crawl,
    Hosts,
    Seeds,
    StatusCodes,
    MimeTypes,
    Domains,
    Coverage,
}

impl From<Which> for Name {
    fn from(which: Which) -> Self {
        match which {
            Which::Crawl => Name::Crawl,
            Which::Hosts => Name::Hosts,
            Which::Seeds => Name::Seeds,
            Which::StatusCodes => Name::StatusCodes,
            Which::MimeTypes => Name::MimeTypes,
            Which::Domains => Name::Domains,
            Which::Coverage => Name::Coverage,
        }
    }
}

impl ReportArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.archive.dir.dir;
        let stored = self.archive.stored(Reads::Reports)?;
        match &stored {
            None => run::require_crawl(dir)?,
            Some(stored) => {
                stored.show_figures()?;
                if !stored.show_seeds()? && self.name.is_none_or(|which| matches!(which, Which::Seeds)) {
                    writeln!(io::stderr(), "crawler: {NO_SEEDS}")?;
                }
            }
        }
        let names = self.name.map_or(Name::ALL.to_vec(), |which| vec![which.into()]);
        if self.write {
            for name in names {
                reports::put(name, dir)?;
            }
            return self.exit();
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let form = if self.json { Form::Json } else { Form::Text };
        for (number, name) in names.into_iter().enumerate() {
            if number > 0 && form == Form::Text {
                writeln!(out)?;
            }
            match &stored {
                None => reports::write(name, dir, &mut out, form)?,
                Some(stored) => reports::write_stored(name, &stored.disk(), stored.dir(), &mut out, form)?,
            }
        }
        out.flush()?;
        self.exit()
    }

    fn exit(&self) -> anyhow::Result<Exit> {
        self.min_coverage.map_or(Ok(Exit::Done), |least| run::enough_coverage(&self.archive.dir.dir, least))
    }
}

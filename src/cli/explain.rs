//! `crawler explain URL`: everything that a crawl knows and decides about a URL, with one sentence at the end.

mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::canonical::parse;
use super::exit::Exit;
use super::{ArchiveArg, run};
use crate::config::Config;
use crate::crawl::explain;
use crate::text::escape::json_line;

#[derive(Debug, Args)]
#[command(after_help = "\
Shows the forms and fingerprints of the URL, the scope rule and the line of robots.txt that decide, the answer of the \
name servers, whether URL-seen has it, its position in the queue, the state of its host, all versions in the archive, \
how it was found, its redirects both ways, and the newest log lines about it. The last line is the verdict.

With --store, the crawl is read from the store that it ships to, as of its last checkpoint there.

Works on a running crawl and on a stopped one, writes nothing and takes no lock. Stores, queue and hosts are as of the \
last checkpoint; the archive and the logs are as of now. The settings are those of the last run, unless --config names \
others.

Examples:
  crawler explain https://example.com/a
  crawler explain https://example.com/a --dir news --json
  crawler explain https://example.com/a --store s3://bucket/crawls

Exit codes: 0 explained, 2 not a URL or no crawl directory, 3 state damaged.")]
pub(super) struct ExplainArgs {
    /// The URL, with its scheme
    url: String,
    #[command(flatten)]
    archive: ArchiveArg,
    /// Settings to use instead of those of the last run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let url = parse(&self.url)?;
        let config = self.config.as_deref().map(|path| Config::load(Some(path))).transpose()?;
        let explanation = match self.archive.stored()? {
            None => {
                let dir = &self.archive.dir.dir;
                run::require_crawl(dir)?;
                explain::explain(dir, &url, config)?
            }
            Some(stored) => {
                stored.show_seeds()?;
                explain::explain_stored((&stored.disk(), stored.dir()), &url, config)?
            }
        };
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", json_line(&explanation)?)?,
            false => out.write_all(text::text(&explanation).as_bytes())?,
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

//! `crawler explain URL`: everything that a crawl knows and decides about a URL, with one sentence at the end.

mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::canonical::parse;
use super::exit::Exit;
use super::{ArchiveArg, run};
use crate::config::Config;
use crate::crawl::explain::{self, Explanation};
use crate::ship::Reads;
use crate::text::escape::json_line;
use crate::web::url::CanonicalUrl;

/// The most looks at a crawl in a store that goes on meanwhile.
const TRIES: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Shows the forms and fingerprints of the URL, the scope rule and the line of robots.txt that decide, the answer of the \
name servers, whether URL-seen has it, its position in the queue, the state of its host, all versions in the archive, \
how it was found, its redirects both ways, and the newest log lines about it. The last line is the verdict.

With --store, the crawl is read from the store that it ships to, as of its last checkpoint there.

Works on a running crawl and on a stopped one, writes nothing and takes no lock. Stores, queue and hosts are as of the \
last checkpoint; the archive and the logs are as of now. The settings come from the last run, unless --config names \
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
    /// Settings to use instead of the settings of the last run
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
        let explanation = match self.archive.store {
            None => {
                let dir = &self.archive.dir.dir;
                run::require_crawl(dir)?;
                explain::explain(dir, &url, config)?
            }
            Some(_) => self.explain_stored(&url, config.as_ref())?,
        };
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", json_line(&explanation)?)?,
            false => out.write_all(text::text(&explanation).as_bytes())?,
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    /// Explains by the last checkpoint in the store. Of stores and queue little is read, where it is in the store; if
    /// the crawl has deleted that meanwhile, all is read again by its newer checkpoint.
    fn explain_stored(&self, url: &CanonicalUrl, config: Option<&Config>) -> anyhow::Result<Explanation> {
        let mut tries = 0;
        loop {
            let stored = self.archive.stored(Reads::Url)?.expect("the store was named");
            stored.show_seeds()?;
            tries += 1;
            match explain::explain_stored(&stored.disk(), stored.dir(), url, config.cloned()) {
                Err(_) if tries < TRIES && stored.has_gone_on()? => {}
                explained => return Ok(explained?),
            }
        }
    }
}

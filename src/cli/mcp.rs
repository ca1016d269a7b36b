//! `crawler mcp`: the archive as tools of the Model Context Protocol, over standard input and output.

use clap::Args;

use super::exit::Exit;
use super::{DirArg, run};
use crate::crawl::serve::tools;

#[derive(Debug, Args)]
#[command(after_help = "\
Lets an assistant search the archive, read pages as Markdown with their captures, compare versions, list links, and \
ask what the crawl knows of a URL and how much it has got. Requests are lines of JSON at standard input, answers at \
standard output, as assistants start it; the crawl may run meanwhile. Everything is read, and nothing written but the \
index of the search. Texts of pages are marked as foreign data in each answer.

crawler serve has the same tools over HTTP, at /mcp of its first address.

Examples:
  crawler mcp --dir news
  claude mcp add news -- crawler mcp --dir /data/news

Exit codes: 0 the input has ended, 2 no crawl directory.")]
pub(super) struct McpArgs {
    #[command(flatten)]
    dir: DirArg,
}

impl McpArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir.dir)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(tools(&self.dir.dir).over_stdio())?;
        // a thread that waits for input does not end
        runtime.shutdown_background();
        Ok(Exit::Done)
    }
}

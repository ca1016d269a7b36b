//! `crawler backup`: copies a crawl, also one that runs, from its last checkpoint.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::exit::Exit;
use super::run;
use crate::crawl::backup::{BackedUp, backup};
use crate::report::closing::shell_word;
use crate::text::figures::{counted, size};

#[derive(Debug, Args)]
#[command(after_help = "\
The crawl may run meanwhile: it is not stopped, and nothing is written to its directory. The copy is of its last \
checkpoint (crawler ctl checkpoint makes one now), so it can be verified, read and resumed like any crawl directory. \
What was fetched after the checkpoint is not in it, and a copy that is resumed fetches it again.

TARGET must not be there, or be empty. It appears when all of it is on the disk: a backup that was killed leaves \
TARGET.restoring, which the next one removes.

Never resume the copy while the crawl goes on: both would fetch the same pages.

Examples:
  crawler backup crawl /backup/crawl-monday
  crawler backup crawl /backup/new && crawler verify --dir /backup/new

Exit codes: 0 done, 2 usage, 3 damaged, 4 disk.")]
pub(super) struct BackupArgs {
    /// Crawl directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Directory of the copy, which must not be there or be empty
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

impl BackupArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir)?;
        let BackedUp { shards, checkpoint, pages, files, bytes } = backup(&self.dir, &self.target)?;
        let of_shards = if shards > 1 { format!(" of {shards} shards") } else { String::new() };
        writeln!(
            io::stdout(),
            "{}: checkpoint {checkpoint}{of_shards}, {}, {} in {}; check it: crawler verify --dir {}",
            self.target.display(),
            counted(pages, "page"),
            size(bytes),
            counted(files as u64, "file"),
            shell_word(&self.target)
        )?;
        Ok(Exit::Done)
    }
}

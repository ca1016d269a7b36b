//! A WACZ of an archive in memory, read by an independent reader of ZIP files.

use clap::Parser;

use super::*;
use crate::cli::archive::tests::FakeArchive;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: WaczArgs,
}

//! `crawler console`: opens the console of a crawl directory in a browser, whether a crawl runs there or not.

use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;

use super::exit::Exit;
use super::{DirArg, run};
use crate::console::DEFAULT_ADDRESS;
use crate::crawl::{console, signals};

#[derive(Debug, Args)]
#[command(after_help = "\
Serves one page on this machine until Ctrl-C: charts, hosts, requests, seeds, what is archived, and everything that is \
known of a URL. If a crawl is running in the directory, its figures are live and the page can pause, resume and stop \
it. The address that is printed ends with a token; without it the page gives no orders.

A crawl can open the page by itself: crawler --seeds seeds.txt --console

Examples:
  crawler console
  crawler console --dir news --address 127.0.0.1:9200

Exit codes: 0 ended by Ctrl-C, 2 no crawl directory, or the address is not free.")]
pub(super) struct ConsoleArgs {
    #[command(flatten)]
    dir: DirArg,
    /// Address to listen at; with port 0, any free port
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS)]
    address: SocketAddr,
}

impl ConsoleArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir.dir)?;
        let console = console::open(&self.dir.dir, &self.address.to_string(), None)?;
        tell(&console)?;
        signals::wait_for_interrupt()?;
        Ok(Exit::Done)
    }
}

/// Says where the console is, and how it ends.
pub(super) fn tell(console: &crate::console::Console) -> anyhow::Result<()> {
    let mut err = io::stderr().lock();
    writeln!(err, "The console is at {}\nCtrl-C closes it.", console.url())?;
    let at = console.address();
    if !at.ip().is_loopback() {
        writeln!(
            err,
            "Warning: {at} is open to others. Anyone who can connect sees the crawl and its archive, and the token \
             crosses the network unencrypted."
        )?;
    }
    Ok(err.flush()?)
}

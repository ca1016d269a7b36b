//! `crawler serve`: replays the archive of a crawl in a browser.

use std::io::{self, Write};
use std::net::SocketAddr;

use clap::Args;

use super::exit::Exit;
use super::{DirArg, run};
use crate::crawl::serve::{HOME_ADDRESS, REPLAY_ADDRESS, Served};
use crate::crawl::signals;

#[derive(Debug, Args)]
#[command(after_help = "\
Serves the archive on this machine until Ctrl-C, while the crawl runs or afterwards. Open the first address: it has \
the stored hosts and the captures of a URL, and shows a page as it was, with its scripts. Pages are at the second \
address, so that they can neither read nor control anything else; nothing in them is loaded from the network.

At the second address, /TIME/URL is a capture (TIME has 1 to 14 digits), /TIMEid_/URL its bytes as stored, \
/TIMErd_/URL the page as a browser rendered it in the crawl. /timegate/URL and /timemap/link/URL are for clients of \
Memento (RFC 7089).

With addresses other than 127.0.0.1 everyone who can connect sees the archive. Browsers run no service workers there: \
absolute paths that scripts ask for are not found.

Examples:
  crawler serve
  crawler serve --dir news --address 127.0.0.1:9200 --replay 127.0.0.1:9201

Exit codes: 0 ended by Ctrl-C, 2 no crawl directory, or an address is not free.")]
pub(super) struct ServeArgs {
    #[command(flatten)]
    dir: DirArg,
    /// Address of the pages about the archive; with port 0, any free port
    #[arg(long, value_name = "ADDRESS", default_value = HOME_ADDRESS)]
    address: SocketAddr,
    /// Address of archived pages: the same IP address, another port
    #[arg(long, value_name = "ADDRESS", default_value = REPLAY_ADDRESS)]
    replay: SocketAddr,
}

impl ServeArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir.dir)?;
        let served = Served::open(&self.dir.dir, self.address, self.replay)?;
        tell(&served)?;
        signals::wait_for_interrupt()?;
        Ok(Exit::Done)
    }
}

/// Says where the archive is, and how it ends.
fn tell(served: &Served) -> anyhow::Result<()> {
    let mut err = io::stderr().lock();
    writeln!(
        err,
        "The archive is at http://{}/\nIts pages are at http://{}/\nCtrl-C closes it.",
        served.home(),
        served.replay()
    )?;
    if !served.home().ip().is_loopback() {
        writeln!(err, "Warning: {} is open to others. Anyone who can connect sees the archive.", served.home())?;
    }
    Ok(err.flush()?)
}

//! `crawler serve`: the archive of a crawl directory, replayed in a browser.
//!
//! Two servers share one archive: our own pages at the home address, archived pages at the replay address
//! (`crawler_replay::replay`). The archive is read on a few threads beside them, without a lock, also while a crawl
//! goes on.

mod service;
mod stored;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::CrawlError;
use crate::replay::{Captures, Home, Replay};
use crate::server::{Limits, Listener, Server};
use service::{ArchiveService, Names, Side};
use stored::StoredCaptures;

/// Default address of our own pages.
pub(crate) const HOME_ADDRESS: &str = "127.0.0.1:9160";
/// Default address of archived pages.
pub(crate) const REPLAY_ADDRESS: &str = "127.0.0.1:9161";

/// A connection ends by itself after its answer; one whose other end does not take it is given this long.
const LIMITS: Limits = Limits {
    connections_max: 128,
    head_max: Duration::from_secs(5),
    // a URL of 64 KiB
    buffer_bytes: 80 << 10,
    connection_max: Duration::from_secs(600),
    grace: Duration::from_millis(500),
};

/// Random bytes in the names of archived origins.
const TOKEN_BYTES: usize = 12;

/// A name that nobody can guess.
fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

/// An archive that is served. It closes when it is dropped.
pub(crate) struct Served {
    home: Server,
    replay: Server,
}

impl Served {
    /// Serves the archive of the crawl directory `dir`: our own pages at `home`, archived ones at `replay`.
    pub(crate) fn open(dir: &Path, home: SocketAddr, replay: SocketAddr) -> Result<Served, CrawlError> {
        if home.ip() != replay.ip() {
            return Err(CrawlError::Usage(format!(
                "--address {home} and --replay {replay}: give both the same IP address, and different ports"
            )));
        }
        let listen = |address: SocketAddr| {
            Listener::bind(&address.to_string()).map_err(|error: io::Error| {
                let hint = match error.kind() {
                    io::ErrorKind::AddrInUse => "; choose another port with --address and --replay",
                    _ => "",
                };
                CrawlError::Usage(format!("cannot listen at {address}: {error}{hint}"))
            })
        };
        let (home, replay) = (listen(home)?, listen(replay)?);
        let captures: Arc<dyn Captures> = Arc::new(StoredCaptures::new(dir));
        let (home_port, replay_port) = (home.address().port(), replay.address().port());
        let token = token().map_err(|error| CrawlError::Usage(format!("no random bytes: {error}")))?;
        let names = Names { home_port, replay_port, sites: format!("{token}.localhost:{replay_port}") };
        let of = |side| ArchiveService::new(side, names.clone());
        let failed = |error: io::Error| CrawlError::Usage(format!("the server cannot be started: {error}"));
        let side = Side::Home(Arc::new(Home::new(captures.clone())));
        let home = home.serve("serve-home", LIMITS, of(side)).map_err(failed)?;
        let side = Side::Replay(Arc::new(Replay::new(captures)));
        let replay = replay.serve("serve-replay", LIMITS, of(side)).map_err(failed)?;
        Ok(Served { home, replay })
    }

    /// The address of our own pages.
    pub(crate) fn home(&self) -> SocketAddr {
        self.home.address()
    }

    /// The address of archived pages.
    pub(crate) fn replay(&self) -> SocketAddr {
        self.replay.address()
    }
}

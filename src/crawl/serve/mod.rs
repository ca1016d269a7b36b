//! `crawler serve`: the archive of a crawl directory, replayed in a browser.
//!
//! Two servers share one archive: our own pages at the home address, archived pages at the replay address
//! (`crawler_replay::replay`). The archive is read on a few threads beside them, without a lock, also while a crawl
//! goes on. With a proxy ([`proxy`]) a third one shows it in the place of the web.

mod proxy;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::CrawlError;
use super::answers::StoredAnswers;
use super::captures::StoredCaptures;
use crate::answers::{Readers, Tools};
use crate::clock::Time;
use crate::console::Archived;
use crate::replay::{Home, Origins, Proxied, Question, Replay};
use crate::serve::{ArchiveService, Names, Programs, Side, Token};
use crate::server::{Limits, Listener, Server};
use proxy::ArchiveProxy;

/// Default address of our own pages.
pub(crate) const HOME_ADDRESS: &str = "127.0.0.1:9160";
/// Default address of archived pages.
pub(crate) const REPLAY_ADDRESS: &str = "127.0.0.1:9161";
/// Ports from a console to its archived pages.
const PORTS_BETWEEN: u16 = 1_000;

/// Default address of the proxy.
pub(crate) const PROXY_ADDRESS: &str = "127.0.0.1:9162";

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

/// The names of two servers at these ports, whose requests have to bring `token`. Those of archived origins have a part
/// that nobody can guess.
fn names(home_port: u16, replay_port: u16, token: Option<Token>) -> io::Result<Names> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(format!("no random bytes: {error}")))?;
    let secret = data_encoding::HEXLOWER.encode(&bytes);
    Ok(Names { home_port, replay_port, sites: format!("{secret}.localhost:{replay_port}"), token })
}

/// Serves archived pages of the crawl directory `dir` beside a console: some ports above it, or where that is taken, at
/// a free one.
pub(crate) fn beside(dir: &Path, console: SocketAddr) -> io::Result<Archived> {
    let bind = |port| Listener::bind(&SocketAddr::new(console.ip(), port).to_string());
    let above = console.port().checked_add(PORTS_BETWEEN).unwrap_or_default();
    let listener = bind(above).or_else(|_| bind(0))?;
    let names = names(console.port(), listener.address().port(), None)?;
    let sides = Sides::new(dir);
    let server = listener.serve("replay", LIMITS, sides.replay(names.clone()))?;
    Ok(Archived { home: sides.home(names), server })
}

/// The two sides of one archive.
struct Sides {
    dir: PathBuf,
    captures: Arc<StoredCaptures>,
    pages: Arc<Replay>,
}

impl Sides {
    fn new(dir: &Path) -> Sides {
        let captures = Arc::new(StoredCaptures::new(dir));
        let pages = Arc::new(Replay::new(captures.clone()));
        Sides { dir: dir.to_owned(), captures, pages }
    }

    fn home(&self, names: Names) -> ArchiveService {
        let answers = Arc::new(StoredAnswers::new(&self.dir, self.captures.clone()));
        let programs = Arc::new(Programs::new(answers));
        let side = Side::Home(Arc::new(Home::new(self.captures.clone())), programs);
        ArchiveService::new(side, names)
    }

    fn replay(&self, names: Names) -> ArchiveService {
        ArchiveService::new(Side::Replay(self.pages.clone()), names)
    }
}

/// The archive in the crawl directory `dir` as tools for a language model.
pub(crate) fn tools(dir: &Path) -> Tools {
    let answers = StoredAnswers::new(dir, Arc::new(StoredCaptures::new(dir)));
    Tools::new(Arc::new(answers), Readers::new())
}

/// Addresses at which an archive is served, and the proxy's choice of captures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServeOptions {
    /// The address of our own pages.
    pub(crate) home: SocketAddr,
    /// The address of archived pages.
    pub(crate) replay: SocketAddr,
    /// The address of the proxy, if there shall be one.
    pub(crate) proxy: Option<SocketAddr>,
    /// The time to which captures that the proxy shows are the nearest; without it, the newest ones.
    pub(crate) time: Option<Time>,
    /// True if requests have to bring a token; at an address of others they always have to.
    pub(crate) has_token: bool,
}

impl ServeOptions {
    /// These addresses, and no proxy.
    pub(crate) fn at(home: SocketAddr, replay: SocketAddr) -> ServeOptions {
        ServeOptions { home, replay, proxy: None, time: None, has_token: false }
    }
}

/// An archive that is served. It closes when it is dropped.
pub(crate) struct Served {
    home: Server,
    replay: Server,
    pages: Arc<Replay>,
    proxy: Option<ServedProxy>,
    token: Option<Token>,
}

/// A proxy that is served.
pub(crate) struct ServedProxy {
    server: Server,
    /// The file of the certificate of its authority.
    pub(crate) certificate: PathBuf,
    /// The digest of the authority's key, as browsers name keys.
    pub(crate) pin: String,
}

impl Served {
    /// Serves the archive of the crawl directory `dir`.
    pub(crate) fn open(dir: &Path, options: ServeOptions) -> Result<Served, CrawlError> {
        let ServeOptions { home, replay, proxy, time, has_token } = options;
        if home.ip() != replay.ip() {
            return Err(CrawlError::Usage(format!(
                "--address {home} and --replay {replay}: give both the same IP address, and different ports"
            )));
        }
        let (home, replay) = (listen(home)?, listen(replay)?);
        let proxy = proxy.map(listen).transpose()?;
        let has_token = has_token || !home.address().ip().is_loopback();
        let token =
            has_token.then(Token::new).transpose().map_err(|error| failed(io::Error::other(error.to_string())))?;
        let names = names(home.address().port(), replay.address().port(), token.clone()).map_err(failed)?;
        let sides = Sides::new(dir);
        let home = home.serve("serve-home", LIMITS, sides.home(names.clone())).map_err(failed)?;
        let replay = replay.serve("serve-replay", LIMITS, sides.replay(names)).map_err(failed)?;
        let open = |listener| ServedProxy::open(listener, dir, Proxied::new(sides.captures.clone(), time));
        let proxy = proxy.map(open).transpose()?;
        Ok(Served { home, replay, pages: sides.pages, proxy, token })
    }

    /// The address of our own pages.
    pub(crate) fn home(&self) -> SocketAddr {
        self.home.address()
    }

    /// The URL that a browser opens first, with the token.
    pub(crate) fn url(&self) -> String {
        let token = self.token.as_ref().map_or(String::new(), |token| format!("?token={}", token.as_text()));
        format!("http://{}/{token}", self.home())
    }

    /// Asks for the newest capture of `url` as a browser does. Returns its path at both addresses, if it is shown.
    pub(crate) fn shown(&self, url: &str) -> Option<String> {
        let origins = Origins {
            home: format!("http://{}", self.home()),
            replay: format!("http://{}", self.replay()),
            sites: None,
        };
        let newest = self.pages.answer(&Question::get(format!("/timegate/{url}"), origins.clone()));
        let path = newest.field("location")?.strip_prefix(&origins.replay)?.to_owned();
        let page = self.pages.answer(&Question::get(path.clone(), origins));
        (page.status == 200 && !page.body.is_empty()).then_some(path)
    }

    /// The address of archived pages.
    pub(crate) fn replay(&self) -> SocketAddr {
        self.replay.address()
    }

    /// The proxy.
    pub(crate) fn proxy(&self) -> Option<&ServedProxy> {
        self.proxy.as_ref()
    }
}

impl ServedProxy {
    fn open(listener: Listener, dir: &Path, proxied: Proxied) -> Result<ServedProxy, CrawlError> {
        let proxy = ArchiveProxy::open(dir, proxied)?;
        let (certificate, pin) = (proxy.certificate().to_owned(), proxy.pin());
        let server = listener.talk("serve-proxy", proxy::LIMITS, proxy).map_err(failed)?;
        Ok(ServedProxy { server, certificate, pin })
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

fn listen(address: SocketAddr) -> Result<Listener, CrawlError> {
    Listener::bind(&address.to_string()).map_err(|error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "; choose another port with --address, --replay or --proxy",
            _ => "",
        };
        CrawlError::Usage(format!("cannot listen at {address}: {error}{hint}"))
    })
}

fn failed(error: io::Error) -> CrawlError {
    CrawlError::Usage(format!("the server cannot be started: {error}"))
}

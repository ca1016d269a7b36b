//! A synthetic web on loopback: a real HTTP server and a real DNS server with thousands of host names, deterministic
//! from a seed, that knows what a right crawl of it ends with.
//!
//! Tests and demonstrations crawl it. It holds what crawlers trip over: redirects in chains, circles and across
//! hosts, robots.txt of all kinds, hosts that are giant, slow, overloaded or dead, errors that pass and errors that
//! stay, names that do not exist, duplicates, URLs in many spellings, links that must not be followed, and, where asked
//! for, traps without end, farms that link themselves, pages that change by the clock, and walls: challenges, log-ins
//! and other answers that are no content. Its pages have entity tags
//! and dates, and answer conditions with 304. Nothing is stored: a page is written from the seed, its URL, the port
//! and, where it changes, the time whenever it is asked for, and [`Expected`] comes from a walk over the plan that
//! pages are written from.
//!
//! It promises that every URL of [`Expected::pages`] can be reached from [`SimWeb::seeds`], that its spelling is the
//! one a WHATWG parser gives, and that everything else answers 404 or 421. The servers have one separate thread, which
//! ends with [`SimWeb`].
//!
//! The addresses 127.0.0.1, 127.0.0.2 and so on must be there: on Linux they are.

mod answer;
mod answers;
mod changes;
mod conduct;
mod dns;
mod domains;
mod drip;
mod expected;
mod farm_kinds;
mod farms;
mod host_names;
mod http;
mod judge;
mod links;
mod log;
mod lots;
mod names;
mod options;
mod page;
mod paper;
mod plan;
mod process;
mod requisites;
mod robots;
mod shares;
mod sitemaps;
#[cfg(test)]
mod tests;
mod timeline;
mod trap_kinds;
mod traps;
mod trouble;
mod validators;
mod version;
mod wall_pages;
mod walls;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

pub use changes::Changes;
pub use conduct::Plea;
pub use dns::{NameServer, Names};
pub use expected::{Expected, ExpectedPage};
pub use farm_kinds::FarmKind;
pub use judge::{Limits, Violation, judge, largest_concurrency};
pub use log::Request;
pub use options::SimOptions;
pub use paper::{PaperAnswer, PaperWeb};
pub use shares::Shares;
pub use timeline::Timeline;
pub use trap_kinds::TrapKind;

use crate::clock::Time;
use answers::SimResponses;
use http::Site;
use plan::{Plan, Target};

/// The number of ports that are tried where one is free on some addresses only.
const PORT_ATTEMPTS: u32 = 50;

/// A synthetic web with its servers running. They stop when it is dropped.
pub struct SimWeb {
    site: Arc<Site>,
    expected: OnceLock<Expected>,
    dns_address: SocketAddr,
    dns_queries: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SimWeb {
    /// Draws up the web and starts its servers on free ports. Options that describe no web are refused with
    /// [`io::ErrorKind::InvalidInput`].
    pub fn start(options: SimOptions) -> io::Result<SimWeb> {
        let plan = Plan::new(options)?;
        let (listeners, port) = bind_http(&plan.addresses())?;
        let (udp, tcp, dns_address) = bind_dns()?;
        let site = Arc::new(Site::new(SimResponses::new(plan, port)));
        let dns_queries = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sockets = {
            let _inside = runtime.enter();
            Sockets {
                http: listeners.into_iter().map(tokio::net::TcpListener::from_std).collect::<io::Result<_>>()?,
                udp: tokio::net::UdpSocket::from_std(udp)?,
                tcp: tokio::net::TcpListener::from_std(tcp)?,
            }
        };
        let (served, queries) = (site.clone(), dns_queries.clone());
        let thread = std::thread::Builder::new()
            .name("simweb".to_owned())
            .spawn(move || runtime.block_on(serve(served, queries, sockets, stopped)))?;
        Ok(SimWeb { site, expected: OnceLock::new(), dns_address, dns_queries, stop: Some(stop), thread: Some(thread) })
    }

    /// The port of all hosts.
    pub fn http_port(&self) -> u16 {
        self.site.answers.port
    }

    /// Returns the address at which the DNS server listens, by UDP and TCP.
    pub fn dns_address(&self) -> SocketAddr {
        self.dns_address
    }

    /// Returns the number of DNS queries so far.
    pub fn dns_queries(&self) -> u64 {
        self.dns_queries.load(Ordering::Relaxed)
    }

    /// URLs from which every URL that can be reached is reached, if every host may be visited.
    pub fn seeds(&self) -> Vec<String> {
        let SimResponses { plan, port, .. } = &self.site.answers;
        plan.seeds().iter().map(|&host| names::address(plan, *port, Target::Url(host, 0))).collect()
    }

    /// The names and addresses of all hosts that resolve.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, Ipv4Addr)> {
        self.site.answers.plan.hosts.iter().map(|host| (host.name.as_str(), host.address))
    }

    /// The least configuration that crawls this web, as fast as it answers.
    pub fn config_toml(&self) -> String {
        self.config_with("delay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\ngive_up = \"1s\"\n")
    }

    /// The least configuration that crawls this web with these lines as the section `[politeness]`, which is the last
    /// one. No page of the web names an icon, and no server has one.
    pub fn config_with(&self, politeness: &str) -> String {
        format!(
            "[network]\nallow = [\"127.0.0.0/8\"]\n\n[dns]\nnameservers = [\"{}\"]\n\n[scope]\nmode = \"any\"\n\
             favicon = false\n\n[politeness]\n{politeness}",
            self.dns_address
        )
    }

    /// Returns what a right crawl ends with; where walls end, one that is over before. Computed when first asked for.
    pub fn expected(&self) -> &Expected {
        self.expected.get_or_init(|| expected::walk(&self.site.answers))
    }

    /// Returns what a right crawl ends with that goes on until the walls have ended which end: refused pages have their
    /// content, and what only they name is there too.
    pub fn expected_after_walls(&self) -> Expected {
        expected::walk_after_walls(&self.site.answers)
    }

    /// Returns what a right crawl ends with whose scope is these registrable domains, with at most `requisite_hops`
    /// embeds in a row to what is elsewhere. It begins with [`SimWeb::seeds_in`]. The pages must have no varied markup:
    /// how far from a page something is that ordinary pages embed depends on which of them is fetched first.
    pub fn expected_in(&self, domains: &[&str], requisite_hops: usize) -> Expected {
        debug_assert!(!self.site.answers.plan.options.varied_markup);
        expected::walk_in(&self.site.answers, domains, requisite_hops)
    }

    /// The seeds in these registrable domains.
    pub fn seeds_in(&self, domains: &[&str]) -> Vec<String> {
        let SimResponses { plan, port, .. } = &self.site.answers;
        let roots = plan.seeds().iter().copied().filter(|&host| expected::lies_in(domains, &plan.host(host).name));
        roots.map(|host| names::address(plan, *port, Target::Url(host, 0))).collect()
    }

    /// Every request served so far, in the order in which they came.
    pub fn log(&self) -> Vec<Request> {
        self.site.log.all()
    }

    /// The requests that were finished after the first `count`, in the order in which they were: for those who follow
    /// the log, without a copy of all of it.
    pub fn log_after(&self, count: usize) -> Vec<Request> {
        self.site.log.after(count)
    }

    /// The time by the clock of the log: microseconds since the web started.
    pub fn now_us(&self) -> u64 {
        self.site.log.now_us()
    }

    /// The SHA-1 digest of the body that a page or a sitemap has at `now`; of what pages embed from elsewhere none.
    pub fn digest_at(&self, url: &str, now: Time) -> Option<[u8; 20]> {
        self.site.answers.digest_at(url, now)
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        self.site.log.clear();
    }
}

impl Drop for SimWeb {
    fn drop(&mut self) {
        // The thread may be gone already; then nobody needs the message.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            // A panic of the servers has shown in the test that asked them; a second one here would hide it.
            let _ = thread.join();
        }
    }
}

struct Sockets {
    http: Vec<tokio::net::TcpListener>,
    udp: tokio::net::UdpSocket,
    tcp: tokio::net::TcpListener,
}

async fn serve(site: Arc<Site>, queries: Arc<AtomicU64>, sockets: Sockets, stopped: oneshot::Receiver<()>) {
    let mut server = NameServer::start(site.clone(), queries, sockets.udp);
    server.listen(sockets.tcp);
    for listener in sockets.http {
        tokio::spawn(http::listen(site.clone(), listener));
    }
    // The sender is dropped or says so: either way the web ends, and its tasks with the runtime.
    let _ = stopped.await;
}

/// Listeners on one port of all these addresses, of which the first is 127.0.0.1.
fn bind_http(addresses: &[Ipv4Addr]) -> io::Result<(Vec<TcpListener>, u16)> {
    retry_ports(|| {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = first.local_addr()?.port();
        first.set_nonblocking(true)?;
        let mut listeners = vec![first];
        for &address in addresses.iter().skip(1) {
            let listener = TcpListener::bind((address, port))?;
            listener.set_nonblocking(true)?;
            listeners.push(listener);
        }
        Ok((listeners, port))
    })
}

fn bind_dns() -> io::Result<(UdpSocket, TcpListener, SocketAddr)> {
    retry_ports(|| {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = udp.local_addr()?;
        let tcp = TcpListener::bind(address)?;
        udp.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        Ok((udp, tcp, address))
    })
}

fn retry_ports<T>(mut bind: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut result = bind();
    for _ in 1..PORT_ATTEMPTS {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => result = bind(),
            _ => break,
        }
    }
    result
}

//! Control of a running crawl by a local socket in its directory (`crawler ctl`).
//!
//! ```text
//! client ──line──► control thread: bounds, parses, reads files ──Order──► engine thread, between two events
//!        ◄─line──                                             ◄──Reply──
//! ```
//! A crawl of several shards has an engine thread for each, and an order goes to all of them; seeds go to the thread
//! that numbers them. What comes over the socket is hostile until it is parsed: lines, connections and times are
//! bounded, and the engine's thread never reads or writes it. An order becomes an [`Event`](crate::engine::Event), or a
//! question that is answered between two events. Its answer says whether it is done; what has to survive a crash is
//! answered when it is durable. Nothing of it is needed to crawl: where the socket cannot be made, the crawl goes on,
//! and says why nobody can talk to it.

mod answer;
mod node;
mod orders;
mod reload;
mod server;
pub(crate) mod socket;
pub(crate) mod wire;

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use tokio::sync::oneshot;

use super::CrawlRequest;
use crate::record::Live;
use crate::record::layout;
pub(super) use node::{EngineOrders, NodeOrders};
pub(super) use orders::{Orders, SeedsOrder};
use reload::Reloader;
pub(super) use server::ControlHandle;
use server::Recipients;

/// Commands that wait for the engine; further ones are asked to come again.
const ORDERS_WAITING: usize = 32;

/// The control thread, for as long as a crawl can be talked to.
pub(super) struct Control {
    running: Option<Running>,
}

struct Running {
    dir: PathBuf,
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Control {
    /// Listens for commands to the crawl of `request`, whose directory this process has locked, and which has that many
    /// `engines`.
    pub(super) fn start(request: &CrawlRequest, engines: usize) -> (Control, Incoming) {
        let (to_engines, orders): (Vec<_>, Vec<_>) = (0..engines).map(|_| bounded(ORDERS_WAITING)).unzip();
        let (seeds_in, seeds) = bounded(ORDERS_WAITING);
        let to = Recipients { engines: to_engines, seeds: (engines > 1).then_some(seeds_in), is_node: false };
        let (control, control_handle) = Control::open(request, to);
        let incoming = Incoming { orders: orders.into_iter().map(Orders::new).collect(), seeds, control_handle };
        (control, incoming)
    }

    /// The same for a node of a crawl on many machines, which has other engines from time to time.
    pub(super) fn start_node(request: &CrawlRequest) -> (Control, NodeOrders, ControlHandle) {
        let (to_node, orders) = bounded(ORDERS_WAITING);
        let (control, control_handle) =
            Control::open(request, Recipients { engines: vec![to_node], seeds: None, is_node: true });
        (control, NodeOrders::new(orders), control_handle)
    }

    fn open(request: &CrawlRequest, to: Recipients) -> (Control, ControlHandle) {
        let control_handle = ControlHandle::new(to, Reloader::new(request), request.dirs());
        let running = Control::listen(request, control_handle.clone()).map_err(|error| {
            let path = request.dir.join(layout::SOCKET);
            tracing::warn!("this crawl cannot be controlled by crawler ctl: {}: {error}", path.display());
        });
        (Control { running: running.ok() }, control_handle)
    }

    fn listen(request: &CrawlRequest, control_handle: ControlHandle) -> std::io::Result<Running> {
        let listener = socket::bind(&request.dir)?;
        let (end, ended) = oneshot::channel();
        let thread = server::start(listener, control_handle, ended).inspect_err(|_| socket::remove(&request.dir))?;
        Ok(Running { dir: request.dir.clone(), end, thread })
    }
}

/// The ends at which commands arrive.
pub(super) struct Incoming {
    /// Orders for each engine.
    pub orders: Vec<Orders>,
    /// Seeds for a crawl with more than one.
    pub seeds: Receiver<SeedsOrder>,
    /// The handle by which others of this process give commands. Without any, and without the socket, no command can
    /// come.
    pub control_handle: ControlHandle,
}

impl Drop for Control {
    fn drop(&mut self) {
        let Some(Running { dir, end, thread }) = self.running.take() else { return };
        // anyone who comes now finds no crawl; anyone who is here already gets the answer
        socket::remove(&dir);
        let _ = end.send(());
        if thread.join().is_err() {
            tracing::warn!("the control thread panicked");
        }
    }
}

/// Sends `command` to the crawl in `dir` and waits for its answer.
pub fn ask(dir: &Path, command: &wire::Command) -> Result<wire::Reply, wire::AskError> {
    wire::ask(dir, command, wire::PATIENCE)
}

/// The same for a command to the crawl in `dir` whose answer is waited for no longer than `patience`, also where it
/// waits for the disk.
pub(super) fn ask_within(
    dir: &Path,
    command: &wire::Command,
    patience: Duration,
) -> Result<wire::Reply, wire::AskError> {
    wire::ask_within(dir, command, patience, Some(patience))
}

/// A crawl that runs gives its figures within this time, or is shown by its last checkpoint.
pub(crate) const LIVE_PATIENCE: Duration = Duration::from_secs(5);

/// Returns the state of the crawl in `dir` at this moment, if it answers within `patience`.
pub fn live(dir: &Path, patience: Duration) -> Result<Live, wire::AskError> {
    let reply = wire::ask(dir, &wire::Command::Status {}, patience)?;
    reply.status.map(|live| *live).ok_or_else(|| wire::AskError::NoAnswer(dir.to_owned()))
}

//! The control thread: reads a line of each connection, checks it, passes it on, and writes the answer.
//!
//! It has its own thread and runtime, so that neither the engine nor the network waits for anyone who is at the other
//! end. A connection that says too much, too slowly, or nothing, costs one of a few places for a few seconds, and gives
//! way to a new one; one whose command has come stays until it is answered.

use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use super::answer::Answer;
use super::node;
use super::orders::{Action, Order, SeedsOrder};
use super::reload::Reloader;
use super::wire::{COMMAND_BYTES_MAX, Command, Refused, Reply};
use crate::container::retention::list::{Act, ForgottenList};
use crate::crawl::sizes::measure_all;
use crate::disk::{self, Disk};
use crate::record::layout;
use crate::server::connections::{ConnectionHandle, Connections};
use crate::text::escape::Escaped;
use crate::web::seeds::{Seed, parse_seeds};

/// Connections at a time; the oldest without a command makes room, and with none of those others wait at the door.
const CONNECTIONS_MAX: usize = 16;
/// A command has to have come, and an answer has to be taken, within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time that answers have to get away after the crawl has ended.
const GRACE: Duration = Duration::from_secs(1);
/// Time after which another connection is tried again, where there was no file for it.
const PAUSE: Duration = Duration::from_millis(200);

/// Hosts that are shown of a shard, at most.
const HOSTS_MAX: usize = 1_000;

/// The engines and threads that carry commands out.
pub(super) struct Recipients {
    /// All engines of the crawl.
    pub engines: Vec<Sender<Order>>,
    /// Taker of seeds, where it is not the one engine.
    pub seeds: Option<Sender<SeedsOrder>>,
    /// True if they belong to a node of a crawl on many machines.
    pub is_node: bool,
}

/// A handle by which other threads of this process give the engines commands, as the connections of the socket do.
#[derive(Clone)]
pub(in crate::crawl) struct ControlHandle(Arc<Shared>);

/// The state that connections share.
struct Shared {
    to: Recipients,
    /// Directories of all shards.
    dirs: Vec<PathBuf>,
    reloader: Mutex<Reloader>,
    /// The address of the crawl's console, where it has one.
    console: OnceLock<String>,
}

impl ControlHandle {
    /// Makes the handle by which the engines of the crawl get commands; its shards are in `dirs`.
    pub(super) fn new(to: Recipients, reloader: Reloader, dirs: Vec<PathBuf>) -> ControlHandle {
        ControlHandle(Arc::new(Shared { to, dirs, reloader: Mutex::new(reloader), console: OnceLock::new() }))
    }

    /// Notes that the crawl has a console at this address, which has the token for orders in it.
    pub(crate) fn has_console(&self, address: String) {
        let _ = self.0.console.set(address);
    }

    /// Gives `command`, and waits no longer than `patience` for the reply.
    pub(crate) async fn ask(&self, command: Command, patience: Duration) -> Reply {
        let late =
            |_| Reply::refused("no answer in time; an order that waits for a checkpoint is carried out all the same");
        timeout(patience, carry_out(command, &self.0)).await.unwrap_or_else(late)
    }
}

/// Starts the thread, which ends when `ended` says so.
pub(super) fn start(
    listener: StdListener,
    ControlHandle(shared): ControlHandle,
    ended: oneshot::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    thread::Builder::new().name("control".into()).spawn(move || {
        runtime.block_on(async move {
            match UnixListener::from_std(listener) {
                Ok(listener) => serve(listener, shared, ended).await,
                Err(error) => tracing::warn!("this crawl cannot be controlled by crawler ctl: {error}"),
            }
        });
    })
}

async fn serve(listener: UnixListener, shared: Arc<Shared>, mut ended: oneshot::Receiver<()>) {
    let mut connections = Connections::new(CONNECTIONS_MAX);
    loop {
        let has_place = connections.has_place();
        tokio::select! {
            _ = &mut ended => break,
            accepted = listener.accept(), if has_place => match accepted {
                Ok((stream, _)) => connections.take_in(|place| converse(stream, shared.clone(), place)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            () = connections.end_of_one() => {}
        }
    }
    drop((listener, shared));
    let _ = timeout(GRACE, connections.end_of_all()).await;
}

/// One command and its answer.
async fn converse(stream: UnixStream, shared: Arc<Shared>, place: ConnectionHandle) {
    let who = match stream.peer_cred() {
        Ok(peer) if is_allowed(peer.uid()) => peer.pid().map_or_else(String::new, |pid| format!(" (process {pid})")),
        _ => return tracing::warn!("ctl: the connection of another user was refused"),
    };
    let mut stream = BufReader::new(stream);
    let Ok(read) = timeout(PATIENCE, read_command(&mut stream)).await else {
        return tracing::debug!("ctl: no command received{who}");
    };
    place.stay();
    let reply = match read {
        None => return,
        Some(Err(why)) => {
            tracing::warn!("ctl: refused{who}: {why}");
            Reply::refused(why)
        }
        Some(Ok(command)) => {
            let name = command.name();
            tracing::debug!("ctl {name}{who}");
            let reply = carry_out(command, &shared).await;
            if !reply.ok {
                tracing::warn!("ctl {name}{who}: refused: {}", Escaped(&reply.message));
            } else if !reply.message.is_empty() {
                tracing::info!("ctl {name}{who}: {}", reply.message);
            }
            reply
        }
    };
    let mut line = serde_json::to_vec(&reply).expect("a reply consists of plain data");
    line.push(b'\n');
    let _ = timeout(PATIENCE, async {
        stream.get_mut().write_all(&line).await?;
        stream.get_mut().shutdown().await
    })
    .await;
}

/// The user of this process, and root, who can do everything anyhow.
fn is_allowed(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// The command of a connection; nothing where it was closed without one.
async fn read_command(stream: &mut BufReader<UnixStream>) -> Option<Result<Command, String>> {
    let mut line = Vec::new();
    let read = stream.take(COMMAND_BYTES_MAX as u64).read_until(b'\n', &mut line).await;
    if read.is_err() || line.is_empty() {
        return None;
    }
    if line.last() != Some(&b'\n') {
        let is_long = line.len() >= COMMAND_BYTES_MAX;
        let why =
            if is_long { format!("a line of more than {COMMAND_BYTES_MAX} bytes") } else { "half a line".to_owned() };
        return Some(Err(why));
    }
    Some(serde_json::from_slice(&line).map_err(|error| format!("no command: {}", Escaped(&error.to_string()))))
}

async fn carry_out(command: Command, shared: &Shared) -> Reply {
    if let Some(why) = node::refusal(&command).filter(|_| shared.to.is_node) {
        return Reply::refused(why);
    }
    let action = match command {
        Command::Pause {} => Action::Pause,
        Command::Resume {} => Action::Resume,
        Command::Checkpoint {} => Action::Checkpoint,
        Command::Stop {} => Action::Stop,
        Command::AddSeeds { seeds } => match parse(&seeds) {
            (seeds, refused) if seeds.is_empty() => return no_seed(refused),
            (seeds, refused) => match &shared.to.seeds {
                Some(to) => return add_seeds(seeds, refused, to).await,
                None => Action::Seeds(seeds, refused),
            },
        },
        Command::Hosts { limit } => Action::Hosts(limit.min(HOSTS_MAX)),
        Command::Status {} => return status(shared).await,
        Command::Forget { acts } => match forget(&acts, &shared.dirs) {
            Ok(new) => Action::Forget(new),
            Err(error) => return Reply::refused(format!("the list of what is forgotten: {error}")),
        },
        Command::Reload {} => return reload(shared).await,
        Command::Console {} => return console(shared),
    };
    order(action, &shared.to.engines).await
}

fn console(shared: &Shared) -> Reply {
    match shared.console.get() {
        Some(address) => Reply { console: Some(address.clone()), ..Reply::done("") },
        None => Reply::refused("this crawl has no console: start it with --console, or run crawler console"),
    }
}

/// Takes `acts` down, durably, in the list of every shard; says how many are new.
fn forget(acts: &[Act], dirs: &[PathBuf]) -> disk::Result<usize> {
    let (disk, mut new) = (Disk::real(), 0);
    for dir in dirs {
        let pages = dir.join(layout::PAGES);
        new = new.max(ForgottenList::read(&disk, &pages)?.add(&disk, &pages, acts)?);
    }
    Ok(new)
}

/// Lets every engine carry out `action`. All of them get actions in the same order, as nothing comes between.
async fn order(action: Action, engines: &[Sender<Order>]) -> Reply {
    let (asked, answer) = oneshot::channel();
    for (engine, reply) in engines.iter().zip(Answer::of_engines(engines.len(), asked)) {
        match engine.try_send(Order { action: action.clone(), reply }) {
            Ok(()) => {}
            Err(TrySendError::Full(Order { reply, .. })) => {
                reply.send(Reply::refused("too many commands are waiting; try again"));
            }
            Err(TrySendError::Disconnected(Order { reply, .. })) => reply.send(Reply::refused("the crawl has ended")),
        }
    }
    answered(answer).await
}

async fn answered(answer: oneshot::Receiver<Reply>) -> Reply {
    answer.await.unwrap_or_else(|_| Reply::refused("the crawl ended before the command was done"))
}

/// Hands over seeds that do not belong to a single engine.
async fn add_seeds(seeds: Vec<Seed>, refused: Vec<Refused>, to: &Sender<SeedsOrder>) -> Reply {
    let (reply, answer) = oneshot::channel();
    match to.try_send(SeedsOrder { seeds, refused, reply }) {
        Ok(()) => answered(answer).await,
        Err(TrySendError::Full(_)) => Reply::refused("too many commands are waiting; try again"),
        Err(TrySendError::Disconnected(_)) => Reply::refused("the crawl has ended"),
    }
}

/// Returns the engine's report, with the bytes on disk, which it does not count.
async fn status(shared: &Shared) -> Reply {
    let mut reply = order(Action::Status, &shared.to.engines).await;
    if let Some(live) = &mut reply.status {
        measure_all(&mut live.figures.stores, &shared.dirs);
    }
    reply
}

/// One at a time: changes are reported against what was in effect before.
async fn reload(shared: &Shared) -> Reply {
    let mut reloader = shared.reloader.lock().await;
    let reload = match reloader.read() {
        Ok(reload) => reload,
        Err(why) => return Reply::refused(format!("nothing was changed: {why}")),
    };
    let new = reload.reconfiguration.clone();
    let reply = order(Action::Reconfigure(new), &shared.to.engines).await;
    if !reply.ok {
        return reply;
    }
    let settings = reloader.took_effect(reload);
    let message = match (settings.changed.len(), settings.refused.len()) {
        (0, 0) => "nothing has changed".to_owned(),
        (changed, 0) => format!("settings changed: {changed}"),
        (changed, refused) => format!("settings changed: {changed}; not changed: {refused}"),
    };
    Reply { settings: Some(settings), ..Reply::done(message) }
}

fn no_seed(refused: Vec<Refused>) -> Reply {
    let seeds = super::wire::SeedsTaken { refused, ..Default::default() };
    Reply { seeds: Some(seeds), ..Reply::refused("it has no seed") }
}

/// Each text is read as one line of a seeds file.
fn parse(texts: &[String]) -> (Vec<Seed>, Vec<Refused>) {
    let (mut seeds, mut refused) = (Vec::new(), Vec::new());
    for text in texts {
        if text.contains('\n') {
            let seed = Escaped(text.lines().next().unwrap_or_default()).to_string();
            refused.push(Refused { seed, why: "more than one line".to_owned() });
            continue;
        }
        let (found, problems) = parse_seeds(text.as_bytes());
        seeds.extend(found);
        refused.extend(problems.first.into_iter().map(|problem| Refused { seed: problem.text, why: problem.why }));
    }
    (seeds, refused)
}

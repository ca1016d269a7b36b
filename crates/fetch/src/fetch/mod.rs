//! The fetch executor: makes the engine's requests on tokio, with reqwest and hickory.
//!
//! It holds no crawl state: a job comes with its URL and its vetted addresses, and leaves with an answer for the
//! process pool or a failure for the engine. Redirects are not followed and bodies are not decoded here. What it
//! promises: no connection to an address that the guard refuses, whatever names, literals or redirects say; no request
//! that outlives `timeout_total`, no head that takes longer than `timeout_head`, no body beyond `body_max` or slower
//! than `rate_min`; no lookup that outlives `dns_timeout`; no more idle connections than `idle_max`.

mod body;
mod client;
mod failure;
mod generations;
mod head;
mod idle;
mod names;
mod permission;
mod protocols;
mod proxies;
mod request;
mod resolver;
mod strikes;
mod tls;
mod transfer;
mod verified;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::clock::Clock;
use crate::contract::{Addressed, FetchJob, Fetched, Reply, ReplyTo, RequestSettings, ResolveJob};
use crate::web::address::AddressGuard;
use crate::web::name_server::NameServer;
use body::Bodies;
pub use body::large_bodies;
use idle::IdlePlaces;
pub use permission::Permission;
use protocols::ProtocolMemory;
use proxies::ClientPool;
use resolver::GuardedResolver;
use rustls::pki_types::CertificateDer;

/// Bodies up to this size count on the worker's own share of memory; longer ones are on the disk
/// while they come.
pub const SMALL_BODY_BYTES: usize = 256 << 10;

/// Pause before the next attempt, if no file was left for a connection.
const FILES_PAUSE: Duration = Duration::from_millis(200);
/// Threads that write such bodies, and read them again.
const SPOOL_THREADS: usize = 4;

/// Network threads: a request costs a third of what its answer costs to process, which every core has a thread for.
/// Where one is enough, none is woken for what another one does anyway.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(4))
}

/// Options of making requests.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Settings of requests that have no others.
    pub usual: Arc<RequestSettings>,
    /// Time for name, connection and TLS together.
    pub timeout_connect: Duration,
    /// Bytes a second below which a body is given up.
    pub rate_min: u64,
    /// Bytes of the longest body that any request reads.
    pub body_max: usize,
    /// Directory of large bodies while they come, in files without names.
    pub spool_dir: PathBuf,
    /// Bytes of all of them there.
    pub spool_max: usize,
    /// True if HTTP/2 is offered.
    pub http2: bool,
    /// Connections that are kept open to a host.
    pub connections_per_host: usize,
    /// Connections without a request that are kept open, over all hosts.
    pub idle_max: usize,
    /// Root certificates that are trusted beside Mozilla's, for servers, proxies and name servers.
    pub roots: Vec<CertificateDer<'static>>,
    /// Name servers; empty for the name servers of the system.
    pub nameservers: Vec<NameServer>,
    /// Time for a lookup, all name servers together.
    pub dns_timeout: Duration,
    /// Bounds of the time for which an answer of a name server holds.
    pub ttl: (Duration, Duration),
    /// Longest time for which a name that does not exist is not asked for again.
    pub negative_ttl: Duration,
    /// The right to make requests, where other machines may have it.
    pub lease: Permission,
}

/// Reason for which the executor cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// reqwest refused the options.
    #[error("cannot set up the HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// rustls refused the options.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// An additional root certificate is none.
    #[error("fetch.ca_file holds a certificate that cannot be a root: {0}")]
    Root(rustls::Error),
    /// hickory refused the options, or the system names no name server.
    #[error("cannot set up DNS: {0}; set dns.nameservers in the configuration")]
    Dns(String),
    /// No runtime.
    #[error("cannot start the network threads: {0}")]
    Runtime(#[from] std::io::Error),
}

/// An answer with the place that its body has in the memory for large ones.
#[derive(Debug)]
pub struct Arrived {
    /// The answer: not in the queue itself, which has room for one of every request in progress.
    pub fetched: Box<Fetched>,
    /// The engine that asked.
    pub reply: ReplyTo,
    /// Its place, to be kept as long as the body or the records that are made of it are in memory.
    pub place: Option<OwnedSemaphorePermit>,
}

/// The running executor.
#[derive(Debug)]
pub struct Fetcher {
    runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
}

/// The things that every request needs.
struct Shared {
    clients: ClientPool,
    protocols: ProtocolMemory,
    idle: IdlePlaces,
    resolver: GuardedResolver,
    guard: AddressGuard,
    options: FetchOptions,
    clock: Arc<dyn Clock>,
    bodies: Bodies,
    answers: crossbeam_channel::Sender<Arrived>,
    /// The operator was warned that there are too few files.
    told_files: AtomicBool,
}

impl Shared {
    /// The operator hears once that requests wait for files.
    fn tell_out_of_files(&self, error: &reqwest::Error) {
        if !self.told_files.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "no file descriptor is free for a connection, so requests wait for others to end: raise the limit of \
                 open files (ulimit -n), or lower fetch.workers and fetch.slow_workers ({})",
                failure::describe(error)
            );
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Starts the executor. Answers go to `answers`, everything else to the address of the job; both must have room for
    /// a message of every request that may be in progress, so that no network thread ever waits.
    pub fn start(
        options: FetchOptions,
        guard: AddressGuard,
        clock: Arc<dyn Clock>,
        answers: crossbeam_channel::Sender<Arrived>,
    ) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads())
            .max_blocking_threads(SPOOL_THREADS)
            .thread_name("fetch")
            .enable_io()
            .enable_time()
            .build()?;
        let resolver = {
            let _inside = runtime.enter();
            GuardedResolver::new(&options, guard.clone())?
        };
        let clients = ClientPool::new(&options, &resolver)?;
        let idle = IdlePlaces::new((options.idle_max / options.connections_per_host.max(1)).max(1));
        let bodies = Bodies::new(&options);
        let protocols = ProtocolMemory::default();
        let shared = Shared {
            clients,
            protocols,
            idle,
            resolver,
            guard,
            options,
            clock,
            bodies,
            answers,
            told_files: AtomicBool::new(false),
        };
        Ok(Fetcher { runtime, shared: Arc::new(shared) })
    }

    /// A handle for the requests of an engine.
    pub fn handle(&self) -> FetchHandle {
        FetchHandle {
            runtime: self.runtime.handle().clone(),
            shared: self.shared.clone(),
            over: watch::Sender::new(()),
        }
    }

    /// Resolves the name of `job`.
    pub fn resolve(&self, Addressed { job, reply }: Addressed<ResolveJob>) {
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            let answer = shared.resolver.lookup(&job.name, &*shared.clock).await;
            reply.send(Ok(Reply::Resolved(job.host, job.name, answer)));
        });
    }

    /// Ends all requests at once.
    pub fn stop(self) {
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// The requests of one engine. When it is dropped they end, with their connections: the shard of an engine that has
/// ended may be another machine's by then, which asks the same hosts.
#[derive(Debug)]
pub struct FetchHandle {
    runtime: tokio::runtime::Handle,
    shared: Arc<Shared>,
    /// Each request listens to it.
    over: watch::Sender<()>,
}

impl FetchHandle {
    /// Makes the request of `job`.
    pub fn fetch(&self, job: Addressed<FetchJob>) {
        let (shared, mut over) = (self.shared.clone(), self.over.subscribe());
        self.runtime.spawn(async move {
            tokio::select! {
                biased;
                _ = over.changed() => {}
                () = request::run(shared, job) => {}
            }
        });
    }
}

impl Drop for FetchHandle {
    fn drop(&mut self) {
        self.over.send_replace(());
        // until the last of them is gone
        self.runtime.block_on(self.over.closed());
    }
}

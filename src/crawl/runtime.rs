//! The parts that a process has once, however many engines it has: clock, threads with the signals, display, metrics
//! endpoint, console, control socket.
//!
//! It knows no crawl directory from the inside, and an engine only by its port. What a shard has once is in
//! [`super::directory`].

use std::sync::Arc;

use super::catalog::Catalog;
use super::console::OwnConsole;
use super::control::{Control, Incoming, NodeOrders};
use super::memory::workers_most;
use super::metrics::Endpoint;
use super::sinks::{self, Sinks};
use super::threads::{DurableCheckpoints, Port, Threads};
use super::{CrawlError, CrawlRequest, options, rendering};
use crate::clock::Clock;
use crate::disk::Disk;
use crate::fetch::{FetchOptions, Permission};
use crate::process::ProcessOptions;
use crate::record::Finish;
use crate::report::Progress;

/// It, from start to end.
pub(super) struct Runtime {
    pub clock: Arc<dyn Clock>,
    pub display: Progress,
    pub endpoint: Endpoint,
    pub threads: Threads,
    console: OwnConsole,
    control: Option<Control>,
    sinks: Option<Sinks>,
}

/// Limits of the network threads: connections that stay open without a request, and the right to make requests.
pub(super) struct Network {
    pub idle_max: usize,
    pub lease: Permission,
}

impl Runtime {
    /// Starts it by the settings of `request`, for an engine of each shard at most.
    pub(crate) fn start(
        request: &CrawlRequest,
        clock: Arc<dyn Clock>,
        Network { idle_max, lease }: Network,
        process: &ProcessOptions,
    ) -> Result<Runtime, CrawlError> {
        let (config, dir) = (&request.config, &request.dir);
        let node = if config.cluster.registry.is_empty() { "" } else { config.cluster.name.as_str() };
        let endpoint = Endpoint::open(&config.report.metrics, &Disk::real(), dir, node)?;
        let console = OwnConsole::open(request, &Disk::real())?;
        let sinks = sinks::beside(config, dir)?;
        endpoint.count(sinks.as_ref().map(Sinks::counters).unwrap_or_default());
        let display = request.progress();
        let fetch = FetchOptions { idle_max, lease, ..options::fetch(config, dir)? };
        let workers = workers_most(config) + config.fetch.slow_workers;
        let shards = config.crawl.shards;
        let browser = rendering::browser(config)?;
        let render = browser.map(|program| rendering::executor(config, program, process.clone()));
        let durable = DurableCheckpoints { catalog: Catalog::open(dir)?, are_shipped: options::ships(config) };
        let threads = Threads::start(shards, workers, fetch, process, render, clock.clone(), durable)?;
        Ok(Runtime { clock, display, endpoint, threads, console, control: None, sinks })
    }

    /// The ports of the engines of all shards, in their order; signals are for all of them.
    pub(crate) fn ports(&self, request: &CrawlRequest) -> Result<Vec<Port>, CrawlError> {
        let ports: Vec<Port> = (0..request.config.crawl.shards).map(|shard| self.threads.port(shard)).collect();
        self.threads.listen(ports.iter().map(|port| port.executors.reply().clone()).collect())?;
        Ok(ports)
    }

    /// Takes commands of the operator in, which the engines of `request` carry out.
    pub(crate) fn listen(&mut self, request: &CrawlRequest) -> Incoming {
        let (control, incoming) = Control::start(request, request.config.crawl.shards);
        self.control = Some(control);
        self.console.connect(&incoming.control_handle);
        incoming
    }

    /// The same for a node of a crawl on many machines.
    pub(crate) fn listen_as_node(&mut self, request: &CrawlRequest) -> NodeOrders {
        let (control, orders, control_handle) = Control::start_node(request);
        self.control = Some(control);
        self.console.connect(&control_handle);
        orders
    }

    /// Has the sinks of the crawl, which ended as `finish` says, get the rest of its documents; only what is on its way
    /// where the operator stopped it.
    pub(crate) fn end_sinks(&mut self, finish: Finish) {
        let Some(sinks) = self.sinks.take() else { return };
        match finish {
            Finish::StoppedBySignal | Finish::ForcedBySignal | Finish::StoppedByControl | Finish::DiskLow => {
                sinks.stop()
            }
            _ => {
                tracing::info!("the sinks get the rest of the documents");
                sinks.finish(true);
            }
        }
    }

    /// Takes no more commands in.
    pub(crate) fn hang_up(&mut self) {
        self.console.disconnect();
        self.control = None;
    }

    /// Ends all threads. The engines are gone by now.
    pub(crate) fn stop(self) {
        let Runtime { threads, control, .. } = self;
        drop(control);
        threads.stop();
    }
}

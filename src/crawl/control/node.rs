//! Commands to a node of a crawl on many machines: what concerns this node alone is done, and what is for all nodes is
//! refused with the command that does it.
//!
//! The engines of a node come and go. So orders come to the thread that directs them, which knows the present ones.

use crossbeam_channel::{Receiver, Sender, bounded};

use super::ORDERS_WAITING;
use super::orders::{Action, Order, Orders};
use super::wire::{Command, Reply};
use crate::record::Live;

const NO_SHARD: &str = "this node crawls no shard at the moment";

/// The way of orders to an engine of the node.
pub(in crate::crawl) struct EngineOrders(Sender<Order>);

impl EngineOrders {
    /// Makes the way to an engine that begins, which gets the other end.
    pub(in crate::crawl) fn new() -> (EngineOrders, Orders) {
        let (to, orders) = bounded(ORDERS_WAITING);
        (EngineOrders(to), Orders::new(orders))
    }
}

/// Orders that came to the node.
#[derive(Debug)]
pub(in crate::crawl) struct NodeOrders(Receiver<Order>);

impl NodeOrders {
    pub(super) fn new(incoming: Receiver<Order>) -> NodeOrders {
        NodeOrders(incoming)
    }

    /// Carries out what has come, by the `engines` of the moment; `status` is their state. Says whether the node is to
    /// stop.
    pub(in crate::crawl) fn take<'a>(
        &self,
        engines: impl Iterator<Item = &'a EngineOrders>,
        status: impl Fn() -> Option<Live>,
    ) -> bool {
        let (engines, mut stops) = (engines.collect::<Vec<_>>(), false);
        while let Ok(Order { action, reply }) = self.0.try_recv() {
            match action {
                Action::Stop => {
                    stops = true;
                    reply
                        .send(Reply::done("stopping: requests in flight may finish; other nodes take the shards over"));
                }
                Action::Status => reply.send(match status() {
                    Some(live) => Reply { status: Some(Box::new(live)), ..Reply::done("") },
                    None => Reply::refused(NO_SHARD),
                }),
                _ if engines.is_empty() => reply.send(Reply::refused(NO_SHARD)),
                action => {
                    for (EngineOrders(engine), reply) in engines.iter().zip(reply.of_each(engines.len())) {
                        // one that has ended leaves it without an answer, which is one too
                        let _ = engine.try_send(Order { action: action.clone(), reply });
                    }
                }
            }
        }
        stops
    }
}

/// Returns why a node does not do this by itself; `None` where it does.
pub(super) fn refusal(command: &Command) -> Option<&'static str> {
    match command {
        Command::Pause {} | Command::Resume {} => Some(
            "this is a node of a crawl on many machines: crawler cluster pause and resume are for all of them, and \
             crawler cluster drain NODE takes the shards of one away",
        ),
        Command::AddSeeds { .. } => {
            Some("this is a node of a crawl on many machines: seeds are added by crawler cluster add-seeds FILE")
        }
        Command::Forget { .. } => {
            Some("this is a node of a crawl on many machines: nothing is forgotten there while it runs")
        }
        Command::Status {}
        | Command::Hosts { .. }
        | Command::Checkpoint {}
        | Command::Stop {}
        | Command::Reload {}
        | Command::Console {} => None,
    }
}

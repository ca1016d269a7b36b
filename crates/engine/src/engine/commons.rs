//! The things that the engines of a process have in common, apart from its threads.

use std::sync::Arc;

use super::Settings;
use super::allowance::Allowance;
use super::quota::Quota;
use super::requests::{Rates, SlotPool};
use crate::clock::Clock;
use crate::contract::Lease;
use crate::frontier::Ledger;

/// The things that the engines of a process share; an engine alone has them for itself.
#[derive(Clone)]
pub struct Commons {
    /// The requests that may be in progress.
    pub slots: Arc<SlotPool>,
    /// Requests and bytes a second.
    pub rates: Arc<Rates>,
    /// Pages and bytes of the whole crawl, and why it stops.
    pub quota: Arc<Quota>,
    /// The engine's share in these, where other machines have parts of them: of one engine, not of all.
    pub allowance: Option<Arc<Allowance>>,
    /// Turns at addresses and names, where several engines take them.
    pub ledger: Option<Arc<Ledger>>,
    /// The right to make requests, where other machines may have it.
    pub lease: Option<Arc<dyn Lease>>,
}

impl Commons {
    /// The things that engines with these settings share.
    pub fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        Commons {
            slots: Arc::new(SlotPool::new(settings.slots)),
            rates: Arc::new(Rates::new(clock, settings.requests_per_second, settings.bytes_per_second)),
            quota: Arc::default(),
            allowance: None,
            ledger: None,
            lease: None,
        }
    }

    /// The things that the engines of a crawl with several shards share.
    pub fn of_shards(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        Commons { ledger: Some(Arc::default()), ..Commons::new(settings, clock) }
    }
}

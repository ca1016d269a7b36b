//! The node's lease: taken, renewed, and replaced by another one when it was lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::crawl::value;
use super::super::etcd::{EtcdError, Txn};
use super::super::lease::{Lease, Sent};
use super::super::ownership::ClusterError;
use super::super::record::{FiguresRecord, NodeRecord, written};
use super::{REVOKE_WAIT, Shared, lock};

/// A lease is renewed this many times in its length.
const RENEWALS: u32 = 4;
/// Time for which a name is waited for beyond the length of a lease.
const NAME_WAIT: Duration = Duration::from_secs(10);

/// Time between two reports of something that repeats itself.
const TELL: Duration = Duration::from_secs(10);

/// A message that is logged now and then.
#[derive(Default)]
struct Repeated(Option<Instant>);

impl Repeated {
    /// Returns whether it is time for a report. Then the next one is not due for [`TELL`].
    fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|told| told.elapsed() >= TELL);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

/// A lease of this process.
#[derive(Debug)]
pub(super) struct Session {
    pub id: u64,
    pub lease: Arc<Lease>,
}

/// Takes the first lease and the node's name, waiting for both.
pub(super) fn first(shared: &Shared) -> Result<(), ClusterError> {
    let options = &shared.options;
    if let Some(former) = options.former_lease {
        // its process is gone: what it claimed need not wait for the lease to end
        let _ = shared.crawl.etcd.revoke(former, REVOKE_WAIT);
    }
    let until = Instant::now() + options.lease + NAME_WAIT;
    let mut told = Repeated::default();
    loop {
        match begin(shared) {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() >= until || !is_passing(&error) => return Err(error),
            Err(error) if told.is_due() => tracing::info!("waiting to take part: {error}"),
            Err(_) => {}
        }
        shared.crawl.etcd.pause(pause(options.lease))?;
    }
}

fn is_passing(error: &ClusterError) -> bool {
    match error {
        ClusterError::NameTaken { .. } => true,
        ClusterError::Etcd(error) => matches!(error, EtcdError::Unclear(_) | EtcdError::NoLease),
        _ => false,
    }
}

/// Renews the lease until the node ends.
pub(super) fn run(shared: &Shared) {
    let interval = shared.options.lease / RENEWALS;
    let mut told = Repeated::default();
    while !shared.crawl.etcd.is_closed() {
        let current = lock(&shared.session).as_ref().map(|session| (session.id, session.lease.clone()));
        let wait = match current {
            Some((id, lease)) => renew(shared, id, &lease, interval, &mut told),
            None => match begin(shared) {
                Ok(()) => {
                    tracing::info!("a new lease is there");
                    interval
                }
                Err(error) => {
                    fatal(shared, error);
                    pause(shared.options.lease)
                }
            },
        };
        if shared.crawl.etcd.pause(wait).is_err() {
            return;
        }
    }
}

/// Renews once; says when to do it again.
fn renew(shared: &Shared, id: u64, lease: &Lease, interval: Duration, told: &mut Repeated) -> Duration {
    let sent = lease.sending();
    match shared.crawl.etcd.renew(id, interval / 2) {
        Ok(lasts) => {
            let lasts = lasts.min(shared.options.lease);
            // one that does not count was sent before the clocks were found to have stopped
            if lease.renewed(sent, lasts) { interval } else { pause(shared.options.lease) }
        }
        Err(EtcdError::NoLease) => {
            tracing::warn!("the lease is lost: all shards are dropped, and claimed again");
            lease.lose();
            shared.drop_claims();
            *lock(&shared.session) = None;
            Duration::ZERO
        }
        Err(error) => {
            if told.is_due() {
                tracing::warn!("the lease is not renewed: {error}");
            }
            fatal(shared, error.into());
            pause(shared.options.lease)
        }
    }
}

/// A fault after which there is nothing to wait for ends the node.
fn fatal(shared: &Shared, error: ClusterError) {
    match error {
        ClusterError::Etcd(error @ (EtcdError::OtherCluster { .. } | EtcdError::WentBack { .. })) => shared.fail(error),
        error => tracing::debug!("{error}"),
    }
}

/// Takes a lease, and the node's name under it.
fn begin(shared: &Shared) -> Result<(), ClusterError> {
    let options = &shared.options;
    let lease = Lease::new(shared.clocks.clone(), options.margin);
    let sent: Sent = lease.sending();
    let granted = shared.crawl.etcd.grant(options.lease)?;
    let taken = take_name(shared, granted.lease);
    if let Err(error) = taken {
        // it would keep the name from the next try
        let _ = shared.crawl.etcd.revoke(granted.lease, REVOKE_WAIT);
        return Err(error);
    }
    lease.renewed(sent, granted.lasts.min(options.lease));
    lock(&shared.claims).used.clear();
    *lock(&shared.session) = Some(Session { id: granted.lease, lease: Arc::new(lease) });
    Ok(())
}

fn take_name(shared: &Shared, lease: u64) -> Result<(), ClusterError> {
    let key = shared.crawl.keys.node(&shared.options.name);
    let txn = Txn::new().if_created(&key, 0).or_get(&key);
    let done = shared.crawl.etcd.transact(&txn.put_under(&key, &written(&key, &shared.options.record)?, lease))?;
    let found = done.read.first().and_then(Option::as_ref);
    // an earlier sending of the same transaction has taken it
    if done.succeeded || found.is_some_and(|kv| kv.lease == lease) {
        return Ok(());
    }
    let _: Option<NodeRecord> = value(found)?;
    Err(ClusterError::NameTaken { name: shared.options.name.clone() })
}

/// Returns the pause between two tries.
fn pause(lease: Duration) -> Duration {
    (lease / 40).max(Duration::from_millis(50))
}

impl Shared {
    /// The lease under which something can be claimed now.
    pub(super) fn current(&self) -> Result<(u64, Arc<Lease>), ClusterError> {
        let session = lock(&self.session);
        let held = session.as_ref().filter(|session| session.lease.holds());
        held.map(|session| (session.id, session.lease.clone())).ok_or(ClusterError::NoLease)
    }

    pub(crate) fn put_figures(&self, figures: &FiguresRecord) -> Result<(), ClusterError> {
        let (lease, _) = self.current()?;
        let key = self.crawl.keys.figures(&self.options.name);
        let txn = Txn::new().put_under(&key, &written(&key, figures)?, lease);
        self.crawl.etcd.transact(&txn)?;
        Ok(())
    }
}

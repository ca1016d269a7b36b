//! The node's side of limits of the whole crawl: what its shards may have of them is asked for, and given back.
//!
//! ```text
//! engine waits ──► bell ──► thread "quota" ── grant ──► Allowance ──► engine goes on
//! idle head of this claim, nothing done since ── Allowance takes back ──► give back
//! nothing left, all that was granted is committed ──► end of the crawl
//! ```
//! The thread is the only one here that asks the registry for these, so that neither an engine nor the thread that
//! directs waits for it. What makes it exact:
//!
//! - An engine has never more than it was granted. It is granted more when the registry has said so, and less before
//!   the registry is asked.
//! - A shard gives back behind a head that was committed under its own claim, and has done nothing since. So a
//!   directory of an earlier owner, which may hold pages beyond its head, is stale by then, and no replay brings them
//!   back.
//! - A give-back whose answer never came counts as done, until the same one was answered.
//! - A crawl without such limits has none of this.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::cluster::{Claimed, ClusterError, EndRecord, GrantRecord, Ownership, QuotaRecord};
use crate::engine::{Allowance, EngineAddress, Event, Granted, Used};
use crate::exchange::Idle;

/// The thread looks around this often, and asks again where nothing was left.
const TICK: Duration = Duration::from_secs(1);
/// Questions a second of all nodes together, where nothing is left.
const ASKS_PER_SECOND: u32 = 10;

/// The shares of the crawl's limits that the shards of this node have.
pub(super) struct Quotas {
    ownership: Arc<dyn Ownership>,
    /// True for each limit that there is: pages, bytes.
    limited: (bool, bool),
    accounts: Mutex<BTreeMap<u32, Account>>,
    bell: (Sender<()>, Receiver<()>),
    is_over: AtomicBool,
}

/// A shard of this node.
#[derive(Clone)]
struct Account {
    claimed: Arc<Claimed>,
    allowance: Arc<Allowance>,
    reply: EngineAddress,
    /// True if it is known what was granted.
    is_known: bool,
    /// Pages at the last head of this claim, and what was left to do then.
    committed: Option<(u64, Idle)>,
    /// A checkpoint was asked for when it had this many pages.
    checkpoint_asked: Option<u64>,
    /// The grant that it has kept, where the answer to a give-back is missing.
    in_doubt: Option<GrantRecord>,
}

/// The result of one look around.
#[derive(Default)]
struct Round {
    /// True if some shard waits, and the registry has nothing left for it.
    is_out: bool,
}

impl fmt::Debug for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quotas").field("limited", &self.limited).finish_non_exhaustive()
    }
}

impl Quotas {
    /// Makes the shares of a crawl whose limits have this `left`; `None` where it has no limits.
    pub(crate) fn new(ownership: Arc<dyn Ownership>, left: QuotaRecord) -> Option<Arc<Quotas>> {
        let limited = (left.pages.is_some(), left.bytes.is_some());
        let (accounts, bell) = (Mutex::default(), bounded(1));
        let is_over = AtomicBool::new(false);
        (limited != (false, false)).then(|| Arc::new(Quotas { ownership, limited, accounts, bell, is_over }))
    }

    /// Starts the thread.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let quotas = self.clone();
        let started = thread::Builder::new().name("quota".to_owned()).spawn(move || {
            let mut asked = None;
            while !quotas.is_over.load(Ordering::Acquire) {
                quotas.look_around(&mut asked);
                // when somebody rings, or when it is time
                let _ = quotas.bell.1.recv_timeout(TICK);
            }
        });
        started.map(drop)
    }

    /// Ends the thread, once the registry has answered what it was asked last.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.ring();
    }

    /// Returns what the engine of the shard may have from now on: nothing, until it is known what was granted.
    pub(crate) fn open(&self, claimed: &Arc<Claimed>, reply: EngineAddress) -> Arc<Allowance> {
        let bell = self.bell.0.clone();
        // one that is full has rung
        let allowance = Arc::new(Allowance::new(Box::new(move || _ = bell.try_send(()))));
        let account = Account {
            claimed: claimed.clone(),
            allowance: allowance.clone(),
            reply,
            is_known: false,
            committed: None,
            checkpoint_asked: None,
            in_doubt: None,
        };
        self.accounts().insert(claimed.shard, account);
        self.ring();
        allowance
    }

    /// A head of the claim was committed, with this many pages.
    pub(crate) fn committed(&self, claimed: &Claimed, pages: u64, idle: Idle) {
        self.change(claimed, |account| account.committed = Some((pages, idle)));
        self.ring();
    }

    /// The claim is given up. What was granted stays with the shard.
    pub(crate) fn close(&self, claimed: &Claimed) {
        let mut accounts = self.accounts();
        if accounts.get(&claimed.shard).is_some_and(|account| account.claimed.epoch == claimed.epoch) {
            accounts.remove(&claimed.shard);
        }
    }

    fn ring(&self) {
        let _ = self.bell.0.try_send(());
    }

    /// `asked` is when the registry was asked last which had nothing left.
    fn look_around(&self, asked: &mut Option<Instant>) {
        let nodes = u32::try_from(self.ownership.heads().nodes.len()).unwrap_or(u32::MAX);
        let pause = TICK.max(Duration::from_secs(1) * nodes / ASKS_PER_SECOND);
        let may_ask = asked.is_none_or(|asked| asked.elapsed() >= pause);
        let mut round = Round::default();
        let accounts: Vec<Account> = self.accounts().values().cloned().collect();
        for mut account in accounts.into_iter().filter(|account| !account.claimed.hold().is_lost()) {
            if let Err(error) = self.serve(&mut account, may_ask, &mut round) {
                tracing::debug!("limits of shard {} wait: {error}", account.claimed.shard);
            }
            self.change(&account.claimed, |known| {
                // what is committed is reported meanwhile
                *known = Account { committed: known.committed, ..account.clone() };
            });
        }
        if round.is_out {
            *asked = Some(Instant::now());
            if let Err(error) = self.look_for_the_end() {
                tracing::debug!("the end of the crawl waits: {error}");
            }
        }
    }

    /// Does what there is to do for one shard.
    fn serve(&self, account: &mut Account, may_ask: bool, round: &mut Round) -> Result<(), ClusterError> {
        let shard = account.claimed.shard;
        if !account.is_known {
            let granted = self.ownership.granted(shard)?;
            account.is_known = true;
            self.grant(account, granted);
        }
        if let Some(kept) = account.in_doubt {
            self.ownership.give_back(&account.claimed, kept)?;
            account.in_doubt = None;
        }
        let (granted, used) = account.allowance.look();
        if used.waits && granted.permits(used) {
            // it has not looked since it was granted
            account.reply.offer(Event::SlotFree);
            return Ok(());
        }
        // after a recovery the record of a directory may have more than what was dealt out then
        let has_too_much = granted.pages.is_some_and(|pages| used.stored > pages);
        if used.waits || has_too_much {
            if !may_ask {
                return Ok(());
            }
            let more = self.ownership.grant(&account.claimed)?;
            if self.limits(more.in_all) != granted {
                self.grant(account, more.in_all);
                return Ok(());
            }
            round.is_out = true;
            self.want_checkpoint(account, used);
            return Ok(());
        }
        self.give_back(account, granted, used, may_ask)
    }

    /// Gives back what an idle shard has not used.
    fn give_back(
        &self,
        account: &mut Account,
        granted: Granted,
        used: Used,
        may_ask: bool,
    ) -> Result<(), ClusterError> {
        let has_more = |granted: Option<u64>, used| granted.is_some_and(|granted| granted > used);
        if !has_more(granted.pages, used.stored) && !has_more(granted.bytes, used.bytes) {
            return Ok(());
        }
        let Some((pages, idle)) = account.committed else {
            let view = self.ownership.heads();
            let head = view.heads.get(account.claimed.shard as usize).and_then(Option::as_ref);
            // nothing may be left to do since the claim, so that no head would follow
            if head.is_some_and(|head| head.record.idle != Idle::No && head.record.pages == used.stored) {
                self.want_checkpoint(account, Used { stored: used.stored, taken: used.stored, ..used });
            }
            return Ok(());
        };
        // hosts that never answered are asked again and again, as long as nobody else needs the pages
        let is_needed = idle == Idle::Yes || (idle == Idle::Silent && may_ask && self.is_out()?);
        let kept = is_needed.then(|| account.allowance.take_back(pages)).flatten();
        if let Some(kept) = kept {
            let kept = GrantRecord { pages: kept.pages.unwrap_or(0), bytes: kept.bytes.unwrap_or(0) };
            account.in_doubt = Some(kept);
            self.ownership.give_back(&account.claimed, kept)?;
            account.in_doubt = None;
        }
        Ok(())
    }

    fn is_out(&self) -> Result<bool, ClusterError> {
        let left = self.ownership.left()?;
        Ok(left.pages == Some(0) || left.bytes == Some(0))
    }

    fn grant(&self, account: &Account, in_all: GrantRecord) {
        account.allowance.grant(self.limits(in_all));
        // its next look at what it may begin
        account.reply.offer(Event::SlotFree);
    }

    /// Returns what was granted of the limits that there are.
    fn limits(&self, granted: GrantRecord) -> Granted {
        let (pages, bytes) = self.limited;
        Granted { pages: pages.then_some(granted.pages), bytes: bytes.then_some(granted.bytes) }
    }

    /// Asks once for a checkpoint of what the shard has stored, where none has it yet: the end of the crawl waits for
    /// it.
    fn want_checkpoint(&self, account: &mut Account, used: Used) {
        let is_committed = account.committed.is_some_and(|(pages, _)| pages == used.stored);
        if used.taken == used.stored && !is_committed && account.checkpoint_asked != Some(used.stored) {
            account.checkpoint_asked = Some(used.stored);
            account.reply.offer(Event::Checkpoint);
        }
    }

    /// Ends the crawl, where all that its limits permit is committed.
    fn look_for_the_end(&self) -> Result<(), ClusterError> {
        let view = self.ownership.heads();
        if view.end.is_some() {
            return Ok(());
        }
        let heads = view.heads.iter().map(|head| head.as_ref().map(|head| &head.record));
        match self.ownership.dealt()?.finish(heads) {
            Some(finish) => self.ownership.put_end(view.want_at, EndRecord { finish }).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Changes the account of the claim, if it is there.
    fn change(&self, claimed: &Claimed, change: impl FnOnce(&mut Account)) {
        let mut accounts = self.accounts();
        let account = accounts.get_mut(&claimed.shard);
        if let Some(account) = account.filter(|account| account.claimed.epoch == claimed.epoch) {
            change(account);
        }
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeMap<u32, Account>> {
        // a panic elsewhere ends the crawl; the accounts are whole between two statements
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

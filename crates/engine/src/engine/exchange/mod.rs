//! Links between shards, as an engine has them: what goes out, what comes in, and the checkpoints that this takes.
//!
//! A crawl of one shard has none of this. In one of several, an engine owns some registrable domains; what it finds of
//! others goes into a link file ([`outgoing`]), what others find of its own comes in from theirs ([`incoming`]). The
//! rules are those of [`crate::exchange::registry`]:
//!
//! - A link to another shard is in the file that the cut names which also has the page that names it. The file exists
//!   for others when that checkpoint is durable ([`Publish`]).
//! - A link that comes in is admitted, and the position moved behind it, in one event; the next cut has both.
//! - At an opening the scope gets all notes that are not read yet, before anything is replayed or read. Behind a note
//!   no frame of a later commit is admitted before the note is in the scope.
//! - A file goes when every other shard has a committed checkpoint that has read it.
//!
//! A link waits for its sender's checkpoint. So a shard cuts early while another one has free workers and waits for its
//! links, and when it has nothing left to do itself: no more often than such that a twentieth of its time goes into
//! that ([`EARLY_FACTOR`]).

mod incoming;
mod outgoing;
mod state;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::container::foreign_keys;
use crate::disk::{Disk, DiskFile, Result};
use crate::exchange::{Account, Head, HeadAt, Idle, LinkFile, LinkJob, News, Position, Registry, links_dir};
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::record::Finish;
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use incoming::Incoming;
pub use outgoing::Kept;
use outgoing::Outgoing;
pub use state::ExchangeState;

/// An early checkpoint begins when this many times the cost of the last one has passed behind it.
const EARLY_FACTOR: u32 = 20;

/// The things that make an engine the shard of a crawl.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    /// The shard.
    pub shard: Shard,
    /// The registry of commits.
    pub registry: Arc<dyn Registry>,
    /// The directory of the whole crawl, in which the directories of all shards lie.
    pub crawl_dir: PathBuf,
    /// The file system on which those of the others do.
    pub disk: Disk,
}

/// Links out and in.
pub(super) struct Exchange {
    options: ExchangeOptions,
    /// Knowledge of the other shards.
    news: News,
    outgoing: Outgoing,
    incoming: Incoming,
    /// Links that were sent and read.
    account: Account,
    /// True if the links of all archived pages are still to be sent again.
    resends: bool,
    /// True if only hosts are left that never answered, and that for long enough.
    is_silent: bool,
    /// Work that was left to do, as the last cut said.
    said: Idle,
    /// The time when the last checkpoint was durable, and how long it took.
    last: (Time, Duration),
    /// key.dat of other shards, as far as they were needed.
    foreign: HashMap<u32, Arc<DiskFile>>,
}

/// The exchange's part of a cut.
#[derive(Default)]
pub(super) struct ExchangeCut {
    /// Section for the checkpoint's file.
    pub section: Vec<u8>,
    /// Files that are to be synced, and their directory.
    pub sync: Vec<PathBuf>,
    pub sync_dirs: Vec<PathBuf>,
    /// Link files that this cut does not name any more.
    pub superseded: Vec<PathBuf>,
    /// News for the other shards when it is durable.
    pub publish: Option<Publish>,
}

/// Tells the other shards that a checkpoint is durable.
#[derive(Debug)]
pub(super) struct Publish {
    registry: Arc<dyn Registry>,
    shard: u32,
    head: Head,
}

impl Publish {
    /// The shard, and what it says.
    pub(crate) fn head(&self) -> (u32, &Head) {
        (self.shard, &self.head)
    }

    /// Makes the checkpoint count.
    pub(crate) fn run(self) {
        self.registry.commit(self.shard, self.head);
    }
}

impl Exchange {
    /// Opens the links of the shard in `dir` as checkpoint `number` has them.
    pub(crate) fn open(
        options: ExchangeOptions,
        disk: &Disk,
        dir: &Path,
        number: u64,
        state: ExchangeState,
    ) -> Result<Exchange> {
        let ExchangeState { positions, heads, kept, resends, account } = state;
        disk.create_dir_all(&links_dir(dir))?;
        disk.sync_dir(dir)?;
        let shard = options.shard;
        let outgoing = Outgoing::open(disk, dir, shard, number, kept)?;
        let mut incoming = Incoming::new(options.crawl_dir.clone(), shard, options.disk.clone());
        let account = if positions.is_empty() { Account::new(shard.count()) } else { account };
        incoming.go_on(positions, heads);
        Ok(Exchange {
            options,
            news: News::default(),
            outgoing,
            incoming,
            account,
            resends,
            is_silent: false,
            said: Idle::No,
            last: (Time::ZERO, Duration::ZERO),
            foreign: HashMap::new(),
        })
    }

    /// The checkpoint that the shard goes on from counts: the others may read what it names.
    pub(crate) fn publish_opened(&self, number: u64) {
        self.options.registry.open(self.me(), self.opened_head(number));
    }

    /// Returns the head that the others hear of when the shard goes on from checkpoint `number`.
    pub(crate) fn opened_head(&self, number: u64) -> Head {
        self.head(number, Idle::No)
    }

    pub(crate) fn shard(&self) -> Shard {
        self.options.shard
    }

    fn me(&self) -> u32 {
        self.options.shard.index()
    }

    fn head(&self, number: u64, idle: Idle) -> Head {
        let read_to = self.incoming.read_to(&self.news);
        let (positions, outgoing) = (self.incoming.positions().to_vec(), self.outgoing.files());
        Head { number, idle, read_to, positions, outgoing, account: self.account.clone() }
    }

    /// Cuts what goes out and how far was read what comes in, for checkpoint `number`.
    pub fn cut(&mut self, number: u64, idle: Idle, dir: &Path) -> Result<ExchangeCut> {
        let superseded = self.outgoing.release(&self.news, self.me());
        let written = self.outgoing.cut(&mut self.account)?;
        let (positions, heads) = (self.incoming.positions().to_vec(), self.incoming.heads().to_vec());
        let kept = self.outgoing.kept().to_vec();
        let (resends, account) = (self.resends, self.account.clone());
        let section = ExchangeState { positions, heads, kept, resends, account }.to_section();
        self.said = idle;
        let head = self.head(number, idle);
        let publish = Publish { registry: self.options.registry.clone(), shard: self.me(), head };
        let sync_dirs = written.iter().map(|_| links_dir(dir)).collect();
        Ok(ExchangeCut { section, sync: written.into_iter().collect(), sync_dirs, superseded, publish: Some(publish) })
    }

    /// Returns true where the last cut said that nothing is left to do: by this the crawl may have ended.
    pub(crate) fn has_said_that_nothing_is_left(&self) -> bool {
        self.said == Idle::Yes
    }

    /// True if a cut would take nothing along and let no file go.
    pub(crate) fn has_nothing_to_cut(&self) -> bool {
        self.outgoing.is_empty() && !self.outgoing.may_release(&self.news, self.me())
    }

    /// Returns whether a cut would bring others something that they wait for, or the crawl nearer to its end; `idle` is
    /// what is left to do.
    fn wants_cut(&self, idle: Idle) -> bool {
        let me = self.me();
        let mut others = (0..self.options.shard.count()).filter(|&other| other != me);
        let is_awaited = |other| self.outgoing.has_for(other) && self.options.registry.is_hungry(other);
        if !self.outgoing.is_empty() && others.any(is_awaited) {
            return true;
        }
        if idle == Idle::No {
            return false;
        }
        let committed = self.news.heads.get(me as usize).and_then(Option::as_ref);
        // what was read is of interest for the end alone, and that is far while another shard is busy
        let is_busy = |(other, at): (usize, &Option<HeadAt>)| {
            other != me as usize && at.as_ref().is_none_or(|at| at.head.idle == Idle::No)
        };
        let are_idle = !self.news.heads.iter().enumerate().any(is_busy);
        committed.is_none_or(|at| {
            let last = self.news.last_input();
            // of an own commit that is later than all that is known of others nothing can be said yet
            let is_behind = are_idle && !at.head.read_to.covers(last) && self.incoming.read_to(&self.news).covers(last);
            at.head.idle < idle || !self.outgoing.is_empty() || is_behind
        })
    }
}

impl Exchange {
    /// Asks what the others have committed, and has it read.
    pub(crate) fn hear(&mut self) -> Result<()> {
        self.news = self.options.registry.news();
        self.incoming.hear(&self.news)
    }

    /// Asks the same, and returns what the others noted and this one has not read yet.
    pub(crate) fn unread_notes(&mut self) -> Result<Vec<CanonicalUrl>> {
        self.hear()?;
        self.incoming.unread_notes(&self.news)
    }

    /// Says whether workers of this shard wait for links of others.
    pub(crate) fn set_hungry(&self, is_hungry: bool) {
        self.options.registry.set_hungry(self.options.shard.index(), is_hungry);
    }

    /// Links of another shard that are to be read next.
    pub(crate) fn next_job(&mut self, keys: &Arc<KeyMaker>) -> Option<LinkJob> {
        self.incoming.next_job(&self.news, keys)
    }

    /// Returns when a checkpoint is to be made before its time, for the sake of other shards or of the end, where this
    /// one is `idle`; `None` where there is no reason for one. Of checkpoints that are shipped an `interval` is given.
    pub(crate) fn early_cut_due(&self, idle: Idle, shipped: Option<Duration>) -> Option<Time> {
        let (durable_at, cost) = self.last;
        let wait = match shipped {
            None => cost * EARLY_FACTOR,
            // what is shipped costs puts, and others fetch it: some early ones an interval have to do; and most of its
            // cost is waiting for others, which keeps nobody from working
            Some(interval) => (cost * EARLY_FACTOR).clamp(interval / 6, interval),
        };
        self.wants_cut(idle).then(|| durable_at + wait)
    }

    /// True if only hosts are left that never answered.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Moves behind what was read of `sender` between two positions: `records`, which are admitted.
    pub(crate) fn admitted(&mut self, sender: u32, from: Position, to: Position, records: u64) {
        self.incoming.admitted(sender, from, to);
        self.account.admit(sender, records);
    }

    /// A checkpoint that took `cost` is durable, and the registry knows it.
    pub(crate) fn committed(&mut self, now: Time, cost: Duration) {
        self.last = (now, cost);
    }

    /// True if everything is read and admitted that others have committed, as far as is known.
    pub(crate) fn is_read(&self) -> bool {
        self.incoming.is_read(&self.news)
    }

    /// key.dat of the shard `other`; `None` where it cannot be read.
    pub(crate) fn keys_of(&mut self, other: u32) -> Option<Arc<DiskFile>> {
        if !self.foreign.contains_key(&other) {
            let dir = self.options.crawl_dir.join(Shard::new(other, self.options.shard.count()).dir_name());
            self.foreign.insert(other, foreign_keys(&self.options.disk, &dir.join(layout::PAGES))?);
        }
        self.foreign.get(&other).cloned()
    }

    /// True if the links of all archived pages are still to be sent again.
    pub(crate) fn resends(&self) -> bool {
        self.resends
    }

    /// Has the links of all archived pages sent again, since some were lost. They are not counted.
    pub(crate) fn send_all_again(&mut self) {
        self.resends = true;
        self.account.stop_counting();
    }

    /// They are sent: the next checkpoint has them.
    pub(crate) fn resent(&mut self) {
        self.resends = false;
    }

    /// Notes whether only hosts are left that never answered, and that for long enough. The whole crawl stops for it,
    /// or nobody.
    pub(crate) fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
    }

    /// Knowledge of the other shards.
    pub(crate) fn news(&self) -> &News {
        &self.news
    }

    /// The end of the whole crawl, where it has ended.
    pub(crate) fn end_of_all(&self) -> Option<Finish> {
        if self.news.end == Some(Finish::LinksLost) {
            let differences = self.news.differences();
            differences.filter(|lost| lost.reader == self.me()).for_each(|lost| tracing::error!("{lost}"));
        }
        self.news.end
    }

    /// Sends `url`, found in this round, to the shard that owns it.
    pub(crate) fn send(&mut self, url: &QueuedUrl, round: u32) -> Result<()> {
        self.outgoing.push(url, round)
    }

    /// Tells all shards that the territory of `target` joined the scope.
    pub(crate) fn note_scope(&mut self, target: &CanonicalUrl) {
        self.outgoing.note(target.as_str());
    }

    /// Sends a pair of domains to the shard that owns the one that is linked to.
    pub(crate) fn send_support(&mut self, pair: Fingerprint, target: Fingerprint) -> Result<()> {
        self.outgoing.push_support(pair, target)
    }

    /// Sends `url` again, which is not fetched again where it was.
    pub(crate) fn send_again(&mut self, url: QueuedUrl, round: u32) -> Result<()> {
        self.outgoing.push(&QueuedUrl { forced: false, ..url }, round)
    }

    /// True if links are being read.
    pub(crate) fn is_reading(&self) -> bool {
        self.incoming.is_reading()
    }
}

/// Opens the link file of checkpoint `number` of `sender`, whose directory is in that of the crawl.
fn open_file(disk: &Disk, crawl_dir: &Path, sender: Shard, number: u64) -> Result<LinkFile> {
    LinkFile::open(disk, &crawl_dir.join(sender.dir_name()), sender, number)
}

#[cfg(test)]
mod tests;

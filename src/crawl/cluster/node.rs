//! A node of a crawl on many machines: engines that come and go with the shards that this process owns.
//!
//! ```text
//! claimed ─► directory made ready ─► opened ─► notes, replay ─► seeds ─► crawls ─► stops ─► last head ─► given up
//! ```
//! Every shard goes its way alone; what has to be known of the others before its replay is in their heads. The calling
//! thread directs: it claims what the assignment gives this node, hands over what it takes away, reads the heads of the
//! others, and carries out what is wanted of the crawl. A shard whose files or objects are damaged is halted, and the
//! others go on. A claim that is lost ends the whole session: all engines are abandoned, their threads waited for, and
//! a new session begins under a new lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, Scope};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::claim::{Grounds, ShardLease};
use super::lists::Lists;
use crate::clock::Time;
use crate::cluster::{Claimed, ClusterError, EndRecord, FiguresRecord, HaltedRecord, State};
use crate::crawl::control::Orders;
use crate::crawl::ending::Ending;
use crate::crawl::live::Teller;
use crate::crawl::runtime::Runtime;
use crate::crawl::seat::{Heard, Seat, Told, Word, Work};
use crate::crawl::shard_run::{Admission, News};
use crate::crawl::{CrawlError, CrawlRequest};
use crate::disk::Error;
use crate::engine::{Commons, Event, ExchangeOptions, ReplyTo, StopBy};
use crate::process::ProcessOptions;
use crate::record::{Finish, Live, Snapshot};
use crate::shard::Shard;
use crate::web::url::KeyMaker;

/// The thread that directs looks around this often.
const TICK: Duration = Duration::from_millis(250);
/// What the assignment wants is asked for this often.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Figures are told and read this often.
const FIGURES_EVERY: Duration = Duration::from_secs(10);

/// What the engines of a node are run with.
pub(super) struct Plan<'a> {
    pub request: &'a CrawlRequest,
    pub grounds: Grounds,
    pub process: ProcessOptions,
    pub keys: Arc<KeyMaker>,
    pub commons: Commons,
    pub ceiling: u64,
}

/// How a session ends.
pub(super) enum Over {
    /// The crawl has ended, or the node was asked to stop.
    Finished(Finish, Option<Box<Ending>>),
    /// Claims were lost: a new session is to begin.
    Lost(String),
}

/// Tells figures of the node to others, and learns theirs.
pub(super) trait Figures {
    /// Tells them; what the others say comes back.
    fn exchange(&self, own: &FiguresRecord) -> Result<Vec<FiguresRecord>, ClusterError>;
}

/// A shard of this node.
struct Post<'scope> {
    seat: Seat<'scope>,
    claimed: Arc<Claimed>,
    /// It has told something and waits for this word.
    owed: Option<Owed>,
    is_crawling: bool,
    is_paused: bool,
    /// It is to be given up.
    is_leaving: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owed {
    Replay,
    Admit,
    Crawl,
}

/// The thread that directs.
pub(super) struct Node<'env, 'scope> {
    plan: &'env Plan<'env>,
    scope: &'scope Scope<'scope, 'env>,
    lists: Lists,
    posts: BTreeMap<u32, Post<'scope>>,
    told_in: Sender<Heard>,
    told: Receiver<Heard>,
    signals: Receiver<Event>,
    figures: &'env dyn Figures,
    teller: Teller,
    ending: Option<Ending>,
    stopping: Option<StopBy>,
    ask_due: Time,
    figures_due: Time,
}

impl<'env, 'scope> Node<'env, 'scope> {
    pub fn new(
        plan: &'env Plan<'env>,
        scope: &'scope Scope<'scope, 'env>,
        runtime: &Runtime,
        lists: Lists,
        figures: &'env dyn Figures,
    ) -> Result<Node<'env, 'scope>, CrawlError> {
        let shards = plan.request.config.crawl.shards;
        let (told_in, told) = bounded(2 * shards);
        let (signals_in, signals) = bounded(16);
        runtime.threads.listen(vec![ReplyTo::new(0, signals_in)])?;
        runtime.threads.engines_are_up();
        Ok(Node {
            plan,
            scope,
            lists,
            posts: BTreeMap::new(),
            told_in,
            told,
            signals,
            figures,
            teller: Teller::new(plan.commons.slots.clone()),
            ending: None,
            stopping: None,
            ask_due: Time::ZERO,
            figures_due: Time::ZERO,
        })
    }

    /// Directs until the crawl has ended, the node is to stop, or a claim is lost.
    pub fn direct(&mut self, runtime: &mut Runtime) -> Result<Over, CrawlError> {
        loop {
            crossbeam_channel::select! {
                recv(self.told) -> heard => {
                    let (shard, told) = heard.expect("the node has a sender");
                    self.hear(shard, told)?;
                }
                recv(self.signals) -> event => if let Ok(Event::Stop(by)) = event {
                    self.stopping = Some(by);
                },
                default(TICK) => {}
            }
            if let Some(lost) = self.posts.values().find(|post| post.claimed.hold().is_lost()) {
                return Ok(Over::Lost(format!("the claim of shard {} is gone", lost.claimed.shard)));
            }
            if self.plan.grounds.shipments.has_lost() {
                return Ok(Over::Lost("a checkpoint was refused: another node has its shard".to_owned()));
            }
            let now = runtime.clock.now();
            self.look_at_heads();
            self.look_at_crawl(runtime, now)?;
            self.pay();
            self.tell(runtime, now);
            let end = self.plan.grounds.ownership.heads().end;
            if self.posts.is_empty() && (self.stopping.is_some() || end.is_some()) {
                let finish = end.map(|end| end.finish).unwrap_or(match self.stopping {
                    Some(StopBy::Signal) => Finish::StoppedBySignal,
                    _ => Finish::StoppedByControl,
                });
                return Ok(Over::Finished(finish, self.ending.take().map(Box::new)));
            }
        }
    }

    /// Ends all engines wherever they are, and waits for their threads.
    pub fn dismiss(self) {
        let abandoned: Vec<_> = self.posts.into_values().map(|post| post.seat.abandon()).collect();
        while !abandoned.iter().all(|seat| seat.has_ended()) {
            abandoned.iter().for_each(|seat| seat.tell());
            // what they tell is of no interest any more
            while self.told.try_recv().is_ok() {}
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A shard has told something.
    fn hear(&mut self, shard: Shard, told: Result<Told, CrawlError>) -> Result<(), CrawlError> {
        let Some(post) = self.posts.get_mut(&shard.index()) else { return Ok(()) };
        match told {
            Ok(Told::Opened(_)) => post.owed = Some(Owed::Replay),
            Ok(Told::Replayed(replayed, _)) => {
                tracing::info!("{}: {replayed} responses recovered", shard.dir_name());
                post.owed = Some(Owed::Admit);
            }
            Ok(Told::Admitted(_)) => post.owed = Some(Owed::Crawl),
            Ok(Told::Done(ending)) => {
                self.ending = Some(match self.ending.take() {
                    Some(before) => before.and(*ending),
                    None => *ending,
                });
                self.give_up(shard);
            }
            // the session ends by it
            Err(_) if post.claimed.hold().is_lost() || self.plan.grounds.shipments.has_lost() => {}
            Err(CrawlError::Disk(Error::Damaged { path, offset, expected, found })) => {
                let file = path.display().to_string();
                tracing::error!(
                    "{}: halted: {file}: at byte {offset}: expected {expected}, found {found}",
                    shard.dir_name()
                );
                let halted = HaltedRecord { node: String::new(), file, offset };
                self.halt(shard, &halted)?;
            }
            Err(CrawlError::Store(error)) => {
                tracing::error!("{}: halted: {error}", shard.dir_name());
                let halted = HaltedRecord { node: String::new(), file: error.to_string(), offset: 0 };
                self.halt(shard, &halted)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The shard's engine is done: its thread ends, and its claim is given up.
    fn give_up(&mut self, shard: Shard) {
        let Some(post) = self.posts.remove(&shard.index()) else { return };
        post.seat.finish();
        let Grounds { heads, shipments, ownership, .. } = &self.plan.grounds;
        heads.unwatch(shard.index());
        shipments.disown(shard);
        if let Err(error) = ownership.release(&post.claimed) {
            tracing::warn!("{}: the claim ends with the lease: {error}", shard.dir_name());
        }
    }

    fn halt(&mut self, shard: Shard, halted: &HaltedRecord) -> Result<(), CrawlError> {
        if let Some(post) = self.posts.get(&shard.index()) {
            let halted = HaltedRecord { file: halted.file.chars().take(150).collect(), ..halted.clone() };
            self.plan.grounds.ownership.halt(&post.claimed, &halted).map_err(CrawlError::Cluster)?;
        }
        self.give_up(shard);
        Ok(())
    }

    /// Takes in what others have committed, and new seeds.
    fn look_at_heads(&mut self) {
        let Grounds { store, ownership, heads, .. } = &self.plan.grounds;
        // one view for both: what is said to be read must have been taken in
        let known = ownership.heads();
        if let Err(error) = self.lists.take(&**store, &known) {
            tracing::warn!("a list of seeds waits: {error}");
            return;
        }
        if let Err(error) = heads.refresh(&known, self.lists.seeds()) {
            tracing::warn!("heads of other shards wait: {error}");
        }
    }

    /// Says the words that are owed, where everything is known that they need.
    fn pay(&mut self) {
        let known = self.plan.grounds.heads.is_up_to(self.plan.grounds.ownership.heads().revision);
        for post in self.posts.values_mut() {
            let word = match post.owed {
                Some(Owed::Replay) if known => Word::Replay,
                Some(Owed::Admit) => Word::Admit(Admission::Listed),
                Some(Owed::Crawl) => {
                    post.is_crawling = true;
                    Word::Crawl(Orders::none())
                }
                _ => continue,
            };
            post.owed = None;
            // one that has ended has told, or will, why
            let _ = post.seat.words.send(word);
        }
    }

    /// Carries out what is wanted of the crawl, and what the assignment wants of this node.
    fn look_at_crawl(&mut self, runtime: &Runtime, now: Time) -> Result<(), CrawlError> {
        if now < self.ask_due {
            return Ok(());
        }
        self.ask_due = now + ASK_EVERY;
        let ownership = self.plan.grounds.ownership.clone();
        let known = ownership.heads();
        if known.want.state == State::Stop {
            self.stopping.get_or_insert(StopBy::Control);
        }
        if known.end.is_none()
            && let Some(finish) = known.is_end()
        {
            match ownership.put_end(known.want_at, EndRecord { finish }) {
                Ok(_) => {}
                Err(error) => tracing::warn!("the end of the crawl waits: {error}"),
            }
        }
        let wanted = ownership.wanted();
        if let Some(post) = wanted.hand_over.and_then(|shard| self.posts.get_mut(&shard)) {
            post.is_leaving = true;
        }
        let pauses = known.want.state == State::Pause;
        for post in self.posts.values_mut().filter(|post| post.is_crawling) {
            if let Some(by) = self.stopping.or(post.is_leaving.then_some(StopBy::Control)) {
                post.seat.offer(Event::Stop(by));
            } else if post.is_paused != pauses {
                post.is_paused = pauses;
                post.seat.offer(if pauses { Event::Pause } else { Event::Resume });
            }
        }
        if self.stopping.is_none() && known.end.is_none() {
            for shard in wanted.claim {
                self.claim(runtime, shard)?;
            }
        }
        if now >= self.figures_due {
            self.figures_due = now + FIGURES_EVERY;
            self.exchange_figures();
        }
        Ok(())
    }

    /// Claims the shard, and starts its engine's thread.
    fn claim(&mut self, runtime: &Runtime, shard: u32) -> Result<(), CrawlError> {
        let plan = self.plan;
        if self.posts.contains_key(&shard) {
            return Ok(());
        }
        let claimed = match plan.grounds.ownership.claim(shard) {
            Ok(Some(claimed)) => Arc::new(claimed),
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!("shard {shard} cannot be claimed: {error}");
                return Ok(());
            }
        };
        let place = Shard::new(shard, plan.grounds.identity.shards());
        let port = runtime.threads.port(shard as usize);
        let news = News::default();
        let (told, reply) = (news.clone(), port.executors.reply().clone());
        plan.grounds.heads.watch(shard, Box::new(move || told.tell(&reply)));
        let (claim, seeds, clock) = (claimed.clone(), self.lists.lines(), runtime.clock.clone());
        let make = move || {
            let directory = Arc::new(plan.grounds.open(plan.request, &claim)?);
            let lease = Some(Arc::new(ShardLease(claim.hold().clone())) as _);
            Ok(Work {
                request: plan.request,
                directory,
                keys: plan.keys.clone(),
                clock,
                commons: Commons { lease, ..plan.commons.clone() },
                process: plan.process.clone(),
                ceiling: plan.ceiling,
                seeds,
                exchange: ExchangeOptions {
                    shard: place,
                    registry: plan.grounds.heads.clone(),
                    crawl_dir: plan.request.dir.clone(),
                    disk: plan.grounds.view.disk(),
                },
                shipping: Some(plan.grounds.shipments.clone()),
                news,
            })
        };
        let seat = Seat::take(self.scope, (place, make), port, self.told_in.clone())?;
        let post = Post { seat, claimed, owed: None, is_crawling: false, is_paused: false, is_leaving: false };
        self.posts.insert(shard, post);
        Ok(())
    }

    /// Tells the others which shards wait for links, and learns which of theirs do.
    fn exchange_figures(&mut self) {
        let heads = &self.plan.grounds.heads;
        let hungry = heads.hungry(self.posts.keys().copied());
        let live = self.posts.values().filter_map(|post| post.seat.board.read()).map(|posted| posted.live);
        let sum = Live::sum(live);
        let own = FiguresRecord {
            hungry,
            pages: sum.as_ref().map_or(0, |live| live.figures.statistics.pages()),
            bytes: sum.as_ref().map_or(0, |live| live.figures.statistics.bytes_received),
            ..FiguresRecord::default()
        };
        match self.figures.exchange(&own) {
            Ok(others) => heads.hear_hunger(&others, |shard| self.posts.contains_key(&shard)),
            Err(error) => tracing::debug!("figures wait: {error}"),
        }
    }

    /// Tells people how this node's part of the crawl goes.
    fn tell(&mut self, runtime: &mut Runtime, now: Time) {
        let posted: Option<Vec<_>> =
            self.posts.values().filter(|post| post.is_crawling).map(|post| post.seat.board.read()).collect();
        let Some(posted) = posted.filter(|posted| !posted.is_empty()) else { return };
        let disk_floor = posted.iter().map(|posted| posted.disk_floor).max().unwrap_or(0);
        let Some(live) = Live::sum(posted.into_iter().map(|posted| posted.live)) else { return };
        let Snapshot { statistics, gauges, .. } = &live.figures;
        self.teller.tell(&mut runtime.display, now, (statistics, gauges), live.phase, disk_floor);
        if runtime.endpoint.is_open() {
            runtime.endpoint.put(live);
        }
    }
}

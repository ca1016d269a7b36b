//! A node of a crawl on many machines: engines that come and go with the shards that this process owns.
//!
//! ```text
//! claimed ─► directory made ready ─► opened ─► notes, replay ─► seeds ─► crawls ─► stops ─► last head ─► given up
//! ```
//! Every shard goes its way alone; what has to be known of the others before its replay is in their heads. The calling
//! thread directs: it claims what the assignment gives this node, hands over what it takes away, and carries out what
//! is wanted of the crawl. It waits for nobody: etcd is asked by the [`Clerk`], the store by the [`Watcher`]. A shard
//! whose files or objects are damaged is halted, and the others go on. A claim that is lost ends the whole session: all
//! engines are abandoned, their threads waited for, and a new session begins under a new lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::Scope;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::clerk::{Answer, Ask, Clerk};
use super::plan::Plan;
use super::watcher::Watcher;
use crate::clock::Time;
use crate::cluster::{Claimed, EndRecord, FiguresRecord, HaltedRecord, State, View};
use crate::crawl::CrawlError;
use crate::crawl::control::EngineOrders;
use crate::crawl::ending::Ending;
use crate::crawl::engine_thread::{self, EngineReport, EngineThread, Instruction, ShardReport, Work, own_seeds};
use crate::crawl::live::Teller;
use crate::crawl::runtime::Runtime;
use crate::crawl::shard_directory::Company;
use crate::crawl::shard_run::{Admission, News};
use crate::crawl::signals::Signals;
use crate::disk::Error;
use crate::engine::{Commons, Event, ExchangeOptions, StopBy};
use crate::node::{Grounds, ShardLease};
use crate::record::{Finish, Live, Snapshot};
use crate::shard::Shard;

/// The thread that directs looks around this often.
const TICK: Duration = Duration::from_millis(250);
/// Time between two looks at the shards that the assignment gives to this node.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Figures are sent and read this often.
const FIGURES_EVERY: Duration = Duration::from_secs(10);
/// A node that is to stop waits this long for an etcd that does not answer its last heads.
const HEADS_WAIT: Duration = Duration::from_secs(1);

/// The ways in which a session ends.
pub(super) enum Over {
    /// The crawl has ended, or the node was asked to stop.
    Finished(Finish, Option<Box<Ending>>),
    /// The node was asked to stop, and etcd does not answer: the last checkpoints are here alone.
    Unheard(Finish),
    /// Claims were lost: a new session is to begin.
    Lost(String),
}

/// A shard of this node.
struct Post<'scope> {
    engine: EngineThread<'scope>,
    claimed: Arc<Claimed>,
    /// Instruction that the shard's engine waits for after its last report.
    owed: Option<Owed>,
    is_crawling: bool,
    /// Commands to its engine, once that crawls.
    orders: Option<EngineOrders>,
    is_paused: bool,
    /// True if the shard is to be given up.
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
    posts: BTreeMap<u32, Post<'scope>>,
    reports_in: Sender<ShardReport>,
    reports: Receiver<ShardReport>,
    signals: &'env Signals,
    clerk: Clerk,
    watcher: &'env Watcher,
    teller: Teller,
    ending: Option<Ending>,
    /// Reason for which this node stops, and the time since when.
    stopping: Option<(StopBy, Instant)>,
    /// Claims that the clerk has not answered yet. The next two fields are true while it has not answered the end and
    /// the figures.
    claiming: Vec<u32>,
    is_ending: bool,
    is_telling: bool,
    ask_due: Time,
    figures_due: Time,
}

impl<'env, 'scope> Node<'env, 'scope> {
    pub(crate) fn new(
        plan: &'env Plan<'env>,
        scope: &'scope Scope<'scope, 'env>,
        clerk: Clerk,
        watcher: &'env Watcher,
        signals: &'env Signals,
    ) -> Node<'env, 'scope> {
        let (reports_in, reports) = bounded(2 * plan.request.config.crawl.shards);
        signals.take_in();
        Node {
            plan,
            scope,
            posts: BTreeMap::new(),
            reports_in,
            reports,
            signals,
            clerk,
            watcher,
            teller: Teller::new(plan.commons.slots.clone(), plan.request.config.crawl.shards),
            ending: None,
            stopping: None,
            claiming: Vec::new(),
            is_ending: false,
            is_telling: false,
            ask_due: Time::ZERO,
            figures_due: Time::ZERO,
        }
    }

    /// Directs until the crawl has ended, the node is to stop, or a claim is lost.
    pub(crate) fn direct(&mut self, runtime: &mut Runtime) -> Result<Over, CrawlError> {
        loop {
            crossbeam_channel::select! {
                recv(self.reports) -> report => {
                    let (shard, report) = report.expect("the node has a sender");
                    self.receive(shard, report)?;
                }
                recv(self.signals.events) -> event => if let Ok(Event::Stop(by)) = event {
                    self.stop(by);
                },
                recv(self.clerk.answers) -> answer => match answer {
                    Ok(answer) => self.take_answer(runtime, answer)?,
                    Err(_) => return Err(CrawlError::Internal("the thread that asks etcd has ended".to_owned())),
                },
                recv(self.watcher.news) -> news => if news.is_err() {
                    return Err(CrawlError::Internal("the thread that reads heads has ended".to_owned()));
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
            self.take_orders();
            self.look_at_crawl(now);
            self.pay();
            self.tell(runtime, now);
            if let Some(over) = self.is_over() {
                return Ok(over);
            }
        }
    }

    /// Stops, unless that is done.
    fn stop(&mut self, by: StopBy) {
        if self.stopping.is_none() {
            self.stopping = Some((by, Instant::now()));
            // the engines hear of it now
            self.ask_due = Time::ZERO;
        }
    }

    /// Returns how the session ended, if nothing is left to direct.
    fn is_over(&mut self) -> Option<Over> {
        let end = self.plan.grounds.ownership.heads().end;
        let low = self.plan.commons.quota.stop().filter(|finish| *finish == Finish::DiskLow);
        let stop = self.stopping.map(|(by, _)| match by {
            StopBy::Signal => Finish::StoppedBySignal,
            StopBy::Control => Finish::StoppedByControl,
        });
        let finish = end.map(|end| end.finish).or(stop).or(low)?;
        if self.posts.is_empty() {
            return Some(Over::Finished(finish, self.ending.take().map(Box::new)));
        }
        // by now the heads that are being put would have been answered
        let since = Instant::now().checked_sub(HEADS_WAIT)?;
        self.stopping.filter(|(_, stopped)| *stopped <= since)?;
        let commits = &self.plan.grounds.commits;
        let waits = |shard: &u32| commits.waits_since(*shard, since);
        self.posts.keys().all(waits).then_some(Over::Unheard(finish))
    }

    /// Ends all engines wherever they are, and waits for their threads.
    pub(crate) fn dismiss(self) {
        // what they tell is of no interest any more
        engine_thread::abandon(self.posts.into_values().map(|post| post.engine), &self.reports, drop);
    }

    /// Takes the report of a shard.
    fn receive(&mut self, shard: Shard, report: Result<EngineReport, CrawlError>) -> Result<(), CrawlError> {
        let Some(post) = self.posts.get_mut(&shard.index()) else { return Ok(()) };
        match report {
            Ok(EngineReport::Opened(_)) => post.owed = Some(Owed::Replay),
            Ok(EngineReport::Replayed(replayed, _)) => {
                tracing::info!("{}: {replayed} responses recovered", shard.dir_name());
                post.owed = Some(Owed::Admit);
            }
            Ok(EngineReport::Admitted(_)) => post.owed = Some(Owed::Crawl),
            Ok(EngineReport::Done(ending)) => {
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
                self.halt(shard, &halted);
            }
            Err(CrawlError::Store(error)) => {
                tracing::error!("{}: halted: {error}", shard.dir_name());
                let halted = HaltedRecord { node: String::new(), file: error.to_string(), offset: 0 };
                self.halt(shard, &halted);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The shard's engine is done: its thread ends, and its claim is given up.
    fn give_up(&mut self, shard: Shard) {
        let Some(post) = self.posts.remove(&shard.index()) else { return };
        post.engine.finish();
        let Grounds { heads, shipments, lease, .. } = &self.plan.grounds;
        heads.unwatch(shard.index());
        shipments.disown(shard);
        self.plan.quotas.iter().for_each(|quotas| quotas.close(&post.claimed));
        lease.given_up(shard.index());
        // first here: no request is started while the claim goes
        post.claimed.hold().drop_claim();
        self.clerk.ask(Ask::Release(post.claimed));
    }

    fn halt(&mut self, shard: Shard, halted: &HaltedRecord) {
        if let Some(post) = self.posts.get(&shard.index()) {
            let halted = HaltedRecord { file: halted.file.chars().take(150).collect(), ..halted.clone() };
            self.clerk.ask(Ask::Halt(post.claimed.clone(), halted));
        }
        self.give_up(shard);
    }

    /// The clerk has an answer.
    fn take_answer(&mut self, runtime: &Runtime, answer: Answer) -> Result<(), CrawlError> {
        match answer {
            Answer::Claimed(shard, claimed) => {
                self.claiming.retain(|&claiming| claiming != shard);
                match claimed {
                    Ok(Some(claimed)) => self.take_post(runtime, Arc::new(claimed))?,
                    Ok(None) => {}
                    Err(error) => tracing::warn!("shard {shard} cannot be claimed: {error}"),
                }
            }
            Answer::Halted(halted) => halted.map_err(CrawlError::Cluster)?,
            Answer::Ended => self.is_ending = false,
            Answer::Figures(others) => {
                self.is_telling = false;
                self.plan.grounds.heads.hear_hunger(&others, |shard| self.posts.contains_key(&shard));
            }
        }
        Ok(())
    }

    /// Sends the instructions that are owed, where everything is known that they need.
    fn pay(&mut self) {
        for post in self.posts.values_mut() {
            let instruction = match post.owed {
                Some(Owed::Replay) if self.plan.grounds.heads.know_all_before(post.claimed.epoch) => {
                    Instruction::Replay
                }
                Some(Owed::Admit) => Instruction::Admit(Admission::Listed),
                Some(Owed::Crawl) => {
                    post.is_crawling = true;
                    let (to_engine, orders) = EngineOrders::new();
                    post.orders = Some(to_engine);
                    Instruction::Crawl(orders)
                }
                _ => continue,
            };
            post.owed = None;
            // one that has ended has reported the reason, or will
            let _ = post.engine.instructions.send(instruction);
        }
    }

    /// Carries out commands to this node.
    fn take_orders(&mut self) {
        let engines = self.posts.values().filter_map(|post| post.orders.as_ref());
        let live = || {
            let crawling = self.posts.values().filter(|post| post.is_crawling);
            Live::sum(crawling.filter_map(|post| post.engine.board.read()).map(|posted| posted.live))
        };
        if self.plan.orders.take(engines, live) {
            self.stopping.get_or_insert_with(|| (StopBy::Control, Instant::now()));
        }
    }

    /// Carries out what is wanted of the crawl, and what the assignment wants of this node.
    fn look_at_crawl(&mut self, now: Time) {
        if now < self.ask_due {
            return;
        }
        self.ask_due = now + ASK_EVERY;
        let ownership = self.plan.grounds.ownership.clone();
        let known = ownership.heads();
        self.share_with(known.nodes.len());
        if known.want.state == State::Stop {
            self.stop(StopBy::Control);
            self.ask_due = now + ASK_EVERY;
        }
        self.look_for_the_end(&known);
        let wanted = ownership.wanted();
        if let Some(post) = wanted.hand_over.and_then(|shard| self.posts.get_mut(&shard)) {
            post.is_leaving = true;
        }
        self.order(known.want.state == State::Pause);
        let goes_on = self.stopping.is_none() && known.end.is_none() && self.plan.commons.quota.stop().is_none();
        for shard in wanted.claim.into_iter().filter(|_| goes_on) {
            if !self.posts.contains_key(&shard) && !self.claiming.contains(&shard) {
                self.claiming.push(shard);
                self.clerk.ask(Ask::Claim(shard));
            }
        }
        if now >= self.figures_due && !self.is_telling {
            self.figures_due = now + FIGURES_EVERY;
            self.exchange_figures();
        }
    }

    /// Sets the number of nodes that make requests: this one has its part of what the crawl may do in a second.
    fn share_with(&self, nodes: usize) {
        let Commons { rates, ledger, .. } = &self.plan.commons;
        rates.share(nodes);
        ledger.iter().for_each(|ledger| ledger.set_machines(nodes));
    }

    /// Lets the crawl end, where it is complete or its time is over.
    fn look_for_the_end(&mut self, known: &View) {
        let late = self.plan.commons.quota.stop().filter(|finish| *finish == Finish::TimeLimit);
        let end = known.is_end().and_then(|_| self.plan.grounds.heads.end(known.known));
        let finish = end.or(late).filter(|_| known.end.is_none() && !self.is_ending);
        if let Some(finish) = finish {
            self.is_ending = true;
            self.clerk.ask(Ask::End(known.want_at, EndRecord { finish }));
        }
    }

    /// Tells the engines what they have to do.
    fn order(&mut self, pauses: bool) {
        let stopping = self.stopping.map(|(by, _)| by);
        for post in self.posts.values_mut().filter(|post| post.is_crawling) {
            if let Some(by) = stopping.or(post.is_leaving.then_some(StopBy::Control)) {
                post.engine.offer(Event::Stop(by));
            } else if post.is_paused != pauses {
                post.is_paused = pauses;
                post.engine.offer(if pauses { Event::Pause } else { Event::Resume });
            }
        }
    }

    /// A shard is claimed: its engine's thread is started, unless nobody wants it any more.
    fn take_post(&mut self, runtime: &Runtime, claimed: Arc<Claimed>) -> Result<(), CrawlError> {
        if self.stopping.is_some() {
            self.clerk.ask(Ask::Release(claimed));
            return Ok(());
        }
        let (plan, shard) = (self.plan, claimed.shard);
        plan.grounds.lease.claimed(shard, claimed.hold().clone());
        let place = Shard::new(shard, plan.grounds.identity.shards());
        let port = runtime.threads.port(shard as usize);
        let news = News::default();
        let (told, reply) = (news.clone(), port.executors.reply().clone());
        plan.grounds.heads.watch(shard, Box::new(move || told.tell(&reply)));
        let (claim, seeds, clock) = (claimed.clone(), self.watcher.lines(), runtime.clock.clone());
        let quotas = plan.quotas.as_ref();
        let allowance = quotas.map(|quotas| quotas.open(&claimed, port.executors.reply().clone()));
        let at_once = plan.at_once(&plan.grounds.ownership.heads(), self.posts.len() + 1);
        let make = move || {
            let directory = Arc::new(plan.open(&claim)?);
            let lease = Some(Arc::new(ShardLease(claim.hold().clone())) as _);
            Ok(Work {
                request: plan.request,
                directory,
                company: Company {
                    at_once,
                    keys: plan.keys.clone(),
                    clock,
                    commons: Commons { lease, allowance, ..plan.commons.clone() },
                },
                process: plan.process.clone(),
                ceiling: plan.ceiling,
                seeds: own_seeds(seeds, place, plan.keys.clone()),
                exchange: Some(ExchangeOptions {
                    shard: place,
                    registry: plan.grounds.heads.clone(),
                    crawl_dir: plan.request.dir.clone(),
                    disk: plan.grounds.view.disk(),
                }),
                shipping: Some(plan.grounds.shipments.clone()),
                news,
            })
        };
        let engine = EngineThread::spawn(self.scope, place, make, port, self.reports_in.clone())?;
        let post =
            Post { engine, claimed, owed: None, is_crawling: false, orders: None, is_paused: false, is_leaving: false };
        self.posts.insert(shard, post);
        Ok(())
    }

    /// Tells the others which shards wait for links, and learns which of theirs do.
    fn exchange_figures(&mut self) {
        let heads = &self.plan.grounds.heads;
        let hungry = heads.hungry(self.posts.keys().copied());
        let live = self.posts.values().filter_map(|post| post.engine.board.read()).map(|posted| posted.live);
        let sum = Live::sum(live);
        let own = match sum {
            None => FiguresRecord { hungry, ..FiguresRecord::default() },
            Some(Live { rates, figures: Snapshot { statistics, gauges, .. }, .. }) => FiguresRecord {
                hungry,
                pages: statistics.pages(),
                bytes: statistics.bytes_received,
                pages_per_1000s: (rates.pages * 1_000.0) as u64,
                in_flight: gauges.in_flight,
                queued: gauges.queued,
            },
        };
        self.is_telling = true;
        self.clerk.ask(Ask::Figures(own));
    }

    /// Tells people how this node's part of the crawl goes.
    fn tell(&mut self, runtime: &mut Runtime, now: Time) {
        let boards = self.posts.values().filter(|post| post.is_crawling).map(|post| &post.engine.board);
        self.teller.look(&mut runtime.display, &mut runtime.endpoint, now, boards);
    }
}

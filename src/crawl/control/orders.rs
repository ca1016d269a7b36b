//! The engine's side of control: orders carried out between two events, and answers that wait for the disk.

use crossbeam_channel::{Receiver, never};
use tokio::sync::oneshot;

use super::answer::Answer;
use super::wire::{Refused, Reply, SeedsTaken};
use crate::crawl::CrawlError;
use crate::crawl::live::Sampler;
use crate::engine::{Engine, Event, Phase, Reconfiguration, StopBy};
use crate::web::seeds::Seed;

/// A command whose words were checked.
#[derive(Clone)]
pub(super) enum Action {
    /// Report the state of the crawl.
    Status,
    /// Report the hosts with the longest queues, this many of them.
    Hosts(usize),
    /// Make no new requests.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Take these in, and say why the others were not.
    Seeds(Vec<Seed>, Vec<Refused>),
    /// Make a checkpoint.
    Checkpoint,
    /// Act by the list of what is forgotten, of which this many acts are new.
    Forget(usize),
    /// Stop gracefully.
    Stop,
    /// Decide by other settings.
    Reconfigure(Box<Reconfiguration>),
}

/// An action, and the way of its answer.
pub(in crate::crawl) struct Order {
    pub(super) action: Action,
    pub(super) reply: Answer,
}

/// Seeds for a crawl of several shards, of which no engine by itself can take them in.
pub(in crate::crawl) struct SeedsOrder {
    pub seeds: Vec<Seed>,
    pub refused: Vec<Refused>,
    pub reply: oneshot::Sender<Reply>,
}

impl SeedsOrder {
    /// Answers that this many of the seeds are new, and that they are durable.
    pub(crate) fn answer(self, added: u64) {
        let known = self.seeds.len() as u64 - added;
        let _ = self.reply.send(tell_seeds(SeedsTaken { added, known, refused: self.refused }));
    }

    /// Answers that they are not taken in.
    pub(crate) fn refuse(self, why: &str) {
        let _ = self.reply.send(Reply::refused(why));
    }
}

/// Orders that came, and those that wait for a checkpoint.
pub(in crate::crawl) struct Orders {
    incoming: Receiver<Order>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    checkpoint: u64,
    answer: Reply,
    reply: Answer,
}

impl Orders {
    pub(super) fn new(incoming: Receiver<Order>) -> Orders {
        Orders { incoming, waiting: Vec::new() }
    }

    /// Waits for an event no longer than `wait`; also returns without one when an order has come. Who asks how the
    /// crawl stands gets the figures of `sampler`.
    pub(in crate::crawl) fn next_event(
        &mut self,
        engine: &mut Engine,
        sampler: &Sampler,
        events: &Receiver<Event>,
        wait: std::time::Duration,
    ) -> Result<Option<Event>, CrawlError> {
        while let Ok(order) = self.incoming.try_recv() {
            self.take(engine, sampler, order)?;
        }
        if let Ok(event) = events.try_recv() {
            return Ok(Some(event));
        }
        crossbeam_channel::select! {
            recv(events) -> event => Ok(Some(event.expect("the engine's executors hold a sender"))),
            recv(self.incoming) -> order => {
                match order {
                    Ok(order) => self.take(engine, sampler, order)?,
                    // the control thread is gone
                    Err(_) => self.incoming = never(),
                }
                Ok(None)
            }
            default(wait) => Ok(None),
        }
    }

    /// Answers those whose checkpoint is durable.
    pub(in crate::crawl) fn answer_durable(&mut self, engine: &Engine) {
        let durable = engine.durable_checkpoint();
        for Waiting { checkpoint, answer, reply } in
            self.waiting.extract_if(.., |waiting| waiting.checkpoint <= durable)
        {
            reply.send(Reply { checkpoint: Some(checkpoint), ..answer });
        }
    }

    /// Answers those that come to an engine that has ended, while others of its crawl have not.
    pub(in crate::crawl) fn answer_until<T>(
        &mut self,
        engine: &mut Engine,
        sampler: &Sampler,
        all_have_ended: &Receiver<T>,
    ) -> Result<(), CrawlError> {
        loop {
            self.answer_durable(engine);
            crossbeam_channel::select! {
                recv(all_have_ended) -> _ => return Ok(()),
                recv(self.incoming) -> order => match order {
                    Ok(order) => self.take(engine, sampler, order)?,
                    Err(_) => self.incoming = never(),
                },
            }
        }
    }

    fn take(
        &mut self,
        engine: &mut Engine,
        sampler: &Sampler,
        Order { action, reply }: Order,
    ) -> Result<(), CrawlError> {
        let is_crawling = engine.phase() == Phase::Crawling;
        let answer = match action {
            Action::Status => Reply { status: Some(Box::new(sampler.live(engine))), ..Reply::done("") },
            Action::Hosts(limit) => Reply { hosts: Some(engine.figures().busiest(limit)), ..Reply::done("") },
            Action::Checkpoint => {
                let checkpoint = engine.checkpoint_ahead();
                engine.handle(Event::Checkpoint)?;
                let answer = Reply::done(format!("checkpoint {checkpoint} is durable"));
                self.waiting.push(Waiting { checkpoint, answer, reply });
                return Ok(());
            }
            Action::Stop if !is_crawling => Reply::done("the crawl is stopping already"),
            Action::Forget(_) if !is_crawling => Reply::done("taken down; it counts from the next start on"),
            _ if !is_crawling => Reply::refused("the crawl is stopping"),
            Action::Stop => {
                engine.handle(Event::Stop(StopBy::Control))?;
                Reply::done("stopping: requests in flight may finish")
            }
            Action::Pause if engine.is_paused() => Reply::done("the crawl was paused already"),
            Action::Pause => {
                engine.handle(Event::Pause)?;
                Reply::done("paused: requests in flight may finish, new ones wait for crawler ctl resume")
            }
            Action::Resume if !engine.is_paused() => Reply::done("the crawl was not paused"),
            Action::Resume => {
                engine.handle(Event::Resume)?;
                Reply::done("resumed")
            }
            Action::Seeds(seeds, refused) => {
                let taken = take_seeds(engine, seeds, refused)?;
                let (checkpoint, answer) = (engine.checkpoint_ahead(), tell_seeds(taken));
                self.waiting.push(Waiting { checkpoint, answer, reply });
                return Ok(());
            }
            Action::Forget(acts) => {
                engine.handle(Event::Forgotten)?;
                Reply::done(match acts {
                    0 => "nothing has changed: all of that was in effect already".to_owned(),
                    1 => "1 entry taken down; what is archived of it is removed from the disk soon".to_owned(),
                    acts => {
                        format!("{acts} entries taken down; what is archived of them is removed from the disk soon")
                    }
                })
            }
            Action::Reconfigure(new) => {
                engine.handle(Event::Reconfigure(new))?;
                Reply::done("the settings are in effect")
            }
        };
        reply.send(answer);
        Ok(())
    }
}

fn take_seeds(engine: &mut Engine, seeds: Vec<Seed>, refused: Vec<Refused>) -> Result<SeedsTaken, CrawlError> {
    let (before, count) = (engine.figures().seeds().len(), seeds.len() as u64);
    engine.handle(Event::Seeds(seeds))?;
    let added = u64::from(engine.figures().seeds().len() - before);
    Ok(SeedsTaken { added, known: count - added, refused })
}

/// Returns the reply about seeds. If one line is no seed the others are taken all the same, but the command has failed.
fn tell_seeds(taken: SeedsTaken) -> Reply {
    let count = |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let mut message = count(taken.added, "seed added", "seeds added");
    if taken.known > 0 {
        message.push_str(&format!(", {} known before", taken.known));
    }
    if !taken.refused.is_empty() {
        message
            .push_str(&format!(", {}", count(taken.refused.len() as u64, "line is not a seed", "lines are not seeds")));
    }
    Reply { ok: taken.refused.is_empty(), message, seeds: Some(taken), ..Reply::default() }
}

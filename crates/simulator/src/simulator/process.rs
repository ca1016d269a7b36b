//! One simulated process: its engines, and what happens next to any of them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::case::Case;
use super::clause::{Clause, Violation};
use super::event_queue::EventQueue;
use super::idle::{IdleJudge, Passed};
use super::mistake::Mistake;
use super::moment;
use super::named::Names;
use super::network::{Network, by_web};
use crate::clock::{Clock, ManualClock, Time};
use crate::container::Recovery;
use crate::contract::{Purpose, Reply, Response};
use crate::disk;
use crate::engine::{Accounts, Engine, Event, Past, Phase, StopBy};
use crate::process::Processor;
use crate::record::{Finish, Statistics};
use crate::web::url::CanonicalUrl;

/// An engine of the process, and what is in progress for it.
pub(super) struct Member {
    pub engine: Engine,
    pub event_queue: Rc<RefCell<EventQueue>>,
    pub processor: Processor,
    pub past: Past,
    /// Another shard has changed something that it has to hear of.
    pub is_woken: Arc<AtomicBool>,
    /// Another engine has left a slot to it.
    pub slot_is_free: Arc<AtomicBool>,
    /// The way in which it came to its end, if it has.
    pub finish: Option<Finish>,
    /// Judges what its workers do.
    pub idle: IdleJudge,
}

/// One process of the crawler.
pub(super) struct Process {
    members: Vec<Member>,
    clock: Arc<ManualClock>,
    /// URLs whose final answer is in the archive, and when they were asked for.
    done: HashMap<String, Time>,
    /// The one of the last step.
    stored: Option<(String, Time)>,
    /// URLs named by the answers of the last step, and by those that were read again because they are nearer.
    pub named: Vec<Names>,
    /// Requests of the log that were judged.
    seen: usize,
    /// Workers that were idle for too long, as found in the last step.
    pub idled: Option<Violation>,
}

impl Process {
    /// One whose engines are open; `done` is in the archive, and `seen` requests were made before.
    pub(super) fn new(
        members: Vec<Member>,
        clock: Arc<ManualClock>,
        done: HashMap<String, Time>,
        seen: usize,
    ) -> Process {
        Process { members, clock, done, stored: None, named: Vec::new(), seen, idled: None }
    }

    /// True time now.
    pub(super) fn true_now(&self) -> u64 {
        self.members[0].event_queue.borrow().true_now()
    }

    /// The crawler's clock.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The figures of all engines together.
    pub(super) fn statistics(&mut self) -> Statistics {
        let mut all = self.members.iter_mut().map(|member| member.engine.figures().statistics());
        let first = all.next().expect("a process has an engine");
        all.fold(first, |mut sum, more| {
            sum += &more;
            sum
        })
    }

    fn accounts(&self) -> impl Iterator<Item = Accounts> {
        self.members.iter().map(|member| member.engine.accounts())
    }

    /// Judges the accounts of all engines.
    pub(super) fn balanced(&self, complete: bool) -> Result<(), Violation> {
        self.accounts().try_for_each(|accounts| moment::balanced(&accounts, complete))
    }

    /// Judges what the engines hold in memory; what is in flight is bounded for all of them together.
    pub(super) fn bounded(&mut self, case: &Case) -> Result<(), Violation> {
        let mut in_flight = 0;
        for member in &mut self.members {
            let mut gauges = member.engine.figures().gauges();
            in_flight += gauges.in_flight;
            gauges.in_flight = in_flight;
            moment::bounded(case, &gauges)?;
        }
        Ok(())
    }

    /// Judges a process that was started after the crawl was complete, and has done nothing yet.
    ///
    /// So many visits that are in the archive may be `waiting` for their records.
    pub(super) fn is_complete(&self, waiting: u64) -> Result<(), Violation> {
        let replayed: u64 = self.accounts().map(|accounts| accounts.replayed).sum();
        if replayed > waiting {
            let accounts: Vec<Accounts> = self.accounts().collect();
            let what = format!("a stored page belongs to no URL that was admitted; {waiting} may wait: {accounts:?}");
            return Err(Violation::new(Clause::OneOutcome, what));
        }
        for member in &self.members {
            if !matches!(member.past, Past::Stopped(Finish::Complete | Finish::Fresh)) {
                return Err(Violation::new(Clause::Reopens, format!("a complete crawl is {:?}", member.past)));
            }
        }
        Ok(())
    }

    /// Lets the engines do what they can, then the next thing happen.
    pub(super) fn step(&mut self, case: &Case, stop: bool, events: &mut u64) -> disk::Result<Option<Finish>> {
        self.pump()?;
        if self.members.iter().all(|member| member.finish.is_some()) {
            let finishes = self.members.iter().filter_map(|member| member.finish);
            return Ok(finishes.reduce(|one, other| if one == Finish::Complete { other } else { one }));
        }
        if stop {
            *events += 1;
            self.tell_all(|| Event::Stop(StopBy::Signal))?;
            return Ok(None);
        }
        if case.checkpoint_every.is_some_and(|every| (*events + 1).is_multiple_of(every)) {
            self.tell_all(|| Event::Checkpoint)?;
            self.pump()?;
        }
        self.pass_time(case);
        let now = self.clock.now();
        let first = self.members.iter_mut().filter(|member| member.next_due().is_some_and(|due| due <= now));
        let Some(member) = first.min_by_key(|member| member.next_due()) else { return Ok(None) };
        let event = member.event_queue.borrow_mut().take(now, &mut member.processor)?;
        if let Some(event) = event {
            *events += 1;
            let answered = match &event {
                // it has no end yet, or is no URL of the crawl
                Event::Reply(Reply::Page(page)) if page.to_render.is_some() => None,
                Event::Reply(Reply::Page(page)) if page.job.target.is_prerequisite() => None,
                Event::Reply(Reply::Page(page)) => {
                    let names = Names::of(page.job.url.as_str(), &page.findings);
                    let Response { status, truncated, started, .. } = page.response;
                    let url = page.job.url.as_str().to_owned();
                    // a cookie wall leads back, and its page is asked for again
                    let leads_back = names.redirect.as_ref() == Some(&url);
                    self.named.push(names);
                    (!leads_back).then_some((url, started, (status, truncated)))
                }
                _ => None,
            };
            if member.finish.is_none() {
                member.engine.handle(event)?;
            }
            if let Some((url, started, (status, truncated))) = answered
                && moment::is_final(status, truncated.is_some())
            {
                self.stored = Some((url, started));
            }
        }
        Ok(None)
    }

    /// Lets each engine do what it can, then those again to which another one left a slot.
    fn pump(&mut self) -> disk::Result<()> {
        self.members.iter_mut().try_for_each(|member| member.pump(&mut self.named))?;
        while let Some(member) = self.members.iter_mut().find(|member| member.takes_slot()) {
            member.pump(&mut self.named)?;
        }
        Ok(())
    }

    fn tell_all(&mut self, event: impl Fn() -> Event) -> disk::Result<()> {
        let mut open = self.members.iter_mut().filter(|member| member.finish.is_none());
        open.try_for_each(|member| member.engine.handle(event()))
    }

    /// Moves the clock on to the next thing that happens, or that an engine can do.
    fn pass_time(&mut self, case: &Case) {
        let now = self.clock.now();
        let mut passed: Vec<Passed> = self.members.iter().map(|member| member.passed(now)).collect();
        let next = self.members.iter().filter_map(Member::next_due).min();
        let is_busy = self.members.iter().any(|member| member.finish.is_none() && member.engine.is_busy());
        let open = self.members.iter_mut().filter(|member| member.finish.is_none());
        let due = if is_busy { Some(now) } else { open.filter_map(|member| member.engine.next_due()).min() };
        let to = next.into_iter().chain(due).min().unwrap_or(now);
        if next.is_none_or(|next| next > now) {
            // what is due and cannot be done yet needs time to pass
            let least = Duration::from_millis(u64::from(!is_busy));
            self.clock.advance(to.since(now).max(least));
        }
        for (member, passed) in self.members.iter_mut().zip(&mut passed) {
            passed.until = self.clock.now();
            if let Err(violation) = member.idle.pass(passed, case) {
                self.idled = Some(violation);
            }
        }
    }

    /// No URL whose final answer is in the archive is asked for, or not before `gap_min` milliseconds.
    pub(super) fn watch(&mut self, network: &Network, gap_min: Option<u64>) -> Result<(), Violation> {
        for request in &network.log[self.seen.min(network.log.len())..] {
            // what robots.txt leads to is asked again when its rules have expired
            // nor has what is missing the interval of pages
            let page = network.web().expected().pages.get(&request.url);
            let page = page.is_some_and(|page| gap_min.is_none() || page.status < 400);
            let is_early = |&&done: &&Time| {
                gap_min.is_none_or(|gap_min| request.started.since(done) < Duration::from_millis(gap_min))
            };
            // a sitemap has told that it changed, where that is true; sitemaps have their own intervals
            let is_told = |&&done: &&Time| {
                let told = network.web().changed_by_sitemap(&request.url, by_web(request.start));
                gap_min.is_none() || told.is_none_or(|told| told <= done)
            };
            let is_page = page && (gap_min.is_none() || !network.is_map(&request.url));
            if is_page && self.done.get(&request.url).filter(is_early).filter(is_told).is_some() {
                let what = format!("{} is in the archive and was asked for again at {} ms", request.url, request.start);
                return Err(Violation::new(Clause::NothingTwice, what));
            }
        }
        self.seen = network.log.len();
        self.done.extend(self.stored.take());
        Ok(())
    }
}

impl Member {
    /// Takes in what others have noted for the shard, then what its archive has beyond its checkpoint; which pages
    /// those are goes to `replayed`.
    pub(super) fn replay(
        &mut self,
        recovery: Recovery,
        replayed: &RefCell<HashSet<(String, Time)>>,
    ) -> disk::Result<()> {
        let Member { engine, processor, event_queue, .. } = self;
        let forgets = event_queue.borrow().mistake == Some(Mistake::ForgetsRenderings);
        engine.from_shards().take_notes()?;
        let mut replayed = replayed.borrow_mut();
        let mut find = |url: &CanonicalUrl, purpose: Purpose<'_>, response: &Response, scope: &_| {
            let purpose = match purpose {
                Purpose::Rendered { depth, hops, .. } if forgets => Purpose::Page { depth, hops },
                purpose => purpose,
            };
            if let Purpose::Page { .. } | Purpose::Rendered { .. } = purpose {
                replayed.insert((url.as_str().to_owned(), response.started));
            }
            processor.findings(url, purpose, response, scope)
        };
        engine.replay(recovery, &mut find, &mut |_, _, _| {})?;
        engine.resend(&mut find, &mut |_, _| {})?;
        Ok(())
    }

    /// Lets the engine do what it can; what others have changed reaches it a while later.
    pub(super) fn pump(&mut self, named: &mut Vec<Names>) -> disk::Result<()> {
        if self.finish.is_some() {
            return Ok(());
        }
        if self.is_woken.swap(false, Ordering::Relaxed) {
            self.event_queue.borrow_mut().tell_soon(Event::HeadChanged);
        }
        self.engine.pump()?;
        let Member { engine, processor, .. } = self;
        engine.read_nearer(&mut |url, purpose, response, scope| {
            let findings = processor.findings(url, purpose, response, scope);
            named.push(Names::of(url.as_str(), &findings));
            findings
        })?;
        if let Phase::Done { finish } = self.engine.phase() {
            self.finish = Some(finish);
        }
        Ok(())
    }

    /// Returns whether another engine has left a slot to it since the last call.
    fn takes_slot(&self) -> bool {
        self.slot_is_free.swap(false, Ordering::Relaxed)
    }

    /// A stretch of time that begins `now`.
    fn passed(&self, now: Time) -> Passed {
        let idleness = self.engine.idleness().filter(|_| self.finish.is_none());
        Passed { idleness, round: self.engine.round_number(), since: now, until: now }
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.event_queue.borrow().next_due()
    }
}

//! The model of a configuration: the first state, what an engine knows in a state, and how states are made equal that
//! differ in nothing that matters.

use crawler::exchange::{Head as CodeHead, HeadAt, Idle, News, OutFile, Position, Reading, UpTo, Visible};

use super::bounds::{Bounds, Mistake};
use super::checkpoint::{Checkpoint, Contents, Id, LinkFile, OF_THIS_COMMIT};
use super::state::{Engine, Head, Kind, Replica, State, Step, Transaction};
use super::web::LIST;

/// A configuration with the contents that were met in it.
#[derive(Debug)]
pub struct Model {
    pub bounds: Bounds,
    pub contents: Contents,
}

impl Model {
    pub fn new(bounds: Bounds) -> Model {
        Model { bounds, contents: Contents::default() }
    }

    /// The crawl is made: heads of number 0, and nobody who owns anything.
    pub fn first(&self) -> State {
        // a registry that is lost has counted further than the one that is recovered
        let revision = if self.bounds.recover { self.bounds.shards as u8 + 2 } else { 0 };
        let mut state =
            State { revision, quota_left: self.bounds.quota, quota_revision: 1, era: 1, ..State::default() };
        for shard in 0..self.bounds.shards {
            let content = self.id(Checkpoint::first(self.bounds.web, shard));
            state.shards[shard].heads[0] = Head { content, ..Head::default() };
        }
        state
    }

    pub fn id(&self, content: Checkpoint) -> Id {
        self.contents.id(content)
    }

    pub fn of(&self, id: Id) -> Checkpoint {
        self.contents.of(id)
    }

    pub fn shards(&self) -> std::ops::Range<usize> {
        0..self.bounds.shards
    }

    pub fn nodes(&self) -> std::ops::Range<usize> {
        0..self.bounds.nodes
    }

    /// True if the end may still be undone.
    pub fn may_reopen(&self, state: &State) -> bool {
        self.bounds.reopens && state.list_at == 0
    }

    /// Returns the revision at which the link file of a checkpoint with this head was committed.
    ///
    /// A manifest has the revision of each file but its own, which has the revision of its head. Revisions of an
    /// earlier era mean nothing: the revision of the recovered head is taken for them.
    pub fn committed_at(&self, state: &State, head: Head, file: &LinkFile) -> u8 {
        let is_old = self.of(head.content).era != state.era && !self.bounds.makes(Mistake::RevisionsOfOldEra);
        if file.revision == OF_THIS_COMMIT || is_old { head.revision } else { file.revision }
    }

    /// Knowledge of the engine of the shard `me`: what the watch has brought, what it has committed itself, and what
    /// its node has of other shards.
    pub fn news(&self, state: &State, me: usize, engine: &Engine) -> News {
        let mut news = self.watched(state, me, engine.known);
        for shard in self.shards() {
            let number = if shard == me { engine.head } else { engine.heard[shard] };
            let head = state.shards[shard].heads[number as usize];
            if head.revision > engine.known {
                news.heads[shard] = Some(self.head_at(state, head));
            }
        }
        news
    }

    /// All heads that the watch has brought up to `revision`, for the shard `me`.
    pub fn watched(&self, state: &State, me: usize, revision: u8) -> News {
        let heads = self.shards().map(|shard| {
            let heads = &state.shards[shard].heads[..=usize::from(state.shards[shard].newest)];
            let head = *heads.iter().rev().find(|head| head.revision <= revision).unwrap_or(&heads[0]);
            let mut known = self.head_at(state, head);
            if self.bounds.makes(Mistake::RevisionOfHead) && shard != me {
                known.files.iter_mut().for_each(|visible| visible.revision = known.revision);
            }
            Some(known)
        });
        // a round is an input like a list: heads from before it say nothing of the end
        let round_at = if self.bounds.makes(Mistake::RoundIsNoInput) { 0 } else { state.round_at };
        let inputs = [state.list_at, round_at].into_iter().filter(|at| *at <= revision);
        let seeds_at = inputs.max().unwrap_or(0);
        News {
            known: UpTo::all(revision.into()),
            heads: heads.collect(),
            seeds: (seeds_at.into(), 0),
            ..News::default()
        }
    }

    fn head_at(&self, state: &State, head: Head) -> HeadAt {
        let content = self.of(head.content);
        let kept = content.files.iter().enumerate().filter(|(_, file)| !file.is_empty());
        let files = kept.map(|(number, file)| Visible {
            file: OutFile { number: number as u64, has_notes: file.has_notes },
            revision: self.committed_at(state, head, file).into(),
        });
        let said = CodeHead {
            number: content.number.into(),
            idle: if content.is_idle { Idle::Yes } else { Idle::No },
            read_to: UpTo::all(head.read_to.into()),
            positions: self.positions(&content),
            ..CodeHead::default()
        };
        let (revision, links_at) = (head.revision.into(), head.links_at.into());
        HeadAt { revision, links_at, head: said, files: files.collect() }
    }

    /// Positions in the links of each shard, as others hear of them. Mistakes about revisions do harm only where
    /// nobody looks at positions.
    fn positions(&self, content: &Checkpoint) -> Vec<Position> {
        let position = |&(number, frames): &(u8, u8)| match self.bounds.mistake.is_some_and(Mistake::is_of_revisions) {
            true => Position::behind(u64::from(u8::MAX)),
            false => Position { number: number.into(), frames: frames.into() },
        };
        content.positions[..self.bounds.shards].iter().map(position).collect()
    }

    /// Asks the rules of reading for `shard`, which has read as `work` says.
    pub fn reading<T>(&self, news: &News, work: &Checkpoint, shard: usize, ask: impl Fn(Reading<'_>) -> T) -> T {
        let position = |&(number, frames): &(u8, u8)| Position { number: number.into(), frames: frames.into() };
        let positions: Vec<Position> = work.positions[..self.bounds.shards].iter().map(position).collect();
        ask(Reading::new(news, &positions, shard as u32))
    }

    /// Everything up to this revision is read in `work`.
    pub fn read_to(&self, state: &State, engine: &Engine, work: &Checkpoint, shard: usize) -> u8 {
        let news = self.news(state, shard, engine);
        let is_unbounded = self.bounds.makes(Mistake::ReadBeyondKnown) || self.bounds.makes(Mistake::RevisionsOfOldEra);
        let first = self.reading(&news, work, shard, |rules| rules.next(&[]));
        if let Some((sender, at)) = first.filter(|_| is_unbounded) {
            let files = news.heads[sender as usize].iter().flat_map(|head| &head.files);
            let unread = files.filter(|visible| visible.file.number == at.number).map(|visible| visible.revision);
            return unread.max().map_or(0, |first| first as u8 - 1);
        }
        if self.bounds.makes(Mistake::RevisionOfHeader) && self.reading(&news, work, shard, |rules| rules.is_done()) {
            return state.revision;
        }
        self.reading(&news, work, shard, |rules| rules.read_to()).last() as u8
    }

    /// The engine hears of everything up to `revision`.
    pub fn hear(&self, state: &State, engine: &mut Engine, shard: usize, revision: u8) {
        engine.known = revision;
        let happened = |at: u8| at != 0 && at <= revision;
        if !happened(state.list_at) && !happened(state.round_at) {
            return;
        }
        let mut work = self.of(engine.work);
        let owned = || self.bounds.web.iter().enumerate().filter(|(_, page)| page.owner == shard);
        if happened(state.list_at) && !work.has_list {
            work.has_list = true;
            work.scope |= LIST;
            owned().filter(|(_, page)| page.is_late_seed).for_each(|(at, _)| work.queue(at, work.round));
        }
        if happened(state.round_at) {
            // a shard without seeds enters the round with the first link that brings it
            for (at, _) in owned().filter(|(_, page)| page.is_seed) {
                work.round = 1;
                work.queue(at, 1);
            }
        }
        engine.work = self.id(work);
    }

    /// The same state, without what makes no difference: the order of nodes, transactions that can change nothing and
    /// for which nobody waits, contents of objects that are gone.
    pub fn settled(&self, mut state: State) -> State {
        let from = state;
        for (shard, shared) in state.shards[..self.bounds.shards].iter_mut().enumerate() {
            for replica in state.nodes[..self.bounds.nodes].iter_mut().map(|node| &mut node[shard]) {
                if replica.engine.claim == 0 {
                    continue;
                }
                if !self.bounds.deposed && replica.engine.claim != shared.owner {
                    replica.engine = Engine::default();
                } else if !self.bounds.lag {
                    self.hear(&from, &mut replica.engine, shard, from.revision);
                }
                let known = replica.engine.known;
                for (heard, of) in replica.engine.heard.iter_mut().zip(&from.shards) {
                    if of.heads[*heard as usize].revision <= known {
                        *heard = 0;
                    }
                }
            }
            for (claim, contents) in shared.contents.iter_mut().enumerate().skip(1) {
                for (number, content) in contents.iter_mut().enumerate().skip(1) {
                    if !super::checkpoint::of_checkpoint(shared.objects, claim as u8, number as u8) {
                        *content = 0;
                    }
                }
            }
        }
        for at in 0..state.in_flight.len() {
            if self.is_void(&state, state.in_flight[at]) {
                state.in_flight[at] = Transaction::default();
            }
        }
        state.in_flight.sort_unstable();
        if self.bounds.homes.is_none() {
            state.nodes[..self.bounds.nodes].sort_unstable();
        }
        state
    }

    /// True if nothing comes of the transaction, whenever it arrives.
    fn is_void(&self, state: &State, transaction: Transaction) -> bool {
        let Transaction { kind, shard, claim, .. } = transaction;
        if kind == Kind::Nothing {
            return true;
        }
        let waits = |replica: &Replica| {
            let engine = &replica.engine;
            engine.claim == claim
                && match kind {
                    Kind::Commit => engine.step == Step::Sent && engine.cut != 0,
                    Kind::Grant | Kind::GiveBack => engine.asks != 0,
                    _ => false,
                }
        };
        let is_awaited = claim != 0 && state.nodes.iter().any(|node| waits(&node[shard as usize]));
        !is_awaited && !self.applies(state, transaction)
    }

    /// True if it would change something if it arrived now.
    pub fn applies(&self, state: &State, transaction: Transaction) -> bool {
        let Transaction { kind, shard, claim, expects, .. } = transaction;
        let shared = &state.shards[shard as usize];
        let is_owner = shared.owner == claim;
        match kind {
            Kind::Nothing => false,
            Kind::Commit => {
                (is_owner || self.bounds.makes(Mistake::HeadWithoutClaim)) && shared.head().revision == expects
            }
            Kind::Release => is_owner || self.bounds.makes(Mistake::UncheckedRelease),
            Kind::End => !state.has_ended && (want(state) == expects || self.bounds.makes(Mistake::EndWithoutWant)),
            Kind::Grant => is_owner && state.quota_revision == expects && state.quota_left > 0,
            Kind::GiveBack => {
                (is_owner || self.bounds.makes(Mistake::GiveBackWithoutClaim)) && state.quota_revision == expects
            }
        }
    }
}

/// Number of times that `want` was changed.
pub fn want(state: &State) -> u8 {
    want_at(state, state.revision)
}

/// The same, as known at `revision`.
pub fn want_at(state: &State, revision: u8) -> u8 {
    let happened = |at: u8| u8::from(at != 0 && at <= revision);
    happened(state.list_at) + happened(state.round_at)
}

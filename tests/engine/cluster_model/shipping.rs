//! Steps 5 to 7 of a checkpoint: objects, the commit, what is deleted behind it; the sweep, and the hand-over.

use super::bounds::Mistake;
use super::checkpoint::{Checkpoint, Id, Name, OF_THIS_COMMIT};
use super::model::Model;
use super::moves::{Action, Moves};
use super::ownership::next_deleted;
use super::state::{Engine, Kind, Late, Shared, State, Step, Transaction};

impl Moves<'_> {
    pub fn shipping(&mut self, node: usize, shard: usize) {
        let engine = self.replica(node, shard).engine;
        if engine.cut != 0 {
            match engine.step {
                Step::Cut => {
                    let mut state = *self.from;
                    self.model.make_durable(&mut state, node, shard);
                    self.add(Action::new("has the checkpoint on its disk").node(node).shard(shard), state);
                }
                Step::Sent => self.sends_again(node, shard),
                Step::ManifestShipped => self.sends(node, shard, *self.from),
                _ => self.ships(node, shard),
            }
        }
        self.deletes(node, shard);
        self.sweeps(node, shard);
        self.hands_over(node, shard);
    }

    /// Puts the next object, or all and the transaction.
    fn ships(&mut self, node: usize, shard: usize) {
        let mut state = *self.from;
        loop {
            let engine = state.nodes[node][shard].engine;
            let Some((bit, content)) = self.model.next_put(self.from, &engine, shard) else { break };
            state.nodes[node][shard].engine.step = match Name::of(bit.trailing_zeros()).0 {
                Name::Pack => Step::PackShipped,
                Name::Links => Step::LinksShipped,
                Name::Manifest => Step::ManifestShipped,
            };
            let name = Name::list(bit);
            if self.model.bounds.store_doubt {
                self.puts_in_doubt(node, shard, bit, content);
            }
            if let Err(broken) = put(&mut state.shards[shard], bit, content) {
                let action = Action::new("ships").node(node).shard(shard);
                return self.add_or_break(action, state, Some(format!("{broken}: {name}")));
            }
            if self.model.bounds.fine {
                return self.add(Action::new("ships the next object").node(node).shard(shard), state);
            }
        }
        self.sends(node, shard, state);
    }

    /// An object is put, and no answer comes: it is put again, when the first sending has arrived or before that.
    fn puts_in_doubt(&mut self, node: usize, shard: usize, bit: u64, content: Id) {
        let mut arrived = *self.from;
        if put(&mut arrived.shards[shard], bit, content).is_ok() {
            self.add(Action::new("ships the next object").node(node).shard(shard).unanswered(), arrived);
        }
        self.is_in_transit("ships the next object, which is on its way", node, shard, bit, content);
    }

    /// A put, or a deletion where there is no content, arrives later.
    fn is_in_transit(&mut self, what: &'static str, node: usize, shard: usize, bit: u64, content: Id) {
        if self.from.late.object == 0 {
            let late = Late { shard: shard as u8, object: bit.trailing_zeros() as u8 + 1, content };
            self.add(Action::new(what).node(node).shard(shard), State { late, ..*self.from });
        }
    }

    /// Notes the checkpoint as offered, and sends the transaction.
    fn sends(&mut self, node: usize, shard: usize, mut state: State) {
        let shipped = self.model.shipped(self.from, &self.replica(node, shard).engine, shard);
        let replica = &mut state.nodes[node][shard];
        replica.directory.offered = (shipped.claim, shipped.number);
        replica.engine.step = Step::Sent;
        if self.model.bounds.makes(Mistake::DeletionBeforeCommit) {
            replica.engine.todo |= self.model.superseded(&self.from.shards[shard], &replica.engine, &shipped);
        }
        let transaction = self.model.commit_of(&state, &state.nodes[node][shard].engine, shard);
        if state.send(transaction) {
            let action = Action::new("offers checkpoint").node(node).shard(shard).detail(shipped.number);
            self.add(action, state);
        }
    }

    /// No answer has come.
    fn sends_again(&mut self, node: usize, shard: usize) {
        if !self.model.bounds.doubt {
            return;
        }
        let engine = self.replica(node, shard).engine;
        let transaction = self.model.commit_of(self.from, &engine, shard);
        let mut state = *self.from;
        if self.from.copies(transaction) < 2 && state.send(transaction) {
            self.add(Action::new("sends the transaction again").node(node).shard(shard), state);
        }
        let is_head_before = self.from.shards[shard].newest == engine.head;
        if self.model.bounds.makes(Mistake::ReadIsAnswer) && is_head_before {
            self.cuts_again(node, shard, Action::new("reads the head before, and makes the checkpoint again"));
        }
    }

    /// Uses the number for another checkpoint, by mistake.
    fn cuts_again(&mut self, node: usize, shard: usize, action: Action) {
        let mut state = *self.from;
        state.nodes[node][shard].engine = self.model.without_cut(&self.replica(node, shard).engine);
        self.add(action.node(node).shard(shard), state);
    }

    fn deletes(&mut self, node: usize, shard: usize) {
        let todo = self.replica(node, shard).engine.todo;
        if todo == 0 {
            return;
        }
        let now = if self.model.bounds.fine { next_deleted(todo) } else { todo };
        let mut state = *self.from;
        state.nodes[node][shard].engine.todo &= !now;
        state.shards[shard].objects &= !now;
        let action = Action::new("deletes what its head does not name").node(node).shard(shard);
        self.add(action, state);
        if self.model.bounds.store_doubt {
            let mut arrived = *self.from;
            arrived.shards[shard].objects &= !now;
            self.add(action.unanswered(), arrived);
            self.is_in_transit("deletes an object, which is on its way", node, shard, next_deleted(todo), 0);
        }
    }

    fn sweeps(&mut self, node: usize, shard: usize) {
        let engine = self.replica(node, shard).engine;
        let shared = &self.from.shards[shard];
        if !self.model.bounds.sweep || engine.has_swept {
            return;
        }
        let is_old = self.model.bounds.makes(Mistake::SweepByOldHead);
        let number = engine.claimed.saturating_sub(u8::from(is_old));
        let named = self.model.of(shared.heads[number as usize].content).names();
        let own = u64::from(engine.name - 1) * u64::from(Name::OF_CLAIM);
        let earlier = (1 << own) - 1;
        let candidates = match self.model.bounds.mistake {
            Some(Mistake::SweepOfAllClaims) => !(((1 << Name::OF_CLAIM) - 1) << own),
            _ => earlier,
        };
        let garbage = shared.objects & candidates & !named;
        if garbage != 0 {
            let action = Action::new("lists what nobody names");
            self.change(action, node, shard, |replica| {
                replica.engine.todo |= garbage;
                replica.engine.has_swept = true;
            });
        }
    }

    /// Everything is committed, and the shard goes.
    fn hands_over(&mut self, node: usize, shard: usize) {
        let replica = self.replica(node, shard);
        let shared = &self.from.shards[shard];
        let has_more = replica.directory.archive.iter().any(|page| page.number != 0);
        let may_return = shared.claims < self.model.bounds.claims[shard];
        if !self.model.bounds.hand_over || replica.engine.cut != 0 || has_more || !may_return {
            return;
        }
        let mut state = *self.from;
        let claim = replica.engine.claim;
        state.nodes[node][shard].engine = Engine::default();
        let transaction = Transaction { kind: Kind::Release, shard: shard as u8, claim, ..Transaction::default() };
        if state.send(transaction) {
            self.add(Action::new("hands over").node(node).shard(shard), state);
        }
    }
}

/// Puts an object: a name is used once.
pub fn put(shared: &mut Shared, bit: u64, content: Id) -> Result<(), &'static str> {
    let (_, claim, number) = Name::of(bit.trailing_zeros());
    let there = &mut shared.contents[claim as usize][number as usize];
    if *there != 0 && *there != content {
        return Err("a name is used twice");
    }
    *there = content;
    shared.objects |= bit;
    Ok(())
}

impl Model {
    /// The checkpoint under way, as it is shipped under the engine's claim.
    pub fn shipped(&self, state: &State, engine: &Engine, shard: usize) -> Checkpoint {
        let mut shipped = self.of(engine.cut);
        if shipped.era != state.era && !self.bounds.makes(Mistake::FiguresOfOldEra) {
            // revisions of an earlier era mean nothing
            shipped.read_to = 0;
            if shipped.links_at != OF_THIS_COMMIT {
                shipped.links_at = state.shards[shard].heads[engine.head as usize].links_at;
            }
        }
        (shipped.claim, shipped.era) = (engine.name, state.era);
        let number = shipped.number as usize;
        if !shipped.files[number].is_empty() {
            shipped.files[number].claim = engine.name;
        }
        shipped
    }

    /// The next object of the checkpoint under way.
    pub fn next_put(&self, state: &State, engine: &Engine, shard: usize) -> Option<(u64, Id)> {
        if engine.cut == 0 || !(Step::Durable..Step::ManifestShipped).contains(&engine.step) {
            return None;
        }
        let shipped = self.shipped(state, engine, shard);
        let has_links = !shipped.files[shipped.number as usize].is_empty();
        let name = match engine.step {
            Step::Durable => Name::Pack,
            Step::PackShipped if has_links => Name::Links,
            _ => Name::Manifest,
        };
        Some((name.bit(shipped.claim, shipped.number), self.id(shipped)))
    }

    /// The transaction of step 6.
    pub fn commit_of(&self, state: &State, engine: &Engine, shard: usize) -> Transaction {
        let expects = state.shards[shard].heads[engine.head as usize].revision;
        let content = self.id(self.shipped(state, engine, shard));
        Transaction { kind: Kind::Commit, shard: shard as u8, claim: engine.claim, expects, content }
    }

    /// Objects that the engine's head names and `shipped` does not.
    fn superseded(&self, shared: &Shared, engine: &Engine, shipped: &Checkpoint) -> u64 {
        self.of(shared.heads[engine.head as usize].content).names() & !shipped.names()
    }

    /// The engine knows that its checkpoint is the head.
    pub fn has_committed(&self, state: &mut State, node: usize, shard: usize) {
        let engine = state.nodes[node][shard].engine;
        let shared = &state.shards[shard];
        let shipped = self.shipped(state, &engine, shard);
        let head = shared.heads[shipped.number as usize];
        let todo = self.superseded(shared, &engine, &shipped);
        let mut work = self.of(engine.work);
        let file = &mut work.files[shipped.number as usize];
        if !file.is_empty() {
            (file.claim, file.revision) = (engine.name, head.revision);
        }
        work.pack_before = engine.name;
        let replica = &mut state.nodes[node][shard];
        replica.directory.committed = (shipped.claim, shipped.number);
        replica.directory.offered = (0, 0);
        let engine = &mut replica.engine;
        engine.todo |= todo;
        (engine.head, engine.work, engine.cut, engine.step) = (shipped.number, self.id(work), 0, Step::Cut);
        if self.bounds.own_first {
            let others = state.nodes[node].iter_mut().filter(|other| other.engine.claim != 0);
            others.for_each(|other| other.engine.heard[shard] = shipped.number);
        }
    }

    /// Returns the engine as it would be without its checkpoint under way.
    pub fn without_cut(&self, engine: &Engine) -> Engine {
        let mut work = self.of(engine.work);
        let number = work.number as usize;
        let later = std::mem::take(&mut work.files[number + 1]);
        let file = &mut work.files[number];
        file.has_notes |= later.has_notes;
        for link in later.links.into_iter().flatten() {
            if let Some(free) = file.links.iter_mut().find(|free| free.is_none()) {
                *free = Some(link);
            }
        }
        (file.claim, file.revision) = (0, 0);
        work.number -= 1;
        Engine { work: self.id(work), cut: 0, step: Step::Cut, ..*engine }
    }
}

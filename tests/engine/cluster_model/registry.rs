//! Moves between the nodes: transactions arrive, leases end, operators act, registries are lost; the quota.

use super::bounds::Mistake;
use super::checkpoint::{Name, OF_THIS_COMMIT};
use super::model::{Model, want_at};
use super::moves::{Action, Moves};
use super::shipping::put;
use super::state::{Engine, Head, Kind, Late, Shared, State, Step, Transaction};

/// Pages that are granted at once.
const QUOTA_BLOCK: u8 = 2;

impl Moves<'_> {
    pub fn of_registry(&mut self) {
        for shard in self.model.shards() {
            self.lease_ends(shard);
        }
        for at in 0..self.from.in_flight.len() {
            let transaction = self.from.in_flight[at];
            let is_first = at == 0 || self.from.in_flight[at - 1] != transaction;
            if transaction.kind != Kind::Nothing && is_first {
                self.arrives(at, transaction);
            }
        }
        self.lands_late();
        self.operator_acts();
        if self.model.bounds.recover && self.from.era == 1 && self.from.late.object == 0 {
            let (state, broken) = self.model.recovered(self.from);
            self.add_or_break(Action::new("the registry is lost and recovered from the store"), state, broken);
        }
        if self.model.bounds.makes(Mistake::SnapshotRestored) && !self.from.restored && self.from.revision > 0 {
            self.add(Action::new("an older state of the registry is put back"), restored(self.from));
        }
    }

    /// A lease ends: by itself, or because its process is gone.
    fn lease_ends(&mut self, shard: usize) {
        let shared = &self.from.shards[shard];
        let lives = self.from.nodes.iter().any(|node| node[shard].engine.claim == shared.owner);
        let is_due = shared.owner != 0 && shared.claims < self.model.bounds.claims[shard];
        if is_due && (self.model.bounds.expiry || !lives) {
            let mut state = *self.from;
            state.shards[shard].owner = 0;
            self.add(Action::new("the owner's lease ends").shard(shard), state);
        }
    }

    /// A transaction arrives, and its answer too, or not.
    fn arrives(&mut self, at: usize, transaction: Transaction) {
        let mut state = *self.from;
        state.in_flight[at] = Transaction::default();
        let shard = transaction.shard as usize;
        let applies = self.model.applies(&state, transaction);
        let broken = if applies { self.model.apply(&mut state, transaction) } else { None };
        let what = match (transaction.kind, applies) {
            (Kind::Commit, true) => "the commit is done, of shard",
            (Kind::Commit, false) => "the commit is refused, of shard",
            (Kind::Release, _) => "owner is deleted, of shard",
            (Kind::End, true) => "the end is put, shard",
            (Kind::End, false) => "the end is refused, shard",
            (_, true) => "the quota is moved, of shard",
            (_, false) => "the quota is not moved, of shard",
        };
        let action = Action::new(what).detail(shard);
        if broken.is_some() {
            return self.add_or_break(action, state, broken);
        }
        let node = self.model.nodes().find(|&node| self.waits(node, shard, transaction));
        if node.is_none() || self.model.bounds.doubt {
            self.add(if node.is_some() { action.unanswered() } else { action }, state);
        }
        if let Some(node) = node {
            self.answered(action, state, node, shard, transaction, applies);
        }
    }

    fn waits(&self, node: usize, shard: usize, transaction: Transaction) -> bool {
        let engine = &self.from.nodes[node][shard].engine;
        engine.claim == transaction.claim
            && match transaction.kind {
                Kind::Commit => {
                    engine.cut != 0
                        && engine.step == Step::Sent
                        && self.model.commit_of(self.from, engine, shard) == transaction
                }
                Kind::Grant | Kind::GiveBack => engine.asks == transaction.expects + 1,
                _ => false,
            }
    }

    fn answered(
        &mut self,
        action: Action,
        mut state: State,
        node: usize,
        shard: usize,
        transaction: Transaction,
        applies: bool,
    ) {
        if transaction.kind != Kind::Commit {
            // an answer of either kind says what there is
            let granted = state.shards[shard].granted;
            let engine = &mut state.nodes[node][shard].engine;
            (engine.granted, engine.asks) = (granted, 0);
            return self.add(action, state);
        }
        let is_head = state.shards[shard].head().content == transaction.content;
        let is_wrong = self.model.bounds.makes(Mistake::SecondSendingIsRefusal) && !applies;
        if is_head && !is_wrong {
            self.model.has_committed(&mut state, node, shard);
        } else if is_head {
            let engine = &mut state.nodes[node][shard].engine;
            *engine = self.model.without_cut(engine);
        } else {
            if self.model.bounds.makes(Mistake::RefusedIsDeleted) {
                let number = self.model.of(transaction.content).number;
                let name = state.nodes[node][shard].engine.name;
                Name::ALL.iter().for_each(|kind| state.shards[shard].objects &= !kind.bit(name, number));
            }
            state.nodes[node][shard].engine = Engine::default();
        }
        self.add(action, state);
    }

    fn lands_late(&mut self) {
        let Late { shard, object, content } = self.from.late;
        if object == 0 {
            return;
        }
        let mut state = *self.from;
        state.late = Late::default();
        let bit = 1_u64 << (object - 1);
        let shared = &mut state.shards[shard as usize];
        let broken = match content {
            0 => {
                shared.objects &= !bit;
                None
            }
            content => put(shared, bit, content).err().map(|broken| format!("{broken}: {}", Name::list(bit))),
        };
        self.add_or_break(Action::new("what is on its way to the store lands").shard(shard.into()), state, broken);
    }

    fn operator_acts(&mut self) {
        let (bounds, from) = (&self.model.bounds, self.from);
        let revision = from.revision + 1;
        if bounds.list && from.list_at == 0 {
            let has_ended = from.has_ended && bounds.makes(Mistake::ListLeavesEnd);
            let state = State { list_at: revision, revision, has_ended, ..*from };
            self.add(Action::new("a list of seeds comes"), state);
        }
        if bounds.force && from.round_at == 0 {
            self.add(Action::new("a round is begun"), State { round_at: revision, revision, ..*from });
        }
    }

    /// Adds what an engine asks the registry for apart from commits: the end, and pages.
    pub fn asking(&mut self, node: usize, shard: usize) {
        let engine = self.replica(node, shard).engine;
        let expects = want_at(self.from, engine.known);
        let end = Transaction { kind: Kind::End, expects, ..Transaction::default() };
        let is_sent = self.from.in_flight.iter().any(|transaction| transaction.kind == Kind::End);
        if !is_sent && !self.from.has_ended && self.model.watched(self.from, shard, engine.known).is_end().is_some() {
            let mut state = *self.from;
            if state.send(end) {
                self.add(Action::new("sees the end").node(node).shard(shard), state);
            }
        }
        if self.model.bounds.quota != 0 {
            self.asks_for_pages(node, shard);
        }
    }

    fn asks_for_pages(&mut self, node: usize, shard: usize) {
        let engine = self.replica(node, shard).engine;
        let work = self.model.of(engine.work);
        let expects = self.from.quota_revision;
        let base = Transaction { shard: shard as u8, claim: engine.claim, expects, ..Transaction::default() };
        if engine.asks != 0 {
            if self.model.bounds.doubt && expects != engine.asks - 1 {
                // it was done, or never will be: what there is now is the answer
                let granted = self.from.shards[shard].granted;
                let action = Action::new("reads how many pages it has");
                self.change(action, node, shard, |replica| {
                    (replica.engine.granted, replica.engine.asks) = (granted, 0)
                });
            }
            return;
        }
        let wants = work.has_queued() && work.pages() >= engine.granted && self.from.quota_left > 0;
        let head = self.model.of(self.from.shards[shard].heads[engine.head as usize].content);
        // a directory that goes on from an earlier head may have more pages
        let is_own = engine.head > engine.claimed || self.model.bounds.makes(Mistake::GiveBackByOldHead);
        let is_idle =
            is_own && head.is_idle && head.urls == work.urls && engine.cut == 0 && engine.granted > work.pages();
        let (kind, kept, what) = match () {
            () if wants => (Kind::Grant, engine.granted, "asks for pages"),
            () if is_idle => (Kind::GiveBack, work.pages(), "gives pages back"),
            () => return,
        };
        let mut state = *self.from;
        let asking = &mut state.nodes[node][shard].engine;
        asking.asks = expects + 1;
        if !self.model.bounds.makes(Mistake::GiveBackInDoubt) {
            // what may be given back is not used meanwhile
            asking.granted = kept;
        }
        if state.send(Transaction { kind, content: kept.into(), ..base }) {
            self.add(Action::new(what).node(node).shard(shard), state);
        }
    }
}

impl Model {
    /// Does what `transaction` asks for, whose checks hold; says what invariant that breaks.
    fn apply(&self, state: &mut State, transaction: Transaction) -> Option<String> {
        let Transaction { kind, shard, claim, content, .. } = transaction;
        let shared = &mut state.shards[shard as usize];
        match kind {
            Kind::Nothing => {}
            Kind::Commit => {
                let shipped = self.of(content);
                if shipped.number != shared.newest + 1 {
                    return Some(format!("the head goes from {} to {}", shared.newest, shipped.number));
                }
                if shared.owner != claim {
                    return Some(format!(
                        "claim {claim} moves the head of shard {shard}, which claim {} owns",
                        shared.owner
                    ));
                }
                state.revision += 1;
                let revision = state.revision;
                let links_at = if shipped.links_at == OF_THIS_COMMIT { revision } else { shipped.links_at };
                shared.newest += 1;
                shared.heads[shared.newest as usize] = Head { content, revision, read_to: shipped.read_to, links_at };
            }
            Kind::Release if shared.owner != claim && shared.owner != 0 => {
                return Some(format!("claim {claim} removes claim {} of shard {shard}", shared.owner));
            }
            Kind::Release => shared.owner = 0,
            Kind::End => state.has_ended = true,
            Kind::Grant => {
                let block = state.quota_left.min(QUOTA_BLOCK);
                state.quota_left -= block;
                shared.granted += block;
                state.quota_revision += 1;
            }
            Kind::GiveBack => {
                state.quota_left += shared.granted - content as u8;
                shared.granted = content as u8;
                state.quota_revision += 1;
            }
        }
        None
    }

    /// The registry with heads that the store has: of each shard the newest checkpoint whose objects are all there.
    fn recovered(&self, from: &State) -> (State, Option<String>) {
        let mut state = *from;
        state.era += 1;
        state.in_flight = Default::default();
        state.nodes.iter_mut().flatten().for_each(|replica| replica.engine = Engine::default());
        state.revision = self.bounds.shards as u8;
        for shard in self.shards() {
            if let Err(broken) = self.recover_shard(&mut state.shards[shard], shard) {
                return (state, Some(broken));
            }
        }
        for at in [&mut state.list_at, &mut state.round_at].into_iter().filter(|at| **at != 0) {
            state.revision += 1;
            *at = state.revision;
        }
        (state, None)
    }

    fn recover_shard(&self, shared: &mut Shared, shard: usize) -> Result<(), String> {
        shared.owner = 0;
        if self.bounds.makes(Mistake::RecoverWithoutEra) {
            shared.claims_before = shared.claims;
        }
        let manifests = (0..u64::BITS - 1).filter(|bit| shared.objects >> bit & 1 == 1);
        let of = |bit: u32| match Name::of(bit) {
            (Name::Manifest, claim, number) => Some(shared.contents[claim as usize][number as usize]),
            _ => None,
        };
        let is_whole = |content: &u32| {
            let missing = self.of(*content).names() & !shared.objects;
            missing == 0 || self.bounds.makes(Mistake::RecoverUnchecked)
        };
        let newest = manifests.filter_map(of).filter(is_whole).max_by_key(|content| {
            let content = self.of(*content);
            (content.claim, content.number)
        });
        let number = newest.map_or(0, |content| self.of(content).number);
        if number < shared.newest || number > shared.newest + 1 {
            return Err(format!("shard {shard} had head {} and is recovered as {number}", shared.newest));
        }
        if let Some(content) = newest.filter(|_| number > shared.newest) {
            shared.heads[number as usize].content = content;
        }
        if newest.is_some_and(|content| content != shared.heads[number as usize].content) {
            return Err(format!("shard {shard} is recovered with another checkpoint {number}"));
        }
        shared.newest = number;
        for head in &mut shared.heads {
            (head.revision, head.links_at, head.read_to) = (0, 0, 0);
        }
        let head = &mut shared.heads[number as usize];
        head.revision = shard as u8 + 1;
        head.links_at = head.revision;
        if self.bounds.makes(Mistake::RecoverKeepsReadTo) {
            head.read_to = self.of(head.content).read_to;
        }
        Ok(())
    }
}

/// The registry as it was before the last commit.
fn restored(from: &State) -> State {
    let mut state = State { restored: true, revision: from.revision - 1, ..*from };
    state.in_flight = Default::default();
    state.nodes.iter_mut().flatten().for_each(|replica| replica.engine = Engine::default());
    for shared in &mut state.shards {
        shared.owner = 0;
        if shared.head().revision > state.revision {
            shared.heads[shared.newest as usize] = Head::default();
            shared.newest -= 1;
        }
    }
    state
}

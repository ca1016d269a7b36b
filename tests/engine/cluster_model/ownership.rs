//! Claims, openings, and how nodes end.

use super::bounds::Mistake;
use super::checkpoint::{Checkpoint, Name};
use super::model::Model;
use super::moves::{Action, Moves};
use super::state::{Archived, Directory, Engine, Head, Late, Replica, State, Step};
use super::web::LIST;

/// A claim under which a shard is opened.
#[derive(Clone, Copy)]
struct Claim {
    number: u8,
    /// Number that stands in for it in names.
    name: u8,
}

impl Moves<'_> {
    /// A node without an engine of the shard.
    pub fn of_claim(&mut self, node: usize, shard: usize) {
        let shared = &self.from.shards[shard];
        if self.from.has_ended || self.model.bounds.homes.is_some_and(|homes| homes[shard] != node) {
            return;
        }
        if shared.owner == 0 && shared.claims < self.model.bounds.claims[shard] {
            let mut state = *self.from;
            let claim = shared.claims + 1;
            (state.shards[shard].owner, state.shards[shard].claims) = (claim, claim);
            let name = match self.model.bounds.mistake {
                Some(Mistake::ClaimFromHead) => self.model.of(shared.head().content).claim + 1,
                _ => claim - shared.claims_before,
            };
            if self.model.bounds.doubt && claim < self.model.bounds.claims[shard] {
                self.add(Action::new("claims").node(node).shard(shard).unanswered(), state);
            }
            let action = Action::new("claims and opens, claim").detail(claim);
            self.open(action, state, node, shard, Claim { number: claim, name });
        }
        let is_open = self.from.nodes.iter().any(|other| other[shard].engine.claim == shared.owner);
        if self.model.bounds.makes(Mistake::ClaimOpenedTwice) && shared.owner != 0 && !is_open {
            let action = Action::new("opens again under claim").detail(shared.owner);
            let claim = Claim { number: shared.owner, name: shared.owner };
            self.open(action, *self.from, node, shard, claim);
        }
    }

    fn open(&mut self, action: Action, mut state: State, node: usize, shard: usize, claim: Claim) {
        let opened = self.model.open(&state, &state.nodes[node][shard], shard, claim);
        let action = action.node(node).shard(shard);
        match opened {
            Ok(replica) => {
                state.nodes[node][shard] = replica;
                if self.model.bounds.own_first {
                    // the node has waited until its watch had brought everything up to the claim
                    for (hearer, replica) in state.nodes[node].iter_mut().enumerate() {
                        if replica.engine.claim != 0 {
                            self.model.hear(self.from, &mut replica.engine, hearer, self.from.revision);
                        }
                    }
                }
                self.add(action, state);
            }
            Err(broken) => self.add_or_break(action, state, Some(broken)),
        }
    }

    /// Adds the moves of a node as a whole.
    pub fn of_node(&mut self, node: usize) {
        let (bounds, from) = (&self.model.bounds, self.from);
        let runs = from.nodes[node].iter().any(|replica| replica.engine.claim != 0);
        let has_disk = from.nodes[node].iter().any(|replica| replica.directory.checkpoint != 0);
        if runs && from.kills < bounds.kills {
            let mut state = *from;
            state.kills += 1;
            state.nodes[node].iter_mut().for_each(|replica| replica.engine = Engine::default());
            self.add(Action::new("is killed").node(node), state);
            self.killed_late(node, &state);
        }
        if runs && from.power_cuts < bounds.power_cuts {
            let mut state = *from;
            state.power_cuts += 1;
            for replica in &mut state.nodes[node] {
                replica.engine = Engine::default();
                replica.directory.archive = Default::default();
            }
            self.add(Action::new("loses power, and what was not synced").node(node), state);
        }
        if has_disk && from.losses < bounds.losses {
            let mut state = *from;
            state.losses += 1;
            state.nodes[node] = Default::default();
            self.add(Action::new("is lost with its disk").node(node), state);
        }
    }

    /// The same with a put or a deletion on its way.
    fn killed_late(&mut self, node: usize, killed: &State) {
        if !self.model.bounds.late || killed.late.object != 0 {
            return;
        }
        for shard in self.model.shards() {
            let engine = self.from.nodes[node][shard].engine;
            if engine.claim == 0 {
                continue;
            }
            if let Some((bit, content)) = self.model.next_put(self.from, &engine, shard) {
                let late = Late { shard: shard as u8, object: bit.trailing_zeros() as u8 + 1, content };
                self.add(Action::new("is killed, its put is on its way").node(node), State { late, ..*killed });
            }
            if engine.todo != 0 {
                let object = next_deleted(engine.todo).trailing_zeros() as u8 + 1;
                let late = Late { shard: shard as u8, object, content: 0 };
                self.add(Action::new("is killed, its deletion is on its way").node(node), State { late, ..*killed });
            }
        }
    }
}

/// The object that goes first: manifests before what they name.
pub fn next_deleted(todo: u64) -> u64 {
    let is_manifest = |bit: &u32| todo >> bit & 1 == 1 && Name::of(*bit).0 == Name::Manifest;
    let bit = (0..u64::BITS - 1).find(is_manifest).unwrap_or(todo.trailing_zeros());
    1 << bit
}

impl Model {
    /// Opens the shard under `claim`, from the directory if that is of the head, else from
    /// the store.
    fn open(&self, state: &State, replica: &Replica, shard: usize, claim: Claim) -> Result<Replica, String> {
        let head = state.shards[shard].head();
        let shipped = self.of(head.content);
        let key = (shipped.claim, shipped.number);
        let directory = replica.directory;
        let local = (directory.checkpoint != 0).then(|| self.of(directory.checkpoint));
        let is_noted = match self.bounds.mistake {
            Some(Mistake::DirectoryByNumber) => directory.committed.1.max(directory.offered.1) == key.1,
            _ => directory.committed == key,
        };
        let local = local.filter(|local| {
            let is_ahead = local.number == key.1 || local.number == key.1 + 1;
            (is_noted && is_ahead) || (directory.offered == key && local.number == key.1)
        });
        let (content, archive, is_cut) = match local {
            Some(local) => (local, directory.archive, local.number > key.1),
            None => {
                let missing = shipped.names() & !state.shards[shard].objects;
                if missing != 0 {
                    return Err(format!("the new owner misses {} of the head", Name::list(missing)));
                }
                (shipped, Default::default(), false)
            }
        };
        let content = self.with_files_of(state, head, content);
        let checkpoint = self.id(content);
        let directory = Directory { checkpoint, committed: key, offered: (0, 0), archive };
        let granted = match self.bounds.mistake {
            Some(Mistake::QuotaFromClaim) => state.shards[shard].granted + content.pages(),
            _ => state.shards[shard].granted,
        };
        let mut engine = Engine {
            claim: claim.number,
            name: claim.name,
            head: key.1,
            claimed: key.1,
            // an engine is opened when everything is known that was done before its claim
            known: if self.bounds.makes(Mistake::ReplayBehindClaim) { 0 } else { state.revision },
            granted,
            cut: if is_cut { checkpoint } else { 0 },
            step: if is_cut { Step::Durable } else { Step::Cut },
            ..Engine::default()
        };
        engine.work = self.id(self.replayed(state, content, &archive, shard, engine.known));
        let known = engine.known;
        self.hear(state, &mut engine, shard, known);
        Ok(Replica { engine, directory })
    }

    /// The link files that the head names, as its manifest has them: under which claim, and since when.
    fn with_files_of(&self, state: &State, head: Head, mut content: Checkpoint) -> Checkpoint {
        let shipped = self.of(head.content);
        for (number, file) in content.files.iter_mut().enumerate().take(usize::from(shipped.number) + 1) {
            if !file.is_empty() {
                file.claim = shipped.files[number].claim;
                file.revision = self.committed_at(state, head, &shipped.files[number]);
            }
        }
        if content.number == shipped.number {
            content.pack_before = shipped.claim;
            (content.claim, content.era, content.read_to, content.links_at) = (0, 0, 0, 0);
        }
        content
    }

    /// Takes in the pages after the checkpoint again, in a scope that has all lists and notes first.
    fn replayed(
        &self,
        state: &State,
        mut work: Checkpoint,
        archive: &[Archived],
        shard: usize,
        known: u8,
    ) -> Checkpoint {
        let mut scope = work.scope;
        if state.list_at != 0 && state.list_at <= known {
            scope |= LIST;
        }
        if self.reading(&self.watched(state, shard, known), &work, shard, |rules| rules.with_new_notes().count()) > 0 {
            scope |= super::web::NOTE;
        }
        if !self.bounds.makes(Mistake::ReplayBeforeNotes) {
            work.scope = scope;
        }
        let number = work.number;
        for page in archive.iter().filter(|page| page.number > number) {
            let round = if self.bounds.makes(Mistake::ReplayOutsideRound) { 0 } else { page.round };
            let is_in = work.store(self.bounds.web, shard, page.page.into(), page.version, round, page.round);
            assert!(is_in, "a replay finds as many links as there were");
        }
        work.scope = scope;
        work
    }
}

//! Moves of an engine by itself: it fetches, reads links, cuts, notices that its claim is gone.

use super::bounds::Mistake;
use super::checkpoint::{Checkpoint, Name, OF_THIS_COMMIT, Stage};
use super::model::Model;
use super::moves::{Action, Moves};
use super::state::{Archived, Engine, State, Step};
use super::web::NOTE;

impl Moves<'_> {
    /// All that the engine of `shard` at `node` may do.
    pub fn of_engine(&mut self, node: usize, shard: usize) {
        let engine = self.replica(node, shard).engine;
        let is_owner = self.from.shards[shard].owner == engine.claim;
        if !is_owner {
            let action = Action::new("notices that its claim is gone");
            self.change(action, node, shard, |replica| replica.engine = Engine::default());
        }
        if self.from.has_ended {
            let action = Action::new("ends with the crawl");
            self.change(action, node, shard, |replica| replica.engine = Engine::default());
        }
        self.hearing(node, shard);
        let work = self.model.of(engine.work);
        if work.number < self.model.bounds.numbers[shard] {
            self.fetches(node, shard, &work);
            self.reads(node, shard, &work);
            if engine.cut == 0 {
                self.cuts(node, shard, &work);
            }
        }
        self.shipping(node, shard);
        self.asking(node, shard);
    }

    /// It hears of the next commit, or of all. Where nodes have a watch, all engines of the node hear of it.
    fn hearing(&mut self, node: usize, shard: usize) {
        let by_node = self.model.bounds.own_first;
        let from = self.from;
        let runs = |other: usize| from.nodes[node][other].engine.claim != 0;
        if by_node && (0..shard).any(runs) {
            return;
        }
        let (known, revision) = (self.replica(node, shard).engine.known, self.from.revision);
        if known == revision {
            return;
        }
        let next = (known + 1 < revision).then_some(known + 1);
        for to in next.into_iter().chain([revision]) {
            let mut state = *self.from;
            for hearer in self.model.shards().filter(|&other| other == shard || (by_node && runs(other))) {
                self.model.hear(self.from, &mut state.nodes[node][hearer].engine, hearer, to);
            }
            self.add(Action::new("hears of all up to revision").node(node).shard(shard).detail(to), state);
        }
    }

    pub fn fetches(&mut self, node: usize, shard: usize, work: &Checkpoint) {
        let replica = self.replica(node, shard);
        let durable = self.model.of(replica.directory.checkpoint).round;
        for (page, url) in work.urls.iter().enumerate().filter(|(_, url)| url.stage == Stage::Queued) {
            let round = url.round;
            let count = self.from.fetches[page][round as usize];
            // the own seeds of a round wait until the round is in a checkpoint
            let is_held = round > durable && url.taken[round as usize] == 0;
            let may_fetch = self.model.bounds.quota == 0 || work.pages() < replica.engine.granted;
            if count == self.model.bounds.fetches || is_held || !may_fetch {
                continue;
            }
            let mut after = *work;
            let free = replica.directory.archive.iter().position(|page| page.number == 0);
            let Some(free) = free.filter(|_| after.store(self.model.bounds.web, shard, page, count, round, round))
            else {
                continue;
            };
            let mut state = *self.from;
            state.fetches[page][round as usize] += 1;
            let replica = &mut state.nodes[node][shard];
            replica.engine.work = self.model.id(after);
            let number = work.number + 1;
            replica.directory.archive[free] = Archived { number, page: page as u8, version: count, round };
            self.add(Action::new("fetches page").node(node).shard(shard).detail(page), state);
            if self.model.bounds.in_order {
                return;
            }
        }
    }

    /// It reads the next frame of some sender; of each one, one job is out at most.
    fn reads(&mut self, node: usize, shard: usize, work: &Checkpoint) {
        let engine = self.replica(node, shard).engine;
        if engine.pending != 0 {
            let (sender, number, frame) = (engine.pending / 32 - 1, engine.pending / 4 % 8, engine.pending % 4);
            let file = self.model.file(self.from, sender.into(), number);
            let link = file.section(self.model.bounds.web, shard).nth(frame.into());
            let mut after = *work;
            link.into_iter().for_each(|link| after.admit(link));
            let id = self.model.id(after);
            let action = Action::new("admits what it read before");
            self.change(action, node, shard, |replica| (replica.engine.work, replica.engine.pending) = (id, 0));
            return;
        }
        let mut news = self.model.news(self.from, shard, &engine);
        if self.model.bounds.makes(Mistake::FramesBeforeNotes) {
            let files = news.heads.iter_mut().flatten().flat_map(|at| &mut at.files);
            files.for_each(|visible| visible.file.has_notes = false);
        }
        let mut out = Vec::new();
        while let Some((sender, from)) = self.model.reading(&news, work, shard, |rules| rules.next(&out)) {
            out.push(sender);
            self.read(node, shard, work, sender as usize, from.number as u8, from.frames as u8);
        }
        if self.model.bounds.makes(Mistake::VisibleBeforeCommit) {
            for sender in self.model.shards().filter(|sender| *sender != shard) {
                let number = self.from.shards[sender].newest + 1;
                let is_shipped = (1..=self.from.shards[sender].claims)
                    .any(|claim| self.from.shards[sender].objects & Name::Links.bit(claim, number) != 0);
                if is_shipped && work.positions[sender].0 < number {
                    self.read(node, shard, work, sender, number, 0);
                }
            }
        }
    }

    fn read(&mut self, node: usize, shard: usize, work: &Checkpoint, sender: usize, number: u8, frames: u8) {
        let action = Action::new("reads the links of shard").node(node).shard(shard).detail(sender);
        let shared = &self.from.shards[sender];
        let engine = self.replica(node, shard).engine;
        let file = self.model.file(self.from, sender, number);
        if file.claim != 0 && shared.objects & Name::Links.bit(file.claim, number) == 0 {
            // without its claim a reader drops the shard; with it this is damage
            if self.from.shards[shard].owner == engine.claim {
                let broken = format!("a reader misses link file {number} of shard {sender}");
                self.add_or_break(action, *self.from, Some(broken));
            }
            return;
        }
        let section: Vec<_> = file.section(self.model.bounds.web, shard).collect();
        let mut after = *work;
        if file.has_notes && frames == 0 {
            after.scope |= NOTE;
        }
        let mut pending = 0;
        if let Some(link) = section.get(frames as usize) {
            match self.model.bounds.mistake {
                Some(Mistake::PositionBeforeAdmission) => pending = (sender as u8 + 1) * 32 + number * 4 + frames,
                Some(Mistake::ForcedWithoutRound) if link.round > 0 => {
                    // judged by the round that the shard is in, which may be an earlier one
                    let round = after.round;
                    after.urls[link.target as usize].taken[1] = link.version + 1;
                    after.queue(link.target.into(), round);
                }
                _ => after.admit(*link),
            }
        }
        let is_last = usize::from(frames) + 1 >= section.len();
        after.positions[sender] = if is_last { (number + 1, 0) } else { (number, frames + 1) };
        let id = self.model.id(after);
        self.change(action, node, shard, |replica| (replica.engine.work, replica.engine.pending) = (id, pending));
    }

    /// It makes a checkpoint, where one would bring something.
    fn cuts(&mut self, node: usize, shard: usize, work: &Checkpoint) {
        let engine = self.replica(node, shard).engine;
        let Some(cut) = self.model.cut(self.from, &engine, shard, work) else { return };
        let mut state = *self.from;
        let replica = &mut state.nodes[node][shard];
        replica.engine.work =
            self.model.id(Checkpoint { claim: 0, era: 0, read_to: 0, links_at: 0, is_idle: false, ..cut });
        (replica.engine.cut, replica.engine.step) = (self.model.id(cut), Step::Cut);
        if !self.model.bounds.fine {
            self.model.make_durable(&mut state, node, shard);
        }
        self.add(Action::new("cuts checkpoint").node(node).shard(shard).detail(cut.number), state);
    }
}

impl Model {
    /// The file of checkpoint `number` of `sender`, as it is in the store.
    pub fn file(&self, state: &State, sender: usize, number: u8) -> super::checkpoint::LinkFile {
        let shared = &state.shards[sender];
        if number <= shared.newest {
            return self.of(shared.heads[number as usize].content).files[number as usize];
        }
        // what nobody should read yet
        let of = |claim: u8| shared.objects & Name::Links.bit(claim, number) != 0;
        let claim = (1..=shared.claims).find(|&claim| of(claim)).expect("it was looked for");
        self.of(shared.contents[claim as usize][number as usize]).files[number as usize]
    }

    /// The next checkpoint, by the rules of release, of `read to` and of the end; `None` where it would bring nothing.
    fn cut(&self, state: &State, engine: &Engine, shard: usize, work: &Checkpoint) -> Option<Checkpoint> {
        let news = self.news(state, shard, engine);
        let head = self.of(state.shards[shard].heads[engine.head as usize].content);
        let (me, mut cut) = (shard as u32, *work);
        cut.number += 1;
        for number in 1..=work.number {
            let file = &mut cut.files[number as usize];
            let is_read = match self.bounds.mistake {
                Some(Mistake::UncommittedProgress) => self.is_read_somewhere(state, shard, number),
                _ => news.is_read_by_all(me, number.into()),
            };
            if is_read {
                *file = Default::default();
            }
        }
        let releases = cut.files != work.files;
        let own = &mut cut.files[work.number as usize + 1];
        let has_links = !own.is_empty();
        if has_links {
            own.revision = OF_THIS_COMMIT;
        }
        let last_links_at = state.shards[shard].heads[engine.head as usize].links_at;
        cut.links_at = match has_links {
            true => OF_THIS_COMMIT,
            false if self.bounds.makes(Mistake::EndByLastHead) => 0,
            false => last_links_at,
        };
        cut.era = state.era;
        cut.read_to = self.read_to(state, engine, work, shard);
        let waits = self.bounds.quota != 0 && engine.asks != 0;
        cut.is_idle = !cut.has_queued()
            && !waits
            && engine.pending == 0
            && self.reading(&news, work, shard, |rules| rules.is_done());
        let is_behind = |revision: u64| u64::from(head.read_to) < revision && u64::from(cut.read_to) >= revision;
        let kept = news.heads.iter().enumerate().filter(|(other, _)| *other != shard).flat_map(|(_, at)| at);
        let is_kept_for = kept.flat_map(|at| &at.files).any(|visible| is_behind(visible.revision));
        let brings = releases
            || has_links
            || (cut.urls, cut.positions, cut.round) != (head.urls, head.positions, head.round)
            || (cut.scope, cut.has_list) != (head.scope, head.has_list)
            || (cut.is_idle && !head.is_idle)
            || is_behind(news.last_input())
            || is_kept_for;
        brings.then_some(cut)
    }

    fn is_read_somewhere(&self, state: &State, shard: usize, number: u8) -> bool {
        let has_read = |id: u32| id != 0 && self.of(id).positions[shard].0 > number;
        let others = || self.shards().filter(|other| *other != shard);
        others().all(|other| state.nodes.iter().any(|node| has_read(node[other].engine.work)))
    }

    /// The local checkpoint exists: what lay behind the one before is in it.
    pub fn make_durable(&self, state: &mut State, node: usize, shard: usize) {
        let replica = &mut state.nodes[node][shard];
        let number = self.of(replica.engine.cut).number;
        replica.engine.step = Step::Durable;
        replica.directory.checkpoint = replica.engine.cut;
        for page in &mut replica.directory.archive {
            if page.number <= number {
                *page = Archived::default();
            }
        }
        replica.directory.archive.sort_unstable_by_key(|page| std::cmp::Reverse(*page));
    }
}

//! Moves that can happen in a state.

use std::fmt;

use super::checkpoint::SHARDS;
use super::model::Model;
use super::state::{Replica, State};

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    what: &'static str,
    node: Option<usize>,
    shard: Option<usize>,
    detail: Option<usize>,
    is_unanswered: bool,
}

impl Action {
    pub fn new(what: &'static str) -> Action {
        Action { what, node: None, shard: None, detail: None, is_unanswered: false }
    }

    pub fn node(self, node: usize) -> Action {
        Action { node: Some(node), ..self }
    }

    pub fn shard(self, shard: usize) -> Action {
        Action { shard: Some(shard), ..self }
    }

    /// The one who waits for it hears nothing.
    pub fn unanswered(self) -> Action {
        Action { is_unanswered: true, ..self }
    }

    pub fn detail(self, detail: impl Into<usize>) -> Action {
        Action { detail: Some(detail.into()), ..self }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.node {
            write!(f, "node {node}, ")?;
        }
        if let Some(shard) = self.shard {
            write!(f, "shard {shard}: ")?;
        }
        f.write_str(self.what)?;
        self.detail.map_or(Ok(()), |detail| write!(f, " {detail}"))?;
        f.write_str(if self.is_unanswered { ", and no answer comes" } else { "" })
    }
}

/// A move: its action, the state after it, and the invariant that it breaks by itself.
pub struct Move {
    pub action: Action,
    pub state: State,
    pub broken: Option<String>,
}

/// All that can happen in a state.
pub struct Moves<'a> {
    pub model: &'a Model,
    pub from: &'a State,
    pub all: Vec<Move>,
}

impl<'a> Moves<'a> {
    pub fn of(model: &'a Model, from: &'a State) -> Vec<Move> {
        let mut moves = Moves { model, from, all: Vec::with_capacity(32) };
        if from.has_ended && !model.may_reopen(from) {
            return moves.all;
        }
        if model.bounds.homes.is_some_and(|homes| moves.begin(homes)) {
            return moves.all;
        }
        for node in model.nodes() {
            if model.bounds.homes.is_none() && node > 0 && from.nodes[node - 1] == from.nodes[node] {
                continue;
            }
            moves.of_node(node);
            for shard in model.shards() {
                match from.nodes[node][shard].engine.claim {
                    0 => moves.of_claim(node, shard),
                    _ => moves.of_engine(node, shard),
                }
            }
        }
        moves.of_registry();
        moves.all
    }

    /// The next claim, or the next seed that is fetched, where there still is one.
    fn begin(&mut self, homes: [usize; SHARDS]) -> bool {
        let unclaimed = self.model.shards().find(|&shard| self.from.shards[shard].claims == 0);
        if let Some(shard) = unclaimed {
            self.of_claim(homes[shard], shard);
            return true;
        }
        let pages = self.model.bounds.web.iter().zip(&self.from.fetches);
        let unfetched = pages.filter(|(page, fetches)| page.is_seed && fetches[0] == 0).map(|(page, _)| page.owner);
        let next = unfetched.min();
        if let Some(shard) = next {
            let work = self.model.of(self.replica(homes[shard], shard).engine.work);
            self.fetches(homes[shard], shard, &work);
        }
        next.is_some()
    }

    pub fn add(&mut self, action: Action, state: State) {
        let state = self.model.settled(state);
        self.all.push(Move { action, state, broken: None });
    }

    pub fn add_or_break(&mut self, action: Action, state: State, broken: Option<String>) {
        match broken {
            Some(_) => self.all.push(Move { action, state, broken }),
            None => self.add(action, state),
        }
    }

    /// The replica after a change.
    pub fn change(&mut self, action: Action, node: usize, shard: usize, change: impl FnOnce(&mut Replica)) {
        let mut state = *self.from;
        change(&mut state.nodes[node][shard]);
        self.add(action.node(node).shard(shard), state);
    }

    pub fn replica(&self, node: usize, shard: usize) -> &'a Replica {
        &self.from.nodes[node][shard]
    }
}

//! The search: breadth first through all states of a configuration, each met once.
//!
//! A state is known by 64 bits of a hash of its bytes: among n states the chance that two have the same is n²/2⁶⁵, one
//! in four million for 3 million states. What waits to be looked at is kept as bytes; of each state its predecessor is
//! kept, and a trace is walked through again from the first state.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use super::bounds::Bounds;
use super::model::Model;
use super::moves::{Action, Moves};
use super::state::State;

/// Result of a search.
#[derive(Debug)]
pub struct Found {
    pub bounds: Bounds,
    pub states: usize,
    pub moves: usize,
    /// Steps of the longest of all shortest ways.
    pub depth: u32,
    /// States in which the crawl has ended.
    pub ends: usize,
    pub broken: Option<Broken>,
}

/// An invariant that does not hold, and how it comes to that.
#[derive(Debug)]
pub struct Broken {
    pub what: String,
    pub trace: Vec<Action>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { bounds, states, moves, depth, ends, broken } = self;
        write!(f, "{}: {states} states, {moves} moves, depth {depth}, {ends} ends", bounds.name)?;
        let Some(Broken { what, trace }) = broken else { return Ok(()) };
        write!(f, "\n{:?}: {what}, after {} steps:", bounds.mistake, trace.len())?;
        trace.iter().try_for_each(|action| write!(f, "\n  {action}"))
    }
}

/// A hash that is one already.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes are numbers");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The move by which a state was met first.
#[derive(Clone, Copy)]
struct Origin {
    /// Number of the state from which it came.
    at: u32,
    /// Number of the move among those of that state.
    choice: u16,
}

struct Search {
    model: Model,
    seen: HashSet<u64, BuildHasherDefault<AsItIs>>,
    /// Origins of all states, in the order in which they were met.
    origins: Vec<Origin>,
    waiting: VecDeque<(u32, u32, Box<[u8]>)>,
}

/// Goes through all states of `bounds`, or up to the first one that breaks an invariant.
///
/// # Panics
/// If there are more than `states_max` states: then nothing was shown.
pub fn search(bounds: Bounds, states_max: usize) -> Found {
    let mut search =
        Search { model: Model::new(bounds), seen: HashSet::default(), origins: Vec::new(), waiting: VecDeque::new() };
    let first = search.model.first();
    search.remember(first, Origin { at: 0, choice: 0 }, 0);
    let (mut moves, mut ends, mut depth) = (0, 0, 0);
    while let Some((at, steps, bytes)) = search.waiting.pop_front() {
        depth = steps;
        let state = State::unpack(&bytes);
        for (choice, next) in Moves::of(&search.model, &state).into_iter().enumerate() {
            moves += 1;
            let broken = match next.broken {
                Some(broken) => Err(broken),
                None if search.remember(next.state, Origin { at, choice: choice as u16 }, steps + 1) => {
                    ends += usize::from(next.state.has_ended && !search.model.may_reopen(&next.state));
                    search.model.broken(&next.state)
                }
                None => Ok(()),
            };
            if let Err(what) = broken {
                let broken = Some(Broken { what, trace: search.trace(at, choice) });
                return Found { bounds, states: search.seen.len(), moves, depth: steps + 1, ends, broken };
            }
        }
        assert!(search.seen.len() <= states_max, "{} has more than {states_max} states, at depth {depth}", bounds.name);
    }
    Found { bounds, states: search.seen.len(), moves, depth, ends, broken: None }
}

impl Search {
    /// Remembers `state`; `false` for one that was met before.
    fn remember(&mut self, state: State, origin: Origin, steps: u32) -> bool {
        let bytes = state.pack();
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        let is_new = self.seen.insert(hasher.finish());
        if is_new {
            self.waiting.push_back((self.origins.len() as u32, steps, bytes));
            self.origins.push(origin);
        }
        is_new
    }

    /// Returns the actions from the first state to the move `choice` of the state `at`.
    fn trace(&self, mut at: u32, choice: usize) -> Vec<Action> {
        let mut choices = vec![choice];
        while at != 0 {
            let origin = self.origins[at as usize];
            choices.push(origin.choice.into());
            at = origin.at;
        }
        let mut state = self.model.first();
        let step = |choice: usize| {
            let next = Moves::of(&self.model, &state).swap_remove(choice);
            state = next.state;
            next.action
        };
        choices.into_iter().rev().map(step).collect()
    }
}

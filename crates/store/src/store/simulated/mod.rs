//! The store in memory of tests and the simulator. It does to its callers what a store on a network may do, as a
//! function of a seed; where nobody asks for a fault, it never fails.
//!
//! What it may do:
//! - a put or a deletion fails, or takes effect and its answer is lost;
//! - a put that failed takes effect later, after further calls: even behind a repetition of it and a deletion;
//! - a new object is listed later than it can be read, and a deleted one is still listed for a while;
//! - one machine is cut off from it, in one direction or in both, or all are;
//! - an object is lost or damaged.
//!
//! What it never does: show a part of an object, replace one, or forget an acknowledged put.
//!
//! Calls have numbers, and lateness is counted in calls: there is no clock and no thread, so that the same calls with
//! the same seed bring the same. [`SimulatedStore::settle`] lets all that is late happen.

mod state;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Body, Error, ObjectStore, Result, name};
use state::{Effect, State};

/// Faults that a call may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and nothing is done.
    Fails,
    /// It is done, and its answer is lost.
    AnswerLost,
    /// It fails, and is done some calls later.
    Late,
    /// The store refuses it.
    Refused,
}

/// Shares of calls that change something and go wrong, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whims {
    /// [`Fault::Fails`], of readings and listings too.
    pub fails: u8,
    /// [`Fault::AnswerLost`].
    pub answer_lost: u8,
    /// [`Fault::Late`].
    pub late: u8,
    /// Listings that lag behind the object.
    pub listed_late: u8,
}

impl Whims {
    /// All of them, often.
    pub const WILD: Whims = Whims { fails: 10, answer_lost: 10, late: 10, listed_late: 30 };
}

/// The calls and answers of a machine that come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Requests and answers.
    Whole,
    /// Requests: they are carried out, and the answers are lost.
    NoAnswers,
    /// Nothing.
    Nothing,
}

/// The store; clones are the same one.
#[derive(Clone)]
pub struct SimulatedStore(Arc<Mutex<State>>);

impl SimulatedStore {
    /// An empty store that behaves, and draws from `seed` when it does not.
    pub fn new(seed: u64) -> SimulatedStore {
        SimulatedStore(Arc::new(Mutex::new(State::new(seed))))
    }

    /// Lets calls go wrong as often as `whims` says, from now on.
    pub fn set_whims(&self, whims: Whims) {
        self.state().whims = whims;
    }

    /// Lets call number `call`, counted from 1 over all machines, meet `fault`.
    #[cfg(test)]
    pub(crate) fn fail_at(&self, call: u64, fault: Fault) {
        self.state().faults.insert(call, fault);
    }

    /// The store is away, for all; or back.
    pub fn set_away(&self, is_away: bool) {
        self.state().is_away = is_away;
    }

    /// Lets all happen that is late, and brings listings up to date.
    pub fn settle(&self) {
        self.state().settle();
    }

    /// Returns the objects that are there now, listed or not: names and lengths.
    #[cfg(test)]
    pub(crate) fn objects(&self) -> Vec<(String, u64)> {
        self.state().objects()
    }

    /// The content of an object.
    #[cfg(test)]
    pub(crate) fn content(&self, name: &str) -> Option<Vec<u8>> {
        Some(self.state().content(name)?.to_vec())
    }

    /// Loses an object; whether there was one.
    #[cfg(test)]
    pub(crate) fn lose(&self, name: &str) -> bool {
        self.state().lose(name)
    }

    /// Inverts a byte of an object; whether it has that byte.
    #[cfg(test)]
    pub(crate) fn damage(&self, name: &str, offset: u64) -> bool {
        self.state().damage(name, offset)
    }

    /// A way to the store, of one machine.
    pub fn client(&self) -> SimulatedClient {
        SimulatedClient { store: self.clone(), reach: Arc::new(Mutex::new(Reach::Whole)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SimulatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("SimulatedStore").field("calls", &state.calls).finish_non_exhaustive()
    }
}

/// One machine's way to a [`SimulatedStore`]; clones are the same one.
#[derive(Clone, Debug)]
pub struct SimulatedClient {
    store: SimulatedStore,
    reach: Arc<Mutex<Reach>>,
}

impl SimulatedClient {
    /// Sets which of the machine's calls and answers come through from now on.
    pub fn set_reach(&self, reach: Reach) {
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = reach;
    }

    /// Carries out `call`, if it comes through, and brings its answer, if that does.
    fn call<T>(&self, name: &str, call: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let reach = *self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.store.state();
        state.begin();
        if reach == Reach::Nothing || state.is_away {
            return Err(Error::unavailable(name, "no connection"));
        }
        let answer = call(&mut state);
        if reach == Reach::NoAnswers { Err(Error::unavailable(name, "no answer")) } else { answer }
    }

    fn change(&self, name: &str, effect: Effect) -> Result<()> {
        self.call(name, |state| match state.draw_fault() {
            None => state.apply(name, &effect),
            Some(Fault::Fails) => Err(Error::unavailable(name, "busy")),
            Some(Fault::Refused) => Err(Error::refused(name, "access denied")),
            Some(Fault::Late) => {
                state.delay(name, effect);
                Err(Error::unavailable(name, "no answer"))
            }
            Some(Fault::AnswerLost) => {
                let _ = state.apply(name, &effect);
                Err(Error::unavailable(name, "no answer"))
            }
        })
    }

    fn read<T>(&self, name: &str, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        self.call(name, |state| match state.draw_read_fault() {
            None => read(state),
            Some(Fault::Refused) => Err(Error::refused(name, "access denied")),
            Some(_) => Err(Error::unavailable(name, "busy")),
        })
    }
}

impl ObjectStore for SimulatedClient {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        name::check(name)?;
        let content = body.read(0, usize::try_from(body.bytes()).unwrap_or(usize::MAX))?;
        self.change(name, Effect::Put(content.into()))
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        name::check(name)?;
        self.read(name, |state| {
            let content = state.content(name).ok_or_else(|| Error::not_found(name))?;
            let end = content.len() as u64;
            if range.end > end {
                return Err(Error::shorter(name, end, range.end));
            }
            Ok(content.get(range.start as usize..range.end as usize).unwrap_or_default().to_vec())
        })
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        name::check(name)?;
        self.read(name, |state| Ok(state.content(name).map(|content| content.len() as u64)))
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        name::check_prefix(prefix)?;
        // outside of the lock, for a visitor that asks the store
        let listed = self.read(prefix, |state| Ok(state.listed(prefix)))?;
        listed.iter().for_each(|(name, bytes)| visit(name, *bytes));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<()> {
        name::check(name)?;
        self.change(name, Effect::Delete)
    }

    /// One, so that the same calls come in the same order.
    fn at_once(&self) -> usize {
        1
    }

    fn address(&self) -> String {
        "simulated".to_owned()
    }
}

//! The search of a served archive: an index that a thread keeps up with the crawl, once somebody has searched.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::super::threads;
use crate::answers::{Problem, SearchFor, Searched};
use crate::search::{self, Error, Index, Query, Updater};

/// A question waits this long for an index that is behind.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// A question waits this long for the first pages of an index that is not there yet.
const BEGIN_MAX: Duration = Duration::from_secs(30);
/// Time between two looks for more pages.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Versions of URLs that are taken between two looks at whether anybody is still there.
const VERSIONS_AT_ONCE: u64 = 500;

/// The search of a crawl directory.
pub(super) struct Searching {
    dir: PathBuf,
    index: Mutex<Option<Arc<Index>>>,
    upkeep: Mutex<Option<Arc<Upkeep>>>,
}

/// The state of the thread that keeps the index up.
#[derive(Default)]
struct Upkeep {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Default)]
struct State {
    /// True if there is an index, of some pages at least.
    is_begun: bool,
    /// True if the index has all that the crawl's checkpoints cover, or as much as another process has taken.
    is_complete: bool,
    /// Why the index is not kept up.
    problem: Option<String>,
}

impl Searching {
    /// The search of `dir`. Nothing is opened before somebody asks.
    pub(super) fn new(dir: &Path) -> Searching {
        Searching { dir: dir.to_owned(), index: Mutex::default(), upkeep: Mutex::default() }
    }

    /// Answers a question.
    pub(super) fn search(&self, question: &SearchFor) -> Result<Searched, Problem> {
        let state = self.upkeep()?.wait();
        let index = match self.index() {
            Ok(index) => index,
            Err(Error::NoIndex(_)) if state.problem.is_some() => {
                return Err(Problem::Refused(state.problem.unwrap_or_default()));
            }
            Err(Error::NoIndex(_)) => {
                return Err(Problem::Busy("the index is being made; ask again in a moment".to_owned()));
            }
            Err(error) => return Err(Problem::Fault(error.to_string())),
        };
        let SearchFor { limit, offset, fold, facets, .. } = *question;
        let words = question.query.clone();
        let query = Query { words, limit, offset, fold, facets, ..Query::default() };
        let found = index.search(&query).map_err(|error| match error {
            Error::Query(why) => Problem::Question(why),
            error => Problem::Fault(error.to_string()),
        })?;
        Ok(Searched { found, indexed: index.pages(), complete: state.is_complete })
    }

    fn index(&self) -> search::Result<Arc<Index>> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = index.as_ref() {
            return Ok(index.clone());
        }
        let opened = Arc::new(Index::open(&self.dir)?);
        *index = Some(opened.clone());
        Ok(opened)
    }

    /// The thread, which begins with the first question and ends with this.
    fn upkeep(&self) -> Result<Arc<Upkeep>, Problem> {
        let mut upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(upkeep) = upkeep.as_ref() {
            return Ok(upkeep.clone());
        }
        let begun = Arc::new(Upkeep::default());
        let (dir, of_thread) = (self.dir.clone(), Arc::downgrade(&begun));
        let keep = move || keep_up(&dir, &of_thread);
        let started = thread::Builder::new().name("search".to_owned()).spawn(keep);
        started.map_err(|error| Problem::Fault(format!("no thread for the index: {error}")))?;
        *upkeep = Some(begun.clone());
        Ok(begun)
    }
}

impl Upkeep {
    /// Waits for an index, and a moment for it to be complete. Returns how it is then.
    fn wait(&self) -> State {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing = |state: &mut State| !state.is_begun && state.problem.is_none();
        let begun = self.changed.wait_timeout_while(state, BEGIN_MAX, is_missing);
        let (state, _) = begun.unwrap_or_else(PoisonError::into_inner);
        let is_behind = |state: &mut State| !state.is_complete && state.problem.is_none();
        let waited = self.changed.wait_timeout_while(state, WAIT_MAX, is_behind);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn tell(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

/// Keeps the index up until nobody has `upkeep` any more.
fn keep_up(dir: &Path, upkeep: &Weak<Upkeep>) {
    threads::lower_priority();
    let mut updater = None;
    while let Some(upkeep) = upkeep.upgrade() {
        let state = match caught_up(dir, &mut updater) {
            Ok(is_complete) => State { is_begun: true, is_complete, problem: None },
            Err(error) => {
                updater = None;
                State { problem: Some(format!("the index cannot be kept up: {error}")), ..State::default() }
            }
        };
        let goes_on = !state.is_complete && state.problem.is_none();
        upkeep.tell(state);
        drop(upkeep);
        if !goes_on {
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Takes some pages. Says whether that were all.
fn caught_up(dir: &Path, updater: &mut Option<Updater>) -> search::Result<bool> {
    if updater.is_none() {
        *updater = Updater::open(dir)?;
    }
    match updater {
        Some(updater) => Ok(updater.update(VERSIONS_AT_ONCE, &mut |_| {})?.is_complete),
        // another process keeps it up
        None => Ok(true),
    }
}

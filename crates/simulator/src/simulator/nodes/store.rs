//! A node's way to the simulated store: every call takes a while, and readings are repeated, as the client of a real
//! store does.

use std::ops::Range;
use std::time::Duration;

use crate::simulator::baton;
use crate::store::simulated::SimulatedClient;
use crate::store::{Body, Error, ObjectStore, Result};

/// A call takes so long.
const CALL: Duration = Duration::from_millis(15);
/// Pause between two tries of a reading.
const PAUSE: Duration = Duration::from_secs(1);
/// Readings are tried so often where time passes, and where it cannot.
const TRIES: (u32, u32) = (600, 60);

/// The node's client.
#[derive(Clone, Debug)]
pub(super) struct NodeStore(pub SimulatedClient);

impl NodeStore {
    fn once<T>(&self, name: &str, call: &mut dyn FnMut(&SimulatedClient) -> Result<T>) -> Result<T> {
        baton::pass(CALL);
        if baton::is_dead() {
            return Err(Error::unavailable(name, "the process is gone"));
        }
        call(&self.0)
    }

    fn patiently<T>(&self, name: &str, mut call: impl FnMut(&SimulatedClient) -> Result<T>) -> Result<T> {
        let tries = if baton::can_wait() { TRIES.0 } else { TRIES.1 };
        for _ in 1..tries {
            match self.once(name, &mut call) {
                Err(error) if error.is_transient() && !baton::is_dead() => baton::pass(PAUSE),
                done => return done,
            }
        }
        self.once(name, &mut call)
    }
}

impl ObjectStore for NodeStore {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        self.once(name, &mut |client| client.put(name, body))
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        self.patiently(name, |client| client.get(name, range.clone()))
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        self.patiently(name, |client| client.length(name))
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        let mut listed = Vec::new();
        self.patiently(prefix, |client| {
            listed.clear();
            client.list(prefix, &mut |name, bytes| listed.push((name.to_owned(), bytes)))
        })?;
        listed.iter().for_each(|(name, bytes)| visit(name, *bytes));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<()> {
        self.once(name, &mut |client| client.delete(name))
    }

    fn at_once(&self) -> usize {
        self.0.at_once()
    }

    fn address(&self) -> String {
        self.0.address()
    }
}

//! Options of a store, and its environment.

use std::fmt;
use std::time::Duration;

/// The way in which a store is used.
#[derive(Clone)]
pub struct StoreOptions {
    /// Bytes a second at most that go to the store, and as many that come from it; `None` for no bound.
    pub bytes_per_second: Option<u64>,
    /// Time for which a store that fails or does not answer is asked again, for each request.
    pub retry_for: Duration,
    /// Time for which a request may get no further, in either direction, before it counts as failed.
    pub stall_max: Duration,
    /// The environment, with the credentials and endpoints of the stores.
    pub environment: Vec<(String, String)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let text = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((key.into_string().ok()?, value.into_string().ok()?))
        };
        StoreOptions {
            bytes_per_second: None,
            retry_for: Duration::from_secs(30),
            stall_max: Duration::from_secs(30),
            environment: std::env::vars_os().filter_map(text).collect(),
        }
    }
}

impl StoreOptions {
    /// A variable of the environment that is not empty.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for StoreOptions {
    /// Leaves out the environment, which has secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("bytes_per_second", &self.bytes_per_second)
            .field("retry_for", &self.retry_for)
            .field("stall_max", &self.stall_max)
            .finish_non_exhaustive()
    }
}

//! The server's own log: one entry for every request served, with the times at which it came and was answered.

use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::clock::Time;

/// A request as the server saw it. Times are microseconds of a monotonic clock that starts with the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The host asked for, in lower case, without port.
    pub host: String,
    /// Path and query, as they came.
    pub path: String,
    /// The method, `GET` or another.
    pub method: String,
    /// The status answered; 0 where the connection was left without an answer.
    pub status: u16,
    /// The loopback address the request came to.
    pub address: Ipv4Addr,
    /// The number of the connection it came on.
    pub connection: u64,
    /// User agent that the client sent.
    pub user_agent: String,
    /// Time at which its head had been read.
    pub started_us: u64,
    /// Time at which the last byte of the answer was handed to the connection, or the connection broke.
    pub finished_us: u64,
    /// Time until which the answer asked to be left alone, if it did in a way that can be kept.
    #[serde(default)]
    pub rest_until_us: Option<u64>,
    /// Version of the page that was answered, where pages change: the moment from which the page had it.
    #[serde(default)]
    pub version: Option<Time>,
}

impl Request {
    /// The URL asked for, as a right client would write it.
    pub fn url(&self, port: u16) -> String {
        format!("http://{}:{port}{}", self.host, self.path)
    }
}

/// Gathers requests as they are finished.
#[derive(Debug)]
pub(super) struct Log {
    epoch: Instant,
    requests: Mutex<Vec<Request>>,
}

impl Log {
    pub(crate) fn new() -> Log {
        Log { epoch: Instant::now(), requests: Mutex::new(Vec::new()) }
    }

    /// Microseconds since the web started.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub(crate) fn push(&self, request: Request) {
        self.lock().push(request);
    }

    /// All requests, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Request> {
        let mut requests = self.lock().clone();
        requests.sort_by_key(|request| (request.started_us, request.finished_us));
        requests
    }

    /// The requests that were finished after the first `count`, in the order in which they were.
    pub(crate) fn after(&self, count: usize) -> Vec<Request> {
        self.lock().get(count..).unwrap_or_default().to_vec()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! A watch: changes of keys in the order of their revisions, from one on.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use serde_json::json;

use super::connection::Connection;
use super::error::{EtcdError, Result, of_answer, with_causes};
use super::wire::{EventKind, KeyValue, Streamed, WatchAnswer, below};

/// No batch of changes is longer.
const LINE_BYTES_MAX: usize = 64 << 20;

/// A change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key with its value. After a deletion the name and the revision alone.
    pub kv: KeyValue,
    /// True if it is gone.
    pub is_deleted: bool,
}

/// Events of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Changes: complete for each revision that is among them, in order.
    Changes(Vec<Change>),
    /// Nothing in the time that was given.
    Nothing,
    /// A compaction has overtaken it: everything has to be read again.
    Overtaken,
}

/// A stream of changes. One that fails is opened again behind the last change.
pub struct Watch<'a> {
    connection: &'a Connection,
    at: usize,
    response: Response,
    unread: Vec<u8>,
    read: VecDeque<Watched>,
}

impl<'a> Watch<'a> {
    /// Changes of all keys that begin with `prefix`, from this revision on.
    pub(super) fn open(connection: &'a Connection, prefix: &str, revision: u64) -> Result<Watch<'a>> {
        let (key, range_end) = below(prefix);
        let create = json!({ "key": key, "range_end": range_end, "start_revision": revision.to_string() });
        let at = connection.at();
        let response = connection.stream("/v3/watch", &json!({ "create_request": create }))?;
        Ok(Watch { connection, at, response, unread: Vec::new(), read: VecDeque::new() })
    }

    /// The next changes, waiting for them for some time at most.
    pub fn next(&mut self, time: Duration) -> Result<Watched> {
        if let Some(watched) = self.read.pop_front() {
            return Ok(watched);
        }
        let chunk = self.connection.block(async {
            match tokio::time::timeout(time, self.response.chunk()).await {
                Err(_) => Ok(None),
                Ok(Ok(Some(chunk))) => Ok(Some(chunk)),
                Ok(Ok(None)) => Err(EtcdError::Unclear("the watch has ended".to_owned())),
                Ok(Err(fault)) => Err(EtcdError::Unclear(with_causes(&fault.without_url()))),
            }
        });
        let taken = chunk.and_then(|chunk| chunk.map_or(Ok(()), |chunk| self.take(&chunk)));
        if let Err(error) = taken {
            self.connection.turn(self.at);
            return Err(error);
        }
        Ok(self.read.pop_front().unwrap_or(Watched::Nothing))
    }

    /// The next time another endpoint is watched: this one may be cut off from the others.
    pub(crate) fn turn(&self) {
        self.connection.turn(self.at);
    }

    /// Reads the lines that are whole; each is an answer.
    fn take(&mut self, chunk: &[u8]) -> Result<()> {
        self.unread.extend_from_slice(chunk);
        let Some(end) = self.unread.iter().rposition(|&byte| byte == b'\n') else {
            let is_long = self.unread.len() > LINE_BYTES_MAX;
            return if is_long { Err(EtcdError::Unclear("a watch without end of line".to_owned())) } else { Ok(()) };
        };
        let rest = self.unread.split_off(end + 1);
        for line in self.unread.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: Streamed<WatchAnswer> = serde_json::from_slice(line)
                .map_err(|e| EtcdError::Unclear(format!("a watch whose answer cannot be read: {e}")))?;
            if let Some(watched) = read(self.connection, answer)? {
                self.read.push_back(watched);
            }
        }
        self.unread = rest;
        Ok(())
    }
}

fn read(connection: &Connection, answer: Streamed<WatchAnswer>) -> Result<Option<Watched>> {
    let Some(answer) = answer.result else {
        let fault = answer.error.unwrap_or_default();
        return Err(connection.without_secrets(of_answer(fault.code, fault.message)));
    };
    connection.check(answer.header, None)?;
    if answer.compact_revision > 0 {
        return Ok(Some(Watched::Overtaken));
    }
    if answer.canceled {
        let ended = EtcdError::Unclear(format!("etcd has ended the watch: {}", answer.cancel_reason));
        return Err(connection.without_secrets(ended));
    }
    let change = |event: super::wire::EventAnswer| Change { kv: event.kv, is_deleted: event.kind == EventKind::Delete };
    let changes: Vec<Change> = answer.events.into_iter().map(change).collect();
    Ok((!changes.is_empty()).then_some(Watched::Changes(changes)))
}

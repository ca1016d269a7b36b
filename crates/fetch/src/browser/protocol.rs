//! The browser's own protocol (Chrome DevTools Protocol) over its two pipes: messages of JSON, each ended by a zero
//! byte.
//!
//! A task reads and another one writes. Answers go to those who called; events go, in the order in which they came and
//! in the reader's own task, to the listener that has their session or their browser context, so no queue of events can
//! grow. A listener must not wait. Where nobody listens, a request that is paused is failed and a new target is let go.
//! When the pipe ends, all calls fail and [`Connection::ended`] says so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};

/// Bytes of the longest message that is read: a picture of a page, or its DOM.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Reasons for which a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The browser is gone.
    Ended,
    /// It refused, with its words.
    Refused(String),
}

/// A message from the browser that answers no call.
#[derive(Debug)]
pub(super) struct Event {
    /// The session; empty for the browser's own.
    pub session: String,
    pub method: String,
    pub params: Value,
}

/// A listener that hears the events of sessions.
pub(super) trait Listener: Send + Sync {
    /// Takes an event in, without waiting.
    fn hear(self: Arc<Self>, event: Event);
}

/// A conversation with a browser.
pub(super) struct Connection {
    out: mpsc::UnboundedSender<Vec<u8>>,
    calls: AtomicU64,
    shared: Mutex<Shared>,
    ended: watch::Sender<bool>,
}

/// Receivers of the answer to a call.
enum Waiting {
    /// Somebody waits for it.
    Caller(oneshot::Sender<Result<Value, CallError>>),
    /// A call to be made in the same session if this one is refused.
    Otherwise(Box<(String, &'static str, Value)>),
}

#[derive(Default)]
struct Shared {
    ended: bool,
    waiting: HashMap<u64, Waiting>,
    sessions: HashMap<String, Arc<dyn Listener>>,
    contexts: HashMap<String, Arc<dyn Listener>>,
}

impl Connection {
    /// Speaks over `to` and `from`; must be called on a runtime.
    pub(super) fn new(to: pipe::Sender, from: pipe::Receiver) -> Arc<Connection> {
        let (out, messages) = mpsc::unbounded_channel();
        let (calls, shared) = (AtomicU64::new(1), Mutex::new(Shared::default()));
        let connection = Arc::new(Connection { out, calls, shared, ended: watch::Sender::new(false) });
        tokio::spawn(write(to, messages));
        let reader = connection.clone();
        tokio::spawn(async move {
            reader.read(from).await;
            reader.end();
        });
        connection
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a method and waits for its result.
    pub(super) async fn call(&self, session: &str, method: &str, params: &Value) -> Result<Value, CallError> {
        let (to, result) = oneshot::channel();
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        {
            let mut shared = self.shared();
            if shared.ended {
                return Err(CallError::Ended);
            }
            shared.waiting.insert(id, Waiting::Caller(to));
        }
        let forget = Forget { connection: self, id };
        self.write(id, session, method, params);
        let result = result.await.unwrap_or(Err(CallError::Ended));
        drop(forget);
        result
    }

    /// Calls a method whose result does not matter.
    pub(super) fn send(&self, session: &str, method: &str, params: &Value) {
        self.write(self.calls.fetch_add(1, Ordering::Relaxed), session, method, params);
    }

    /// The same, with another method that is called with its own parameters where the browser refuses.
    pub(super) fn send_or(
        &self,
        session: &str,
        method: &str,
        params: &Value,
        other: &'static str,
        other_params: Value,
    ) {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        {
            let mut shared = self.shared();
            if shared.ended {
                return;
            }
            shared.waiting.insert(id, Waiting::Otherwise(Box::new((session.to_owned(), other, other_params))));
        }
        self.write(id, session, method, params);
    }

    fn write(&self, id: u64, session: &str, method: &str, params: &Value) {
        #[derive(serde::Serialize)]
        struct Message<'a> {
            id: u64,
            method: &'a str,
            params: &'a Value,
            #[serde(rename = "sessionId", skip_serializing_if = "str::is_empty")]
            session: &'a str,
        }
        if let Ok(mut bytes) = serde_json::to_vec(&Message { id, method, params, session }) {
            bytes.push(0);
            // the writer is gone with the browser, which the reader reports
            let _ = self.out.send(bytes);
        }
    }

    /// Lets `listener` hear what targets of a browser context do, from here on.
    pub(super) fn listen_to_context(&self, context: &str, listener: &Arc<dyn Listener>) {
        self.shared().contexts.insert(context.to_owned(), listener.clone());
    }

    /// Ends the hearing of the context, and of the sessions of `listener`.
    pub(super) fn forget_context(&self, context: &str) {
        let mut shared = self.shared();
        let Some(listener) = shared.contexts.remove(context) else { return };
        shared.sessions.retain(|_, other| !Arc::ptr_eq(other, &listener));
    }

    /// Waits until the browser has closed its pipe.
    pub(super) async fn ended(&self) {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Returns whether the browser has closed its pipe.
    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    fn end(&self) {
        let waiting = {
            let mut shared = self.shared();
            shared.ended = true;
            shared.sessions.clear();
            shared.contexts.clear();
            std::mem::take(&mut shared.waiting)
        };
        // those who wait learn it by their dropped senders
        drop(waiting);
        self.ended.send_replace(true);
    }

    async fn read(&self, mut from: pipe::Receiver) {
        let mut message = Vec::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let Ok(bytes) = from.read(&mut buffer).await else { return };
            let mut rest = &buffer[..bytes];
            if rest.is_empty() {
                return;
            }
            while let Some(end) = memchr::memchr(0, rest) {
                message.extend_from_slice(&rest[..end]);
                self.take(&message);
                message.clear();
                rest = &rest[end + 1..];
            }
            if message.len() + rest.len() > MESSAGE_BYTES_MAX {
                tracing::warn!("a message of the browser has more than {MESSAGE_BYTES_MAX} bytes: it is given up");
                return;
            }
            message.extend_from_slice(rest);
            message.shrink_to(READ_BYTES);
        }
    }

    fn take(&self, message: &[u8]) {
        let Some(mut message) = parse(message) else { return };
        if let Some(id) = message["id"].as_u64() {
            let waiting = self.shared().waiting.remove(&id);
            let error = message["error"]["message"].as_str();
            match (waiting, error) {
                (Some(Waiting::Caller(caller)), Some(error)) => {
                    drop(caller.send(Err(CallError::Refused(error.to_owned()))));
                }
                (Some(Waiting::Caller(caller)), None) => drop(caller.send(Ok(message["result"].take()))),
                (Some(Waiting::Otherwise(call)), Some(_)) => self.send(&call.0, call.1, &call.2),
                (Some(Waiting::Otherwise(_)) | None, _) => {}
            }
            return;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (session, method) = (text(&message["sessionId"]), text(&message["method"]));
        self.route(Event { session, method, params: message["params"].take() });
    }

    /// Brings an event to the listener of its session, or of the browser context of the target that it is about.
    fn route(&self, event: Event) {
        let listener = {
            let mut shared = self.shared();
            let context = event.params["targetInfo"]["browserContextId"].as_str().unwrap_or_default();
            let listener = shared.sessions.get(&event.session).or_else(|| shared.contexts.get(context)).cloned();
            match (event.method.as_str(), event.params["sessionId"].as_str(), &listener) {
                ("Target.attachedToTarget", Some(child), Some(listener)) => {
                    shared.sessions.insert(child.to_owned(), listener.clone());
                }
                ("Target.detachedFromTarget", Some(child), _) => drop(shared.sessions.remove(child)),
                _ => {}
            }
            listener
        };
        match listener {
            Some(listener) => listener.hear(event),
            None => self.refuse(&event),
        }
    }

    /// Refuses what belongs to no listener, since it must not go on by itself.
    fn refuse(&self, event: &Event) {
        match event.method.as_str() {
            "Fetch.requestPaused" => {
                tracing::debug!(url = %event.params["request"]["url"], "a request of the browser belongs to no page");
                let failed = json!({ "requestId": event.params["requestId"], "errorReason": "BlockedByClient" });
                self.send(&event.session, "Fetch.failRequest", &failed);
            }
            "Target.attachedToTarget" => {
                let detached = json!({ "sessionId": event.params["sessionId"] });
                self.send(&event.session, "Target.detachFromTarget", &detached);
            }
            _ => {}
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("has_ended", &self.has_ended()).finish_non_exhaustive()
    }
}

/// Takes a call back that nobody waits for any more.
struct Forget<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.connection.shared().waiting.remove(&self.id);
    }
}

/// Every request is paused before it is made.
pub(super) fn every_request() -> Value {
    json!({ "patterns": [{ "urlPattern": "*", "requestStage": "Request" }] })
}

/// New targets come paused, with their own sessions.
pub(super) fn attach() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

/// A message, also one with halves of characters in it, which JavaScript has in its texts and JSON cannot have.
fn parse(message: &[u8]) -> Option<Value> {
    serde_json::from_slice(message).ok().or_else(|| serde_json::from_slice(&whole(message)).ok())
}

/// The same text with another character in place of each escaped half of one.
fn whole(message: &[u8]) -> Vec<u8> {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(message.get(at..at + 6)?.strip_prefix(b"\\u")?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut text, mut at) = (Vec::with_capacity(message.len()), 0);
    while at < message.len() {
        let bytes = match (message[at], unit(at), unit(at + 6)) {
            (b'\\', Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff), _) => {
                text.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            // whatever is escaped, a backslash too, goes with its backslash
            (b'\\', ..) => 2,
            _ => 1,
        };
        text.extend_from_slice(&message[at..(at + bytes).min(message.len())]);
        at += bytes;
    }
    text
}

async fn write(mut to: pipe::Sender, mut messages: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if to.write_all(&message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_make_no_message_unreadable() {
        let parsed = |text: &str| parse(text.as_bytes()).unwrap()["a"].as_str().unwrap().to_owned();
        assert_eq!(parsed(r#"{"a":"x\ud83d\ude00y"}"#), "x\u{1f600}y");
        assert_eq!(parsed(r#"{"a":"x\ud83dy\ude00"}"#), "x\u{fffd}y\u{fffd}");
        assert_eq!(parsed(r#"{"a":"\\ud83d \ud83d\ud83d\ude00"}"#), "\\ud83d \u{fffd}\u{1f600}");
        assert_eq!(parse(br#"{"a":"\ud83d"#), None);
    }
}

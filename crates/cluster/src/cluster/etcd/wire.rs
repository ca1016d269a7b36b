//! The messages of etcd's JSON gateway: 64-bit numbers as text, bytes in Base64, defaults left out.

use data_encoding::BASE64;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A key with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KeyValue {
    /// The key; ours are text.
    #[serde(deserialize_with = "text")]
    pub key: String,
    /// Its value.
    #[serde(deserialize_with = "bytes")]
    pub value: Vec<u8>,
    /// The revision at which it was made; 0 in the event of its deletion.
    #[serde(deserialize_with = "number")]
    pub create_revision: u64,
    /// The revision of its last change.
    #[serde(deserialize_with = "number")]
    pub mod_revision: u64,
    /// The lease that it goes with; 0 for none.
    #[serde(deserialize_with = "number")]
    pub lease: u64,
}

/// Fields that every answer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    #[serde(deserialize_with = "number")]
    pub cluster_id: u64,
    #[serde(deserialize_with = "number")]
    pub revision: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RangeAnswer {
    pub header: Header,
    pub kvs: Vec<KeyValue>,
    pub more: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TxnAnswer {
    pub header: Header,
    pub succeeded: bool,
    pub responses: Vec<OperationAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OperationAnswer {
    pub response_range: Option<RangeAnswer>,
}

/// The answer about a lease: granted, renewed (below `result`) or looked up.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LeaseAnswer {
    pub header: Header,
    #[serde(rename = "ID", deserialize_with = "number")]
    pub id: u64,
    #[serde(rename = "TTL", deserialize_with = "signed")]
    pub ttl_s: i64,
    #[serde(rename = "grantedTTL", deserialize_with = "signed")]
    pub granted_s: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlainAnswer {
    pub header: Header,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenAnswer {
    pub token: String,
}

/// One of a stream of answers; the gateway puts a fault of the stream in the place of the result.
#[derive(Debug, Deserialize)]
pub(super) struct Streamed<T> {
    pub result: Option<T>,
    pub error: Option<Fault>,
}

/// The error of an answer, or of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fault {
    #[serde(alias = "grpc_code")]
    pub code: u32,
    pub message: String,
    pub error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WatchAnswer {
    pub header: Header,
    pub created: bool,
    pub canceled: bool,
    #[serde(deserialize_with = "number")]
    pub compact_revision: u64,
    pub cancel_reason: String,
    pub events: Vec<EventAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventAnswer {
    #[serde(rename = "type")]
    pub kind: EventKind,
    pub kv: KeyValue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum EventKind {
    #[default]
    #[serde(rename = "PUT")]
    Put,
    #[serde(rename = "DELETE")]
    Delete,
}

/// Bytes as the gateway takes them.
pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64.encode(bytes.as_ref())
}

/// The keys that begin with `prefix`: from it to the first key behind all of them.
pub(super) fn below(prefix: &str) -> (String, String) {
    let mut end = prefix.as_bytes().to_vec();
    // text has no byte 255, so the last one can be raised
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    (encoded(prefix), encoded(end))
}

/// A transaction: if all comparisons hold, the changes; otherwise nothing, and some keys are read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Txn {
    compare: Vec<Value>,
    success: Vec<Value>,
    failure: Vec<Value>,
}

impl Txn {
    /// One that always succeeds and does nothing.
    pub(crate) fn new() -> Txn {
        Txn::default()
    }

    /// Adds the condition that the key was made at this revision. 0: that there is no such key.
    pub(crate) fn if_created(self, key: &str, revision: u64) -> Txn {
        self.compared(key, "CREATE", "create_revision", revision)
    }

    /// Adds the condition that the key was changed last at this revision. 0: that there is no such key.
    pub(crate) fn if_modified(self, key: &str, revision: u64) -> Txn {
        self.compared(key, "MOD", "mod_revision", revision)
    }

    fn compared(mut self, key: &str, target: &str, name: &str, revision: u64) -> Txn {
        self.compare
            .push(json!({ "key": encoded(key), "target": target, "result": "EQUAL", name: revision.to_string() }));
        self
    }

    /// Puts the key, for ever.
    pub(crate) fn put(self, key: &str, value: &[u8]) -> Txn {
        self.put_under(key, value, 0)
    }

    /// Puts the key, for as long as the lease lasts.
    pub(crate) fn put_under(mut self, key: &str, value: &[u8], lease: u64) -> Txn {
        let put = json!({ "key": encoded(key), "value": encoded(value), "lease": lease.to_string() });
        self.success.push(json!({ "request_put": put }));
        self
    }

    /// Deletes the key.
    pub(crate) fn delete(mut self, key: &str) -> Txn {
        self.success.push(json!({ "request_delete_range": { "key": encoded(key) } }));
        self
    }

    /// Deletes all keys that begin with `prefix`.
    pub(crate) fn delete_below(mut self, prefix: &str) -> Txn {
        let (first, end) = below(prefix);
        self.success.push(json!({ "request_delete_range": { "key": first, "range_end": end } }));
        self
    }

    /// Reads the key where the comparisons do not hold.
    pub(crate) fn or_get(mut self, key: &str) -> Txn {
        self.failure.push(json!({ "request_range": { "key": encoded(key) } }));
        self
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = i128;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, or one as text")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<i128, E> {
        Ok(i128::from(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<i128, E> {
        Ok(i128::from(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<i128, E> {
        value.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(value), &self))
    }
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    u64::try_from(from.deserialize_any(Number)?).map_err(de::Error::custom)
}

fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    i64::try_from(from.deserialize_any(Number)?).map_err(de::Error::custom)
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    BASE64.decode(String::deserialize(from)?.as_bytes()).map_err(de::Error::custom)
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::from_utf8(bytes(from)?).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as etcd 3.4.23 gave them.
    const REFUSED: &str = r#"{"header":{"cluster_id":"10144879847569953045","member_id":"12428976124636271536",
        "revision":"2","raft_term":"2"},"responses":[{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"YQ==",
        "create_revision":"2","mod_revision":"2","version":"1","value":"dg=="}],"count":"1"}},
        {"response_range":{"header":{"revision":"2"}}}]}"#;
    const DONE: &str = r#"{"header":{"cluster_id":"10144879847569953045","member_id":"12428976124636271536",
        "revision":"2","raft_term":"2"},"succeeded":true,"responses":[{"response_put":{"header":{"revision":"2"}}}]}"#;
    const ENDED: &str = r#"{"result":{"header":{"cluster_id":"1","revision":"1","raft_term":"2"},"ID":"123"}}"#;
    const OVERTAKEN: &str = r#"{"result":{"header":{"cluster_id":"1","raft_term":"2"},"canceled":true,
        "compact_revision":"2"}}"#;
    const DELETED: &str = r#"{"result":{"header":{"revision":"9"},"events":[{"type":"DELETE","kv":{"key":"YQ==",
        "mod_revision":"9"}}]}}"#;

    #[test]
    fn recorded_answers_are_read() {
        let refused: TxnAnswer = serde_json::from_str(REFUSED).unwrap();
        assert!(!refused.succeeded && refused.header.cluster_id == 10_144_879_847_569_953_045);
        let gets: Vec<_> =
            refused.responses.iter().map(|answer| &answer.response_range.as_ref().unwrap().kvs).collect();
        let kv = KeyValue { key: "a".to_owned(), value: b"v".to_vec(), create_revision: 2, mod_revision: 2, lease: 0 };
        assert_eq!((gets[0], gets[1].len()), (&vec![kv], 0));
        let done: TxnAnswer = serde_json::from_str(DONE).unwrap();
        assert!(done.succeeded && done.header.revision == 2);
        let ended: Streamed<LeaseAnswer> = serde_json::from_str(ENDED).unwrap();
        assert_eq!(ended.result.unwrap().ttl_s, 0, "no time to live: the lease is gone");
        let overtaken: Streamed<WatchAnswer> = serde_json::from_str(OVERTAKEN).unwrap();
        let overtaken = overtaken.result.unwrap();
        assert!(overtaken.canceled && overtaken.compact_revision == 2);
        let deleted: Streamed<WatchAnswer> = serde_json::from_str(DELETED).unwrap();
        let event = &deleted.result.unwrap().events[0];
        assert_eq!((event.kind, event.kv.mod_revision), (EventKind::Delete, 9));
    }

    #[test]
    fn a_transaction_is_written_as_the_gateway_takes_it() {
        let txn = Txn::new().if_created("a", 0).if_modified("b", 7).put_under("a", b"v", 5).delete("b").or_get("a");
        let expected = json!({
            "compare": [
                { "key": "YQ==", "target": "CREATE", "result": "EQUAL", "create_revision": "0" },
                { "key": "Yg==", "target": "MOD", "result": "EQUAL", "mod_revision": "7" },
            ],
            "success": [
                { "request_put": { "key": "YQ==", "value": "dg==", "lease": "5" } },
                { "request_delete_range": { "key": "Yg==" } },
            ],
            "failure": [{ "request_range": { "key": "YQ==" } }],
        });
        assert_eq!(serde_json::to_value(&txn).unwrap(), expected);
        assert_eq!(below("/a/"), (encoded("/a/"), encoded("/a0")));
    }
}

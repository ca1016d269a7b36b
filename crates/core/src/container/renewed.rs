//! Exchanges whose answer, a revisit, is written again with what it refers to: by a compaction, which gives it the
//! payload, and for other programs, which take status and headers from a revisit's own head and know no 304.

use super::keys::KeyRecord;
use super::versions::Value;
use crate::warc::{
    Encoder, Header, Profile, Record, Truncation, WAS_REVISIT_FIELD, format_date, head_of, is_packed, parse_http_head,
    with_field,
};
use crate::web::headers;

/// The kind of record that a revisit becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A response, with the payload.
    Response,
    /// A revisit by its payload, with the head that came with that.
    Revisit,
}

/// The answer that a revisit refers to.
pub(super) struct Original<'a> {
    /// The URL that brought it.
    url: &'a str,
    /// Date at which that request began.
    date: String,
    body: &'a [u8],
    /// Its record; none in another archive.
    stored: Option<Stored<'a>>,
}

struct Stored<'a> {
    key: &'a KeyRecord,
    value: &'a Value,
}

impl<'a> Original<'a> {
    /// The original in this archive: the record `value`, to which `key` leads.
    pub(crate) fn of(key: &'a KeyRecord, value: &'a Value) -> Self {
        let stored = Some(Stored { key, value });
        Original { url: &key.url, date: format_date(key.time), body: value.body(), stored }
    }

    /// The original in another archive, with this `body`, which `revisit` names.
    pub(crate) fn elsewhere(revisit: &'a Record, body: &'a [u8]) -> Self {
        let field = |name: &str| revisit.field(name).unwrap_or_default();
        let date = field("WARC-Refers-To-Date").to_owned();
        Original { url: field("WARC-Refers-To-Target-URI"), date, body, stored: None }
    }
}

/// An exchange that is written again.
pub(super) struct Renewed {
    /// Its records, the answer's last. They are in no file.
    pub records: Vec<Record>,
    /// Status of the answer.
    pub status: u16,
    /// True where the payload is compressed in itself.
    pub is_packed: bool,
}

impl Renewed {
    /// Appends its records to `out`; returns where the record of the answer begins.
    pub(crate) fn write(&self, encoder: &mut Encoder, out: &mut Vec<u8>) -> usize {
        let mut start = out.len();
        for (place, record) in self.records.iter().enumerate() {
            start = out.len();
            self.append(place, record, encoder, out);
        }
        start
    }

    /// Appends `record`, which is at `place`.
    pub(crate) fn append(&self, place: usize, record: &Record, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let is_packed = self.is_packed && place + 1 == self.records.len();
        encoder.again(&record.fields, &record.block, &[], is_packed, out);
    }

    /// The exchange of `key`, a revisit, whose records are those `before` the answer and `revisit`.
    pub(crate) fn new(
        key: &KeyRecord,
        before: Vec<Record>,
        revisit: &Record,
        original: &Original<'_>,
        form: Form,
    ) -> Self {
        let profile = revisit.field("WARC-Profile").unwrap_or_default();
        let is_unchanged = Profile::parse(profile) == Some(Profile::NotModified);
        let own = parse_http_head(&revisit.block).map(|(_, headers, _)| headers).unwrap_or_default();
        // a 304 has neither the status nor all headers of what it confirms: those come with the payload
        let (head, status) = match &original.stored {
            Some(Stored { key: first, value }) if is_unchanged => match key.mime == first.mime {
                true => (value.head().into_owned(), first.status),
                false => (head_with_type(&value.head(), &value.headers, &own), first.status),
            },
            _ => (revisit.block.clone(), key.status),
        };
        let said = format!("{profile} of {} at {}", original.url, original.date);
        let before = before.into_iter().map(|record| match record.kind() {
            "metadata" => Record::again(record.fields, with_field(&record.block, WAS_REVISIT_FIELD, &said)),
            _ => record,
        });
        let mut records: Vec<Record> = before.collect();
        let (fields, block) = match form {
            Form::Response => (response_fields(revisit, &records), [&head, original.body].concat()),
            Form::Revisit => (revisit_fields(revisit), head),
        };
        let is_packed = is_packed(original.stored.as_ref().map_or(&own, |stored| &stored.value.headers));
        records.push(Record::again(fields, block));
        Renewed { records, status, is_packed }
    }
}

/// The fields of the response that takes the place of `revisit`, behind the records `before`.
fn response_fields(revisit: &Record, before: &[Record]) -> Vec<(String, String)> {
    const OF_REVISITS: [&str; 5] =
        ["WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Truncated"];
    // as in any response: indexers take the key of such a capture from the request
    let request = before.iter().find(|record| record.kind() == "request").filter(|_| revisit.has_request());
    let request = request.and_then(|record| record.field("WARC-Record-ID"));
    let mut fields = Vec::with_capacity(revisit.fields.len());
    for (name, value) in revisit.fields.iter().filter(|(name, _)| !OF_REVISITS.contains(&name.as_str())) {
        let value = if name == "WARC-Type" { "response" } else { value };
        fields.push((name.clone(), value.to_owned()));
        if name == "WARC-Protocol" {
            fields.extend(request.map(|id| ("WARC-Concurrent-To".to_owned(), id.to_owned())));
        }
    }
    fields
}

/// The fields of `revisit` where it has the head of what it refers to: it is one by its payload, which is left out.
fn revisit_fields(revisit: &Record) -> Vec<(String, String)> {
    let mut fields = Vec::with_capacity(revisit.fields.len() + 1);
    for (name, value) in revisit.fields.iter().filter(|(name, _)| name != "WARC-Truncated") {
        let value = if name == "WARC-Profile" { Profile::IdenticalPayload.uri() } else { value.clone() };
        fields.push((name.clone(), value));
        if name == "WARC-Refers-To-Date" {
            fields.push(("WARC-Truncated".to_owned(), Truncation::Length.as_str().to_owned()));
        }
    }
    fields
}

/// The `head` of a response with these `headers`, but with the type that `own` states.
fn head_with_type(head: &[u8], headers: &[Header], own: &[Header]) -> Vec<u8> {
    let is_type = |header: &&Header| header.0.eq_ignore_ascii_case(b"content-type");
    debug_assert!(headers::first(own, "content-type").is_some());
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let all: Vec<_> =
        headers.iter().filter(|header| !is_type(header)).chain(own.iter().filter(is_type)).cloned().collect();
    head_of(line, &all)
}

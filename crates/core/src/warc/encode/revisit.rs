//! Revisit records (WARC 1.1, section 6.7): answers whose payload is in the archive already.
//!
//! Whether it is, only the archive's owner knows. So [`Encoder::encode`] keeps of every answer that may turn out to be
//! one what its revisit record takes ([`RevisitDraft`]), and [`Encoder::revisit`] writes that record, which has the
//! place of the response record in the exchange: metadata and request are as for any answer.

use std::borrow::Cow;
use std::net::IpAddr;

use super::{Encoder, Exchange, Head, Records, digest, id_seed, urn, uuid};
use crate::clock::Time;
use crate::warc::{Record, Truncation, format_date, parse_date, parse_http_head};

/// Payloads shorter than this are stored again: the fields of a revisit record take as much room, compressed.
pub const REVISIT_PAYLOAD_MIN: u64 = 256;

const PROFILES: &str = "http://netpreserve.org/warc/1.1/revisit/";

/// Reasons why a payload is not stored again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The payload has the digest of one that is stored.
    IdenticalPayload,
    /// The server said so (304).
    NotModified,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::IdenticalPayload => "identical-payload-digest",
            Profile::NotModified => "server-not-modified",
        }
    }

    /// The URI of the standard.
    pub(crate) fn uri(self) -> String {
        format!("{PROFILES}{}", self.name())
    }

    /// Reads the URI of the standard, of 1.1 or 1.0.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let name = uri.rsplit('/').next()?;
        [Profile::IdenticalPayload, Profile::NotModified].into_iter().find(|profile| profile.name() == name)
    }

    /// Returns the profile by which an answer is a revisit, if it can be one: a 304, or a whole payload of a 2xx that
    /// is worth it.
    pub fn of(status: u16, payload_bytes: u64, truncated: Option<Truncation>) -> Option<Self> {
        match status {
            304 => Some(Profile::NotModified),
            200..300 if payload_bytes >= REVISIT_PAYLOAD_MIN && truncated.is_none() => Some(Profile::IdenticalPayload),
            _ => None,
        }
    }
}

/// Parts of an exchange that a revisit record takes, besides URL, time and digest.
#[derive(Clone, Debug)]
pub struct RevisitDraft {
    /// The profile by which it would be a revisit.
    pub profile: Profile,
    pub(super) id_seed: u128,
    pub(super) ip: Option<IpAddr>,
    pub(super) protocol: &'static str,
    /// The HTTP head, as the response record has it.
    pub(super) http_head: Vec<u8>,
}

/// A revisit to be written.
#[derive(Clone, Copy, Debug)]
pub struct Revisit<'a> {
    /// The parts that were kept of the exchange.
    pub draft: &'a RevisitDraft,
    /// The URL that was requested.
    pub url: &'a str,
    /// Time at which the request began.
    pub fetched_at: Time,
    /// SHA-1 of the payload.
    pub payload_sha1: [u8; 20],
    /// Seed of the ids of the records that have the payload, where it is known.
    pub first_id_seed: Option<u128>,
    /// The URL that brought the payload.
    pub first_url: &'a str,
    /// Date at which that request began, as its record has it.
    pub first_date: &'a str,
}

/// Reference to the payload of an answer in a record of another archive.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// The URL that brought it.
    pub url: &'a str,
    /// Date at which that request began, as far as it is known.
    pub date: &'a str,
    /// Seed of the ids of the records that have it, where it is known.
    pub id_seed: Option<u128>,
    /// The name of that archive.
    pub archive: &'a str,
}

impl Encoder {
    /// Appends a record that gives the page of `answer`, a response or a revisit, under another spelling of its URL. It
    /// refers to the record that has the payload, and is of the same moment. Says whether there is an answer in there.
    pub fn spelling(&mut self, url: &str, answer: &Record, out: &mut Vec<u8>) -> bool {
        let Some((_, _, body)) = parse_http_head(&answer.block) else { return false };
        let field = |name: &str| answer.field(name).unwrap_or_default();
        let referred = |name: &str, own: &str| Cow::Borrowed(answer.field(name).unwrap_or(field(own)));
        let date = field("WARC-Date");
        let mut fields = vec![
            ("WARC-Profile", Cow::from(Profile::IdenticalPayload.uri())),
            ("WARC-Payload-Digest", Cow::from(field("WARC-Payload-Digest"))),
        ];
        if answer.kind() == "response" || answer.field("WARC-Refers-To").is_some() {
            fields.push(("WARC-Refers-To", referred("WARC-Refers-To", "WARC-Record-ID")));
        }
        fields.push(("WARC-Refers-To-Target-URI", referred("WARC-Refers-To-Target-URI", "WARC-Target-URI")));
        fields.push(("WARC-Refers-To-Date", referred("WARC-Refers-To-Date", "WARC-Date")));
        fields.push(("WARC-Truncated", Truncation::Length.as_str().into()));
        self.block.clear();
        self.block.extend_from_slice(&answer.block[..body]);
        // the same spelling of the same answer has the same id, however often it is exported
        let own = format!("{} {url}", field("WARC-Record-ID"));
        let head = Head {
            kind: "revisit",
            id: uuid(id_seed(0, &own, parse_date(date).unwrap_or(Time::ZERO)), 0),
            date,
            content_type: "application/http;msgtype=response",
            url: Some(url),
            fields: &fields,
            is_packed: false,
        };
        self.finish(&head, &[], out);
        true
    }

    /// The records of `exchange`, whose payload is elsewhere: a revisit has the place of the response.
    pub fn encode_reference(
        &mut self,
        exchange: &Exchange<'_>,
        payload_sha1: [u8; 20],
        reference: &Reference<'_>,
    ) -> Records {
        let mut bytes = Vec::with_capacity(2_048);
        self.before_answer(exchange, Some(reference.archive), &mut bytes);
        let start = bytes.len();
        let mut http_head = Vec::new();
        super::http_head(exchange, &mut http_head);
        let draft = RevisitDraft {
            profile: Profile::IdenticalPayload,
            id_seed: exchange.id_seed,
            ip: exchange.ip,
            protocol: super::protocol(exchange),
            http_head,
        };
        let revisit = Revisit {
            draft: &draft,
            url: exchange.url,
            fetched_at: exchange.fetched_at,
            payload_sha1,
            first_id_seed: reference.id_seed,
            first_url: reference.url,
            first_date: reference.date,
        };
        self.revisit(&revisit, &mut bytes);
        let payload_bytes = exchange.body.len() as u64;
        let response = start..bytes.len();
        Records { bytes, response, payload_sha1, payload_bytes, revisit: None, is_external: true }
    }

    /// Appends the record of `revisit` to `out`. Its block is the head of the answer.
    pub(crate) fn revisit(&mut self, revisit: &Revisit<'_>, out: &mut Vec<u8>) {
        let draft = revisit.draft;
        let mut fields = vec![
            ("WARC-Profile", draft.profile.uri().into()),
            ("WARC-Payload-Digest", digest(revisit.payload_sha1).into()),
        ];
        if let Some(seed) = revisit.first_id_seed {
            fields.push(("WARC-Refers-To", urn(uuid(seed, 0)).into()));
        }
        fields.push(("WARC-Refers-To-Target-URI", revisit.first_url.into()));
        fields.push(("WARC-Refers-To-Date", revisit.first_date.into()));
        if let Some(ip) = draft.ip {
            fields.push(("WARC-IP-Address", ip.to_string().into()));
        }
        // a 304 has no payload that could have been left out
        if draft.profile == Profile::IdenticalPayload {
            fields.push(("WARC-Truncated", Truncation::Length.as_str().into()));
        }
        fields.push(("WARC-Protocol", draft.protocol.into()));
        self.block.clear();
        self.block.extend_from_slice(&draft.http_head);
        let head = Head {
            kind: "revisit",
            id: uuid(draft.id_seed, 0),
            date: &format_date(revisit.fetched_at),
            content_type: "application/http;msgtype=response",
            url: Some(revisit.url),
            fields: &fields,
            is_packed: false,
        };
        self.finish(&head, &[], out);
    }
}

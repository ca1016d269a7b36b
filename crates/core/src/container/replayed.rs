//! Reading stored exchanges back, one at a time: what a replay needs of them.
//!
//! An exchange begins with its metadata record and ends with its answer. What a rendering has made of a page is between
//! the two: so it is whole where the exchange is, and no page is without it that was stored with it.

use std::net::IpAddr;

use data_encoding::BASE32;

use crate::clock::Time;
use crate::disk::{DiskFile, Error, Result};
use crate::warc::{
    Again, Header, OUTLINK_FIELD, PAYLOAD_IN_FIELD, Profile, RENDERING_FIELD, RENDERING_PURPOSE, Record, RecordReader,
    Truncation, parse_date, parse_http_head,
};
use crate::web::headers;
use crate::web::kind::{KIND_FIELD, Kind};
use crate::web::mime;
use crate::web::statements::Statements;

/// Blocks longer than this are not replayed: no body limit allows them.
const BLOCK_MAX: u64 = 2 << 30;

/// A page that was found in a value file.
#[derive(Clone, Debug)]
pub struct ReplayedPage {
    /// Its URL.
    pub url: String,
    /// Status of the answer.
    pub status: u16,
    /// Its kind, where it is no content, as it was judged when it came.
    pub kind: Option<Kind>,
    /// Time at which the request began.
    pub time: Time,
    /// The page that named it.
    pub via: Option<String>,
    /// Links from a seed.
    pub depth: u16,
    /// Discovery path.
    pub hops: String,
    /// Number of the seed.
    pub seed: u32,
    /// Attempts before this one.
    pub attempt: u8,
    /// True for a robots.txt that the crawl fetched for itself.
    pub robots: bool,
    /// True if a page that was rendered asked for it.
    pub of_rendering: bool,
    /// Report of its rendering, if it was tried.
    pub rendering: Option<String>,
    /// The page as a rendering left it.
    pub conversion: Option<String>,
    /// Links that the rendering found and that are not in it.
    pub outlinks: Vec<String>,
    /// The reason why it was fetched, where it had been seen before.
    pub again: Option<Again>,
    /// Headers of the answer, as stored.
    pub headers: Vec<Header>,
    /// The body as sent; of a revisit empty until `Container::read_through`.
    pub body: Vec<u8>,
    /// True for a revisit whose body is in another archive.
    pub is_external: bool,
    /// The response that a revisit refers to.
    pub refers_to: Option<RefersTo>,
    /// Key record of the response with the payload, for a revisit that was read through.
    pub payload_at: Option<u64>,
    /// The reason why the body is not whole.
    pub truncated: Option<Truncation>,
    /// True if its metadata record has statements about its use.
    pub has_statements: bool,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// Media type.
    pub mime: String,
    /// SHA-1 of the body.
    pub payload_sha1: [u8; 20],
    /// Length of the body.
    pub payload_bytes: u64,
    /// The value file.
    pub file: u32,
    /// Offset of the response record in it.
    pub value_offset: u64,
    /// Its compressed length.
    pub value_bytes: u64,
    /// Compressed length of all records of the exchange.
    pub exchange_bytes: u64,
}

/// The response with the payload, as a revisit record names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefersTo {
    /// The reason why the payload was not stored again.
    pub profile: Profile,
    /// The URL that brought it.
    pub url: String,
    /// Time at which that request began.
    pub time: Time,
}

/// Reads the records of the exchange at `start` of value file `number`: metadata, perhaps a request, response or
/// revisit; or a warcinfo record, which has no page. Says where it ends, too.
pub(super) fn read_exchange(file: &DiskFile, number: u32, start: u64) -> Result<Option<(Option<ReplayedPage>, u64)>> {
    let mut reader = RecordReader::new(file, start, BLOCK_MAX);
    let mut before: Vec<Record> = Vec::new();
    loop {
        let Some(record) = reader.next()? else {
            if before.is_empty() {
                return Ok(None);
            }
            return Err(Error::damaged(file.path(), start, "a whole exchange", "end of file"));
        };
        let damaged = |expected: &str, found: &str| Err(Error::damaged(file.path(), record.offset, expected, found));
        if !record.is_intact() {
            return damaged("a record with the digest that it states", "another block");
        }
        match record.kind() {
            "warcinfo" if before.is_empty() => return Ok(Some((None, reader.position()))),
            "metadata" if before.is_empty() => before.push(record),
            "request" if before.len() == 1 => before.push(record),
            "conversion" | "resource" if !before.is_empty() => before.push(record),
            "response" | "revisit" if before.iter().all(|other| belongs_to(other, &record)) => {
                let Some(mut page) = page_of(number, &before, &record) else {
                    return damaged("a response with an HTTP head, behind its metadata", "another block");
                };
                page.exchange_bytes = reader.position() - start;
                return Ok(Some((Some(page), reader.position())));
            }
            kind => return damaged("the next record of an exchange", &format!("a {kind:?} record that is none of it")),
        }
    }
}

/// True if `record` says that it is of the exchange that `answer` ends.
fn belongs_to(record: &Record, answer: &Record) -> bool {
    let said =
        [("WARC-Concurrent-To", "WARC-Record-ID"), ("WARC-Target-URI", "WARC-Target-URI"), ("WARC-Date", "WARC-Date")];
    let is_picture = record.kind() == "resource";
    said.iter().all(|(name, of_answer)| match (record.field(name), answer.field(of_answer)) {
        // its URL is the page's with something before it
        (Some(own), Some(url)) if is_picture && *name == "WARC-Target-URI" => own.ends_with(url),
        (own, of_answer) => own == of_answer,
    })
}

/// The page of an exchange in value file `file` with these records before its answer, the metadata first.
pub(super) fn page_of(file: u32, before: &[Record], answer: &Record) -> Option<ReplayedPage> {
    let mut page = page(file, before.first()?, answer)?;
    let conversion = before.iter().find(|record| record.kind() == "conversion");
    page.conversion = conversion.map(|record| String::from_utf8_lossy(&record.block).into_owned());
    Some(page)
}

/// The same without what a rendering left of it.
fn page(file: u32, metadata: &Record, response: &Record) -> Option<ReplayedPage> {
    let fields = String::from_utf8_lossy(&metadata.block);
    let field = |name: &str| {
        fields.lines().find_map(|line| line.split_once(": ").filter(|(n, _)| *n == name).map(|(_, value)| value.trim()))
    };
    let number = |name: &str| field(name).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
    let (status, headers, body_at) = parse_http_head(&response.block)?;
    let mime = mime::stated(mime::content_type(&headers).as_deref()).to_owned();
    let digest = response.field("WARC-Payload-Digest")?.strip_prefix("sha1:")?;
    let body = response.block[body_at..].to_vec();
    let refers_to = if response.kind() == "revisit" { Some(refers_to(response)?) } else { None };
    // a revisit is truncated only in so far as its payload is elsewhere
    let truncated = response.field("WARC-Truncated").filter(|_| refers_to.is_none());
    let is_external = refers_to.is_some() && field(PAYLOAD_IN_FIELD).is_some();
    let payload_bytes = if is_external { stated_length(&headers)? } else { body.len() as u64 };
    Some(ReplayedPage {
        url: response.field("WARC-Target-URI")?.to_owned(),
        status,
        kind: field(KIND_FIELD).and_then(Kind::of_text),
        time: parse_date(response.field("WARC-Date")?)?,
        via: field("via").map(str::to_owned),
        depth: u16::try_from(number("depth")).unwrap_or(u16::MAX),
        hops: field("hopsFromSeed").unwrap_or_default().to_owned(),
        seed: number("seed"),
        attempt: u8::try_from(number("attempt")).unwrap_or(u8::MAX),
        robots: field("purpose") == Some("robots.txt"),
        of_rendering: field("purpose") == Some(RENDERING_PURPOSE),
        rendering: field(RENDERING_FIELD).map(str::to_owned),
        conversion: None,
        outlinks: fields
            .lines()
            .filter_map(|line| line.split_once(": ").filter(|(name, _)| *name == OUTLINK_FIELD))
            .map(|(_, link)| link.trim().to_owned())
            .collect(),
        again: field("forced").and_then(Again::parse),
        headers,
        payload_bytes,
        body,
        is_external,
        refers_to,
        payload_at: None,
        truncated: truncated.and_then(Truncation::parse),
        has_statements: !Statements::parse(&metadata.block).is_empty(),
        ip: response.field("WARC-IP-Address").and_then(|ip| ip.parse().ok()),
        mime,
        payload_sha1: BASE32.decode(digest.as_bytes()).ok()?.try_into().ok()?,
        file,
        value_offset: response.offset,
        value_bytes: response.length,
        exchange_bytes: 0,
    })
}

/// The length of the body to which a head belongs that this program wrote.
pub(super) fn stated_length(head: &[Header]) -> Option<u64> {
    headers::first(head, "content-length")?.trim().parse().ok()
}

fn refers_to(revisit: &Record) -> Option<RefersTo> {
    Some(RefersTo {
        profile: Profile::parse(revisit.field("WARC-Profile")?)?,
        url: revisit.field("WARC-Refers-To-Target-URI")?.to_owned(),
        time: parse_date(revisit.field("WARC-Refers-To-Date")?)?,
    })
}

//! Records from exchanges.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::ops::Range;

use sha1::{Digest, Sha1};

use super::address;
use super::digest::{block_sha1, both_sha1, digest};
use super::pack::{Compression, Packer};
mod again;
mod revisit;
use super::{Again, Header, HttpVersion, MASKED_TRANSFER_ENCODING, Truncation, format_date};
use crate::clock::Time;
use crate::web::kind::Judged;
use crate::web::statements::Statements;
pub use again::id_of;
pub(crate) use again::{WAS_REVISIT_FIELD, http_head as head_of, with_field};
pub use revisit::{Profile, REVISIT_PAYLOAD_MIN, Reference, Revisit, RevisitDraft};

/// Content codings that compress.
const PACKED_CODINGS: [&[u8]; 5] = [b"gzip", b"x-gzip", b"br", b"zstd", b"deflate"];
/// Beginnings of media types that are compressed in themselves.
const PACKED_TYPES: [&[u8]; 8] =
    [b"image/jpeg", b"image/png", b"image/gif", b"image/webp", b"application/zip", b"font/woff", b"video/", b"audio/"];

/// Field of a metadata record with the name of the archive that has the payload, where that is another one.
pub(crate) const PAYLOAD_IN_FIELD: &str = "payloadIn";

/// Field of a metadata record that says what came of the rendering of the page.
pub(crate) const RENDERING_FIELD: &str = "rendering";
/// Field of a metadata record with a link that a rendering found and the rendered page does not name.
pub(crate) const OUTLINK_FIELD: &str = "outlink";
/// Value of the field `purpose` of a metadata record that is about what a rendered page asked for.
pub(crate) const RENDERING_PURPOSE: &str = "rendering";

/// The number that makes the id of a metadata record, together with the seed of its exchange.
const METADATA_PART: u128 = 1;
/// The same of the record with the rendered page, and of the first one of its pictures.
const CONVERSION_PART: u128 = 3;
const PICTURE_PART: u128 = 4;

/// One answered request.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    /// The URL that was requested.
    pub url: &'a str,
    /// Time at which the request began.
    pub fetched_at: Time,
    /// Milliseconds from there to the last byte.
    pub duration_ms: u64,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// The protocol of the answer.
    pub http_version: HttpVersion,
    /// The head of the request, where it is archived.
    pub request: Option<&'a [u8]>,
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: &'a str,
    /// Headers in order.
    pub headers: &'a [Header],
    /// The body as sent, without transfer encoding.
    pub body: &'a [u8],
    /// The reason why the body is not whole.
    pub truncated: Option<Truncation>,
    /// The page that named the URL.
    pub via: Option<&'a str>,
    /// Links from a seed to the URL.
    pub depth: u16,
    /// Discovery path.
    pub hops: &'a str,
    /// Number of the seed.
    pub seed: u32,
    /// Attempts before this one.
    pub attempt: u8,
    /// True if this is a robots.txt that the crawl fetched for itself.
    pub robots: bool,
    /// True if a page that was rendered asked for it.
    pub of_rendering: bool,
    /// The rendition of the page, or that none succeeded.
    pub rendition: Option<Rendition<'a>>,
    /// The reason why the URL was fetched, where it had been seen before.
    pub again: Option<Again>,
    /// The URL that the page names as its canonical one.
    pub canonical: Option<&'a str>,
    /// The kind of the answer with its evidence, where it is no content.
    pub judged: Option<&'a Judged>,
    /// Statements about its use.
    pub statements: Option<&'a Statements>,
    /// Seed of the record ids.
    pub id_seed: u128,
}

/// Outcome of the rendering of a page.
#[derive(Clone, Copy, Debug)]
pub struct Rendition<'a> {
    /// Report of what came of it, on one line.
    pub note: &'a str,
    /// The page as it was when the rendering ended, in UTF-8; nothing where that failed.
    pub dom: Option<&'a str>,
    /// Links that it found and that `dom` does not name.
    pub outlinks: &'a [String],
    /// Pictures of the page: what their URLs begin with, media type, bytes.
    pub pictures: &'a [(&'static str, &'static str, &'a [u8])],
}

/// The records of an exchange, ready to be appended to a value file.
#[derive(Clone, Debug)]
pub struct Records {
    /// Metadata, request and response, compressed one by one.
    pub bytes: Vec<u8>,
    /// The response record in `bytes`, or the revisit of another archive's.
    pub response: Range<usize>,
    /// SHA-1 of the body.
    pub payload_sha1: [u8; 20],
    /// Length of the body.
    pub payload_bytes: u64,
    /// True if the payload is in another archive: the last record is a revisit of it.
    pub is_external: bool,
    /// Parts for the record that takes the place of the response, should the archive have the payload already.
    pub revisit: Option<RevisitDraft>,
}

impl Records {
    /// None, of a body that is not archived.
    pub fn none(payload_sha1: [u8; 20], payload_bytes: u64) -> Records {
        Records { bytes: Vec::new(), response: 0..0, payload_sha1, payload_bytes, is_external: false, revisit: None }
    }
}

/// Makes records; its buffers and its compressor are reused from one to the next.
pub struct Encoder {
    packer: Packer,
    /// The head of the record that is written.
    head: String,
    /// The block of the record, or what is before the payload there.
    pub(super) block: Vec<u8>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// End of the fields of a block of `application/warc-fields`: some readers drop the last field where no line follows.
pub(super) const FIELDS_END: &str = "\r\n";

/// The headers of a record that differ from kind to kind.
pub(super) struct Head<'a> {
    pub kind: &'a str,
    pub id: u128,
    pub date: &'a str,
    pub content_type: &'a str,
    pub url: Option<&'a str>,
    pub fields: &'a [(&'a str, Cow<'a, str>)],
    /// True if the payload is compressed already.
    pub is_packed: bool,
}

impl Encoder {
    /// An encoder that compresses by `compression`.
    pub fn new(compression: Compression) -> Self {
        Encoder { packer: Packer::new(compression), head: String::new(), block: Vec::new() }
    }

    /// The records of `exchange`.
    pub fn encode(&mut self, exchange: &Exchange<'_>) -> Records {
        self.encode_digested(exchange, None)
    }

    /// The same where the SHA-1 of the body may be known already.
    pub fn encode_digested(&mut self, exchange: &Exchange<'_>, payload_sha1: Option<[u8; 20]>) -> Records {
        let mut bytes = Vec::with_capacity(exchange.body.len() / 2 + 2_048);
        let (date, response_id) = self.before_answer(exchange, None, &mut bytes);
        let start = bytes.len();
        let payload_sha1 = self.response(exchange, payload_sha1, &date, response_id, &mut bytes);
        let payload_bytes = exchange.body.len() as u64;
        // the block is still the response's, before its payload
        let revisit = Profile::of(exchange.status, payload_bytes, exchange.truncated).map(|profile| RevisitDraft {
            profile,
            id_seed: exchange.id_seed,
            ip: exchange.ip,
            protocol: protocol(exchange),
            http_head: self.block.clone(),
        });
        Records { response: start..bytes.len(), bytes, payload_sha1, payload_bytes, revisit, is_external: false }
    }

    /// Appends the records before the answer's; returns the answer's date and id. `payload_in` names the archive that
    /// has its payload, where that is another one.
    fn before_answer(
        &mut self,
        exchange: &Exchange<'_>,
        payload_in: Option<&str>,
        out: &mut Vec<u8>,
    ) -> (String, u128) {
        let date = format_date(exchange.fetched_at);
        let response_id = uuid(exchange.id_seed, 0);
        self.metadata(exchange, payload_in, &date, response_id, out);
        if let Some(request) = exchange.request {
            self.request(exchange, request, &date, response_id, out);
        }
        if let Some(rendition) = &exchange.rendition {
            self.rendition(exchange, rendition, &date, response_id, out);
        }
        (date, response_id)
    }

    /// The first record of a value file.
    pub fn warcinfo(
        &mut self,
        filename: &str,
        software: &str,
        fields: &[(String, String)],
        config: &str,
        at: Time,
        id_seed: u128,
    ) -> Vec<u8> {
        let mut text = String::new();
        field(&mut text, "software", software);
        field(&mut text, "format", "WARC File Format 1.1");
        field(
            &mut text,
            "conformsTo",
            "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        field(
            &mut text,
            "description",
            "HTTP heads are rebuilt from the client's parsed form in HTTP/1.1 syntax; bodies are stored as sent, with \
             their content encoding and without transfer encoding, whose header is renamed to \
             x-crawler-transfer-encoding; Content-Length is that of the stored body",
        );
        for (name, value) in fields {
            field(&mut text, name, value);
        }
        for line in config.lines().filter(|line| !line.is_empty()) {
            field(&mut text, "crawler-config", line);
        }
        text.push_str(FIELDS_END);
        let head = Head {
            kind: "warcinfo",
            id: uuid(id_seed, 0),
            date: &format_date(at),
            content_type: "application/warc-fields",
            url: None,
            fields: &[("WARC-Filename", filename.into())],
            is_packed: false,
        };
        self.block.clear();
        self.block.extend_from_slice(text.as_bytes());
        let mut bytes = Vec::new();
        self.finish(&head, &[], &mut bytes);
        bytes
    }

    fn metadata(
        &mut self,
        exchange: &Exchange<'_>,
        payload_in: Option<&str>,
        date: &str,
        response_id: u128,
        out: &mut Vec<u8>,
    ) {
        let text = &mut self.head;
        text.clear();
        if let Some(via) = exchange.via {
            field(text, "via", via);
        }
        field(text, "hopsFromSeed", exchange.hops);
        let Exchange { depth, seed, attempt, duration_ms, .. } = exchange;
        let _ = write!(text, "depth: {depth}\r\nseed: {seed}\r\nattempt: {attempt}\r\nfetchTimeMs: {duration_ms}\r\n");
        if let Some(again) = exchange.again {
            field(text, "forced", again.name());
        }
        if let Some(canonical) = exchange.canonical {
            field(text, "canonical", canonical);
        }
        if exchange.robots {
            field(text, "purpose", "robots.txt");
        }
        if exchange.of_rendering {
            field(text, "purpose", RENDERING_PURPOSE);
        }
        if let Some(rendition) = &exchange.rendition {
            field(text, RENDERING_FIELD, rendition.note);
            rendition.outlinks.iter().for_each(|link| field(text, OUTLINK_FIELD, link));
        }
        if let Some(archive) = payload_in {
            field(text, PAYLOAD_IN_FIELD, archive);
        }
        for (name, value) in exchange.judged.into_iter().flat_map(Judged::fields) {
            field(text, name, &value);
        }
        for (name, value) in exchange.statements.into_iter().flat_map(Statements::fields) {
            field(text, name, &value);
        }
        text.push_str(FIELDS_END);
        self.block.clear();
        self.block.extend_from_slice(self.head.as_bytes());
        let head = Head {
            kind: "metadata",
            id: uuid(exchange.id_seed, METADATA_PART),
            date,
            content_type: "application/warc-fields",
            url: Some(exchange.url),
            fields: &[("WARC-Concurrent-To", urn(response_id).into())],
            is_packed: false,
        };
        self.finish(&head, &[], out);
    }

    /// The rendered page, and its pictures.
    fn rendition(
        &mut self,
        exchange: &Exchange<'_>,
        rendition: &Rendition<'_>,
        date: &str,
        response_id: u128,
        out: &mut Vec<u8>,
    ) {
        let of_answer = urn(response_id);
        if let Some(dom) = rendition.dom {
            self.block.clear();
            let fields =
                [("WARC-Refers-To", of_answer.as_str().into()), ("WARC-Concurrent-To", of_answer.as_str().into())];
            let head = Head {
                kind: "conversion",
                id: uuid(exchange.id_seed, CONVERSION_PART),
                date,
                content_type: "text/html; charset=utf-8",
                url: Some(exchange.url),
                fields: &fields,
                is_packed: false,
            };
            self.finish(&head, dom.as_bytes(), out);
        }
        for (part, (prefix, content_type, bytes)) in (PICTURE_PART..).zip(rendition.pictures) {
            self.block.clear();
            let head = Head {
                kind: "resource",
                id: uuid(exchange.id_seed, part),
                date,
                content_type,
                url: Some(&format!("{prefix}{}", exchange.url)),
                fields: &[("WARC-Concurrent-To", of_answer.as_str().into())],
                is_packed: true,
            };
            self.finish(&head, bytes, out);
        }
    }

    fn request(&mut self, exchange: &Exchange<'_>, request: &[u8], date: &str, response_id: u128, out: &mut Vec<u8>) {
        self.block.clear();
        self.block.extend_from_slice(request);
        let mut fields = vec![("WARC-Concurrent-To", urn(response_id).into())];
        if let Some(ip) = exchange.ip {
            fields.push(("WARC-IP-Address", ip.to_string().into()));
        }
        let head = Head {
            kind: "request",
            id: uuid(exchange.id_seed, 2),
            date,
            content_type: "application/http;msgtype=request",
            url: Some(exchange.url),
            fields: &fields,
            is_packed: false,
        };
        self.finish(&head, &[], out);
    }

    fn response(
        &mut self,
        exchange: &Exchange<'_>,
        payload_sha1: Option<[u8; 20]>,
        date: &str,
        id: u128,
        out: &mut Vec<u8>,
    ) -> [u8; 20] {
        self.block.clear();
        http_head(exchange, &mut self.block);
        let (payload_sha1, block_sha1) = match payload_sha1 {
            Some(known) => (known, block_sha1(&self.block, exchange.body)),
            None => both_sha1(&self.block, exchange.body),
        };
        let mut fields = vec![("WARC-Payload-Digest", digest(payload_sha1).into())];
        if let Some(ip) = exchange.ip {
            fields.push(("WARC-IP-Address", ip.to_string().into()));
        }
        if let Some(truncation) = exchange.truncated {
            fields.push(("WARC-Truncated", truncation.as_str().into()));
        }
        fields.push(("WARC-Protocol", protocol(exchange).into()));
        // indexers take the key of such a capture from the request, which they know by this
        if exchange.request.is_some() && address::has_request(exchange.url) {
            fields.push(("WARC-Concurrent-To", urn(uuid(exchange.id_seed, 2)).into()));
        }
        let head = Head {
            kind: "response",
            id,
            date,
            content_type: "application/http;msgtype=response",
            url: Some(exchange.url),
            fields: &fields,
            is_packed: is_packed(exchange.headers),
        };
        self.finish_digested(&head, exchange.body, block_sha1, out);
        payload_sha1
    }

    /// Writes the record of `head`, compressed, to `out`. Its block is `self.block` with `payload` behind it, which is
    /// not copied for that.
    pub(super) fn finish(&mut self, head: &Head<'_>, payload: &[u8], out: &mut Vec<u8>) {
        let block_sha1 = block_sha1(&self.block, payload);
        self.finish_digested(head, payload, block_sha1, out);
    }

    /// The same where the SHA-1 of the whole block is known.
    fn finish_digested(&mut self, head: &Head<'_>, payload: &[u8], block_sha1: [u8; 20], out: &mut Vec<u8>) {
        let text = &mut self.head;
        text.clear();
        text.push_str("WARC/1.1\r\n");
        field(text, "WARC-Type", head.kind);
        field(text, "WARC-Record-ID", &urn(head.id));
        field(text, "WARC-Date", head.date);
        if let Some(url) = head.url {
            head_field(text, "WARC-Target-URI", url);
        }
        for (name, value) in head.fields {
            head_field(text, name, value);
        }
        field(text, "WARC-Block-Digest", &digest(block_sha1));
        field(text, "Content-Type", head.content_type);
        let _ = write!(text, "Content-Length: {}\r\n\r\n", self.block.len() + payload.len());
        self.packer.pack(&[text.as_bytes(), &self.block], payload, head.is_packed, out);
    }
}

/// True if the body is compressed already, by its coding or by what it is: to compress it again would cost as much as
/// any other and gain nothing.
pub(crate) fn is_packed(headers: &[Header]) -> bool {
    headers.iter().any(|(name, value)| {
        let starts = |known: &[u8]| value.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
        if name.eq_ignore_ascii_case(b"content-encoding") {
            PACKED_CODINGS.iter().any(|coding| value.trim_ascii().eq_ignore_ascii_case(coding))
        } else {
            name.eq_ignore_ascii_case(b"content-type") && PACKED_TYPES.iter().any(|mime| starts(mime))
        }
    })
}

/// The word for the protocol of the answer.
fn protocol(exchange: &Exchange<'_>) -> &'static str {
    match exchange.http_version {
        HttpVersion::Http2 => "h2",
        HttpVersion::Http11 => "http/1.1",
        HttpVersion::Http10 => "http/1.0",
    }
}

/// The head of the response in HTTP/1.1 syntax.
fn http_head(exchange: &Exchange<'_>, out: &mut Vec<u8>) {
    let version = if exchange.http_version == HttpVersion::Http10 { "1.0" } else { "1.1" };
    let mut status = format!("HTTP/{version} {} ", exchange.status);
    push_line(&mut status, exchange.reason);
    status.push_str("\r\n");
    out.extend_from_slice(status.as_bytes());
    let mut length_written = false;
    for (name, value) in exchange.headers {
        if name.eq_ignore_ascii_case(b"content-length") {
            // several, or one of a longer body than was stored, would be wrong
            if !std::mem::replace(&mut length_written, true) {
                header(out, name, exchange.body.len().to_string().as_bytes());
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            header(out, MASKED_TRANSFER_ENCODING.as_bytes(), value);
        } else {
            header(out, name, value);
        }
    }
    if !length_written {
        header(out, b"content-length", exchange.body.len().to_string().as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// One header line; what would end it early is left out.
fn header(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let plain = |bytes: &[u8], out: &mut Vec<u8>| match memchr::memchr3(b'\r', b'\n', 0, bytes) {
        Some(_) => out.extend(bytes.iter().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0))),
        None => out.extend_from_slice(bytes),
    };
    plain(name, out);
    out.extend_from_slice(b": ");
    plain(value, out);
    out.extend_from_slice(b"\r\n");
}

/// The lines of a record's head for a field of it: of an address the URL, and its request in another field.
fn head_field(text: &mut String, name: &str, value: &str) {
    match address::parts(name, value) {
        Some((url, request_name, request)) => {
            field(text, name, url);
            field(text, request_name, request);
        }
        None => field(text, name, value),
    }
}

/// One line of a record's head or of a block of fields.
fn field(text: &mut String, name: &str, value: &str) {
    push_line(text, name);
    text.push_str(": ");
    push_line(text, value);
    text.push_str("\r\n");
}

/// Appends `part` without what would begin a new line or confuse a reader of fields.
fn push_line(text: &mut String, part: &str) {
    // controls beyond ASCII begin with this byte
    if part.bytes().any(|byte| byte.is_ascii_control() || byte == 0xc2) {
        text.extend(part.chars().filter(|c| !c.is_control()));
    } else {
        text.push_str(part);
    }
}

/// The seed of the record ids of a page: nothing but the crawl's id and what key.dat says of the page, so that a later
/// record can name the records of this one without reading them. No URL is asked for twice within a millisecond.
pub fn id_seed(crawl: u128, url: &str, fetched_at: Time) -> u128 {
    let mut sha1 = Sha1::new();
    sha1.update(crawl.to_be_bytes());
    sha1.update(fetched_at.ms().to_be_bytes());
    sha1.update(url);
    let digest: [u8; 20] = sha1.finalize().into();
    digest[..16].iter().fold(0, |seed, &byte| seed << 8 | u128::from(byte))
}

/// A seed from which the `WARC-Record-ID` of an answer follows that this program wrote: the id itself is one.
pub(crate) fn seed_of_id(id: &str) -> Option<u128> {
    let hex = id.strip_prefix("<urn:uuid:")?.strip_suffix('>')?.replace('-', "");
    let seed = u128::from_str_radix(&hex, 16).ok()?;
    (urn(uuid(seed, 0)) == id).then_some(seed)
}

/// The `WARC-Record-ID` of the metadata record of a page.
pub(crate) fn metadata_id(crawl: u128, url: &str, fetched_at: Time) -> String {
    urn(uuid(id_seed(crawl, url, fetched_at), METADATA_PART))
}

/// A version 8 UUID (RFC 9562) from a seed, another for each `part`.
pub(super) fn uuid(seed: u128, part: u128) -> u128 {
    let mixed = seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    mixed & !(0xf << 76) & !(0x3 << 62) | 8 << 76 | 2 << 62
}

pub(super) fn urn(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    format!("<urn:uuid:{}-{}-{}-{}-{}>", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

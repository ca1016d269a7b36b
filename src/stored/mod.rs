//! The archive as commands and servers see it: entries by URL and in order, the response behind each, changes.

mod atom;
pub(crate) mod compare;
mod container;

use std::io::Write;

use crate::archive::{Answer, History, Linking};
use crate::clock::Time;
use crate::container::{Form, StoredRecord};
use crate::text::escape::Escaped;
use crate::web::kind::Kind;
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;
use crate::web::{headers, mime};

pub(crate) use atom::{Feed, newest_changes};
pub(crate) use container::{of_page, open};

/// One version of a URL in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The URL, as it was requested.
    pub url: String,
    /// Status of the answer.
    pub status: u16,
    /// The kind of the answer, where it is no content.
    pub kind: Option<Kind>,
    /// Time at which it was fetched.
    pub time: Time,
    /// MIME type.
    pub mime: String,
    /// Bytes of the body, as stored.
    pub bytes: u64,
    /// SHA-1 of the payload.
    pub digest_sha1: [u8; 20],
    /// True for a robots.txt that was fetched for the crawl itself.
    pub robots: bool,
    /// Handle of the version with which the payload of a revisit is stored.
    pub payload: Option<u64>,
    /// True if its payload is stored in another archive.
    pub external: bool,
    /// Handle of the version before this one.
    pub previous: Option<u64>,
    /// Number by which the archive knows this version.
    pub handle: u64,
}

impl Entry {
    /// True for a 304 that says that the version with status 200 to which it refers is still the page.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.status == 304 && self.payload.is_some()
    }

    /// True for a page that is what was asked for.
    pub(crate) fn is_content(&self) -> bool {
        self.kind.is_none() && (matches!(self.status, 200..=299) || self.is_confirmed())
    }

    /// The word for its kind; none for an error or a redirect that is of no kind.
    pub(crate) fn kind_text(&self) -> Option<&'static str> {
        self.kind.map(Kind::text).or(self.is_content().then_some("content"))
    }

    /// True if its payload is stored with another page.
    pub(crate) fn is_revisit(&self) -> bool {
        self.payload.is_some() || self.external
    }
}

/// The answer of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Header fields in the order of the answer.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Header fields with which the body of a revisit came. They count where the answer's own have nothing, as after a
    /// 304.
    pub payload_headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body as stored, content coding included.
    pub body: Vec<u8>,
    /// The body with the content coding removed.
    pub decoded: Vec<u8>,
    /// True where that is less than the whole content.
    pub is_partial: bool,
}

impl Response {
    /// The type that the Content-Type fields state together; after a 304, the fields of the body.
    pub(crate) fn content_type(&self) -> Option<String> {
        self.stated(mime::content_type)
    }

    /// The content codings in the order in which they were applied; after a 304, the codings of the body.
    pub(crate) fn content_encoding(&self) -> Option<String> {
        self.stated(|fields| headers::list(fields, "content-encoding"))
    }

    /// The response with `dom`, a page that was made of it, in the place of its body.
    pub(crate) fn with_rendered(&self, dom: String) -> Response {
        let is_of_body = |name: &[u8]| {
            ["content-type", "content-encoding"].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        let mut headers = self.headers.clone();
        headers.retain(|(name, _)| !is_of_body(name));
        headers.push((b"content-type".to_vec(), b"text/html; charset=utf-8".to_vec()));
        Response {
            status: self.status,
            reason: self.reason.clone(),
            headers,
            payload_headers: self.payload_headers.clone(),
            body: dom.clone().into_bytes(),
            decoded: dom.into_bytes(),
            is_partial: false,
        }
    }

    /// The answer as links are looked for in it; `content_type` is its own.
    pub(crate) fn linking<'a>(&'a self, url: &'a CanonicalUrl, content_type: Option<&'a str>) -> Linking<'a> {
        Linking { url, status: self.status, headers: &self.headers, content_type, body: &self.decoded }
    }

    fn stated(&self, read: impl Fn(&[(Vec<u8>, Vec<u8>)]) -> Option<String>) -> Option<String> {
        let of_body = || if self.status == 304 { read(&self.payload_headers) } else { None };
        read(&self.headers).or_else(of_body)
    }

    /// The first header field of this name; after a 304, the field of the body.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let same = |field: &&(Vec<u8>, Vec<u8>)| field.0.eq_ignore_ascii_case(name.as_bytes());
        let of_body = self.payload_headers.iter().filter(|_| self.status == 304);
        self.headers.iter().chain(of_body).find(same).map(|(_, value)| value.as_slice())
    }
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Response {
        let Answer { status, reason, headers, payload_headers, sent, body, is_partial, .. } = answer;
        Response { status, reason, headers, payload_headers, body: sent, decoded: body, is_partial }
    }
}

/// The place of the record of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLocation {
    /// Name of the value file, as it is when nothing more is written to it; in a crawl of several shards its path below
    /// the crawl directory.
    pub file: String,
    /// Offset of the record in the file.
    pub offset: u64,
    /// Its length there, compressed.
    pub bytes: u64,
}

/// An archive that can be read. It is not written to, and a crawl may go on beside it.
pub trait Archive {
    /// The newest version of a URL: in this spelling or, where it was not fetched so, in another one of the same key
    /// form, or of a host that differs in a dot at its end.
    fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>>;
    /// The version that the archive knows by `handle`.
    fn entry(&self, handle: u64) -> anyhow::Result<Entry>;
    /// The spelling that represents all of the same page, where `url` is written otherwise.
    fn plain_spelling(&self, url: &CanonicalUrl) -> Option<String>;
    /// The version before `entry`.
    fn previous(&self, entry: &Entry) -> anyhow::Result<Option<Entry>>;
    /// All versions of all URLs, in the order in which they were stored, shard after shard.
    fn entries(&self) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_>;
    /// True if there is a newer version of the URL that does not refer back to `entry`.
    fn is_superseded(&self, _: &Entry) -> anyhow::Result<bool> {
        Ok(false)
    }
    /// Returns the answer; for a revisit, with the body that it refers to.
    fn response(&self, entry: &Entry) -> anyhow::Result<Response>;
    /// True for a version of which the crawl has made a page, whatever it is itself; for a 304, if that is so of the
    /// version that it confirms.
    fn has_made_page(&self, _: &Entry) -> anyhow::Result<bool> {
        Ok(false)
    }
    /// The page as a rendering left it, or as it was made of a document, if it was.
    fn rendered(&self, _: &Entry) -> anyhow::Result<Option<String>> {
        Ok(None)
    }
    /// Returns the answer as a reader sees it: the decoded body of a page that was rendered is what the rendering left,
    /// and that of a document, such as a PDF, what was made of it.
    fn shown(&self, entry: &Entry) -> anyhow::Result<Response> {
        let response = self.response(entry)?;
        Ok(match self.rendered(entry)? {
            Some(dom) => response.with_rendered(dom),
            None => response,
        })
    }
    /// The records of the exchange as they are stored, the record of the answer last.
    fn exchange(&self, entry: &Entry) -> anyhow::Result<Vec<StoredRecord>>;
    /// The records of the exchange of a revisit, with the answer in another form; all in gzip.
    fn renewed(&self, entry: &Entry, form: Form) -> anyhow::Result<Vec<StoredRecord>>;
    /// Returns the records of the exchange, and the answer.
    fn exchange_and_response(&self, entry: &Entry) -> anyhow::Result<(Vec<StoredRecord>, Response)> {
        Ok((self.exchange(entry)?, self.response(entry)?))
    }
    /// Returns how the crawl came to `entry`, as the records of the exchange have it.
    fn history(&self, entry: &Entry) -> anyhow::Result<History> {
        let exchange = self.exchange(entry)?;
        let metadata = exchange.iter().find(|stored| stored.record.kind() == "metadata");
        Ok(metadata.map_or_else(History::default, |stored| History::parse(&stored.record.block)))
    }
    /// Returns what was stated about the use of a page when it was fetched.
    fn statements(&self, entry: &Entry) -> anyhow::Result<Statements>;
    /// Returns the place of the record of the answer.
    fn place(&self, entry: &Entry) -> anyhow::Result<RecordLocation>;
}

/// Damage met on the way: reported when it is met, and at the end by the exit code.
#[derive(Default)]
pub(crate) struct Damage {
    first: Option<anyhow::Error>,
    met: u64,
}

impl Damage {
    /// Faults that are reported one by one.
    const TOLD_MAX: u64 = 20;

    /// Tells of a fault and goes on.
    pub(crate) fn note(&mut self, error: anyhow::Error, warnings: &mut dyn Write) {
        self.met += 1;
        if self.met <= Damage::TOLD_MAX {
            let _ = writeln!(warnings, "crawler: {}", Escaped(&error.to_string()));
        }
        self.first.get_or_insert(error);
    }

    /// The value where nothing was met, otherwise the first fault.
    pub(crate) fn or<T>(self, value: T, warnings: &mut dyn Write) -> anyhow::Result<T> {
        if self.met > Damage::TOLD_MAX {
            let _ = writeln!(warnings, "crawler: {} more faults", self.met - Damage::TOLD_MAX);
        }
        match self.first {
            None => Ok(value),
            Some(error) => Err(error),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::disk::{self, Disk, Mode};
    use crate::fingerprint::Fingerprinter;
    use crate::warc::{Compression, Encoder, Exchange, HttpVersion, RecordReader};
    use crate::web::html::is_html;
    use crate::web::url::KeyMaker;

    /// An archive in memory; the handle of an entry is its place.
    #[derive(Default)]
    pub(crate) struct FakeArchive {
        pub stored: Vec<(Entry, Response)>,
        /// True if reading the entries meets damage at their end.
        pub damaged: bool,
        /// Compression of its records; gzip where nothing is said.
        pub compression: Option<Compression>,
    }

    impl FakeArchive {
        /// Stores a version.
        pub(crate) fn store(&mut self, url: &str, mime: &str, response: Response) {
            let before = self.newest(url).unwrap().map(|entry| entry.handle);
            let entry = Entry {
                url: url.to_owned(),
                status: response.status,
                kind: None,
                time: Time::from_ms(1_114_650_975_990 + self.stored.len() as u64),
                mime: mime.to_owned(),
                bytes: response.body.len() as u64,
                digest_sha1: [self.stored.len() as u8; 20],
                robots: url.ends_with("/robots.txt"),
                payload: before.filter(|_| !response.payload_headers.is_empty()),
                external: false,
                previous: before,
                handle: self.stored.len() as u64,
            };
            self.stored.push((entry, response));
        }

        /// Stores a page with a body.
        pub(crate) fn page(&mut self, url: &str, status: u16, mime: &str, body: &[u8]) {
            let (body, decoded) = (body.to_vec(), body.to_vec());
            self.store(url, mime, Response { status, body, decoded, ..Response::default() });
        }
    }

    /// Returns the maker of the keys of the fake archive's crawl.
    fn keys() -> &'static KeyMaker {
        static KEYS: OnceLock<KeyMaker> = OnceLock::new();
        KEYS.get_or_init(|| KeyMaker::new(Fingerprinter::random(1), &["utm_*".to_owned()]))
    }

    impl Archive for FakeArchive {
        fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>> {
            let key = |url: &str| CanonicalUrl::parse(url).ok().map(|url| keys().key_text(&url));
            let newest = |is_wanted: &dyn Fn(&str) -> bool| {
                self.stored.iter().rev().map(|(entry, _)| entry).find(|entry| is_wanted(&entry.url)).cloned()
            };
            Ok(newest(&|found| found == url).or_else(|| newest(&|found| key(found) == key(url))))
        }

        fn entry(&self, handle: u64) -> anyhow::Result<Entry> {
            Ok(self.stored[handle as usize].0.clone())
        }

        fn plain_spelling(&self, url: &CanonicalUrl) -> Option<String> {
            keys().plain_spelling(url)
        }

        fn previous(&self, entry: &Entry) -> anyhow::Result<Option<Entry>> {
            Ok(entry.previous.map(|handle| self.stored[handle as usize].0.clone()))
        }

        fn entries(&self) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_> {
            let damage = || Err(disk::Error::damaged("key.dat".as_ref(), 77, "a record", "\x1b[2J").into());
            let end = self.damaged.then(damage);
            Box::new(self.stored.iter().map(|(entry, _)| Ok(entry.clone())).chain(end))
        }

        fn response(&self, entry: &Entry) -> anyhow::Result<Response> {
            Ok(self.stored[entry.handle as usize].1.clone())
        }

        fn exchange(&self, entry: &Entry) -> anyhow::Result<Vec<StoredRecord>> {
            let response = &self.stored[entry.handle as usize].1;
            let headers: Vec<_> =
                response.headers.iter().map(|(n, v)| (n.as_slice().into(), v.as_slice().into())).collect();
            let records = Encoder::new(self.compression.unwrap_or(Compression::Gzip)).encode(&Exchange {
                url: &entry.url,
                fetched_at: entry.time,
                duration_ms: 1,
                ip: None,
                http_version: HttpVersion::Http11,
                request: Some(b"GET / HTTP/1.1\r\n\r\n"),
                status: entry.status,
                reason: "OK",
                headers: &headers,
                body: &response.body,
                truncated: None,
                via: None,
                depth: 0,
                hops: "",
                seed: 0,
                attempt: 0,
                robots: entry.robots,
                of_rendering: false,
                rendition: None,
                again: None,
                canonical: None,
                judged: None,
                statements: None,
                id_seed: u128::from(entry.handle) + 1,
            });
            let dir = tempfile::tempdir()?;
            std::fs::write(dir.path().join("value"), &records.bytes)?;
            let file = Disk::real().open(dir.path().join("value"), Mode::Read)?;
            let mut reader = RecordReader::new(&file, 0, 1 << 20);
            let mut exchange = Vec::new();
            while let Some(record) = reader.next()? {
                let range = record.offset as usize..(record.offset + record.length) as usize;
                exchange.push(StoredRecord { stored: records.bytes[range].to_vec(), record });
            }
            Ok(exchange)
        }

        fn renewed(&self, entry: &Entry, _: Form) -> anyhow::Result<Vec<StoredRecord>> {
            self.exchange(entry)
        }

        /// Those of the page itself.
        fn statements(&self, entry: &Entry) -> anyhow::Result<Statements> {
            let response = &self.stored[entry.handle as usize].1;
            let mut stated = Statements::of_header(&response.headers, "*");
            if is_html(Some(&entry.mime), &response.decoded) {
                stated.add_page(&response.decoded, Some(&entry.mime), "");
            }
            Ok(stated)
        }

        fn place(&self, entry: &Entry) -> anyhow::Result<RecordLocation> {
            let file = format!("value-{:05}.warc.gz", entry.handle / 3);
            Ok(RecordLocation { file, offset: entry.handle % 3 * 1_000, bytes: 100 + entry.handle })
        }
    }

    #[test]
    fn what_a_304_does_not_say_of_its_body_the_answer_with_the_body_says() {
        let field = |value: &[u8]| vec![(b"Content-Type".to_vec(), value.to_vec())];
        let of = |status, headers| {
            let response = Response { status, headers, payload_headers: field(b"text/html"), ..Response::default() };
            response.header("content-type").map(<[u8]>::to_vec)
        };
        assert_eq!(of(304, Vec::new()), Some(b"text/html".to_vec()));
        assert_eq!(of(304, field(b"text/css")), Some(b"text/css".to_vec()));
        assert_eq!(of(200, Vec::new()), None, "a 200 speaks for itself");
    }
}

//! A stored answer: what the index says of it, and what is read from the archive when it is asked for.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::cursor::Place;
use super::error::{Error, Result};
use crate::container::{External, Form, KeyRecord, Reader, StoredRecord, StoredResponse};
use crate::dirs::{Archives, payload_of};
use crate::disk::{self, Disk};
use crate::record::layout;
use crate::warc::Header;
use crate::web::{coding, headers, mime};

/// A body is decoded up to this size.
const DECODED_MAX: usize = 1 << 30;

/// One answer in the archive: a version of a URL.
///
/// URL, status, time, type, length and digest are in memory; methods that return a [`Result`] read the archive. Pages
/// are independent of the [`Archive`](super::Archive) that they come from, and may go to other threads.
#[derive(Clone, Debug)]
pub struct Page {
    archives: Arc<Archives>,
    /// The place of its shard among the directories.
    at: usize,
    record: KeyRecord,
}

/// The way on which the crawl found a page, as noted when it was fetched. Fields that were not noted are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// The page that linked to it; `None` for a seed.
    pub via: Option<String>,
    /// Kinds of the hops from a seed to it, one letter each: L link, R redirect, E embed, M sitemap, I inferred, P
    /// prerequisite.
    pub hops: String,
    /// Number of links from a seed to it.
    pub depth: Option<u32>,
    /// The number of that seed.
    pub seed: Option<u64>,
    /// Number of requests that this answer took.
    pub attempt: Option<u32>,
    /// Time from the start of the request to the end of the answer.
    pub duration: Option<Duration>,
}

/// The answer of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Header fields in the order of the answer: names and values as they were sent.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Header fields of the earlier answer that has the body, if this answer is a revisit. After a 304 they count for
    /// names that the answer itself does not have.
    pub payload_headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body as it was sent, content coding included.
    pub sent: Vec<u8>,
    /// The body, content coding removed.
    pub body: Vec<u8>,
    /// True if `body` is not the whole content: its coding is damaged or not the stated one, or the content is larger
    /// than 1 GiB.
    pub is_partial: bool,
}

/// The place of an answer's WARC record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarcPlace {
    /// The path of the file, relative to the crawl directory. While the crawl still writes to the file, its name ends
    /// with `.open`, which is left out here.
    pub file: PathBuf,
    /// Offset of the record in it.
    pub offset: u64,
    /// Its length there, compressed.
    pub bytes: u64,
}

impl Page {
    #[doc(hidden)]
    pub fn new(archives: Arc<Archives>, at: usize, record: KeyRecord) -> Page {
        Page { archives, at, record }
    }

    /// The archives that it is from, the place of its shard in them, and its key record.
    #[doc(hidden)]
    pub fn parts(&self) -> (&Arc<Archives>, usize, &KeyRecord) {
        (&self.archives, self.at, &self.record)
    }

    fn reader(&self) -> Result<&Reader> {
        let reader = self.archives.reader(self.at)?;
        let lost = || {
            let pages = self.archives.dirs().shards()[self.at].join(layout::PAGES);
            disk::Error::damaged(&pages, 0, "the archive of a page that was read from it", "none")
        };
        Ok(reader.ok_or_else(lost)?)
    }

    /// The URL that was requested. If the seed was a request with a method, fields or a body, these follow the URL in
    /// the place of the fragment.
    pub fn url(&self) -> &str {
        &self.record.url
    }

    /// The status of the answer. A redirect is a separate answer; its target is another page.
    pub fn status(&self) -> u16 {
        self.record.status
    }

    /// The kind of the answer, where it is no content: `challenge`, `login`, `soft-404` and so on.
    pub fn kind(&self) -> Option<&'static str> {
        self.record.kind.map(|kind| kind.text())
    }

    /// Returns when the request began.
    pub fn fetched(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.record.time.ms())
    }

    /// The media type as the answer states it, without parameters; empty where it states none.
    pub fn media_type(&self) -> &str {
        &self.record.mime
    }

    /// Length of the body as it was sent, in bytes.
    pub fn body_bytes(&self) -> u64 {
        self.record.payload_bytes
    }

    /// SHA-1 of the body as it was sent. Two pages with the same digest have the same content.
    pub fn digest_sha1(&self) -> [u8; 20] {
        self.record.payload_sha1
    }

    /// Returns whether it is a robots.txt that the crawl fetched for itself.
    pub fn is_robots(&self) -> bool {
        self.record.robots
    }

    /// Returns whether its body is the same as an earlier answer's, and stored there.
    pub fn is_revisit(&self) -> bool {
        self.record.is_revisit()
    }

    /// Returns whether the body was cut short by a limit or a failure.
    pub fn is_truncated(&self) -> bool {
        self.record.truncated
    }

    /// The place of this answer in the crawl. No other answer has the same.
    pub fn place(&self) -> Place {
        Place { shard: self.archives.dirs().shard(self.at).index(), record: self.record.offset }
    }

    /// Returns whether a compaction has removed this answer from the archive since.
    pub fn is_removed(&self) -> Result<bool> {
        Ok(self.reader()?.record_at(self.record.offset)?.is_removed)
    }

    /// Returns the version of the same URL before this one, or `None` if this is the first.
    pub fn previous(&self) -> Result<Option<Page>> {
        let found = self.reader()?.previous(&self.record)?;
        Ok(found.map(|record| Page::new(self.archives.clone(), self.at, record)))
    }

    /// Returns the way on which the crawl found this page.
    pub fn history(&self) -> Result<History> {
        let metadata = self.reader()?.metadata(&self.record)?;
        Ok(metadata.map_or_else(History::default, |metadata| History::parse(&metadata.block)))
    }

    /// Returns the server's answer with headers and decoded body. A revisit has the body that it refers to. Fails with
    /// [`Error::Elsewhere`] if that body is in another archive, which is not there.
    pub fn answer(&self) -> Result<Answer> {
        self.answer_of(self.reader()?.response(&self.record)?)
    }

    /// Returns the page as HTML in UTF-8 after a browser rendered it, or as the crawl made it of a document such as a
    /// PDF; `None` if it did neither. If the answer is a 304, this is the page of the version that it confirms.
    pub fn rendered(&self) -> Result<Option<String>> {
        let record = self.confirmed()?;
        if !record.is_rendered {
            return Ok(None);
        }
        Ok(self.reader()?.page(&record)?.and_then(|page| page.conversion))
    }

    /// Returns whether there is such a page.
    #[doc(hidden)]
    pub fn is_rendered(&self) -> Result<bool> {
        Ok(self.confirmed()?.is_rendered)
    }

    /// The record of the version that a 304 confirms; of any other answer its own.
    fn confirmed(&self) -> Result<Cow<'_, KeyRecord>> {
        let Some(offset) = self.record.payload_at.filter(|_| self.record.status == 304) else {
            return Ok(Cow::Borrowed(&self.record));
        };
        Ok(Cow::Owned(self.reader()?.record_at(offset)?))
    }

    /// The records of its exchange, the record of the answer last, and the answer: for both the record is read once.
    #[doc(hidden)]
    pub fn exchange_and_answer(&self) -> Result<(Vec<StoredRecord>, Answer)> {
        let (exchange, stored) = self.reader()?.exchange_and_response(&self.record)?;
        Ok((exchange, self.answer_of(stored)?))
    }

    /// The records of its exchange, with the answer, a revisit, in another form.
    #[doc(hidden)]
    pub fn renewed(&self, form: Form) -> Result<Vec<StoredRecord>> {
        let reader = self.reader()?;
        let external = if self.record.is_external { reader.response(&self.record)?.external } else { None };
        let elsewhere = external.map(|external| self.body_elsewhere(&external)).transpose()?;
        Ok(reader.renewed(&self.record, form, elsewhere.as_deref())?)
    }

    fn answer_of(&self, mut stored: StoredResponse) -> Result<Answer> {
        if let Some(external) = &stored.external {
            stored.body = self.body_elsewhere(external)?;
        }
        let plain =
            |headers: Vec<Header>| headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut answer = Answer {
            status: stored.status,
            reason: stored.reason,
            headers: plain(stored.headers),
            payload_headers: plain(stored.payload_headers),
            sent: stored.body,
            body: Vec::new(),
            is_partial: false,
        };
        let encoding = answer.stated(|fields| headers::list(fields, "content-encoding"));
        let decoded = coding::decode(encoding.as_deref(), &answer.sent, DECODED_MAX);
        (answer.is_partial, answer.body) = (!decoded.is_whole(), decoded.bytes.into_owned());
        Ok(answer)
    }

    /// The body of a revisit whose payload is in another archive.
    fn body_elsewhere(&self, external: &External) -> Result<Vec<u8>> {
        let found = payload_of(&Disk::real(), self.archives.dirs(), external, &self.record.payload_sha1)?;
        found.ok_or_else(|| {
            let id = external.record_id.as_ref().map_or(String::new(), |id| format!(", record {id}"));
            let what = format!("{} of {}{id}", external.url, external.date);
            Error::Elsewhere { url: self.record.url.clone(), archive: external.archive.clone(), what }
        })
    }

    /// Returns the place of its WARC record. A compaction may move it.
    pub fn warc(&self) -> Result<WarcPlace> {
        let name = self.reader()?.value_name(&self.record)?;
        let shard = self.archives.dirs().name(self.at).unwrap_or_default();
        let file = PathBuf::from(shard).join(layout::PAGES).join(name);
        Ok(WarcPlace { file, offset: self.record.value_offset, bytes: self.record.value_bytes })
    }
}

impl Answer {
    /// The type that the Content-Type fields state together, with its parameters.
    pub fn content_type(&self) -> Option<String> {
        self.stated(mime::content_type)
    }

    /// The first header field of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let same = |field: &&(Vec<u8>, Vec<u8>)| field.0.eq_ignore_ascii_case(name.as_bytes());
        let of_body = self.payload_headers.iter().filter(|_| self.status == 304);
        self.headers.iter().chain(of_body).find(same).map(|(_, value)| value.as_slice())
    }

    fn stated(&self, read: impl Fn(&[(Vec<u8>, Vec<u8>)]) -> Option<String>) -> Option<String> {
        let of_body = || if self.status == 304 { read(&self.payload_headers) } else { None };
        read(&self.headers).or_else(of_body)
    }
}

impl History {
    /// Makes the history from the fields of a metadata record.
    #[doc(hidden)]
    pub fn parse(block: &[u8]) -> History {
        let mut history = History::default();
        for (name, value) in String::from_utf8_lossy(block).lines().filter_map(|line| line.split_once(": ")) {
            let value = value.trim();
            match name {
                "via" => history.via = Some(value.to_owned()),
                "hopsFromSeed" => history.hops = value.to_owned(),
                "depth" => history.depth = value.parse().ok(),
                "seed" => history.seed = value.parse().ok(),
                "attempt" => history.attempt = value.parse().ok(),
                "fetchTimeMs" => history.duration = value.parse().ok().map(Duration::from_millis),
                _ => {}
            }
        }
        history
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_what_the_metadata_record_says_and_no_more() {
        let block = b"via: http://a.example/\r\nhopsFromSeed: LRL\r\ndepth: 2\r\nseed: 4\r\nattempt: 1\r\n\
            fetchTimeMs: 120\r\nforced: true\r\nnonsense\r\n";
        let history = History {
            via: Some("http://a.example/".to_owned()),
            hops: "LRL".to_owned(),
            depth: Some(2),
            seed: Some(4),
            attempt: Some(1),
            duration: Some(Duration::from_millis(120)),
        };
        assert_eq!(History::parse(block), history);
        assert_eq!(History::parse(b"depth: much\r\n"), History::default());
    }
}

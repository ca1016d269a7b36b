//! The archive as the subcommands see it: entries by URL and in order, and the response behind each.

use std::collections::HashSet;
use std::io::Write;

use crate::clock::Time;
use crate::report::escape::Escaped;

/// One version of a URL in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The URL, as it was requested.
    pub url: String,
    /// Status of the answer.
    pub status: u16,
    /// When it was fetched.
    pub time: Time,
    /// MIME type.
    pub mime: String,
    /// Bytes of the body, as stored.
    pub bytes: u64,
    /// SHA-1 of the payload.
    pub digest_sha1: [u8; 20],
    /// Whether it is a robots.txt that was fetched for the crawl itself.
    pub robots: bool,
    /// Whether its payload is stored with another page.
    pub revisit: bool,
    /// Handle of the version before this one.
    pub previous: Option<u64>,
    /// What the archive knows this version by.
    pub handle: u64,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Header fields in the order of the answer.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Of a revisit: the header fields that its body came with. They count where the answer's own say nothing, as after
    /// a 304.
    pub payload_headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body as stored, content coding included.
    pub body: Vec<u8>,
    /// The body with the content coding removed.
    pub decoded: Vec<u8>,
    /// The whole WARC record, uncompressed.
    pub warc: Vec<u8>,
}

impl Response {
    /// The first header field of this name, with a 304 that of the body.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let same = |field: &&(Vec<u8>, Vec<u8>)| field.0.eq_ignore_ascii_case(name.as_bytes());
        let of_body = self.payload_headers.iter().filter(|_| self.status == 304);
        self.headers.iter().chain(of_body).find(same).map(|(_, value)| value.as_slice())
    }
}

/// An archive that can be read. It is not written to, and a crawl may go on beside it.
pub trait Archive {
    /// The newest version of a URL.
    fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>>;
    /// The version before `entry`.
    fn previous(&self, entry: &Entry) -> anyhow::Result<Option<Entry>>;
    /// All versions of all URLs, in the order in which they were stored.
    fn entries(&self) -> Box<dyn Iterator<Item = anyhow::Result<Entry>> + '_>;
    /// What was answered.
    fn response(&self, entry: &Entry) -> anyhow::Result<Response>;
}

/// Damage met on the way: told as it is met, and at the end by the exit code.
#[derive(Default)]
pub(super) struct Damage {
    first: Option<anyhow::Error>,
    met: u64,
}

impl Damage {
    /// Faults that are told one by one.
    const TOLD_MAX: u64 = 20;

    /// Tells of a fault and goes on.
    pub(super) fn note(&mut self, error: anyhow::Error, warnings: &mut dyn Write) {
        self.met += 1;
        if self.met <= Damage::TOLD_MAX {
            let _ = writeln!(warnings, "crawler: {}", Escaped(&error.to_string()));
        }
        self.first.get_or_insert(error);
    }

    /// The value where nothing was met, otherwise the first fault.
    pub(super) fn or<T>(self, value: T, warnings: &mut dyn Write) -> anyhow::Result<T> {
        if self.met > Damage::TOLD_MAX {
            let _ = writeln!(warnings, "crawler: {} faults more", self.met - Damage::TOLD_MAX);
        }
        match self.first {
            None => Ok(value),
            Some(error) => Err(error),
        }
    }
}

/// Calls `act` with the newest version of every URL, in the order of the archive; faulty entries are noted and passed.
///
/// Two passes over the keys: versions that a later one names as its previous are known after the first. They alone
/// are remembered, 8 bytes each.
pub(super) fn each_newest(
    archive: &dyn Archive,
    damage: &mut Damage,
    warnings: &mut dyn Write,
    mut act: impl FnMut(Entry, &mut Damage, &mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let superseded: HashSet<u64> = archive.entries().filter_map(|entry| entry.ok()?.previous).collect();
    for entry in archive.entries() {
        match entry {
            Ok(entry) if superseded.contains(&entry.handle) => {}
            Ok(entry) => act(entry, damage, warnings)?,
            Err(e) => damage.note(e, warnings),
        }
    }
    Ok(())
}

/// A MIME type without its parameters, in lower case.
pub(super) fn essence(mime: &str) -> String {
    mime.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::disk;

    /// An archive in memory; the handle of an entry is its place.
    #[derive(Default)]
    pub(in crate::cli) struct FakeArchive {
        pub stored: Vec<(Entry, Response)>,
        /// Whether reading the entries meets damage at their end.
        pub damaged: bool,
    }

    impl FakeArchive {
        /// Stores a version.
        pub(in crate::cli) fn store(&mut self, url: &str, mime: &str, response: Response) {
            let before = self.newest(url).unwrap().map(|entry| entry.handle);
            let entry = Entry {
                url: url.to_owned(),
                status: response.status,
                time: Time::from_ms(1_114_650_975_990 + self.stored.len() as u64),
                mime: mime.to_owned(),
                bytes: response.body.len() as u64,
                digest_sha1: [self.stored.len() as u8; 20],
                robots: url.ends_with("/robots.txt"),
                revisit: !response.payload_headers.is_empty(),
                previous: before,
                handle: self.stored.len() as u64,
            };
            self.stored.push((entry, response));
        }

        /// Stores a page with a body.
        pub(in crate::cli) fn page(&mut self, url: &str, status: u16, mime: &str, body: &[u8]) {
            let (body, decoded) = (body.to_vec(), body.to_vec());
            self.store(url, mime, Response { status, body, decoded, ..Response::default() });
        }
    }

    impl Archive for FakeArchive {
        fn newest(&self, url: &str) -> anyhow::Result<Option<Entry>> {
            Ok(self.stored.iter().rev().map(|(entry, _)| entry).find(|entry| entry.url == url).cloned())
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
    }

    #[test]
    fn only_the_newest_version_of_a_url_is_met() {
        let mut archive = FakeArchive::default();
        for (url, status) in [("https://a/", 503), ("https://b/", 200), ("https://a/", 200)] {
            archive.page(url, status, "text/html", b"");
        }
        let mut met = Vec::new();
        let act = |entry: Entry, _: &mut Damage, _: &mut dyn Write| {
            met.push((entry.url, entry.status));
            Ok(())
        };
        each_newest(&archive, &mut Damage::default(), &mut Vec::new(), act).unwrap();
        assert_eq!(met, [("https://b/".to_owned(), 200), ("https://a/".to_owned(), 200)]);
    }
}

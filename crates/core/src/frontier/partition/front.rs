//! Front coding: a URL is written as its difference to the one before it, in arrays, tails and blocks of a base.
//!
//! ```text
//! | flags 1 | domain | origin | host | key | rank | attempts | sequence | priority | via | depth | seed | hops | url |
//! | recrawl |
//! ```
//! What the flags say to be as before, or as usual, is left out; texts share their start with those before them. What
//! is alone is written as the difference to a blank URL, so there is one form for everything.

use super::view::{UrlNumbers, UrlView};
use crate::frontier::wire::{self, Reader};

/// Origin and host follow, as those before were others.
const ANOTHER_ORIGIN: u8 = 1;
/// The domain follows.
const ANOTHER_DOMAIN: u8 = 2;
const FORCED: u8 = 4;
/// Rank and attempts are not those of a URL that was never tried: they follow.
const UNUSUAL: u8 = 8;
/// Depth, seed and hops follow.
const ANOTHER_WAY: u8 = 16;
/// The URL before it counts as a blank one.
const ANEW: u8 = 32;
/// The reason of a recrawl follows.
const RECRAWL: u8 = 64;
/// All of them. What is no URL begins with a byte beyond.
pub(super) const FLAGS: u8 = 127;

/// Returns the number of bytes that are the same at the start.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words = words_a.iter().zip(words_b).take_while(|(x, y)| x == y).count();
    let start = words * 8;
    start + a[start..].iter().zip(&b[start..]).take_while(|(x, y)| x == y).count()
}

/// Writes `url` as its difference to `before`.
fn put_after(out: &mut Vec<u8>, before: &UrlView<'_>, url: &UrlView<'_>, flags: u8) {
    let (now, last) = (&url.numbers, &before.numbers);
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let origin = (now.origin, now.host) != (last.origin, last.host);
    let domain = now.domain != last.domain;
    let unusual = now.rank != u16::from(now.priority) + 1 || now.attempts != 0;
    let way = (now.depth, now.seed, url.hops) != (last.depth, last.seed, before.hops);
    out.push(
        flags
            | flag(origin, ANOTHER_ORIGIN)
            | flag(domain, ANOTHER_DOMAIN)
            | flag(now.forced, FORCED)
            | flag(unusual, UNUSUAL)
            | flag(way, ANOTHER_WAY)
            | flag(!url.recrawl.is_empty(), RECRAWL),
    );
    if domain {
        wire::put_fingerprint(out, now.domain);
    }
    if origin {
        wire::put_fingerprint(out, now.origin);
        wire::put_fingerprint(out, now.host);
    }
    wire::put_fingerprint(out, now.key);
    if unusual {
        wire::put_varint(out, now.rank.into());
        out.push(now.attempts);
    }
    wire::put_delta(out, last.sequence, now.sequence);
    out.push(now.priority);
    wire::put_delta(out, last.via, now.via);
    if way {
        wire::put_varint(out, now.depth.into());
        wire::put_varint(out, now.seed.into());
        put_text(out, before.hops, url.hops);
    }
    put_text(out, before.url, url.url);
    if !url.recrawl.is_empty() {
        wire::put_sized(out, url.recrawl);
    }
}

fn put_text(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    let same = shared(before, text);
    wire::put_varint(out, same as u64);
    wire::put_sized(out, &text[same..]);
}

/// Writes `url` alone.
pub(super) fn put_alone(out: &mut Vec<u8>, url: &UrlView<'_>) {
    put_after(out, &UrlView::default(), url, 0);
}

/// A URL as it was written: texts without their shared starts.
struct Difference<'a> {
    url: UrlView<'a>,
    /// `None`: as before.
    hops_shared: Option<usize>,
    url_shared: usize,
}

fn read_after<'a>(reader: &mut Reader<'a>, last: UrlNumbers, flags: u8) -> Option<Difference<'a>> {
    let mut url = UrlView { numbers: last, ..UrlView::default() };
    let now = &mut url.numbers;
    if flags & ANOTHER_DOMAIN != 0 {
        now.domain = reader.fingerprint()?;
    }
    if flags & ANOTHER_ORIGIN != 0 {
        (now.origin, now.host) = (reader.fingerprint()?, reader.fingerprint()?);
    }
    now.key = reader.fingerprint()?;
    let unusual = if flags & UNUSUAL != 0 { Some((reader.small()?, reader.u8()?)) } else { None };
    now.sequence = reader.delta(last.sequence)?;
    now.priority = reader.u8()?;
    (now.rank, now.attempts) = unusual.unwrap_or((u16::from(now.priority) + 1, 0));
    now.via = reader.delta(last.via)?;
    now.forced = flags & FORCED != 0;
    let mut hops_shared = None;
    if flags & ANOTHER_WAY != 0 {
        (now.depth, now.seed) = (reader.small()?, reader.small()?);
        hops_shared = Some(reader.small()?);
        url.hops = reader.sized()?;
    }
    let url_shared = reader.small()?;
    url.url = reader.sized()?;
    if flags & RECRAWL != 0 {
        // of what is not there, nothing is written
        url.recrawl = reader.sized().filter(|recrawl| !recrawl.is_empty())?;
    }
    Some(Difference { url, hops_shared, url_shared })
}

/// Reads a URL that is alone; `None` for what [`put_alone`] cannot have written.
pub(super) fn read_alone<'a>(reader: &mut Reader<'a>) -> Option<UrlView<'a>> {
    let flags = reader.u8().filter(|flags| flags & !FLAGS == 0)?;
    let read = read_after(reader, UrlNumbers::default(), flags)?;
    (read.hops_shared.unwrap_or(0) == 0 && read.url_shared == 0).then_some(read.url)
}

/// The URL before the one that is written or read next; blank at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Front {
    numbers: UrlNumbers,
    hops: Vec<u8>,
    url: Vec<u8>,
    recrawl: Vec<u8>,
    /// True if the next URL that is written has to say that this was started again.
    anew: bool,
}

impl Front {
    /// Blank again, for bytes that go on after others of which nothing is known.
    pub(super) fn anew() -> Self {
        Front { anew: true, ..Front::default() }
    }

    /// Blank again.
    pub(super) fn clear(&mut self) {
        self.numbers = UrlNumbers::default();
        self.hops.clear();
        self.url.clear();
        self.recrawl.clear();
        self.anew = false;
    }

    /// The URL that was written or read last.
    pub(super) fn get(&self) -> UrlView<'_> {
        UrlView { numbers: self.numbers, hops: &self.hops, url: &self.url, recrawl: &self.recrawl }
    }

    /// Appends `url`.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, url: &UrlView<'_>) {
        let flags = if std::mem::take(&mut self.anew) { ANEW } else { 0 };
        put_after(out, &self.get(), url, flags);
        self.numbers = url.numbers;
        for (mine, text) in [(&mut self.hops, url.hops), (&mut self.url, url.url), (&mut self.recrawl, url.recrawl)] {
            mine.clear();
            mine.extend_from_slice(text);
        }
    }

    /// Goes over the next URL; `None` if it cannot be read.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let flags = reader.u8().filter(|flags| flags & !FLAGS == 0)?;
        if flags & ANEW != 0 {
            self.clear();
        }
        let read = read_after(reader, self.numbers, flags)?;
        self.numbers = read.url.numbers;
        let hops_shared = read.hops_shared.unwrap_or(self.hops.len());
        for (mine, same, rest) in
            [(&mut self.hops, hops_shared, read.url.hops), (&mut self.url, read.url_shared, read.url.url)]
        {
            if same > mine.len() {
                return None;
            }
            mine.truncate(same);
            mine.extend_from_slice(rest);
        }
        self.recrawl.clear();
        self.recrawl.extend_from_slice(read.url.recrawl);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;

    #[test]
    fn the_shared_start_of_two_texts_is_counted_to_the_byte() {
        let text: Vec<u8> = (0..40).collect();
        for len in 0..40 {
            let mut other = text[..len].to_vec();
            assert_eq!(shared(&text, &other), len);
            other.push(99);
            assert_eq!(shared(&text, &other), len);
            assert_eq!(shared(&other, &text), len);
        }
    }

    fn urls() -> Vec<UrlView<'static>> {
        let of = Fingerprint::from_bits;
        let numbers = UrlNumbers {
            rank: 3,
            sequence: 70,
            key: of(1),
            origin: of(2),
            host: of(3),
            domain: of(4),
            priority: 2,
            depth: 3,
            seed: 9,
            via: u64::MAX,
            ..UrlNumbers::default()
        };
        let plain = UrlView { numbers, hops: b"LLR", url: b"https://a.example/one/two", recrawl: b"" };
        let numbers = UrlNumbers { sequence: 69, via: 0, ..numbers };
        let next = UrlView { numbers, url: b"https://a.example/one/three", ..plain };
        let due = UrlView { numbers: UrlNumbers { forced: true, ..numbers }, recrawl: b"its time has come", ..next };
        let numbers = UrlNumbers { origin: of(7), ..numbers };
        let other = UrlView { numbers, url: b"https://b.example/", ..next };
        let numbers = UrlNumbers { domain: of(8), host: of(9), ..numbers };
        let domain = UrlView { numbers, ..other };
        let again = UrlView { numbers: UrlNumbers { rank: 0, attempts: 3, sequence: u64::MAX, ..numbers }, ..other };
        let numbers = UrlNumbers { forced: true, depth: u16::MAX, seed: u32::MAX, ..plain.numbers };
        let forced = UrlView { numbers, hops: b"", url: b"", recrawl: b"" };
        vec![plain, next, due, other, domain, again, forced, UrlView::default(), plain]
    }

    #[test]
    fn urls_are_read_back_as_they_were_also_after_a_new_beginning() {
        for anew_at in 0..urls().len() {
            let (mut out, mut front) = (Vec::new(), Front::default());
            for (n, url) in urls().iter().enumerate() {
                if n == anew_at {
                    front = Front::anew();
                }
                front.put(&mut out, url);
            }
            let (mut reader, mut front) = (Reader::new(&out), Front::default());
            for url in urls() {
                assert_eq!(front.read(&mut reader), Some(()));
                assert_eq!(front.get(), url);
            }
            assert!(reader.is_at_end());
        }
    }

    #[test]
    fn a_url_alone_is_read_back_as_it_was_and_never_from_fewer_bytes() {
        for url in urls() {
            let mut out = Vec::new();
            put_alone(&mut out, &url);
            assert_eq!(read_alone(&mut Reader::new(&out)), Some(url));
            for cut in 0..out.len() {
                assert_eq!(read_alone(&mut Reader::new(&out[..cut])), None, "{cut} bytes");
            }
        }
    }

    #[test]
    fn a_shared_start_that_is_longer_than_the_text_before_is_refused() {
        let mut out = Vec::new();
        let mut front = Front::default();
        urls().iter().take(2).for_each(|url| front.put(&mut out, url));
        let mut alone = Vec::new();
        Front::default().put(&mut alone, &urls()[0]);
        let second = &out[alone.len()..];
        assert_eq!(Front::default().read(&mut Reader::new(second)), None);
        assert_eq!(read_alone(&mut Reader::new(second)), None);
    }
}

//! A link as it travels between shards: what a URL inherits from the page that names it, and the URL.
//!
//! ```text
//! | 0 | shared v | rest s |                    a link of the same page: the other fields as before
//! | 1 | via v | depth v | seed v | priority 1 | flags 1 | round v | hops s | shared v | rest s |
//! | 2 | pair 8 | target 8 |                 no link: a pair of domains, and the one that it supports
//! ```
//! `v` is a number of variable length, `s` bytes behind their length. `shared` counts the bytes that the URL has in
//! common with the one before it; the first record of a frame has kind 1, and no URL before it. `via` is the offset of
//! the naming page's record in the sender's key.dat plus 1, 0 for none. Flags: 1 forced; then `round` follows, the
//! round of fetching again; 2 the reason of a recrawl follows `hops`, sized. The four fingerprints do not travel: they
//! do not compress, and the reader makes them in
//! less time than it would take to read them.

use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, QueuedUrl};
use crate::shard::Shard;
use crate::varint;

const SAME_PAGE: u8 = 0;
const OTHER_PAGE: u8 = 1;
const SUPPORT: u8 = 2;
const FORCED: u8 = 1;
const RECRAWL: u8 = 2;

/// A link to another shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The URL in the fetch form.
    pub url: Arc<str>,
    /// Facts from the page that names the URL.
    pub from: Inherited,
}

/// A pair of domains of which one links to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The fingerprint of both.
    pub pair: Fingerprint,
    /// The one that is linked to.
    pub target: Fingerprint,
}

/// Content of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Links.
    pub links: Vec<Link>,
    /// Pairs of domains.
    pub supports: Vec<Support>,
}

/// Facts that a URL has from the page that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Offset of the page's record in the key.dat of the shard that has it, plus 1; 0 for none.
    pub via: u64,
    /// Links between a seed and the URL.
    pub depth: u16,
    /// Number of the seed that it descends from.
    pub seed: u32,
    /// Smaller comes first.
    pub priority: u8,
    /// The round of fetching again in which it is fetched although it was seen before.
    pub round: Option<u32>,
    /// The way on which it was found.
    pub hops: Hops,
    /// Reason for which it may be fetched although it was seen before, encoded.
    pub recrawl: Option<Arc<[u8]>>,
}

impl Link {
    /// `url` as `shard`, which has found it in the round `round`, hands it on.
    pub fn of(url: &QueuedUrl, shard: Shard, round: u32) -> Link {
        let via = shard.named_by(url.via).map_or(0, |(_, offset)| offset + 1);
        let QueuedUrl { depth, seed, priority, ref hops, .. } = *url;
        let round = url.forced.then_some(round);
        let (hops, recrawl) = (hops.clone(), url.recrawl.clone());
        Link { url: url.url.clone(), from: Inherited { via, depth, seed, priority, round, hops, recrawl } }
    }
}

/// Writes links one behind the other, each as the difference to the one before.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    records: usize,
    last: Option<Link>,
}

impl Encoder {
    /// Appends `link`.
    pub(super) fn push(&mut self, link: Link) {
        let before = self.last.as_ref().map_or("", |last| &last.url);
        let mut shared = before.bytes().zip(link.url.bytes()).take_while(|(a, b)| a == b).count();
        while !link.url.is_char_boundary(shared) {
            shared -= 1;
        }
        if self.last.as_ref().is_some_and(|last| last.from == link.from) {
            self.bytes.push(SAME_PAGE);
        } else {
            self.put_inherited(&link.from);
        }
        varint::push(shared as u64, &mut self.bytes);
        put_sized(&link.url.as_bytes()[shared..], &mut self.bytes);
        self.records += 1;
        self.last = Some(link);
    }

    /// Appends a pair of domains.
    pub(super) fn push_support(&mut self, support: Support) {
        self.bytes.push(SUPPORT);
        for fingerprint in [support.pair, support.target] {
            self.bytes.extend_from_slice(&fingerprint.bits().to_le_bytes());
        }
        self.records += 1;
    }

    fn put_inherited(&mut self, from: &Inherited) {
        let out = &mut self.bytes;
        out.push(OTHER_PAGE);
        varint::push(from.via, out);
        varint::push(from.depth.into(), out);
        varint::push(from.seed.into(), out);
        out.push(from.priority);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(flag(from.round.is_some(), FORCED) | flag(from.recrawl.is_some(), RECRAWL));
        if let Some(round) = from.round {
            varint::push(round.into(), out);
        }
        put_sized(from.hops.as_str().as_bytes(), out);
        if let Some(recrawl) = &from.recrawl {
            put_sized(recrawl, out);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// The next record begins a frame.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.records, self.last) = (0, None);
    }
}

/// Reads the content of one frame; `None` for bytes that no [`Encoder`] has written.
pub(super) fn decode(bytes: &[u8]) -> Option<Frame> {
    let (mut frame, mut at) = (Frame::default(), 0);
    while at < bytes.len() {
        let last = frame.links.last();
        let kind = take_byte(bytes, &mut at)?;
        let from = match kind {
            SAME_PAGE => last?.from.clone(),
            OTHER_PAGE => take_inherited(bytes, &mut at)?,
            SUPPORT => {
                let [pair, target] = [take_fingerprint(bytes, &mut at)?, take_fingerprint(bytes, &mut at)?];
                frame.supports.push(Support { pair, target });
                continue;
            }
            _ => return None,
        };
        let shared = usize::try_from(varint::read(bytes, &mut at)?).ok()?;
        let mut url = last.map_or("", |last| &last.url).get(..shared)?.to_owned();
        url.push_str(std::str::from_utf8(varint::read_slice(bytes, &mut at)?).ok()?);
        frame.links.push(Link { url: url.into(), from });
    }
    Some(frame)
}

fn take_fingerprint(bytes: &[u8], at: &mut usize) -> Option<Fingerprint> {
    let taken = bytes.get(*at..*at + 8)?;
    *at += 8;
    Some(Fingerprint::from_bits(u64::from_le_bytes(taken.try_into().ok()?)))
}

fn take_inherited(bytes: &[u8], at: &mut usize) -> Option<Inherited> {
    let via = varint::read(bytes, at)?;
    let depth = u16::try_from(varint::read(bytes, at)?).ok()?;
    let seed = take_u32(bytes, at)?;
    let priority = take_byte(bytes, at)?;
    let flags = take_byte(bytes, at).filter(|flags| flags & !(FORCED | RECRAWL) == 0)?;
    let round = if flags & FORCED != 0 { Some(take_u32(bytes, at)?) } else { None };
    let hops = Hops::parse(std::str::from_utf8(varint::read_slice(bytes, at)?).ok()?);
    let recrawl = if flags & RECRAWL != 0 { Some(varint::read_slice(bytes, at)?.into()) } else { None };
    Some(Inherited { via, depth, seed, priority, round, hops, recrawl })
}

fn take_byte(bytes: &[u8], at: &mut usize) -> Option<u8> {
    let byte = *bytes.get(*at)?;
    *at += 1;
    Some(byte)
}

fn take_u32(bytes: &[u8], at: &mut usize) -> Option<u32> {
    u32::try_from(varint::read(bytes, at)?).ok()
}

/// Appends `bytes` behind their length.
pub(super) fn put_sized(bytes: &[u8], out: &mut Vec<u8>) {
    varint::push(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(url: &str, via: u64, round: Option<u32>) -> Link {
        let hops = Hops::parse("LLR");
        let from = Inherited { via, depth: 3, seed: 70_000, priority: 7, round, hops, recrawl: None };
        Link { url: url.into(), from }
    }

    #[test]
    fn links_come_back_as_they_were_and_never_from_fewer_bytes() {
        let mut dated = link("https://c.example/dated", 900, None);
        dated.from.recrawl = Some([2, 9].into());
        let links = [
            link("http://b.example/a/1", 17, None),
            link("http://b.example/a/2", 17, None),
            link("http://b.example/a/", 17, None),
            link("https://c.example/\u{e9}t\u{e9}", 900, Some(4)),
            link("https://c.example/\u{e8}", 900, Some(4)),
            dated,
        ];
        let mut encoder = Encoder::default();
        links.iter().for_each(|link| encoder.push(link.clone()));
        assert_eq!(decode(encoder.bytes()).unwrap().links, links);
        assert_eq!(encoder.records(), 6);
        let ends: Vec<usize> =
            (0..encoder.bytes().len()).filter(|&cut| decode(&encoder.bytes()[..cut]).is_some()).collect();
        assert_eq!(ends.len(), 6, "whole records, and none: {ends:?}");
        encoder.clear();
        encoder.push(links[1].clone());
        assert_eq!(decode(encoder.bytes()).unwrap().links, links[1..2]);
    }

    #[test]
    fn pairs_of_domains_travel_between_links_and_change_nothing_about_these() {
        let links = [link("http://b.example/a/1", 17, None), link("http://b.example/a/2", 17, None)];
        let [pair, target] = [5, u64::MAX].map(Fingerprint::from_bits);
        let support = Support { pair, target };
        let mut encoder = Encoder::default();
        encoder.push_support(support);
        encoder.push(links[0].clone());
        encoder.push_support(support);
        encoder.push(links[1].clone());
        let frame = decode(encoder.bytes()).unwrap();
        assert_eq!((&frame.links[..], &frame.supports[..]), (&links[..], &[support; 2][..]));
        assert_eq!(encoder.records(), 4);
        assert_eq!(decode(&encoder.bytes()[..16]), None);
    }

    #[test]
    fn bytes_that_nobody_wrote_are_refused() {
        assert_eq!(decode(&[3]), None, "a kind that there is not");
        assert_eq!(decode(&[SAME_PAGE, 0, 1, b'x']), None, "the same page as none");
        let mut encoder = Encoder::default();
        encoder.push(link("http://b.example/", 1, None));
        let mut bytes = encoder.bytes().to_vec();
        bytes.extend([SAME_PAGE, 200, 0]);
        assert_eq!(decode(&bytes), None, "more in common than there is");
    }

    #[test]
    fn what_a_link_inherits_names_a_record_of_the_shard_that_has_found_it() {
        let shard = Shard::new(2, 4);
        let print = crate::fingerprint::Fingerprint::from_bits(1);
        let mut url = QueuedUrl {
            url: "http://b.example/".into(),
            key: print,
            origin: print,
            host: print,
            domain: print,
            priority: 3,
            depth: 1,
            hops: Hops::parse("L"),
            attempts: 0,
            via: shard.via(160),
            seed: 5,
            forced: true,
            recrawl: None,
        };
        let sent = Link::of(&url, shard, 9);
        assert_eq!((sent.from.via, sent.from.round, sent.from.seed), (161, Some(9), 5));
        (url.forced, url.via) = (false, 0);
        let sent = Link::of(&url, shard, 9);
        assert_eq!((sent.from.via, sent.from.round), (0, None));
    }
}

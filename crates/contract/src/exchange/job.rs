//! Reading links of another shard, beside the engine: unpacked, parsed, with their fingerprints.

use std::path::PathBuf;
use std::sync::Arc;

use super::Position;
use super::link::{Link, Support};
use super::reader::LinkFile;
use crate::disk::{Disk, Result};
use crate::frontier::QueuedUrl;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Links that come back at once, but for the last frame.
const LINKS_MAX: usize = 4_096;

/// The next frames of a link file.
#[derive(Clone, Debug)]
pub struct LinkJob {
    /// Disk with the file.
    pub disk: Disk,
    /// The directory of the sender.
    pub dir: PathBuf,
    /// The shard whose file it is.
    pub sender: Shard,
    /// The shard that reads it.
    pub reader: Shard,
    /// Position from which it reads on.
    pub from: Position,
    /// Makes the crawl's fingerprints.
    pub keys: Arc<KeyMaker>,
}

/// Links of a job, read and parsed.
#[derive(Debug)]
pub struct LinksRead {
    /// Number of the shard whose links they are.
    pub sender: u32,
    /// Position from which they were read.
    pub from: Position,
    /// Position of the next ones, once these are admitted.
    pub to: Position,
    /// URLs that join the scope, where the file is read from its beginning.
    pub notes: Vec<CanonicalUrl>,
    /// The links, and the round of each that is fetched again.
    pub links: Vec<(QueuedUrl, u32)>,
    /// Pairs of domains, of which this shard owns the one that is linked to.
    pub supports: Vec<Support>,
}

impl LinksRead {
    /// Links, pairs and notes, as both sides [count](super::Account) them.
    pub fn records(&self) -> u64 {
        (self.links.len() + self.supports.len() + self.notes.len()) as u64
    }
}

impl LinkJob {
    /// Reads whole frames.
    pub fn run(self) -> Result<LinksRead> {
        let LinkJob { disk, dir, sender, reader, from, keys } = self;
        let file = LinkFile::open(&disk, &dir, sender, from.number)?;
        let is_first = from.frames == 0;
        let notes = file.notes().iter().filter(|_| is_first).filter_map(|note| CanonicalUrl::parse(note).ok());
        let notes = notes.collect();
        let (mut links, mut supports, mut frame) = (Vec::new(), Vec::new(), from.frames as usize);
        let section = file.section(reader.index()).cloned().unwrap_or_default();
        while frame < section.frames.len() && links.len() + supports.len() < LINKS_MAX {
            let read = file.frame(&section, frame)?;
            if read.supports.iter().any(|support| !reader.owns(support.target)) {
                return Err(file.damage(&section, frame, "a domain of this shard", "one of another".to_owned()));
            }
            supports.extend(read.supports);
            for link in read.links {
                let url = queued(&link, sender, &keys).filter(|url| reader.owns(url.domain));
                let Some(url) = url else {
                    return Err(file.damage(&section, frame, "a URL of this shard", link.url.to_string()));
                };
                links.push((url, link.from.round.unwrap_or(0)));
            }
            frame += 1;
        }
        let to = match frame >= section.frames.len() {
            true => Position::behind(from.number),
            false => Position { frames: frame as u64, ..from },
        };
        Ok(LinksRead { sender: sender.index(), from, to, notes, links, supports })
    }
}

/// The URL of `link`, which `sender` has found, with its fingerprints; `None` for one that is not in the fetch form.
fn queued(link: &Link, sender: Shard, keys: &KeyMaker) -> Option<QueuedUrl> {
    let url = CanonicalUrl::parse(&link.url).ok().filter(|url| url.as_str() == &*link.url)?;
    let keys = keys.keys(&url);
    let from = &link.from;
    Some(QueuedUrl {
        priority: from.priority,
        depth: from.depth,
        hops: from.hops.clone(),
        via: from.via.checked_sub(1).map_or(0, |offset| sender.via(offset)),
        seed: from.seed,
        forced: from.round.is_some(),
        recrawl: from.recrawl.clone(),
        ..QueuedUrl::of(&link.url, keys)
    })
}

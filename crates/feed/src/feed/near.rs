//! Documents whose texts are nearly the same: one of them stands for all.
//!
//! Each pass groups all of them. Of a group, the document that consumers have stands for the others, or else the
//! one that was stored first: so it stays the same one while it is alike to them. A document that consumers have goes
//! as a near-duplicate once a visit that is a day later finds it unchanged: pages that all say "back soon" for an hour
//! are alike, too.

use serde::{Deserialize, Serialize};

use super::ahead::{Ahead, read_behind};
use super::entry::{Entry, Fate};
use super::error::Result;
use super::home::Home;
use super::key::Key;
use super::part::{Part, Publication, Target};
use super::run::{RunReader, RunWriter};
use crate::disk::sorter::{Sorted, Sorter};
use crate::similar::{Finder, Signature};

/// A document that is compared with the others.
#[derive(Debug, Serialize, Deserialize)]
struct Compared {
    signature: Signature,
    document: Target,
    publication: Publication,
    may_go: bool,
}

/// Takes the documents of a pass.
pub(super) struct NearDuplicates {
    /// Nothing where all stand for themselves.
    least: Option<f64>,
    /// True if documents are compared for the first time: the operator wants those to go that are there.
    is_first: bool,
    memory: usize,
    documents: Sorter,
}

impl NearDuplicates {
    /// Those that have a share of `least` of their texts in common.
    pub fn new(least: Option<f64>, is_first: bool, memory: usize) -> NearDuplicates {
        NearDuplicates { least, is_first, memory, documents: Sorter::new(memory) }
    }

    /// Takes a URL, which may be a document.
    pub fn take(&mut self, entry: &Entry) -> Result<()> {
        let (Some(_), Some(content), Fate::Document) = (self.least, &entry.content, entry.fate()) else {
            return Ok(());
        };
        let Some(signature) = content.signature.clone() else { return Ok(()) };
        let mut line = vec![u8::from(!entry.is_published())];
        line.extend(content.stored.shard.to_be_bytes());
        line.extend(content.stored.record.to_be_bytes());
        let may_go = self.is_first || !entry.is_published() || entry.is_settled();
        let (document, publication) = (Target::of(entry), Publication::of(entry));
        let compared = Compared { signature, document, publication, may_go };
        let line = postcard::to_extend(&compared, line).expect("a document has nothing that cannot be written");
        Ok(self.documents.push(&line)?)
    }

    /// Groups what was taken, and writes those that another one stands for.
    pub fn finish(self, home: &Home) -> Result<()> {
        let mut run = RunWriter::create(home.disk(), home.near())?;
        if let Some(least) = self.least {
            let finder = Finder::new(least, self.memory)?;
            let mut parts = parts(self.documents, finder, Sorter::new(self.memory))?;
            while let Some(line) = parts.next()? {
                run.push(line)?;
            }
        }
        Ok(run.finish()?)
    }
}

/// Bytes of a line that say in which order documents are compared.
const ORDER_BYTES: usize = 1 + 4 + 8;

/// The lines of those that another document stands for, by key.
fn parts(documents: Sorter, mut finder: Finder, mut parts: Sorter) -> Result<Sorted> {
    let mut documents = documents.finish()?;
    while let Some(line) = documents.next()? {
        let compared: Compared = read_behind(line, ORDER_BYTES);
        finder.push(&compared.signature, &line[ORDER_BYTES..])?;
    }
    let (mut group, mut first) = (None, None);
    for member in finder.finish()? {
        let member = member?;
        let Compared { document, publication, may_go, .. } = read_behind(&member.label, 0);
        if group.replace(member.group) != Some(member.group) {
            first = Some(document);
        } else if let Some(of) = first.clone().filter(|_| may_go) {
            let Target { key: from, url, .. } = document;
            let line = from.to_bytes().to_vec();
            let part = Part { from, url, publication, of };
            parts.push(&postcard::to_extend(&part, line).expect("a part has nothing that cannot be written"))?;
        }
    }
    Ok(parts.finish()?)
}

/// Those that another document stands for, in the order of their keys.
pub(super) struct NearParts(Ahead);

impl NearParts {
    pub fn open(home: &Home) -> Result<NearParts> {
        Ok(NearParts(Ahead::run(RunReader::open(home.disk(), &home.near())?)?))
    }

    /// The next one.
    pub fn next(&mut self) -> Result<Option<Part>> {
        Ok(self.0.take()?.map(|line| read_behind(&line, Key::BYTES)))
    }

    /// The one of `key`, if it is one.
    pub fn of(&mut self, key: Key) -> Result<Option<Part>> {
        Ok(self.0.take_of(&key.to_bytes())?.map(|line| read_behind(&line, Key::BYTES)))
    }
}

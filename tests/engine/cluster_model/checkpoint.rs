//! The content of a checkpoint, and the table in which each content has a number: states name contents by it.

use std::cell::RefCell;
use std::collections::HashMap;

use super::web::{PAGES, Page};

/// Shards at most.
pub const SHARDS: usize = 3;
/// Checkpoints of a shard at most.
pub const NUMBERS: usize = 4;
/// Link files by number: that of checkpoint 0 does not exist, that of the next one is being written.
const FILES: usize = NUMBERS + 2;
/// Links of one file at most.
const LINKS: usize = 2;
/// Stands for the revision of the commit that a checkpoint comes with.
pub const OF_THIS_COMMIT: u8 = u8::MAX;

/// Progress of a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    #[default]
    Unknown,
    Queued,
    Fetched,
}

/// A URL, as its shard has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Url {
    pub stage: Stage,
    /// Number of the fetch that counts for it, from 0.
    pub version: u8,
    /// The round of fetching again that it is in.
    pub round: u8,
    /// Version of the page whose link was taken, plus 1, by round.
    pub taken: [u8; 2],
    /// Number of its copies in the archive, by round.
    pub copies: [u8; 2],
    /// True if a link was taken twice.
    pub is_doubled: bool,
}

/// A link in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    pub target: u8,
    /// The version of the page that has it.
    pub version: u8,
    /// The round that it is forced in; 0 for none.
    pub round: u8,
}

/// A link file that a checkpoint names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkFile {
    pub links: [Option<Link>; LINKS],
    pub has_notes: bool,
    /// The claim in its name.
    pub claim: u8,
    /// Revision at which it was committed.
    pub revision: u8,
}

impl LinkFile {
    pub fn is_empty(&self) -> bool {
        !self.has_notes && self.links[0].is_none()
    }

    /// The frames of `shard`: one for each link.
    pub fn section<'a>(&'a self, web: &'a [Page], shard: usize) -> impl Iterator<Item = Link> + 'a {
        self.links.iter().flatten().copied().filter(move |link| web[link.target as usize].owner == shard)
    }
}

/// A checkpoint, or what an engine has in memory behind one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    pub number: u8,
    pub urls: [Url; PAGES],
    /// Number and frames, by sender.
    pub positions: [(u8, u8); SHARDS],
    /// Link files by number; those that are not kept are empty.
    pub files: [LinkFile; FILES],
    /// The claim in the name of the pack of the checkpoint before, which this one still needs.
    pub pack_before: u8,
    /// The claim in the names of its own objects; 0 for one that was not shipped.
    pub claim: u8,
    /// The era in which it was cut.
    pub era: u8,
    pub read_to: u8,
    pub links_at: u8,
    pub is_idle: bool,
    pub scope: u8,
    pub has_list: bool,
    pub round: u8,
}

impl Checkpoint {
    /// The checkpoint with which a shard begins.
    pub fn first(web: &[Page], shard: usize) -> Checkpoint {
        let mut first = Checkpoint::default();
        for (url, page) in first.urls.iter_mut().zip(web) {
            if page.is_seed && page.owner == shard {
                url.stage = Stage::Queued;
            }
        }
        first
    }

    /// The file that is being written.
    pub fn open_file(&mut self) -> &mut LinkFile {
        &mut self.files[self.number as usize + 1]
    }

    /// Pages in the archive.
    pub fn pages(&self) -> u8 {
        self.urls.iter().filter(|url| url.stage == Stage::Fetched).count() as u8
    }

    pub fn has_queued(&self) -> bool {
        self.urls.iter().any(|url| url.stage == Stage::Queued)
    }

    /// A link of another shard takes effect.
    pub fn admit(&mut self, link: Link) {
        self.round = self.round.max(link.round);
        let url = &mut self.urls[link.target as usize];
        let taken = &mut url.taken[link.round as usize];
        url.is_doubled |= *taken != 0;
        *taken = link.version + 1;
        self.queue(link.target as usize, link.round);
    }

    /// A URL is queued, unless it was seen, and in its round.
    pub fn queue(&mut self, target: usize, round: u8) {
        let url = &mut self.urls[target];
        if url.stage == Stage::Unknown || round > url.round {
            (url.stage, url.round) = (Stage::Queued, round);
        }
    }

    /// The page `at` of `web` is stored, and what it names admitted; `false` where the link file is full. The archive
    /// has it for the round `of`.
    #[must_use]
    pub fn store(&mut self, web: &[Page], shard: usize, at: usize, version: u8, round: u8, of: u8) -> bool {
        let page = &web[at];
        let url = &mut self.urls[at];
        (url.stage, url.version, url.round) = (Stage::Fetched, version, round);
        url.copies[of as usize] += 1;
        if page.is_note && round == 0 {
            self.scope |= super::web::NOTE;
            self.open_file().has_notes = true;
        }
        let Some(target) = page.link.filter(|_| page.needs & !self.scope == 0) else { return true };
        if web[target].owner == shard {
            self.queue(target, round);
            return true;
        }
        let link = Link { target: target as u8, version, round };
        match self.open_file().links.iter_mut().find(|free| free.is_none()) {
            Some(free) => *free = Some(link),
            None => return false,
        }
        true
    }

    /// The objects that it names.
    pub fn names(&self) -> u64 {
        if self.number == 0 {
            return 0;
        }
        let mut names = Name::Manifest.bit(self.claim, self.number) | Name::Pack.bit(self.claim, self.number);
        if self.pack_before != 0 {
            names |= Name::Pack.bit(self.pack_before, self.number - 1);
        }
        for (number, file) in self.files.iter().enumerate().filter(|(_, file)| !file.is_empty()) {
            names |= Name::Links.bit(file.claim, number as u8);
        }
        names
    }
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Pack,
    Links,
    Manifest,
}

impl Name {
    pub const ALL: [Name; 3] = [Name::Pack, Name::Links, Name::Manifest];
    /// Bits of one claim.
    pub const OF_CLAIM: u32 = (NUMBERS * 3) as u32;

    /// The object of this kind of checkpoint `number`, shipped under `claim`, as a bit of all objects of a shard.
    pub fn bit(self, claim: u8, number: u8) -> u64 {
        1 << ((u32::from(claim) - 1) * Name::OF_CLAIM + (u32::from(number) - 1) * 3 + self as u32)
    }

    /// The same bit read back: kind, claim, number.
    pub fn of(bit: u32) -> (Name, u8, u8) {
        let claim = bit / Name::OF_CLAIM + 1;
        let rest = bit % Name::OF_CLAIM;
        (Name::ALL[rest as usize % 3], claim as u8, (rest / 3 + 1) as u8)
    }

    /// Lists the objects in `names` as text.
    pub fn list(names: u64) -> String {
        let text = |bit: u32| {
            let (kind, claim, number) = Name::of(bit);
            format!("{kind:?} c{claim}/n{number}")
        };
        let bits = (0..u64::BITS).filter(|bit| names >> bit & 1 == 1);
        bits.map(text).collect::<Vec<_>>().join(", ")
    }
}

/// The number of a content; 0 is no checkpoint.
pub type Id = u32;

/// All contents that were met.
#[derive(Debug, Default)]
pub struct Contents {
    all: RefCell<Vec<Checkpoint>>,
    ids: RefCell<HashMap<Checkpoint, Id>>,
}

impl Contents {
    pub fn id(&self, content: Checkpoint) -> Id {
        let mut all = self.all.borrow_mut();
        *self.ids.borrow_mut().entry(content).or_insert_with(|| {
            all.push(content);
            all.len() as Id
        })
    }

    pub fn of(&self, id: Id) -> Checkpoint {
        self.all.borrow()[id as usize - 1]
    }
}

/// True if `objects` has one of checkpoint `number` of `claim`.
pub fn of_checkpoint(objects: u64, claim: u8, number: u8) -> bool {
    Name::ALL.iter().any(|name| objects & name.bit(claim, number) != 0)
}

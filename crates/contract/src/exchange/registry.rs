//! The committed checkpoints of the shards of a crawl: the one thing that shards have to agree about.
//!
//! A checkpoint of a shard counts for the others from the moment of its *commit*. Each commit has a revision, and
//! revisions grow over all shards of a crawl: so a shard that has heard of everything up to one has heard of all that
//! was committed before. In one process a table under a lock keeps them ([`LocalRegistry`]); a crawl on many machines
//! keeps them in a store that machines share.
//!
//! # Invariants
//!
//! - *Output is committed*: a link file exists for others once the checkpoint that names it is durable, and not before;
//!   what is visible is never taken back, changed or renumbered.
//! - *Input is committed*: what a link brings about and the reader's position are in one checkpoint of the reader. So
//!   every visible link takes effect exactly once, whichever shard crashes.
//! - *Heads only move forward*: the number of a shard's head grows with each commit of a process.
//! - *The end is a fact*: a crawl is over at the revision at which all heads are idle, and each of them has read
//!   everything up to the last commit that has links, and the last list of seeds. A commit without links need not be
//!   read by anybody, so this comes to an end; and it cannot become untrue but by new seeds, which undo it where they
//!   are taken at all.
//!
//! [`LocalRegistry`]: super::LocalRegistry

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::account::{Account, Difference};
use super::position::Position;
use super::up_to::{Revision, UpTo};
use crate::record::Finish;

/// Work that is left to do in a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Idle {
    /// URLs that can be asked for.
    #[default]
    No,
    /// Only hosts that never answered, and that for long enough.
    Silent,
    /// Nothing.
    Yes,
}

/// A link file that a checkpoint names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutFile {
    /// The checkpoint that it came with.
    pub number: u64,
    /// True if it has URLs that join the scope of every shard.
    pub has_notes: bool,
}

/// A committed checkpoint of a shard, as it is shown to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number.
    pub number: u64,
    /// Work that was left to do.
    pub idle: Idle,
    /// Revisions of others of which everything is in it: links, notes and seeds.
    pub read_to: UpTo,
    /// Positions to which the links of each shard are read.
    pub positions: Vec<Position>,
    /// The link files that there are, the oldest first.
    pub outgoing: Vec<OutFile>,
    /// Links that it has sent and read.
    pub account: Account,
}

impl Head {
    /// Returns whether the link file `number` of the shard `sender` is read to its end, by the position in it.
    pub fn has_read(&self, sender: u32, number: u64) -> bool {
        self.positions.get(sender as usize).is_some_and(|position| position.number > number)
    }
}

/// A link file with the revision from which on it exists for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible {
    /// The file.
    pub file: OutFile,
    /// Revision at which it was committed; of files that were there when their shard was opened, the revision of that
    /// moment.
    pub revision: Revision,
}

/// A head, and when it became one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadAt {
    /// Revision at which it was committed.
    pub revision: Revision,
    /// The last commit that came with a link file; 0 for none.
    pub links_at: Revision,
    /// The head itself.
    pub head: Head,
    /// Its link files.
    pub files: Vec<Visible>,
}

/// Knowledge of a shard about the others.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Revisions up to which everything is in the rest.
    pub known: UpTo,
    /// The heads by shard; none of one that is not open yet. Those of the own process may be later than all that is
    /// known of others.
    pub heads: Vec<Option<HeadAt>>,
    /// The last list of seeds, and how many seeds the crawl has since.
    pub seeds: (Revision, u32),
    /// Lists of seeds that are fetched again, in their order. Each is an input as any list of seeds is.
    pub again: Arc<[Again]>,
    /// The end of the crawl, if it has ended.
    pub end: Option<Finish>,
}

/// Seeds that are fetched again while the crawl goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Their round, which no other list has.
    pub round: u32,
    /// Their numbers.
    pub seeds: Arc<[u32]>,
}

impl News {
    /// Returns the last revision that has to be read for the crawl to be over: the last commit with links, or the last
    /// list of seeds.
    pub fn last_input(&self) -> Revision {
        let links = self.heads.iter().flatten().map(|head| head.links_at);
        links.chain([self.seeds.0]).max().unwrap_or(0)
    }

    /// Returns whether every shard but `me` has a committed checkpoint that has read the link file `number` of `me`: it
    /// says so for all that was done up to a revision, and its position in the files of `me` is behind this one.
    pub fn is_read_by_all(&self, me: u32, number: u64) -> bool {
        let mine = self.heads.get(me as usize).and_then(Option::as_ref).map_or(&[][..], |mine| &mine.files);
        let visible = mine.iter().find(|visible| visible.file.number == number);
        visible.is_some_and(|visible| {
            let has_read = |head: &Head| head.read_to.covers(visible.revision) && head.has_read(me, number);
            self.others(me).all(|at| at.is_some_and(|at| has_read(&at.head)))
        })
    }

    /// The heads of all shards but `me`.
    fn others(&self, me: u32) -> impl Iterator<Item = Option<&HeadAt>> {
        (0..).zip(&self.heads).filter(move |(shard, _)| *shard != me).map(|(_, at)| at.as_ref())
    }

    /// The first link file that some shard has not read: its sender and its number. A file that is not kept any more
    /// was read by all; so where there is none, every link that was ever committed is admitted.
    pub(crate) fn first_unread(&self) -> Option<(u32, u64)> {
        let kept = (0..).zip(&self.heads).flat_map(|(sender, at)| at.iter().map(move |at| (sender, at)));
        let mut kept = kept.flat_map(|(sender, at)| at.files.iter().map(move |visible| (sender, visible.file.number)));
        kept.find(|&(sender, number)| {
            !self.others(sender).all(|at| at.is_some_and(|at| at.head.has_read(sender, number)))
        })
    }

    /// Links that were sent and not read, of pairs of shards of which one has read all files of the other.
    pub fn differences(&self) -> impl Iterator<Item = Difference> {
        let heads = || (0..).zip(&self.heads).filter_map(|(shard, at)| Some((shard, &at.as_ref()?.head)));
        heads().flat_map(move |(sender, of_sender)| {
            heads()
                .filter(move |(reader, _)| *reader != sender)
                .filter_map(move |(reader, head)| of_sender.account.difference(sender, reader, &head.account))
        })
    }

    /// The end of the crawl, if it has come: all shards are idle, say that they have read what there is to read, and
    /// have read every file. The crawl is not complete where the account says that links are lost all the same.
    pub fn is_end(&self) -> Option<Finish> {
        let last = self.last_input();
        let all: Option<Vec<&HeadAt>> = self.heads.iter().map(Option::as_ref).collect();
        let all = all?;
        let are_over = all.iter().all(|at| at.head.idle > Idle::No && at.head.read_to.covers(last));
        let is_complete = all.iter().all(|at| at.head.idle == Idle::Yes);
        let is_end = are_over && self.first_unread().is_none();
        let is_whole = || self.differences().next().is_none();
        is_end.then(|| match is_complete {
            _ if !is_whole() => Finish::LinksLost,
            true => Finish::Complete,
            false => Finish::OnlySilentHosts,
        })
    }
}

/// The place where commits are kept.
pub trait Registry: fmt::Debug + Send + Sync {
    /// The shard goes on from this head, which is durable: the files that it names exist for others from now on.
    fn open(&self, shard: u32, head: Head) -> Revision;
    /// A checkpoint of the shard is durable: it counts from now on.
    fn commit(&self, shard: u32, head: Head) -> Revision;
    /// Returns what is known at this moment.
    fn news(&self) -> News;
    /// Says whether the shard has free workers and nothing to do for them.
    fn set_hungry(&self, shard: u32, is_hungry: bool);
    /// True if the shard has said so.
    fn is_hungry(&self, shard: u32) -> bool;
}

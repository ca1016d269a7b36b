//! A state of the cluster: nodes with their directories, the registry, the store, and what is on its way.

use super::checkpoint::{Id, NUMBERS, SHARDS};
use super::web::PAGES;

/// Nodes at most.
pub const NODES: usize = 3;
/// Claims of a shard at most.
pub const CLAIMS: usize = 4;
/// Transactions on their way at most.
const TRANSACTIONS: usize = 4;
/// Pages behind a checkpoint at most.
const ARCHIVED: usize = 3;

/// Progress of an engine with a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    #[default]
    Cut,
    Durable,
    PackShipped,
    LinksShipped,
    ManifestShipped,
    Sent,
}

impl Step {
    const ALL: [Step; 6] =
        [Step::Cut, Step::Durable, Step::PackShipped, Step::LinksShipped, Step::ManifestShipped, Step::Sent];
}

/// An engine of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Engine {
    /// Its claim; 0 where there is no engine.
    pub claim: u8,
    /// Number that names have for the claim.
    pub name: u8,
    /// The number of the head that it knows to be its own.
    pub head: u8,
    /// The number of the head that its claim found.
    pub claimed: u8,
    /// The checkpoint that it has in memory.
    pub work: Id,
    /// The checkpoint under way; 0 for none.
    pub cut: Id,
    pub step: Step,
    /// Objects that it is to delete.
    pub todo: u64,
    pub has_swept: bool,
    /// The revision up to which the watch has brought everything.
    pub known: u8,
    /// Number of a head that its own node has committed, and the watch has not brought yet, by shard.
    pub heard: [u8; SHARDS],
    /// Sender and frame, plus 1, of what was read and is admitted later, by mistake.
    pub pending: u8,
    /// Pages that it may fetch in all.
    pub granted: u8,
    /// A transaction about them is under way: the revision of the quota that it expects, plus 1.
    pub asks: u8,
}

/// A page behind the checkpoint of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Archived {
    /// The number of the checkpoint that will have it; 0 for none.
    pub number: u8,
    pub page: u8,
    pub version: u8,
    pub round: u8,
}

/// A directory of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Directory {
    /// Its checkpoint; 0 where there is no directory.
    pub checkpoint: Id,
    /// Claim and number of the last one that is noted as committed, and as offered.
    pub committed: (u8, u8),
    pub offered: (u8, u8),
    pub archive: [Archived; ARCHIVED],
}

/// A node's share in a shard: the engine, and the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replica {
    pub engine: Engine,
    pub directory: Directory,
}

/// A checkpoint, as the registry has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub content: Id,
    pub revision: u8,
    pub read_to: u8,
    pub links_at: u8,
}

/// A shard, as registry and store have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// The claim that owns it; 0 for none.
    pub owner: u8,
    pub claims: u8,
    /// Claims of earlier eras, by which names start again, by mistake.
    pub claims_before: u8,
    /// All heads that there were, by number; the newest is the head.
    pub heads: [Head; NUMBERS + 1],
    pub newest: u8,
    /// Objects, by `Name::bit`.
    pub objects: u64,
    /// Contents of the objects, by claim and number.
    pub contents: [[Id; NUMBERS + 1]; CLAIMS + 1],
    pub granted: u8,
}

impl Shared {
    pub fn head(&self) -> Head {
        self.heads[self.newest as usize]
    }
}

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    #[default]
    Nothing,
    Commit,
    Release,
    End,
    Grant,
    GiveBack,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Nothing, Kind::Commit, Kind::Release, Kind::End, Kind::Grant, Kind::GiveBack];
}

/// A transaction on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transaction {
    pub kind: Kind,
    pub shard: u8,
    pub claim: u8,
    /// The revision that it checks: of the head, of the quota, of `want`.
    pub expects: u8,
    /// The checkpoint that it commits; the pages that stay granted.
    pub content: Id,
}

/// A put or a deletion that is on its way, and for which nobody waits any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Late {
    pub shard: u8,
    /// The object, by the place of its bit, plus 1; 0 for nothing.
    pub object: u8,
    /// The content that is put; 0 deletes.
    pub content: Id,
}

/// All of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub nodes: [[Replica; SHARDS]; NODES],
    pub shards: [Shared; SHARDS],
    /// Number of times that it was fetched, by page and round.
    pub fetches: [[u8; 2]; PAGES],
    pub in_flight: [Transaction; TRANSACTIONS],
    pub late: Late,
    pub revision: u8,
    pub era: u8,
    /// The revisions of the late list and of the round; 0 for none.
    pub list_at: u8,
    pub round_at: u8,
    pub has_ended: bool,
    pub quota_left: u8,
    pub quota_revision: u8,
    pub kills: u8,
    pub power_cuts: u8,
    pub losses: u8,
    pub restored: bool,
}

impl State {
    /// Puts `transaction` on its way; `false` where too many are.
    #[must_use]
    pub fn send(&mut self, transaction: Transaction) -> bool {
        match self.in_flight.iter_mut().find(|free| free.kind == Kind::Nothing) {
            Some(free) => *free = transaction,
            None => return false,
        }
        self.in_flight.sort_unstable();
        true
    }

    /// Number of its copies that are on their way.
    pub fn copies(&self, transaction: Transaction) -> usize {
        self.in_flight.iter().filter(|other| **other == transaction).count()
    }

    /// The bytes of it: equal states have equal ones. A run of zeros is 0 and its length, any other number is of
    /// variable length.
    pub fn pack(mut self) -> Box<[u8]> {
        let (mut bytes, mut zeros) = (Vec::with_capacity(256), 0_u8);
        self.each(&mut |number| {
            if *number == 0 && zeros < u8::MAX {
                zeros += 1;
                return;
            }
            if zeros > 0 {
                bytes.extend([0, zeros]);
                zeros = 0;
            }
            match *number {
                0 => zeros = 1,
                number => push(number, &mut bytes),
            }
        });
        bytes.into_boxed_slice()
    }

    /// The state of these bytes.
    pub fn unpack(bytes: &[u8]) -> State {
        let (mut state, mut at, mut zeros) = (State::default(), 0, 0);
        state.each(&mut |number| match bytes.get(at) {
            _ if zeros > 0 => zeros -= 1,
            None => {}
            Some(0) => (zeros, at) = (bytes[at + 1] - 1, at + 2),
            Some(_) => *number = take(bytes, &mut at),
        });
        state
    }
}

fn push(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return number;
        }
    }
}

/// A value that consists of numbers.
trait Numbers {
    fn each(&mut self, visit: &mut impl FnMut(&mut u64));
}

impl Numbers for u64 {
    fn each(&mut self, visit: &mut impl FnMut(&mut u64)) {
        visit(self);
    }
}

/// Visits a value of each type as a number: the conversion to `u64`, and back.
macro_rules! number_of {
    ($($of:ty: $to:expr, $from:expr;)*) => {$(
        impl Numbers for $of {
            fn each(&mut self, visit: &mut impl FnMut(&mut u64)) {
                let mut number: u64 = $to(*self);
                visit(&mut number);
                *self = $from(number);
            }
        }
    )*};
}

number_of! {
    u8: u64::from, |number| number as u8;
    u32: u64::from, |number| number as u32;
    bool: u64::from, |number| number != 0;
    Kind: |kind: Kind| kind as u64, |number| Kind::ALL[number as usize];
    Step: |step: Step| step as u64, |number| Step::ALL[number as usize];
}

impl Numbers for (u8, u8) {
    fn each(&mut self, visit: &mut impl FnMut(&mut u64)) {
        self.0.each(visit);
        self.1.each(visit);
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn each(&mut self, visit: &mut impl FnMut(&mut u64)) {
        self.iter_mut().for_each(|item| item.each(visit));
    }
}

macro_rules! numbers_of {
    ($($of:ident { $($field:ident),* })*) => {$(
        impl Numbers for $of {
            fn each(&mut self, visit: &mut impl FnMut(&mut u64)) {
                let $of { $($field),* } = self;
                $($field.each(visit);)*
            }
        }
    )*};
}

numbers_of! {
    Engine { claim, name, head, claimed, work, cut, step, todo, has_swept, known, heard, pending, granted, asks }
    Archived { number, page, version, round }
    Directory { checkpoint, committed, offered, archive }
    Replica { engine, directory }
    Head { content, revision, read_to, links_at }
    Shared { owner, claims, claims_before, heads, newest, objects, contents, granted }
    Transaction { kind, shard, claim, expects, content }
    Late { shard, object, content }
    State {
        nodes, shards, fetches, in_flight, late, revision, era, list_at, round_at, has_ended, quota_left,
        quota_revision, kills, power_cuts, losses, restored
    }
}

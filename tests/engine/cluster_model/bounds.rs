//! A configuration of the model: what can happen in it and how often, and what is done wrong.

use super::checkpoint::SHARDS;
use super::web::Page;

/// Events that can happen, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub name: &'static str,
    pub web: &'static [Page],
    pub shards: usize,
    pub nodes: usize,
    /// The only node that claims a shard, by shard. All are claimed, and have fetched their seeds, before anything else
    /// happens. Else any node claims any shard at any moment, and nodes are equal.
    pub homes: Option<[usize; SHARDS]>,
    /// Checkpoints of each shard.
    pub numbers: [u8; SHARDS],
    /// Claims of each shard: one more than its take-overs.
    pub claims: [u8; SHARDS],
    /// Fetches of each page in one round.
    pub fetches: u8,
    /// True if a shard fetches its pages in the order of the web.
    pub in_order: bool,
    /// Processes that are killed, machines that lose power, machines that are lost with their disk.
    pub kills: u8,
    pub power_cuts: u8,
    pub losses: u8,
    /// True if an owner whose claim is gone may go on, instead of being killed at that moment.
    pub deposed: bool,
    /// True if leases end by themselves, not with their process only.
    pub expiry: bool,
    /// True if the answers of transactions are lost, and transactions doubled and late.
    pub doubt: bool,
    /// The same for the store: answers are lost, and what was put or deleted is put or deleted again,
    /// while the first sending is still on its way.
    pub store_doubt: bool,
    /// True if local checkpoints, objects and deletions are separate steps.
    pub fine: bool,
    /// True if puts and deletions of dead processes land later.
    pub late: bool,
    /// True if heads are heard of late, and some only with later ones.
    pub lag: bool,
    /// Nodes hear of the others by their watch, and of their own commits at once.
    pub own_first: bool,
    pub hand_over: bool,
    pub sweep: bool,
    /// True if the registry is lost once, and its heads are taken from the store.
    pub recover: bool,
    /// True if a list of seeds comes late.
    pub list: bool,
    /// True if it may come after the end, which it undoes.
    pub reopens: bool,
    /// True if a round of fetching again is begun.
    pub force: bool,
    /// Pages of the crawl in all; 0 for any number.
    pub quota: u8,
    pub mistake: Option<Mistake>,
}

impl Bounds {
    pub const fn new(name: &'static str, web: &'static [Page]) -> Bounds {
        Bounds {
            name,
            web,
            shards: 2,
            nodes: 1,
            homes: None,
            numbers: [2; SHARDS],
            claims: [1; SHARDS],
            fetches: 2,
            in_order: false,
            kills: 0,
            power_cuts: 0,
            losses: 0,
            deposed: false,
            expiry: false,
            doubt: false,
            store_doubt: false,
            fine: false,
            late: false,
            lag: false,
            own_first: false,
            hand_over: false,
            sweep: false,
            recover: false,
            list: false,
            reopens: false,
            force: false,
            quota: 0,
            mistake: None,
        }
    }

    pub fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

/// Mistakes that the model makes on purpose, and has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Links are read as soon as their file is in the store.
    VisibleBeforeCommit,
    /// The position moves when a frame is read, its links are admitted later.
    PositionBeforeAdmission,
    /// A head is put without a look at the claim.
    HeadWithoutClaim,
    /// Objects that the head before names are deleted when the manifest is shipped.
    DeletionBeforeCommit,
    /// A sweep keeps what the head before the claimed one names.
    SweepByOldHead,
    /// A sweep deletes whatever is not under the own claim.
    SweepOfAllClaims,
    /// Pages of the archive are replayed, then the notes join the scope.
    ReplayBeforeNotes,
    /// Frames are taken whatever notes there are.
    FramesBeforeNotes,
    /// `links at` is 0 where the last commit has no link file.
    EndByLastHead,
    /// The end is put whatever `want` is.
    EndWithoutWant,
    /// A list of seeds is put without a look at the end, which stays.
    ListLeavesEnd,
    /// A refusal is believed although an earlier sending had arrived.
    SecondSendingIsRefusal,
    /// A read that shows the head before is taken for an answer.
    ReadIsAnswer,
    /// `owner` is deleted whoever it is.
    UncheckedRelease,
    /// An older state of the registry is put back.
    SnapshotRestored,
    /// A process that was killed goes on under its claim.
    ClaimOpenedTwice,
    /// The claim in names counts up from the head's.
    ClaimFromHead,
    /// A directory is used if its number is the head's.
    DirectoryByNumber,
    /// Objects of a checkpoint whose commit was refused are deleted.
    RefusedIsDeleted,
    /// A link file goes when its reader has read it, committed or not.
    UncommittedProgress,
    /// All link files of a manifest count from the revision of its head.
    RevisionOfHead,
    /// `read to` is the registry's revision where nothing is unread.
    RevisionOfHeader,
    /// The registry that was recovered starts with the old era.
    RecoverWithoutEra,
    /// It takes manifests whose objects are not all there.
    RecoverUnchecked,
    /// Its heads have the `read to` of their manifests.
    RecoverKeepsReadTo,
    /// Revisions of link files that a manifest of an earlier era has are believed, and `read to` is not bounded by what
    /// is known: with that bound they do no harm.
    RevisionsOfOldEra,
    /// A checkpoint that was cut in an earlier era is committed with its `read to` and its `links at`.
    FiguresOfOldEra,
    /// A new owner counts its pages from its claim on.
    QuotaFromClaim,
    /// Pages are given back by a transaction that does not look at the claim.
    GiveBackWithoutClaim,
    /// A gift back without an answer counts as not given.
    GiveBackInDoubt,
    /// Pages are given back behind a head of an earlier claim.
    GiveBackByOldHead,
    /// A forced link does not bring its round.
    ForcedWithoutRound,
    /// The end does not wait until everybody has heard of a round.
    RoundIsNoInput,
    /// A page that was replayed does not count for the round that a link brings.
    ReplayOutsideRound,
    /// `read to` is the revision before the first file that is known and unread, whatever else is not known.
    ReadBeyondKnown,
    /// Pages are replayed by what the watch has brought, which is less than was known before the claim.
    ReplayBehindClaim,
}

impl Mistake {
    /// Returns whether it makes a shard say that it has read what it has not. A link file goes, and the crawl ends,
    /// only when the positions in the files say so too; the mistake is planted with that taken away.
    pub fn is_of_revisions(self) -> bool {
        matches!(
            self,
            Mistake::EndByLastHead
                | Mistake::RevisionOfHead
                | Mistake::RevisionOfHeader
                | Mistake::RecoverKeepsReadTo
                | Mistake::RevisionsOfOldEra
                | Mistake::FiguresOfOldEra
                | Mistake::ReadBeyondKnown
        )
    }

    pub const LAST: Mistake = Mistake::ReplayBehindClaim;
}

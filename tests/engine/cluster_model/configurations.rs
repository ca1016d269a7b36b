//! The configurations: small ones that every test run exhausts, large ones for an evening, and one for each mistake.

use super::bounds::{Bounds, Mistake};
use super::web::{
    AROUND, CHAIN, INTO_ONE, LATE_LINK, LISTED, MIXED, NOTED, NOTED_ROUND, ONE_LINK, THERE_AND_BACK, TWO_LINKS,
};

const ONE: Bounds = Bounds::new("one link", ONE_LINK);
const BACK: Bounds = Bounds::new("there and back", THERE_AND_BACK);
/// Another node claims while the owner before goes on.
const DEPOSED: Bounds = Bounds { nodes: 2, claims: [2, 1, 1], numbers: [2, 1, 1], expiry: true, deposed: true, ..ONE };
/// A process is killed, and opens again.
const KILLED: Bounds = Bounds { kills: 1, claims: [2, 1, 1], ..ONE };
const RECOVERED: Bounds = Bounds { recover: true, claims: [2; 3], ..ONE };
/// A list of seeds may come after the end; then shards whose engines have ended are claimed again.
const REOPENED: Bounds = Bounds { web: LATE_LINK, list: true, reopens: true, claims: [2; 3], ..ONE };
/// A node's own commits are known there before what others did earlier.
const OWN_FIRST: Bounds = Bounds {
    web: AROUND,
    shards: 3,
    nodes: 2,
    homes: Some([0, 1, 1]),
    lag: true,
    own_first: true,
    fetches: 1,
    numbers: [2, 1, 2],
    ..ONE
};
/// Connections are cut in one direction, to the store and to the registry.
const CUT: Bounds = Bounds { doubt: true, store_doubt: true, fine: true, lag: true, own_first: true, ..ONE };
/// A node is cut off for longer than its lease.
const CUT_OFF: Bounds =
    Bounds { nodes: 2, claims: [2, 1, 0], numbers: [2, 1, 0], expiry: true, deposed: true, sweep: true, ..CUT };
const ASTRAY: Bounds = Bounds { late: true, fine: true, sweep: true, numbers: [2, 1, 1], ..KILLED };

/// Configurations of every test run.
pub const SMALL: &[Bounds] = &[
    Bounds { name: "links there and back, watch lags", lag: true, numbers: [2, 2, 0], ..BACK },
    Bounds { name: "answers lost, doubled, late", doubt: true, ..ONE },
    Bounds { name: "sender killed, steps apart", fine: true, numbers: [2, 1, 0], ..KILLED },
    Bounds { name: "reader killed", claims: [1, 2, 0], numbers: [2, 2, 0], ..KILLED },
    Bounds { name: "power cut", kills: 0, power_cuts: 1, numbers: [2, 1, 0], ..KILLED },
    Bounds { name: "machine lost", kills: 0, losses: 1, numbers: [2, 1, 0], ..KILLED },
    Bounds { name: "take-over, owner goes on", sweep: true, ..DEPOSED },
    Bounds { name: "puts and deletions after death, sweep", numbers: [2, 1, 0], ..ASTRAY },
    Bounds { name: "hand-over", hand_over: true, claims: [2, 1, 0], numbers: [2, 1, 0], nodes: 2, ..ONE },
    Bounds { name: "notes, reader killed", web: NOTED, claims: [1, 2, 0], numbers: [3, 2, 0], ..KILLED },
    Bounds { name: "notes over three shards", web: NOTED_ROUND, shards: 3, numbers: [1; 3], ..ONE },
    Bounds { name: "late list", web: LISTED, list: true, numbers: [3, 2, 0], ..ONE },
    Bounds { name: "list after the end", numbers: [3, 2, 0], ..REOPENED },
    Bounds { name: "round", force: true, numbers: [2, 1, 0], ..ONE },
    Bounds { name: "quota", quota: 3, doubt: true, numbers: [2, 1, 0], ..BACK },
    Bounds { name: "recover", claims: [2, 1, 0], numbers: [2, 1, 0], ..RECOVERED },
    Bounds { name: "own commits first", numbers: [2, 1, 1], ..OWN_FIRST },
    Bounds { name: "own commits first, notes", web: NOTED_ROUND, numbers: [1; 3], ..OWN_FIRST },
    Bounds { name: "registry cut", numbers: [2, 1, 0], store_doubt: false, fine: false, ..CUT },
    Bounds { name: "both cut", numbers: [1, 1, 0], ..CUT },
    Bounds { name: "store cut, sender killed", doubt: false, kills: 1, claims: [2, 1, 0], numbers: [1, 1, 0], ..CUT },
];

/// Configurations that take longer.
pub const LARGE: &[Bounds] = &[
    Bounds { name: "take-over of the sender twice", claims: [3, 1, 0], sweep: true, ..DEPOSED },
    Bounds {
        name: "take-over of the reader",
        claims: [1, 2, 0],
        numbers: [1, 2, 0],
        doubt: true,
        sweep: true,
        ..DEPOSED
    },
    Bounds { name: "take-over of both", claims: [2, 2, 0], numbers: [2, 2, 0], sweep: true, ..DEPOSED },
    Bounds { name: "take-over over three nodes", nodes: 3, claims: [3, 1, 0], sweep: true, kills: 1, ..DEPOSED },
    Bounds { name: "take-over after a power cut", power_cuts: 1, doubt: true, ..DEPOSED },
    Bounds { name: "take-over with lost machines", losses: 2, kills: 1, claims: [3, 1, 0], ..DEPOSED },
    Bounds { name: "take-over, steps apart, late", fine: true, late: true, sweep: true, kills: 1, ..DEPOSED },
    Bounds { name: "take-over, watch lags", lag: true, claims: [2, 2, 0], numbers: [2, 1, 0], ..DEPOSED },
    Bounds { name: "chain, watch lags, killed", web: CHAIN, lag: true, numbers: [3, 3, 0], ..KILLED },
    Bounds { name: "two links, killed twice", web: TWO_LINKS, kills: 2, claims: [2, 2, 0], ..KILLED },
    Bounds {
        name: "hand-over twice",
        hand_over: true,
        expiry: true,
        deposed: true,
        nodes: 2,
        claims: [3, 1, 0],
        ..ONE
    },
    Bounds { name: "notes, both killed", web: NOTED, claims: [2, 2, 0], kills: 2, lag: true, ..ONE },
    Bounds {
        name: "notes over three shards, killed",
        web: NOTED_ROUND,
        shards: 3,
        claims: [2, 2, 2],
        numbers: [1; 3],
        ..KILLED
    },
    Bounds { name: "late list, killed", web: LISTED, list: true, lag: true, claims: [2, 2, 0], ..KILLED },
    Bounds { name: "round, killed", force: true, claims: [2, 2, 0], ..KILLED },
    Bounds { name: "quota, taken over", quota: 3, doubt: true, numbers: [2, 1, 0], web: THERE_AND_BACK, ..DEPOSED },
    Bounds {
        name: "recover, killed",
        kills: 1,
        fine: true,
        late: true,
        sweep: true,
        claims: [3, 1, 0],
        numbers: [2, 1, 0],
        ..RECOVERED
    },
    Bounds { name: "recover, chain", web: CHAIN, numbers: [3, 2, 0], ..RECOVERED },
    Bounds { name: "own commits first, to the end", ..OWN_FIRST },
    Bounds { name: "own commits first, into one", web: INTO_ONE, ..OWN_FIRST },
    Bounds { name: "own commits first, any node", homes: None, numbers: [2, 1, 1], web: INTO_ONE, ..OWN_FIRST },
    Bounds { name: "both cut, to the end", numbers: [2, 1, 0], ..CUT },
    Bounds { name: "registry cut, taken over", store_doubt: false, fine: false, ..CUT_OFF },
    Bounds { name: "store cut, taken over", doubt: false, numbers: [1, 1, 0], ..CUT_OFF },
];

const fn by(mistake: Mistake, bounds: Bounds) -> Bounds {
    Bounds { mistake: Some(mistake), ..bounds }
}

/// One for each mistake.
pub const MISTAKEN: &[Bounds] = &[
    by(Mistake::VisibleBeforeCommit, ONE),
    by(Mistake::PositionBeforeAdmission, ONE),
    by(Mistake::HeadWithoutClaim, DEPOSED),
    by(Mistake::DeletionBeforeCommit, ONE),
    by(Mistake::SweepByOldHead, Bounds { sweep: true, ..KILLED }),
    by(Mistake::SweepOfAllClaims, Bounds { sweep: true, ..DEPOSED }),
    by(Mistake::ReplayBeforeNotes, Bounds { web: NOTED, claims: [1, 2, 1], numbers: [1; 3], ..KILLED }),
    by(Mistake::FramesBeforeNotes, Bounds { web: NOTED_ROUND, shards: 3, numbers: [1; 3], ..ONE }),
    by(Mistake::EndByLastHead, Bounds { numbers: [3; 3], ..BACK }),
    by(Mistake::EndWithoutWant, Bounds { web: LISTED, list: true, ..ONE }),
    by(Mistake::ListLeavesEnd, REOPENED),
    by(Mistake::SecondSendingIsRefusal, Bounds { doubt: true, ..ONE }),
    by(Mistake::ReadIsAnswer, Bounds { doubt: true, ..ONE }),
    by(Mistake::UncheckedRelease, Bounds { hand_over: true, claims: [3, 1, 1], ..DEPOSED }),
    by(Mistake::SnapshotRestored, ONE),
    by(Mistake::ClaimOpenedTwice, Bounds { losses: 1, claims: [2, 1, 1], ..ONE }),
    by(Mistake::ClaimFromHead, DEPOSED),
    by(Mistake::DirectoryByNumber, Bounds { kills: 2, claims: [3, 1, 1], nodes: 2, numbers: [2, 1, 1], ..ONE }),
    by(Mistake::RefusedIsDeleted, Bounds { doubt: true, ..DEPOSED }),
    by(Mistake::UncommittedProgress, ONE),
    by(Mistake::RevisionOfHead, Bounds { numbers: [3, 2, 1], ..ONE }),
    by(Mistake::RevisionOfHeader, Bounds { lag: true, ..ONE }),
    by(
        Mistake::RecoverWithoutEra,
        Bounds { losses: 1, fine: true, claims: [2, 1, 1], numbers: [2, 1, 1], ..RECOVERED },
    ),
    by(Mistake::RecoverUnchecked, Bounds { recover: true, ..ASTRAY }),
    by(Mistake::RecoverKeepsReadTo, Bounds { web: CHAIN, numbers: [3, 2, 1], ..RECOVERED }),
    by(
        Mistake::RevisionsOfOldEra,
        Bounds { web: MIXED, fetches: 1, in_order: true, claims: [2, 1, 1], numbers: [4, 1, 1], ..RECOVERED },
    ),
    by(Mistake::FiguresOfOldEra, Bounds { web: THERE_AND_BACK, numbers: [3, 2, 1], ..RECOVERED }),
    by(Mistake::QuotaFromClaim, Bounds { web: TWO_LINKS, quota: 1, claims: [2; 3], ..KILLED }),
    by(Mistake::GiveBackWithoutClaim, Bounds { web: THERE_AND_BACK, quota: 3, numbers: [2, 1, 1], ..KILLED }),
    by(Mistake::GiveBackInDoubt, Bounds { quota: 3, doubt: true, numbers: [2, 1, 1], ..BACK }),
    by(
        Mistake::GiveBackByOldHead,
        Bounds { quota: 3, nodes: 2, kills: 2, claims: [1, 3, 1], numbers: [1, 2, 1], fetches: 1, ..ONE },
    ),
    by(Mistake::ForcedWithoutRound, Bounds { force: true, ..ONE }),
    by(Mistake::RoundIsNoInput, Bounds { force: true, ..ONE }),
    by(Mistake::ReplayOutsideRound, Bounds { force: true, claims: [2; 3], ..KILLED }),
    by(Mistake::ReadBeyondKnown, OWN_FIRST),
    by(Mistake::ReplayBehindClaim, Bounds { web: NOTED, claims: [1, 2, 1], numbers: [1; 3], lag: true, ..KILLED }),
];

//! Blows to the nodes of a case, and their times, drawn from its seed.

use std::time::Duration;

use crate::cluster::simulated::{Connectivity, Troubles};
use crate::disk::simulated::Restart;
use crate::simulator::case::{Case, pick};
use crate::store::simulated::{Reach, Whims};

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Blow {
    /// The process or its machine is gone between two events, and is started again after a while.
    Dies { node: usize, restart: Restart, back: Duration },
    /// The same at a change of its disk, this many from now on.
    DiesAtDisk { node: usize, changes: u64, restart: Restart, back: Duration },
    /// The machine is lost with its disk; another one has its name after a while.
    Lost { node: usize, back: Duration },
    /// The process is stopped, and goes on as if nothing had happened.
    StandsStill { node: usize, time: Duration },
    /// It is asked to stop, and started again.
    Stops { node: usize, back: Duration },
    /// It is cut off from the store.
    StoreCut { node: usize, reach: Reach, time: Duration },
    /// It is cut off from the registry.
    RegistryCut { node: usize, connectivity: Connectivity, time: Duration },
    /// The store is away for all.
    StoreAway { time: Duration },
    /// The registry is away for all.
    RegistryAway { time: Duration },
    /// Calls to the store go wrong.
    StoreWild { time: Duration },
    /// Calls to the registry go wrong.
    RegistryWild { time: Duration },
}

/// Ends of blows that last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Over {
    Store(usize),
    Registry(usize),
    StoreAway,
    RegistryAway,
    StoreWild,
    RegistryWild,
}

/// Shares of the calls to the registry that go wrong during a blow.
pub(super) const TROUBLES: Troubles = Troubles { lost: 10, answer_lost: 10, late: 10 };
/// The same of the store.
pub(super) const WHIMS: Whims = Whims::WILD;

/// The blows of the case of `seed`, and when each falls; `case` is made one of nodes.
pub(super) fn draw(case: &mut Case, nodes: usize) -> Vec<(Duration, Blow)> {
    let mut rng = fastrand::Rng::with_seed(case.seed ^ 0x40de5);
    let rng = &mut rng;
    // a case lasts for minutes, and not for days: nodes look around every second
    case.web.retry_after_s = case.web.retry_after_s.min(20);
    case.web.overload_s = case.web.overload_s.min(20);
    case.settings.checkpoint_interval = Duration::from_secs(*pick(rng, &[5, 12, 30]));
    case.checkpoint_every = None;
    case.lives.clear();
    let blows = *pick(rng, &[0, 1, 2, 3, 4, 6, 9]);
    let mut drawn: Vec<(Duration, Blow)> = (0..blows)
        .map(|_| {
            let at = match rng.u8(0..3) {
                0 => rng.u64(0..5_000),
                1 => rng.u64(0..40_000),
                _ => rng.u64(0..240_000),
            };
            (Duration::from_millis(at), blow(rng, nodes))
        })
        .collect();
    drawn.sort_by_key(|(at, _)| *at);
    drawn
}

fn blow(rng: &mut fastrand::Rng, nodes: usize) -> Blow {
    let (node, restart) = (rng.usize(0..nodes), if rng.bool() { Restart::PowerCut } else { Restart::Killed });
    let back = Duration::from_secs(*pick(rng, &[0, 3, 30, 120]));
    let time = Duration::from_secs(*pick(rng, &[2, 10, 17, 21, 45, 90]));
    match rng.u8(0..14) {
        0 => Blow::Dies { node, restart, back },
        1 | 2 => Blow::DiesAtDisk { node, changes: rng.u64(1..400), restart, back },
        3 => Blow::Lost { node, back },
        4..7 => Blow::StandsStill { node, time },
        7 => Blow::Stops { node, back },
        8 => Blow::StoreCut { node, reach: if rng.bool() { Reach::Nothing } else { Reach::NoAnswers }, time },
        9 | 10 => Blow::RegistryCut {
            node,
            connectivity: if rng.bool() { Connectivity::Nothing } else { Connectivity::NoAnswers },
            time,
        },
        11 if rng.bool() => Blow::StoreAway { time },
        11 => Blow::RegistryAway { time },
        12 => Blow::StoreWild { time },
        _ => Blow::RegistryWild { time },
    }
}

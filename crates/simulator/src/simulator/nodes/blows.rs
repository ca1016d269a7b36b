//! Blows to machines, processes and ways: their begin and their end.

use std::time::Duration;

use super::plan::{Blow, Over, TROUBLES, WHIMS};
use super::{World, of};
use crate::clock::Clock;
use crate::cluster::simulated::{Connectivity, Troubles};
use crate::disk::simulated::{Fault, Restart};
use crate::store::simulated::{Reach, Whims};

impl World {
    /// Carries out the blows that are due, and ends those that are over.
    pub(super) fn strike(&mut self) {
        let now = self.clock.now();
        while let Some((_, blow)) = self.blows.pop_if(|(at, _)| *at <= now) {
            self.tell(format_args!("{blow:?}"));
            self.fall(blow);
        }
        let over: Vec<Over> = self.overs.extract_if(.., |(at, _)| *at <= now).map(|(_, over)| over).collect();
        for over in over {
            match over {
                Over::Store(node) => self.set_reach(node, Reach::Whole),
                Over::Registry(node) => self.set_connectivity(node, Connectivity::Whole),
                Over::StoreAway => self.store.set_away(false),
                Over::RegistryAway => self.set_away(false),
                Over::StoreWild => self.store.set_whims(Whims::default()),
                Over::RegistryWild => self.registry.set_troubles(Troubles::default()),
            }
        }
    }

    fn fall(&mut self, blow: Blow) {
        let now = self.clock.now();
        match blow {
            Blow::Dies { node, restart, back } => self.die(node, restart, back, false),
            Blow::DiesAtDisk { node, changes, restart, back } => {
                let disk = &self.nodes[node].machine.simulated;
                disk.fail_at(disk.changes() + changes, Fault::Stop);
                self.nodes[node].dying = Some((restart, back));
            }
            Blow::Lost { node, back } => self.die(node, Restart::PowerCut, back, true),
            Blow::StandsStill { node, time } => {
                // no crawler can end what it has asked for while it does nothing
                let at = self.true_now();
                self.nodes[node].machine.network.borrow_mut().stand_still(at, of(node));
                self.nodes[node].still_until = self.nodes[node].still_until.max(now + time);
            }
            Blow::Stops { node, back } => {
                if let Some(session) = &mut self.nodes[node].session {
                    session.is_stopping = true;
                }
                self.nodes[node].dying.get_or_insert((Restart::Killed, back));
            }
            Blow::StoreCut { node, reach, time } => {
                self.set_reach(node, reach);
                self.overs.push((now + time, Over::Store(node)));
            }
            Blow::RegistryCut { node, connectivity, time } => {
                self.set_connectivity(node, connectivity);
                self.overs.push((now + time, Over::Registry(node)));
            }
            Blow::StoreAway { time } => {
                self.store.set_away(true);
                self.overs.push((now + time, Over::StoreAway));
            }
            Blow::RegistryAway { time } => {
                self.set_away(true);
                self.overs.push((now + time, Over::RegistryAway));
            }
            Blow::StoreWild { time } => {
                self.store.set_whims(WHIMS);
                self.overs.push((now + time, Over::StoreWild));
            }
            Blow::RegistryWild { time } => {
                self.registry.set_troubles(TROUBLES);
                self.overs.push((now + time, Over::RegistryWild));
            }
        }
    }

    fn set_reach(&mut self, node: usize, reach: Reach) {
        self.nodes[node].reach = reach;
        self.nodes[node].client.set_reach(reach);
    }

    fn set_connectivity(&mut self, node: usize, connectivity: Connectivity) {
        self.nodes[node].connectivity = connectivity;
        self.nodes[node].session.iter().for_each(|session| session.ownership.set_connectivity(connectivity));
    }

    fn set_away(&mut self, is_away: bool) {
        self.away = is_away;
        self.registry.set_away(is_away);
    }

    /// The process of a node is gone, and comes back after a while; perhaps on another machine.
    pub(super) fn die(&mut self, node: usize, restart: Restart, back: Duration, is_lost: bool) {
        let (now, at) = (self.clock.now(), self.true_now());
        let dead = &mut self.nodes[node];
        if let Some(session) = dead.session.take() {
            session.ownership.close();
            let disk = &dead.machine.simulated;
            disk.clear_faults();
            disk.fail_at(disk.changes() + 1, Fault::Stop);
            // what it had begun ends here
            drop(session);
        }
        dead.machine.network.borrow_mut().hang_up(at, of(node));
        dead.machine.simulated.clear_faults();
        dead.machine.simulated.make_room();
        dead.machine.simulated.restart(restart);
        if is_lost {
            let seed = self.rng.u64(..);
            let boot = dead.machine.boot;
            dead.machine = dead.machine.beside(seed);
            dead.machine.boot = boot;
        }
        (dead.dying, dead.still_until) = (None, dead.still_until.max(now + back));
        self.end(false, restart == Restart::PowerCut);
    }
}

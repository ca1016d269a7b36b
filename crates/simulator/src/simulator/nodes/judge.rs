//! Rules for a crawl on many machines when it has ended.

use std::collections::HashMap;
use std::path::Path;

use super::World;
use crate::clock::Clock;
use crate::container::Reader;
use crate::node::{Note, Stamp, prefix};
use crate::record::Finish;
use crate::shard::Shard;
use crate::ship::{Archive, Manifest, Names, restore};
use crate::simulator::clause::{Clause, Violation};

use crate::simulator::machine::{Machine, Ran};
use crate::simulator::{judge, moment};
use crate::store::ObjectStore;

/// Judges a crawl that the registry says has ended: it is restored on another machine, which finds it complete, and is
/// held to everything that a crawl of one machine is held to.
pub(super) fn judge(world: &mut World) -> Result<(), Violation> {
    world.store.set_away(false);
    world.store.set_whims(Default::default());
    world.store.settle();
    if let Some((shard, number)) = world.registry.went_back() {
        let what = format!("the head of shard {shard} went back from {number}");
        return Err(Violation::new(Clause::NothingTwice, what));
    }
    let mut machine = restored(world)?;
    each_once(&machine)?;
    let before = machine.network().log.len();
    let found = machine.live(None)?;
    if !matches!(found, Ran::Finished(Finish::Complete)) || machine.network().log.len() != before {
        return Err(Violation::new(Clause::Ends, "a crawl that has ended has something left to do elsewhere"));
    }
    let statistics = machine.finished()?;
    judge::judge(&machine, &statistics)
}

/// A machine with what the heads name, and nothing else.
fn restored(world: &World) -> Result<Machine, Violation> {
    let broken = |what: String| Violation::new(Clause::Sound, what);
    let client = world.store.client();
    let mut machine = world.nodes[0].machine.beside(world.case.seed ^ 0x6d6);
    machine.ends = world.ends.clone();
    (machine.true_now, machine.clock_now) = (world.true_now(), world.clock.now());
    let identity = machine.identity.clone().ok_or_else(|| broken("the crawl has no identity".to_owned()))?;
    let names = Names::new(&prefix(identity.id));
    let disk = machine.disk();
    for (index, head) in (0..).zip(&world.registry.view().heads) {
        let record = head.as_ref().map(|head| head.record.clone()).unwrap_or_default();
        let shard = Shard::new(index, machine.case().shards);
        let dir = machine.dir_of(shard);
        let read = || -> Result<(), Box<dyn std::error::Error>> {
            let length = client.length(&record.manifest)?.ok_or("the manifest of a head is gone")?;
            let bytes = client.get(&record.manifest, 0..length)?;
            let manifest = Manifest::read(&bytes, &names, index, &record.manifest)?;
            restore(&client, &manifest, &disk, &dir, Archive::Too)?;
            Note { committed: Some(Stamp::new(manifest.claim, manifest.number)), offered: None }.write(&disk, &dir)?;
            Ok(identity.of_shard(shard).write_copy(&disk, &dir)?)
        };
        read().map_err(|error| broken(format!("{}: {error}; its head is {record:?}", shard.dir_name())))?;
    }
    machine.number_seeds(&[]).map_err(|error| broken(error.to_string()))?;
    disk.sync_dir(Path::new(crate::simulator::DIR)).map_err(|error| broken(error.to_string()))?;
    Ok(machine)
}

/// No page was committed twice: neither by two shards nor by two owners of one.
fn each_once(machine: &Machine) -> Result<(), Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let mut stored = HashMap::new();
    for pages in machine.archives() {
        let reader = Reader::open(machine.disk(), &pages).map_err(unreadable)?;
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            if record.robots || !moment::is_final(record.status, record.truncated) {
                continue;
            }
            if let Some(before) = stored.insert(record.url.clone(), record.time) {
                let what = format!("{} is committed twice, of {before:?} and {:?}", record.url, record.time);
                return Err(Violation::new(Clause::NothingTwice, what));
            }
        }
    }
    Ok(())
}

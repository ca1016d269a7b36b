//! The threads that work for the owner of the DRUM: one merges, one makes checkpoints durable.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crawler::disk::{Disk, Mode, Removal, Result};
use crawler::drum::{MergeDone, MergeJob};
use crawler::fingerprint::Fingerprint;

use crate::stream::Context;

/// A merge, behind the deletion of what is superfluous.
pub type Job = (Removal, MergeJob<Fingerprint, (), Context>);
pub type Done = MergeDone<Fingerprint, (), Context>;

/// A cut on its way to the disk.
pub struct Checkpoint {
    /// The arrays in RAM.
    pub ram: Vec<u8>,
    pub sync: Vec<PathBuf>,
    pub sync_dirs: Vec<PathBuf>,
}

/// The owner's ends of the channels.
pub struct Crew {
    pub merges: SyncSender<Job>,
    pub merged: Receiver<Result<Done>>,
    pub checkpoints: SyncSender<Checkpoint>,
    pub checkpointed: Receiver<Result<()>>,
}

/// Runs `owner` with its crew, whose checkpoints are in `dir`.
pub fn with_crew<T: Send>(dir: &Path, owner: impl FnOnce(Crew) -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let (merges, merges_in) = sync_channel::<Job>(1);
        let (merged_out, merged) = sync_channel(1);
        let (checkpoints, checkpoints_in) = sync_channel::<Checkpoint>(1);
        let (checkpointed_out, checkpointed) = sync_channel(1);
        let run = |(removal, job): Job| removal.run().and_then(|()| job.run());
        let merge = move || merges_in.into_iter().try_for_each(|job| merged_out.send(run(job)).map_err(drop));
        std::thread::Builder::new().name("merge".into()).spawn_scoped(scope, merge).expect("a thread");
        let checkpoint = move || {
            let mut cuts = checkpoints_in.into_iter();
            cuts.try_for_each(|checkpoint| checkpointed_out.send(make_durable(&checkpoint, dir)).map_err(drop))
        };
        std::thread::Builder::new().name("checkpoint".into()).spawn_scoped(scope, checkpoint).expect("a thread");
        owner(Crew { merges, merged, checkpoints, checkpointed })
    })
}

fn make_durable(checkpoint: &Checkpoint, dir: &Path) -> Result<()> {
    let disk = Disk::real();
    for path in &checkpoint.sync {
        disk.open(path, Mode::Write)?.sync()?;
    }
    checkpoint.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
    disk.replace(&dir.join("checkpoint"), &checkpoint.ram)
}

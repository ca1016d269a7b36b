//! The threads that work for the owner of the frontier: one does the jobs of partitions, one makes cuts durable.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crawler::disk::{Disk, Mode, Result};
use crawler::frontier::{PartitionDone, PartitionJob};

/// Jobs that the frontier hands out at once, at most.
const JOBS: usize = 8;

/// A cut on its way to the disk.
pub struct Checkpoint {
    /// Content of the memory.
    pub ram: Vec<u8>,
    pub sync: Vec<PathBuf>,
    pub sync_dirs: Vec<PathBuf>,
}

/// The owner's ends of the channels.
pub struct Crew {
    pub jobs: SyncSender<PartitionJob>,
    pub done: Receiver<Result<PartitionDone>>,
    pub checkpoints: SyncSender<Checkpoint>,
    pub checkpointed: Receiver<Result<()>>,
}

/// Runs `owner` with its crew, whose checkpoints are in `dir`.
pub fn with_crew<T: Send>(dir: &Path, owner: impl FnOnce(Crew) -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let (jobs, jobs_in) = sync_channel::<PartitionJob>(JOBS);
        let (done_out, done) = sync_channel(JOBS);
        let (checkpoints, checkpoints_in) = sync_channel::<Checkpoint>(1);
        let (checkpointed_out, checkpointed) = sync_channel(1);
        let work = move || jobs_in.into_iter().try_for_each(|job| done_out.send(job.run()).map_err(drop));
        std::thread::Builder::new().name("partitions".into()).spawn_scoped(scope, work).expect("a thread");
        let checkpoint = move || {
            let mut cuts = checkpoints_in.into_iter();
            cuts.try_for_each(|checkpoint| checkpointed_out.send(make_durable(&checkpoint, dir)).map_err(drop))
        };
        std::thread::Builder::new().name("checkpoint".into()).spawn_scoped(scope, checkpoint).expect("a thread");
        owner(Crew { jobs, done, checkpoints, checkpointed })
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

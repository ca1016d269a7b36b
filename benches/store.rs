//! `cargo bench --bench store -- [MIB] STORE...`: how fast checkpoints go to a store and come back, and at what
//! cost.
//!
//! STORE is an address as `--store` takes it, with credentials from the environment; without any, a directory of the
//! temporary files. Shipped are value files of 64 MiB with random bytes, MIB in all (512 by default), and a checkpoint
//! with many small files, as the crawler does it: by `Shipper`, with checksums and a manifest; restored is all of that,
//! compared with its checksums and synced. CPU is that of this process, a server's not included. Three rounds, each in
//! its own place that is deleted afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use crawler::disk::Disk;
use crawler::exchange::Head;
use crawler::record::{FileKind, NamedFile};
use crawler::shard::Shard;
use crawler::ship::{Archive, Claim, Names, ShipOptions, Shipper, restore};
use crawler::store::{ObjectStore, StoreOptions, open};

const FILE_MIB: usize = 64;
const SMALL_FILES: usize = 200;
const SMALL_BYTES: usize = 50_000;
const ROUNDS: u64 = 3;

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (mib, mut stores) = match given.split_first() {
        Some((first, rest)) if first.parse::<usize>().is_ok() => (first.parse()?, rest.to_vec()),
        _ => (512, given),
    };
    if stores.is_empty() {
        stores.push(format!("file://{}/store", dir.path().display()));
    }
    let local = dir.path().join("shard");
    let files = files(&local, mib)?;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    println!("{} files, {:.0} MB; MB/s, and CPU seconds a GB", files.len(), bytes as f64 / 1e6);
    println!("{:40} {:>9} {:>9} {:>9} {:>9}", "", "put MB/s", "CPU s/GB", "get MB/s", "CPU s/GB");
    for address in &stores {
        for round in 0..ROUNDS {
            let own = format!("{}/bench-{:x}", address.trim_end_matches('/'), fastrand::u64(..));
            let store = open(&own, &StoreOptions::default()).with_context(|| address.clone())?;
            let back = dir.path().join(format!("back-{round}"));
            let figures = trip(&store, &local, &files, &back);
            std::fs::remove_dir_all(&back).ok();
            delete_all(&*store)?;
            let (mb, [put, get]) = (bytes as f64 / 1e6, figures?);
            let figures = [mb / put.0, put.1 / mb * 1e3, mb / get.0, get.1 / mb * 1e3];
            let [put, put_cpu, get, get_cpu] = figures;
            println!("{:40} {put:9.0} {put_cpu:9.2} {get:9.0} {get_cpu:9.2}", address);
        }
    }
    Ok(())
}

/// Makes the files that a shard has on disk.
fn files(dir: &Path, mib: usize) -> Result<Vec<NamedFile>> {
    let mut rng = fastrand::Rng::with_seed(24);
    let mut content = vec![0; FILE_MIB << 20];
    let mut files = Vec::new();
    let mut write = |path: String, bytes: &[u8], kind| -> Result<()> {
        let full = dir.join(&path);
        std::fs::create_dir_all(full.parent().unwrap_or(dir))?;
        std::fs::write(full, bytes)?;
        files.push(NamedFile::new(PathBuf::from(path), bytes.len() as u64, kind));
        Ok(())
    };
    for number in 0..mib.div_ceil(FILE_MIB) {
        rng.fill(&mut content);
        write(format!("pages/value-{number:05}.warc.gz"), &content, FileKind::Archive)?;
    }
    for number in 0..SMALL_FILES {
        rng.fill(&mut content[..SMALL_BYTES]);
        write(format!("frontier/bucket-{number:03}.g000001.repo"), &content[..SMALL_BYTES], FileKind::Whole)?;
    }
    write("checkpoint.g000001".to_owned(), b"checkpoint", FileKind::Whole)?;
    Ok(files)
}

/// Seconds and CPU seconds of shipping `files` of `local`, and of restoring them into `back`.
fn trip(store: &Arc<dyn ObjectStore>, local: &Path, files: &[NamedFile], back: &Path) -> Result<[(f64, f64); 2]> {
    let names = Names::new("");
    let (shard, claim) = (Shard::new(0, 1), Claim { era: 1, epoch: 1 });
    let mut shipper = Shipper::new(store.clone(), names, 1, shard, claim, None, ShipOptions::default());
    let (mut manifest, put) = timed(|| shipper.ship(&Disk::real(), local, 1, &Head::default(), files))?;
    manifest.committed_at(1);
    let ((), get) = timed(|| restore(&**store, &manifest, &Disk::real(), back, Archive::Too))?;
    Ok([put, get])
}

fn timed<T, E: Into<anyhow::Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, (f64, f64))> {
    let (start, cpu) = (Instant::now(), cpu_s());
    let value = work().map_err(Into::into)?;
    Ok((value, (start.elapsed().as_secs_f64(), cpu_s() - cpu)))
}

/// CPU time of this process, in seconds.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn delete_all(store: &dyn ObjectStore) -> Result<()> {
    let mut names = Vec::new();
    store.list("", &mut |name, _| names.push(name.to_owned()))?;
    Ok(names.iter().try_for_each(|name| store.delete(name))?)
}

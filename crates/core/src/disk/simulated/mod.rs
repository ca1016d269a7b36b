//! The disk in memory of tests, fuzzing and the simulator. It does to its files what a machine may do to them, as a
//! function of a seed; where nobody asks for a fault, it never fails and never forgets.
//!
//! Every change (write, cut, creation, rename, removal, sync) has a number. At a number that was chosen before, the
//! change fails ([`Fault`]) or the machine stops: then every further call fails, until [`SimulatedDisk::restart`] says
//! what is left. A process that is killed leaves everything that it wrote (but for what a failed sync covered); a power
//! cut leaves what was synced, and of everything else any mixture: each write kept, lost, torn at 512 bytes, zeroed or
//! garbled, each creation, rename and removal of a name done or not. What is assumed of a real disk is little (SQLite
//! and redb assume the same): bytes beside a write stay as they are, what a successful sync covered stays, a rename is
//! done or not done.
//!
//! After a failed sync the writes that it covered are doomed: a later sync that succeeds does not make them durable,
//! as on Linux. The next process may read them all the same, from what the system still has in memory, or may not.
//! Directories themselves are durable once they are made, unless [`SimulatedDisk::lose_directories`] was called.
//!
//! It is no substitute for tests on a real file system: a SIGKILL leaves the page cache, which is why only a model can
//! show what a power cut does.

mod content;
mod files;
mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Backend, Disk, Mode, RawFile};
use content::Content;
use names::Names;

/// Changes that a trace shows.
const TRACE: usize = 40;
/// The longest file, unless the disk was set to more. One that a damaged length would blow up is refused, as by a full
/// disk.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The number of free bytes that it reports.
const FREE_BYTES: u64 = 1 << 40;

/// A function that is called at each read with the file, the offset, the bytes that were asked for and the bytes that
/// were there.
type ReadObserver = dyn Fn(&Path, u64, usize, usize) + Send + Sync;

/// A fault that a change meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with an input/output error.
    Error,
    /// It fails because the disk is full, and so does everything that takes room until
    /// [`SimulatedDisk::make_room`].
    Full,
    /// The machine stops, before the change or behind it.
    Stop,
}

/// The way in which a machine stopped before it comes up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The process was killed: the operating system has everything.
    Killed,
    /// The power was cut.
    PowerCut,
}

/// The disk; clones are the same one.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

struct State {
    names: Names,
    rng: fastrand::Rng,
    /// Counts restarts: files that were opened before one are not open any more.
    boot: u64,
    /// The number of power cuts.
    power_cuts: u64,
    changes: u64,
    faults: BTreeMap<u64, Fault>,
    is_full: bool,
    is_stopped: bool,
    is_lying: bool,
    file_bytes_max: u64,
    trace: VecDeque<String>,
    /// Checksum of all that was ever noted.
    log: crc32fast::Hasher,
    reads: Option<Arc<ReadObserver>>,
}

/// An open file.
struct Open {
    disk: SimulatedDisk,
    boot: u64,
    path: Arc<Path>,
    content: Arc<Mutex<Content>>,
}

impl SimulatedDisk {
    /// An empty disk whose whims come from `seed`.
    pub fn new(seed: u64) -> Self {
        SimulatedDisk(Arc::new(Mutex::new(State {
            names: Names::default(),
            rng: fastrand::Rng::with_seed(seed),
            boot: 0,
            power_cuts: 0,
            changes: 0,
            faults: BTreeMap::new(),
            is_full: false,
            is_stopped: false,
            is_lying: false,
            file_bytes_max: FILE_BYTES_MAX,
            trace: VecDeque::new(),
            log: crc32fast::Hasher::new(),
            reads: None,
        })))
    }

    /// The handle that stores work with.
    pub fn disk(&self) -> Disk {
        Disk::new(Arc::new(self.clone()))
    }

    /// Changes so far, those that failed included.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Lets change number `change`, counted from 1, meet `fault`.
    pub fn fail_at(&self, change: u64, fault: Fault) {
        self.state().faults.insert(change, fault);
    }

    /// Returns whether there are faults that were not met.
    pub fn has_faults(&self) -> bool {
        !self.state().faults.is_empty()
    }

    /// Forgets faults that were not met.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Returns whether the machine has stopped.
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Makes room again, as if somebody had deleted other files.
    pub fn make_room(&self) {
        self.state().is_full = false;
    }

    /// Lets files grow up to `bytes_max`.
    pub fn let_files_grow(&self, bytes_max: u64) {
        self.state().file_bytes_max = bytes_max;
    }

    /// Lets a power cut take, from now on, a new directory with all that is in it, until its parent is synced. Crawl
    /// directories, whose parts are made and synced at the start, do without.
    pub fn lose_directories(&self) {
        self.state().names.lose_directories();
    }

    /// Lets syncs report from now on that they are done, and do nothing; or no longer.
    pub fn lie_about_syncs(&self, lie: bool) {
        self.state().is_lying = lie;
    }

    /// Brings the machine up again; files that were open before are closed.
    pub fn restart(&self, restart: Restart) {
        let mut state = self.state();
        let State { names, rng, .. } = &mut *state;
        match restart {
            Restart::Killed => names.settle(rng),
            Restart::PowerCut => names.cut(rng),
        }
        state.boot += 1;
        state.power_cuts += u64::from(restart == Restart::PowerCut);
        state.is_stopped = false;
        state.note(format_args!("-- {restart:?} --"));
    }

    /// The last changes, oldest first.
    pub fn trace(&self) -> Vec<String> {
        self.state().trace.iter().cloned().collect()
    }

    /// A checksum of all changes and restarts so far: equal where two runs did the same.
    pub fn log_checksum(&self) -> u32 {
        self.state().log.clone().finalize()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        SimulatedDisk::new(0)
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDisk").finish_non_exhaustive()
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Instruction to a change that does not fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    /// Take place.
    On,
    /// Take place, but anyone who asked for it does not live to see that.
    OnAndStop,
}

impl State {
    /// Counts a change and lets its fault, if it has one, come about.
    fn change(&mut self, takes_room: bool, what: fmt::Arguments<'_>) -> io::Result<Go> {
        self.alive()?;
        self.changes += 1;
        let fault = self.faults.remove(&self.changes);
        let number = self.changes;
        match fault {
            Some(fault) => self.note(format_args!("{number} {what} -> {fault:?}")),
            None => self.note(format_args!("{number} {what}")),
        }
        match fault {
            Some(Fault::Error) => Err(io::Error::other("input/output error")),
            Some(Fault::Full) => {
                self.is_full = true;
                if takes_room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(Go::On) }
            }
            Some(Fault::Stop) => {
                self.is_stopped = true;
                if self.rng.bool() { Ok(Go::OnAndStop) } else { Err(stopped()) }
            }
            None if self.is_full && takes_room => Err(io::ErrorKind::StorageFull.into()),
            None => Ok(Go::On),
        }
    }

    fn refuse_too_long(&self, len: u64) -> io::Result<()> {
        if len > self.file_bytes_max { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn alive(&self) -> io::Result<()> {
        if self.is_stopped { Err(stopped()) } else { Ok(()) }
    }

    fn note(&mut self, what: fmt::Arguments<'_>) {
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        let line = what.to_string();
        self.log.update(line.as_bytes());
        self.log.update(b"\n");
        self.trace.push_back(line);
    }
}

impl Go {
    fn end(self) -> io::Result<()> {
        match self {
            Go::On => Ok(()),
            Go::OnAndStop => Err(stopped()),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the machine stopped")
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Backend for SimulatedDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let mut state = self.state();
        state.alive()?;
        let there = state.names.get(path);
        let content = match (there, mode) {
            (Some(_), Mode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(content), _) => content,
            (None, Mode::Read | Mode::Write) => return Err(not_found()),
            (None, Mode::Create | Mode::CreateNew) => {
                let go = state.change(true, format_args!("create {}", path.display()))?;
                let content = state.names.create(path)?;
                go.end()?;
                content
            }
        };
        Ok(Box::new(Open { disk: self.clone(), boot: state.boot, path: path.into(), content }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let go = state.change(false, format_args!("rename {} to {}", from.display(), to.display()))?;
        match state.names.is_dir(from) {
            true => state.names.rename_dir(from, to),
            false => state.names.rename(from, to).ok_or_else(not_found)?,
        }
        go.end()
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.alive()?;
        if state.names.get(to).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let go = state.change(false, format_args!("rename {} to {}, new", from.display(), to.display()))?;
        state.names.rename(from, to).ok_or_else(not_found)?;
        go.end()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.alive()?;
        if state.names.get(path).is_none() {
            return Err(not_found());
        }
        let go = state.change(false, format_args!("remove {}", path.display()))?;
        state.names.remove(path);
        go.end()
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.alive()?;
        state.names.create_dir(path);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        state.alive()?;
        state.names.list(dir).ok_or_else(not_found)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        state.alive()?;
        state.names.list_dirs(dir).ok_or_else(not_found)
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.alive()?;
        for path in state.names.below(dir) {
            let go = state.change(false, format_args!("remove {}", path.display()))?;
            state.names.remove(&path);
            go.end()?;
        }
        state.names.remove_dirs(dir);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        let go = state.change(false, format_args!("sync directory {}", dir.display()))?;
        if !state.is_lying {
            state.names.sync(dir);
        }
        go.end()
    }

    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        let state = self.state();
        state.alive()?;
        Ok(if state.is_full { 0 } else { FREE_BYTES })
    }

    fn boot_id(&self) -> Option<String> {
        Some(self.state().power_cuts.to_string())
    }
}

impl Open {
    /// The state of the disk, if the file is still open.
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        state.alive()?;
        if state.boot == self.boot { Ok(state) } else { Err(io::Error::other("the file was open before a restart")) }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RawFile for Open {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let observer = self.state()?.reads.clone();
        let there = self.content().read(buf, offset);
        if let Some(observe) = observer {
            observe(&self.path, offset, buf.len(), there);
        }
        Ok(there)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state()?;
        state.refuse_too_long(offset.saturating_add(buf.len() as u64))?;
        let what = format_args!("write {} bytes at {offset} of {}", buf.len(), self.path.display());
        let go = state.change(true, what);
        match go {
            Ok(go) => {
                self.content().write(buf, offset);
                go.end()
            }
            Err(error) => {
                // an error says nothing of how far the write got
                let part = state.rng.usize(0..=buf.len());
                self.content().write(&buf[..part], offset);
                Err(error)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        drop(self.state()?);
        Ok(self.content().len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state()?;
        state.refuse_too_long(len)?;
        let go = state.change(false, format_args!("cut {} to {len}", self.path.display()))?;
        self.content().set_len(len);
        go.end()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state()?;
        match state.change(false, format_args!("sync {}", self.path.display())) {
            Ok(go) => {
                if !state.is_lying {
                    self.content().sync();
                }
                go.end()
            }
            Err(error) => {
                // who dies over a sync has not met an error of the disk: the system still has what it was to write
                if !state.is_stopped {
                    self.content().doom();
                }
                Err(error)
            }
        }
    }
}

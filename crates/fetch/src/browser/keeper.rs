//! Keeps the process of a browser: starts it, waits for its end, and removes its profile after that.
//!
//! A thread does it, for as long as the process lives: the signal that kills the browser with us (`PR_SET_PDEATHSIG`)
//! is sent when the thread ends that started it. Profiles that a killed crawler left are removed by the next one: each
//! is locked for as long as somebody uses it.

use std::fs::{File, Permissions, TryLockError};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};

use super::RenderFailure;
use super::launch::Confinement;
use super::memory::{children, send};
use crate::disk::open_file;

/// Prefix of the names of profiles.
const PROFILE: &str = "crawler-browser-";
/// The file in each that is locked.
const LOCK: &str = "lock";

/// A running browser.
#[derive(Debug)]
pub(super) struct Keeper {
    pid: Pid,
    /// True if the process was waited for, so that its number may belong to another one.
    is_reaped: Arc<Mutex<bool>>,
    gone: watch::Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The ends of its pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub to: OwnedFd,
    pub from: OwnedFd,
    pub errors: OwnedFd,
}

impl Keeper {
    /// Starts `program` with a profile below `temporary_dir`.
    pub(super) async fn start(
        confinement: &Confinement,
        program: PathBuf,
        temporary_dir: PathBuf,
    ) -> Result<(Keeper, Pipes), RenderFailure> {
        let (started, start) = oneshot::channel();
        let (is_gone, gone) = watch::channel(false);
        let is_reaped = Arc::new(Mutex::new(false));
        let (confinement, reaped) = (confinement.clone(), is_reaped.clone());
        let keep = move || match begin(&confinement, &program, &temporary_dir) {
            Ok((mut child, pipes, pid, profile)) => {
                // where nobody takes the pipes they are closed, and the browser ends
                let _ = started.send(Ok((pid, pipes)));
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
                *lock(&reaped) = true;
                let _ = child.wait();
                drop(profile);
                is_gone.send_replace(true);
            }
            Err(error) => drop(started.send(Err(error))),
        };
        let failed = |error: &dyn std::fmt::Display| RenderFailure::Start(error.to_string());
        let thread = std::thread::Builder::new().name("browser".to_owned()).spawn(keep).map_err(|e| failed(&e))?;
        let (pid, pipes) = start.await.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
        Ok((Keeper { pid, is_reaped, gone, thread: Some(thread) }, pipes))
    }

    /// The process that was started, from which all others descend.
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Kills it, and with it all of its processes.
    pub(super) fn kill(&self) {
        let reaped = lock(&self.is_reaped);
        if *reaped {
            return;
        }
        // where it only waits for the one that is first in its own namespaces, that one goes first and is waited for
        children(self.pid()).into_iter().for_each(|child| send(child, Signal::KILL));
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Waits until it is gone, with its profile.
    pub(super) async fn gone(&self) {
        let _ = self.gone.clone().wait_for(|gone| *gone).await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.kill();
        if let Some(thread) = self.thread.take().filter(|_| *self.gone.borrow()) {
            let _ = thread.join();
        }
    }
}

fn lock(mutex: &Mutex<bool>) -> MutexGuard<'_, bool> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A profile with the lock on it, which is removed when it is dropped.
struct Profile {
    _lock: File,
    dir: TempDir,
}

fn begin(
    confinement: &Confinement,
    program: &Path,
    temporary_dir: &Path,
) -> std::io::Result<(Child, Pipes, Pid, Profile)> {
    remove_left(temporary_dir);
    let own = Permissions::from_mode(0o700);
    let dir = tempfile::Builder::new().prefix(PROFILE).permissions(own).tempdir_in(temporary_dir)?;
    let file = File::create_new(dir.path().join(LOCK))?;
    file.try_lock()?;
    let profile = Profile { _lock: file, dir };
    let mut child = confinement.command(program, profile.dir.path())?.spawn()?;
    let pid = Pid::from_child(&child);
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(to), Some(from), Some(errors)) = pipes else {
        return Err(std::io::Error::other("it has no pipes"));
    };
    Ok((child, Pipes { to: to.into(), from: from.into(), errors: errors.into() }, pid, profile))
}

/// Removes profiles that nobody uses.
fn remove_left(temporary_dir: &Path) {
    let Ok(entries) = temporary_dir.read_dir() else { return };
    for entry in entries.flatten() {
        let is_profile = entry.file_name().to_string_lossy().starts_with(PROFILE);
        if !is_profile || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // one without the file is being made
        let Ok(file) = open_file(&entry.path().join(LOCK)) else { continue };
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_))) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

//! The state of the crawl in a directory, as the engines of this process, another process, or the last checkpoint
//! report it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::console::Problem;
use crate::crawl::control::wire::{AskError, Command, Reply};
use crate::crawl::control::{self, ControlHandle};
use crate::crawl::sizes;
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk};
use crate::record::{Doing, Finish, Histogram, Live, Rates, Snapshot, State};

/// An engine that has a long event in hand is waited for this long.
const PATIENCE: Duration = Duration::from_secs(5);
/// An order that waits for a checkpoint is waited for this long.
const ORDER_PATIENCE: Duration = Duration::from_secs(25);

/// The route by which questions and orders reach those who carry them out.
pub(super) enum CommandRoute {
    /// The engines of this process, while they run.
    Own(Mutex<Option<ControlHandle>>),
    /// The process that works on the directory, if there is one.
    Socket,
}

/// The state of a crawl.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// True if a process works on it.
    pub running: bool,
    /// The figures: of this moment where `is_live`, else of the last checkpoint.
    pub live: Option<Live>,
    /// True if the crawl answered.
    pub is_live: bool,
}

impl CommandRoute {
    /// The engines of this process take questions and orders by `control_handle`.
    pub(crate) fn connect(&self, control_handle: ControlHandle) {
        if let CommandRoute::Own(own) = self {
            *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(control_handle);
        }
    }

    /// They do not any more.
    pub(crate) fn disconnect(&self) {
        if let CommandRoute::Own(own) = self {
            *own.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Asks the crawl in `dir`. Nobody may be there to answer.
    pub(crate) fn ask(&self, dir: &Path, command: &Command) -> Result<Reply, Problem> {
        let patience = match command {
            Command::Status {} | Command::Hosts { .. } => PATIENCE,
            _ => ORDER_PATIENCE,
        };
        let control_handle = match self {
            CommandRoute::Own(own) => own.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            CommandRoute::Socket => {
                return control::ask_within(dir, command, patience).map_err(|error| refusal(&error));
            }
        };
        let control_handle =
            control_handle.ok_or_else(|| Problem::Refused("the crawl is starting or ending".to_owned()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| Problem::Fault(format!("the crawl cannot be asked: {error}")))?;
        Ok(runtime.block_on(control_handle.ask(command.clone(), patience)))
    }

    /// True if a process works on the crawl in `dir`.
    fn is_running(&self, dir: &Path) -> bool {
        matches!(self, CommandRoute::Own(_)) || DirectoryLock::is_held(dir)
    }

    /// Returns the state of the crawl in `dir`.
    pub(crate) fn standing(&self, dir: &Path) -> Result<Standing, Problem> {
        let mut running = self.is_running(dir);
        if running {
            match self.ask(dir, &Command::Status {}) {
                Ok(Reply { status: Some(live), .. }) => {
                    return Ok(Standing { running: true, live: Some(*live), is_live: true });
                }
                // it may have ended meanwhile
                _ => running = self.is_running(dir),
            }
        }
        Ok(Standing { running, live: stored(dir, running)?, is_live: false })
    }
}

fn refusal(error: &AskError) -> Problem {
    Problem::Refused(error.to_string())
}

/// The figures of the last checkpoint of the crawl in `dir`, as of a crawl that is done; nothing before the first one,
/// and where no crawl is.
fn stored(dir: &Path, running: bool) -> Result<Option<Live>, Problem> {
    let disk = Disk::real();
    let fault = |error: crate::disk::Error| Problem::Fault(error.to_string());
    if !dir.exists() {
        return Ok(None);
    }
    let dirs = CrawlDirs::open(&disk, dir).map_err(fault)?;
    let Some(mut figures) = dirs.snapshot(&disk).map_err(fault)? else { return Ok(None) };
    sizes::measure_all(&mut figures.stores, dirs.shards());
    if !running {
        // as they were when it stopped: nothing is in flight any more
        figures.gauges.in_flight = 0;
        figures.gauges.disk_free_bytes = disk.free_bytes(dir).unwrap_or(figures.gauges.disk_free_bytes);
    }
    Ok(Some(Live {
        phase: if running { Doing::Closing } else { Doing::Done },
        pid: 0,
        checkpoint: 0,
        checkpointed: Some(figures.updated),
        rates: Rates::default(),
        memory_ceiling_bytes: 0,
        durations: Histogram::default(),
        figures,
        shards: Vec::new(),
    }))
}

impl Standing {
    /// Returns why it does not crawl, where it does not: a word and a phrase.
    pub(crate) fn stillness(&self) -> Option<(&'static str, String)> {
        let figures = self.live.as_ref().map(|live| &live.figures);
        Some(match (self.running, figures) {
            (true, _) if self.is_live => return None,
            (true, _) => ("starting", "starting, or writing the last checkpoint".to_owned()),
            (false, None) => ("nothing", "no crawl has made a checkpoint here yet".to_owned()),
            (false, Some(Snapshot { finish: Some(Finish::Complete), .. })) => {
                ("finished", "finished: the crawl is complete".to_owned())
            }
            (false, Some(Snapshot { finish: Some(finish), .. })) => ("stopped", format!("stopped: {finish}")),
            (false, Some(Snapshot { state: State::Finished, .. })) => {
                ("finished", "finished: the crawl is complete".to_owned())
            }
            (false, Some(_)) => {
                ("killed", "stopped without a last checkpoint; the same command resumes the crawl".to_owned())
            }
        })
    }
}

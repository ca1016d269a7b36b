//! A running browser: started, confined, watched, ended.
//!
//! While it has pages, its processes are looked at a few times a second. A renderer that takes more memory than its
//! page may is killed by its number; the browser then tells whose it was. Pages of one browser are watched together:
//! the sum of all renderers may be as much as all of its pages may take, and the largest renderer goes where it is
//! more. What pages keep outside of renderers, such as blobs, is bounded by the same sum; where it is more, the
//! browser goes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::keeper::{Keeper, Pipes};
use super::launch::{Confinement, unsafe_argument};
use super::memory::Tree;
use super::protocol::{CallError, Connection, attach, every_request};
use super::{BrowserOptions, RenderFailure};

/// Time between two looks at its processes.
const LOOK: Duration = Duration::from_millis(250);
/// Time for it to end by itself when it is asked to, and for the kernel when it is killed.
const END_MAX: Duration = Duration::from_secs(3);
/// Bytes of its last words that are kept.
const WORDS_BYTES: usize = 4 << 10;
/// What it says where it cannot have a sandbox.
const NO_SANDBOX: [&str; 2] = ["No usable sandbox", "without --no-sandbox is not supported"];

/// It, with its connection.
#[derive(Debug)]
pub(super) struct Process {
    pub connection: Arc<Connection>,
    /// What it calls itself to servers.
    pub user_agent: String,
    keeper: Keeper,
    watch: Arc<Mutex<Watch>>,
    /// Pages that it has now, and that it ever had.
    active: AtomicUsize,
    pages: AtomicU32,
    is_retired: AtomicBool,
    kills: AtomicU32,
    /// It was killed for what its pages kept in it.
    has_swollen: AtomicBool,
}

/// What its processes take, and for whom.
#[derive(Debug)]
struct Watch {
    tree: Tree,
    next: u64,
    usages: Vec<Usage>,
    /// What its processes but renderers took before the first page.
    base: Option<u64>,
    looked: Option<Instant>,
}

/// What has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooMuch {
    Renderer(u32),
    Browser,
}

/// What was taken while a page was there.
#[derive(Clone, Copy, Debug)]
struct Usage {
    page: u64,
    memory_max: u64,
    cpu: Duration,
    peak: u64,
}

impl Process {
    /// Starts one.
    pub(super) async fn start(options: &BrowserOptions, program: PathBuf) -> Result<Arc<Process>, RenderFailure> {
        let allows = options.allow_unsandboxed;
        let found = tokio::task::spawn_blocking(move || Confinement::find(allows)).await;
        let confinement = found.map_err(|error| RenderFailure::Start(error.to_string()))??;
        match Process::start_in(&confinement, options, program.clone()).await {
            Err(RenderFailure::Unsandboxed(_)) if allows => {
                tracing::warn!("the browser runs without a sandbox, as it was allowed to");
                Process::start_in(&confinement.unsandboxed(), options, program).await
            }
            result => result,
        }
    }

    async fn start_in(
        confinement: &Confinement,
        options: &BrowserOptions,
        program: PathBuf,
    ) -> Result<Arc<Process>, RenderFailure> {
        let (keeper, Pipes { to, from, errors }) =
            Keeper::start(confinement, program, options.temporary_dir.clone()).await?;
        let failed = |error: std::io::Error| RenderFailure::Start(error.to_string());
        let to = pipe::Sender::from_owned_fd(to).map_err(failed)?;
        let from = pipe::Receiver::from_owned_fd(from).map_err(failed)?;
        let errors = pipe::Receiver::from_owned_fd(errors).map_err(failed)?;
        let said = tokio::spawn(last_words(errors));
        let connection = Connection::new(to, from);
        let first = tokio::time::timeout(options.start_timeout, begin(&connection)).await;
        let version = match first {
            Ok(Ok(version)) => version,
            Ok(Err(CallError::Refused(why))) => return Err(RenderFailure::Start(why)),
            Ok(Err(CallError::Ended)) => {
                let words = tokio::time::timeout(END_MAX, said).await;
                let words = words.ok().and_then(Result::ok).unwrap_or_default();
                return Err(match NO_SANDBOX.iter().any(|text| words.contains(text)) {
                    true => RenderFailure::Unsandboxed("the kernel or its settings deny it user namespaces".to_owned()),
                    false => RenderFailure::Start(words.trim().to_owned()),
                });
            }
            Err(_) => return Err(RenderFailure::Start(format!("no word of it in {:?}", options.start_timeout))),
        };
        let tree = Tree::new(keeper.pid());
        let arguments = tree.arguments();
        if let Some(argument) = unsafe_argument(&arguments)
            && !options.allow_unsandboxed
        {
            let why = format!("something in how it is installed starts it with {argument}");
            return Err(RenderFailure::Unsandboxed(why));
        }
        tracing::debug!(pid = keeper.pid(), version = %version["product"], "a browser has started");
        Ok(Arc::new(Process {
            connection,
            user_agent: version["userAgent"].as_str().unwrap_or_default().to_owned(),
            keeper,
            watch: Arc::new(Mutex::new(Watch { tree, next: 0, usages: Vec::new(), base: None, looked: None })),
            active: AtomicUsize::new(0),
            pages: AtomicU32::new(0),
            is_retired: AtomicBool::new(false),
            kills: AtomicU32::new(0),
            has_swollen: AtomicBool::new(false),
        }))
    }

    /// Whether it may have another page, where it may have `tabs` at a time and `pages_max` in all.
    pub(super) fn has_place(&self, tabs: usize, pages_max: u32) -> bool {
        !self.is_worn(pages_max) && self.active() < tabs
    }

    /// Whether it is to be replaced.
    pub(super) fn is_worn(&self, pages_max: u32) -> bool {
        self.connection.has_ended()
            || self.is_retired.load(Ordering::Relaxed)
            || self.pages.load(Ordering::Relaxed) >= pages_max.max(1)
    }

    /// Pages that it has now.
    pub(super) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// A place for a page, until it is dropped.
    pub(super) fn seat(self: &Arc<Process>) -> Seat {
        self.active.fetch_add(1, Ordering::Relaxed);
        self.pages.fetch_add(1, Ordering::Relaxed);
        Seat { process: self.clone() }
    }

    /// It gets no more pages.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        self.retire();
        self.keeper.kill();
    }

    /// It is gone while it had pages: what that means for one of them.
    pub(super) fn end(&self) -> RenderFailure {
        self.retire();
        match self.has_swollen.load(Ordering::Relaxed) && self.active() == 1 {
            true => RenderFailure::Memory,
            false => RenderFailure::Crashed,
        }
    }

    /// Ends it, and waits until it is gone.
    pub(super) async fn close(&self) {
        self.retire();
        self.connection.send("", "Browser.close", &json!({}));
        if tokio::time::timeout(END_MAX, self.keeper.gone()).await.is_err() {
            self.keeper.kill();
            let _ = tokio::time::timeout(END_MAX, self.keeper.gone()).await;
        }
    }

    /// Whether a renderer was killed for its memory and nobody has heard of it yet.
    pub(super) fn took_too_much(&self) -> bool {
        self.kills.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kills| kills.checked_sub(1)).is_ok()
    }

    /// From here on a page is there, until what is returned is dropped.
    pub(super) async fn begin_page(self: &Arc<Process>, memory_max: u64) -> PageUsage {
        self.look().await;
        let page = {
            let mut watch = lock(&self.watch);
            watch.next += 1;
            let page = watch.next;
            watch.usages.push(Usage { page, memory_max, cpu: Duration::ZERO, peak: 0 });
            page
        };
        let process = self.clone();
        let watching = tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                // one look does for all pages
                let is_due = lock(&process.watch).looked.is_none_or(|looked| looked.elapsed() >= LOOK / 2);
                if is_due {
                    process.look().await;
                }
            }
        });
        PageUsage { process: self.clone(), page, watching }
    }

    /// Looks at its processes, and kills what takes too much.
    pub(super) async fn look(&self) {
        let watch = self.watch.clone();
        let looked = tokio::task::spawn_blocking(move || lock(&watch).look()).await;
        match looked.ok().flatten() {
            Some(TooMuch::Renderer(pid)) => {
                self.kills.fetch_add(1, Ordering::Relaxed);
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            Some(TooMuch::Browser) => {
                self.has_swollen.store(true, Ordering::Relaxed);
                self.kill();
            }
            None => {}
        }
    }
}

impl Watch {
    /// Looks, shares the time out, and names what must go.
    fn look(&mut self) -> Option<TooMuch> {
        let before = self.tree.cpu();
        self.tree.look();
        self.looked = Some(Instant::now());
        let base = *self.base.get_or_insert(self.tree.others());
        let pages = u32::try_from(self.usages.len()).unwrap_or(u32::MAX);
        let share = self.tree.cpu().saturating_sub(before).checked_div(pages)?;
        let all: u64 = self.tree.renderers().iter().map(|(_, bytes)| bytes).sum();
        for usage in &mut self.usages {
            usage.cpu += share;
            usage.peak = usage.peak.max(all);
        }
        let limits = self.usages.iter().map(|usage| usage.memory_max);
        let (one_max, all_max) = (limits.clone().max()?, limits.fold(0, u64::saturating_add));
        if self.tree.others() > base.saturating_add(all_max) {
            return Some(TooMuch::Browser);
        }
        let (pid, bytes) = self.tree.renderers().iter().copied().max_by_key(|(_, bytes)| *bytes)?;
        (bytes > one_max || all > all_max).then_some(TooMuch::Renderer(pid))
    }
}

fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place of a page in a browser.
#[derive(Debug)]
pub(super) struct Seat {
    pub process: Arc<Process>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.process.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a page takes.
#[derive(Debug)]
pub(super) struct PageUsage {
    process: Arc<Process>,
    page: u64,
    watching: tokio::task::JoinHandle<()>,
}

impl PageUsage {
    /// Time on processors and most memory so far.
    pub(super) fn taken(&self) -> (Duration, u64) {
        let watch = lock(&self.process.watch);
        let usage = watch.usages.iter().find(|usage| usage.page == self.page);
        usage.map_or_else(Default::default, |usage| (usage.cpu, usage.peak))
    }
}

impl Drop for PageUsage {
    fn drop(&mut self) {
        self.watching.abort();
        lock(&self.process.watch).usages.retain(|usage| usage.page != self.page);
    }
}

/// The first words with a browser: who it is, and that nothing goes on without us.
async fn begin(connection: &Connection) -> Result<Value, CallError> {
    let version = connection.call("", "Browser.getVersion", &json!({})).await?;
    connection.call("", "Fetch.enable", &every_request()).await?;
    connection.call("", "Target.setAutoAttach", &attach()).await?;
    Ok(version)
}

/// The end of what it says.
async fn last_words(mut errors: pipe::Receiver) -> String {
    let (mut words, mut buffer) = (Vec::new(), [0; WORDS_BYTES]);
    while let Ok(bytes @ 1..) = errors.read(&mut buffer).await {
        words.extend_from_slice(&buffer[..bytes]);
        let more = words.len().saturating_sub(WORDS_BYTES);
        words.drain(..more);
    }
    String::from_utf8_lossy(&words).into_owned()
}

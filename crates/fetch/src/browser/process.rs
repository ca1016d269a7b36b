//! A running browser: started, confined, watched, ended.
//!
//! It has one page at a time, and while it has one its processes are looked at a few times a second, more often when
//! they come near to what they may take. What they take more than before the page is the page's: all renderers, and
//! what it keeps elsewhere, such as blobs. A browser whose processes take too much memory, or become too many, is
//! killed with all of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::keeper::{Keeper, Pipes};
use super::launch::{Confinement, unsafe_argument};
use super::memory::Tree;
use super::protocol::{CallError, Connection, attach, every_request};
use super::{BrowserOptions, RenderFailure};

/// Time between two looks at its processes, and where they take more than half of what they may.
const LOOK: Duration = Duration::from_millis(250);
const LOOK_CLOSELY: Duration = Duration::from_millis(50);
/// Processes that it may have: some ten are its own, and each origin of a frame may have one.
const PROCESSES_MAX: usize = 100;
/// Time for it to end by itself when it is asked to, and for the kernel when it is killed.
const END_MAX: Duration = Duration::from_secs(3);
/// Bytes of its last words that are kept.
const WORDS_BYTES: usize = 4 << 10;
/// Messages of a browser that cannot have a sandbox.
const NO_SANDBOX: [&str; 2] = ["No usable sandbox", "without --no-sandbox is not supported"];

/// It, with its connection.
#[derive(Debug)]
pub(super) struct Process {
    pub connection: Arc<Connection>,
    /// User agent that it sends to servers.
    pub user_agent: String,
    keeper: Keeper,
    watch: Arc<Mutex<Watch>>,
    /// Pages that it ever had.
    pages: AtomicU32,
    is_retired: AtomicBool,
    /// The limit that its page went over, for which it was killed.
    killed_for: OnceLock<RenderFailure>,
}

/// Resources that its processes take, and the part of the page.
#[derive(Debug)]
struct Watch {
    tree: Tree,
    page: Option<Usage>,
}

/// Resources taken since there is a page.
#[derive(Clone, Copy, Debug)]
struct Usage {
    memory_max: u64,
    /// Memory that its processes but renderers took before, and the time on processors of all of them.
    before: u64,
    cpu_before: Duration,
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
        let said = tokio::spawn(last_output(errors));
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
            watch: Arc::new(Mutex::new(Watch { tree, page: None })),
            pages: AtomicU32::new(0),
            is_retired: AtomicBool::new(false),
            killed_for: OnceLock::new(),
        }))
    }

    /// Returns whether it is to be replaced, where it may have `pages_max` pages in all.
    pub(super) fn is_worn(&self, pages_max: u32) -> bool {
        self.connection.has_ended()
            || self.is_retired.load(Ordering::Relaxed)
            || self.pages.load(Ordering::Relaxed) >= pages_max.max(1)
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

    /// It is gone while it had a page: what that means for the page.
    pub(super) fn end(&self) -> RenderFailure {
        self.retire();
        self.killed_for().unwrap_or(RenderFailure::Crashed)
    }

    /// Returns which limit its page went over, if it was killed for that.
    pub(super) fn killed_for(&self) -> Option<RenderFailure> {
        self.killed_for.get().cloned()
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

    /// Begins a page, which lasts until the returned value is dropped.
    pub(super) async fn begin_page(self: &Arc<Process>, memory_max: u64) -> PageUsage {
        self.pages.fetch_add(1, Ordering::Relaxed);
        let watch = self.watch.clone();
        let _ = tokio::task::spawn_blocking(move || lock(&watch).begin(memory_max)).await;
        let process = self.clone();
        let watching = tokio::spawn(async move {
            loop {
                let pause = process.look().await;
                tokio::time::sleep(pause).await;
            }
        });
        PageUsage { process: self.clone(), watching }
    }

    /// Looks at its processes, kills them where they take too much, and returns the time until the next look.
    pub(super) async fn look(&self) -> Duration {
        let watch = self.watch.clone();
        let looked = tokio::task::spawn_blocking(move || lock(&watch).look()).await;
        match looked.unwrap_or(Ok(LOOK)) {
            Ok(pause) => pause,
            Err(too_much) => {
                tracing::debug!(%too_much, pid = self.keeper.pid(), "a browser is killed");
                let _ = self.killed_for.set(too_much);
                self.kill();
                LOOK
            }
        }
    }
}

impl Watch {
    fn begin(&mut self, memory_max: u64) {
        self.tree.look(true);
        // a page has its own renderers
        self.tree.pass_over_renderers();
        let (before, cpu_before) = (self.tree.others(), self.tree.cpu());
        self.page = Some(Usage { memory_max, before, cpu_before, cpu: Duration::ZERO, peak: 0 });
    }

    /// Looks, and says when to look again, or what there is too much of.
    fn look(&mut self) -> Result<Duration, RenderFailure> {
        let Some(page) = &mut self.page else { return Ok(LOOK) };
        self.tree.look(false);
        let mut taken = page.taken(&self.tree);
        if taken > page.memory_max {
            self.tree.look_stopped();
            taken = page.taken(&self.tree);
        }
        page.cpu = self.tree.cpu().saturating_sub(page.cpu_before);
        page.peak = page.peak.max(taken);
        if taken > page.memory_max {
            return Err(RenderFailure::Memory);
        }
        if self.tree.processes() > PROCESSES_MAX {
            return Err(RenderFailure::Processes);
        }
        Ok(if taken > page.memory_max / 2 { LOOK_CLOSELY } else { LOOK })
    }
}

impl Usage {
    /// Returns which part of the memory of `tree` is the page's.
    fn taken(&self, tree: &Tree) -> u64 {
        tree.renderers() + tree.others().saturating_sub(self.before)
    }
}

fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A watch over the resources that a page takes.
#[derive(Debug)]
pub(super) struct PageUsage {
    process: Arc<Process>,
    watching: tokio::task::JoinHandle<()>,
}

impl PageUsage {
    /// Time on processors and most memory so far.
    pub(super) fn taken(&self) -> (Duration, u64) {
        lock(&self.process.watch).page.map_or_else(Default::default, |page| (page.cpu, page.peak))
    }
}

impl Drop for PageUsage {
    fn drop(&mut self) {
        self.watching.abort();
        lock(&self.process.watch).page = None;
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
async fn last_output(mut errors: pipe::Receiver) -> String {
    let (mut words, mut buffer) = (Vec::new(), [0; WORDS_BYTES]);
    while let Ok(bytes @ 1..) = errors.read(&mut buffer).await {
        words.extend_from_slice(&buffer[..bytes]);
        let more = words.len().saturating_sub(WORDS_BYTES);
        words.drain(..more);
    }
    String::from_utf8_lossy(&words).into_owned()
}

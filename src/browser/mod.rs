//! Renders pages with the Chromium of the system, whose every request the caller answers.
//!
//! It knows nothing of crawls. A page is given by its URL; what it asks for, its own document first, comes to a
//! [`Network`], which answers from wherever it likes; what came of it is a [`Rendered`]. The browser is a process that
//! is spoken to by the DevTools protocol over two pipes (`protocol`); no library and no server is between.
//!
//! What holds:
//!
//! - **Nothing leaves the browser but by the [`Network`].** Each target is paused until its requests are intercepted
//!   (`page::targets`); what is not a request that can be intercepted (WebSocket, WebRTC, lookups of names, the
//!   browser's own business) stands before a proxy whose name nothing resolves, and, where the machine can do it, in a
//!   network namespace without an interface (`launch`).
//! - **Nothing outlives its page.** Each has a browser context of its own, which goes with it; workers, frames and
//!   windows are of that context, and no service worker is registered.
//! - **Nothing outlives this process.** Its pipe ends with it, and where the machine can do it the kernel kills all
//!   processes of the browser (`keeper`).
//! - **Everything is bounded**: time, memory, requests, bytes, the DOM, links, navigations, workers, what is refused.
//!   Events of a browser are dealt with where they are read, so none of them are queued.
//! - **A page that fails is one page.** A renderer that crashes or takes too much memory ends its page. A browser that
//!   crashes ends its pages, and the next page gets a new one; nothing is tried twice here, since only the caller knows
//!   what it has stored of the first attempt.
//!
//! Scripts run as in any browser: dates and random numbers are the real ones, and two renders may differ.

mod consent;
mod keeper;
mod launch;
mod memory;
mod network;
mod options;
mod page;
mod process;
mod program;
mod protocol;
mod rendered;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell, Semaphore};

pub use consent::Consent;
pub use network::{Asked, Denied, Fulfilled, Network, Reply, ResourceKind};
pub use options::{BrowserOptions, PictureFormat, Quiet, RenderOptions, Screenshot, Viewport};
use process::{Process, Seat};
pub use program::{Program, find};
pub use rendered::{Ended, Refused, RefusedKind, RenderFailure, Rendered};

/// The browsers of a process: started when they are needed, replaced when they are worn.
#[derive(Debug)]
pub struct Browsers {
    options: BrowserOptions,
    program: OnceCell<PathBuf>,
    /// A tab each.
    tabs: Semaphore,
    processes: Mutex<Vec<Arc<Process>>>,
}

impl Browsers {
    /// Starts nothing yet.
    pub fn new(options: BrowserOptions) -> Browsers {
        let tabs = Semaphore::new(options.processes.max(1) * options.tabs.max(1));
        Browsers { options, program: OnceCell::new(), tabs, processes: Mutex::default() }
    }

    /// Renders the page at `url` in a browser context of its own, which no other page shares. `site` names it in logs.
    /// Waits until one of the tabs is free. Must be called on a runtime of tokio that has time and I/O; where the
    /// future is dropped, the page is closed.
    pub async fn render(
        &self,
        url: &str,
        site: &str,
        options: &RenderOptions,
        network: Arc<dyn Network>,
    ) -> Result<Rendered, RenderFailure> {
        let _tab = self.tabs.acquire().await.map_err(|_| RenderFailure::Closed)?;
        let seat = self.seat().await?;
        let result = page::render(&seat.process, url, options, network).await;
        match &result {
            Ok(rendered) => tracing::debug!(site, url, ended = ?rendered.ended, "a page was rendered"),
            Err(failure) => tracing::debug!(site, url, %failure, "a page was not rendered"),
        }
        drop(seat);
        self.replace().await;
        result
    }

    /// A place in a browser, which is started where none has one.
    async fn seat(&self) -> Result<Seat, RenderFailure> {
        let mut processes = self.processes.lock().await;
        let (tabs, pages_max) = (self.options.tabs.max(1), self.options.pages_max);
        let free = processes.iter().filter(|process| process.has_place(tabs, pages_max));
        if let Some(process) = free.min_by_key(|process| process.active()) {
            return Ok(process.seat());
        }
        let program = self.program.get_or_try_init(|| find_program(self.options.program.clone())).await?;
        let process = Process::start(&self.options, program.clone()).await?;
        let seat = process.seat();
        processes.push(process);
        Ok(seat)
    }

    /// Ends browsers that are worn and have no page left.
    async fn replace(&self) {
        let worn: Vec<Arc<Process>> = {
            let mut processes = self.processes.lock().await;
            let is_done = |process: &Arc<Process>| process.is_worn(self.options.pages_max) && process.active() == 0;
            processes.extract_if(.., |process| is_done(process)).collect()
        };
        for process in worn {
            process.close().await;
        }
    }

    /// Ends all processes; returns when they are gone. Pages that are being rendered fail.
    pub async fn close(self) {
        self.tabs.close();
        let processes = std::mem::take(&mut *self.processes.lock().await);
        for process in processes {
            process.close().await;
        }
    }
}

async fn find_program(program: Option<PathBuf>) -> Result<PathBuf, RenderFailure> {
    let found = tokio::task::spawn_blocking(move || find(program.as_deref())).await;
    found.ok().flatten().map(|program| program.path).ok_or(RenderFailure::NotFound)
}

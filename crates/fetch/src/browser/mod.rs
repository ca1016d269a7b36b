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
//!   browser's own business) is before a proxy whose name nothing resolves, and, where the machine can do it, in a
//!   network namespace without an interface (`launch`).
//! - **A browser has one page at a time**, so what its processes take is what the page takes, and a page that brings it
//!   down brings down nobody else.
//! - **Nothing outlives its page.** Each has its own browser context, which goes with it; workers, frames and windows
//!   are of that context, and no service worker is registered.
//! - **Nothing outlives this process.** Its pipe ends with it, and where the machine can do it the kernel kills all
//!   processes of the browser (`keeper`).
//! - **Everything is bounded**: time, memory, processes, requests, bytes, the DOM, links, navigations, workers, origins
//!   of frames, what is refused. Events of a browser are dealt with where they are read, so none of them are queued.
//! - **A page that fails is one page.** A renderer that crashes ends its page, a browser that crashes or takes too much
//!   ends its own, and the next page gets a new one; nothing is tried twice here, since only the caller knows what it
//!   has stored of the first attempt.
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

pub use network::{Asked, Denied, Fulfilled, Network, Reply, ResourceKind};
pub use options::{BrowserOptions, PictureFormat, Quiet, RenderOptions, Screenshot};
use process::Process;
pub use program::{Program, find};
pub use rendered::{Ended, Refused, RefusedKind, RenderFailure, Rendered};

/// The browsers of a process: started when they are needed, replaced when they are worn.
#[derive(Debug)]
pub struct Browsers {
    options: BrowserOptions,
    program: OnceCell<PathBuf>,
    /// One for each browser that may run.
    places: Semaphore,
    /// Those that no page has now.
    idle: Mutex<Vec<Arc<Process>>>,
}

impl Browsers {
    /// Starts nothing yet.
    pub fn new(options: BrowserOptions) -> Browsers {
        let places = Semaphore::new(options.processes.max(1));
        Browsers { options, program: OnceCell::new(), places, idle: Mutex::default() }
    }

    /// Renders the page at `url` in a browser that no other page has meanwhile, in a context that no other page ever
    /// has. `site` names it in logs. Waits until a browser may be had. Must be called on a runtime of tokio that has
    /// time and I/O; where the future is dropped, the browser ends.
    pub async fn render(
        &self,
        url: &str,
        site: &str,
        options: &RenderOptions,
        network: Arc<dyn Network>,
    ) -> Result<Rendered, RenderFailure> {
        let _place = self.places.acquire().await.map_err(|_| RenderFailure::Closed)?;
        let process = self.process().await?;
        let result = page::render(&process, url, options, network).await;
        match &result {
            Ok(rendered) => tracing::debug!(site, url, ended = ?rendered.ended, "a page was rendered"),
            Err(failure) => tracing::debug!(site, url, %failure, "a page was not rendered"),
        }
        match process.is_worn(self.options.pages_max) {
            true => process.close().await,
            false => self.idle.lock().await.push(process),
        }
        result
    }

    /// A browser that no page has, which is started where none is left.
    async fn process(&self) -> Result<Arc<Process>, RenderFailure> {
        while let Some(process) = self.pop_idle().await {
            match process.is_worn(self.options.pages_max) {
                // it ended by itself, or somebody killed it
                true => process.close().await,
                false => return Ok(process),
            }
        }
        let program = self.program.get_or_try_init(|| find_program(self.options.program.clone())).await?;
        Process::start(&self.options, program.clone()).await
    }

    async fn pop_idle(&self) -> Option<Arc<Process>> {
        self.idle.lock().await.pop()
    }

    /// Ends all browsers; returns when they are gone.
    pub async fn close(self) {
        self.places.close();
        for process in self.idle.into_inner() {
            process.close().await;
        }
    }
}

async fn find_program(program: Option<PathBuf>) -> Result<PathBuf, RenderFailure> {
    let found = tokio::task::spawn_blocking(move || find(program.as_deref())).await;
    found.ok().flatten().map(|program| program.path).ok_or(RenderFailure::NotFound)
}

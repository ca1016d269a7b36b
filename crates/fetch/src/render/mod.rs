//! The render executor: pages in browsers that have no network but the engine.
//!
//! ```text
//! engine ── RenderJob ────► a browser ── every request of the page ───────┬─ the page itself: from the job
//!    ▲                         │                                         ├─ kept from another page ([`kept`])
//!    │                         │                                         └─ all else: Reply::Asked ──► engine
//!    │                         ▼                                                                        │ answer
//!    └── Reply::Page ◄── records and links, made of what the browser has left       the page ◄──────────┘
//! ```
//! It holds no crawl state: a job carries the page and comes back as an answer to the page's request. What it promises:
//!
//! - no more than `pages` pages are rendered at a time; the others wait, and how many that may be the engine bounds;
//! - no more than [`network::OPEN_MAX`] requests of a page are with the engine at a time; so its queue of events has
//!   room for all of them;
//! - a page has one end, and the engine hears of it once: by then nobody waits for an answer to what it asked for;
//! - where the browser crashed, which the page need not have been the reason for, or did not start, the page is
//!   rendered once more in a new one (`CRASHES_MAX`); a page that takes too long or too much memory is not;
//! - where an engine ends, so do its pages.

mod kept;
mod network;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

pub use network::OPEN_MAX;

use crate::browser::{BrowserOptions, Browsers, Ended, PictureFormat, RenderFailure, RenderOptions, Rendered};
use crate::contract::{
    Addressed, Answer, AskId, Fault, Processed, RenderJob, RenderWork, Reply, ReplyTo, RequestSettings,
};
use crate::process::{ProcessOptions, Processor, RenderOutcome, RenderedPage};
use crate::web::url::CanonicalUrl;
use kept::Kept;
use network::{Document, PageNetwork, Pages};

/// Times that a page is tried whose browser crashes or does not start.
const CRASHES_MAX: u32 = 3;

/// Options of rendering pages.
#[derive(Clone, Debug)]
pub struct RenderExecutorOptions {
    /// The browsers.
    pub browsers: BrowserOptions,
    /// Limits and behaviours of a page.
    pub page: RenderOptions,
    /// Pages at the same time.
    pub pages: usize,
    /// Bytes of answers that are kept for other pages.
    pub kept_bytes: usize,
    /// Time for which one is kept that does not say so itself.
    pub kept_for: Duration,
    /// Options for processing what comes out.
    pub process: ProcessOptions,
}

/// The running executor.
#[derive(Debug)]
pub struct Renderer {
    runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
}

/// The things that every page needs.
#[derive(Debug)]
struct Shared {
    browsers: Browsers,
    options: RenderExecutorOptions,
    /// Pages that may be rendered at the same time.
    places: Semaphore,
    /// Pages that are being rendered, by the numbers of their engines and their own.
    pages: Pages,
    kept: Arc<Kept>,
    /// Tools that no page uses at this moment.
    processors: Mutex<Vec<Processor>>,
}

impl Renderer {
    /// Starts the executor, and no browser yet.
    pub fn start(options: RenderExecutorOptions) -> std::io::Result<Renderer> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(options.pages.max(1))
            .thread_name("render")
            .enable_io()
            .enable_time()
            .build()?;
        let shared = Shared {
            browsers: Browsers::new(options.browsers.clone()),
            places: Semaphore::new(options.pages.max(1)),
            pages: Pages::default(),
            kept: Arc::new(Kept::new(options.kept_bytes, options.kept_for)),
            processors: Mutex::default(),
            options,
        };
        Ok(Renderer { runtime, shared: Arc::new(shared) })
    }

    /// A handle for the pages of an engine.
    pub fn handle(&self) -> RenderHandle {
        RenderHandle {
            runtime: self.runtime.handle().clone(),
            shared: self.shared.clone(),
            over: watch::Sender::new(()),
        }
    }

    /// Ends all browsers.
    pub fn stop(self) {
        let Renderer { runtime, shared } = self;
        if let Some(shared) = Arc::into_inner(shared) {
            runtime.block_on(shared.browsers.close());
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// The pages of one engine. When it is dropped they end.
#[derive(Debug)]
pub struct RenderHandle {
    runtime: tokio::runtime::Handle,
    shared: Arc<Shared>,
    /// Each page listens to it.
    over: watch::Sender<()>,
}

impl RenderHandle {
    /// Renders the page of `job`.
    pub fn render(&self, Addressed { job, reply }: Addressed<RenderJob>) {
        let (shared, mut over) = (self.shared.clone(), self.over.subscribe());
        let task = async move {
            let (url, to) = (job.processed.job.url.as_str().to_owned(), reply.clone());
            let page = tokio::spawn(run(shared, job, reply));
            let abort = page.abort_handle();
            tokio::select! {
                biased;
                _ = over.changed() => abort.abort(),
                ended = page => {
                    if ended.is_err_and(|error| error.is_panic()) {
                        to.send(Err(Fault::Panic(format!("rendering {url} panicked"))));
                    }
                }
            }
        };
        self.runtime.spawn(task);
    }

    /// Tells a page of the engine with this number what it gets.
    pub fn answer(&self, engine: usize, ask: AskId, answer: Answer) {
        if let Some(page) = self.shared.pages.of(engine, ask.rendering) {
            page.answer(ask.number, answer);
        }
    }
}

impl Drop for RenderHandle {
    fn drop(&mut self) {
        self.over.send_replace(());
        // until the last of them is gone
        self.runtime.block_on(self.over.closed());
    }
}

async fn run(shared: Arc<Shared>, job: RenderJob, reply: ReplyTo) {
    let RenderJob { number, work, processed } = job;
    let (outcome, duration) = match work {
        RenderWork::AsServed => (RenderOutcome::AsServed, Duration::ZERO),
        RenderWork::Render => {
            let Ok(_place) = shared.places.acquire().await else { return };
            let begun = Instant::now();
            let subject = Subject::of(number, &processed, shared.options.process.decoded_max);
            let outcome = render(&shared, subject, &reply).await;
            (outcome.map_or_else(RenderOutcome::Failed, RenderOutcome::Rendered), begun.elapsed())
        }
    };
    let of_shared = shared.clone();
    let finish = tokio::task::spawn_blocking(move || {
        let url = processed.job.url.as_str().to_owned();
        let work = || of_shared.finish(number, *processed, outcome, duration);
        Fault::catch(|| format!("processing {url} panicked"), work)
    });
    let processed = finish.await.unwrap_or_else(|error| Err(Fault::Panic(error.to_string())));
    reply.send(processed.map(|processed| Reply::Page(Box::new(processed))));
}

/// A page as its browser and its network have to know it.
struct Subject {
    number: u64,
    url: CanonicalUrl,
    /// Settings of its site, where that has others than usual.
    settings: Option<Arc<RequestSettings>>,
    document: Arc<Document>,
}

impl Subject {
    fn of(number: u64, processed: &Processed, decoded_max: usize) -> Subject {
        Subject {
            number,
            url: processed.job.url.clone(),
            settings: processed.job.settings.clone(),
            document: Arc::new(Document::of(processed, decoded_max)),
        }
    }
}

/// Renders a page in a browser, or says why there is no result.
async fn render(shared: &Arc<Shared>, subject: Subject, reply: &ReplyTo) -> Result<RenderedPage, String> {
    let Subject { number, url, settings, document } = subject;
    let mut options = shared.options.page.clone();
    if let Some(settings) = settings {
        options.user_agent.clone_from(&settings.user_agent);
        options.scrolls_max = settings.scrolls;
        options.consent = settings.consent;
        options.click.clone_from(&settings.clicks);
    }
    let key = (reply.engine(), number);
    let mut crashes = 0;
    loop {
        let (document, kept) = (document.clone(), shared.kept.clone());
        let network = Arc::new(PageNetwork::new(number, crashes, url.clone(), document, reply.clone(), kept));
        let _here = shared.pages.enter(key, network.clone());
        match shared.browsers.render(url.plain(), url.host(), &options, network.clone()).await {
            Ok(rendered) => return Ok(page_of(rendered, &options, network.left_for())),
            // one that is killed while it starts has not started
            Err(RenderFailure::Crashed | RenderFailure::Start(_)) if crashes + 1 < CRASHES_MAX => crashes += 1,
            Err(failure) => {
                tracing::debug!(url = url.as_str(), %failure, "a page could not be rendered");
                return Err(reason(&failure).to_owned());
            }
        }
    }
}

/// It in a word or two, as crawl.log and the metadata record have it.
fn reason(failure: &RenderFailure) -> &'static str {
    match failure {
        RenderFailure::NotFound => "noBrowser",
        RenderFailure::Start(_) => "browserDidNotStart",
        RenderFailure::Unsandboxed(_) => "noSandbox",
        RenderFailure::Crashed => "crashed",
        RenderFailure::Memory => "memory",
        RenderFailure::Processes => "processes",
        RenderFailure::Hung => "hung",
        RenderFailure::Document(_) => "document",
        RenderFailure::Closed => "closed",
        _ => "protocol",
    }
}

fn page_of(rendered: Rendered, options: &RenderOptions, left_for: Vec<String>) -> RenderedPage {
    let picture = rendered.screenshot.zip(options.screenshot).map(|(bytes, screenshot)| {
        let kind = match screenshot.format {
            PictureFormat::Png => "image/png",
            PictureFormat::Webp => "image/webp",
        };
        ("urn:view:", kind, bytes)
    });
    let pdf = rendered.pdf.map(|bytes| ("urn:pdf:", "application/pdf", bytes));
    RenderedPage {
        dom: rendered.dom,
        links: rendered.links.into_iter().chain(left_for).collect(),
        cut_by: match rendered.ended {
            Ended::Quiet => None,
            Ended::Deadline => Some("deadline"),
            Ended::Requests => Some("requests"),
            Ended::Bytes => Some("bytes"),
        },
        pictures: picture.into_iter().chain(pdf).collect(),
    }
}

impl Shared {
    /// The page as the engine takes it back.
    fn finish(
        &self,
        number: u64,
        processed: Processed,
        outcome: RenderOutcome,
        duration: Duration,
    ) -> crate::disk::Result<Processed> {
        let kept = self.processors.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut processor = kept.unwrap_or_else(|| Processor::new(self.options.process.clone()));
        let done = processor.process_rendered(number, processed, outcome, duration);
        self.processors.lock().unwrap_or_else(PoisonError::into_inner).push(processor);
        done
    }
}

//! Pages in the real Chromium, by the way of the crawler: every request is answered by a network of the test.
//!
//! They need Chromium with a sandbox. `BROWSER_PROGRAM` names another program than the first one on `PATH`. A browser
//! takes more than a core while it starts, so the tests run one after the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod behaviours;
mod ends;
mod hostile;
mod leaks;
mod network;
mod pages;
mod processes;
#[path = "../tools/mod.rs"]
mod tools;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crawler::browser::{BrowserOptions, Browsers, Quiet, RenderFailure, RenderOptions, Rendered, find};
use network::Web;
use tokio::sync::{Mutex, MutexGuard};
use tools::{in_ci, skip};

/// A browser takes more than a core while it starts: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());
/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program that is tested with, if there is one that may run here.
fn program() -> Option<PathBuf> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOUND.get_or_init(|| std::thread::spawn(look_for_program).join().unwrap()) {
        Ok(program) => Some(program.clone()),
        Err(why) => {
            skip(why);
            None
        }
    }
}

/// Finds the program, and whether it can have a sandbox here.
fn look_for_program() -> Result<PathBuf, String> {
    let named = std::env::var_os("BROWSER_PROGRAM").map(PathBuf::from);
    let program = find(named.as_deref()).ok_or("Chromium is not installed")?.path;
    if in_ci() {
        // a test without a sandbox fails by itself there: no second start of a browser for each
        return Ok(program);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(async {
        let browsers = Browsers::new(BrowserOptions { program: Some(program.clone()), ..BrowserOptions::default() });
        let web = Web::of(&[("http://site.example/", network::Answer::html("<p>x"))]);
        let result = browsers.render("http://site.example/", "test", &options(), web).await;
        browsers.close().await;
        result
    });
    match result {
        Err(failure @ RenderFailure::Unsandboxed(_)) => Err(failure.to_string()),
        _ => Ok(program),
    }
}

/// Browsers that are started for a page.
const STARTS_MAX: usize = 3;

/// Browsers for one test.
struct Test {
    browsers: Browsers,
    _alone: MutexGuard<'static, ()>,
}

impl Test {
    async fn start() -> Option<Test> {
        Test::start_with(BrowserOptions::default()).await
    }

    async fn start_with(options: BrowserOptions) -> Option<Test> {
        let program = program()?;
        let alone = ALONE.lock().await;
        let browsers = Browsers::new(BrowserOptions { program: Some(program), ..options });
        Some(Test { browsers, _alone: alone })
    }

    async fn render(&self, web: &Arc<Web>, url: &str, options: &RenderOptions) -> Result<Rendered, RenderFailure> {
        let rendered = self.browsers.render(url, "test", options, web.clone());
        tokio::time::timeout(PATIENCE, rendered).await.unwrap_or_else(|_| panic!("{url} is never rendered"))
    }

    /// The page, for which a browser that crashes while it starts is started again, as executors do.
    async fn rendered(&self, web: &Arc<Web>, url: &str, options: &RenderOptions) -> Rendered {
        let mut result = self.render(web, url, options).await;
        for _ in 1..STARTS_MAX {
            if !matches!(result, Err(RenderFailure::Start(_))) {
                break;
            }
            result = self.render(web, url, options).await;
        }
        result.unwrap_or_else(|failure| panic!("{url}: {failure}\n{:#?}", web.asked()))
    }

    async fn close(self) {
        self.browsers.close().await;
    }
}

/// Options that wait shorter than usual: the network of a test answers at once.
fn options() -> RenderOptions {
    let quiet = Quiet { network: Duration::from_millis(300), dom: Duration::from_millis(150) };
    RenderOptions { quiet, ..RenderOptions::default() }
}

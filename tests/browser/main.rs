//! Pages in the real Chromium, by the way of the crawler: every request is answered by a network of the test.
//!
//! Where no Chromium is installed the tests say so and check nothing, except with `CI=true`. `BROWSER_PROGRAM` names
//! another program than the first one on `PATH`. A browser takes more than a core while it starts, so the tests run one
//! after the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod behaviours;
mod ends;
mod hostile;
mod leaks;
mod network;
mod pages;
mod processes;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crawler::browser::{BrowserOptions, Browsers, Quiet, RenderFailure, RenderOptions, Rendered, find};
use network::Web;
use tokio::sync::{Mutex, MutexGuard};

/// A browser takes more than a core while it starts: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());
/// What a test waits for at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program that is tested with, if there is one; else says why nothing is tested.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("BROWSER_PROGRAM").map(PathBuf::from);
    let found = find(named.as_deref()).map(|program| program.path);
    if found.is_none() {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!in_ci, "Chromium is not installed; with CI=false this test is skipped");
        println!("skipped: Chromium is not installed");
    }
    found
}

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

    async fn rendered(&self, web: &Arc<Web>, url: &str, options: &RenderOptions) -> Rendered {
        self.render(web, url, options).await.unwrap_or_else(|failure| panic!("{url}: {failure}\n{:#?}", web.asked()))
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

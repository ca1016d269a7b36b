//! The way of a page: open, load, wait until it is quiet, scroll, click, read, close.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{OPEN_MAX, Page, Stop};
use crate::browser::consent::selectors;
use crate::browser::process::Process;
use crate::browser::{Ended, Network, RenderFailure, RenderOptions, Rendered};

/// Time in which a banner comes that a quiet page does not show yet.
const BANNER_DELAY: Duration = Duration::from_millis(500);

/// Renders the page at `url` in `process`.
pub(in crate::browser) async fn render(
    process: &Arc<Process>,
    url: &str,
    options: &RenderOptions,
    network: Arc<dyn Network>,
) -> Result<Rendered, RenderFailure> {
    let begin = Instant::now();
    let usage = process.begin_page(options.memory_max).await;
    let opening = tokio::time::timeout(OPEN_MAX, Page::open(process, options, network)).await;
    let open = match opening {
        Ok(open) => open?,
        Err(_) => {
            // it stopped, or is far too busy: nothing that it has will become anything
            process.kill();
            return Err(RenderFailure::Crashed);
        }
    };
    let result = match navigate(&open.page, url).await {
        Ok(()) => Flow { page: &open.page, deadline: Instant::now() + options.deadline }.run().await,
        Err(failure) => Err(failure),
    };
    if matches!(result, Err(RenderFailure::Hung)) {
        process.retire();
    }
    process.look().await;
    open.close().await;
    process.look().await;
    let (cpu, peak_memory) = usage.taken();
    result.map(|rendered| Rendered { cpu, peak_memory, duration: begin.elapsed(), ..rendered })
}

/// Loads the main document. The answer to its request is there already, so this is the browser's time, not the page's.
async fn navigate(page: &Page, url: &str) -> Result<(), RenderFailure> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(RenderFailure::Document("its scheme is not the web's".to_owned()));
    }
    let session = page.state().session.clone();
    let until = Instant::now() + OPEN_MAX;
    let result = match page.call(&session, "Page.navigate", &json!({ "url": url }), until).await {
        Ok(result) => result,
        Err(Stop::Late) => return Err(RenderFailure::Document("it took too long".to_owned())),
        Err(Stop::Refused(why)) => return Err(RenderFailure::Document(why)),
        Err(stop) => return Err(stop.into()),
    };
    if result["isDownload"] == true {
        return Err(RenderFailure::Document("it is a download".to_owned()));
    }
    match (result["errorText"].as_str(), page.state().denied) {
        (Some(_), Some(denied)) => Err(RenderFailure::Document(format!("{denied:?}"))),
        (Some(error), None) => Err(RenderFailure::Document(error.to_owned())),
        (None, _) => Ok(()),
    }
}

/// Reasons for which a step ended before the next one.
enum Break {
    /// The page is taken as it is.
    Ended(Ended),
    Failed(RenderFailure),
}

impl From<Stop> for Break {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Late => Break::Ended(Ended::Deadline),
            stop => Break::Failed(stop.into()),
        }
    }
}

/// The course of a page's rendering, until its time is over.
pub(super) struct Flow<'a> {
    pub page: &'a Page,
    pub deadline: Instant,
}

impl Flow<'_> {
    async fn run(&self) -> Result<Rendered, RenderFailure> {
        let ended = match self.behave().await {
            Ok(()) => Ended::Quiet,
            Err(Break::Ended(ended)) => ended,
            Err(Break::Failed(failure)) => return Err(failure),
        };
        // what comes from here on would be in no DOM
        self.page.state().is_closed = true;
        let harvest = self.harvest().await?;
        let mut rendered = Rendered {
            dom: harvest.dom,
            dom_cut: harvest.dom_cut,
            url: harvest.url,
            links: harvest.links,
            text_length: harvest.text_length,
            ended,
            ..Rendered::default()
        };
        if let Some(screenshot) = self.page.options.screenshot {
            rendered.screenshot = self.picture(self.screenshot(screenshot).await)?;
        }
        if self.page.options.pdf {
            rendered.pdf = self.picture(self.pdf().await)?;
        }
        rendered.refused = std::mem::take(&mut self.page.state().refused);
        Ok(rendered)
    }

    /// A page without its picture is still a page.
    fn picture(&self, picture: Result<Vec<u8>, Stop>) -> Result<Option<Vec<u8>>, RenderFailure> {
        match picture {
            Ok(picture) => Ok(Some(picture)),
            Err(Stop::Failed(failure)) => Err(failure),
            Err(stop) => {
                tracing::debug!(?stop, "no picture of a page");
                Ok(None)
            }
        }
    }

    /// All that is done with the page before it is read.
    async fn behave(&self) -> Result<(), Break> {
        self.quiet().await?;
        self.consent().await?;
        if self.page.options.scrolls_max > 0 {
            self.scroll().await?;
        }
        let mut clicks = 0;
        for selector in &self.page.options.click {
            self.click(selector, &mut clicks).await?;
        }
        Ok(())
    }

    /// Waits until the page is quiet, and returns how often its DOM has changed.
    async fn quiet(&self) -> Result<u64, Break> {
        let quiet = self.page.options.quiet;
        loop {
            let changed = self.page.changed.notified();
            let (wait, requests, to_watch) = {
                let mut state = self.page.state();
                if let Some(failure) = &state.crash {
                    return Err(Break::Failed(failure.clone()));
                }
                if let Some(over) = state.over {
                    return Err(Break::Ended(over));
                }
                let until = state.network_changed + quiet.network;
                let to_watch = state.is_loaded && !state.is_watched;
                state.is_watched |= to_watch;
                (if state.is_loaded && state.open == 0 { until } else { self.deadline }, state.requests, to_watch)
            };
            if Instant::now() >= self.deadline {
                return Err(Break::Ended(Ended::Deadline));
            }
            if Instant::now() < wait {
                if to_watch {
                    // from here on changes of the DOM are counted, while the network is waited for; one that cannot
                    // answer now is asked later
                    let _ = self.evaluate("idle()", wait.min(self.deadline)).await;
                    continue;
                }
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(wait.min(self.deadline)) => {}
                    () = self.page.connection().ended() => return Err(Break::Failed(self.page.process.end())),
                }
                continue;
            }
            // a page that is busy answers when it is not, and what it did until then counts
            let idle = self.evaluate("idle()", self.deadline).await?;
            let is_same = {
                let state = self.page.state();
                state.requests == requests && state.open == 0
            };
            let time = Duration::from_secs_f64(idle["idle"].as_f64().unwrap_or_default().max(0.0) / 1e3);
            if is_same && time >= quiet.dom {
                return Ok(idle["changes"].as_u64().unwrap_or_default());
            }
            let pause = quiet.dom.saturating_sub(time).max(Duration::from_millis(10));
            tokio::time::sleep_until((Instant::now() + pause).min(self.deadline)).await;
        }
    }

    /// Clicks the button of a banner, if there is one that is known. Some are shown a moment after the page is quiet.
    async fn consent(&self) -> Result<(), Break> {
        let selectors = selectors(self.page.options.consent);
        if selectors.is_empty() {
            return Ok(());
        }
        let selectors = Value::from(selectors);
        for wait in [Duration::ZERO, BANNER_DELAY] {
            tokio::time::sleep_until((Instant::now() + wait).min(self.deadline)).await;
            if self.press(&selectors).await? == "clicked" {
                self.quiet().await?;
                break;
            }
        }
        Ok(())
    }

    /// Scrolls window by window to the end, and on while the page grows there.
    async fn scroll(&self) -> Result<(), Break> {
        let mut height = 0.0;
        for _ in 0..self.page.options.scrolls_max {
            let step = self.act("scroll()").await?;
            if step["end"] != true {
                continue;
            }
            self.quiet().await?;
            let now = step["height"].as_f64().unwrap_or_default();
            let after = self.act("scroll()").await?;
            let grown = after["height"].as_f64().unwrap_or_default();
            if after["end"] == true && grown <= now.max(height) {
                break;
            }
            height = now;
        }
        self.evaluate("top()", self.deadline).await?;
        self.quiet().await?;
        Ok(())
    }

    /// Clicks what `selector` finds, again and again, until it is gone or a click changes nothing.
    async fn click(&self, selector: &str, clicks: &mut u32) -> Result<(), Break> {
        let selector = Value::from(selector);
        while *clicks < self.page.options.clicks_max {
            let before = (self.quiet().await?, self.page.state().requests);
            match self.press(&selector).await?.as_str() {
                Some("clicked") => *clicks += 1,
                Some("invalid") => {
                    tracing::warn!(%selector, "a selector of what is to be clicked is none");
                    return Ok(());
                }
                _ => return Ok(()),
            }
            if (self.quiet().await?, self.page.state().requests) == before {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does something to the page that it may answer with requests. They are announced a moment later, so the page is
    /// not quiet before the time for that is over.
    async fn act(&self, expression: &str) -> Result<Value, Stop> {
        let done = self.evaluate(expression, self.deadline).await?;
        self.page.state().network_changed = Instant::now();
        Ok(done)
    }

    /// Clicks the first element of `selectors` that can be seen, and returns whether there was one. What the page does
    /// at once is done by then.
    async fn press(&self, selectors: &Value) -> Result<Value, Stop> {
        let pressed = self.act(&format!("click({selectors})")).await?;
        if pressed == "clicked" {
            self.evaluate("drawn()", self.deadline).await?;
        }
        Ok(pressed)
    }
}

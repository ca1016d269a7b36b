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
    let result = open.page.run(url, begin + options.deadline).await;
    if matches!(result, Err(RenderFailure::Hung)) {
        process.retire();
    }
    process.look().await;
    open.close().await;
    process.look().await;
    let (cpu, peak_memory) = usage.taken();
    result.map(|rendered| Rendered { cpu, peak_memory, duration: begin.elapsed(), ..rendered })
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

impl Page {
    async fn run(&self, url: &str, deadline: Instant) -> Result<Rendered, RenderFailure> {
        self.navigate(url, deadline).await?;
        let ended = match self.behave(deadline).await {
            Ok(()) => Ended::Quiet,
            Err(Break::Ended(ended)) => ended,
            Err(Break::Failed(failure)) => return Err(failure),
        };
        // what comes from here on would be in no DOM
        self.state().is_closed = true;
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
        if let Some(screenshot) = self.options.screenshot {
            rendered.screenshot = self.picture(self.screenshot(screenshot).await)?;
        }
        if self.options.pdf {
            rendered.pdf = self.picture(self.pdf().await)?;
        }
        rendered.refused = std::mem::take(&mut self.state().refused);
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

    /// Loads the main document.
    async fn navigate(&self, url: &str, deadline: Instant) -> Result<(), RenderFailure> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(RenderFailure::Document("its scheme is not the web's".to_owned()));
        }
        let session = self.state().session.clone();
        let result = match self.call(&session, "Page.navigate", &json!({ "url": url }), deadline).await {
            Ok(result) => result,
            Err(Stop::Late) => return Err(RenderFailure::Document("it took too long".to_owned())),
            Err(Stop::Refused(why)) => return Err(RenderFailure::Document(why)),
            Err(stop) => return Err(stop.into()),
        };
        if result["isDownload"] == true {
            return Err(RenderFailure::Document("it is a download".to_owned()));
        }
        match (result["errorText"].as_str(), self.state().denied) {
            (Some(_), Some(denied)) => Err(RenderFailure::Document(format!("{denied:?}"))),
            (Some(error), None) => Err(RenderFailure::Document(error.to_owned())),
            (None, _) => Ok(()),
        }
    }

    /// All that is done with the page before it is read.
    async fn behave(&self, deadline: Instant) -> Result<(), Break> {
        self.quiet(deadline).await?;
        self.consent(deadline).await?;
        if self.options.scrolls_max > 0 {
            self.scroll(deadline).await?;
        }
        let mut clicks = 0;
        for selector in &self.options.click {
            self.click(selector, &mut clicks, deadline).await?;
        }
        Ok(())
    }

    /// Waits until the page is quiet, and returns how often its DOM has changed.
    async fn quiet(&self, deadline: Instant) -> Result<u64, Break> {
        let quiet = self.options.quiet;
        loop {
            let changed = self.changed.notified();
            let (wait, requests, to_watch) = {
                let mut state = self.state();
                if let Some(failure) = &state.crash {
                    return Err(Break::Failed(failure.clone()));
                }
                if let Some(over) = state.over {
                    return Err(Break::Ended(over));
                }
                let until = state.network_changed + quiet.network;
                let to_watch = state.is_loaded && !state.is_watched;
                state.is_watched |= to_watch;
                (if state.is_loaded && state.open == 0 { until } else { deadline }, state.requests, to_watch)
            };
            if Instant::now() >= deadline {
                return Err(Break::Ended(Ended::Deadline));
            }
            if Instant::now() < wait {
                if to_watch {
                    // from here on changes of the DOM are counted, while the network is waited for; one that cannot
                    // answer now is asked later
                    let _ = self.evaluate("idle()", wait.min(deadline)).await;
                    continue;
                }
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(wait.min(deadline)) => {}
                    () = self.connection().ended() => return Err(Break::Failed(self.process.end())),
                }
                continue;
            }
            // a page that is busy answers when it is not, and what it did until then counts
            let idle = self.evaluate("idle()", deadline).await?;
            let is_same = {
                let state = self.state();
                state.requests == requests && state.open == 0
            };
            let time = Duration::from_secs_f64(idle["idle"].as_f64().unwrap_or_default().max(0.0) / 1e3);
            if is_same && time >= quiet.dom {
                return Ok(idle["changes"].as_u64().unwrap_or_default());
            }
            let pause = quiet.dom.saturating_sub(time).max(Duration::from_millis(10));
            tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
        }
    }

    /// Clicks the button of a banner, if there is one that is known. Some are shown a moment after the page is quiet.
    async fn consent(&self, deadline: Instant) -> Result<(), Break> {
        let selectors = selectors(self.options.consent);
        if selectors.is_empty() {
            return Ok(());
        }
        let selectors = Value::from(selectors);
        for wait in [Duration::ZERO, BANNER_DELAY] {
            tokio::time::sleep_until((Instant::now() + wait).min(deadline)).await;
            if self.press(&selectors, deadline).await? == "clicked" {
                self.quiet(deadline).await?;
                break;
            }
        }
        Ok(())
    }

    /// Scrolls window by window to the end, and on while the page grows there.
    async fn scroll(&self, deadline: Instant) -> Result<(), Break> {
        let mut height = 0.0;
        for _ in 0..self.options.scrolls_max {
            let step = self.act("scroll()", deadline).await?;
            if step["end"] != true {
                continue;
            }
            self.quiet(deadline).await?;
            let now = step["height"].as_f64().unwrap_or_default();
            let after = self.act("scroll()", deadline).await?;
            let grown = after["height"].as_f64().unwrap_or_default();
            if after["end"] == true && grown <= now.max(height) {
                break;
            }
            height = now;
        }
        self.evaluate("top()", deadline).await?;
        self.quiet(deadline).await?;
        Ok(())
    }

    /// Clicks what `selector` finds, again and again, until it is gone or a click changes nothing.
    async fn click(&self, selector: &str, clicks: &mut u32, deadline: Instant) -> Result<(), Break> {
        let selector = Value::from(selector);
        while *clicks < self.options.clicks_max {
            let before = (self.quiet(deadline).await?, self.state().requests);
            match self.press(&selector, deadline).await?.as_str() {
                Some("clicked") => *clicks += 1,
                Some("invalid") => {
                    tracing::warn!(%selector, "a selector of what is to be clicked is none");
                    return Ok(());
                }
                _ => return Ok(()),
            }
            if (self.quiet(deadline).await?, self.state().requests) == before {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does something to the page that it may answer with requests. They are announced a moment later, so the page is
    /// not quiet before the time for that is over.
    async fn act(&self, expression: &str, deadline: Instant) -> Result<Value, Stop> {
        let done = self.evaluate(expression, deadline).await?;
        self.state().network_changed = Instant::now();
        Ok(done)
    }

    /// Clicks the first element of `selectors` that can be seen, and returns whether there was one. What the page does
    /// at once is done by then.
    async fn press(&self, selectors: &Value, deadline: Instant) -> Result<Value, Stop> {
        let pressed = self.act(&format!("click({selectors})"), deadline).await?;
        if pressed == "clicked" {
            self.evaluate("drawn()", deadline).await?;
        }
        Ok(pressed)
    }
}

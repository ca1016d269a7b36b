//! Reading of a page by a script in its own world (`page.js`).

use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::flow::Flow;
use super::{Stop, text};
use crate::browser::{PictureFormat, RenderFailure, Screenshot};

const SCRIPT: &str = include_str!("page.js");
/// The name of that world.
const WORLD: &str = "crawler";
/// Time for a page to answer when its own is over, before and after its scripts were ended, and for one that goes
/// elsewhere whenever it is asked.
const GRACE: Duration = Duration::from_secs(10);
/// Time until a page is asked again that went elsewhere when it was asked.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Time for a picture or a PDF.
const PICTURE_MAX: Duration = Duration::from_secs(20);
/// Pixels of the highest picture; browsers draw no higher one in one piece.
const HEIGHT_MAX: f64 = 16_384.0;
/// Frames whose links are read, and the time for that.
const FRAMES_MAX: usize = 100;
const FRAMES_TIME_MAX: Duration = Duration::from_secs(5);

/// Results read from a page at its end.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    pub dom: String,
    pub dom_cut: bool,
    pub url: String,
    pub links: Vec<String>,
    pub text_length: usize,
}

impl Flow<'_> {
    /// The value of `expression` in the main frame.
    pub(super) async fn evaluate(&self, expression: &str, until: Instant) -> Result<Value, Stop> {
        let (session, target) = {
            let state = self.page.state();
            (state.session.clone(), state.target.clone())
        };
        let give_up = (Instant::now() + GRACE).min(until);
        loop {
            let result = self.evaluate_in(&session, &target, expression, until).await;
            // a page that goes elsewhere meanwhile takes its worlds along, and may do so again and again
            if !matches!(result, Err(Stop::Refused(_))) || Instant::now() >= give_up {
                return result;
            }
            tokio::time::sleep_until((Instant::now() + RETRY_PAUSE).min(give_up)).await;
        }
    }

    async fn evaluate_in(&self, session: &str, frame: &str, expression: &str, until: Instant) -> Result<Value, Stop> {
        let world = json!({ "frameId": frame, "worldName": WORLD });
        let world = self.page.call(session, "Page.createIsolatedWorld", &world, until).await?;
        let evaluate = json!({
            "expression": format!("{SCRIPT}\ncrawler.{expression}"),
            "contextId": world["executionContextId"],
            "returnByValue": true,
            "awaitPromise": true,
        });
        let mut result = self.page.call(session, "Runtime.evaluate", &evaluate, until).await?;
        match result["exceptionDetails"].is_null() {
            true => Ok(result["result"]["value"].take()),
            false => Err(Stop::Threw(result["exceptionDetails"].to_string())),
        }
    }

    /// Reads the page. One that hangs, or goes elsewhere whenever it is asked, has its scripts ended and starts none.
    pub(super) async fn harvest(&self) -> Result<Harvest, RenderFailure> {
        let (dom_max, links_max) = (self.page.options.dom_max, self.page.options.links_max);
        let expression = format!("harvest({dom_max}, {links_max})");
        let mut value = match self.evaluate(&expression, Instant::now() + GRACE).await {
            Err(Stop::Late | Stop::Refused(_)) => {
                let session = self.page.state().session.clone();
                self.page.connection().send(
                    &session,
                    "Emulation.setScriptExecutionDisabled",
                    &json!({ "value": true }),
                );
                self.page.connection().send(&session, "Runtime.terminateExecution", &json!({}));
                self.evaluate(&expression, Instant::now() + GRACE).await?
            }
            result => result?,
        };
        let Value::String(mut dom) = value["dom"].take() else {
            return Err(RenderFailure::Protocol("the page has no DOM".to_owned()));
        };
        let dom_cut = dom.len() > dom_max;
        dom.truncate(dom.floor_char_boundary(dom_max));
        let mut harvest = Harvest {
            dom,
            dom_cut,
            url: text(&value["url"]),
            links: strings(&value["links"]),
            text_length: value["text"].as_u64().unwrap_or_default() as usize,
        };
        let _ = tokio::time::timeout(FRAMES_TIME_MAX, self.links_of_frames(&mut harvest.links)).await;
        Ok(harvest)
    }

    /// Adds links of frames. One that does not answer has none, nor those behind it.
    async fn links_of_frames(&self, links: &mut Vec<String>) {
        let until = Instant::now() + FRAMES_TIME_MAX;
        let (own, frames) = {
            let state = self.page.state();
            ((state.session.clone(), state.target.clone()), state.frames.clone())
        };
        let mut seen: std::collections::HashSet<String> = links.iter().cloned().collect();
        let mut read = 0;
        for (session, target) in std::iter::once(&own).chain(&frames) {
            let Ok(tree) = self.page.call(session, "Page.getFrameTree", &json!({}), until).await else { continue };
            for frame in frames_of(&tree["frameTree"]) {
                let left = self.page.options.links_max.saturating_sub(links.len());
                if read == FRAMES_MAX || left == 0 {
                    return;
                }
                if session == &own.0 && frame == own.1 {
                    continue;
                }
                read += 1;
                tracing::trace!(target, frame, "links of a frame");
                if let Ok(found) = self.evaluate_in(session, &frame, &format!("links({left})"), until).await {
                    links.extend(strings(&found).into_iter().filter(|url| seen.insert(url.clone())).take(left));
                }
            }
        }
    }

    /// A picture of the page.
    pub(super) async fn screenshot(&self, screenshot: Screenshot) -> Result<Vec<u8>, Stop> {
        let (session, until) = (self.page.state().session.clone(), Instant::now() + PICTURE_MAX);
        let format = match screenshot.format {
            PictureFormat::Png => "png",
            PictureFormat::Webp => "webp",
        };
        let mut capture = json!({ "format": format });
        if screenshot.is_full {
            let metrics = self.page.call(&session, "Page.getLayoutMetrics", &json!({}), until).await?;
            let size = |name: &str| metrics["cssContentSize"][name].as_f64().unwrap_or(1.0).clamp(1.0, HEIGHT_MAX);
            let (width, height) = (size("width"), size("height"));
            capture["clip"] = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
            capture["captureBeyondViewport"] = true.into();
        }
        decoded(&self.page.call(&session, "Page.captureScreenshot", &capture, until).await?)
    }

    /// The page as PDF.
    pub(super) async fn pdf(&self) -> Result<Vec<u8>, Stop> {
        let (session, until) = (self.page.state().session.clone(), Instant::now() + PICTURE_MAX);
        let print = json!({ "printBackground": true, "preferCSSPageSize": true });
        decoded(&self.page.call(&session, "Page.printToPDF", &print, until).await?)
    }
}

/// The identities of a frame and those in it.
fn frames_of(tree: &Value) -> Vec<String> {
    let mut frames = vec![text(&tree["frame"]["id"])];
    for child in tree["childFrames"].as_array().into_iter().flatten() {
        frames.extend(frames_of(child));
    }
    frames
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

fn decoded(result: &Value) -> Result<Vec<u8>, Stop> {
    let data = result["data"].as_str().unwrap_or_default();
    BASE64.decode(data.as_bytes()).map_err(|error| Stop::Refused(error.to_string()))
}

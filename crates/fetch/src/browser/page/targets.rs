//! Targets that a page brings up besides itself: frames with their own processes, workers, windows.
//!
//! Each comes paused, before it has run or asked for anything. Frames and workers are set up as the page is and let go;
//! workers beyond a number never run; windows are closed; service workers get nobody who answers them, so that their
//! registration fails and nothing outlives the page.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{OPEN_MAX, Page, Stop, text};
use crate::browser::protocol::{attach, every_request};
use crate::browser::{RefusedKind, RenderFailure};

/// Workers that a page may have in its life.
const WORKERS_MAX: u32 = 32;
/// Frames with their own processes that are set up; others stay empty.
const FRAMES_MAX: usize = 50;

impl Page {
    /// A target of the page's context is there.
    pub(super) fn attached(&self, parent: &str, params: &Value) {
        let info = &params["targetInfo"];
        let (child, target, url) = (text(&params["sessionId"]), text(&info["targetId"]), text(&info["url"]));
        let connection = self.connection();
        match info["type"].as_str().unwrap_or_default() {
            "page" => {
                let mut state = self.state();
                if state.target.is_empty() {
                    (state.target, state.session) = (target, child);
                } else if state.target != target {
                    state.popups += 1;
                    state.refuse(RefusedKind::Popup, &url);
                    connection.send("", "Target.closeTarget", &json!({ "targetId": target }));
                }
            }
            "iframe" => {
                let has_place = {
                    let mut state = self.state();
                    state.frames.push((child.clone(), target));
                    state.frames.len() <= FRAMES_MAX
                };
                if has_place {
                    self.set_up_child(&child, &["Fetch", "Network", "Page"]);
                }
            }
            kind @ ("worker" | "shared_worker") => {
                let has_place = {
                    let mut state = self.state();
                    state.workers += 1;
                    state.workers <= WORKERS_MAX
                };
                match has_place {
                    // requests of a worker belong to the page that has it; a shared one has its own
                    true if kind == "worker" => self.set_up_child(&child, &["Network"]),
                    true => self.set_up_child(&child, &["Fetch", "Network"]),
                    false => self.refuse(RefusedKind::Worker, &url),
                }
            }
            kind => {
                if kind == "service_worker" {
                    self.refuse(RefusedKind::ServiceWorker, &url);
                }
                connection.send(parent, "Target.detachFromTarget", &json!({ "sessionId": child }));
            }
        }
    }

    pub(super) fn detached(&self, params: &Value) {
        let child = params["sessionId"].as_str().unwrap_or_default();
        let mut state = self.state();
        state.frames.retain(|(session, _)| session != child);
        if child == state.session && !state.is_closed {
            state.crash.get_or_insert(RenderFailure::Crashed);
        }
    }

    /// A process of the page is gone: its own, or a frame's.
    pub(super) fn crashed(&self, is_own: bool) {
        // a frame that crashed is only empty
        if is_own {
            self.state().crash.get_or_insert_with(|| self.process.killed_for().unwrap_or(RenderFailure::Crashed));
        }
    }

    /// Gives the page what it must have before it loads anything.
    pub(super) async fn set_up(&self) -> Result<(), RenderFailure> {
        let (session, options) = (self.state().session.clone(), &self.options);
        let connection = self.connection();
        self.enable(&session, &["Page", "Network"]);
        connection.send(&session, "Network.setBypassServiceWorker", &json!({ "bypass": true }));
        connection.send(&session, "Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        let (width, height) = (options.viewport.width, options.viewport.height);
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        connection.send(&session, "Emulation.setDeviceMetricsOverride", &size);
        connection.send(&session, "Page.setInterceptFileChooserDialog", &json!({ "enabled": true }));
        self.call_or_fail(&session, "Fetch.enable", &every_request()).await?;
        self.call_or_fail(&session, "Target.setAutoAttach", &attach()).await?;
        self.call_or_fail(&session, "Runtime.runIfWaitingForDebugger", &json!({})).await
    }

    async fn call_or_fail(&self, session: &str, method: &str, params: &Value) -> Result<(), RenderFailure> {
        match self.call(session, method, params, Instant::now() + OPEN_MAX).await {
            Ok(_) => Ok(()),
            Err(Stop::Late) => Err(RenderFailure::Crashed),
            Err(stop) => Err(stop.into()),
        }
    }

    fn set_up_child(&self, session: &str, domains: &[&str]) {
        self.enable(session, domains);
        self.connection().send(session, "Target.setAutoAttach", &attach());
        self.connection().send(session, "Runtime.runIfWaitingForDebugger", &json!({}));
    }

    fn enable(&self, session: &str, domains: &[&str]) {
        for domain in domains {
            let parameters = match *domain {
                "Fetch" => every_request(),
                // bodies are ours already
                "Network" => json!({ "maxTotalBufferSize": 0, "maxResourceBufferSize": 0 }),
                _ => json!({}),
            };
            self.connection().send(session, &format!("{domain}.enable"), &parameters);
        }
        let (agent, language) = (&self.options.user_agent, &self.options.accept_language);
        if !agent.is_empty() || !language.is_empty() {
            let mut identity = json!({ "userAgent": if agent.is_empty() { &self.process.user_agent } else { agent } });
            if !language.is_empty() {
                identity["acceptLanguage"] = language.as_str().into();
            }
            self.connection().send(session, "Network.setUserAgentOverride", &identity);
        }
    }
}

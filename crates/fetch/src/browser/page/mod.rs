//! One page in its own browser context, from the first call to the last.
//!
//! Events come in the reader's task ([`Listener`]) and are dealt with at once: requests go to the [`Network`], dialogs
//! are dismissed, new targets are let in or sent away. The flow of a render ([`flow`]) only calls, looks at the
//! [`State`] and waits. What a page may not have is refused here, whatever way it takes.

mod flow;
mod read;
mod requests;
mod state;
mod targets;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::process::Process;
use super::protocol::{CallError, Connection, Event, Listener};
use super::{Network, RefusedKind, RenderFailure, RenderOptions};
pub(super) use flow::render;
use state::State;

/// Time for a browser to open a page, for the page to come, and for the browser to close it; one that takes longer is
/// given up.
const OPEN_MAX: Duration = Duration::from_secs(20);
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// An open page.
struct Page {
    process: Arc<Process>,
    context: String,
    network: Arc<dyn Network>,
    options: RenderOptions,
    state: Mutex<State>,
    /// Something changed in the state.
    changed: Notify,
}

impl Page {
    /// Opens an empty page in a new context, with nothing in it that came before.
    async fn open(
        process: &Arc<Process>,
        options: &RenderOptions,
        network: Arc<dyn Network>,
    ) -> Result<Open, RenderFailure> {
        let connection = &process.connection;
        let context = connection.call("", "Target.createBrowserContext", &json!({ "disposeOnDetach": true })).await?;
        let context = text(&context["browserContextId"]);
        let page = Arc::new(Page {
            process: process.clone(),
            context: context.clone(),
            network,
            options: options.clone(),
            state: Mutex::default(),
            changed: Notify::new(),
        });
        let listener: Arc<dyn Listener> = page.clone();
        connection.listen_to_context(&context, &listener);
        // from here on it is closed whatever happens
        let open = Open { page };
        let denied = json!({ "behavior": "deny", "browserContextId": context, "eventsEnabled": true });
        connection.send("", "Browser.setDownloadBehavior", &denied);
        let permissions = json!({ "permissions": [], "browserContextId": context });
        connection.send("", "Browser.grantPermissions", &permissions);
        let target = json!({ "url": "about:blank", "browserContextId": context });
        connection.call("", "Target.createTarget", &target).await?;
        loop {
            let changed = open.page.changed.notified();
            if !open.page.state().session.is_empty() {
                break;
            }
            tokio::select! {
                () = changed => {}
                () = connection.ended() => return Err(process.end()),
            }
        }
        open.page.set_up().await?;
        Ok(open)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> &Connection {
        &self.process.connection
    }

    fn refuse(&self, what: RefusedKind, url: &str) {
        self.state().refuse(what, url);
    }

    /// Calls a method of a session until `until`; ends as soon as the page has crashed.
    async fn call(&self, session: &str, method: &str, params: &Value, until: Instant) -> Result<Value, Stop> {
        let call = self.connection().call(session, method, params);
        let crash = async {
            loop {
                let changed = self.changed.notified();
                if let Some(failure) = self.state().crash.clone() {
                    // for the others that wait
                    self.changed.notify_one();
                    return failure;
                }
                changed.await;
            }
        };
        tokio::select! {
            biased;
            result = call => result.map_err(|error| self.stop(error)),
            failure = crash => Err(Stop::Failed(failure)),
            () = tokio::time::sleep_until(until) => Err(Stop::Late),
        }
    }

    fn stop(&self, error: CallError) -> Stop {
        if let Some(failure) = self.state().crash.clone() {
            return Stop::Failed(failure);
        }
        match error {
            CallError::Ended => Stop::Failed(self.process.end()),
            CallError::Refused(why) => Stop::Refused(why),
        }
    }
}

impl Listener for Page {
    fn hear(self: Arc<Self>, event: Event) {
        let Event { session, method, params } = event;
        let is_own = self.state().session == session;
        match method.as_str() {
            "Fetch.requestPaused" => self.paused(&session, &params),
            "Target.attachedToTarget" => self.attached(&session, &params),
            "Target.detachedFromTarget" => self.detached(&params),
            // a page says this before the browser pauses the request
            "Network.requestWillBeSent" => self.state().network_changed = Instant::now(),
            "Page.loadEventFired" if is_own => self.state().is_loaded = true,
            "Page.frameNavigated" if is_own && params["frame"]["parentId"].is_null() => {
                let mut state = self.state();
                (state.is_loaded, state.is_watched) = (false, false);
            }
            "Page.javascriptDialogOpening" => {
                self.refuse(RefusedKind::Dialog, params["url"].as_str().unwrap_or_default());
                // who wants to leave may
                let answer = json!({ "accept": params["type"] == "beforeunload" });
                self.connection().send(&session, "Page.handleJavaScriptDialog", &answer);
            }
            "Page.downloadWillBegin" => {
                self.refuse(RefusedKind::Download, params["url"].as_str().unwrap_or_default());
            }
            "Network.webSocketCreated" => {
                self.refuse(RefusedKind::WebSocket, params["url"].as_str().unwrap_or_default());
            }
            "Network.webTransportCreated" => {
                self.refuse(RefusedKind::WebTransport, params["url"].as_str().unwrap_or_default());
            }
            "Inspector.targetCrashed" => self.crashed(is_own),
            _ => return,
        }
        self.changed.notify_one();
    }
}

/// An open page, which is closed when this is dropped.
struct Open {
    page: Arc<Page>,
}

impl Open {
    /// Closes the page and waits for it. A browser that does not manage is replaced.
    async fn close(self) {
        let page = self.page.clone();
        page.state().is_closed = true;
        let dispose = json!({ "browserContextId": page.context });
        let disposed = page.connection().call("", "Target.disposeBrowserContext", &dispose);
        let is_closed = tokio::time::timeout(CLOSE_MAX, disposed).await.is_ok_and(|result| result.is_ok());
        if !is_closed {
            page.process.retire();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let page = &self.page;
        page.state().is_closed = true;
        page.connection().send("", "Target.disposeBrowserContext", &json!({ "browserContextId": page.context }));
        page.connection().forget_context(&page.context);
    }
}

/// Reasons for which a call of a page has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// Its time is over.
    Late,
    /// The browser refused, with its words.
    Refused(String),
    /// Our script in the page threw an exception.
    Threw(String),
    /// There is no page any more.
    Failed(RenderFailure),
}

impl From<Stop> for RenderFailure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Late => RenderFailure::Hung,
            Stop::Refused(why) | Stop::Threw(why) => RenderFailure::Protocol(why),
            Stop::Failed(failure) => failure,
        }
    }
}

impl From<CallError> for RenderFailure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Ended => RenderFailure::Crashed,
            CallError::Refused(why) => RenderFailure::Protocol(why),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

//! A headless Chromium that tests drive, over the two pipes of its own protocol: no server, no socket, no library.
//!
//! Messages are JSON, each ended by a zero byte. What the page and its frames say beside the answers is kept: problems
//! on the console, exceptions, and every request. A machine without Chromium skips these tests; one with `CI=true` does
//! not.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::site::PATIENCE;
use crate::tools::skip;

/// Names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// It calls nobody but the page, and shows nothing of its own.
const OPTIONS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--js-flags=--expose-gc",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost",
];
/// A request that a policy holds back is reported as such within this time.
const BLOCKED_MAX: Duration = Duration::from_secs(10);
/// A browser takes more than a core while it starts: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    calls: u64,
    session: String,
    pub messages: PageMessages,
    _alone: MutexGuard<'static, ()>,
    _profile: tempfile::TempDir,
}

/// Messages that came besides the answers.
#[derive(Debug, Default)]
pub struct PageMessages {
    /// Errors and warnings on the page's console, and exceptions.
    pub problems: Vec<String>,
    /// The same of frames in it.
    pub frame_problems: Vec<String>,
    /// Requests of page and frames that no policy of theirs held back: their ids and URLs.
    pub requests: Vec<(String, String)>,
    /// Sessions of frames that are there.
    pub frames: Vec<String>,
}

/// Starts a browser, if one is installed.
pub fn start() -> Option<Browser> {
    start_with(&[])
}

/// The same with more options.
pub fn start_with(options: &[&str]) -> Option<Browser> {
    let found = NAMES.into_iter().find(|name| {
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).exists()))
    });
    match found {
        Some(name) => Some(Browser::start(name, options)),
        None => {
            skip("Chromium is not installed");
            None
        }
    }
}

impl Browser {
    fn start(name: &str, options: &[&str]) -> Browser {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        // the browser reads from 3 and writes to 4: the shell puts the pipes there and becomes the browser
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh", name]).args(OPTIONS).args(options);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (messages, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0) {
                let message = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                if message.is_none_or(|message: Value| messages.send(message).is_err()) {
                    return;
                }
            }
        });
        let (session, messages) = (String::new(), PageMessages::default());
        let mut browser = Browser { child, to, from, calls: 0, session, messages, _alone: alone, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", &attached)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        let frames = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        browser.call("Target.setAutoAttach", &frames);
        browser
    }

    /// Calls a method of the protocol for the page, and gives its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let session = self.session.clone();
        self.try_call(method, parameters, &session).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same for any session.
    pub fn try_call(&mut self, method: &str, parameters: &Value, session: &str) -> Result<Value, String> {
        let id = self.send(method, parameters, session);
        let start = Instant::now();
        loop {
            let Some(left) = PATIENCE.checked_sub(start.elapsed()) else { return Err("no answer".to_owned()) };
            let mut message = self.from.recv_timeout(left).map_err(|error| error.to_string())?;
            if message["id"].as_u64() != Some(id) {
                self.hear(&message);
            } else if message["error"].is_object() {
                return Err(message["error"].to_string());
            } else {
                return Ok(message["result"].take());
            }
        }
    }

    /// The session of the page.
    pub fn session(&self) -> &str {
        &self.session
    }

    fn send(&mut self, method: &str, parameters: &Value, session: &str) -> u64 {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        self.calls
    }

    /// Keeps what an event tells.
    fn hear(&mut self, message: &Value) {
        let (method, told) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let session = message["sessionId"].as_str().unwrap_or_default();
        let problem = match method {
            "Network.requestWillBeSent" | "Network.webSocketCreated" => {
                let url = told["request"]["url"].as_str().or(told["url"].as_str()).unwrap().to_owned();
                self.messages.requests.push((told["requestId"].as_str().unwrap().to_owned(), url));
                return;
            }
            "Network.loadingFailed" if told["blockedReason"] == "csp" => {
                self.messages.requests.retain(|(id, _)| told["requestId"].as_str() != Some(id));
                return;
            }
            "Target.attachedToTarget" => {
                let frame = told["sessionId"].as_str().unwrap().to_owned();
                for domain in ["Network", "Log", "Runtime"] {
                    self.send(&format!("{domain}.enable"), &json!({}), &frame);
                }
                let inner = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
                self.send("Target.setAutoAttach", &inner, &frame);
                self.send("Runtime.runIfWaitingForDebugger", &json!({}), &frame);
                // the first one is the page itself; frames in frames have these as their parents
                let is_frame = told["targetInfo"]["type"] == "iframe" && session == self.session;
                if !self.session.is_empty() && frame != self.session && is_frame {
                    self.messages.frames.push(frame);
                }
                return;
            }
            "Target.detachedFromTarget" => {
                self.messages.frames.retain(|frame| told["sessionId"].as_str() != Some(frame));
                return;
            }
            "Log.entryAdded" if matches!(told["entry"]["level"].as_str(), Some("error" | "warning")) => {
                format!("{} {}", told["entry"]["text"], told["entry"]["url"])
            }
            "Runtime.exceptionThrown" => told["exceptionDetails"].to_string(),
            "Runtime.consoleAPICalled" if matches!(told["type"].as_str(), Some("error" | "warning" | "assert")) => {
                told["args"].to_string()
            }
            _ => return,
        };
        match session == self.session {
            true => self.messages.problems.push(problem),
            false => self.messages.frame_problems.push(problem),
        }
    }

    /// Opens a page; nothing of the one before it is left.
    pub fn open(&mut self, url: &str) {
        for url in ["about:blank", url] {
            let gone = self.call("Page.navigate", &json!({ "url": url }));
            assert!(gone["errorText"].is_null(), "{url}: {gone}");
        }
    }

    /// The value of an expression; a promise is waited for.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let mut got = self.call("Runtime.evaluate", &asked);
        assert!(got["exceptionDetails"].is_null(), "{expression}: {}", got["exceptionDetails"]);
        got["result"]["value"].take()
    }

    /// The value of an expression that is text.
    #[track_caller]
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        // what it looks at may not be there yet
        let asked = format!("(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()");
        let start = Instant::now();
        while self.value(&asked) != true {
            if start.elapsed() > PATIENCE {
                let page = self.text("document.body.innerText");
                panic!("never true: {expression}\n{:?}\n{page}", self.messages.problems);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key, as somebody does who has no mouse.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            " " => (32, Some(" ")),
            "End" => (35, None),
            "Home" => (36, None),
            "ArrowLeft" => (37, None),
            "ArrowUp" => (38, None),
            "ArrowRight" => (39, None),
            "ArrowDown" => (40, None),
            other => unreachable!("no key {other}"),
        };
        let mut down = json!({ "type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if let Some(text) = text {
            (down["type"], down["text"]) = ("keyDown".into(), text.into());
        }
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Types text into what has the focus.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Gives the page this size; a phone has twice as many pixels.
    pub fn resize(&mut self, (width, height): (u32, u32), is_phone: bool) {
        let scale = if is_phone { 2 } else { 1 };
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Prefers a colour scheme, and no motion, so that no figure is taken in the middle of one.
    pub fn prefer(&mut self, scheme: &str) {
        let features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")];
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Returns a picture of what is seen, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png", "optimizeForSpeed": false }));
        data_encoding::BASE64.decode(picture["data"].as_str().unwrap().as_bytes()).unwrap()
    }

    /// Fails if the page said anything on its console, or if anything but `origin` was asked for anything.
    #[track_caller]
    pub fn assert_quiet(&mut self, origin: &str) {
        // what came meanwhile is heard with the next answer
        self.value("0");
        assert!(self.messages.problems.is_empty(), "{:#?}", self.messages.problems);
        self.assert_alone(&[origin]);
    }

    /// Fails if anything but `origins` was asked for anything.
    #[track_caller]
    pub fn assert_alone(&mut self, origins: &[&str]) {
        let own = |url: &str| {
            let is_local = ["data:", "about:", "blob:"].iter().any(|scheme| url.starts_with(scheme));
            let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
            // a server of archived pages is at names of this machine, too
            let is_of = |origin: &&str| {
                let (_, port) = origin.rsplit_once(':').unwrap();
                url.starts_with(&format!("{origin}/")) || host.ends_with(&format!(".localhost:{port}"))
            };
            is_local || origins.iter().any(is_of)
        };
        let start = Instant::now();
        // that a request was held back is reported after the request
        loop {
            self.value("0");
            let foreign: Vec<_> = self.messages.requests.iter().filter(|(_, url)| !own(url)).collect();
            if foreign.is_empty() {
                return;
            }
            assert!(start.elapsed() < BLOCKED_MAX, "{foreign:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // its other processes end with the pipe
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

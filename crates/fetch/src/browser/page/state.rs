//! The state of an open page.

use std::collections::{HashMap, HashSet};

use tokio::time::Instant;

use crate::browser::{Denied, Ended, Refused, RefusedKind, RenderFailure};

/// Things that were refused which are kept, and bytes of the URL of each.
const REFUSED_MAX: usize = 100;
const REFUSED_URL_MAX: usize = 1_024;
/// Origins that frames of a page may be of, in all of its life. Each may have its own process: a browser keeps apart
/// what is of different sites, and we leave it at that.
const FRAME_ORIGINS_MAX: usize = 32;

/// It, from one event to the next.
#[derive(Debug)]
pub(super) struct State {
    /// The page's own target and session.
    pub target: String,
    pub session: String,
    /// Sessions and targets of frames that have their own process.
    pub frames: Vec<(String, String)>,
    /// Origins of documents that frames asked for.
    pub frame_origins: HashSet<String>,
    pub workers: u32,
    pub popups: u32,
    /// All requests, those among them that are open and count for quiet, and the bytes of all answers.
    pub requests: u32,
    pub open: u32,
    pub bytes: u64,
    /// Time at which the last request was announced, came or was answered, or the page had cause to make one.
    pub network_changed: Instant,
    /// URLs of the requests, by which the URLs that they redirect to find them.
    pub urls: HashMap<String, String>,
    /// Main documents that were asked for, redirects aside, and why the first one did not come.
    pub documents: u32,
    pub denied: Option<Denied>,
    pub is_loaded: bool,
    /// True if changes of the DOM are counted since it is loaded.
    pub is_watched: bool,
    /// A limit that was reached.
    pub over: Option<Ended>,
    pub crash: Option<RenderFailure>,
    pub refused: Vec<Refused>,
    /// Nothing is asked for it any more.
    pub is_closed: bool,
}

impl Default for State {
    fn default() -> Self {
        State {
            target: String::new(),
            session: String::new(),
            frames: Vec::new(),
            frame_origins: HashSet::new(),
            workers: 0,
            popups: 0,
            requests: 0,
            open: 0,
            bytes: 0,
            network_changed: Instant::now(),
            urls: HashMap::new(),
            documents: 0,
            denied: None,
            is_loaded: false,
            is_watched: false,
            over: None,
            crash: None,
            refused: Vec::new(),
            is_closed: false,
        }
    }
}

impl State {
    /// Returns whether a frame may load `url`, as far as the number of origins goes.
    pub(super) fn lets_frame_load(&mut self, url: &str) -> bool {
        let end = url.match_indices(['/', '?', '#']).map(|(at, _)| at).nth(2).unwrap_or(url.len());
        let origin = &url[..end];
        let has_room = self.frame_origins.len() < FRAME_ORIGINS_MAX;
        self.frame_origins.contains(origin) || has_room && self.frame_origins.insert(origin.to_owned())
    }

    /// Notes something that was refused, once.
    pub(super) fn refuse(&mut self, what: RefusedKind, url: &str) {
        let end = url.floor_char_boundary(REFUSED_URL_MAX);
        let refused = Refused { what, url: url[..end].to_owned() };
        if self.refused.len() < REFUSED_MAX && !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }
}

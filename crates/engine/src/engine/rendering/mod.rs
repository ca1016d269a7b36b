//! Pages that are rendered: by a browser that has no network but us.
//!
//! ```text
//!          FetchJob                Page (to render)                 RenderJob
//! engine ──────────► fetch, process ──────────────► engine ───────────────────────────► render executor
//!                                                      │ ◄──────────── Asked ───────────  the page asks for a URL
//!              FetchJob for it, or the reason why not  │ ───────────── answer ──────────► and gets it, or not
//!                                                      │ ◄── Page (rendered), at the end
//! ```
//! Whether a page is rendered is decided twice: before its request, by its site's mode and what is known of its pattern
//! ([`decide`]), and where it was processed, by what came. A page that is to be rendered is not stored yet. Its slot is
//! free and its host rests; its URL stays in flight ([`received`]), so that a cut has it. The job has the page's own
//! answer: the browser asks nobody for that.
//!
//! # What a page asks for
//!
//! Every request of the page comes here as an [`Ask`] and is judged like any URL ([`asks`]): http and https only, the
//! excluding rules of the scope, the budget of the page's domain, robots.txt, addresses. What is let through is a
//! *requisite* of the page: a request by the same executor, under the same guard, at its own pace
//! ([`RequisitePace`]). Its answer is archived as its own exchange when it comes, and handed to the page. One URL
//! is asked for once at a time, however many pages wait for it.
//!
//! # What holds over a crash
//!
//! - The answer of a rendered page and the page as it was then are one exchange: the archive has both, or none. So a
//!   replay finds the links of the page where the rendering found them, and renders nothing again that is whole.
//! - What a rendering asked for is in the archive before the page that asked.
//! - A page whose rendering was not over is in flight at every cut: after a kill it is fetched and rendered again. What
//!   it had asked for is in the archive then, twice at most, the second time as a revisit.
//!
//! What a rendering asked for is no URL of the crawl by that. Where a page embeds the same URL, and the scope takes it
//! in, that URL ends without a request when its turn comes: the archive has it.
//!
//! # What is bounded
//!
//! Renderings that are in progress or wait for a browser, with the bytes of their pages ([`Renderings::has_room`]):
//! beyond it no page is begun. Requests of one page ([`RenderSettings::requests_max`]); those of them that are not
//! answered, by the executor. None of it is in a checkpoint, but what was learnt of patterns is.
//!
//! # Failures
//!
//! A rendering that fails has no second try here (the executor may have had one, where the browser and not the page was
//! to blame): the page is stored as it came, with the reason in its metadata record and in crawl.log, and its links are
//! those that it shows without scripts. A crawl that stops or pauses puts back what it was rendering.
//!
//! [`received`]: crate::frontier::Frontier::received
//! [`RequisitePace`]: crate::frontier::RequisitePace
//! [`RenderSettings::requests_max`]: crate::engine::RenderSettings::requests_max

mod asks;
mod decide;
mod pages;
mod shape;

use std::collections::{BTreeMap, HashMap};

pub(super) use asks::Verdict as AskVerdict;
pub use decide::{RenderPatterns, Verdict as RenderVerdict};
pub(super) use pages::EndedPage;

use serde::{Deserialize, Serialize};

use crate::contract::{AskId, Processed};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, Provenance};
use crate::record::RenderFigures;

/// Pages that wait for a browser beside those that have one.
const WAITING_MAX: usize = 64;
/// Bytes of all of them.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// A rendering that is in progress, or waits for a browser.
#[derive(Debug)]
struct InProgress {
    host: HostId,
    /// The registrable domain of the page, which pays for what it asks for elsewhere.
    domain: Fingerprint,
    url: String,
    provenance: Provenance,
    worker: u32,
    bytes: usize,
    /// Requests so far, and those that are not answered.
    asked: u32,
    open: u32,
    /// The pattern that is judged by this page; `None` where none is.
    trial: Option<u64>,
    /// The origin of the page.
    origin: Fingerprint,
    /// True if something was refused to it for a reason that is none of the page's: then it is put back.
    is_given_up: bool,
}

/// All renderings.
#[derive(Debug, Default)]
pub(super) struct Renderings {
    pages: BTreeMap<u64, InProgress>,
    next: u64,
    bytes: usize,
    /// Patterns of which a page is being tried, and the pages that wait for what comes of that.
    trials: BTreeMap<u64, Vec<(u64, Box<Processed>)>>,
    /// URLs that are asked for, and who waits for each.
    wanted: HashMap<Fingerprint, Vec<AskId>>,
    pub patterns: RenderPatterns,
    pub figures: RenderFigures,
}

/// State of renderings in a checkpoint.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RenderState {
    /// Patterns, as they were learnt.
    pub patterns: RenderPatterns,
    /// Counts.
    pub figures: RenderFigures,
}

impl RenderState {
    /// Reads the state from the section of a checkpoint; `None` for other bytes.
    pub fn from_bytes(section: &[u8]) -> Option<RenderState> {
        if section.is_empty() { Some(RenderState::default()) } else { postcard::from_bytes(section).ok() }
    }
}

impl Renderings {
    /// The renderings of a crawl that goes on from `state`.
    pub(crate) fn new(state: RenderState) -> Renderings {
        let RenderState { patterns, figures } = state;
        Renderings { patterns, figures, ..Renderings::default() }
    }

    /// Encodes the state for a checkpoint; empty where nothing was ever rendered.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        if self.patterns.is_empty() && self.figures.are_none() {
            return Vec::new();
        }
        let state = RenderState { patterns: self.patterns.clone(), figures: self.figures };
        postcard::to_stdvec(&state).expect("what was learnt consists of plain data")
    }

    /// The figures of this moment; none where nothing was ever rendered.
    pub(crate) fn figures(&self) -> Option<RenderFigures> {
        let figures = RenderFigures { under_way: self.pages.len() as u64, ..self.figures };
        (!figures.are_none()).then_some(figures)
    }

    /// True if none is in progress.
    pub(crate) fn are_none(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns whether another page may be begun that may have to be rendered, in addition to `pages` that are rendered
    /// at once.
    pub(crate) fn has_room(&self, pages: usize) -> bool {
        self.pages.len() < pages + WAITING_MAX && self.bytes < WAITING_BYTES_MAX
    }
}

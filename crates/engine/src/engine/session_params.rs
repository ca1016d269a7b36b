//! Parameters of URLs that make no other page, such as session ids: learnt from what pages say.
//!
//! A server that puts a new session id into the links of each answer has one page under ever new URLs. No list of names
//! knows them all, and the same name is an article's number elsewhere. So each origin is judged by its answers:
//!
//! - **What is evidence.** A page that was answered with 200 and has main content, by its own URL: of each parameter
//!   the *base* is noted, which is the URL without it, with what the page shows: its text, and what it embeds. A page
//!   speaks against its parameter where the base had other words before. It speaks for it where it shows the same to
//!   the letter, and its links carry values of the parameter that no page of this base carried before: from the fifth
//!   value in a row on. So pages that differ by a number or a picture only are no evidence, nor are challenges, shells
//!   of scripts and "not found", whose links are none or always the same, nor a choice between a few values.
//! - **The rule.** Sixteen such pages and none against it make a rule of the origin and the name; each page that speaks
//!   against it takes all of its evidence away and doubles what it needs.
//! - **What it does.** A queued URL with the parameter is dropped when its turn comes, where a page of its base was
//!   fetched: so nothing is lost that was never fetched. One URL in fifty is fetched all the same, and ends the rule
//!   where it says something else. The links of such a page, if it says the same, are dropped, since the page is a
//!   copy.
//! - **What is not stopped**: seeds and where they redirect, what pages embed, what sitemaps name, what is fetched
//!   again.
//! - **Over restarts.** Learnt are pages only, in the order of the archive, and all of it is in every checkpoint. So a
//!   replay comes to the same. What is not in the checkpoint is asked of the URL alone: also which one of fifty it is.
//! - **Memory.** Bases and rules have tables of a fixed size ([`Places`]). What has no place there is not known, so it
//!   is fetched.
//!
//! Keys are digests by the crawl's own polynomial. A page whose URL has no parameter costs nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::is_of_seed;
use crate::contract::{Evidence, ParameterEvidence, ParameterKeys};
use crate::frontier::QueuedUrl;
use crate::web::parameter::{Parameter, parameters};
use crate::web::url::KeyMaker;

/// Bases of which is known what their pages say.
const BASES: usize = 32_768;
/// Names of parameters, each with its origin.
const RULES: usize = 2_048;
/// Values that a base has with one text before more of them are evidence.
const VALUES_MIN: u32 = 4;
/// Evidence that makes a rule where nothing speaks against it.
const EVIDENCE_MIN: u32 = 16;
/// Number of URLs dropped by a rule of which one is fetched all the same.
const SAMPLE: u64 = 50;
/// A place is kept against this many others at most.
const HOLD_MAX: u8 = 16;

/// The most memory that this takes, with its copy for a checkpoint.
pub const BYTES_MAX: u64 = 2 * (BASES * size_of::<Place<Base>>() + RULES * size_of::<Place<Trust>>()) as u64;

/// Evidence of the pages of one base.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Base {
    shown: u64,
    words: u64,
    handed: u64,
    /// Pages in a row that show this, each with new values in its links; 0 where none was met.
    values: u32,
    /// True if two pages had other words.
    varies: bool,
}

/// A page's addition to what is known of its base.
enum Observation {
    Nothing,
    /// The same, and one value more.
    Same,
    Another,
}

impl Base {
    fn observe(&mut self, words: u64, met: &ParameterEvidence) -> Observation {
        if self.varies {
            return Observation::Nothing;
        }
        if self.values > 0 && self.words != words {
            self.varies = true;
            return Observation::Another;
        }
        let is_same = self.values > 0 && self.shown == met.shown;
        if is_same && (met.handed == 0 || met.handed == self.handed) {
            return Observation::Nothing;
        }
        let values = if is_same { self.values.saturating_add(1) } else { 1 };
        *self = Base { shown: met.shown, words, handed: met.handed, values, varies: false };
        if values > VALUES_MIN { Observation::Same } else { Observation::Nothing }
    }
}

/// Evidence for and against a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Trust {
    /// Pages that said the same, since one said something else.
    same: u32,
    /// Pages that said something else.
    others: u32,
}

impl Trust {
    fn learn_from(&mut self, observation: &Observation) {
        match observation {
            Observation::Nothing => {}
            Observation::Same => self.same = self.same.saturating_add(1),
            Observation::Another => *self = Trust { same: 0, others: self.others.saturating_add(1) },
        }
    }

    fn is_enough(&self) -> bool {
        // beyond that no evidence is
        self.others < 16 && self.same >= EVIDENCE_MIN << self.others
    }
}

/// Rules that were learnt, and the evidence for more.
pub struct SessionParams {
    keys: Arc<KeyMaker>,
    is_on: bool,
    bases: Places<Base, BASES>,
    rules: Places<Trust, RULES>,
}

/// It as a checkpoint has it.
#[derive(Serialize, Deserialize)]
struct Saved {
    bases: Vec<Place<Base>>,
    rules: Vec<Place<Trust>>,
}

impl SessionParams {
    /// Reads what was learnt from `saved` (from [`SessionParams::encode`]); `None` for bytes that are something else.
    /// Where nothing is to be learnt it is forgotten.
    pub(crate) fn open(keys: Arc<KeyMaker>, is_on: bool, saved: &[u8]) -> Option<Self> {
        let mut learnt = SessionParams { keys, is_on, bases: Places::default(), rules: Places::default() };
        if is_on && !saved.is_empty() {
            let saved: Saved = postcard::from_bytes(saved).ok()?;
            saved.bases.into_iter().for_each(|place| learnt.bases.put(place));
            saved.rules.into_iter().for_each(|place| learnt.rules.put(place));
        }
        Some(learnt)
    }

    /// Appends what was learnt; nothing where no page was met that has a parameter.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let saved = Saved { bases: self.bases.used(), rules: self.rules.used() };
        if !saved.bases.is_empty() {
            out.extend(postcard::to_stdvec(&saved).expect("plain data is encoded"));
        }
    }

    /// Learns from a page. Returns whether it is a copy: a rule says so, and its words do.
    pub(crate) fn learn(&mut self, evidence: &Evidence) -> bool {
        if !self.is_on {
            return false;
        }
        let mut is_copy = false;
        let is_ruled = evidence.parameters.iter().any(|met| self.has_rule(met.keys.rule));
        for met in &evidence.parameters {
            // what a rule knows is kept in the place of what may become one
            if is_ruled && !self.has_rule(met.keys.rule) {
                continue;
            }
            let Some(base) = self.bases.entry(met.keys.base) else { continue };
            let was_met = base.values > 0;
            let observation = base.observe(evidence.words, met);
            let says_the_same = was_met && !base.varies;
            if !matches!(observation, Observation::Nothing)
                && let Some(trust) = self.rules.entry(met.keys.rule)
            {
                trust.learn_from(&observation);
            }
            is_copy |= says_the_same && self.has_rule(met.keys.rule);
        }
        is_copy
    }

    /// The name of the parameter by which `url` is nothing but a copy of what was fetched.
    pub(crate) fn copies<'a>(&self, url: &'a QueuedUrl) -> Option<&'a str> {
        if self.rules.is_unused() || !may_be_dropped(url) {
            return None;
        }
        let is_copy = |parameter: &Parameter<'_>| {
            let of = ParameterKeys::of(parameter, url.origin, &self.keys);
            self.has_rule(of.rule) && self.bases.get(of.base).is_some_and(|base| base.values > 0 && !base.varies)
        };
        parameters(&url.url).into_iter().find(is_copy).map(|parameter| parameter.name)
    }

    fn has_rule(&self, key: u64) -> bool {
        self.rules.get(key).is_some_and(Trust::is_enough)
    }

    /// Returns whether `url`, of which [`SessionParams::copies`] says that it is a copy, is fetched all the same.
    pub(crate) fn is_sample(url: &QueuedUrl) -> bool {
        url.key.bits().is_multiple_of(SAMPLE)
    }
}

/// True if `url` is a link of a page and was never fetched.
pub(super) fn may_be_dropped(url: &QueuedUrl) -> bool {
    !url.forced
        && url.recrawl.is_none()
        && !is_of_seed(url)
        && url.hops.sitemaps() == 0
        && url.hops.embeds() == 0
        // it has a request, and what that says is a part of it
        && !url.url.contains('#')
}

/// A table of `NUMBER` places. What was met again keeps its place against as many others, up to [`HOLD_MAX`].
#[derive(Default)]
struct Places<T, const NUMBER: usize> {
    /// None until the first is used, then all.
    places: Vec<Place<T>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place<T> {
    /// 0 where nothing is there.
    key: u64,
    hold: u8,
    value: T,
}

impl<T: Clone + Default, const NUMBER: usize> Places<T, NUMBER> {
    fn place(key: u64) -> usize {
        usize::try_from(key % NUMBER as u64).expect("a table is small")
    }

    fn is_unused(&self) -> bool {
        self.places.is_empty()
    }

    fn get(&self, key: u64) -> Option<&T> {
        self.places.get(Self::place(key)).filter(|place| place.key == key).map(|place| &place.value)
    }

    /// The value in the place of `key`, new where the place was free; `None` where something else keeps it.
    fn entry(&mut self, key: u64) -> Option<&mut T> {
        if self.places.is_empty() {
            self.places.resize(NUMBER, Place::default());
        }
        let place = self.places.get_mut(Self::place(key))?;
        if place.key == key {
            place.hold = place.hold.saturating_add(1).min(HOLD_MAX);
        } else if place.hold > 0 {
            place.hold -= 1;
            return None;
        } else {
            *place = Place { key, ..Place::default() };
        }
        Some(&mut place.value)
    }

    fn used(&self) -> Vec<Place<T>> {
        self.places.iter().filter(|place| place.key != 0).cloned().collect()
    }

    fn put(&mut self, place: Place<T>) {
        if self.places.is_empty() {
            self.places.resize(NUMBER, Place::default());
        }
        let at = Self::place(place.key);
        self.places[at] = place;
    }
}

#[cfg(test)]
mod tests;

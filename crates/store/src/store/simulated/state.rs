//! Content of the simulated store, the writes that are still to come, and what listings show.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Fault, Whims};
use crate::store::{Error, Result};

/// The largest number of calls after which a late change comes. It comes after at least one.
const LATE_MAX: u64 = 30;

#[derive(Clone, Debug)]
pub(super) enum Effect {
    Put(Arc<[u8]>),
    Delete,
}

#[derive(Debug)]
pub(super) struct State {
    rng: fastrand::Rng,
    objects: BTreeMap<String, Arc<[u8]>>,
    /// Entries of listings where they differ from what is there: the length or `None`, until a call.
    shown: BTreeMap<String, (Option<u64>, u64)>,
    late: Vec<(u64, String, Effect)>,
    pub(super) calls: u64,
    pub(super) faults: BTreeMap<u64, Fault>,
    pub(super) whims: Whims,
    pub(super) is_away: bool,
}

impl State {
    pub(super) fn new(seed: u64) -> State {
        State {
            rng: fastrand::Rng::with_seed(seed),
            objects: BTreeMap::new(),
            shown: BTreeMap::new(),
            late: Vec::new(),
            calls: 0,
            faults: BTreeMap::new(),
            whims: Whims::default(),
            is_away: false,
        }
    }

    /// The next call comes: what is due by then happens first.
    pub(super) fn begin(&mut self) {
        self.calls += 1;
        self.happen(self.calls);
    }

    pub(super) fn settle(&mut self) {
        self.happen(u64::MAX);
    }

    fn happen(&mut self, until: u64) {
        let (due, rest) = std::mem::take(&mut self.late).into_iter().partition(|(at, ..)| *at <= until);
        self.late = rest;
        let mut due: Vec<(u64, String, Effect)> = due;
        due.sort_by_key(|(at, ..)| *at);
        for (_, name, effect) in due {
            // nobody hears whether the store took it
            let _ = self.apply(&name, &effect);
        }
        self.shown.retain(|_, (_, shown_until)| *shown_until > until);
    }

    pub(super) fn draw_fault(&mut self) -> Option<Fault> {
        if let Some(fault) = self.faults.remove(&self.calls) {
            return Some(fault);
        }
        let Whims { fails, answer_lost, late, .. } = self.whims;
        let drawn = if fails + answer_lost + late > 0 { self.rng.u8(0..100) } else { return None };
        match drawn {
            _ if drawn < fails => Some(Fault::Fails),
            _ if drawn < fails + answer_lost => Some(Fault::AnswerLost),
            _ if drawn < fails + answer_lost + late => Some(Fault::Late),
            _ => None,
        }
    }

    pub(super) fn draw_read_fault(&mut self) -> Option<Fault> {
        let planned = self.faults.remove(&self.calls);
        planned.or_else(|| (self.whims.fails > 0 && self.rng.u8(0..100) < self.whims.fails).then_some(Fault::Fails))
    }

    pub(super) fn delay(&mut self, name: &str, effect: Effect) {
        let at = self.calls + self.rng.u64(1..=LATE_MAX);
        self.late.push((at, name.to_owned(), effect));
    }

    pub(super) fn apply(&mut self, name: &str, effect: &Effect) -> Result<()> {
        let before = self.objects.get(name).map(|content| content.len() as u64);
        match (effect, before) {
            (Effect::Put(content), Some(bytes)) if bytes != content.len() as u64 => {
                return Err(Error::other_length(name, content.len() as u64, bytes));
            }
            (Effect::Put(content), Some(_)) if self.objects.get(name) != Some(content) => {
                let detail = "of the same length, with other bytes".to_owned();
                return Err(Error::Taken { name: name.to_owned(), detail });
            }
            (Effect::Put(_), Some(_)) | (Effect::Delete, None) => return Ok(()),
            (Effect::Put(content), None) => drop(self.objects.insert(name.to_owned(), content.clone())),
            (Effect::Delete, Some(_)) => drop(self.objects.remove(name)),
        }
        self.shown.remove(name);
        if self.whims.listed_late > 0 && self.rng.u8(0..100) < self.whims.listed_late {
            let until = self.calls + self.rng.u64(1..=LATE_MAX);
            self.shown.insert(name.to_owned(), (before, until));
        }
        Ok(())
    }

    pub(super) fn content(&self, name: &str) -> Option<Arc<[u8]>> {
        self.objects.get(name).cloned()
    }

    pub(super) fn objects(&self) -> Vec<(String, u64)> {
        self.objects.iter().map(|(name, content)| (name.clone(), content.len() as u64)).collect()
    }

    pub(super) fn listed(&self, prefix: &str) -> Vec<(String, u64)> {
        let mut listed: BTreeMap<String, u64> = self.objects().into_iter().collect();
        for (name, (bytes, _)) in &self.shown {
            match bytes {
                Some(bytes) => drop(listed.insert(name.clone(), *bytes)),
                None => drop(listed.remove(name)),
            }
        }
        listed.into_iter().filter(|(name, _)| name.starts_with(prefix)).collect()
    }

    #[cfg(test)]
    pub(super) fn lose(&mut self, name: &str) -> bool {
        self.shown.remove(name);
        self.objects.remove(name).is_some()
    }

    #[cfg(test)]
    pub(super) fn damage(&mut self, name: &str, offset: u64) -> bool {
        let Some(content) = self.objects.get_mut(name) else { return false };
        let mut damaged = content.to_vec();
        let Some(byte) = damaged.get_mut(offset as usize) else { return false };
        *byte = !*byte;
        *content = damaged.into();
        true
    }
}

//! The findings that the page for people shows: of each kind the first ones, with the first of their places.

use std::collections::BTreeMap;

use super::super::compare::State;
use super::super::finding::{Finding, Item, Kind};

/// Findings of a kind.
const FINDINGS_MAX: usize = 100;
/// Places of a finding.
const PLACES_MAX: usize = 10;

/// A finding with places.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub subject: String,
    pub detail: String,
    pub places: Vec<(Item, Option<State>)>,
    /// Further places.
    pub more: u64,
}

/// The findings of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct OfKind {
    pub groups: Vec<Group>,
    /// Further findings.
    pub more: u64,
    last: String,
}

/// Findings that are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub kinds: BTreeMap<Kind, OfKind>,
    pub fixed: Vec<Finding>,
}

impl Shown {
    /// Takes a place; they come in order.
    pub(super) fn take(&mut self, finding: &Finding, state: Option<State>) {
        let of_kind = self.kinds.entry(finding.kind).or_default();
        let is_next = of_kind.groups.is_empty() || of_kind.last != finding.subject;
        if is_next {
            of_kind.last.clone_from(&finding.subject);
            if of_kind.groups.len() == FINDINGS_MAX {
                of_kind.more += 1;
                return;
            }
            let (subject, detail) = (finding.subject.clone(), finding.detail.clone());
            of_kind.groups.push(Group { subject, detail, ..Group::default() });
        }
        let Some(group) = of_kind.groups.last_mut().filter(|group| group.subject == finding.subject) else { return };
        if group.places.len() < PLACES_MAX {
            group.places.push((finding.item.clone(), state));
        } else {
            group.more += 1;
        }
    }

    pub(super) fn take_fixed(&mut self, finding: &Finding) {
        if self.fixed.len() < FINDINGS_MAX {
            self.fixed.push(finding.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_findings_the_first_are_shown_and_the_others_counted() {
        let mut shown = Shown::default();
        for subject in 0..FINDINGS_MAX + 5 {
            for place in 0..PLACES_MAX + 3 {
                let finding = Finding::of(Kind::Broken, &format!("{subject:04}"), "404");
                shown.take(&finding.at(&place.to_string(), "anchor", ""), None);
            }
        }
        let of_kind = &shown.kinds[&Kind::Broken];
        assert_eq!((of_kind.groups.len(), of_kind.more), (FINDINGS_MAX, 5));
        assert!(of_kind.groups.iter().all(|group| group.places.len() == PLACES_MAX && group.more == 3));
    }
}

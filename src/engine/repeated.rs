//! Pages that say what others of their origin say: they are stored, and lead nowhere. [`super::texts`] counts them, and
//! [`super::session_params`] knows copies.

use super::job::Findings;
use super::rule::session_rule;
use super::session_params::may_be_dropped;
use super::{Engine, is_of_seed};
use crate::disk::Result;
use crate::frontier::QueuedUrl;
use crate::outcome::Reason;
use crate::web::html::LinkKind;

/// Reason for which nothing is followed that a page links to.
struct Stop {
    reason: Reason,
    rule: String,
}

impl Engine {
    /// Counts what the page of `url` says, which has had its last answer, where it `is_new`. Where too many pages say
    /// it, or another page of which it is a copy, its links are taken out of its `findings`, counted and logged, but
    /// for what it embeds.
    pub(super) fn stop_at_repeated(&mut self, url: &QueuedUrl, is_new: bool, findings: &mut Findings) -> Result<()> {
        let by_text = self.one_of_many(url, is_new, findings);
        let by_parameter = self.copy(url, findings);
        let Some(Stop { reason, rule }) = by_text.or(by_parameter) else { return Ok(()) };
        findings.limits.repeated = true;
        let is_requisite = self.admission.scope.is_requisite(url.hops.embeds() + 1);
        for link in std::mem::take(&mut findings.links) {
            if link.kind == LinkKind::Embed && is_requisite {
                findings.links.push(link);
                continue;
            }
            self.admission.books.statistics.links_found += 1;
            if !self.admission.stores.passes_over(link.keys.key) {
                self.admission.books.skip(&link.url, reason, &rule)?;
            }
        }
        Ok(())
    }

    fn one_of_many(&mut self, url: &QueuedUrl, is_new: bool, findings: &mut Findings) -> Option<Stop> {
        let likeness = findings.likeness.take()?;
        let is_beyond = self.admission.stores.texts.is_beyond(url.origin, &likeness, is_new);
        if !is_beyond || is_of_seed(url) {
            return None;
        }
        let limit = self.admission.stores.texts.limit().unwrap_or_default();
        let rule = format!("scope.max_pages_per_text = {limit}: {}", url.url);
        Some(Stop { reason: Reason::Text, rule })
    }

    fn copy(&mut self, url: &QueuedUrl, findings: &mut Findings) -> Option<Stop> {
        let evidence = findings.evidence.take().filter(|_| may_be_dropped(url))?;
        if !self.admission.stores.session_params.learn(&evidence) {
            return None;
        }
        let parameter = self.admission.stores.session_params.copies(url)?;
        Some(Stop { reason: Reason::SessionParam, rule: format!("{}: {}", session_rule(parameter), url.url) })
    }
}

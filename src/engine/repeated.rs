//! Pages that say what too many of their origin say: they are stored, and lead nowhere. [`super::texts`] counts them.

use super::job::Findings;
use super::{Engine, is_of_seed};
use crate::disk::Result;
use crate::frontier::QueuedUrl;
use crate::outcome::Reason;
use crate::web::html::LinkKind;

impl Engine {
    /// Counts what the page of `url` says, which has had its last answer, where it `is_new`. Where too many pages say
    /// it, its links are taken out of its `findings`, counted and logged, but for what it embeds.
    pub(super) fn stop_at_repeated(&mut self, url: &QueuedUrl, is_new: bool, findings: &mut Findings) -> Result<()> {
        let Some(likeness) = findings.likeness.take() else { return Ok(()) };
        let is_beyond = self.stores.texts.is_beyond(url.origin, &likeness, is_new);
        if !is_beyond || is_of_seed(url) {
            return Ok(());
        }
        findings.limits.repeated = true;
        let limit = self.stores.texts.limit().unwrap_or_default();
        let rule = format!("scope.max_pages_per_text = {limit}: {}", url.url);
        let is_requisite = self.scope.is_requisite(url.hops.embeds() + 1);
        for link in std::mem::take(&mut findings.links) {
            if link.kind == LinkKind::Embed && is_requisite {
                findings.links.push(link);
                continue;
            }
            self.books.statistics.links_found += 1;
            if !self.stores.passes_over(link.keys.key) {
                self.books.skip(&link.url, Reason::Text, &rule)?;
            }
        }
        Ok(())
    }
}

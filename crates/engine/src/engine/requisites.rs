//! Things that pages embed from elsewhere, and who pays for them.
//!
//! The scope lets in what a page embeds wherever it is, so a page can name any URL of any site. That must not make the
//! crawl a weapon: a site that names a million pictures of another one would have the crawl ask there a million times.
//! So such a URL counts against the budget of the site that *names* it, `budget.pages_per_domain`, beside the pages of
//! that site: both together never are more than it.
//!
//! - Charged is the registrable domain of the page that names the URL, or that redirects to it; of a style sheet
//!   elsewhere that names a font, the domain of that sheet. Only what the scope takes in by this exception alone is
//!   charged: a URL that is in scope by itself would be fetched anyhow, and one of the same domain counts there when it
//!   is fetched.
//! - It is charged when the URL is routed, by the engine that has the page, in the event that stores the page: a cut
//!   has both or neither, and a replay that does the event again does the charge again. The domain of the page is of
//!   this shard, whichever one owns the URL, and the page is in flight, so its domain is in memory.
//! - The count is never too low. It is too high by URLs that are named again when the LRU of URL-seen has forgotten
//!   them, and by those that a robots.txt forbids in the end.
//! - In a replay the page's domain may have no active host. Then what was merged into the base of its partition is not
//!   read, and only the rest counts: a crash may let through what pages of one checkpoint interval name, up to the
//!   budget once more.
//!
//! The site that is named keeps its own budgets, robots.txt and delays as for any page.

use super::{Engine, queued_url};
use crate::disk;
use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::outcome::Reason;

impl Engine {
    /// Charges `domain` for `url`, which one of its pages names, if the URL is let in only because it is embedded; or
    /// says that the domain's budget is used up.
    pub(super) fn charge_requisite(
        &mut self,
        domain: Fingerprint,
        url: &QueuedUrl,
    ) -> disk::Result<Result<(), Reason>> {
        let is_foreign = url.domain != domain && self.scope.is_requisite(url.hops.embeds());
        if !is_foreign || self.scope.takes_in(&queued_url(&url.url)) {
            return Ok(Ok(()));
        }
        let has_room = self.stores.arrival.frontier.charge_requisite(domain)?;
        Ok(if has_room { Ok(()) } else { Err(Reason::EmbeddedPages) })
    }
}

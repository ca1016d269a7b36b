//! URLs that are listed for crawlers: sitemaps in a robots.txt, and the entries of sitemaps.
//!
//! A page is read as a sitemap where its path ends in one to four hops of that kind: robots.txt names a sitemap, that
//! may be an index, and so may be what it names. The protocol knows no index in an index, but some sites have them. An
//! index that names a new index for ever is left after three steps. A page at such an end that is no sitemap is a page like any other.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{Processor, count};
use crate::engine::{Findings, FoundLink, Response};
use crate::fingerprint::Fingerprint;
use crate::frontier::Hops;
use crate::outcome::Reason;
use crate::web::html::{BYTES_PER_LINK, LinkKind};
use crate::web::scope::Scope;
use crate::web::sitemap::{self, Body, Entry};
use crate::web::url::CanonicalUrl;

/// Memory for the URLs of a sitemap.
pub const SITEMAP_LINK_BYTES: usize = sitemap::URLS_MAX as usize * BYTES_PER_LINK;

/// Held while a sitemap is read, by the one thread of the process that does.
static SITEMAP: Mutex<()> = Mutex::new(());

/// Files on the way from robots.txt to a page: indexes within one another, and a sitemap.
const FILES_MAX: usize = 4;

impl Processor {
    /// The sitemaps that the robots.txt at `url` names for an origin, on behalf of a URL at a depth. Of a host that is
    /// asked for what pages elsewhere embed, and for nothing else, no page is wanted, and so no sitemap.
    pub(super) fn name_sitemaps(
        &self,
        url: &CanonicalUrl,
        (origin, depth, hops): (&str, u16, &Hops),
        sitemaps: &[String],
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let origin = CanonicalUrl::parse(origin).unwrap_or_else(|_| url.clone());
        if scope.is_requisite(hops.embeds_before_robots()) && !scope.has_pages_at(&origin) {
            return;
        }
        let mut seen = HashSet::new();
        for sitemap in sitemaps.iter().take(self.options.sitemaps_max) {
            if let Ok(target) = url.join(sitemap) {
                let verdict = self.judge_sitemap(scope, &target, &origin, depth);
                self.add_listed(&target, LinkKind::Sitemap, verdict, &mut seen, findings);
            }
        }
    }

    /// If the page at `url` is a sitemap, and may be one by its path: its entries. Says whether it is.
    pub(super) fn list_entries(
        &self,
        url: &CanonicalUrl,
        (depth, hops): (u16, &Hops),
        response: &Response,
        scope: &Scope,
        findings: &mut Findings,
    ) -> bool {
        let files = hops.sitemaps();
        if self.options.sitemaps_max == 0 || !(1..=FILES_MAX).contains(&files) {
            return false;
        }
        let (content_type, content_encoding) = (response.content_type(), response.content_encoding());
        let body = Body {
            content_type: content_type.as_deref(),
            content_encoding: content_encoding.as_deref(),
            bytes: &response.body,
        };
        let mut seen = HashSet::new();
        let (mut too_far, mut room) = (0, SITEMAP_LINK_BYTES);
        // a sitemap takes far more memory than a page: one at a time
        let reading = SITEMAP.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = sitemap::read(body, &mut |entry, text| {
            let Ok(target) = url.join(text) else { return };
            // translations name one another again and again
            if entry == Entry::Beside && seen.contains(&self.options.keys.keys(&target).key) {
                return;
            }
            match room.checked_sub(target.as_str().len()) {
                Some(left) => room = left,
                None => return too_far += u64::from(entry != Entry::Beside),
            }
            let (kind, verdict) = match entry {
                Entry::Page | Entry::Beside => {
                    (LinkKind::Listed, self.judge(scope, &target, LinkKind::Listed, (depth, hops)))
                }
                Entry::Sitemap if files == FILES_MAX => return too_far += 1,
                Entry::Sitemap => (LinkKind::Sitemap, self.judge_sitemap(scope, &target, url, depth)),
            };
            self.add_listed(&target, kind, verdict, &mut seen, findings);
        });
        drop(reading);
        let Some(mut summary) = summary else { return false };
        findings.limits.decoded = summary.cut;
        findings.limits.links += summary.dropped + too_far;
        summary.urls -= too_far;
        summary.dropped += too_far;
        findings.sitemap = Some(summary);
        true
    }

    /// Whether a sitemap may be fetched that `named_by` names at `depth`.
    fn judge_sitemap(
        &self,
        scope: &Scope,
        target: &CanonicalUrl,
        named_by: &CanonicalUrl,
        depth: u16,
    ) -> Result<(), Reason> {
        self.judge_address(target)?;
        scope.judge_sitemap(target, named_by, depth, 0)
    }

    fn add_listed(
        &self,
        target: &CanonicalUrl,
        kind: LinkKind,
        verdict: Result<(), Reason>,
        seen: &mut HashSet<Fingerprint>,
        findings: &mut Findings,
    ) {
        match verdict {
            Ok(()) => {
                let keys = self.options.keys.keys(target);
                if seen.insert(keys.key) {
                    findings.links.push(FoundLink { url: target.as_str().into(), keys, kind });
                }
            }
            Err(reason) => count(&mut findings.dropped, reason),
        }
    }
}

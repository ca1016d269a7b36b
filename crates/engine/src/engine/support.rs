//! Supporters of domains: which registrable domains link to which others, each pair counted once.
//!
//! ```text
//! page ─► domains that it links to, each once ─► store of pairs ─► new: one more supporter of that domain ─► frontier
//! ```
//! The fourth DRUM: its key is the fingerprint of source and target, it stores nothing with it, and what travels with a
//! question is the target. So a pair takes what a key takes in a sorted file, and no list of supporters is kept
//! anywhere.
//!
//! Rules:
//! - A link counts that a page of the archive has to a domain other than its own and that scope and limits let in,
//!   whatever is known of its URL; so does where the page redirects. What a page embeds, and what sitemaps list, is no
//!   link. What `nofollow` takes out is not found, nor is any link of a page whose links are not followed because too
//!   many say the same. A page that was rendered has the links of its rendering; what that asked for has none.
//! - A pair is counted in the event that stores its page, so a cut has both or neither, and a replay counts it again.
//! - In a crawl of several shards the pairs of a domain are kept by the shard that owns it. Where another one finds a
//!   link to it, the pair goes there in the link file, whether or not the URL goes too; a pair that was sent is not
//!   sent again as long as the LRU knows it. What comes twice is known there.
//! - With `by_network` the source is the network of the server (/24, /48) where its address is known, so that farms of
//!   many names on few machines are few supporters.
//! - With `by_standing` a link is worth what links to its source: a question for each of up to four quarters, each with
//!   its own key. So a domain that is linked from where nobody links to stays light, however many such links it
//!   has. What a link is worth is known when its page comes; the same link on a later page may be worth more, and adds
//!   what is missing. So such counts depend on the order of pages. Links of the domains of seeds count in full whenever
//!   they come.
//! - A crawl that has the store keeps it, whether budgets follow from supporters now or not. Where it is switched on in
//!   a crawl that has pages, their links are counted from the archive, before anything else ([`super::reread`]); that
//!   is done again after a kill before the first checkpoint that has the store.
//! - The domains of all seeds are known before any page is counted, also one that is replayed.

use std::net::IpAddr;

use super::checkpoint::Checkpoint;
use super::stored::{purpose_of, stored_response};
use crate::container::ReplayedPage;
use crate::contract::{Findings, Purpose, Response, Retries};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, QUARTERS, RoundBudgets};
use crate::outcome::Verdict;
use crate::record::layout::StoreName;
use crate::web::html::LinkKind;
use crate::web::url::{CanonicalUrl, KeyMaker, Keys};

/// Options of counting supporters of domains, and of what they are worth.
#[derive(Clone, Copy, Debug, Default)]
pub struct SupportOptions {
    /// Pages of domains in a round.
    pub budgets: RoundBudgets,
    /// True if domains of one network are one supporter.
    pub by_network: bool,
    /// True if a supporter counts by its own supporters: in quarters.
    pub by_standing: bool,
    /// True if budgets follow from them; where not, they are counted only where that was begun.
    pub is_on: bool,
}

/// Returns the number of supporters for a count of them: it is a count of quarters where they count by their standing.
pub(super) fn supporters(counted: u64, by_standing: bool) -> f64 {
    if by_standing { counted as f64 / QUARTERS as f64 } else { counted as f64 }
}

impl SupportOptions {
    /// Returns the number of supporters for a count of them.
    pub fn supporters(&self, counted: u64) -> f64 {
        supporters(counted, self.by_standing)
    }

    /// The budgets of rounds, where supporters are counted: because they are now, or because the crawl of this
    /// checkpoint did so before.
    pub(super) fn rounds(&self, saved: Option<&Checkpoint>) -> Option<RoundBudgets> {
        let counts = saved.is_some_and(|checkpoint| checkpoint.stores.contains_key(&StoreName::Support));
        (self.is_on || counts).then_some(RoundBudgets { are_kept: self.is_on, ..self.budgets })
    }
}

/// The domains that a page of `own` supports, each once and in order.
pub fn supported_by(own: Fingerprint, findings: &Findings) -> Vec<Fingerprint> {
    let is_link = |kind| !matches!(kind, LinkKind::Embed | LinkKind::Listed | LinkKind::Sitemap);
    let links = findings.links.iter().filter(|link| is_link(link.kind)).map(|link| link.keys.domain);
    let redirect = findings.redirect.iter().map(|(_, keys)| keys.domain);
    let mut domains: Vec<Fingerprint> = links.chain(redirect).filter(|&domain| domain != own).collect();
    domains.sort_unstable();
    domains.dedup();
    domains
}

/// Returns the supporter that a page of the domain `own` is for others: the domain, or the network of its server.
pub fn supporter(keys: &KeyMaker, own: Fingerprint, address: Option<IpAddr>, by_network: bool) -> Fingerprint {
    match address.filter(|_| by_network) {
        None => own,
        Some(IpAddr::V4(v4)) => keys.of_bytes(&v4.octets()[..3]),
        Some(IpAddr::V6(v6)) => keys.of_bytes(&v6.octets()[..6]),
    }
}

/// Finds the links in an archived page, and returns them with the keys of the page. `None` for what supports nobody: a
/// robots.txt, what a page asked for while it was rendered, and an answer after which the URL was asked for again.
pub fn links_of(
    mut page: ReplayedPage,
    is_robots: bool,
    retries: &Retries,
    keys: &KeyMaker,
    find: &mut dyn FnMut(&CanonicalUrl, Purpose<'_>, &Response) -> Findings,
) -> Option<(Keys, Findings)> {
    let is_page = !is_robots && !page.is_external && !page.of_rendering;
    let url = CanonicalUrl::parse(&page.url).ok().filter(|_| is_page)?;
    let hops = Hops::parse(&page.hops);
    let response = stored_response(&mut page);
    if retries.verdict(&response.answered(), page.attempt) == Verdict::Retry {
        return None;
    }
    let findings = find(&url, purpose_of(&page, &hops), &response);
    Some((keys.keys(&url), findings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FoundLink;
    use crate::fingerprint::Fingerprinter;

    #[test]
    fn a_page_supports_each_other_domain_once_that_it_links_to() {
        let keys = KeyMaker::new(Fingerprinter::random(5), &[]);
        let url = |text: &str| CanonicalUrl::parse(text).unwrap();
        let link = |text: &str, kind| FoundLink { url: text.into(), keys: keys.keys(&url(text)), kind, modified: None };
        let own = keys.keys(&url("http://www.a.example/")).domain;
        let mut findings = Findings::none();
        findings.links = vec![
            link("http://a.example/2", LinkKind::Anchor),
            link("http://b.example/", LinkKind::Anchor),
            link("http://www.b.example/x", LinkKind::Other),
            link("http://c.example/i.png", LinkKind::Embed),
            link("http://d.example/", LinkKind::Listed),
        ];
        let target = url("http://e.example/");
        findings.redirect = Some((target.clone(), keys.keys(&target)));
        let mut expected = ["http://b.example/", "http://e.example/"].map(|text| keys.keys(&url(text)).domain);
        expected.sort_unstable();
        assert_eq!(supported_by(own, &findings), expected);
    }

    #[test]
    fn names_of_one_network_are_one_supporter_where_that_is_wanted_and_known() {
        let keys = KeyMaker::new(Fingerprinter::random(5), &[]);
        let [a, b] = [1, 2].map(Fingerprint::from_bits);
        let at = |own, address: &str| supporter(&keys, own, Some(address.parse().unwrap()), true);
        assert_eq!(at(a, "192.0.2.7"), at(b, "192.0.2.200"));
        assert_ne!(at(a, "192.0.2.7"), at(a, "192.0.3.7"));
        assert_eq!(at(a, "2001:db8:5::1"), at(b, "2001:db8:5:9::1"));
        assert_eq!(supporter(&keys, a, None, true), a);
        assert_eq!(supporter(&keys, a, "192.0.2.7".parse().ok(), false), a);
        assert_ne!(keys.pair(a, b), keys.pair(b, a));
    }
}

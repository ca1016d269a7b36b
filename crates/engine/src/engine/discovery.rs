//! Discoveries: where a URL was found, and what it inherits from that: depth, priority, path, seed, and whether it is
//! forced follow from the [`Discovery`] alone.

use crate::calendar::Recrawl;
use crate::contract::FoundLink;
use crate::frontier::{Provenance, QueuedUrl};
use crate::shard::Shard;
use crate::web::html::LinkKind;
use crate::web::scope::Scope;
use crate::web::url::{CanonicalUrl, KeyMaker, Keys};

/// The page that names a URL, and from which the URL inherits.
pub(super) struct Parent<'a> {
    pub(super) url: &'a QueuedUrl,
    /// Offset of the page's record in key.dat.
    pub(super) record: u64,
    /// True if the page was found changed.
    pub(super) has_changed: bool,
}

/// The source in which a URL was found.
pub(super) enum Discovery<'a> {
    /// A line of the seeds; a forced one is fetched although it was seen before.
    Seed { number: u32, url: &'a CanonicalUrl, forced: bool },
    /// Another URL that a line of the seeds may mean, where the seed could not be fetched.
    Fallback { number: u32, url: &'a CanonicalUrl, forced: bool },
    /// A link of a page, or an entry of a sitemap.
    Link { parent: &'a Parent<'a>, link: FoundLink },
    /// A sitemap that a robots.txt names, which is in the archive at `record`.
    Sitemap { provenance: &'a Provenance, record: u64, link: FoundLink },
    /// The target of a page that redirects.
    Redirect { parent: &'a Parent<'a>, target: &'a CanonicalUrl, keys: Keys },
}

impl Discovery<'_> {
    /// True if somebody listed it, and no page names it.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Discovery::Seed { .. } | Discovery::Fallback { .. })
    }

    /// Returns what it says of a known URL.
    pub(super) fn hint(&self) -> Option<Recrawl> {
        let Discovery::Link { parent, link } = self else { return None };
        let linked = || (parent.has_changed && link.kind != LinkKind::Embed).then_some(Recrawl::Linked);
        link.modified.map(Recrawl::Modified).or_else(linked)
    }

    /// The page that names it; a robots.txt is none.
    pub(super) fn parent(&self) -> Option<&QueuedUrl> {
        match self {
            Discovery::Link { parent, .. } | Discovery::Redirect { parent, .. } => Some(parent.url),
            Discovery::Seed { .. } | Discovery::Fallback { .. } | Discovery::Sitemap { .. } => None,
        }
    }

    /// The URL with all that it inherits.
    pub(super) fn into_url(self, keys: &KeyMaker, scope: &Scope, shard: Shard) -> QueuedUrl {
        match self {
            Discovery::Seed { number, url, forced } | Discovery::Fallback { number, url, forced } => {
                QueuedUrl { seed: number, forced, ..QueuedUrl::of(url.as_str(), keys.keys(url)) }
            }
            Discovery::Link { parent: Parent { url: parent, record, .. }, link } => {
                let (below, depth) = (parent.depth.saturating_add(1), depth_of(link.kind, parent, scope));
                let (letter, priority) = match link.kind {
                    // a requisite comes with the page that needs it: a crawl that stops early has whole pages
                    LinkKind::Embed => ('E', priority(depth, true)),
                    LinkKind::Sitemap => ('M', priority(below, true)),
                    LinkKind::Listed => ('M', priority(below, false)),
                    LinkKind::Aside => ('L', priority(below, false).saturating_add(1)),
                    _ => ('L', priority(below, false)),
                };
                QueuedUrl {
                    priority,
                    depth,
                    hops: parent.hops.then(letter),
                    via: shard.via(*record),
                    seed: parent.seed,
                    // an index that is read again is read with all that it names
                    forced: parent.is_of_round() && link.kind == LinkKind::Sitemap,
                    ..QueuedUrl::of(&link.url, link.keys)
                }
            }
            // at the depth of the URL that waited for robots.txt, so that its entries count like links of that URL, and
            // before those
            Discovery::Sitemap { provenance, record, link } => QueuedUrl {
                priority: priority(provenance.depth.saturating_add(1), true),
                depth: provenance.depth,
                // a licence comes with the pages of its origin
                hops: provenance.hops.then(if link.kind == LinkKind::Embed { 'E' } else { 'M' }),
                via: shard.via(record),
                seed: provenance.seed,
                ..QueuedUrl::of(&link.url, link.keys)
            },
            // a URL like any other, at the depth of the one that redirects
            Discovery::Redirect { parent: Parent { url: parent, record, .. }, target, keys } => QueuedUrl {
                priority: parent.priority,
                depth: parent.depth,
                hops: parent.hops.then('R'),
                via: shard.via(*record),
                seed: parent.seed,
                // a page that is due leads to one that is due by itself
                forced: parent.is_of_round(),
                ..QueuedUrl::of(target.as_str(), keys)
            },
        }
    }
}

/// Returns the depth of what `parent` names by a link of this kind, by this way.
pub(super) fn depth_of(kind: LinkKind, parent: &QueuedUrl, scope: &Scope) -> u16 {
    match kind {
        LinkKind::Embed => scope.depth_below(parent.depth, parent.hops.embeds() + 1),
        // what an index names is as near to the seed as the index
        LinkKind::Sitemap => parent.depth,
        _ => parent.depth.saturating_add(1),
    }
}

/// Something that a rendered page asks for, as the URL that its links descend from.
pub(super) fn resource_url(url: &CanonicalUrl, keys: Keys, provenance: Provenance) -> QueuedUrl {
    let Provenance { depth, seed, hops } = provenance;
    QueuedUrl { depth, seed, hops, ..QueuedUrl::of(url.as_str(), keys) }
}

/// Seeds have 0; then comes depth by depth, in each what pages embed before what they link to. Links beside the content
/// of a page, where they are distinguished, come one later: with what pages of this depth embed, before what they link
/// to.
fn priority(depth: u16, embedded: bool) -> u8 {
    let by_depth = depth.saturating_mul(2).saturating_add(u16::from(!embedded));
    u8::try_from(by_depth).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprinter;
    use crate::frontier::Hops;
    use crate::web::scope::{Requisites, ScopeOptions};

    fn keys() -> KeyMaker {
        KeyMaker::new(Fingerprinter::random(5), &[])
    }

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn link(keys: &KeyMaker, kind: LinkKind) -> FoundLink {
        let url = url("http://a.example/x");
        FoundLink { url: url.as_str().into(), keys: keys.keys(&url), kind, modified: None }
    }

    /// A page two links below the seed 7, at record 40.
    fn page(keys: &KeyMaker) -> QueuedUrl {
        let url = url("http://a.example/page");
        let hops = Hops::parse("LL");
        QueuedUrl { depth: 2, hops, priority: 5, seed: 7, forced: true, ..QueuedUrl::of(url.as_str(), keys.keys(&url)) }
    }

    #[test]
    fn priority_goes_by_depth_and_then_by_kind() {
        assert!(0 < priority(1, true));
        assert!(priority(1, true) < priority(1, false));
        assert!(priority(1, false) < priority(2, true));
        assert_eq!(priority(60_000, false), u8::MAX);
    }

    #[test]
    fn an_embed_is_no_link_within_the_bound_and_is_one_beyond_it_or_where_the_scope_decides() {
        let keys = keys();
        let options = ScopeOptions { requisite_hops: 3, ..ScopeOptions::default() };
        for (requisites, hops, depth, rank) in [
            (Requisites::Page, "LL", 2, 4),
            (Requisites::Page, "LLEE", 2, 4),
            (Requisites::Page, "LLEEE", 3, 6),
            (Requisites::Scope, "LL", 3, 6),
        ] {
            let scope = Scope::new(&ScopeOptions { requisites, ..options.clone() }, std::iter::empty()).unwrap();
            let page = QueuedUrl { hops: Hops::parse(hops), ..page(&keys) };
            let parent = &Parent { url: &page, record: 40, has_changed: false };
            let found = Discovery::Link { parent, link: link(&keys, LinkKind::Embed) };
            let url = found.into_url(&keys, &scope, Shard::WHOLE);
            assert_eq!((url.depth, url.priority), (depth, rank), "{requisites:?} {hops}");
        }
    }

    #[test]
    fn what_a_url_inherits_follows_from_how_it_was_found() {
        let keys = keys();
        let page = page(&keys);
        let scope = &Scope::new(&ScopeOptions::default(), std::iter::empty()).unwrap();
        let parent = &Parent { url: &page, record: 40, has_changed: false };
        let of_link = |kind| Discovery::Link { parent, link: link(&keys, kind) }.into_url(&keys, scope, Shard::WHOLE);
        let told = |url: QueuedUrl| (url.depth, url.hops.as_str().to_owned(), url.via, url.seed, url.forced);
        assert_eq!(told(of_link(LinkKind::Embed)), (2, "LLE".to_owned(), 41, 7, false));
        assert!(of_link(LinkKind::Embed).priority < page.priority, "before other pages of this depth");
        let (of_content, aside) = (of_link(LinkKind::Anchor), of_link(LinkKind::Aside));
        assert_eq!(told(aside.clone()), told(of_content.clone()));
        assert!(of_content.priority < aside.priority && aside.priority < priority(4, false), "before the next depth");
        assert_eq!(told(of_link(LinkKind::Sitemap)), (2, "LLM".to_owned(), 41, 7, true), "its index is read again");
        assert_eq!(told(of_link(LinkKind::Listed)), (3, "LLM".to_owned(), 41, 7, false));
        let target = url("http://b.example/");
        let redirect = Discovery::Redirect { parent, target: &target, keys: keys.keys(&target) }.into_url(
            &keys,
            scope,
            Shard::WHOLE,
        );
        assert_eq!(redirect.priority, page.priority);
        assert_eq!(told(redirect), (2, "LLR".to_owned(), 41, 7, true));
        let provenance = Provenance { depth: 1, seed: 3, hops: Hops::parse("L") };
        let sitemap = Discovery::Sitemap { provenance: &provenance, record: 8, link: link(&keys, LinkKind::Sitemap) };
        assert_eq!(told(sitemap.into_url(&keys, scope, Shard::WHOLE)), (1, "LM".to_owned(), 9, 3, false));
        for forced in [false, true] {
            let seed = Discovery::Seed { number: 9, url: &target, forced }.into_url(&keys, scope, Shard::WHOLE);
            assert_eq!(told(seed), (0, String::new(), 0, 9, forced));
            let fallback = Discovery::Fallback { number: 9, url: &target, forced }.into_url(&keys, scope, Shard::WHOLE);
            assert_eq!(told(fallback), (0, String::new(), 0, 9, forced));
        }
    }
}

//! Links of HTML pages and of what belongs to them, found in one pass without building a tree.
//!
//! [`LinkScan`] goes from tag to tag (`web::tags`), takes what names a URL out of the attributes ([`element`]), and
//! resolves, canonicalises, deduplicates and fingerprints it. Documents of other kinds ([`Document`]) have their own
//! readers (`web::css`, `web::json`, `web::script`, `web::xml`), which only hand out what is written there. Next to it
//! are the other places where a page says something about links: `X-Robots-Tag` ([`x_robots_tag`]) and `Link`
//! ([`link_header`]). [`places`] says where in the bytes of a page its URLs are written, to those who rewrite them.
//!
//! Everything here takes time linear in its input and gives no more links than it was allowed.

#[cfg(test)]
mod cost_tests;
pub mod display;
pub mod document;
pub mod element;
mod found;
mod gather;
mod header;
mod lazy;
pub mod places;
mod resolver;
mod scan;
mod sniff;
pub mod syntax;
#[cfg(test)]
mod tests;
pub mod text;
mod title;
#[cfg(test)]
mod walk_tests;
mod wording;

pub use super::directives::{RobotsDirectives, x_robots_tag};
pub use document::{Document, Stated};
pub use header::{canonical_header, license_header, link_header};
pub use lazy::LAZY_ATTRIBUTES;
pub use resolver::{Resolved, Resolver};
pub use scan::LinkScan;
pub use sniff::{is_html, may_be_html};
pub use title::title;
pub use wording::{Wording, is_plain_text};

use super::statements::Statements;
use super::url::{CanonicalUrl, Keys};

/// Memory for the URLs of a page's links: this many bytes for each link that it may have. Where a long base makes long
/// URLs of short links, those beyond are dropped.
pub const BYTES_PER_LINK: usize = 256;

/// Ways in which a page names a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// `a`, `area`: for people to follow.
    Anchor,
    /// The same in navigation, header, footer or sidebar, and nowhere else on the page; only where that is
    /// distinguished.
    Aside,
    /// Images, scripts, styles, frames, media: part of the page; what a style sheet names.
    Embed,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel=canonical>`.
    Canonical,
    /// Other `<link>`s: `next`, `alternate` and so on; sources of quotations, descriptions, links of feeds.
    Other,
    /// An entry of a sitemap.
    Listed,
    /// A sitemap that a robots.txt or an index names.
    Sitemap,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The URL that it leads to.
    pub url: CanonicalUrl,
    /// The way in which the page names it first.
    pub kind: LinkKind,
    /// The fingerprints of the URL.
    pub keys: Keys,
}

/// Links of a page, and what the page says about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The links, each URL key once, in the order of the page.
    pub entries: Vec<Link>,
    /// Links beyond the limits of number and length. Beyond a multiple of the number limit, repeated ones count each
    /// time.
    pub dropped: u32,
    /// The page asks not to follow its links, by meta tag or header.
    pub nofollow_page: bool,
    /// The page asks not to be indexed, by meta tag or header.
    pub noindex: bool,
    /// The page is hardly more than its scripts: what it shows to people is made by them.
    pub is_scripts: bool,
    /// Scripts of the page, and bytes of its text.
    pub shown: (u32, u64),
    /// The canonical URL that the page names for itself.
    pub canonical: Option<String>,
    /// The page names its own icon.
    pub has_icon: bool,
    /// Statements of the page's meta elements about its use.
    pub statements: Statements,
}

//! Elements that frame a page, by their names, roles and classes.

use super::listed::Listed;
use crate::web::tags::Attribute;

/// Meanings of an element for the wording of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its text belongs to the page.
    Text,
    /// The title, whose text the tokenizer has.
    Title,
    /// Nobody reads it, or it says when the page was made.
    Unread,
    /// Navigation and the like, which frames the page.
    Frame,
    /// An element that may frame the page, by its attributes.
    Part,
}

/// The longest name that is looked at.
const NAME_BYTES_MAX: usize = 8;

pub(super) fn kind_of(name: &[u8]) -> Kind {
    if name.len() > NAME_BYTES_MAX {
        return Kind::Text;
    }
    let mut buffer = [0; NAME_BYTES_MAX];
    let lower = &mut buffer[..name.len()];
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    match &*lower {
        b"title" => Kind::Title,
        b"noscript" | b"template" | b"time" | b"object" | b"select" => Kind::Unread,
        b"nav" | b"aside" | b"footer" => Kind::Frame,
        b"div" | b"section" | b"ul" | b"ol" | b"ins" | b"table" | b"header" | b"form" | b"span" => Kind::Part,
        _ => Kind::Text,
    }
}

/// True if an attribute says that its element frames the page.
pub(super) fn is_frame(attribute: Attribute<'_>) -> bool {
    let Attribute { name, value, .. } = attribute;
    if name.eq_ignore_ascii_case(b"class") || name.eq_ignore_ascii_case(b"id") {
        return value.split(u8::is_ascii_whitespace).any(is_frame_name);
    }
    let role = value.trim_ascii();
    name.eq_ignore_ascii_case(b"role")
        && ["navigation", "complementary", "contentinfo", "search"]
            .iter()
            .any(|frame| role.eq_ignore_ascii_case(frame.as_bytes()))
}

/// The longest name of a class that is looked at.
const CLASS_BYTES_MAX: usize = 32;

/// Names of classes that such parts have on many sites.
#[rustfmt::skip]
const NAMES: [&[u8]; 44] = [
    b"ad", b"ads", b"adv", b"adbox", b"banner-ad", b"nav", b"navbar", b"navigation", b"navigator", b"navheader",
    b"navfooter", b"footer", b"site-footer", b"page-footer", b"sidebar", b"side-bar", b"breadcrumb",
    b"breadcrumbs", b"related", b"related-posts", b"related-articles", b"recommendations", b"recommended",
    b"trending", b"most-read", b"popular-posts", b"recent-posts", b"tagcloud", b"tag-cloud", b"social", b"share",
    b"share-buttons", b"cookie-banner", b"cookie-notice", b"cookie-consent", b"widget", b"post-views",
    b"view-count", b"counter", b"timestamp", b"date", b"pubdate", b"sphinxsidebar", b"toctree-wrapper-nav",
];
/// The same, of which others begin with these.
#[rustfmt::skip]
const BEGINNINGS: [&[u8]; 11] = [
    b"ad-", b"ads-", b"adv-", b"advert", b"adsby", b"adslot", b"google-ad", b"sponsor", b"taboola", b"outbrain",
    b"promoted",
];
static LISTED: Listed = Listed::of(&[&NAMES]);

/// True if a class or an id is one that such parts have on many sites. A name such as `with-sidebar` is the name of a
/// part next to one: only whole names and beginnings count.
fn is_frame_name(name: &[u8]) -> bool {
    if name.is_empty() || name.len() > CLASS_BYTES_MAX {
        return false;
    }
    let mut buffer = [0; CLASS_BYTES_MAX];
    let lower = &mut buffer[..name.len()];
    for (to, &byte) in lower.iter_mut().zip(name) {
        *to = if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    }
    let lower = &*lower;
    let begins = |start: &&[u8]| start[0] == lower[0] && lower.starts_with(start);
    LISTED.has(lower) || BEGINNINGS.iter().any(begins)
}

//! Answers that list URLs for crawlers: which one is a sitemap or a feed, by the path to it and by its start. Those who
//! process pages and those who read the archive judge alike.
//!
//! A page is read as a sitemap where somebody says that it is one, or may be one:
//! - robots.txt names it, or an index that robots.txt names: its path ends in one to four hops of that kind. The
//!   protocol knows no index in an index, but some sites have them. An index that names a new index for ever is left
//!   after three steps.
//! - It is a seed, or where a seed redirects, or what a sitemap names that is a seed. A seed may be anything, so a text
//!   counts only if it is nothing but URLs.

use crate::frontier::Hops;
use crate::web::mime;
use crate::web::sitemap::{self, Body, Claim, Format};

/// Files on the way from robots.txt to a page: indexes within one another, and a sitemap. A seed comes before them.
pub const FILES_MAX: usize = 4;

/// Returns the format of an answer that was found by `hops`, if it is a sitemap or a feed; `reads_robots` says whether
/// the sitemaps of a robots.txt are read.
pub fn format_of(hops: &Hops, reads_robots: bool, body: Body<'_>) -> Option<Format> {
    let claim = claim(hops, reads_robots);
    let may_be = claim != Claim::Unlikely || {
        let essence = mime::essence(body.content_type);
        let is_json = matches!(&*essence, "application/feed+json" | "application/json");
        is_json || matches!(&*essence, "application/xml" | "text/xml") || essence.ends_with("+xml")
    };
    may_be.then(|| sitemap::format(body, claim))?
}

/// Returns how likely a page is to be a sitemap, by the path to it.
pub fn claim(hops: &Hops, reads_robots: bool) -> Claim {
    let is_of = |letters: &[u8]| hops.as_str().bytes().all(|letter| letters.contains(&letter));
    match hops.sitemaps() {
        // what a sitemap names that was a seed is one whatever is asked of a robots.txt
        1..=FILES_MAX if reads_robots || is_of(b"MR") => Claim::Named,
        0 if is_of(b"R") => Claim::Possible,
        _ => Claim::Unlikely,
    }
}

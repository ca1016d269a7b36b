//! Rules of the crawl by which a document is left out.

use crate::archive::Page;
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// The settings of a crawl, as far as they say what is a document.
pub trait Rules {
    /// A number that is another one when the scope is another one, or the robots.txt files that count.
    fn version(&self) -> u64;

    /// True if the settings let the URL be crawled.
    fn has(&self, url: &CanonicalUrl) -> bool;

    /// True if the settings let the robots.txt of the URL's origin count.
    fn obeys(&self, url: &CanonicalUrl) -> bool;

    /// The share of their texts that two documents have in common to be one; nothing where all stand for themselves.
    fn near_duplicates(&self) -> Option<f64>;

    /// The rules in an answer to a request for the robots.txt at `asked`, which may have been redirected; nothing where
    /// it says none, or where they do not count.
    fn robots(&self, answer: &Page, asked: &CanonicalUrl) -> Option<RobotsRules>;
}

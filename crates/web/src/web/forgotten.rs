//! URLs that an operator had removed: single ones, and all that begin in some way.
//!
//! A pure set. Where the list is kept, and that it is durable before anyone acts by it, is the container's business
//! (`container::retention::list`); here it is asked by everything that decides whether a URL is fetched or shown.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;

/// URLs and starts of URLs that are forgotten. A lookup costs a hash and one step in a sorted set, however many there
/// are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    urls: HashSet<Box<str>>,
    /// None of them begins with another one: so only the greatest that is not behind a URL can be its beginning.
    prefixes: BTreeSet<Box<str>>,
}

impl Forgotten {
    /// True if nothing is forgotten.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.prefixes.is_empty()
    }

    /// Adds `url`, in the fetch form.
    pub fn add_url(&mut self, url: &str) {
        self.urls.insert(url.into());
    }

    /// Adds all URLs that begin with `prefix`.
    pub fn add_prefix(&mut self, prefix: &str) {
        if self.prefix_of(prefix).is_some() {
            return;
        }
        let behind = (Bound::Included(prefix), Bound::Unbounded);
        let covered: Vec<Box<str>> =
            self.prefixes.range::<str, _>(behind).take_while(|other| other.starts_with(prefix)).cloned().collect();
        for other in covered {
            self.prefixes.remove(&other);
        }
        self.prefixes.insert(prefix.into());
    }

    /// True if `url`, in the fetch form, is forgotten.
    pub fn covers(&self, url: &str) -> bool {
        self.urls.contains(url) || self.prefix_of(url).is_some()
    }

    fn prefix_of(&self, url: &str) -> Option<&str> {
        let before = (Bound::Unbounded, Bound::Included(url));
        let nearest = self.prefixes.range::<str, _>(before).next_back()?;
        url.starts_with(&**nearest).then_some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_covered_by_itself_or_by_its_beginning() {
        let mut forgotten = Forgotten::default();
        assert!(forgotten.is_empty() && !forgotten.covers("http://a.example/"));
        forgotten.add_url("http://a.example/one");
        forgotten.add_prefix("http://b.example/private/");
        for (url, covered) in [
            ("http://a.example/one", true),
            ("http://a.example/one/more", false),
            ("http://b.example/private/", true),
            ("http://b.example/private/x?y", true),
            ("http://b.example/privat", false),
            ("http://b.example/public", false),
        ] {
            assert_eq!(forgotten.covers(url), covered, "{url}");
        }
    }

    #[test]
    fn prefixes_within_prefixes_are_found_like_a_plain_search_finds_them() {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let text = |random: &mut fastrand::Rng| -> String {
            (0..random.usize(1..6)).map(|_| random.choice(['a', 'b', 'c']).expect("there are three")).collect()
        };
        for _ in 0..200 {
            let (mut forgotten, mut plain) = (Forgotten::default(), Vec::new());
            for _ in 0..random.usize(..6) {
                let prefix = text(&mut random);
                forgotten.add_prefix(&prefix);
                plain.push(prefix);
            }
            for _ in 0..40 {
                let url = text(&mut random);
                let expected = plain.iter().any(|prefix| url.starts_with(prefix.as_str()));
                assert_eq!(forgotten.covers(&url), expected, "seed {seed}: {url} by {plain:?}");
            }
        }
    }
}

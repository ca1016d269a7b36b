//! What the pages that a crawler has seen name.

use std::collections::{HashMap, HashSet};

/// What the answers that the crawler has seen name: by the last answer of each URL, and in all.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub links: HashMap<String, Vec<String>>,
    pub redirects: HashMap<String, String>,
    pub ever: HashSet<String>,
}

impl Named {
    /// An answer came from `url`.
    pub(super) fn note(&mut self, url: String, links: Vec<String>, redirect: Option<String>) {
        self.ever.extend(links.iter().chain(&redirect).cloned());
        match redirect {
            Some(target) => drop(self.redirects.insert(url.clone(), target)),
            None => drop(self.redirects.remove(&url)),
        }
        self.links.insert(url, links);
    }
}

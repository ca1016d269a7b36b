//! URLs that are named by the pages that a crawler has seen.

use std::collections::{HashMap, HashSet};

use crate::contract::Findings;

/// URLs that are named by the answers that the crawler has seen: by the last answer of each URL, and in all.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub links: HashMap<String, Vec<String>>,
    pub redirects: HashMap<String, String>,
    pub ever: HashSet<String>,
}

/// URLs that one answer names.
pub(super) struct Names {
    /// Its URL.
    pub url: String,
    pub links: Vec<String>,
    pub redirect: Option<String>,
}

impl Names {
    /// Returns the URLs that were found in the answer from `url`.
    pub(super) fn of(url: &str, findings: &Findings) -> Names {
        let links = findings.links.iter().map(|link| link.url.to_string()).collect();
        let redirect = findings.redirect.as_ref().map(|(target, _)| target.as_str().to_owned());
        Names { url: url.to_owned(), links, redirect }
    }
}

impl Named {
    /// An answer came, or was read again.
    pub(super) fn note(&mut self, names: Names) {
        let Names { url, links, redirect } = names;
        self.ever.extend(links.iter().chain(&redirect).cloned());
        match redirect {
            Some(target) => drop(self.redirects.insert(url.clone(), target)),
            None => drop(self.redirects.remove(&url)),
        }
        self.links.insert(url, links);
    }
}

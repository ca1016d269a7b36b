//! A sample of the graph of pages: those nearest the seeds, some of all others, and the links between them.
//!
//! Which of the others are taken is decided by a hash of the URL: an audit of the same crawl shows the same picture.

use std::collections::{BTreeSet, HashMap};

use sha1::{Digest, Sha1};

/// Pages nearest the seeds.
const NEAR: usize = 50;
/// Pages from all of them.
const ANY: usize = 50;
/// Links that are shown.
const EDGES_MAX: usize = 4_000;

/// Chooses pages while they come.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    near: BTreeSet<(u32, u64, String)>,
    any: BTreeSet<(u64, u32, String)>,
}

/// A page of the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// Its URL.
    pub url: String,
    /// Links from a seed.
    pub depth: Option<u32>,
}

/// Pages, and which of them links to which by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The pages, by depth.
    pub pages: Vec<Sampled>,
    /// From, to.
    pub edges: Vec<(usize, usize)>,
    pub(super) places: HashMap<String, usize>,
}

impl Sampler {
    /// A page that may be taken.
    pub(super) fn offer(&mut self, key: &str, depth: Option<u32>) {
        let digest = Sha1::digest(key.as_bytes());
        let hash = u64::from_be_bytes(digest[..8].try_into().expect("a digest has twenty bytes"));
        let depth = depth.unwrap_or(u32::MAX);
        if self.near.len() < NEAR || self.near.last().is_some_and(|last| (depth, hash) < (last.0, last.1)) {
            self.near.insert((depth, hash, key.to_owned()));
            if self.near.len() > NEAR {
                self.near.pop_last();
            }
        }
        if self.any.len() < ANY || self.any.last().is_some_and(|last| hash < last.0) {
            self.any.insert((hash, depth, key.to_owned()));
            if self.any.len() > ANY {
                self.any.pop_last();
            }
        }
    }

    /// The pages that were taken, with no links yet.
    pub(super) fn finish(self) -> Sample {
        let mut pages: Vec<(u32, String)> = self.near.into_iter().map(|(depth, _, key)| (depth, key)).collect();
        pages.extend(self.any.into_iter().map(|(_, depth, key)| (depth, key)));
        pages.sort();
        pages.dedup();
        let places = pages.iter().enumerate().map(|(place, (_, key))| (key.clone(), place)).collect();
        let known = |depth: u32| Some(depth).filter(|&depth| depth < u32::MAX);
        let pages = pages.into_iter().map(|(depth, url)| Sampled { url, depth: known(depth) }).collect();
        Sample { pages, edges: Vec::new(), places }
    }
}

impl Sample {
    /// The number of the page with this key.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// A link of the page with key `source` to the page of number `target`.
    pub(super) fn edge(&mut self, source: &str, target: usize) {
        if let Some(source) = self.place(source).filter(|&source| source != target && self.edges.len() < EDGES_MAX)
            && self.edges.last() != Some(&(source, target))
        {
            self.edges.push((source, target));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_nearest_pages_and_some_of_all_and_is_the_same_each_time() {
        let sample = |order: &mut dyn Iterator<Item = u32>| {
            let mut sampler = Sampler::default();
            order.for_each(|n| sampler.offer(&format!("https://a.example/{n}"), Some(n / 10)));
            sampler.finish()
        };
        let (mut found, again) = (sample(&mut (0..10_000)), sample(&mut (0..10_000).rev()));
        assert_eq!(found.pages, again.pages);
        assert!((90..=NEAR + ANY).contains(&found.pages.len()));
        assert_eq!(found.pages.iter().filter(|page| page.depth < Some(5)).count(), NEAR, "those of depths 0 to 4");
        let [first, last] = [found.pages[0].url.clone(), found.pages[60].url.clone()];
        found.edge(&first, 60);
        found.edge(&first, 60);
        found.edge(&last, 60);
        found.edge("https://b.example/", 60);
        assert_eq!(found.edges, [(0, 60)]);
    }
}

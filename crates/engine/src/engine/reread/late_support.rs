//! Supporters that are counted late: where that is switched on in a crawl that has pages, from its archive.
//!
//! With `by_standing` a link is worth what links to its source, and that is worth what links to *its* sources. So the
//! pairs of all pages are gathered first, each once, in a temporary file; then what each link is worth is worked out
//! from the domains of the seeds on, pass by pass, until a pass changes nothing. The worth of links only grows in that,
//! so what comes out is the least that agrees with all pairs, whatever their order: as if each page had come again
//! after all others. Of a crawl of several shards each one knows the pairs of its own pages.
//!
//! Memory: the domains of the seeds, and of those that have supporters.

use std::collections::{HashMap, HashSet};

use crate::container::{KeyRecord, Reader, ReplayedPage};
use crate::contract::{Purpose, Response};
use crate::disk::scratch::{Scratch, Writer};
use crate::disk::sorter::Sorter;
use crate::disk::{Error, Result};
use crate::engine::admission::Admission;
use crate::engine::start_reads::{StartProgress, StartReads};
use crate::engine::stored::Find;
use crate::engine::support::links_of;
use crate::fingerprint::Fingerprint;
use crate::frontier::quarters_of;
use crate::record::layout;
use crate::web::url::CanonicalUrl;

/// Memory in which pairs are sorted.
const SORT_BYTES: usize = 64 << 20;
const PRINT_BYTES: usize = 8;
const LINK_BYTES: usize = 3 * PRINT_BYTES;

/// Quarters that support domains.
type Counted = HashMap<Fingerprint, u64>;

/// A pair, with the domain whose pages make it. Where networks support, several domains may make the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    target: Fingerprint,
    pair: Fingerprint,
    source: Fingerprint,
}

impl Link {
    /// Sorts by target and pair.
    fn to_bytes(self) -> [u8; LINK_BYTES] {
        let mut bytes = [0; LINK_BYTES];
        for (place, print) in bytes.chunks_exact_mut(PRINT_BYTES).zip([self.target, self.pair, self.source]) {
            place.copy_from_slice(&print.bits().to_be_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Link {
        let print = |at: usize| {
            let print = bytes[at * PRINT_BYTES..][..PRINT_BYTES].try_into().expect("a link has three of eight bytes");
            Fingerprint::from_bits(u64::from_be_bytes(print))
        };
        Link { target: print(0), pair: print(1), source: print(2) }
    }
}

/// The links of an archive, each once and in order, and whose count in full.
struct Links {
    sorted: Scratch,
    seeds: HashSet<Fingerprint>,
}

impl Links {
    fn of(sorter: Sorter, seeds: HashSet<Fingerprint>) -> Result<Links> {
        let (mut sorted, mut out, mut last) = (sorter.finish()?, Writer::new()?, Vec::new());
        while let Some(line) = sorted.next()? {
            if last != line {
                out.write(line)?;
                last = line.to_vec();
            }
        }
        Ok(Links { sorted: out.finish()?, seeds })
    }

    /// Calls `each` with every pair, its target, and the quarters that it is worth if so many are counted for domains.
    fn for_each(
        &self,
        counted: &mut Counted,
        each: &mut dyn FnMut(&mut Counted, Link, u64) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.sorted.read();
        let mut open: Option<(Link, u64)> = None;
        while let Some(bytes) = reader.next(LINK_BYTES)? {
            let link = Link::read(bytes);
            let supporters = counted.get(&link.source).copied().unwrap_or(0);
            let worth = quarters_of(supporters, self.seeds.contains(&link.source));
            match &mut open {
                Some((of, most)) if of.pair == link.pair && of.target == link.target => *most = worth.max(*most),
                _ => {
                    if let Some((of, most)) = open.replace((link, worth)) {
                        each(counted, of, most)?;
                    }
                }
            }
        }
        open.map_or(Ok(()), |(of, most)| each(counted, of, most))
    }

    /// The quarters that support each domain.
    fn count(&self) -> Result<Counted> {
        let mut counted = Counted::new();
        loop {
            let (mut changed, mut sum) = (false, (Fingerprint::from_bits(0), 0));
            self.for_each(&mut counted, &mut |counted, link, worth| {
                sum = if sum.0 == link.target { (link.target, sum.1 + worth) } else { (link.target, worth) };
                let known = counted.get(&link.target).copied().unwrap_or(0);
                // links of one target follow each other; what was counted in the last pass stays until more is
                if sum.1 > known {
                    counted.insert(link.target, sum.1);
                    changed = true;
                }
                Ok(())
            })?;
            if !changed {
                return Ok(counted);
            }
        }
    }
}

/// The domains of seeds, and links of archived pages on their way to the store of pairs.
pub(crate) struct LateSupport<'a, 'f> {
    pub admission: &'a mut Admission,
    /// Finds links.
    pub find: &'a mut Find<'f>,
    /// The domains of all seeds, where supporters are counted late.
    pub seeds: HashSet<Fingerprint>,
}

impl LateSupport<'_, '_> {
    /// Notes the domains of seeds that were listed and may not be admitted yet, and of all where supporters are counted
    /// late.
    fn note_seeds(&mut self) -> Result<()> {
        if self.admission.stores.support.is_none() {
            return Ok(());
        }
        let (seeds, is_late) = (&mut self.admission.books.seeds, self.admission.stores.support_begins_late);
        let from = if is_late { 0 } else { seeds.admitted() };
        for number in from..seeds.len() {
            let Some(seed) = seeds.get(number)?.filter(|_| !seeds.is_foreign(number)) else { continue };
            let Ok(url) = CanonicalUrl::parse(&seed.url) else { continue };
            let domain = self.admission.home.keys.keys(&url).domain;
            self.admission.stores.sink.frontier.note_seed(domain)?;
            if is_late {
                self.seeds.insert(domain);
            }
        }
        Ok(())
    }

    /// Notes seeds, and counts the links of archived pages where that was not done when they came: up to those that are
    /// replayed.
    pub(crate) fn run(&mut self, progress: &mut StartProgress<'_>) -> Result<()> {
        self.note_seeds()?;
        if !std::mem::take(&mut self.admission.stores.support_begins_late) || self.admission.container.pages() == 0 {
            return Ok(());
        }
        tracing::info!("budgets by supporters were switched on: reading the archive for the links of its pages");
        let archive = Reader::open(self.admission.home.disk.clone(), &self.admission.home.dir.join(layout::PAGES))?;
        let (end, mut links) = (self.admission.container.key_bytes(), Sorter::new(SORT_BYTES));
        for (number, record) in (0..).zip(archive.records()) {
            let record = record?;
            progress(StartReads::Support, number, self.admission.container.pages());
            if record.offset >= end {
                break;
            }
            match archive.page(&record) {
                Ok(Some(page)) => self.gather(&record, page, &mut links)?,
                Ok(None) => {}
                Err(error @ Error::Damaged { .. }) => tracing::warn!("{error}: the links of {} are lost", record.url),
                Err(error) => return Err(error),
            }
        }
        let links = Links::of(links, std::mem::take(&mut self.seeds))?;
        let by_standing = self.admission.stores.by_standing;
        let mut counted = if by_standing { links.count()? } else { Counted::new() };
        links.for_each(&mut counted, &mut |_, Link { target, pair, .. }, worth| {
            match by_standing {
                true => (0..worth).try_for_each(|number| {
                    self.admission.count_pair(self.admission.quarter_of(pair, number), target)
                })?,
                false => self.admission.count_pair(pair, target)?,
            }
            while self.admission.stores.dispatch(crate::engine::RESULTS_PER_PUMP)? > 0 {}
            Ok(())
        })
    }

    /// Puts the pairs of an archived page into `links`; where a seed redirects to it, its domain is one of the `seeds`.
    fn gather(&mut self, record: &KeyRecord, page: ReplayedPage, links: &mut Sorter) -> Result<()> {
        let (address, of_seed) = (page.ip, !page.hops.contains(|hop| hop != 'R'));
        let retries = &self.admission.settings.retries;
        let scope = self.admission.scope.clone();
        let mut find =
            |url: &CanonicalUrl, purpose: Purpose<'_>, response: &Response| (self.find)(url, purpose, response, &scope);
        let Some((keys, findings)) = links_of(page, record.robots, retries, &self.admission.home.keys, &mut find)
        else {
            return Ok(());
        };
        if of_seed && self.seeds.insert(keys.domain) {
            self.admission.stores.sink.frontier.note_seed(keys.domain)?;
        }
        for (pair, target) in self.admission.plain_pairs_of(keys.domain, &findings, address) {
            links.push(&Link { target, pair, source: keys.domain }.to_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(links: &[(u64, u64)], seeds: &[u64]) -> HashMap<u64, u64> {
        let print = Fingerprint::from_bits;
        let mut sorter = Sorter::new(SORT_BYTES);
        for &(source, target) in links {
            let pair = print(source << 32 | target);
            sorter.push(&Link { target: print(target), pair, source: print(source) }.to_bytes()).unwrap();
        }
        let links = Links::of(sorter, seeds.iter().map(|&seed| print(seed)).collect()).unwrap();
        links.count().unwrap().into_iter().map(|(domain, quarters)| (domain.bits(), quarters)).collect()
    }

    #[test]
    fn a_chain_fades_and_a_clique_does_not_lift_itself() {
        // 1 is of a seed; each link of a chain is worth half of the one before
        let chain = [(4, 5), (3, 4), (2, 3), (1, 2), (1, 2)];
        assert_eq!(count(&chain, &[1]), HashMap::from([(2, 4), (3, 2), (4, 1)]));
        let clique: Vec<(u64, u64)> = (10..20).flat_map(|a| (10..20).map(move |b| (a, b))).collect();
        assert_eq!(count(&clique, &[1]), HashMap::new());
    }

    #[test]
    fn what_is_counted_is_what_agrees_with_all_links_in_whatever_order_domains_come() {
        let mut rng = fastrand::Rng::with_seed(43);
        for _ in 0..50 {
            let mut names: Vec<u64> = (1..40).collect();
            rng.shuffle(&mut names);
            let links: Vec<(usize, usize)> = (0..150).map(|_| (rng.usize(0..39), rng.usize(0..39))).collect();
            let by = |names: &[u64]| {
                let named: Vec<(u64, u64)> = links.iter().map(|&(from, to)| (names[from], names[to])).collect();
                let counted = count(&named, &names[..3]);
                let of = |name| counted.get(name).copied().unwrap_or(0);
                let by_place: Vec<u64> = names.iter().map(of).collect();
                for (place, found) in by_place.iter().enumerate() {
                    let sources: HashSet<usize> = links.iter().filter(|to| to.1 == place).map(|from| from.0).collect();
                    let worth = |&source: &usize| quarters_of(by_place[source], source < 3);
                    assert_eq!(*found, sources.iter().map(worth).sum::<u64>());
                }
                by_place
            };
            let before = by(&names);
            rng.shuffle(&mut names);
            assert_eq!(before, by(&names));
        }
    }
}

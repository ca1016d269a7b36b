//! Shards of a crawl, and which of them owns a URL.
//!
//! A crawl can be cut into shards: several engines, each with its own directory. A shard owns every URL of the
//! registrable domains that fall to it. Host, origin, robots.txt, DNS answer, delays, budgets and patterns are all
//! below one registrable domain, so what is exact for each of them in a crawl of one shard is exact in one of many.
//!
//! `shard = (mix(domain) * count) >> 64`: the top bits of the fingerprint itself choose buckets and partitions already.
//! If they chose the shard too, each shard would fill a few of its buckets only. So a bijective mixer comes before (its
//! constants are from Pelle Evensen's "moremur", 2019).
//!
//! What a registrable domain is depends on the public suffix list, which is compiled in: [`SUFFIXES`] is its version,
//! and part of the identity of a crawl with more than one shard.

use crate::fingerprint::Fingerprint;

/// Most shards of a crawl.
pub const SHARDS_MAX: u32 = 256;
/// Version of the public suffix list that is compiled in: major, minor and patch of the crate `psl`.
pub const SUFFIXES: u64 = version(2, 1, 247);

const fn version(major: u64, minor: u64, patch: u64) -> u64 {
    major * 1_000_000_000 + minor * 1_000_000 + patch
}

/// A shard of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// A crawl that is not cut.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// The shard `index` of `count`.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(index: u32, count: u32) -> Shard {
        assert!(index < count && count <= SHARDS_MAX, "shard {index} of {count}");
        Shard { index, count }
    }

    /// All shards of a crawl that has `count`.
    pub fn all(count: u32) -> impl Iterator<Item = Shard> {
        (0..count).map(move |index| Shard::new(index, count))
    }

    /// The index of the shard, of `count`, that owns the URLs of the registrable domain with this fingerprint.
    pub fn of(count: u32, domain: Fingerprint) -> u32 {
        let place = u128::from(mix(domain.bits())) * u128::from(count);
        (place >> 64) as u32
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Shards of its crawl.
    pub fn count(self) -> u32 {
        self.count
    }

    /// True if it is the only one.
    pub fn is_whole(self) -> bool {
        self.count == 1
    }

    /// True if it owns the URLs of this domain.
    pub fn owns(self, domain: Fingerprint) -> bool {
        self.is_whole() || Shard::of(self.count, domain) == self.index
    }

    /// The number by which a URL's history names the record at `offset` of this shard's key.dat, in every shard.
    pub fn via(self, offset: u64) -> u64 {
        (offset + 1) * u64::from(self.count) + u64::from(self.index)
    }

    /// The shard and the offset in its key.dat that `via` names; none for a seed.
    pub fn named_by(self, via: u64) -> Option<(u32, u64)> {
        let count = u64::from(self.count);
        let offset = (via / count).checked_sub(1)?;
        Some(((via % count) as u32, offset))
    }

    /// The name of its directory in the crawl directory.
    pub fn dir_name(self) -> String {
        format!("shard-{:03}", self.index)
    }
}

/// A bijection of 64 bits that no other part of the crawler uses.
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 27).wrapping_mul(0x3c79_ac49_2ba7_b653);
    let bits = (bits ^ bits >> 33).wrapping_mul(0x1c69_b3f7_4ac4_ae35);
    bits ^ bits >> 27
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprinter;

    #[test]
    fn every_domain_has_one_shard_and_shards_have_equal_shares() {
        let print = Fingerprinter::random(7);
        for count in [1, 2, 3, 8, 256] {
            let mut shares = vec![0_u32; count as usize];
            for number in 0..100_000 {
                let domain = print.of(format!("site{number}.example").as_bytes());
                let owners: Vec<u32> = Shard::all(count).filter(|shard| shard.owns(domain)).map(Shard::index).collect();
                assert_eq!(owners, [Shard::of(count, domain)]);
                shares[owners[0] as usize] += 1;
            }
            let mean = 100_000.0 / f64::from(count);
            // six standard deviations of a binomial share
            let off = 6.0 * mean.sqrt();
            assert!(shares.iter().all(|&share| (f64::from(share) - mean).abs() < off), "{count}: {shares:?}");
        }
    }

    #[test]
    fn within_a_shard_the_top_bits_of_a_fingerprint_still_choose_evenly() {
        let print = Fingerprinter::random(8);
        let mut buckets = [0_u32; 16];
        for number in 0..200_000 {
            let domain = print.of(format!("site{number}.example").as_bytes());
            if Shard::new(3, 8).owns(domain) {
                buckets[(domain.bits() >> 60) as usize] += 1;
            }
        }
        assert!(buckets.iter().all(|&count| (1_300..1_830).contains(&count)), "{buckets:?}");
    }

    #[test]
    fn a_record_is_named_as_ever_where_there_is_one_shard_and_uniquely_where_there_are_more() {
        assert_eq!(Shard::WHOLE.via(40), 41);
        assert_eq!(Shard::WHOLE.named_by(41), Some((0, 40)));
        for shard in Shard::all(5) {
            for offset in [0, 16, 1 << 40] {
                assert_eq!(Shard::new(0, 5).named_by(shard.via(offset)), Some((shard.index(), offset)));
            }
        }
        assert_eq!(Shard::new(2, 5).named_by(0), None);
    }

    #[test]
    fn the_version_of_the_suffix_list_is_that_of_the_crate() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        let psl = lock.split("[[package]]").find(|package| package.contains("name = \"psl\"\n")).unwrap();
        let found = psl.split("version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let numbers: Vec<u64> = found.split('.').map(|number| number.parse().unwrap()).collect();
        assert_eq!(version(numbers[0], numbers[1], numbers[2]), SUFFIXES, "psl {found}");
    }
}

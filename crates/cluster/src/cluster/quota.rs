//! Blocks of the limits of a crawl: pages and bytes move from what is left to a shard, and back.
//!
//! A block is the 4 P-th part of what is left, so that the last pages are dealt out one by one, and no shard waits for
//! another that sits on many. What a shard may still fetch is its grant less what its record has; so nothing is lost
//! with a node.

use super::record::{GrantRecord, HeadRecord, QuotaRecord};
use crate::record::Finish;

/// The rest that limits leave, and the grants of each shard, both at one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dealt {
    /// The rest that no shard was granted yet.
    pub left: QuotaRecord,
    /// Grants by shard.
    pub granted: Vec<GrantRecord>,
}

impl Dealt {
    /// Returns how the crawl ends if its limits are reached: nothing is left of one of them, and no shard has committed
    /// less than it was granted. `heads` may be older or newer. It stays so: a shard is granted nothing where nothing
    /// is left, and gives back only what it has not used.
    pub fn finish<'a>(&self, heads: impl IntoIterator<Item = Option<&'a HeadRecord>>) -> Option<Finish> {
        let finish = match self.left {
            QuotaRecord { pages: Some(0), .. } => Finish::PageLimit,
            QuotaRecord { bytes: Some(0), .. } => Finish::ByteLimit,
            _ => return None,
        };
        let nothing = HeadRecord::default();
        let is_used = |(granted, head): (&GrantRecord, Option<&HeadRecord>)| {
            let head = head.unwrap_or(&nothing);
            let is_of_pages = self.left.pages.is_some() && head.pages >= granted.pages;
            is_of_pages || self.left.bytes.is_some() && head.bytes >= granted.bytes
        };
        self.granted.iter().zip(heads).all(is_used).then_some(finish)
    }
}

/// The block that a shard gets of what is left: what is left then, and what the shard has in all. `None`: nothing of
/// something that is limited is left.
pub(super) fn block(left: QuotaRecord, granted: GrantRecord, shards: u32) -> Option<(QuotaRecord, GrantRecord)> {
    let share = |left: Option<u64>| match left {
        None => Some((None, 0)),
        Some(0) => None,
        Some(left) => {
            let block = (left / (4 * u64::from(shards.max(1)))).clamp(1, left);
            Some((Some(left - block), block))
        }
    };
    let ((pages_left, pages), (bytes_left, bytes)) = (share(left.pages)?, share(left.bytes)?);
    let granted = GrantRecord { pages: granted.pages + pages, bytes: granted.bytes + bytes };
    Some((QuotaRecord { pages: pages_left, bytes: bytes_left }, granted))
}

/// Returns what is left when a shard that has `granted` keeps only what it has `used`, and what it has then.
pub(super) fn given_back(left: QuotaRecord, granted: GrantRecord, used: GrantRecord) -> (QuotaRecord, GrantRecord) {
    let kept = GrantRecord { pages: granted.pages.min(used.pages), bytes: granted.bytes.min(used.bytes) };
    let more = |left: Option<u64>, back: u64| left.map(|left| left + back);
    let left = QuotaRecord {
        pages: more(left.pages, granted.pages - kept.pages),
        bytes: more(left.bytes, granted.bytes - kept.bytes),
    };
    (left, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_when_all_that_was_granted_is_committed() {
        let head = |pages, bytes| HeadRecord { pages, bytes, ..HeadRecord::default() };
        let granted = |pages, bytes| GrantRecord { pages, bytes };
        let left = |pages, bytes| QuotaRecord { pages, bytes };
        let of = |left, granted: &[GrantRecord], heads: &[HeadRecord]| {
            Dealt { left, granted: granted.to_vec() }.finish(heads.iter().map(Some))
        };
        let (pages, heads) = ([granted(3, 0), granted(4, 0)], [head(3, 90), head(4, 90)]);
        assert_eq!(of(left(Some(0), None), &pages, &heads), Some(Finish::PageLimit));
        assert_eq!(of(left(Some(1), None), &pages, &heads), None, "one more can be granted");
        assert_eq!(of(left(Some(0), None), &[granted(3, 0), granted(5, 0)], &heads), None, "one is not fetched");
        assert_eq!(of(left(None, None), &pages, &heads), None, "there are no limits");
        let bytes = [granted(0, 80), granted(0, 90)];
        assert_eq!(of(left(None, Some(0)), &bytes, &heads), Some(Finish::ByteLimit), "what came over counts");
        assert_eq!(of(left(None, Some(0)), &[granted(0, 99), granted(0, 90)], &heads), None);
        // of both limits one is enough to stop a shard
        let both = [granted(9, 90), granted(4, 99)];
        assert_eq!(of(left(Some(7), Some(0)), &both, &heads), Some(Finish::ByteLimit));
        let dealt = Dealt { left: left(Some(0), None), granted: pages.to_vec() };
        assert_eq!(dealt.finish([None, None]), None);
    }

    #[test]
    fn blocks_get_smaller_and_add_up() {
        let mut left = QuotaRecord { pages: Some(1_000), bytes: None };
        let mut shards = [GrantRecord::default(); 4];
        let mut turns = 0;
        'all: loop {
            for granted in &mut shards {
                let Some((less, more)) = block(left, *granted, 4) else {
                    break 'all;
                };
                assert!(more.pages - granted.pages <= 62 && more.pages > granted.pages);
                (left, *granted) = (less, more);
                turns += 1;
            }
        }
        assert_eq!((left.pages, shards.iter().map(|granted| granted.pages).sum::<u64>()), (Some(0), 1_000));
        assert!(turns < 100, "{turns}");
        let (back, kept) = given_back(left, shards[0], GrantRecord { pages: shards[0].pages - 5, bytes: 77 });
        assert_eq!((back, kept.pages), (QuotaRecord { pages: Some(5), bytes: None }, shards[0].pages - 5));
    }

    #[test]
    fn bytes_that_came_over_the_grant_give_nothing_back() {
        let left = QuotaRecord { pages: None, bytes: Some(10) };
        let granted = GrantRecord { pages: 0, bytes: 100 };
        let used = GrantRecord { pages: 7, bytes: 130 };
        assert_eq!(given_back(left, granted, used), (left, granted));
        assert_eq!(block(QuotaRecord { bytes: Some(0), ..left }, granted, 4), None);
        assert!(block(QuotaRecord::default(), granted, 4).is_some(), "without limits there is always more");
    }
}

//! The records that a crawl in etcd begins with: a new one, and one of which etcd has lost what it knew.

use super::super::etcd::Txn;
use super::super::keys::Keys;
use super::super::ownership::ClusterError;
use super::super::record::{CrawlRecord, GrantRecord, HeadRecord, QuotaRecord, SeedsRecord, WantRecord, written};
use super::putting;

/// etcd takes 128 changes in one transaction.
const CHANGES: usize = 100;

/// The records that a crawl begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The store of the objects.
    pub store: String,
    /// The version of the list of public suffixes.
    pub suffixes: u64,
    /// The state that is wanted. The number of lists is counted.
    pub want: WantRecord,
    /// The lists of seeds, in order.
    pub seeds: Vec<SeedsRecord>,
    /// The heads by shard: of a new crawl number 0 and nothing read. Of one that is recovered, those that the store
    /// has, with `read_to` and `links_at` 0, since revisions of another etcd mean nothing here.
    pub heads: Vec<HeadRecord>,
    /// The rest that limits leave.
    pub quota: QuotaRecord,
    /// Grants that shards have already, by shard.
    pub granted: Vec<GrantRecord>,
}

impl Beginning {
    /// The transactions that put all keys, those that say that the crawl is there in the last one.
    pub(super) fn transactions(&self, keys: &Keys, record: &CrawlRecord) -> Result<Vec<Txn>, ClusterError> {
        let crawl = keys.crawl();
        let begun = || Txn::new().if_created(&crawl, 0).or_get(&crawl);
        let mut all = Vec::new();
        let mut puts: Vec<(String, Vec<u8>)> = Vec::new();
        for (shard, head) in (0..).zip(&self.heads) {
            let key = keys.head(shard);
            puts.push((key.clone(), written(&key, head)?));
        }
        for (shard, granted) in (0..).zip(&self.granted) {
            let key = keys.granted(shard);
            puts.push((key.clone(), written(&key, granted)?));
        }
        for (number, list) in (1..).zip(&self.seeds) {
            let key = keys.seeds(number);
            puts.push((key.clone(), written(&key, list)?));
        }
        for chunk in puts.chunks(CHANGES) {
            all.push(chunk.iter().fold(begun(), |txn, (key, value)| txn.put(key, value)));
        }
        let seeds = u32::try_from(self.seeds.len()).expect("there are few lists");
        let want = WantRecord { seeds, ..self.want };
        let last = putting(begun(), &keys.quota(), &self.quota)?;
        let last = putting(last, &keys.want(), &want)?;
        all.push(putting(last, &crawl, record)?);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::record::FORMAT;
    use super::*;

    #[test]
    fn a_large_crawl_is_made_in_transactions_that_etcd_takes() {
        let beginning = Beginning { heads: vec![HeadRecord::default(); 4_096], ..Beginning::default() };
        let record =
            CrawlRecord { format: FORMAT, cluster: 1, store: "s3://b/c".to_owned(), shards: 4_096, suffixes: 3 };
        let all = beginning.transactions(&Keys::new("c", 1), &record).unwrap();
        assert_eq!(all.len(), 42);
        for txn in all {
            let json = serde_json::to_value(txn).unwrap();
            assert!(json["success"].as_array().unwrap().len() <= 128);
            assert_eq!(json["compare"].as_array().unwrap().len(), 1, "each only as long as there is no crawl");
        }
    }
}

//! Making a crawl in etcd: at its beginning, and when what etcd knew of it was lost.

use super::super::etcd::{Etcd, EtcdOptions, Txn};
use super::super::keys::Keys;
use super::super::ownership::ClusterError;
use super::super::record::{
    CrawlRecord, FORMAT, GrantRecord, HeadRecord, QuotaRecord, SeedsRecord, WantRecord, written,
};
use super::{CrawlName, EtcdCrawl, PATIENCE, patiently, putting};

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

impl EtcdCrawl {
    /// Makes the crawl. What another call began that was cut off is overwritten: before the last key is there, nobody
    /// takes part.
    pub fn create(options: &EtcdOptions, name: &CrawlName, beginning: &Beginning) -> Result<EtcdCrawl, ClusterError> {
        let etcd = Etcd::new(options)?;
        let keys = Keys::new(&name.id, name.era);
        let crawl = keys.crawl();
        let read = patiently(&etcd, options.patience, || etcd.get(&crawl))?;
        etcd.bind(read.cluster)?;
        if !read.keys.is_empty() {
            return Err(ClusterError::Made { prefix: keys.prefix().to_owned() });
        }
        let record = CrawlRecord {
            format: FORMAT,
            cluster: read.cluster,
            store: beginning.store.clone(),
            shards: u32::try_from(beginning.heads.len()).expect("a crawl has few shards"),
            suffixes: beginning.suffixes,
        };
        for txn in transactions(&keys, beginning, &record)? {
            let done = patiently(&etcd, PATIENCE, || etcd.transact(&txn))?;
            // the last one, sent twice, finds what it has put itself
            let found = done.read.first().and_then(Option::as_ref).map(|kv| &kv.value);
            if !done.succeeded && found != Some(&written(&crawl, &record)?) {
                return Err(ClusterError::Made { prefix: keys.prefix().to_owned() });
            }
        }
        Ok(EtcdCrawl { etcd, keys, era: name.era, record, patience: options.patience })
    }
}

/// All keys, those that say that the crawl is there in the last transaction.
fn transactions(keys: &Keys, beginning: &Beginning, record: &CrawlRecord) -> Result<Vec<Txn>, ClusterError> {
    let crawl = keys.crawl();
    let begun = || Txn::new().if_created(&crawl, 0).or_get(&crawl);
    let mut all = Vec::new();
    let mut puts: Vec<(String, Vec<u8>)> = Vec::new();
    for (shard, head) in (0..).zip(&beginning.heads) {
        let key = keys.head(shard);
        puts.push((key.clone(), written(&key, head)?));
    }
    for (shard, granted) in (0..).zip(&beginning.granted) {
        let key = keys.granted(shard);
        puts.push((key.clone(), written(&key, granted)?));
    }
    for (number, list) in (1..).zip(&beginning.seeds) {
        let key = keys.seeds(number);
        puts.push((key.clone(), written(&key, list)?));
    }
    for chunk in puts.chunks(CHANGES) {
        all.push(chunk.iter().fold(begun(), |txn, (key, value)| txn.put(key, value)));
    }
    let seeds = u32::try_from(beginning.seeds.len()).expect("there are few lists");
    let want = WantRecord { seeds, ..beginning.want };
    let last = putting(begun(), &keys.quota(), &beginning.quota)?;
    let last = putting(last, &keys.want(), &want)?;
    all.push(putting(last, &crawl, record)?);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_crawl_is_made_in_transactions_that_etcd_takes() {
        let beginning = Beginning { heads: vec![HeadRecord::default(); 4_096], ..Beginning::default() };
        let record =
            CrawlRecord { format: FORMAT, cluster: 1, store: "s3://b/c".to_owned(), shards: 4_096, suffixes: 3 };
        let all = transactions(&Keys::new("c", 1), &beginning, &record).unwrap();
        assert_eq!(all.len(), 42);
        for txn in all {
            let json = serde_json::to_value(txn).unwrap();
            assert!(json["success"].as_array().unwrap().len() <= 128);
            assert_eq!(json["compare"].as_array().unwrap().len(), 1, "each only as long as there is no crawl");
        }
    }
}

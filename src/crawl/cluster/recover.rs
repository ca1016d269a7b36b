//! A crawl whose etcd is lost, or was put back from a backup, goes on from what the store has of it.
//!
//! ```text
//! era begun in the store ─► lists noted ─► newest checkpoints listed ─► heads noted ─► etcd filled ─► old keys deleted
//! ```
//! Each step can be cut off: etcd has nothing of the new era until the last transaction fills in the key `crawl`, and
//! the next call begins an era behind this one. Nodes of an earlier era can commit nothing in the new one, since it has
//! other keys, and delete nothing once it has begun.
//!
//! A checkpoint that was shipped and never became a head is one like any other: it was written last, and on top of the
//! last head. What etcd alone knew is lost: whether the crawl was paused, which shards were halted.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::crawl_object::{CrawlObject, refused};
use super::{open_store, options};
use crate::checkpoint::CheckpointFile;
use crate::cluster::{
    Beginning, CrawlName, EtcdCrawl, EtcdOptions, GrantRecord, HeadRecord, QuotaRecord, Remains, WantRecord,
};
use crate::config::{Bytes, Config};
use crate::crawl::CrawlError;
use crate::exchange::Revision;
use crate::node::{Eras, Known, Stamp};
use crate::record::Statistics;
use crate::shard::SUFFIXES;
use crate::ship::{Manifest, StoreView};
use crate::store::ObjectStore;

/// Time after which everything that a node of an earlier era has sent to a store, other than a directory, has taken
/// effect.
const SETTLED: Duration = Duration::from_secs(30);
/// Memory of what was read from the store.
const CACHE_BYTES: usize = 8 << 20;

/// A crawl that was recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its id.
    pub id: String,
    /// The era that has begun.
    pub era: u32,
    /// Shards of the crawl.
    pub shards: u32,
    /// Shards that go on from a checkpoint; the others begin with the seeds.
    pub restored: u32,
    /// Pages in these checkpoints.
    pub pages: u64,
    /// Lists of seeds.
    pub lists: usize,
}

/// Begins a new era of the crawl in the store of `config` whose id begins with `id`, in the etcd of `etcd`, which may
/// be a new one. Refuses where that has the crawl unharmed, or has nodes of it, unless `anyway` says that all of them
/// are stopped. `say` gets how it goes.
pub fn recover(
    config: &Config,
    etcd: &EtcdOptions,
    id: Option<&str>,
    anyway: bool,
    say: &mut dyn FnMut(&str),
) -> Result<Recovered, CrawlError> {
    let store = open_store(config)?;
    let object = CrawlObject::find_shared(&*store, id)?;
    let (prefix, shards) = (object.prefix(), object.identity.shards());
    let eras = Eras { store: &*store, prefix: &prefix };
    let known = eras.known().map_err(refused)?;
    if known.lists.is_empty() {
        let address = store.address();
        return Err(CrawlError::Usage(format!("{address} has no list of the seeds of this crawl: it was never begun")));
    }
    let left = remains(etcd, &object.id(), known.newest)?;
    if !anyway {
        let is_lost = |revision| Ok(revision < greatest_revision(&*store, &object, &known)?);
        refuse_unharmed(&left, known.newest, is_lost)?;
    }
    let era = known.newest + 1;
    let another = || CrawlError::Usage("another crawler cluster recover works on this crawl".to_owned());
    let begun = eras.begin(era, options::random()).map_err(refused)?.ok_or_else(another)?;
    say(&format!("era {era} has begun: nodes of an earlier one commit and delete nothing any more"));
    let are_running = left.iter().any(|(_, remains)| remains.is_the_same && !remains.nodes.is_empty());
    if are_running || !store.address().starts_with("file:") {
        say(&format!("waiting {} seconds for what they have sent to the store", SETTLED.as_secs()));
        thread::sleep(SETTLED);
        // a store that does not know conditions may have taken another recovery's object in the place of this one
        if !eras.is_authors(&begun).map_err(refused)? {
            return Err(another());
        }
    }
    for (number, list) in (1..).zip(&known.lists) {
        eras.note_list(era, number, list).map_err(refused)?;
    }
    let beginning = beginning(&store, &object, &known)?;
    let stamps = |head: &HeadRecord| Stamp { era: head.era, epoch: head.epoch, number: head.number };
    let stamps: Vec<_> = beginning.heads.iter().map(|head| (head.number > 0).then(|| stamps(head))).collect();
    eras.put_heads(era, &stamps).map_err(refused)?;
    let name = CrawlName { id: object.id(), era };
    let crawl = EtcdCrawl::create(etcd, &name, &beginning).map_err(CrawlError::Cluster)?;
    for (era, _) in left {
        crawl.forget(&CrawlName { era, ..name.clone() }).map_err(CrawlError::Cluster)?;
    }
    let restored = stamps.iter().flatten().count() as u32;
    let pages = beginning.heads.iter().map(|head| head.pages).sum();
    Ok(Recovered { id: object.id(), era, shards, restored, pages, lists: known.lists.len() })
}

/// Returns what etcd has of each era up to this one.
fn remains(etcd: &EtcdOptions, id: &str, newest: u32) -> Result<Vec<(u32, Remains)>, CrawlError> {
    let mut all = Vec::new();
    for era in 0..=newest {
        let name = CrawlName { id: id.to_owned(), era };
        let found = EtcdCrawl::remains(etcd, &name).map_err(CrawlError::Cluster)?;
        all.extend(found.map(|found| (era, found)));
    }
    Ok(all)
}

/// Refuses a crawl that needs no recovery, and one that goes on. `is_lost` says whether an etcd at this revision has
/// been at a later one.
fn refuse_unharmed(
    left: &[(u32, Remains)],
    newest: u32,
    is_lost: impl Fn(Revision) -> Result<bool, CrawlError>,
) -> Result<(), CrawlError> {
    let same = || left.iter().filter(|(_, remains)| remains.is_the_same);
    let nodes: Vec<&str> = same().flat_map(|(_, remains)| &remains.nodes).map(String::as_str).collect();
    if !nodes.is_empty() {
        return Err(CrawlError::Usage(format!(
            "these machines take part in the crawl: {}. Stop all of them first; one that was killed stays registered \
             until its lease ends. --anyway recovers the crawl all the same: what they have not committed is lost",
            nodes.join(", ")
        )));
    }
    let Some((_, current)) = same().find(|(era, _)| *era == newest) else { return Ok(()) };
    if is_lost(current.revision)? {
        return Ok(());
    }
    Err(CrawlError::Usage(
        "etcd has the crawl, and nothing says that it has lost anything: there is nothing to recover. If its data was \
         put back from a backup, say --anyway"
            .to_owned(),
    ))
}

/// The greatest revision of the registry of the newest era that the store knows of.
fn greatest_revision(store: &dyn ObjectStore, object: &CrawlObject, known: &Known) -> Result<Revision, CrawlError> {
    let (names, mut greatest) = (object.names(), 0);
    for shard in 0..object.identity.shards() {
        let Some(manifest) = known.head(store, &names, shard).map_err(refused)? else { continue };
        if manifest.claim.era == known.newest {
            let of_links = manifest.links.iter().map(|links| links.revision).max().unwrap_or(0);
            greatest = greatest.max(manifest.claim.epoch).max(of_links).max(manifest.head.read_to.last());
        }
    }
    Ok(greatest)
}

/// Returns the state from which the crawl goes on: the newest whole checkpoint of each shard, which has read nothing in
/// the new era.
fn beginning(store: &Arc<dyn ObjectStore>, object: &CrawlObject, known: &Known) -> Result<Beginning, CrawlError> {
    let names = object.names();
    let (mut heads, mut granted) = (Vec::new(), Vec::new());
    for shard in 0..object.identity.shards() {
        let mut head = HeadRecord::default();
        if let Some(manifest) = known.head(&**store, &names, shard).map_err(refused)? {
            let statistics = statistics(store, &manifest)?;
            head = HeadRecord {
                era: manifest.claim.era,
                epoch: manifest.claim.epoch,
                number: manifest.number,
                manifest: manifest.name(&names),
                pages: statistics.counted_pages(),
                bytes: statistics.bytes_received,
                ..head
            };
        }
        granted.push(GrantRecord { pages: head.pages, bytes: head.bytes });
        heads.push(head);
    }
    let limits = &object.config.crawl;
    let sum = |of: fn(&GrantRecord) -> u64| granted.iter().map(of).sum::<u64>();
    let quota = QuotaRecord {
        pages: limits.max_pages.map(|most| most.saturating_sub(sum(|granted| granted.pages))),
        bytes: limits.max_bytes.map(Bytes::get).map(|most| most.saturating_sub(sum(|granted| granted.bytes))),
    };
    Ok(Beginning {
        store: store.address(),
        suffixes: SUFFIXES,
        want: WantRecord::default(),
        seeds: known.lists.clone(),
        heads,
        quota,
        granted,
    })
}

/// The counters of a checkpoint in the store.
fn statistics(store: &Arc<dyn ObjectStore>, manifest: &Manifest) -> Result<Statistics, CrawlError> {
    let (view, dir) = (StoreView::new(store.clone(), None, CACHE_BYTES), Path::new("/shard"));
    view.mount(dir, manifest, &|_| true);
    let record = CheckpointFile::read(&view.disk(), dir, manifest.number)?.record?;
    Ok(record.map(|checkpoint| checkpoint.statistics).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_that_goes_on_or_has_lost_nothing_is_left_alone() {
        let remains = |is_the_same, nodes: &[&str]| Remains {
            is_the_same,
            revision: 50,
            nodes: nodes.iter().map(|&name| name.to_owned()).collect(),
        };
        let judged = |left: &[(u32, Remains)], greatest: u64| {
            refuse_unharmed(left, 2, |revision| Ok(revision < greatest)).map_err(|error| error.to_string())
        };
        assert_eq!(judged(&[], 0), Ok(()), "a new etcd");
        assert!(judged(&[(2, remains(true, &["a", "b"]))], 0).unwrap_err().contains("a, b"));
        assert!(judged(&[(1, remains(true, &["a"]))], 0).unwrap_err().contains("a"), "a recovery was cut off");
        assert_eq!(judged(&[(1, remains(true, &[]))], 0), Ok(()));
        assert!(judged(&[(2, remains(true, &[]))], 50).unwrap_err().contains("nothing to recover"));
        assert_eq!(judged(&[(2, remains(true, &[]))], 51), Ok(()), "its data was put back");
        // the nodes are those that were in the snapshot: none of them can go on there
        assert_eq!(judged(&[(2, remains(false, &["a"]))], 0), Ok(()));
    }
}

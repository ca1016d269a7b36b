//! The eras of a crawl whose checkpoints are shipped. On many machines a new one begins when etcd has lost what it knew
//! of the crawl; without a registry each process that opens the crawl begins one, so that a process of before that was
//! stopped and wakes deletes nothing that its successor needs.
//!
//! ```text
//! <id>/era/0001            era 1 begins: the process that has put this object recovers or opens the crawl
//! <id>/era/0001.heads      the checkpoint from which each shard goes on in era 1
//! <id>/lists/e1-000002     the second list of seeds, as etcd accepted it
//! ```
//! `crawler cluster init` begins era 0, which has no objects but the lists. The newest era is the one that counts. Its
//! number is part of every key in etcd and of every object's name, so a node of an earlier era that still runs can
//! neither commit nor overwrite anything; and each node looks for a newer era before it deletes anything.
//!
//! Eras are found by asking for one name after the other, since listings may lag. A recovery that was cut off leaves an
//! era without heads, in which no node has ever worked: the next one begins an era behind it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::note::Stamp;
use super::objects::read_json;
use crate::cluster::SeedsRecord;
use crate::ship::{Manifest, Names, Since, newest_since};
use crate::store::{Body, Error, ObjectStore, Result};

/// No object of an era is longer: some hundred bytes a shard.
const BYTES_MAX: u64 = 16 << 20;

/// Content of the first object of an era.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The era.
    pub era: u32,
    /// Random text by which its author knows it again.
    random: String,
}

/// The eras of the crawl whose objects are below `prefix`.
#[derive(Clone, Copy, Debug)]
pub struct Eras<'a> {
    /// The store that has the objects.
    pub store: &'a dyn ObjectStore,
    /// Prefix of the crawl's objects.
    pub prefix: &'a str,
}

impl Eras<'_> {
    fn begun(&self, era: u32) -> String {
        format!("{}era/{era:04}", self.prefix)
    }

    fn heads_name(&self, era: u32) -> String {
        format!("{}era/{era:04}.heads", self.prefix)
    }

    fn list_name(&self, era: u32, number: u32) -> String {
        format!("{}lists/e{era}-{number:06}", self.prefix)
    }

    /// The era that counts.
    pub fn newest(&self) -> Result<u32> {
        self.newest_from(0)
    }

    /// The era that counts, which is this one or a later one.
    pub fn newest_from(&self, mut era: u32) -> Result<u32> {
        while !self.is_newest(era)? {
            era += 1;
        }
        Ok(era)
    }

    /// Returns whether no era has begun behind this one.
    pub(crate) fn is_newest(&self, era: u32) -> Result<bool> {
        Ok(self.store.length(&self.begun(era + 1))?.is_none())
    }

    /// Begins the era; nothing where another process has done so at the same time.
    pub fn begin(&self, era: u32, random: u128) -> Result<Option<Begun>> {
        let begun = Begun { era, random: format!("{random:032x}") };
        match self.store.put(&self.begun(era), &json(&begun)) {
            Err(Error::Taken { .. }) => return Ok(None),
            put => put?,
        }
        // one of the same length is taken for an earlier sending of the same bytes
        Ok(self.is_authors(&begun)?.then_some(begun))
    }

    /// Returns true where the era still has the author that has begun it: a store that does not know conditions lets
    /// another process that begins it at the same moment write over the object.
    pub fn is_authors(&self, begun: &Begun) -> Result<bool> {
        Ok(self.read::<Begun>(&self.begun(begun.era))?.is_some_and(|found| found == *begun))
    }

    /// The checkpoints from which the shards go on in this era: it is decided now.
    pub fn put_heads(&self, era: u32, heads: &[Option<Stamp>]) -> Result<()> {
        self.store.put(&self.heads_name(era), &json(&heads))
    }

    /// The list of seeds that etcd has accepted as the one of this number. All who put it know the same.
    pub fn note_list(&self, era: u32, number: u32, list: &SeedsRecord) -> Result<()> {
        self.store.put(&self.list_name(era, number), &json(list))
    }

    /// Returns what is known of the crawl without etcd.
    pub fn known(&self) -> Result<Known> {
        let newest = self.newest()?;
        let mut base = None;
        for era in (1..=newest).rev() {
            base = self.read::<Vec<Option<Stamp>>>(&self.heads_name(era))?.map(|heads| (era, heads));
            if base.is_some() {
                break;
            }
        }
        let (era, heads) = base.unwrap_or_default();
        let mut lists = Vec::new();
        while let Some(list) = self.read(&self.list_name(era, lists.len() as u32 + 1))? {
            lists.push(list);
        }
        Ok(Known { newest, era, heads, lists })
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(bytes) = self.store.length(name)? else { return Ok(None) };
        read_json(self.store, name, bytes, BYTES_MAX, "what a crawl says of an era").map(Some)
    }
}

/// The state of a crawl as the store has it, where no registry can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The era that has begun last.
    pub newest: u32,
    /// The last one in which nodes have worked.
    pub era: u32,
    /// Checkpoints from which they went on then. Empty for era 0.
    heads: Vec<Option<Stamp>>,
    /// The lists of seeds, in order.
    pub lists: Vec<SeedsRecord>,
}

impl Known {
    /// The manifests of the shard that count.
    pub fn since(&self, shard: u32) -> Since {
        let base = self.heads.get(shard as usize).copied().flatten();
        Since { era: self.era, base: base.map(|stamp| (stamp.claim(), stamp.number)) }
    }

    /// The checkpoint from which the shard goes on: the newest that is whole. What a node of an earlier era has put
    /// since is not taken: the others went on without it.
    pub fn head(&self, store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Option<Manifest>> {
        newest_since(store, names, shard, self.since(shard))
    }
}

fn json(value: &impl Serialize) -> Body {
    Body::of(serde_json::to_vec(value).expect("it is plain data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ship::Claim;
    use crate::store::{StoreOptions, open};

    #[test]
    fn an_era_has_one_author_and_what_was_cut_off_counts_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&format!("file://{}", dir.path().display()), &StoreOptions::default()).unwrap();
        let eras = Eras { store: &*store, prefix: "abc/" };
        let list = |object: &str| SeedsRecord { object: object.to_owned(), count: 2, ..SeedsRecord::default() };
        eras.note_list(0, 1, &list("a")).unwrap();
        eras.note_list(0, 1, &list("a")).unwrap();
        eras.note_list(0, 2, &list("b")).unwrap();
        assert!(eras.note_list(0, 2, &list("c")).is_err());
        let known = eras.known().unwrap();
        assert_eq!((known.newest, known.era, known.lists), (0, 0, vec![list("a"), list("b")]));
        let begun = eras.begin(1, 7).unwrap().unwrap();
        assert_eq!(eras.begin(1, 7).unwrap(), Some(begun.clone()));
        assert_eq!(eras.begin(1, 8).unwrap(), None, "another process was faster");
        assert!(eras.is_authors(&begun).unwrap());
        assert!(!eras.is_newest(0).unwrap() && eras.is_newest(1).unwrap());
        eras.note_list(1, 1, &list("a")).unwrap();
        let known = eras.known().unwrap();
        assert_eq!((known.newest, known.era, known.lists.len()), (1, 0, 2), "it has no heads");
        assert!(eras.begin(2, 9).unwrap().is_some());
        eras.note_list(2, 1, &list("a")).unwrap();
        let heads = vec![None, Some(Stamp::new(Claim { era: 0, epoch: 9 }, 4))];
        eras.put_heads(2, &heads).unwrap();
        let known = eras.known().unwrap();
        assert_eq!((known.newest, known.era, known.lists.len(), known.heads), (2, 2, 1, heads));
    }
}

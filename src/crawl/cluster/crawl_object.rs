//! The object by which a store knows a crawl as a whole: its identity and its settings, without secrets.
//!
//! ```text
//! crawls/<id>.json      identity, settings
//! <id>/seeds/...        pieces of the list of the seeds
//! <id>/017/...          checkpoints of shard 17
//! ```
//! The id is part of every name, so that several crawls can share a store.

use serde::{Deserialize, Serialize};

use crate::checkpoint::Identity;
use crate::config::Config;
use crate::crawl::CrawlError;
use crate::node::{prefix, read_json};
use crate::ship::Names;
use crate::store::{Body, Error, ObjectStore, Result};

const PREFIX: &str = "crawls/";
const SUFFIX: &str = ".json";
/// No settings are longer.
const BYTES_MAX: u64 = 4 << 20;

/// A crawl in a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CrawlObject {
    /// Identity of the crawl.
    pub identity: Identity,
    /// Its settings, without secrets.
    pub config: Config,
    /// True if machines share it by a registry: then no machine works on it alone.
    #[serde(default)]
    pub shared: bool,
}

/// The object of a crawl, as it is listed.
struct Listed {
    id: String,
    name: String,
    bytes: u64,
}

impl CrawlObject {
    /// Returns the prefix of the names of its objects.
    pub(crate) fn prefix(&self) -> String {
        prefix(self.identity.id)
    }

    /// The crawl's id, as text.
    pub(crate) fn id(&self) -> String {
        format!("{:032x}", self.identity.id)
    }

    /// The names of its checkpoints.
    pub(crate) fn names(&self) -> Names {
        Names::new(&self.prefix())
    }

    /// Puts it into the store, where it is not there yet.
    pub(crate) fn put(&self, store: &dyn ObjectStore) -> Result<()> {
        let name = format!("{PREFIX}{:032x}{SUFFIX}", self.identity.id);
        if store.length(&name)?.is_some() {
            return Ok(());
        }
        let json = serde_json::to_vec_pretty(self).expect("an identity and settings are plain data");
        store.put(&name, &Body::of(json))
    }

    /// The ids of the crawls in the store.
    pub(crate) fn ids(store: &dyn ObjectStore) -> Result<Vec<String>> {
        Ok(CrawlObject::listed(store)?.into_iter().map(|listed| listed.id).collect())
    }

    fn listed(store: &dyn ObjectStore) -> Result<Vec<Listed>> {
        let mut found = Vec::new();
        store.list(PREFIX, &mut |name, bytes| {
            let id = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
            found.extend(id.map(|id| Listed { id: id.to_owned(), name: name.to_owned(), bytes }));
        })?;
        Ok(found)
    }

    /// The only crawl in the store, or the one whose id begins with `id`.
    pub(crate) fn find(store: &dyn ObjectStore, id: Option<&str>) -> std::result::Result<CrawlObject, CrawlError> {
        let mut found = CrawlObject::listed(store).map_err(refused)?;
        found.retain(|listed| id.is_none_or(|id| listed.id.starts_with(id)));
        let address = store.address();
        match &found[..] {
            [] => Err(CrawlError::Usage(format!("there is no such crawl in {address}"))),
            [Listed { name, bytes, .. }] => CrawlObject::read(store, name, *bytes).map_err(refused),
            several => {
                let ids: Vec<&str> = several.iter().map(|listed| listed.id.as_str()).collect();
                let ids = ids.join("\n  ");
                Err(CrawlError::Usage(format!("{address} has several crawls; name one by --crawl ID:\n  {ids}")))
            }
        }
    }

    /// The same of crawls that machines share.
    pub(crate) fn find_shared(
        store: &dyn ObjectStore,
        id: Option<&str>,
    ) -> std::result::Result<CrawlObject, CrawlError> {
        let why = "was not made by crawler cluster init: one machine works on it, without a registry";
        CrawlObject::find_that(store, id, true, why)
    }

    /// The same of crawls that one machine works on.
    pub(crate) fn find_alone(
        store: &dyn ObjectStore,
        id: Option<&str>,
    ) -> std::result::Result<CrawlObject, CrawlError> {
        let why = "is shared by machines: name a member of its etcd by --registry";
        CrawlObject::find_that(store, id, false, why)
    }

    /// The same of one that is shared or is not; `why` says what is wrong with any other.
    fn find_that(
        store: &dyn ObjectStore,
        id: Option<&str>,
        shared: bool,
        why: &str,
    ) -> std::result::Result<CrawlObject, CrawlError> {
        let found = CrawlObject::find(store, id)?;
        if found.shared == shared {
            return Ok(found);
        }
        Err(CrawlError::Usage(format!("the crawl {} in {} {why}", found.id(), store.address())))
    }

    fn read(store: &dyn ObjectStore, name: &str, bytes: u64) -> Result<CrawlObject> {
        let expected = "identity and settings of a crawl";
        let object: CrawlObject = read_json(store, name, bytes, BYTES_MAX, expected)?;
        if !name.contains(&format!("{:032x}", object.identity.id)) {
            let found = format!("those of crawl {:032x}", object.identity.id);
            return Err(Error::Damaged { name: name.to_owned(), offset: 0, expected: expected.to_owned(), found });
        }
        Ok(object)
    }
}

/// A store that does not do what a start needs.
pub(super) fn refused(error: Error) -> CrawlError {
    match error {
        Error::Disk(error) => CrawlError::Disk(error),
        error => CrawlError::Usage(error.to_string()),
    }
}

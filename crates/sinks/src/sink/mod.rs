//! Search engines, databases and files that get documents: one trait, [`Sink`], and what all of them need.
//!
//! A sink applies a batch of changes and says what became of each. It never waits to try again, and writes no dead
//! letters: [`Delivery`] does, for all of them. Changes may come again after a crash, in their order, so a sink makes
//! the same of a batch however often it gets it.
//!
//! - [`Settings`]: the file of settings of a sink, and [`open`], which opens what it names
//! - [`Delivery`]: batches, tries again, writes dead letters, counts
//! - [`Differences`]: the ids of a crawl beside those of a sink
//! - [`Endpoint`]: the HTTP client of sinks and webhooks, and where they may connect
//! - `opensearch`, `postgres`, `parquet`, `sqlite`, `meilisearch`, `solr`, `search`: the sinks

mod backoff;
mod counters;
mod dead_letters;
mod delivery;
mod fields;
#[cfg(feature = "parquet")]
mod files;
mod http;
mod listing;
mod meilisearch;
mod opensearch;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "search")]
mod search;
mod settings;
mod solr;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tls;
mod verify;

use std::fmt;
use std::time::Duration;

pub use backoff::Backoff;
pub use counters::{Count, Counters};
pub use delivery::{Delivery, Error, Limits, Pause};
pub use http::{Answer, Endpoint, causes};
pub use listing::Listing;
pub use settings::{Kind, Reference, Settings, SettingsError};
pub use verify::{Difference, Differences, VerifyError};

use crate::feed::{Change, Document};
use crate::web::secret::Secret;

/// A target of documents.
pub trait Sink: Send {
    /// Applies the changes of a batch, each of another document. All that is not postponed or refused is durable when
    /// this returns.
    ///
    /// A sink that names what it stores by the number of the batch neither postpones nor refuses: parts of a batch
    /// have its number.
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure>;

    /// Reads back up to `most` documents behind the id `after`, in the order of the bytes of their ids. An empty page
    /// is the end. A first page (`after` is `None`) shows all that was applied before it.
    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure>;

    /// Does what is to be done when there are no more changes for now, or at the end of a run. It may come again.
    fn rest(&mut self, _is_end: bool) -> Result<(), Failure> {
        Ok(())
    }
}

/// The sink of `settings`; `secret` is what [`Settings::secret`] refers to. Nothing is connected to before the first
/// batch.
pub fn open(settings: &Settings, secret: Option<&Secret>) -> Result<Box<dyn Sink>, SettingsError> {
    settings.check()?;
    let refused = |problem| SettingsError { key: "url", problem };
    match settings.kind {
        Kind::OpenSearch => Ok(Box::new(opensearch::OpenSearch::new(settings, secret).map_err(refused)?)),
        Kind::Meilisearch => Ok(Box::new(meilisearch::Meilisearch::new(settings, secret).map_err(refused)?)),
        Kind::Solr => Ok(Box::new(solr::Solr::new(settings, secret).map_err(refused)?)),
        #[cfg(feature = "postgres")]
        Kind::Postgres => Ok(Box::new(postgres::Postgres::new(settings, secret).map_err(refused)?)),
        #[cfg(feature = "parquet")]
        Kind::Parquet => Ok(Box::new(parquet::ChangeFiles::new(settings).map_err(refused)?)),
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => Ok(Box::new(sqlite::Sqlite::new(settings))),
        #[cfg(feature = "search")]
        Kind::Search => Ok(Box::new(search::SearchIndex::new(settings))),
        #[cfg(not(all(feature = "postgres", feature = "parquet", feature = "search", feature = "sqlite")))]
        _ => Err(SettingsError { key: "kind", problem: "this program was built without it".to_owned() }),
    }
}

/// Changes that are applied together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The number of its first change in the stream; the same when it comes again.
    pub number: u64,
    /// The changes.
    pub changes: &'a [Change],
}

impl<'a> Batch<'a> {
    /// The documents that are new or have changed.
    fn documents(self) -> impl Iterator<Item = &'a Document> {
        self.changes.iter().filter_map(|change| match change {
            Change::Upsert(document) => Some(&**document),
            Change::Delete(_) => None,
        })
    }

    /// The ids of documents that are gone.
    fn deleted(self) -> impl Iterator<Item = &'a str> {
        self.changes.iter().filter_map(|change| match change {
            Change::Upsert(_) => None,
            Change::Delete(deletion) => Some(&*deletion.id),
        })
    }
}

/// The fate of the changes of a batch. Those that are not named were applied.
#[derive(Debug, Default)]
pub struct Applied {
    /// Bytes that were sent or written.
    pub bytes: u64,
    /// Changes that the target refuses for good.
    pub refused: Vec<Refused>,
    /// Changes that it could not take now.
    pub postponed: Option<Postponed>,
}

/// A change that the target refuses for good.
#[derive(Debug)]
pub struct Refused {
    /// Its index in the batch.
    pub at: usize,
    /// The reason.
    pub why: String,
}

/// Changes that are to be applied again later.
#[derive(Debug, Default)]
pub struct Postponed {
    /// Their indices in the batch, rising.
    pub at: Vec<usize>,
    /// The reason of one of them.
    pub why: String,
    /// The wait that the target asks for.
    pub wait: Option<Duration>,
}

/// A batch that was not applied, or maybe in part.
#[derive(Debug, PartialEq)]
pub enum Failure {
    /// The target could not take it now: the same batch may be tried again.
    Again {
        /// The reason.
        why: String,
        /// The wait that the target asks for.
        wait: Option<Duration>,
    },
    /// The target refuses it as it is. It may take parts of it; a single change that it refuses is refused for good.
    Refused {
        /// The reason.
        why: String,
    },
    /// Nothing is taken until somebody changes the settings or the target.
    Broken {
        /// The reason.
        why: String,
    },
}

impl Failure {
    fn again(why: impl Into<String>) -> Failure {
        Failure::Again { why: why.into(), wait: None }
    }

    fn broken(why: impl Into<String>) -> Failure {
        Failure::Broken { why: why.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Again { why, .. } | Failure::Refused { why } | Failure::Broken { why }) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Failure {}

/// A document, as the crawl has it or as a sink does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The digest of its body.
    pub digest: String,
}

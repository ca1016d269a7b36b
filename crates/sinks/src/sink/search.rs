//! An own full text index of the documents, which `crawler search --index` asks.
//!
//! A batch is one commit, durable when it has ended. To read the ids back takes memory for all of them.

use std::path::{Path, PathBuf};

use super::listing::Sorted;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Sink};
use crate::clock::Time;
use crate::feed::Document;
use crate::search::{Documents, Error, Searchable};
use crate::web::warc_date::parse_date;

/// An index.
pub(super) struct SearchIndex {
    dir: PathBuf,
    index: Option<Documents>,
    listing: Sorted,
}

impl SearchIndex {
    pub(super) fn new(settings: &Settings) -> SearchIndex {
        SearchIndex { dir: PathBuf::from(settings.url.expose()), index: None, listing: Sorted::default() }
    }

    fn store(&mut self, batch: Batch<'_>) -> Result<u64, Error> {
        let index = opened(&mut self.index, &self.dir)?;
        let mut bytes = 0;
        for document in batch.documents() {
            bytes += (document.title.len() + document.text.len()) as u64;
            index.put(&document.id, &searchable(document))?;
        }
        batch.deleted().for_each(|id| index.remove(id));
        index.commit()?;
        Ok(bytes)
    }

    /// A failure of the index; the next try opens it again, as of its last commit.
    fn failure(&mut self, error: &Error) -> Failure {
        self.index = None;
        match error {
            Error::Damaged { .. } => Failure::broken(error.to_string()),
            _ => Failure::again(error.to_string()),
        }
    }
}

fn opened<'a>(index: &'a mut Option<Documents>, dir: &Path) -> Result<&'a mut Documents, Error> {
    match index {
        Some(index) => Ok(index),
        None => Ok(index.insert(Documents::open(dir)?)),
    }
}

fn searchable(document: &Document) -> Searchable<'_> {
    Searchable {
        url: &document.url,
        captured: parse_date(&document.captured).unwrap_or(Time::ZERO),
        media_type: &document.mime,
        language: &document.language,
        kind: document.kind.as_deref(),
        digest: &document.digest,
        record: &document.record,
        title: &document.title,
        headings: "",
        text: &document.text,
    }
}

impl Sink for SearchIndex {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let bytes = self.store(batch).map_err(|error| self.failure(&error))?;
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        let (index, dir) = (&mut self.index, &self.dir);
        self.listing.page(after, most, || {
            let all = opened(index, dir).and_then(|index| index.all());
            let all = all.map_err(|error| Failure::broken(error.to_string()))?;
            Ok(all.into_iter().map(|found| Entry { id: found.id, digest: found.digest }).collect())
        })
    }
}

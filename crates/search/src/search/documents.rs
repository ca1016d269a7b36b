//! Keeps an index of documents, which equals a set of documents that somebody else keeps, and is of no crawl.

use std::fs;
use std::path::{Path, PathBuf};

use tantivy::schema::Field;
use tantivy::schema::document::Value;
use tantivy::{IndexReader, ReloadPolicy, TantivyDocument, Term};

use super::document::{Searchable, document};
use super::error::{Error, Result};
use super::fields::Fields;
use super::state::State;
use super::writer::{INDEX, Writer, begin, known};
use crate::disk::{DirectoryLock, Disk};

/// The writer.
pub struct Documents {
    dir: PathBuf,
    fields: Fields,
    index: tantivy::Index,
    writer: Writer,
}

/// A document of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// Its id.
    pub id: String,
    /// The digest of its body.
    pub digest: String,
}

impl Documents {
    /// Opens the index in `dir`; begins one where there is none.
    ///
    /// # Errors
    /// If another process has it open, and if there is something else.
    pub fn open(dir: &Path) -> Result<Documents> {
        Disk::real().create_dir_all(dir)?;
        let lock = DirectoryLock::acquire(dir)?;
        let (fields, files) = (Fields::of_documents(), dir.join(INDEX));
        let index = match known(&files, &fields) {
            Some((index, _)) => index,
            None if is_unused(&files) => begin(&files, &fields)?,
            None => {
                let why = "it is no index of documents of this version".to_owned();
                return Err(Error::Damaged { dir: dir.to_owned(), why });
            }
        };
        let writer = Writer::open(dir, &index, lock)?;
        Ok(Documents { dir: dir.to_owned(), fields, index, writer })
    }

    /// Puts a document in the place of the one with its id.
    pub fn put(&mut self, id: &str, page: &Searchable<'_>) -> Result<()> {
        self.remove(id);
        let mut document = document(page, &self.fields).document;
        document.add_text(self.id(), id);
        self.writer.add(document)
    }

    /// Removes the document with this id, if there is one.
    pub fn remove(&mut self, id: &str) {
        self.writer.delete(Term::from_field_text(self.id(), id));
    }

    /// Makes all that was put and removed durable. Readers see it from now on.
    pub fn commit(&mut self) -> Result<()> {
        self.writer.commit(&State::default())
    }

    /// All documents that the last commit has, in no order.
    pub fn all(&self) -> Result<Vec<Indexed>> {
        self.read().map_err(|error| Error::of_index(&self.dir, error))
    }

    fn read(&self) -> tantivy::Result<Vec<Indexed>> {
        let reader: IndexReader = self.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let mut all = Vec::new();
        for segment in reader.searcher().segment_readers() {
            let store = segment.get_store_reader(1)?;
            for document in store.iter::<TantivyDocument>(segment.alive_bitset()) {
                let document = document?;
                let text = |field: Field| {
                    let value = document.get_first(field).and_then(|value| value.as_str());
                    value.unwrap_or_default().to_owned()
                };
                all.push(Indexed { id: text(self.id()), digest: text(self.fields.digest) });
            }
        }
        Ok(all)
    }

    fn id(&self) -> Field {
        self.fields.id.expect("an index of documents has their ids")
    }
}

/// True if there is nothing but what a beginning that was killed has left.
fn is_unused(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return true };
    entries.flatten().all(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."))
}

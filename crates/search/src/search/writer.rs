//! The one writer of an index, of a crawl or of documents: its lock, tantivy's files, and the commits.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::query::Query;
use tantivy::{IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use super::analyzer::{self, Analyzer};
use super::error::{Error, Result};
use super::fields::Fields;
use super::state::State;
use crate::disk::{DirectoryLock, Disk};

/// The name of the directory of tantivy's files, beside the lock.
pub(super) const INDEX: &str = "index";
/// Why there is a writer.
const OPEN: &str = "the writer is taken when it is dropped";
/// Memory of a writer: the postings that are not written yet.
pub const WRITER_BYTES: usize = 64 << 20;
/// Documents of a segment that is not merged any more. Segments are searched side by side, so they are of even size.
const MERGED_MAX: usize = 50_000;

/// The writer.
pub(super) struct Writer {
    home: PathBuf,
    /// There until it is dropped.
    writer: Option<IndexWriter>,
    /// Given back when the writer is gone.
    _lock: DirectoryLock,
}

impl Writer {
    /// Writes `index`, whose files are in `home`, of which `lock` is.
    pub fn open(home: &Path, index: &tantivy::Index, lock: DirectoryLock) -> Result<Writer> {
        let writer = writer(index).map_err(|error| Error::of_index(home, error))?;
        Ok(Writer { home: home.to_owned(), writer: Some(writer), _lock: lock })
    }

    pub fn add(&self, document: TantivyDocument) -> Result<()> {
        self.writer().add_document(document).map(drop).map_err(|error| self.fault(error))
    }

    /// Deletes what has been added so far and has this term.
    pub fn delete(&self, term: Term) {
        self.writer().delete_term(term);
    }

    /// Deletes what has been added so far and is found by this question.
    pub fn delete_found(&self, question: Box<dyn Query>) -> Result<()> {
        self.writer().delete_query(question).map(drop).map_err(|error| self.fault(error))
    }

    pub fn delete_all(&self) -> Result<()> {
        self.writer().delete_all_documents().map(drop).map_err(|error| self.fault(error))
    }

    /// Makes all that was added and deleted durable, together with `state`. Readers see it from now on.
    pub fn commit(&mut self, state: &State) -> Result<()> {
        let writer = self.writer.as_mut().expect(OPEN);
        let mut commit = || {
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&state.payload());
            prepared.commit()
        };
        let committed = commit();
        committed.map(drop).map_err(|error| self.fault(error))
    }

    fn writer(&self) -> &IndexWriter {
        self.writer.as_ref().expect(OPEN)
    }

    fn fault(&self, error: tantivy::TantivyError) -> Error {
        Error::of_index(&self.home, error)
    }
}

impl Drop for Writer {
    /// Waits for the merges that have begun: they write files, and the lock is given back after them.
    fn drop(&mut self) {
        let ended = self.writer.take().map(IndexWriter::wait_merging_threads);
        // what a merge could not do the next one does: the commit before it counts
        drop(ended);
    }
}

/// The index in `dir` with its state, if it is one of this version.
pub(super) fn known(dir: &Path, fields: &Fields) -> Option<(tantivy::Index, State)> {
    let index = tantivy::Index::open_in_dir(dir).ok().filter(|index| index.schema() == fields.schema)?;
    let state = State::parse(index.load_metas().ok()?.payload.as_deref())?;
    // an index of which a file is missing or damaged is rebuilt
    let reads = || index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
    let is_whole =
        catch_unwind(AssertUnwindSafe(reads)).is_ok_and(|reader: tantivy::Result<IndexReader>| reader.is_ok());
    is_whole.then_some((index, state))
}

/// Makes an empty index in `dir`, in the place of what is there.
pub(super) fn begin(dir: &Path, fields: &Fields) -> Result<tantivy::Index> {
    match fs::remove_dir_all(dir) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Files { dir: dir.to_owned(), source });
        }
        _ => {}
    }
    Disk::real().create_dir_all(dir)?;
    let settings = IndexSettings {
        docstore_compression: tantivy::store::Compressor::Zstd(Default::default()),
        ..Default::default()
    };
    let made = tantivy::Index::builder().schema(fields.schema.clone()).settings(settings).create_in_dir(dir);
    made.map_err(|error| Error::of_index(dir, error))
}

/// Tantivy's writer: one thread for postings, one for merges.
fn writer(index: &tantivy::Index) -> tantivy::Result<IndexWriter> {
    index.tokenizers().register(analyzer::NAME, Analyzer);
    let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1);
    let writer: IndexWriter = index.writer_with_options(options.memory_budget_per_thread(WRITER_BYTES).build())?;
    let mut merges = LogMergePolicy::default();
    merges.set_max_docs_before_merge(MERGED_MAX);
    merges.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(merges));
    Ok(writer)
}

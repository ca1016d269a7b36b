//! The one writer of an index: catches up with the crawl, and commits.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Term};

use super::analyzer::{self, Analyzer};
use super::document::{Indexed, read};
use super::error::{Error, Result};
use super::fields::Fields;
use super::plan;
use super::state::State;
use crate::archive::{self, Follower, Page};
use crate::container::retention::list::ForgottenList;
use crate::dirs::CrawlDirs;
use crate::disk::{self, DirectoryLock, Disk};
use crate::record::layout;

/// The name of the directory of tantivy's files.
pub(super) const INDEX: &str = "index";
/// Why there is a writer.
const OPEN: &str = "the writer is taken when the updater is dropped";
/// Memory of a writer: the postings that are not written yet.
pub const WRITER_BYTES: usize = 64 << 20;
/// Texts between two commits: those that wait for tantivy's thread are in memory.
const COMMIT_BYTES: usize = 64 << 20;
/// Versions between two commits, so that a kill costs less than this.
const COMMIT_VERSIONS: u64 = 20_000;
/// Documents of a segment that is not merged any more. Segments are searched side by side, so they are of even size.
const MERGED_MAX: usize = 50_000;

/// The writer of an index.
pub struct Updater {
    root: PathBuf,
    dirs: CrawlDirs,
    fields: Fields,
    follower: Follower,
    state: State,
    /// There until the updater is dropped.
    writer: Option<IndexWriter>,
    /// The lock of the index, given back when the writer is gone.
    _lock: DirectoryLock,
}

/// The result of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Updated {
    /// Versions of URLs that were looked at.
    pub versions: u64,
    /// Pages among them, which are documents now.
    pub pages: u64,
    /// Pages that cannot be read: their records are damaged, or their bodies in an archive that is not there.
    pub unreadable: u64,
    /// True if all that the crawl's checkpoints cover is in the index now.
    pub is_complete: bool,
    /// True if the index was begun: there was none, or one of another version or crawl, or a page is remembered that
    /// had been forgotten.
    pub is_new: bool,
}

impl Updater {
    /// Opens the index of the crawl in `dir` for writing; `None` if another process has it open.
    ///
    /// # Errors
    /// If there is no crawl, or its directory cannot be written.
    pub fn open(dir: &Path) -> Result<Option<Updater>> {
        let disk = Disk::real();
        let dirs = CrawlDirs::around(&disk, dir)?;
        let root = dirs.root().to_owned();
        // there is a crawl: nothing is made where there is none
        let start = Follower::open(&root, &archive::Cursor::start())?;
        let home = root.join(layout::SEARCH);
        disk::refuse_links(&root, &[layout::SEARCH])?;
        disk.create_dir_all(&home)?;
        disk::refuse_links(&home, &[INDEX])?;
        let lock = match DirectoryLock::acquire(&home) {
            Err(disk::Error::InUse { .. }) => return Ok(None),
            lock => lock?,
        };
        let fields = Fields::of_crawl();
        let known = known(&index_dir(&root), &fields).and_then(|(index, state)| {
            let follower = Follower::open(&root, &state.cursor).ok()?;
            Some((index, state, follower))
        });
        let (index, state, follower) = match known {
            Some(known) => known,
            None => (begin(&index_dir(&root), &fields)?, State::default(), start),
        };
        let writer = writer(&index).map_err(|error| Error::of_index(&home, error))?;
        Ok(Some(Updater { root, dirs, fields, follower, state, writer: Some(writer), _lock: lock }))
    }

    /// Takes the pages that the crawl has stored since the last update, at most this many versions of URLs,
    /// and commits.
    /// `progress` is called after each with what was done so far.
    ///
    /// It can be called again and again. After an error open another updater: the index is as of the last commit.
    pub fn update(&mut self, versions_max: u64, progress: &mut dyn FnMut(&Updated)) -> Result<Updated> {
        let mut done = Updated { is_new: self.forget()?, ..Updated::default() };
        let (mut bytes, mut uncommitted) = (0, 0);
        while done.versions < versions_max {
            let Some(page) = self.follower.next_page()? else {
                done.is_complete = true;
                break;
            };
            bytes += self.take(&page, &mut done)?;
            (done.versions, uncommitted) = (done.versions + 1, uncommitted + 1);
            if bytes >= COMMIT_BYTES || uncommitted >= COMMIT_VERSIONS {
                self.commit()?;
                (bytes, uncommitted) = (0, 0);
            }
            progress(&done);
        }
        self.commit()?;
        Ok(done)
    }

    /// Takes out what was forgotten since the last commit. Says whether the index was begun again, because a page is
    /// remembered that is not in it.
    fn forget(&mut self) -> Result<bool> {
        let forgotten = self.dirs.forgotten(&Disk::real())?;
        let is_new = self.state.cursor == archive::Cursor::start();
        let new = forgotten.acts().get(self.state.forgotten..);
        if !is_new && new.is_none_or(|acts| acts.iter().any(|act| act.undo)) {
            self.begin_again()?;
        } else if !is_new && new.is_some_and(|acts| !acts.is_empty()) {
            self.delete_forgotten(&forgotten)?;
        }
        self.state.forgotten = forgotten.acts().len();
        Ok(self.state.cursor == archive::Cursor::start())
    }

    fn begin_again(&mut self) -> Result<()> {
        let start = archive::Cursor::start();
        self.follower = Follower::open(&self.root, &start)?;
        self.state = State::default();
        let deleted = self.writer().delete_all_documents();
        deleted.map(|_| ()).map_err(|error| self.fault(error))
    }

    fn delete_forgotten(&mut self, forgotten: &ForgottenList) -> Result<()> {
        let query = plan::forgotten(forgotten, &self.fields);
        self.writer().delete_query(Box::new(query)).map(|_| ()).map_err(|error| self.fault(error))
    }

    /// Takes a version of a URL. Returns the bytes of its texts.
    fn take(&mut self, page: &Page, done: &mut Updated) -> Result<usize> {
        if page.is_robots() {
            return Ok(0);
        }
        self.writer().delete_term(Term::from_field_text(self.fields.url, page.url()));
        let indexed = match self.read(page) {
            Ok(Some(indexed)) => indexed,
            Ok(None) => return Ok(0),
            Err(error) if error.is_of_page() => {
                done.unreadable += u64::from(!page.is_removed().unwrap_or(false));
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        self.writer().add_document(indexed.document).map_err(|error| self.fault(error))?;
        done.pages += 1;
        Ok(indexed.bytes)
    }

    /// Reads a version of a URL, if it is a document.
    fn read(&self, page: &Page) -> Result<Option<Indexed>> {
        page.is_document()?.then(|| read(page, &self.fields)).transpose()
    }

    /// Makes all that was taken durable, together with the cursor behind it.
    fn commit(&mut self) -> Result<()> {
        let state = State { cursor: self.follower.cursor(), forgotten: self.state.forgotten };
        if state == self.state {
            return Ok(());
        }
        let writer = self.writer.as_mut().expect(OPEN);
        let mut commit = || {
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&state.payload());
            prepared.commit()
        };
        let committed = commit();
        committed.map_err(|error| self.fault(error))?;
        self.state = state;
        Ok(())
    }

    fn writer(&self) -> &IndexWriter {
        self.writer.as_ref().expect(OPEN)
    }

    fn fault(&self, error: tantivy::TantivyError) -> Error {
        Error::of_index(&self.root.join(layout::SEARCH), error)
    }
}

impl Drop for Updater {
    /// Waits for the merges that have begun: they write files, and the lock is given back after them.
    fn drop(&mut self) {
        let ended = self.writer.take().map(IndexWriter::wait_merging_threads);
        // what a merge could not do the next one does: the commit before it counts
        drop(ended);
    }
}

/// The directory of tantivy's files.
pub(super) fn index_dir(root: &Path) -> PathBuf {
    root.join(layout::SEARCH).join(INDEX)
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

/// The writer of an index: one thread for postings, one for merges.
pub(super) fn writer(index: &tantivy::Index) -> tantivy::Result<IndexWriter> {
    index.tokenizers().register(analyzer::NAME, Analyzer);
    let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1);
    let writer: IndexWriter = index.writer_with_options(options.memory_budget_per_thread(WRITER_BYTES).build())?;
    let mut merges = LogMergePolicy::default();
    merges.set_max_docs_before_merge(MERGED_MAX);
    merges.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(merges));
    Ok(writer)
}

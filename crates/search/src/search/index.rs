//! Readers of an index: no lock, nothing written, and a look at each question whether there is a newer commit.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use tantivy::collector::{Count, TopDocs};
use tantivy::query::BooleanQuery;
use tantivy::{IndexReader, Order, ReloadPolicy, Searcher, SegmentReader, TantivyError};

use super::analyzer::{self, Analyzer};
use super::directory::ReadOnly;
use super::error::{Error, Result};
use super::facets::FacetCollector;
use super::fields::Fields;
use super::found::{Found, Hit, Scored};
use super::near::Taken;
use super::plan::{self, Plan};
use super::query::{HITS_MAX, Parsed, Query, parse};
use super::state::State;
use super::updater::index_dir;
use super::writer::INDEX;
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::record::layout;

/// Threads that search the segments of an index.
const THREADS_MAX: usize = 8;
/// Attempts to open a commit whose files the writer takes away meanwhile.
const ATTEMPTS: u32 = 20;
/// Hits that are looked at for near duplicates, for each that is wanted.
const CANDIDATES: usize = 2;

/// An index that is open for questions. Any number of threads may ask it at once.
pub struct Index {
    /// The crawl of whose pages it is; none for an index of documents.
    crawl: Option<CrawlDirs>,
    dir: PathBuf,
    /// The directory of tantivy's files.
    files: PathBuf,
    fields: Fields,
    index: tantivy::Index,
    reader: IndexReader,
    newest: Mutex<Option<Commit>>,
}

/// A commit of the index, and what was asked of it once.
#[derive(Clone)]
struct Commit {
    stamp: Stamp,
    searcher: Searcher,
    state: State,
    languages: Vec<String>,
}

/// The properties of the commit's file, of which one is another after each commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, i64, i64, u64);

impl Index {
    /// Opens the index of the crawl in `dir`.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if no update has ended there yet.
    pub fn open(dir: &Path) -> Result<Index> {
        let crawl = CrawlDirs::around(&Disk::real(), dir)?;
        let (home, files) = (crawl.root().join(layout::SEARCH), index_dir(crawl.root()));
        Index::open_files(home, files, Fields::of_crawl(), Some(crawl))
    }

    /// Opens the index of documents in `dir`.
    ///
    /// # Errors
    /// [`Error::NoIndex`] if there is none.
    pub fn of_documents(dir: &Path) -> Result<Index> {
        Index::open_files(dir.to_owned(), dir.join(INDEX), Fields::of_documents(), None)
    }

    fn open_files(home: PathBuf, files: PathBuf, fields: Fields, crawl: Option<CrawlDirs>) -> Result<Index> {
        let opened = unwinding(&home, || {
            let mut index = tantivy::Index::open(ReadOnly::open(&files)?)?;
            // the segments of a large index are searched side by side
            index.set_multithread_executor(thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX))?;
            index.tokenizers().register(analyzer::NAME, Analyzer);
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(32);
            Ok((reader.try_into()?, index))
        });
        let (reader, index) = opened?;
        if index.schema() != fields.schema {
            return Err(Error::NoIndex(home));
        }
        let index = Index { crawl, dir: home, files, fields, index, reader, newest: Mutex::new(None) };
        index.commit()?;
        Ok(index)
    }

    /// Pages in the index.
    pub fn pages(&self) -> u64 {
        self.commit().map_or(0, |commit| commit.searcher.num_docs())
    }

    /// Answers a question by the newest commit.
    ///
    /// # Errors
    /// [`Error::Query`] if it cannot be understood or costs too much.
    pub fn search(&self, query: &Query) -> Result<Found> {
        let parsed = parse(query)?;
        let commit = self.commit()?;
        let hidden = self.hidden(&commit.state)?;
        let plan = plan::plan(&parsed, &self.fields, &commit.languages, hidden);
        unwinding(&self.dir, || self.answer(query, &parsed, &plan, &commit.searcher))
    }

    /// Finds what was forgotten after the commit was made.
    fn hidden(&self, state: &State) -> Result<Option<BooleanQuery>> {
        let Some(crawl) = &self.crawl else { return Ok(None) };
        let forgotten = crawl.forgotten(&Disk::real())?;
        Ok((forgotten.acts().len() > state.forgotten).then(|| plan::forgotten(&forgotten, &self.fields)))
    }

    /// The newest commit. The one before is good enough while an index is rebuilt from its beginning.
    fn commit(&self) -> Result<Commit> {
        let mut newest = self.newest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let stamp = stamp(&self.files);
        if let Some(newest) = newest.as_ref()
            && stamp.is_none_or(|stamp| stamp == newest.stamp)
        {
            return Ok(newest.clone());
        }
        let Some(stamp) = stamp else { return Err(Error::NoIndex(self.dir.clone())) };
        match (self.read_commit(stamp), newest.as_ref()) {
            (Ok(commit), _) => {
                *newest = Some(commit.clone());
                Ok(commit)
            }
            (Err(Error::NoIndex(_)), Some(before)) => Ok(before.clone()),
            (Err(error), _) => Err(error),
        }
    }

    fn read_commit(&self, stamp: Stamp) -> Result<Commit> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            // the payload first: an older one hides more
            let read = unwinding(&self.dir, || {
                let payload = self.index.load_metas()?.payload;
                self.reader.reload()?;
                let searcher = self.reader.searcher();
                let languages = languages(&searcher, &self.fields)?;
                Ok((payload, searcher, languages))
            });
            match read {
                Ok((payload, searcher, languages)) => {
                    let state = State::parse(payload.as_deref()).ok_or_else(|| Error::NoIndex(self.dir.clone()))?;
                    return Ok(Commit { stamp, searcher, state, languages });
                }
                Err(Error::NoIndex(_)) if attempts < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn answer(&self, query: &Query, parsed: &Parsed, plan: &Plan, searcher: &Searcher) -> tantivy::Result<Found> {
        let mut found = Found::default();
        if query.facets {
            found.facets = searcher.search(&plan.query, &FacetCollector)?.into();
        }
        let end = query.offset + query.limit;
        let mut looked_at = if query.fold { end * CANDIDATES } else { end };
        loop {
            looked_at = looked_at.clamp(1, HITS_MAX * CANDIDATES);
            let (best, total) = best(searcher, parsed, plan, looked_at)?;
            found.total = total;
            let is_all = best.len() < looked_at || looked_at == HITS_MAX * CANDIDATES;
            let (kept, folded) = if query.fold { self.unfolded(searcher, best, end)? } else { (best, 0) };
            if kept.len() < end && !is_all {
                looked_at *= 4;
                continue;
            }
            let shown = kept.into_iter().take(end).skip(query.offset);
            let read = |place| Hit::read(searcher, place, &self.fields, &plan.marked);
            found.folded = folded;
            found.hits = shown.map(read).collect::<tantivy::Result<_>>()?;
            return Ok(found);
        }
    }

    /// The first `wanted` of `best` that are not nearly the same as a better one, and the number that were left out.
    fn unfolded(&self, searcher: &Searcher, best: Vec<Scored>, wanted: usize) -> tantivy::Result<(Vec<Scored>, u64)> {
        let near = |segment: &SegmentReader| segment.fast_fields().column_opt::<u64>(Fields::NEAR);
        let columns = searcher.segment_readers().iter().map(near).collect::<tantivy::Result<Vec<_>>>()?;
        let (mut taken, mut kept, mut folded) = (Taken::default(), Vec::new(), 0);
        for scored in best {
            if kept.len() == wanted {
                break;
            }
            let column = columns[scored.address.segment_ord as usize].as_ref();
            let parts: Vec<u64> =
                column.map(|column| column.values_for_doc(scored.address.doc_id).collect()).unwrap_or_default();
            if taken.take(&parts) {
                kept.push(scored);
            } else {
                folded += 1;
            }
        }
        Ok((kept, folded))
    }
}

/// The best hits in their order, by score, or by time where there are no words; and the number of all.
fn best(searcher: &Searcher, parsed: &Parsed, plan: &Plan, count: usize) -> tantivy::Result<(Vec<Scored>, u64)> {
    let top = TopDocs::with_limit(count);
    if parsed.has_words() {
        let (found, total) = searcher.search(&plan.query, &(top.order_by_score(), Count))?;
        return Ok((found.into_iter().map(|(score, address)| Scored { address, score }).collect(), total as u64));
    }
    let newest = top.order_by_u64_field(Fields::CAPTURED, Order::Desc);
    let (found, total) = searcher.search(&plan.query, &(newest, Count))?;
    Ok((found.into_iter().map(|(_, address)| Scored { address, score: 0.0 }).collect(), total as u64))
}

/// The languages of the pages in an index.
fn languages(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Vec<String>> {
    let mut languages = BTreeSet::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(fields.language)?;
        let mut terms = index.terms().stream()?;
        while terms.advance() {
            languages.insert(String::from_utf8_lossy(terms.key()).into_owned());
        }
    }
    Ok(languages.into_iter().filter(|language| !language.is_empty()).collect())
}

fn stamp(dir: &Path) -> Option<Stamp> {
    let meta = fs::metadata(dir.join("meta.json")).ok()?;
    Some(Stamp(meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
}

/// Runs what reads the files of an index. tantivy trusts them: where they are damaged, it may panic.
fn unwinding<T>(home: &Path, read: impl FnOnce() -> tantivy::Result<T>) -> Result<T> {
    let panicked = |_| Err(TantivyError::InternalError("reading it panicked".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked).map_err(|error| Error::of_index(home, error))
}

/// Proves that an index can be shared by threads.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
};

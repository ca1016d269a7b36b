//! Keeps the index up with the crawl, and commits.

use std::path::{Path, PathBuf};

use tantivy::Term;

use super::document::{Indexed, read};
use super::error::Result;
use super::fields::Fields;
use super::plan;
use super::state::State;
use super::writer::{INDEX, Writer, begin, known};
use crate::archive::{self, Follower, Page};
use crate::container::retention::list::ForgottenList;
use crate::dirs::CrawlDirs;
use crate::disk::{self, DirectoryLock, Disk};
use crate::record::layout;

/// Texts between two commits: those that wait for tantivy's thread are in memory.
const COMMIT_BYTES: usize = 64 << 20;
/// Versions between two commits, so that a kill costs less than this.
const COMMIT_VERSIONS: u64 = 20_000;

/// The writer of an index.
pub struct Updater {
    root: PathBuf,
    dirs: CrawlDirs,
    fields: Fields,
    follower: Follower,
    state: State,
    writer: Writer,
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
        let writer = Writer::open(&home, &index, lock)?;
        Ok(Some(Updater { root, dirs, fields, follower, state, writer }))
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
        self.writer.delete_all()
    }

    fn delete_forgotten(&mut self, forgotten: &ForgottenList) -> Result<()> {
        let query = plan::forgotten(forgotten, &self.fields);
        self.writer.delete_found(Box::new(query))
    }

    /// Takes a version of a URL. Returns the bytes of its texts.
    fn take(&mut self, page: &Page, done: &mut Updated) -> Result<usize> {
        if page.is_robots() {
            return Ok(0);
        }
        self.writer.delete(Term::from_field_text(self.fields.url, page.url()));
        let indexed = match self.read(page) {
            Ok(Some(indexed)) => indexed,
            Ok(None) => return Ok(0),
            Err(error) if error.is_of_page() => {
                done.unreadable += u64::from(!page.is_removed().unwrap_or(false));
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        self.writer.add(indexed.document)?;
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
        self.writer.commit(&state)?;
        self.state = state;
        Ok(())
    }
}

/// The directory of tantivy's files.
pub(super) fn index_dir(root: &Path) -> PathBuf {
    root.join(layout::SEARCH).join(INDEX)
}

//! The one writer of a feed: reads what the crawl has stored, and makes passes.

use std::path::Path;

use super::error::Result;
use super::guard::{Allowed, Days, Limits};
use super::home::{Head, Home};
use super::pass::{Answers, Changed, Pass};
use super::rules::Rules;
use crate::archive::{Archive, Cursor, Follower, Page};
use crate::clock::Time;
use crate::dirs::CrawlDirs;
use crate::disk::{self, DirectoryLock, Disk};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Answers of a pass at most, of those that say something.
const ANSWERS_MAX: u64 = 500_000;

/// The writer of a feed.
pub struct Updater {
    dirs: CrawlDirs,
    keys: KeyMaker,
    home: Home,
    head: Head,
    follower: Follower,
    limits: Limits,
    _lock: DirectoryLock,
}

/// The result of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Answers that were read.
    pub answers: u64,
    /// Answers that cannot be read.
    pub unreadable: u64,
    /// Documents after it.
    pub documents: u64,
    /// Documents that are new or have changed.
    pub upserts: u64,
    /// Documents that are gone.
    pub deletions: u64,
    /// True if there may be more to read.
    pub has_more: bool,
}

impl Updater {
    /// Opens the feed of the crawl in `dir` for writing; begins one where there is none. `None` if another process has
    /// it open.
    ///
    /// # Errors
    /// If there is no crawl, or its directory cannot be written.
    pub fn open(dir: &Path, limits: Limits) -> Result<Option<Updater>> {
        let disk = Disk::real();
        let dirs = CrawlDirs::around(&disk, dir)?;
        // there is a crawl: nothing is made where there is none
        let start = Follower::open(dirs.root(), &Cursor::start())?;
        let keys = Archive::open(dirs.root())?.archives().keys().clone();
        let home = Home::of(&disk, dirs.root());
        home.create(dirs.root())?;
        let lock = match DirectoryLock::acquire(home.dir()) {
            Err(disk::Error::InUse { .. }) => return Ok(None),
            lock => lock?,
        };
        let (head, follower) = match home.head()? {
            Some(head) => {
                let follower = Follower::open(dirs.root(), &Cursor::from_json(&head.cursor)?)?;
                (head, follower)
            }
            None => (first(), start),
        };
        home.sweep(head.pass)?;
        Ok(Some(Updater { dirs, keys, home, head, follower, limits, _lock: lock }))
    }

    /// Lets documents of the feed in `dir` go that wait for the operator: at the next pass, of whichever process.
    ///
    /// # Errors
    /// If there is no feed, or its directory cannot be written.
    pub fn allow(dir: &Path, allowed: &[Allowed]) -> Result<()> {
        let home = Home::around(dir)?;
        home.require_head()?;
        allowed.iter().try_for_each(|allowed| home.allow(allowed))
    }

    /// Makes one pass over what the crawl has stored since the last one, if that is anything. Returns nothing where it
    /// is not.
    pub fn update(&mut self, rules: &dyn Rules, now: Time) -> Result<Option<Updated>> {
        let mut updated = Updated::default();
        let near_duplicates = rules.near_duplicates();
        let answers = self.answers(rules, &mut updated)?;
        let forgotten = self.dirs.forgotten(self.home.disk())?;
        let acts = forgotten.acts().len();
        let is_first = self.head.pass == 0;
        let (has, obeys) = (|url: &CanonicalUrl| rules.has(url), |url: &CanonicalUrl| rules.obeys(url));
        let has_other_rules = rules.version() != self.head.rules && !is_first;
        let changed = Changed {
            forgotten: (acts != self.head.forgotten).then_some(&forgotten),
            scope: has_other_rules.then_some(&has),
            obeys: has_other_rules.then_some(&obeys),
            likeness: near_duplicates != self.head.near_duplicates && !is_first,
        };
        let (files, allowed): (Vec<_>, _) = self.home.allowed()?.into_iter().unzip();
        if answers.taken == 0 && !changed.anything() && files.is_empty() {
            return Ok(None);
        }
        let archives = Archive::open(self.dirs.root())?.archives().clone();
        let mut head = Head {
            pass: self.head.pass + 1,
            cursor: self.follower.cursor().to_json(),
            forgotten: acts,
            rules: rules.version(),
            near_duplicates,
            ..self.head.clone()
        };
        let (home, keys, last) = (&self.home, &self.keys, self.head.pass);
        let pass = Pass { home, keys, archives: &archives, last, near_duplicates };
        pass.merge(answers, &changed)?;
        pass.guard(&mut head.days, &Limits { allowed, ..self.limits.clone() }, now)?;
        let done = pass.publish(&head.days)?;
        head.documents = done.documents;
        self.home.commit(&head)?;
        self.head = head;
        self.home.sweep(self.head.pass)?;
        files.iter().try_for_each(|file| self.home.disk().remove(file))?;
        (updated.documents, updated.upserts, updated.deletions) = (done.documents, done.upserts, done.deletions);
        Ok(Some(updated))
    }

    fn answers(&mut self, rules: &dyn Rules, updated: &mut Updated) -> Result<Answers> {
        let mut answers = Answers::new(self.keys.clone(), rules.near_duplicates().is_some());
        while let Some(page) = self.follower.next_page()? {
            updated.answers += 1;
            match take(&mut answers, &page, rules) {
                Err(error) if error.is_of_page() => updated.unreadable += 1,
                taken => taken?,
            }
            if answers.taken >= ANSWERS_MAX {
                updated.has_more = true;
                break;
            }
        }
        Ok(answers)
    }
}

fn take(answers: &mut Answers, page: &Page, rules: &dyn Rules) -> Result<()> {
    if !page.is_robots() {
        return answers.take(page);
    }
    // after redirects, the rules are those of the origin that was asked first
    let via = page.history()?.via;
    let Ok(asked) = CanonicalUrl::parse(via.as_deref().unwrap_or(page.url())) else { return Ok(()) };
    match rules.robots(page, &asked) {
        Some(found) => answers.take_robots(&asked, page.parts().2.time, &found),
        None => Ok(()),
    }
}

/// The state before the first pass.
fn first() -> Head {
    Head {
        id: format!("{:032x}", fastrand::u128(..)),
        pass: 0,
        cursor: Cursor::start().to_json(),
        forgotten: 0,
        rules: 0,
        near_duplicates: None,
        documents: 0,
        days: Days::default(),
    }
}

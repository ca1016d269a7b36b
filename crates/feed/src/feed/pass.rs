//! A pass: takes what the crawl has stored since the last one, and decides which documents are new, changed or gone.
//!
//! All of it is sequential, like a merge of a DRUM: answers are sorted by URL and merged with the file of all URLs;
//! leads are followed by more merges (`resolve`); then each URL has its verdict, and the file of the next pass is
//! written. Memory is that of the sorters, and a host's robots.txt files.

use std::sync::Arc;

use super::ahead::Ahead;
use super::change::Reason;
use super::doubt::Doubts;
use super::entry::{Entry, Fate, Published, State};
use super::error::Result;
use super::guard::{Counted, Days, Limits};
use super::home::Home;
use super::id::id_of;
use super::key::{Key, Stored};
use super::near::NearDuplicates;
use super::resolve::{Others, Outcome, Outcomes, Resolver};
use super::robots::RobotsFiles;
use super::run::RunWriter;
use super::sighting::{Eye, Seen, Sighting, signature};
use super::urls::Urls;
use crate::archive::Page;
use crate::clock::Time;
use crate::container::retention::list::ForgottenList;
use crate::dirs::Archives;
use crate::disk::sorter::Sorter;
use crate::web::robots::RobotsRules;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Memory of a sorter.
pub(super) const MEMORY: usize = 32 << 20;
/// The most memory that a pass takes: its sorters, beside the answer that it reads.
pub const PASS_BYTES: usize = 6 * MEMORY;
/// The most memory that a consumer's read takes: its sorter, beside the document that it reads.
pub const READ_BYTES: usize = MEMORY;

/// The answers of a pass.
pub(super) struct Answers {
    keys: KeyMaker,
    eye: Eye,
    sightings: Sorter,
    robots: Sorter,
    /// Answers that said something.
    pub taken: u64,
}

impl Answers {
    /// For a pass that looks for near-duplicates, or for one that does not.
    pub fn new(keys: KeyMaker, has_near_duplicates: bool) -> Answers {
        let sorter = || Sorter::new(MEMORY);
        Answers { keys, eye: Eye::new(has_near_duplicates), sightings: sorter(), robots: sorter(), taken: 0 }
    }

    /// Takes an answer.
    pub fn take(&mut self, page: &Page) -> Result<()> {
        let Ok(url) = CanonicalUrl::parse(page.url()) else { return Ok(()) };
        let Some(seen) = self.eye.look(page, &url)? else { return Ok(()) };
        let (place, record) = (page.place(), page.parts().2);
        let stored = Stored { shard: place.shard, record: place.record };
        let sighting = Sighting { url: record.url.clone(), stored, captured: record.time.ms(), seen };
        self.taken += 1;
        Ok(self.sightings.push(&sighting.to_line(Key::of(&url, &self.keys)))?)
    }

    /// Takes the line of an answer.
    #[cfg(test)]
    pub fn push(&mut self, line: &[u8]) {
        self.taken += 1;
        self.sightings.push(line).expect("a sorter in memory takes every line");
    }

    /// Takes the rules of a robots.txt.
    pub fn take_robots(&mut self, url: &CanonicalUrl, fetched: Time, rules: &RobotsRules) -> Result<()> {
        self.taken += 1;
        let line = RobotsFiles::line(Key::of(url, &self.keys).host, fetched, &url.origin(), rules);
        Ok(self.robots.push(&line)?)
    }
}

/// Grounds for leaving documents out that have changed since the last pass.
pub(super) struct Changed<'a> {
    /// The list of what the operator had removed, if it has grown.
    pub forgotten: Option<&'a ForgottenList>,
    /// The scope, if it may be another one.
    pub scope: Option<&'a dyn Fn(&CanonicalUrl) -> bool>,
    /// The URLs whose robots.txt counts, if these may be others.
    pub obeys: Option<&'a dyn Fn(&CanonicalUrl) -> bool>,
    /// True if near-duplicates are told by another share, for the first time, or not any more.
    pub likeness: bool,
}

impl Changed<'_> {
    /// True if any has changed.
    pub fn anything(&self) -> bool {
        self.forgotten.is_some() || self.scope.is_some() || self.likeness
    }
}

/// The result of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub documents: u64,
    pub upserts: u64,
    pub deletions: u64,
}

/// A pass over the files of a feed.
pub(super) struct Pass<'a> {
    pub home: &'a Home,
    pub keys: &'a KeyMaker,
    pub archives: &'a Arc<Archives>,
    /// The number of the pass before.
    pub last: u64,
    /// The share of their texts that near-duplicates have in common, where these are looked for.
    pub near_duplicates: Option<f64>,
}

impl Pass<'_> {
    /// Merges the answers with the URLs that are known, and finds the ends of all leads.
    pub fn merge(&self, answers: Answers, changed: &Changed<'_>) -> Result<()> {
        let mut merge = Merge {
            pass: self,
            eye: answers.eye,
            robots: RobotsFiles::new(answers.robots.finish()?)?,
            changed,
            merged: RunWriter::create(self.home.disk(), self.home.merged())?,
            doubts: Doubts::default(),
        };
        let mut sightings = Sightings(Ahead::sorted(answers.sightings.finish()?)?);
        let mut known = match self.last {
            0 => Urls::none(),
            last => Urls::open(self.home, &self.home.urls(last))?,
        };
        while let Some(entry) = known.next()? {
            while let Some(new) = sightings.next_before(Some(entry.key))? {
                merge.new_url(new)?;
            }
            let seen = sightings.of(entry.key)?;
            merge.known_url(entry, seen)?;
        }
        while let Some(new) = sightings.next_before(None)? {
            merge.new_url(new)?;
        }
        merge.merged.finish()?;
        self.conclude(&merge.doubts.finish(), changed)
    }

    /// Writes what the answers of all URLs say, and finds the ends of all leads.
    fn conclude(&self, doubts: &Doubts, changed: &Changed<'_>) -> Result<()> {
        let mut resolver = Resolver::new(self.home, self.keys, MEMORY);
        let mut near = NearDuplicates::new(self.near_duplicates, changed.likeness, MEMORY);
        let mut facts = RunWriter::create(self.home.disk(), self.home.facts())?;
        let mut merged = Urls::open(self.home, &self.home.merged())?;
        while let Some(mut entry) = merged.next()? {
            doubts.apply(&mut entry);
            entry.settle();
            resolver.take(&entry)?;
            near.take(&entry)?;
            facts.push(&entry.to_bytes())?;
        }
        facts.finish()?;
        near.finish(self.home)?;
        resolver.finish()
    }

    /// Counts the deletions of each host, and decides which have to wait.
    pub fn guard(&self, days: &mut Days, limits: &Limits, now: Time) -> Result<()> {
        let (mut urls, mut outcomes) = (Urls::open(self.home, &self.home.facts())?, Outcomes::open(self.home)?);
        let mut block = Block::default();
        while let Some(entry) = urls.next()? {
            let outcome = outcomes.of(entry.key)?;
            if block.key != entry.key.host {
                block.judge(days, limits, now);
                block = Block { key: entry.key.host, ..Block::default() };
            }
            if entry.is_published() {
                block.documents += 1;
                block.host.get_or_insert_with(|| CanonicalUrl::host_of(&entry.url));
                let goes = verdict(&entry, outcome).is_some_and(|verdict| verdict.counts());
                block.going += u64::from(goes);
            }
        }
        block.judge(days, limits, now);
        Ok(())
    }

    /// Writes the file of this pass, with all that is published now.
    pub fn publish(&self, days: &Days) -> Result<Done> {
        let number = self.last + 1;
        let (mut urls, mut outcomes) = (Urls::open(self.home, &self.home.facts())?, Outcomes::open(self.home)?);
        let mut others = Others::open(self.home)?;
        let mut out = RunWriter::create(self.home.disk(), self.home.urls(number))?;
        let mut done = Done::default();
        while let Some(mut entry) = urls.next()? {
            let verdict = verdict(&entry, outcomes.of(entry.key)?);
            let others = others.of(entry.key)?;
            let waits = days.waits(entry.key.host);
            if let Some(published) = verdict.and_then(|verdict| self.news(&entry, verdict, others, waits)) {
                match published.state {
                    State::There { .. } => done.upserts += 1,
                    State::Gone { .. } => done.deletions += 1,
                }
                entry.published = Some(Published { pass: number, ..published });
            }
            done.documents += u64::from(entry.is_published());
            out.push(&entry.to_bytes())?;
        }
        out.finish()?;
        Ok(done)
    }

    /// The news of a document, if there are any.
    fn news(&self, entry: &Entry, verdict: Verdict, others: Vec<String>, waits: bool) -> Option<Published> {
        let published = |order, state| Some(Published { pass: 0, order, state });
        match verdict {
            Verdict::There => {
                let content = entry.content.as_ref()?;
                let state = State::There { digest: content.digest, others };
                let is_news = entry.published.as_ref().is_none_or(|published| published.state != state);
                if is_news { published(content.stored, state) } else { None }
            }
            _ if !entry.is_published() || waits && verdict.counts() => None,
            Verdict::Gone(reason) => published(Stored::default(), State::Gone { reason, duplicate_of: None }),
            Verdict::Part { of, order, .. } => {
                let duplicate_of = CanonicalUrl::parse(&of).ok().map(|of| id_of(&of, self.keys));
                published(order, State::Gone { reason: Reason::Duplicate, duplicate_of })
            }
        }
    }
}

/// A decision on a URL.
enum Verdict {
    There,
    Gone(Reason),
    /// It is a part of the document at this URL.
    Part {
        of: String,
        order: Stored,
        is_move: bool,
    },
}

impl Verdict {
    /// True for a deletion that the guard counts: what an operator had removed goes at once, and a move takes nothing.
    fn counts(&self) -> bool {
        !matches!(self, Verdict::There | Verdict::Gone(Reason::Forgotten) | Verdict::Part { is_move: true, .. })
    }
}

/// The verdict on a URL; nothing where all stays as it was.
fn verdict(entry: &Entry, outcome: Option<Outcome>) -> Option<Verdict> {
    match (entry.fate(), outcome) {
        (Fate::Out(reason), _) => Some(Verdict::Gone(reason)),
        (Fate::Unknown, _) => None,
        (_, Some(Outcome::Part { of, is_move })) => Some(Verdict::Part { of: of.url, order: of.order, is_move }),
        (Fate::Document | Fate::Alternative(_), _) => Some(Verdict::There),
        (Fate::Moved(_), Some(Outcome::Out(reason))) => Some(Verdict::Gone(reason)),
        (Fate::Moved(_), _) => None,
    }
}

/// The documents of a host.
#[derive(Default)]
struct Block {
    key: u64,
    host: Option<String>,
    documents: u64,
    going: u64,
}

impl Block {
    fn judge(&self, days: &mut Days, limits: &Limits, now: Time) {
        let host = self.host.as_deref().unwrap_or_default();
        days.judge(&Counted { key: self.key, host, documents: self.documents, going: self.going }, limits, now.ms());
    }
}

/// The merge of answers with the URLs that are known.
struct Merge<'a> {
    pass: &'a Pass<'a>,
    eye: Eye,
    robots: RobotsFiles,
    changed: &'a Changed<'a>,
    merged: RunWriter,
    doubts: Doubts,
}

impl Merge<'_> {
    fn new_url(&mut self, seen: Vec<Sighting>) -> Result<()> {
        let mut entry: Option<Entry> = None;
        for sighting in seen {
            let sighting = self.whole(entry.as_ref(), sighting)?;
            match &mut entry {
                Some(entry) => entry.take(sighting),
                None => {
                    let url = CanonicalUrl::parse(&sighting.url);
                    entry = url.ok().map(|url| Entry::new(Key::of(&url, self.pass.keys), sighting));
                }
            }
        }
        entry.map_or(Ok(()), |entry| self.put(entry))
    }

    fn known_url(&mut self, mut entry: Entry, seen: Vec<Sighting>) -> Result<()> {
        if let Some(forgotten) = self.changed.forgotten {
            let is_forgotten = forgotten.in_effect().covers(&entry.url);
            if entry.bans.by_operator && !is_forgotten {
                // what was stored of it is gone
                entry.content = None;
            }
            entry.bans.by_operator = is_forgotten;
        }
        for sighting in seen {
            let sighting = self.whole(Some(&entry), sighting)?;
            entry.take(sighting);
        }
        self.put(entry)
    }

    /// The answer with its content, where it says that it is another than that of the last one: the page had been
    /// otherwise in between.
    fn whole(&mut self, entry: Option<&Entry>, sighting: Sighting) -> Result<Sighting> {
        let Seen::Again { version } = sighting.seen else { return Ok(sighting) };
        if entry.is_some_and(|entry| entry.is_confirmed_by(&sighting)) {
            return Ok(sighting);
        }
        let stored = Stored { record: version, ..sighting.stored };
        let (Some(page), Ok(url)) = (page_at(self.pass.archives, stored)?, CanonicalUrl::parse(&sighting.url)) else {
            return Ok(sighting);
        };
        let seen = self.eye.read(&page, &url)?;
        Ok(Sighting { stored, seen, ..sighting })
    }

    fn put(&mut self, mut entry: Entry) -> Result<()> {
        if let Some(rules) = self.robots.of(&entry)? {
            entry.bans.by_robots = !rules.allows(&entry.url);
        }
        // of one that does not count any more no answer comes
        if let Some(obeys) = self.changed.obeys.filter(|_| entry.bans.by_robots) {
            entry.bans.by_robots = CanonicalUrl::parse(&entry.url).is_ok_and(|url| obeys(&url));
        }
        if let Some(has) = self.changed.scope {
            entry.bans.by_scope = CanonicalUrl::parse(&entry.url).is_ok_and(|url| !has(&url));
        }
        if self.changed.likeness
            && self.pass.near_duplicates.is_some()
            && let Some(content) = &mut entry.content
            && content.signature.is_none()
            && let Some(page) = page_at(self.pass.archives, content.stored)?
        {
            content.signature = signature(&page).unwrap_or_default();
        }
        self.doubts.take(&entry);
        Ok(self.merged.push(&entry.to_bytes())?)
    }
}

/// The page that is stored at a place, if it is still there.
pub(super) fn page_at(archives: &Arc<Archives>, stored: Stored) -> Result<Option<Page>> {
    let dirs = archives.dirs();
    let Some(at) = (0..dirs.shards().len()).find(|&at| dirs.shard(at).index() == stored.shard) else { return Ok(None) };
    let Some(reader) = archives.reader(at)? else { return Ok(None) };
    if stored.record >= reader.end() {
        return Ok(None);
    }
    let record = reader.record_at(stored.record).ok();
    Ok(record.filter(|record| !record.is_removed).map(|record| Page::new(archives.clone(), at, record)))
}

/// Sorted answers, asked for by URL.
struct Sightings(Ahead);

impl Sightings {
    /// The answers of the next URL, if it comes before `key`.
    fn next_before(&mut self, key: Option<Key>) -> Result<Option<Vec<Sighting>>> {
        let Some(line) = self.0.next() else { return Ok(None) };
        let bytes: [u8; Key::BYTES] = line[..Key::BYTES].try_into().expect("a line begins with a key");
        if key.is_some_and(|key| bytes >= key.to_bytes()) {
            return Ok(None);
        }
        self.all(bytes).map(Some)
    }

    /// The answers of the URL of `key`.
    fn of(&mut self, key: Key) -> Result<Vec<Sighting>> {
        self.all(key.to_bytes())
    }

    fn all(&mut self, key: [u8; Key::BYTES]) -> Result<Vec<Sighting>> {
        let mut all = Vec::new();
        while let Some(line) = self.0.take_of(&key)? {
            all.extend(Sighting::parse(&line));
        }
        Ok(all)
    }
}

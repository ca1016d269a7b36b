//! The documents to which redirects and canonical URLs lead.
//!
//! Each URL that leads to another one is a *lead*. Leads are sorted by the URL to which they lead and compared with all
//! URLs in one sequential read; those that come upon another lead go on in the next read. Nothing is looked up.
//!
//! A canonical URL counts where it is a document. Otherwise the page stands for itself: a wrong canonical URL takes no
//! page away. A redirect to nothing that is known leaves everything as it was.

use serde::{Deserialize, Serialize};

use super::ahead::{Ahead, read_behind};
use super::change::Reason;
use super::entry::{Entry, Fate};
use super::error::Result;
use super::home::Home;
use super::key::Key;
use super::near::NearParts;
use super::part::{Part, Publication, Target};
use super::run::{RunReader, RunWriter};
use super::urls::Urls;
use crate::disk::sorter::{Sorted, Sorter};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Longest chain of URLs that lead to each other.
const HOPS_MAX: usize = 10;

/// The end of a lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    /// It is a part of this document. A move takes its published document from one URL to the other.
    Part { of: Target, is_move: bool },
    /// It leads to no document any more.
    Out(Reason),
    /// Nobody knows, or it leads in a circle.
    Nowhere,
}

/// A URL that leads to another one.
#[derive(Debug, Serialize, Deserialize)]
struct Lead {
    from: Key,
    url: String,
    publication: Publication,
    /// True if it stands for itself where it leads to no document.
    is_alternative: bool,
    /// The last one on its way that does so.
    fallback: Option<Target>,
}

impl Lead {
    fn part_of(self, of: Target) -> Part {
        Part { from: self.from, url: self.url, publication: self.publication, of }
    }
}

/// Finds the end of each lead.
pub(super) struct Resolver<'a> {
    home: &'a Home,
    keys: &'a KeyMaker,
    memory: usize,
    leads: Sorter,
    is_empty: bool,
    parts: Sorter,
    outcomes: Sorter,
}

impl<'a> Resolver<'a> {
    pub fn new(home: &'a Home, keys: &'a KeyMaker, memory: usize) -> Resolver<'a> {
        let sorter = || Sorter::new(memory);
        Resolver { home, keys, memory, leads: sorter(), is_empty: true, parts: sorter(), outcomes: sorter() }
    }

    /// Takes a URL, which may lead to another one.
    pub fn take(&mut self, entry: &Entry) -> Result<()> {
        let (to, is_alternative) = match entry.fate() {
            Fate::Alternative(to) => (to, true),
            Fate::Moved(to) => (to, false),
            _ => return Ok(()),
        };
        let (from, url, publication) = (entry.key, entry.url.clone(), Publication::of(entry));
        self.lead(to, Lead { from, url, publication, is_alternative, fallback: None })
    }

    fn lead(&mut self, to: &str, lead: Lead) -> Result<()> {
        let Ok(to) = CanonicalUrl::parse(to) else { return self.end(lead, None) };
        self.is_empty = false;
        let line = Key::of(&to, self.keys).to_bytes().to_vec();
        let line = postcard::to_extend(&lead, line).expect("a lead has nothing that cannot be written");
        Ok(self.leads.push(&line)?)
    }

    /// Follows all leads through the URLs of the pass, and writes their ends: the outcomes by URL, and the other URLs
    /// of each document.
    pub fn finish(mut self) -> Result<()> {
        let mut near = NearParts::open(self.home)?;
        while let Some(part) = near.next()? {
            self.part(part)?;
        }
        for _ in 0..HOPS_MAX {
            if std::mem::replace(&mut self.is_empty, true) {
                break;
            }
            self.hop()?;
        }
        // what leads on and on leads nowhere
        let mut endless = std::mem::replace(&mut self.leads, Sorter::new(0)).finish()?;
        while let Some(line) = endless.next()? {
            let lead: Lead = read(line);
            self.outcome(lead.from, &Outcome::Nowhere)?;
        }
        self.write()
    }

    /// Takes all leads one URL further.
    fn hop(&mut self) -> Result<()> {
        let leads = std::mem::replace(&mut self.leads, Sorter::new(self.memory));
        let mut leads = Ahead::sorted(leads.finish()?)?;
        let mut urls = Urls::open(self.home, &self.home.facts())?;
        let mut near = NearParts::open(self.home)?;
        while let Some(entry) = urls.next()? {
            let near = near.of(entry.key)?;
            let key = entry.key.to_bytes();
            while leads.next().is_some_and(|line| line < &key[..])
                && let Some(line) = leads.take()?
            {
                self.end(read(&line), None)?;
            }
            while let Some(line) = leads.take_of(&key)? {
                self.arrive(read(&line), &entry, near.as_ref())?;
            }
        }
        while let Some(line) = leads.take()? {
            self.end(read(&line), None)?;
        }
        Ok(())
    }

    /// A lead has come to `entry`, which may be a part of a document that is nearly the same.
    fn arrive(&mut self, lead: Lead, entry: &Entry, near: Option<&Part>) -> Result<()> {
        if lead.from == entry.key {
            return self.outcome(lead.from, &Outcome::Nowhere);
        }
        match entry.fate() {
            Fate::Document => {
                let of = near.map_or_else(|| Target::of(entry), |near| near.of.clone());
                self.part(lead.part_of(of))
            }
            Fate::Alternative(to) => self.lead(to, Lead { fallback: Some(Target::of(entry)), ..lead }),
            Fate::Moved(to) => self.lead(to, lead),
            Fate::Out(reason) => self.end(lead, Some(reason)),
            Fate::Unknown => self.end(lead, None),
        }
    }

    /// A lead ends where there is no document, for this reason if one is known.
    fn end(&mut self, lead: Lead, reason: Option<Reason>) -> Result<()> {
        match (lead.fallback.clone(), reason) {
            (Some(fallback), _) => self.part(lead.part_of(fallback)),
            (None, Some(reason)) if !lead.is_alternative => self.outcome(lead.from, &Outcome::Out(reason)),
            _ => self.outcome(lead.from, &Outcome::Nowhere),
        }
    }

    fn part(&mut self, part: Part) -> Result<()> {
        let mut line = part.of.key.to_bytes().to_vec();
        line.push(part.publication as u8);
        line.extend(part.from.to_bytes());
        let line = postcard::to_extend(&part, line).expect("a part has nothing that cannot be written");
        Ok(self.parts.push(&line)?)
    }

    fn outcome(&mut self, from: Key, outcome: &Outcome) -> Result<()> {
        let line = from.to_bytes().to_vec();
        let line = postcard::to_extend(outcome, line).expect("an outcome has nothing that cannot be written");
        Ok(self.outcomes.push(&line)?)
    }

    fn write(mut self) -> Result<()> {
        let mut others = RunWriter::create(self.home.disk(), self.home.others())?;
        let mut parts = std::mem::replace(&mut self.parts, Sorter::new(0)).finish()?;
        let (mut last, mut next) = (None, next_part(&mut parts)?);
        while let Some(part) = next {
            next = next_part(&mut parts)?;
            let mut other = part.of.key.to_bytes().to_vec();
            other.extend(part.url.as_bytes());
            others.push(&other)?;
            let is_first = last.replace(part.of.key) != Some(part.of.key);
            let is_move = is_first && part.is_move(next.as_ref());
            self.outcome(part.from, &Outcome::Part { of: part.of, is_move })?;
        }
        others.finish()?;
        let mut run = RunWriter::create(self.home.disk(), self.home.outcomes())?;
        let mut outcomes = self.outcomes.finish()?;
        while let Some(line) = outcomes.next()? {
            run.push(line)?;
        }
        Ok(run.finish()?)
    }
}

fn next_part(parts: &mut Sorted) -> Result<Option<Part>> {
    Ok(parts.next()?.map(|line| read_behind(line, 2 * Key::BYTES + 1)))
}

fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> T {
    read_behind(line, Key::BYTES)
}

/// The outcomes of a pass, asked for in the order of the URLs.
pub(super) struct Outcomes(Ahead);

impl Outcomes {
    pub fn open(home: &Home) -> Result<Outcomes> {
        Ok(Outcomes(Ahead::run(RunReader::open(home.disk(), &home.outcomes())?)?))
    }

    /// The outcome of the lead of `key`, if it is one.
    pub fn of(&mut self, key: Key) -> Result<Option<Outcome>> {
        Ok(self.0.take_of(&key.to_bytes())?.map(|line| read(&line)))
    }
}

/// The other URLs of the documents of a pass, asked for in the order of the documents.
pub(super) struct Others(Ahead);

/// Other URLs that a document has at most.
const OTHERS_MAX: usize = 1_000;

impl Others {
    pub fn open(home: &Home) -> Result<Others> {
        Ok(Others(Ahead::run(RunReader::open(home.disk(), &home.others())?)?))
    }

    /// The other URLs of the document of `key`.
    pub fn of(&mut self, key: Key) -> Result<Vec<String>> {
        let mut urls = Vec::new();
        while let Some(line) = self.0.take_of(&key.to_bytes())? {
            if urls.len() < OTHERS_MAX {
                urls.push(String::from_utf8_lossy(&line[Key::BYTES..]).into_owned());
            }
        }
        urls.sort_unstable();
        Ok(urls)
    }
}

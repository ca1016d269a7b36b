//! The files of an audit: a page for people, a table, and JSON for programs. All are written in one pass over the
//! findings.

mod csv;
mod html;
mod json;
mod layout;
mod picture;
mod shown;

use std::io::Write;

use super::compare::{Comparison, Earlier, State};
use super::external::ExternalCounts;
use super::figures::Figures;
use super::finding::{Finding, Kind, Weight};
use super::sample::Sample;
use super::spool::{Spool, SpoolWriter};
use super::tree::Branch;
use super::{Result, report};
use crate::clock::Time;
use json::Json;
use shown::Shown;

/// The files into which the report is written.
pub struct Files<'a> {
    /// The page for people.
    pub html: &'a mut dyn Write,
    /// The table.
    pub csv: &'a mut dyn Write,
    /// All of it for programs.
    pub json: &'a mut dyn Write,
}

/// Facts that a report has besides its findings.
pub(super) struct About {
    pub dir: String,
    pub title: String,
    pub crawl: String,
    pub now: Time,
    /// Time at which the last answer of the crawl was asked for.
    pub newest: Time,
    pub earlier: Option<String>,
    pub figures: Figures,
    pub sample: Sample,
    pub tree: Branch,
    /// External links, where they were checked.
    pub external: Option<ExternalCounts>,
}

/// The number of findings of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Different subjects.
    pub findings: u64,
    /// Places where they show.
    pub places: u64,
    /// Places that an earlier audit did not have.
    pub new: u64,
    /// Places that it had and that are gone.
    pub fixed: u64,
}

/// The counts of a report.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    counts: Vec<Count>,
    /// True if it was compared with an earlier audit.
    pub is_compared: bool,
    /// True if that was one of the same crawl, which has fetched nothing since.
    pub is_of_itself: bool,
    /// External links, where they were checked.
    pub external: Option<ExternalCounts>,
}

impl Summary {
    /// Returns the number of findings of a kind.
    pub fn of(&self, kind: Kind) -> Count {
        let place = Kind::ALL.iter().position(|found| *found == kind);
        place.and_then(|place| self.counts.get(place)).copied().unwrap_or_default()
    }

    /// Returns true where a kind was looked for.
    pub(crate) fn is_checked(&self, kind: Kind) -> bool {
        kind != Kind::ExternalBroken || self.external.is_some()
    }

    /// Findings of kinds of this weight.
    pub fn of_weight(&self, weight: Weight) -> u64 {
        Kind::ALL.iter().filter(|kind| kind.weight() == weight).map(|kind| self.of(*kind).findings).sum()
    }

    /// Places that an earlier audit did not have, of all kinds.
    pub fn new_places(&self) -> u64 {
        self.counts.iter().map(|count| count.new).sum()
    }

    /// Places that it had and that are gone.
    pub(crate) fn fixed_places(&self) -> u64 {
        self.counts.iter().map(|count| count.fixed).sum()
    }

    fn count(&mut self, kind: Kind) -> &mut Count {
        self.counts.resize(Kind::ALL.len(), Count::default());
        let place = Kind::ALL.iter().position(|found| *found == kind).unwrap_or_default();
        &mut self.counts[place]
    }
}

/// Writes the files.
pub(super) fn write(about: &About, findings: &Spool, earlier: Option<&Earlier>, files: Files<'_>) -> Result<Summary> {
    let mut summary = Summary {
        is_compared: earlier.is_some(),
        is_of_itself: earlier.is_some_and(|earlier| earlier.is_of(&about.crawl, about.newest)),
        external: about.external.clone(),
        ..Summary::default()
    };
    let mut shown = Shown::default();
    let mut json = Json::begin(files.json, about)?;
    csv::heading(files.csv)?;
    let mut comparison = earlier.map(|earlier| Comparison::with(&earlier.findings)).transpose()?;
    let mut fixed = SpoolWriter::new()?;
    let mut lines = findings.read();
    let mut last: Option<(Kind, String)> = None;
    while let Some(line) = lines.next()? {
        let Some(finding) = Finding::of_line(line) else { continue };
        let state = match &mut comparison {
            Some(comparison) => Some(comparison.of(&finding, &mut |finding| fixed.push(&finding.line()))?),
            None => None,
        };
        let is_next = last.as_ref().is_none_or(|(kind, subject)| (*kind, subject) != (finding.kind, &finding.subject));
        let count = summary.count(finding.kind);
        count.findings += u64::from(is_next);
        count.places += 1;
        count.new += u64::from(state == Some(State::New));
        csv::row(files.csv, &finding, state)?;
        json.finding(&finding, state)?;
        shown.take(&finding, state);
        last = Some((finding.kind, finding.subject));
    }
    if let Some(comparison) = comparison {
        comparison.end(&mut |finding| fixed.push(&finding.line()))?;
    }
    let fixed = fixed.finish()?;
    json.fixed()?;
    let mut lines = fixed.read();
    while let Some(line) = lines.next()? {
        let Some(finding) = Finding::of_line(line) else { continue };
        summary.count(finding.kind).fixed += 1;
        csv::row(files.csv, &finding, Some(State::Fixed))?;
        json.finding(&finding, Some(State::Fixed))?;
        shown.take_fixed(&finding);
    }
    json.end(about, &summary)?;
    report::html::write(files.html, about, &summary, &shown)?;
    Ok(summary)
}

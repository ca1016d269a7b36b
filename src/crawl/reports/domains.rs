//! The domains report: a row a registrable domain, those with most supporters first.
//!
//! The frontier knows domains by their fingerprints. Their names come from the lines of crawl.log and skipped.jsonl and
//! from the queue; all go through a sorter on disk, in bounded memory. A domain that is linked to and of which nothing
//! was asked or is queued or left out any more is shown by its fingerprint.

use std::collections::HashSet;

use serde::Serialize;

use super::{Out, ReportError, remaining};
use crate::checkpoint;
use crate::crawl::options;
use crate::dirs::CrawlDirs;
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{Disk, Result, SavedState};
use crate::engine::SupportOptions;
use crate::engine::values::decode_rules;
use crate::frontier::{DomainLook, DomainRound, QUARTERS, for_each_domain};
use crate::record::layout;
use crate::record::log_files::for_each_line;
use crate::record::{CrawlLog, ReadLine, SkippedLog, origin_of};
use crate::text::escape;
use crate::text::figures::fraction;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Memory of each of the two sorters.
const SORTER_BYTES: usize = 32 << 20;
/// Origins that are not looked at again when they come up once more.
const ORIGINS_REMEMBERED: usize = 100_000;
/// Times that a checkpoint may be replaced while it is read before that is reported.
const TRIES: usize = 20;

const KIND_TOTALS: u8 = 0;
const KIND_NAME: u8 = 1;

/// A domain.
#[derive(Clone, Debug, Serialize)]
struct Row {
    /// Its name; its fingerprint after `#` where nobody knows that.
    domain: String,
    /// Number of its supporters, or the sum of what each is worth, where they count by their standing.
    supporters: f64,
    /// True if a seed is of it.
    seed: bool,
    /// Pages that it may have in a round; nothing where supporters are not counted.
    budget: Option<u64>,
    pages: u64,
    /// The round that goes on, and pages of it.
    round: u32,
    round_pages: u64,
    round_robots: u64,
    queued: u64,
    /// True if what is queued waits for the next round.
    rests: bool,
}

/// Writes the report of the crawl in these directories.
pub(super) fn write(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> std::result::Result<(), ReportError> {
    let Some(keys) = dirs.keys() else { return out.text(format_args!("{}", super::NO_CHECKPOINT)) };
    let config = options::read_copy(disk, dirs.home())?.unwrap_or_default();
    let support = options::support(&config);
    let budgets = support.budgets;
    let mut sorter = Sorter::new(SORTER_BYTES);
    let (mut rounds, mut counts, mut has_checkpoint) = (Vec::new(), false, false);
    for dir in dirs.shards() {
        let found = totals(disk, dir, &mut |look| {
            if rounds
                .last()
                .is_none_or(|last: &DomainRound| (last.number, last.limit) != (look.round.number, look.round.limit))
            {
                rounds.push(look.round);
            }
            sorter.push(&totals_line(look))
        })?;
        has_checkpoint |= found.is_some();
        counts |= found == Some(true);
    }
    if !has_checkpoint {
        return out.text(format_args!("{}", super::NO_CHECKPOINT));
    }
    let mut names = Names { keys, met: HashSet::new() };
    for dir in dirs.shards() {
        for_each_line(disk, &CrawlLog::path(dir), &mut |line| {
            let origin = ReadLine::parse(line).and_then(|line| line.origin().map(str::to_owned));
            origin.map_or(Ok(()), |origin| names.put(&origin, &mut sorter))
        })?;
        for_each_line(disk, &SkippedLog::path(dir), &mut |line| {
            let url = serde_json::from_slice::<serde_json::Value>(line).ok();
            let origin = url.as_ref().and_then(|line| origin_of(line["url"].as_str()?));
            origin.map_or(Ok(()), |origin| names.put(origin, &mut sorter))
        })?;
        remaining::for_each_host(disk, dir, &mut |origin, _| names.put(origin, &mut sorter))?;
    }
    if !counts {
        out.text(format_args!("supporters of domains are not counted in this crawl (budget.by_supporters)\n\n"))?;
    }
    for round in rounds.iter().filter(|round| counts && round.number > 0) {
        let most = match round.limit {
            0 => "nobody knows yet how many supporters are worth the most".to_owned(),
            limit => {
                let (supporters, pages) = (fraction(support.supporters(limit)), budgets.pages(limit, false, limit));
                format!("{supporters} supporters are worth {pages} pages")
            }
        };
        out.text(format_args!("round {}: {most}, none {}\n", round.number, budgets.pages(0, false, 0)))?;
    }
    out.text(format_args!(
        "{:>10} {:>7} {:>10} {:>11} {:>10} {:<6} domain\n",
        "supporters", "budget", "pages", "round-pages", "queued", "waits"
    ))?;
    let mut ranked = Sorter::new(SORTER_BYTES);
    joined(sorter.finish()?, counts.then_some(&support), &mut |row| ranked.push(&rank(&row)))?;
    let mut ranked = ranked.finish()?;
    while let Some(line) = ranked.next()? {
        let row = line.get(RANK_BYTES..).and_then(|row| serde_json::from_slice::<serde_json::Value>(row).ok());
        let Some(row) = row else { continue };
        let number = |name: &str| row[name].as_f64().map_or("-".to_owned(), |number| number.to_string());
        let waits = if row["rests"] == true { "round" } else { "" };
        out.row(
            &row,
            format_args!(
                "{:>10} {:>7} {:>10} {:>11} {:>10} {waits:<6} {}{}\n",
                number("supporters"),
                number("budget"),
                number("pages"),
                number("round_pages"),
                number("queued"),
                escape::field(row["domain"].as_str().unwrap_or_default()),
                if row["seed"] == true { " (seed)" } else { "" },
            ),
        )?;
    }
    Ok(())
}

/// Calls `each` with the domains of the shard in `dir`, by its newest checkpoint; says whether supporters are counted,
/// where there is one.
fn totals(disk: &Disk, dir: &std::path::Path, each: &mut dyn FnMut(&DomainLook) -> Result<()>) -> Result<Option<bool>> {
    let mut tries = 0;
    loop {
        let Some((state, sections)) = checkpoint::newest(disk, dir)? else { return Ok(None) };
        // the figures of a checkpoint that is replaced meanwhile are not shown
        let mut looks = Vec::new();
        let saved = SavedState::new(&state.frontier, &sections.frontier);
        let read = for_each_domain(disk, &dir.join(layout::FRONTIER), saved, decode_rules, state.time, &mut |look| {
            looks.push(*look);
        });
        match read {
            Ok(counts) => {
                looks.iter().try_for_each(each)?;
                return Ok(Some(counts));
            }
            Err(error) if error.is_not_found() && tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Names of domains, by the origins that come up.
struct Names<'a> {
    keys: &'a KeyMaker,
    met: HashSet<Box<str>>,
}

impl Names<'_> {
    fn put(&mut self, origin: &str, sorter: &mut Sorter) -> Result<()> {
        if self.met.contains(origin) {
            return Ok(());
        }
        if self.met.len() < ORIGINS_REMEMBERED {
            self.met.insert(origin.into());
        }
        let Ok(url) = CanonicalUrl::parse(&format!("{origin}/")) else { return Ok(()) };
        let mut line = self.keys.keys(&url).domain.bits().to_be_bytes().to_vec();
        line.push(KIND_NAME);
        line.extend_from_slice(url.registrable_domain().as_bytes());
        sorter.push(&line)
    }
}

/// `domain, kind, numbers`: the lines of a domain are together, its totals first.
fn totals_line(look: &DomainLook) -> Vec<u8> {
    let DomainLook { domain, pages, queued, round } = *look;
    let DomainRound { number, limit, supporters, is_of_seed, used, asked } = round;
    let mut line = domain.bits().to_be_bytes().to_vec();
    line.push(KIND_TOTALS);
    for number in [pages, queued, number.into(), limit, supporters, is_of_seed.into(), used, asked] {
        line.extend_from_slice(&number.to_le_bytes());
    }
    line
}

/// A row for each domain with totals.
fn joined(mut sorted: Sorted, support: Option<&SupportOptions>, each: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
    let mut current: Option<(u64, Row)> = None;
    while let Some(line) = sorted.next()? {
        let Some((domain, rest)) = line.split_first_chunk::<8>() else { continue };
        let domain = u64::from_be_bytes(*domain);
        match rest.split_first() {
            Some((&KIND_TOTALS, numbers)) => {
                if let Some((_, row)) = current.take() {
                    each(row)?;
                }
                current = row(domain, numbers, support).map(|row| (domain, row));
            }
            Some((&KIND_NAME, name)) => {
                if let Some((_, row)) = current.as_mut().filter(|(of, _)| *of == domain) {
                    row.domain = String::from_utf8_lossy(name).into_owned();
                }
            }
            _ => {}
        }
    }
    current.map_or(Ok(()), |(_, row)| each(row))
}

fn row(domain: u64, numbers: &[u8], support: Option<&SupportOptions>) -> Option<Row> {
    let (numbers, _) = numbers.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let [pages, queued, number, limit, supporters, seed, used, asked] = numbers.try_into().ok()?;
    let number = u32::try_from(number).ok()?;
    let round = DomainRound { number, limit, supporters, is_of_seed: seed == 1, used, asked };
    let budget = support.map(|support| round.pages(&support.budgets));
    Some(Row {
        domain: format!("#{domain:016x}"),
        supporters: support.map_or(0.0, |support| support.supporters(supporters)),
        seed: seed == 1,
        budget,
        pages,
        round: number,
        round_pages: used,
        round_robots: asked,
        queued,
        rests: queued > 0 && budget.is_some_and(|budget| used >= budget || asked >= budget),
    })
}

const RANK_BYTES: usize = 16;

/// A row with what it is sorted by before it: many supporters, then many pages, then the name.
fn rank(row: &Row) -> Vec<u8> {
    // a count of quarters at most
    let mut line = (!((row.supporters * QUARTERS as f64) as u64)).to_be_bytes().to_vec();
    line.extend((!row.pages).to_be_bytes());
    line.extend(serde_json::to_vec(row).expect("a row consists of plain data"));
    line
}

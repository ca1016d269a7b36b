//! A part of the seeds, with what became of them.

use std::path::Path;

use super::directories::{directories, fault};
use crate::console::{Problem, SeedRow, Seeds};
use crate::crawl::seed_places::seed_places;
use crate::disk::{self, Disk};
use crate::engine::seeds::reader;
use crate::engine::{SeedRecord, SeedStatus};
use crate::text::figures::size;

/// Bytes of all seeds beyond which they are not read for a console: some millions of them.
const BYTES_MAX: u64 = 512 << 20;

/// Seeds of the crawl in `dir` from number `offset` on, `limit` of them.
pub(super) fn rows(dir: &Path, offset: u64, limit: usize) -> Result<Seeds, Problem> {
    let disk = Disk::real();
    let dirs = directories(&disk, dir)?;
    let places = seed_places(&dirs);
    let bytes = reader::bytes_in(&disk, &places).map_err(fault)?;
    if bytes > BYTES_MAX {
        let sentence =
            format!("the seeds take {}, too much to read for this page: run crawler report seeds", size(bytes));
        return Err(Problem::TooMuch(sentence));
    }
    let mut seeds = Seeds::default();
    let read = reader::for_each_in(&disk, &places, |number, seed| {
        seeds.total += 1;
        if u64::from(number) >= offset && seeds.rows.len() < limit {
            seeds.rows.push(row(seed));
        }
        Ok::<_, disk::Error>(())
    });
    read.map_err(fault)?;
    Ok(seeds)
}

fn row(seed: SeedRecord) -> SeedRow {
    let (outcome, why) = match seed.status {
        SeedStatus::Waiting => ("waiting", String::new()),
        SeedStatus::Answered(status) => ("answered", status.to_string()),
        SeedStatus::Failed(why) => ("failed", why),
        SeedStatus::Dropped(why) => ("left-out", why),
    };
    let detail = match seed.redirected_to {
        Some(to) if why.is_empty() => format!("redirected to {to}"),
        Some(to) => format!("{why}, redirected to {to}"),
        None => why,
    };
    SeedRow { seed: seed.url, outcome: outcome.to_owned(), detail }
}

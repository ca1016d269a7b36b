//! The seeds of a crawl and what became of them, in two files of their own.
//!
//! ```text
//! seeds/list     url and fallback of every seed in the order of their numbers; only appended to, whole records stay
//! seeds/fates    what became of them, rounds, territories that joined the scope; cut back to the last checkpoint
//! ```
//! A seed keeps its number for ever: queued URLs and archived records refer to it. So a number is durable before the
//! first request that carries one (`SeedList::make_durable`), and a start keeps every whole record of the list, also
//! those that no checkpoint knows: an archived number means the same URL whatever the seeds file says later. Seeds that
//! a run listed and never admitted are admitted by the next one.
//!
//! The fates begin again behind the mark of the last checkpoint ([`Mark`]): what was written after it is done again, by
//! the replay or because the URL is still queued.
//!
//! In a crawl of several shards the list is the crawl's, one directory up, and has one writer, which is no shard: the
//! process appends to it, and syncs it before any shard hears of it. So numbers are those of the whole crawl. A shard
//! opens it to read, admits the seeds that it owns, and notes in its own fates what becomes of whatever it fetches.
//!
//! Memory is some ten to fifty bytes a seed, whatever its URL: where its record is and how it is, its place in an
//! `index` and, with a fallback, in another one. Texts are read from the file when they are needed. Readers beside a
//! crawl take no lock ([`reader`]).

mod index;
mod list;
mod named;
mod packed;
pub mod reader;
mod records;
mod renew;
mod verify;

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use list::SeedList;
pub use named::named;
pub use reader::SeedReader;
pub use records::{Fate, ListedSeed, Mark, list_path};
pub use renew::{Kept, renew};
pub use verify::check;

use crate::disk::{Disk, DiskFile, HEADER_BYTES, Kind, Result, Writer};
use crate::record::layout;
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};
use packed::{PackedSeed, Stand};
use records::{Scan, fates_path, find_mark, header, put};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// A URL that takes others into scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Territory {
    /// A seed.
    Seed(CanonicalUrl),
    /// A URL that joined when a seed was redirected.
    Joined(CanonicalUrl),
}

/// The fate of a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedStatus {
    /// Not fetched yet.
    Waiting,
    /// Answered with this status, after redirects.
    Answered(u16),
    /// No answer.
    Failed(String),
    /// Never asked for.
    Dropped(String),
}

/// A seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedRecord {
    /// The URL in the fetch form.
    pub url: String,
    /// URL that is tried when the seed itself cannot be fetched: http for a host named without scheme.
    pub fallback: Option<String>,
    /// Fate of the seed.
    pub status: SeedStatus,
    /// Target of its redirect, if it redirects.
    pub redirected_to: Option<String>,
    /// The last round of fetching again that it was put into; 0 for none.
    pub round: u32,
}

/// All seeds, and what became of them.
#[derive(Debug)]
pub struct SeedTable {
    list: SeedList,
    fates: Writer,
    /// Rounds of the seeds, by number; nothing until there is a round.
    rounds: Vec<u32>,
    /// Length of the list that the checkpoint in progress makes durable.
    cut_bytes: u64,
    mark: Mark,
    record: Vec<u8>,
}

/// All that is asked of the list is asked of the table.
impl Deref for SeedTable {
    type Target = SeedList;

    fn deref(&self) -> &SeedList {
        &self.list
    }
}

impl DerefMut for SeedTable {
    fn deref_mut(&mut self) -> &mut SeedList {
        &mut self.list
    }
}

impl SeedTable {
    /// Opens the files in `dir` as the checkpoint of this number has them, or as a crawl that made none left them: then
    /// the list is kept, and nothing has become of any seed. With `share` it is the table of a shard, which reads the
    /// crawl's list.
    pub(crate) fn open(
        disk: &Disk,
        dir: &Path,
        checkpoint: Option<u64>,
        share: Option<(Shard, Arc<KeyMaker>)>,
    ) -> Result<Self> {
        let path = fates_path(dir);
        if checkpoint.is_none() {
            disk.create_dir_all(&dir.join(layout::SEEDS))?;
            disk.replace(&path, &header(Kind::SeedFates))?;
            disk.sync_dir(dir)?;
            if share.is_none() {
                list::make(disk, dir)?;
            }
        }
        let (list, fates) = (SeedList::load(disk, dir, share)?, list::open(disk, &path)?);
        let mut table = SeedTable {
            list,
            rounds: Vec::new(),
            cut_bytes: 0,
            mark: Mark::default(),
            record: Vec::new(),
            fates: Writer::new(list::open(disk, &path)?, 0, 0),
        };
        let end = checkpoint.map_or(Ok(HEADER_BYTES), |number| table.load_fates(&fates, number))?;
        table.list.settle(disk, &table.mark)?;
        cut(&fates, end)?;
        table.fates = Writer::new(fates, end, BUFFER_BYTES);
        Ok(table)
    }

    /// Takes in what the file says up to the mark of checkpoint `number`, and says where that ends.
    fn load_fates(&mut self, file: &DiskFile, number: u64) -> Result<u64> {
        let (end, mark) = find_mark(file, number, |_, fate| match fate {
            // one that the list has lost is found missing by the mark
            Fate::Status(seed, status) => self.note_stand(seed, Stand::of(&status)),
            Fate::Round(seed, round) => _ = self.note_round(seed, round),
            Fate::Redirect(..) | Fate::Scope(_) | Fate::Cut(_) => {}
        })?;
        self.mark = mark;
        Ok(end)
    }

    /// Number of seeds, from the first on, that are sure to have been admitted.
    pub(super) fn admitted(&self) -> u32 {
        self.mark.admitted
    }

    /// Every seed that there is was admitted.
    pub(super) fn all_admitted(&mut self) {
        self.mark.admitted = self.len();
    }

    /// Bytes of memory that the table takes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.list.memory() + self.rounds.capacity() * size_of::<u32>()
    }

    /// Puts the seed `number` into a round of fetching again, and forgets what became of it before; says whether it was
    /// not in that round already.
    pub(crate) fn enter_round(&mut self, number: u32, round: u32) -> Result<bool> {
        if self.round_of(number) == round || !self.note_round(number, round) {
            return Ok(false);
        }
        self.write(&Fate::Round(number, round))?;
        Ok(true)
    }

    /// The last round that the seed `number` was put into.
    pub(crate) fn round_of(&self, number: u32) -> u32 {
        self.rounds.get(number as usize).copied().unwrap_or(0)
    }

    fn note_round(&mut self, number: u32, round: u32) -> bool {
        let seeds = self.len() as usize;
        let Some(place) = self.list.place_mut(number) else { return false };
        place.set_stand(Stand::Waiting);
        if self.rounds.len() <= number as usize {
            self.rounds.resize(seeds, 0);
        }
        self.rounds[number as usize] = round;
        true
    }

    /// Returns whether the seed `number` is one of that round and nothing has become of it yet.
    pub(crate) fn waits_in_round(&self, number: u32, round: u32) -> bool {
        let waits = |place: &PackedSeed| place.stand() == Stand::Waiting;
        round > 0 && self.round_of(number) == round && self.list.place(number).is_some_and(waits)
    }

    /// Notes what became of the seed `number`. An answer is not taken back: of the two URLs that a line may mean, one
    /// can fail after the other was fetched.
    pub(crate) fn set_status(&mut self, number: u32, status: SeedStatus) -> Result<()> {
        let Some(place) = self.list.place(number) else { return Ok(()) };
        if place.stand() == Stand::Answered && !matches!(status, SeedStatus::Answered(_)) {
            return Ok(());
        }
        self.note_stand(number, Stand::of(&status));
        self.write(&Fate::Status(number, status))
    }

    fn note_stand(&mut self, number: u32, stand: Stand) {
        if let Some(place) = self.list.place_mut(number) {
            place.set_stand(stand);
        }
    }

    /// Notes where the seed `number` redirects.
    pub(crate) fn set_redirect(&mut self, number: u32, to: &str) -> Result<()> {
        match number < self.len() {
            true => self.write(&Fate::Redirect(number, to.to_owned())),
            false => Ok(()),
        }
    }

    /// Notes that `url` joined the scope.
    pub(super) fn add_scope(&mut self, url: &str) -> Result<()> {
        self.write(&Fate::Scope(url.to_owned()))
    }

    fn write(&mut self, fate: &Fate) -> Result<()> {
        self.record.clear();
        put(&mut self.record, fate);
        self.fates.push(&self.record)
    }

    /// Calls `each` with the URL of every seed, and then with every one that joined the scope.
    pub(super) fn for_each_territory(&mut self, mut each: impl FnMut(Territory)) -> Result<()> {
        self.fates.flush()?;
        let parse = |url: &str| CanonicalUrl::parse(url).ok();
        self.list.for_each(|seed| parse(&seed.url).map(Territory::Seed).into_iter().for_each(&mut each))?;
        let mut scan = Scan::begin(self.fates.file(), Kind::SeedFates)?;
        while let Some((_, fate)) = scan.next::<Fate>()? {
            if let Fate::Scope(url) = fate {
                parse(&url).map(Territory::Joined).into_iter().for_each(&mut each);
            }
        }
        Ok(())
    }

    /// Cuts the files for checkpoint `number`, and says which have to be synced before it counts.
    pub(super) fn cut(&mut self, number: u64) -> Result<Vec<PathBuf>> {
        let (list_bytes, seeds) = (self.list.flush()?, self.len());
        self.mark = Mark { checkpoint: number, list_bytes, seeds, ..self.mark };
        self.write(&Fate::Cut(self.mark))?;
        self.fates.flush()?;
        self.cut_bytes = list_bytes;
        let list = (!self.is_shared()).then(|| self.list.path().to_owned());
        Ok(list.into_iter().chain([self.fates.file().path().to_owned()]).collect())
    }

    /// The checkpoint of the last cut is durable.
    pub(super) fn committed(&mut self) {
        self.list.note_durable(self.cut_bytes);
    }
}

/// Cuts what was being written when a process ended. That is durable before anything is appended, so that nothing of it
/// comes back.
fn cut(file: &DiskFile, end: u64) -> Result<()> {
    let bytes = file.len()?;
    if bytes > end {
        let path = file.path().display();
        tracing::debug!("{path}: {} bytes after byte {end} belong to no checkpoint, and are cut off", bytes - end);
        file.set_len(end)?;
        file.sync()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

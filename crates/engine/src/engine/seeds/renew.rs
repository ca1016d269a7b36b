//! Giving the seeds to the checkpoint of a rebuild.
//!
//! The fates are outcomes of seeds, and what a start needs besides: how far the list counts. Where they are damaged,
//! every whole record is kept, also behind the damage, and the list counts as far as it is whole. What is lost costs
//! the outcome of that seed, or a territory that had joined the scope, and not the crawl. The list has no second copy:
//! queued URLs and archived pages name its seeds by number.

use std::path::Path;

use super::BUFFER_BYTES;
use super::records::{Fate, Mark, Scan, fates_path, find_mark, header, list_path, open_list, put};
use super::verify::WholeList;
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Kind, Mode, Result, Writer};

/// Amount of the fates that a rebuild has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of them.
    All,
    /// Fates that could be read.
    Readable,
}

/// Marks checkpoint `to` where `from` was the last one: the seeds are the same. A list that has lost seeds is an error.
pub fn renew(disk: &Disk, dir: &Path, from: u64, to: u64) -> Result<Kept> {
    let Some(list) = open_list(disk, dir)? else {
        return Err(Error::damaged(&list_path(dir), 0, "the list of the seeds", "no such file"));
    };
    let whole = WholeList::of(&list)?;
    let lacks = |mark: &Mark| match whole.lacks(mark) {
        Some(found) => Err(Error::damaged(list.path(), whole.bytes, format!("{} seeds", mark.seeds), found)),
        None => Ok(()),
    };
    let fates = match disk.open(fates_path(dir), Mode::Write) {
        Err(error) if error.is_not_found() => None,
        opened => Some(opened?),
    };
    if let Some(file) = &fates {
        match find_mark(file, from, |_, _| {}) {
            Ok((end, mark)) => {
                lacks(&mark)?;
                append(file, end, &Fate::Cut(Mark { checkpoint: to, ..mark }))?;
                return Ok(Kept::All);
            }
            Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let known = fates.as_ref().map(|file| last_mark(file, from)).transpose()?.unwrap_or_default();
    lacks(&known)?;
    if known.checkpoint != from && whole.has_more() {
        let found = "no whole record, and the mark that says how many there are is lost, too; it cannot be rebuilt";
        return Err(Error::damaged(list.path(), whole.bytes, "another seed, or the end of the list", found));
    }
    let mark = match known.checkpoint == from {
        true => known,
        // seeds that are admitted once more are known already
        false => Mark { checkpoint: from, list_bytes: whole.bytes, seeds: whole.seeds, admitted: known.admitted },
    };
    write_again(disk, dir, fates.as_ref(), &[mark, Mark { checkpoint: to, ..mark }])?;
    Ok(Kept::Readable)
}

/// Puts `fate` at `end` of `file`, and nothing behind it, durably.
fn append(file: &DiskFile, end: u64, fate: &Fate) -> Result<()> {
    let mut record = Vec::new();
    put(&mut record, fate);
    file.set_len(end)?;
    file.sync()?;
    file.write_all_at(&record, end)?;
    file.sync()
}

/// The last mark in `file`, which is damaged, of checkpoint `number` or one before it.
fn last_mark(file: &DiskFile, number: u64) -> Result<Mark> {
    let (mut scan, mut last) = (Scan::at_record(file, HEADER_BYTES)?, Mark::default());
    while let Some((_, fate)) = scan.next_whole()? {
        if let Fate::Cut(mark) = fate
            && mark.checkpoint <= number
        {
            last = mark;
        }
    }
    Ok(last)
}

/// Writes the fates of the crawl in `dir` again: what can be read of `old`, and behind it these `marks`.
fn write_again(disk: &Disk, dir: &Path, old: Option<&DiskFile>, marks: &[Mark; 2]) -> Result<()> {
    let path = fates_path(dir);
    let (aside, parent) = (path.with_added_extension("tmp"), path.parent().expect("the fates are in a directory"));
    disk.create_dir_all(parent)?;
    let file = disk.open(&aside, Mode::Create)?;
    file.set_len(0)?;
    let (mut out, mut record) = (Writer::new(file, 0, BUFFER_BYTES), Vec::new());
    out.push(&header(Kind::SeedFates))?;
    let mut write = |fate: &Fate| {
        record.clear();
        put(&mut record, fate);
        out.push(&record)
    };
    if let Some(old) = old {
        let mut scan = Scan::at_record(old, HEADER_BYTES)?;
        while let Some((_, fate)) = scan.next_whole::<Fate>()? {
            match fate {
                Fate::Cut(mark) if mark.checkpoint == marks[0].checkpoint => break,
                // marks of other checkpoints: the list counts as the new ones say
                Fate::Cut(_) => {}
                Fate::Status(seed, _) | Fate::Redirect(seed, _) | Fate::Round(seed, _) if seed >= marks[0].seeds => {}
                fate => write(&fate)?,
            }
        }
    }
    marks.iter().try_for_each(|mark| write(&Fate::Cut(*mark)))?;
    out.finish()?.sync()?;
    disk.rename(&aside, &path)?;
    disk.sync_dir(parent)
}

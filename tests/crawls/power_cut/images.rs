//! States that the disk may have after the power was cut at a place in a trace.
//!
//! Durable is what a sync covered that had returned. Of the other writes each may be there, be lost, or be torn at a
//! multiple of 512 bytes; names come and go in their order, up to any place. `sync_file_range` makes nothing durable:
//! it waits for no cache of the disk and for no length of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::trace::{Act, Event, Inode};

const SECTOR: usize = 512;

/// Fates of a write that nothing had made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    Lost,
    /// Only this many bytes are there.
    Torn(usize),
}

/// The files of a directory by name.
pub type Image = BTreeMap<PathBuf, Vec<u8>>;

/// A moment at which the power is cut.
pub struct Cut<'a> {
    events: &'a [Event],
    moment: usize,
    /// Places in `events` of what may be lost: contents, then names.
    pub contents: Vec<usize>,
    pub names: Vec<usize>,
}

impl<'a> Cut<'a> {
    /// The power is cut when the trace has come to line `moment`.
    pub fn new(events: &'a [Event], moment: usize) -> Self {
        let (mut contents, mut names) = (Vec::new(), Vec::new());
        for (place, event) in events.iter().enumerate().take_while(|(_, event)| event.began <= moment) {
            match &event.act {
                Act::Write { inode, .. } | Act::Cut { inode, .. } => {
                    let covers = |act: &Act| matches!(act, Act::SyncFile { inode: synced } if synced == inode);
                    if !is_covered(events, event, moment, covers) {
                        contents.push(place);
                    }
                }
                Act::Name { path, .. } | Act::Unname { path } | Act::Rename { to: path, .. } => {
                    let covers =
                        |act: &Act| matches!(act, Act::SyncNames { dir } if Some(dir.as_path()) == path.parent());
                    if !is_covered(events, event, moment, covers) {
                        names.push(place);
                    }
                }
                _ => {}
            }
        }
        Cut { events, moment, contents, names }
    }

    /// The length of the write at `place`.
    pub fn length(&self, place: usize) -> usize {
        if let Act::Write { bytes, .. } = &self.events[place].act { bytes.len() } else { 0 }
    }

    /// The files where the contents fare as `fates` says and the first `named` of the names are durable.
    pub fn image(&self, fates: &[Fate], named: usize) -> Image {
        let (mut files, mut names): (BTreeMap<Inode, Vec<u8>>, BTreeMap<PathBuf, Inode>) = Default::default();
        let lost = |place: &usize| self.names.iter().skip(named).any(|name| name == place);
        for (place, event) in self.events.iter().enumerate().take_while(|(_, event)| event.began <= self.moment) {
            let fate = self.contents.binary_search(&place).map_or(Fate::Kept, |number| fates[number]);
            match &event.act {
                Act::Write { inode, at, bytes } => {
                    let kept = match fate {
                        Fate::Kept => bytes.as_slice(),
                        Fate::Lost => continue,
                        Fate::Torn(length) => &bytes[..length],
                    };
                    let (file, at) = (files.entry(*inode).or_default(), *at as usize);
                    file.resize(file.len().max(at + kept.len()), 0);
                    file[at..at + kept.len()].copy_from_slice(kept);
                }
                Act::Cut { inode, length } if fate == Fate::Kept => {
                    files.entry(*inode).or_default().resize(*length as usize, 0);
                }
                Act::Name { path, inode } if !lost(&place) => drop(names.insert(path.clone(), *inode)),
                Act::Unname { path } if !lost(&place) => drop(names.remove(path)),
                Act::Rename { from, to } if !lost(&place) => {
                    if let Some(inode) = names.remove(from) {
                        names.insert(to.clone(), inode);
                    }
                }
                _ => {}
            }
        }
        names.into_iter().map(|(path, inode)| (path, files.get(&inode).cloned().unwrap_or_default())).collect()
    }

    /// Fates to try: all kept, all lost, each one alone lost, kept or torn, and `random` mixtures.
    pub fn fates(&self, random: usize, rng: &mut fastrand::Rng) -> Vec<(Vec<Fate>, usize)> {
        let (count, named) = (self.contents.len(), self.names.len());
        let mut all = vec![(vec![Fate::Kept; count], named), (vec![Fate::Lost; count], named)];
        if named > 0 {
            all.extend((0..named).map(|names| (vec![Fate::Kept; count], names)));
            all.push((vec![Fate::Lost; count], 0));
        }
        for number in 0..count {
            let torn = self.torn(number, rng);
            for (rest, one) in
                [(Fate::Kept, Fate::Lost), (Fate::Lost, Fate::Kept), (Fate::Kept, torn), (Fate::Lost, torn)]
            {
                let mut fates = vec![rest; count];
                fates[number] = one;
                all.push((fates, named));
            }
        }
        for _ in 0..if count > 1 { random } else { 0 } {
            let fate = |number| match rng.u8(..3) {
                0 => Fate::Kept,
                1 => Fate::Lost,
                _ => self.torn(number, &mut rng.clone()),
            };
            let fates = (0..count).map(fate).collect();
            let names = if named == 0 || rng.bool() { named } else { rng.usize(..=named) };
            all.push((fates, names));
        }
        all
    }

    fn torn(&self, number: usize, rng: &mut fastrand::Rng) -> Fate {
        let sectors = self.length(self.contents[number]) / SECTOR;
        Fate::Torn(rng.usize(..=sectors) * SECTOR)
    }
}

fn is_covered(events: &[Event], event: &Event, moment: usize, covers: impl Fn(&Act) -> bool) -> bool {
    events.iter().any(|sync| covers(&sync.act) && sync.began > event.returned && sync.returned <= moment)
}

/// Writes the files of `image`, which lay below `root`, below `dir`.
pub fn write(image: &Image, root: &Path, dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for (path, bytes) in image {
        let path = dir.join(path.strip_prefix(root).unwrap_or(path));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

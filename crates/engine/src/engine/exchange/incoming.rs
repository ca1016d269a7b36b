//! Links from other shards: how far they were read, and what is read next.
//!
//! - Of each sender one job is out at most, and of all together [`JOBS_MAX`]: so a slow disk holds up nobody, and what
//!   is in memory is bounded.
//! - What is read next is decided by [`Reading`].

use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::{Disk, Error, Result};
use crate::exchange::{LinkJob, News, Position, Reading, UpTo};
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Jobs that may be out.
const JOBS_MAX: usize = 4;

pub(super) struct Incoming {
    crawl_dir: PathBuf,
    disk: Disk,
    shard: Shard,
    /// Positions by shard.
    positions: Vec<Position>,
    /// The newest checkpoint of each shard that this one knows of.
    heads: Vec<u64>,
    /// Senders whose links are being read.
    out: Vec<u32>,
}

impl Incoming {
    /// Nothing was read yet.
    pub(crate) fn new(crawl_dir: PathBuf, shard: Shard, disk: Disk) -> Incoming {
        let shards = shard.count() as usize;
        Incoming {
            crawl_dir,
            disk,
            shard,
            positions: vec![Position::default(); shards],
            heads: vec![0; shards],
            out: Vec::new(),
        }
    }

    /// Goes on from what was read, and what is known of the others, as a checkpoint has it.
    pub(crate) fn go_on(&mut self, positions: Vec<Position>, heads: Vec<u64>) {
        if !positions.is_empty() {
            (self.positions, self.heads) = (positions, heads);
        }
    }

    /// Positions to which the links of each shard are read and admitted.
    pub(crate) fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Hears of newer checkpoints. One that is older than what is known is damage: a directory was put back. Links that
    /// it has sent since would be sent again, but what the others have deleted since, because it was read, is lost.
    pub(crate) fn hear(&mut self, news: &News) -> Result<()> {
        for (shard, (known, at)) in self.heads.iter_mut().zip(&news.heads).enumerate() {
            let Some(number) = at.as_ref().map(|at| at.head.number) else { continue };
            if number < *known {
                let path = self.crawl_dir.join(Shard::new(shard as u32, self.shard.count()).dir_name());
                let expected = format!("checkpoint {known} or a later one, which another shard knew of");
                return Err(Error::damaged(&path, 0, expected, format!("checkpoint {number}")));
            }
            *known = number;
        }
        Ok(())
    }

    /// The newest checkpoint of each shard that this one knows of.
    pub(crate) fn heads(&self) -> &[u64] {
        &self.heads
    }

    /// The rules by which is read what `news` is about.
    fn reading<'a>(&'a self, news: &'a News) -> Reading<'a> {
        Reading::new(news, &self.positions, self.shard.index())
    }

    /// True if everything is admitted.
    pub(crate) fn is_read(&self, news: &News) -> bool {
        self.out.is_empty() && self.reading(news).is_done()
    }

    /// True if a job is out.
    pub(crate) fn is_reading(&self) -> bool {
        !self.out.is_empty()
    }

    /// Revisions of which everything is admitted.
    pub(crate) fn read_to(&self, news: &News) -> UpTo {
        self.reading(news).read_to()
    }

    /// URLs that join the scope, of all files whose notes were not taken.
    pub(crate) fn unread_notes(&self, news: &News) -> Result<Vec<CanonicalUrl>> {
        let mut urls = Vec::new();
        for (sender, visible) in self.reading(news).with_new_notes() {
            let sender = Shard::new(sender, self.shard.count());
            let file = super::open_file(&self.disk, &self.crawl_dir, sender, visible.file.number)?;
            urls.extend(file.notes().iter().filter_map(|note| CanonicalUrl::parse(note).ok()));
        }
        Ok(urls)
    }

    /// The next frames to be read, if there are any and a job may go out.
    pub(crate) fn next_job(&mut self, news: &News, keys: &Arc<KeyMaker>) -> Option<LinkJob> {
        if self.out.len() >= JOBS_MAX {
            return None;
        }
        let (sender, from) = self.reading(news).next(&self.out)?;
        self.out.push(sender);
        let sender = Shard::new(sender, self.shard.count());
        Some(LinkJob {
            disk: self.disk.clone(),
            dir: self.crawl_dir.join(sender.dir_name()),
            sender,
            reader: self.shard,
            from,
            keys: keys.clone(),
        })
    }

    /// Notes that what was read of `sender` from `from` on is admitted up to `to`.
    pub(crate) fn admitted(&mut self, sender: u32, from: Position, to: Position) {
        self.out.retain(|&out| out != sender);
        let position = &mut self.positions[sender as usize];
        debug_assert!(
            *position <= from && from < to,
            "links are admitted in their order: {position:?} {from:?} {to:?}"
        );
        *position = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Head, HeadAt, OutFile, Revision, Visible};
    use crate::fingerprint::Fingerprinter;

    fn incoming() -> (Incoming, Arc<KeyMaker>) {
        let disk = Disk::real();
        let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
        (Incoming::new("/crawl".into(), Shard::new(0, 3), disk), Arc::new(keys))
    }

    /// Files of shards 1 and 2 as number, revision, notes.
    fn news(files: [&[(u64, Revision, bool)]; 2]) -> News {
        let head = |files: &[(u64, Revision, bool)]| {
            let visible = |&(number, revision, has_notes): &(u64, Revision, bool)| Visible {
                file: OutFile { number, has_notes },
                revision,
            };
            let number = files.last().map_or(0, |last| last.0);
            let head = Head { number, ..Head::default() };
            Some(HeadAt { head, files: files.iter().map(visible).collect(), ..HeadAt::default() })
        };
        News { known: UpTo::all(100), heads: vec![None, head(files[0]), head(files[1])], ..News::default() }
    }

    #[test]
    fn one_job_a_sender_is_out_and_the_oldest_commit_comes_first() {
        let (mut incoming, keys) = incoming();
        let news = news([&[(3, 20, false), (4, 25, false)], &[(9, 10, false)]]);
        assert_eq!(incoming.read_to(&news), UpTo::all(9));
        let jobs: Vec<LinkJob> = std::iter::from_fn(|| incoming.next_job(&news, &keys)).collect();
        let of: Vec<_> = jobs.iter().map(|job| (job.sender.index(), job.from.number)).collect();
        assert_eq!(of, [(2, 9), (1, 3)]);
        incoming.admitted(2, jobs[0].from, Position::behind(9));
        assert_eq!(incoming.read_to(&news), UpTo::all(19));
        incoming.admitted(1, jobs[1].from, Position { number: 3, frames: 7 });
        let next = incoming.next_job(&news, &keys).unwrap();
        assert_eq!(next.from, Position { number: 3, frames: 7 });
        incoming.admitted(1, next.from, Position::behind(3));
        let last = incoming.next_job(&news, &keys).unwrap();
        assert!(!incoming.is_read(&news));
        incoming.admitted(1, last.from, Position::behind(4));
        assert!(incoming.is_read(&news));
        assert_eq!(incoming.read_to(&news), UpTo::all(100));
    }

    #[test]
    fn no_frame_of_a_later_commit_is_read_before_the_notes_of_an_earlier_one() {
        let (mut incoming, keys) = incoming();
        let news = news([&[(3, 20, false), (4, 25, true)], &[(9, 30, false)]]);
        let first = incoming.next_job(&news, &keys).unwrap();
        assert_eq!((first.sender.index(), first.from.number), (1, 3));
        assert!(incoming.next_job(&news, &keys).is_none(), "that of the other shard is later than the notes");
        incoming.admitted(1, first.from, Position::behind(3));
        let notes = incoming.next_job(&news, &keys).unwrap();
        assert_eq!((notes.sender.index(), notes.from.number), (1, 4));
        assert!(incoming.next_job(&news, &keys).is_none(), "they are not in the scope yet");
        incoming.admitted(1, notes.from, Position { number: 4, frames: 2 });
        let both: Vec<u32> =
            std::iter::from_fn(|| incoming.next_job(&news, &keys)).map(|job| job.sender.index()).collect();
        assert_eq!(both, [1, 2]);
    }

    #[test]
    fn a_shard_that_stands_behind_what_was_known_of_it_is_damage() {
        let (mut incoming, _) = incoming();
        let positions = vec![Position::default(); 3];
        let news = news([&[(4, 25, false)], &[(9, 10, false)]]);
        incoming.go_on(positions.clone(), vec![0, 4, 8]);
        incoming.hear(&news).unwrap();
        assert_eq!(incoming.heads(), [0, 4, 9]);
        incoming.go_on(positions, vec![0, 5, 8]);
        assert!(matches!(incoming.hear(&news), Err(Error::Damaged { .. })));
    }
}

//! The links of others that are still to be read, and their order. These are rules on what is known, without a file or
//! a job. An engine reads by them, and the model of the commit protocol checks them.
//!
//! - The files of a sender are read in their order.
//! - Files with notes come in the order of their revisions: while the notes of one are not in the scope, no frame of a
//!   later commit is read. A shard that sends a link because of a note has read that note, so its commit is later, and
//!   the reader knows of both.
//! - Everything is read up to the revision before the first file that is not read to its end, and never beyond the
//!   revision up to which everything is known: of the others a file may be missing that comes before it.

use super::position::Position;
use super::registry::{News, Visible};
use super::up_to::{Revision, UpTo};

/// The progress of a shard's reading, and what is known of the others.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    news: &'a News,
    positions: &'a [Position],
    me: u32,
}

impl<'a> Reading<'a> {
    /// The shard `me` has read up to `positions`, by sender.
    pub fn new(news: &'a News, positions: &'a [Position], me: u32) -> Reading<'a> {
        Reading { news, positions, me }
    }

    /// Files of the shard `sender` that are not read to their end, the oldest first.
    fn unread(self, sender: u32) -> impl Iterator<Item = &'a Visible> {
        let position = self.positions[sender as usize];
        let head = self.news.heads.get(sender as usize).and_then(Option::as_ref).filter(|_| sender != self.me);
        head.into_iter().flat_map(|at| &at.files).filter(move |visible| visible.file.number >= position.number)
    }

    /// The same of all shards, by sender.
    fn all_unread(self) -> impl Iterator<Item = (u32, &'a Visible)> {
        (0..self.positions.len() as u32).flat_map(move |sender| self.unread(sender).map(move |file| (sender, file)))
    }

    /// Files whose notes are not in the scope yet: they are taken with the first frames.
    pub fn with_new_notes(self) -> impl Iterator<Item = (u32, &'a Visible)> {
        self.all_unread().filter(move |&(sender, visible)| {
            let position = self.positions[sender as usize];
            visible.file.has_notes && (visible.file.number > position.number || position.frames == 0)
        })
    }

    /// True if every file is read to its end.
    pub fn is_done(self) -> bool {
        self.all_unread().next().is_none()
    }

    /// Revisions of which everything is admitted.
    pub fn read_to(self) -> UpTo {
        let first = self.all_unread().map(|(_, visible)| visible.revision).min();
        first.map_or(self.news.known, |first| self.news.known.before(first))
    }

    /// The sender whose frames are read next, and from where on, while those of the senders `out` are being read.
    pub fn next(self, out: &[u32]) -> Option<(u32, Position)> {
        let barrier = self.with_new_notes().map(|(_, visible)| visible.revision).min().unwrap_or(Revision::MAX);
        let senders = (0..self.positions.len() as u32).filter(|sender| !out.contains(sender));
        let firsts = senders.filter_map(|sender| self.unread(sender).next().map(|visible| (sender, visible)));
        let (sender, visible) =
            firsts.filter(|(_, visible)| visible.revision <= barrier).min_by_key(|(_, visible)| visible.revision)?;
        let (number, position) = (visible.file.number, self.positions[sender as usize]);
        let frames = if number == position.number { position.frames } else { 0 };
        Some((sender, Position { number, frames }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{HeadAt, OutFile};

    /// A head with these link files, as number and revision.
    fn head(files: &[(u64, Revision)]) -> Option<HeadAt> {
        let visible =
            |&(number, revision): &(u64, Revision)| Visible { file: OutFile { number, has_notes: false }, revision };
        Some(HeadAt { files: files.iter().map(visible).collect(), ..HeadAt::default() })
    }

    #[test]
    fn nothing_is_read_beyond_what_the_watch_has_brought() {
        // shards 0 and 2 are of this node, which knows what it committed itself at once; shard 1 is of another one, of
        // which the watch has brought everything up to 111: what it committed at 112 is not known yet
        let heads = vec![head(&[]), head(&[(7, 105)]), head(&[(4, 120)])];
        let news = News { known: UpTo::all(111), heads, ..News::default() };
        let (start, of_others) = (Position::default(), Position::behind(7));
        assert_eq!(Reading::new(&news, &[start; 3], 0).read_to(), UpTo::all(104));
        let read_to = Reading::new(&news, &[start, of_others, start], 0).read_to();
        assert_eq!(read_to, UpTo::all(111), "the file of 120 is no bound");
        assert_eq!(Reading::new(&news, &[start, of_others, Position::behind(4)], 0).read_to(), UpTo::all(111));
    }
}

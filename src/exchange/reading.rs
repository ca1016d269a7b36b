//! What of the links of others is still to be read, and in which order: the rules, on what is known, without a file or
//! a job. An engine reads by them, and the model of the commit protocol checks them.
//!
//! - The files of a sender are read in their order.
//! - Files with notes come in the order of their revisions: while the notes of one are not in the scope, no frame of a
//!   later commit is read. A shard that sends a link because of a note has read that note, so its commit is later, and
//!   the reader knows of both.
//! - Everything is read up to the revision before the first file that is not read to its end, and no further than
//!   everything is known. What a node has committed itself it knows at once, and the commits of others when it hears
//!   of them.

use super::position::Position;
use super::registry::{News, Revision, Visible};

/// How far a shard has read, beside what is known.
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

    /// Whether there is no file that is not read to its end.
    pub fn is_done(self) -> bool {
        self.all_unread().next().is_none()
    }

    /// Everything that was committed up to this revision is admitted.
    pub fn read_to(self) -> Revision {
        let first = self.all_unread().map(|(_, visible)| visible.revision).min();
        first.map_or(self.news.revision, |first| self.news.revision.min(first - 1))
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
    use super::super::registry::{HeadAt, OutFile};
    use super::*;

    /// Three shards at a node that has heard of everything up to 111: the first is its own, and has committed a file of
    /// links at 120 since; the last one, which reads, is its own, too.
    fn behind_its_own_commit() -> News {
        let file = Visible { file: OutFile { number: 1, has_notes: false }, revision: 120 };
        let own = HeadAt { revision: 120, links_at: 120, files: vec![file], ..HeadAt::default() };
        let heads = vec![Some(own), Some(HeadAt::default()), Some(HeadAt::default())];
        News { revision: 111, heads, ..News::default() }
    }

    /// A file that the second shard committed at 115 would count as read, and be deleted.
    #[test]
    fn everything_is_read_no_further_than_everything_is_known() {
        let (mut news, positions) = (behind_its_own_commit(), [Position::default(); 3]);
        assert_eq!(Reading::new(&news, &positions, 2).read_to(), 111);
        news.revision = 120;
        assert_eq!(Reading::new(&news, &positions, 2).read_to(), 119);
    }
}

//! The commits of a crawl whose shards all run in this process: a table under a lock.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::registry::{Head, HeadAt, Idle, News, Registry, Visible};
use super::up_to::{Revision, UpTo};

/// Function that is called when something has changed for a shard.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// The table.
///
/// A revision is a counter: every commit, opening of a shard and list of seeds takes the next. A shard that changes
/// something wakes all others after it, outside of the lock.
pub struct LocalRegistry {
    table: Mutex<News>,
    shards: Vec<Local>,
}

#[derive(Default)]
struct Local {
    is_hungry: AtomicBool,
    wake: OnceLock<Wake>,
}

impl fmt::Debug for LocalRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRegistry").field("table", &self.table).finish_non_exhaustive()
    }
}

impl LocalRegistry {
    /// A registry for a crawl with `shards` shards, none of which is open, and `seeds` seeds.
    pub fn new(shards: u32, seeds: u32) -> LocalRegistry {
        let heads = (0..shards).map(|_| None).collect();
        let table = News { heads, seeds: (0, seeds), ..News::default() };
        LocalRegistry { table: Mutex::new(table), shards: (0..shards).map(|_| Local::default()).collect() }
    }

    /// Calls `wake` whenever something has changed for `shard`. It must not wait, nor ask the registry.
    pub fn watch(&self, shard: u32, wake: Wake) {
        let is_first = self.shards[shard as usize].wake.set(wake).is_ok();
        debug_assert!(is_first, "shard {shard} is watched by one engine");
    }

    /// The crawl has this many seeds now, which are durable; `None` if it has ended, and takes no more.
    pub fn add_seeds(&self, seeds: u32) -> Option<Revision> {
        let mut table = self.table();
        if table.end.is_some() {
            return None;
        }
        let revision = next(&mut table);
        table.seeds = (revision, seeds);
        drop(table);
        self.wake_all_but(None);
        Some(revision)
    }

    fn table(&self) -> MutexGuard<'_, News> {
        // a panic elsewhere ends the crawl; the table is whole between two statements
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_all_but(&self, shard: Option<u32>) {
        let others = self.shards.iter().enumerate().filter(|(at, _)| Some(*at as u32) != shard);
        others.filter_map(|(_, local)| local.wake.get()).for_each(|wake| wake());
    }
}

/// The revision of the next change. It is known to all at once, since the table is locked until the change is made.
fn next(table: &mut News) -> Revision {
    let revision = table.known.last() + 1;
    table.known = UpTo::all(revision);
    revision
}

impl Registry for LocalRegistry {
    fn open(&self, shard: u32, head: Head) -> Revision {
        let mut table = self.table();
        let revision = next(&mut table);
        let files: Vec<Visible> = head.outgoing.iter().map(|&file| Visible { file, revision }).collect();
        let links_at = if files.is_empty() { 0 } else { revision };
        // what it is at an opening may not be what it was: seeds may have come
        let head = Head { idle: Idle::No, read_to: UpTo::NOTHING, ..head };
        table.heads[shard as usize] = Some(HeadAt { revision, links_at, head, files });
        drop(table);
        self.wake_all_but(Some(shard));
        revision
    }

    fn commit(&self, shard: u32, head: Head) -> Revision {
        let mut table = self.table();
        let revision = next(&mut table);
        let before = table.heads[shard as usize].take().unwrap_or_default();
        debug_assert!(before.head.number < head.number, "heads only move forward: {before:?}, {head:?}");
        let since = |number: u64| before.files.iter().find(|visible| visible.file.number == number);
        let visible = |&file: &super::OutFile| Visible {
            file,
            revision: since(file.number).map_or(revision, |known| known.revision),
        };
        let files: Vec<Visible> = head.outgoing.iter().map(visible).collect();
        let has_links = files.iter().any(|visible| visible.revision == revision);
        let links_at = if has_links { revision } else { before.links_at };
        table.heads[shard as usize] = Some(HeadAt { revision, links_at, head, files });
        if table.end.is_none() {
            table.end = table.is_end();
        }
        let is_end = table.end.is_some();
        drop(table);
        self.wake_all_but(if is_end { None } else { Some(shard) });
        revision
    }

    fn news(&self) -> News {
        self.table().clone()
    }

    fn set_hungry(&self, shard: u32, is_hungry: bool) {
        let was = self.shards[shard as usize].is_hungry.swap(is_hungry, Ordering::Relaxed);
        if is_hungry && !was {
            self.wake_all_but(Some(shard));
        }
    }

    fn is_hungry(&self, shard: u32) -> bool {
        self.shards[shard as usize].is_hungry.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Account, Difference, OutFile, Position};
    use crate::record::Finish;

    fn head(number: u64, idle: Idle, read_to: Revision, files: &[u64]) -> Head {
        let outgoing = files.iter().map(|&number| OutFile { number, has_notes: false }).collect();
        let read_to = UpTo::all(read_to);
        Head { number, idle, read_to, positions: vec![Position::behind(9); 2], outgoing, account: Account::default() }
    }

    #[test]
    fn a_crawl_is_over_when_all_are_idle_and_have_read_what_there_is() {
        let registry = LocalRegistry::new(2, 5);
        let first = registry.open(0, head(0, Idle::Yes, 9, &[]));
        registry.open(1, head(0, Idle::Yes, 9, &[]));
        assert!(first > 0 && registry.news().end.is_none(), "nobody is idle at an opening");
        // the first has links for the second, which is idle before it hears of them
        registry.commit(1, head(1, Idle::Yes, 2, &[]));
        let links = registry.commit(0, head(1, Idle::Yes, 3, &[1]));
        assert_eq!(registry.news().last_input(), links);
        assert!(registry.news().end.is_none());
        // it has read them, but its own commit brings links again
        let back = registry.commit(1, head(2, Idle::Yes, links, &[2]));
        assert!(registry.news().end.is_none());
        registry.commit(0, head(2, Idle::Yes, back, &[]));
        assert!(registry.news().end.is_none(), "its own links are nothing that the second has to read");
        registry.commit(1, head(3, Idle::Yes, back, &[]));
        assert_eq!(registry.news().end, Some(Finish::Complete));
        assert_eq!(registry.add_seeds(6), None);
    }

    #[test]
    fn a_crawl_does_not_end_and_no_file_goes_while_a_file_is_unread_whatever_its_reader_says() {
        let registry = LocalRegistry::new(2, 5);
        (0..2).for_each(|shard| _ = registry.open(shard, Head::default()));
        let links = registry.commit(0, head(1, Idle::Yes, 9, &[1]));
        let mut reader = head(1, Idle::Yes, links, &[]);
        reader.positions[0] = Position { number: 1, frames: 3 };
        registry.commit(1, reader.clone());
        let news = registry.news();
        assert!(news.heads[1].as_ref().unwrap().head.read_to.covers(links), "it says that it has read the file");
        assert_eq!((news.first_unread(), news.end), (Some((0, 1)), None));
        assert!(!news.is_read_by_all(0, 1));
        (reader.number, reader.positions[0]) = (2, Position::behind(1));
        registry.commit(1, reader);
        let news = registry.news();
        assert_eq!((news.first_unread(), news.end), (None, Some(Finish::Complete)));
        assert!(news.is_read_by_all(0, 1));
    }

    #[test]
    fn a_crawl_in_which_links_were_sent_and_not_read_is_not_complete() {
        let registry = LocalRegistry::new(2, 5);
        (0..2).for_each(|shard| _ = registry.open(shard, Head::default()));
        let mut accounts = [Account::new(2), Account::new(2)];
        accounts[0].send(&[0, 3]);
        accounts[1].admit(0, 2);
        let [of_sender, of_reader] = accounts;
        let links = registry.commit(0, Head { account: of_sender, ..head(1, Idle::Yes, 9, &[1]) });
        let mut reader = Head { account: of_reader, ..head(1, Idle::Yes, links, &[]) };
        registry.commit(1, reader.clone());
        let lost = Difference { sender: 0, reader: 1, sent: 3, read: 2 };
        assert_eq!(registry.news().end, Some(Finish::LinksLost));
        assert_eq!(registry.news().differences().collect::<Vec<_>>(), [lost]);
        // the same with all of them
        let registry = LocalRegistry::new(2, 5);
        (0..2).for_each(|shard| _ = registry.open(shard, Head::default()));
        let mut sender = Account::new(2);
        sender.send(&[0, 3]);
        registry.commit(0, Head { account: sender, ..head(1, Idle::Yes, 9, &[1]) });
        reader.account.admit(0, 1);
        registry.commit(1, reader);
        assert_eq!(registry.news().end, Some(Finish::Complete));
    }

    #[test]
    fn new_seeds_keep_a_crawl_from_its_end_until_everybody_has_read_them() {
        let registry = LocalRegistry::new(2, 5);
        (0..2).for_each(|shard| _ = registry.open(shard, Head::default()));
        let seeds = registry.add_seeds(6).unwrap();
        (0..2).for_each(|shard| _ = registry.commit(shard, head(1, Idle::Yes, seeds - 1, &[])));
        assert!(registry.news().end.is_none());
        registry.commit(0, head(2, Idle::Silent, seeds, &[]));
        registry.commit(1, head(2, Idle::Yes, seeds, &[]));
        assert_eq!(registry.news().end, Some(Finish::OnlySilentHosts));
    }

    #[test]
    fn a_file_is_visible_from_its_commit_on_and_one_of_before_from_the_opening() {
        let registry = LocalRegistry::new(2, 0);
        let opened = registry.open(0, head(7, Idle::No, 0, &[4, 6]));
        let committed = registry.commit(0, head(8, Idle::No, 0, &[6, 8]));
        let files = registry.news().heads[0].clone().unwrap().files;
        let seen: Vec<_> = files.iter().map(|visible| (visible.file.number, visible.revision)).collect();
        assert_eq!(seen, [(6, opened), (8, committed)]);
    }

    #[test]
    fn who_changes_something_wakes_the_others() {
        use std::sync::Arc;
        use std::sync::atomic::AtomicU32;
        let registry = LocalRegistry::new(2, 0);
        let woken: Vec<Arc<AtomicU32>> = (0..2).map(|_| Arc::default()).collect();
        for (shard, count) in woken.iter().enumerate() {
            let count = count.clone();
            registry.watch(shard as u32, Box::new(move || _ = count.fetch_add(1, Ordering::Relaxed)));
        }
        let counts = || (woken[0].load(Ordering::Relaxed), woken[1].load(Ordering::Relaxed));
        registry.open(0, Head::default());
        registry.commit(1, head(1, Idle::No, 0, &[]));
        assert_eq!(counts(), (1, 1));
        registry.set_hungry(1, true);
        registry.set_hungry(1, true);
        assert_eq!(counts(), (2, 1));
        assert!(registry.is_hungry(1) && !registry.is_hungry(0));
        registry.add_seeds(3);
        assert_eq!(counts(), (3, 2));
    }
}

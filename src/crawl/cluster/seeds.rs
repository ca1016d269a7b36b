//! The list of the seeds in the store: appended to in pieces, each an object that says in its name which bytes of the
//! list it has.
//!
//! A piece is in the store before any shard admits a seed from it: a page is archived for no seed that the loss of a
//! machine could take back. Of a crawl with one shard the list is a file like the others of its checkpoints.

use std::path::Path;

use super::lists;
use crate::cluster::SeedsRecord;
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{self, Disk, Mode};
use crate::engine::SeedList;
use crate::engine::seeds::list_path;
use crate::record::layout;
use crate::store::{self, Body, Error, ObjectStore, Part};

/// Beginning of the names of the pieces, below the prefix of the crawl.
const PREFIX: &str = "seeds/";

/// A piece: where its bytes begin in the list, and where they end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    to: u64,
    name: String,
}

/// The pieces of the list of the crawl whose objects are below `prefix`, one behind the other.
fn pieces(store: &dyn ObjectStore, prefix: &str) -> store::Result<Vec<Piece>> {
    let (below, mut all) = (format!("{prefix}{PREFIX}"), Vec::new());
    store.list(&below, &mut |name, _| all.extend(parse(&below, name)))?;
    Ok(chain(all))
}

fn parse(below: &str, name: &str) -> Option<Piece> {
    let mut numbers = name.strip_prefix(below)?.splitn(3, '-');
    let (from, to) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    (from < to).then(|| Piece { from, to, name: name.to_owned() })
}

/// Returns the pieces that follow each other from the beginning. Of several that begin at one place the longest counts:
/// a process that was killed after it had put one has put the same bytes, and some more have come since.
fn chain(mut all: Vec<Piece>) -> Vec<Piece> {
    all.sort_by(|one, other| (one.from, other.to, &one.name).cmp(&(other.from, one.to, &other.name)));
    let mut chain: Vec<Piece> = Vec::new();
    for piece in all {
        if piece.from == chain.last().map_or(0, |last| last.to) {
            chain.push(piece);
        }
    }
    chain
}

/// Puts what the list of the crawl in `root` has beyond what is in the store.
pub(super) fn ship(store: &dyn ObjectStore, prefix: &str, disk: &Disk, root: &Path, random: u128) -> store::Result<()> {
    let path = list_path(root);
    let bytes = disk.open(path.clone(), Mode::Read)?.len()?;
    let from = pieces(store, prefix)?.last().map_or(0, |last| last.to);
    if from >= bytes {
        return Ok(());
    }
    let part = Part::File { path, offset: from, bytes: bytes - from };
    store.put(&format!("{prefix}{PREFIX}{from:012}-{bytes:012}-{random:032x}"), &Body::new(disk.clone(), vec![part]))
}

/// The list as its pieces have it; empty where there are none.
fn joined(store: &dyn ObjectStore, prefix: &str) -> store::Result<Vec<u8>> {
    let mut list = Vec::new();
    for Piece { from, to, name } in pieces(store, prefix)? {
        list.extend(store.get(&name, 0..to - from)?);
    }
    Ok(list)
}

/// The list of a crawl of several shards, for readers: in pieces, or made from the only list that a crawl on many
/// machines was given. Several lists, whose order no node has noted yet, are nothing.
pub(super) fn read(store: &dyn ObjectStore, prefix: &str) -> store::Result<Option<Vec<u8>>> {
    let list = joined(store, prefix)?;
    if !list.is_empty() {
        return Ok(Some(list));
    }
    let mut given = Vec::new();
    store.list(&format!("{prefix}{PREFIX}"), &mut |name, bytes| {
        given.extend(name.ends_with(lists::SUFFIX).then(|| (name.to_owned(), bytes)));
    })?;
    match &given[..] {
        [(name, bytes)] => Ok(Some(numbered(&[store.get(name, 0..*bytes)?])?)),
        _ => Ok(None),
    }
}

/// The list that a node makes of these, which a crawl on many machines was given in this order.
pub(super) fn of_lists(store: &dyn ObjectStore, given: &[SeedsRecord]) -> store::Result<Vec<u8>> {
    let files: store::Result<Vec<Vec<u8>>> = given.iter().map(|list| lists::read(store, &list.object)).collect();
    Ok(numbered(&files?)?)
}

/// The list that a node makes of the lines of these seeds files.
fn numbered(files: &[Vec<u8>]) -> disk::Result<Vec<u8>> {
    let (memory, root) = (SimulatedDisk::new(0).disk(), Path::new("/crawl"));
    memory.create_dir_all(root)?;
    let mut list = SeedList::open(&memory, root, &[])?;
    for lines in files {
        lists::number(&mut list, lines)?;
    }
    list.make_durable()?;
    drop(list);
    memory.read(list_path(root))
}

/// Makes the list of the crawl in `root` what it is in the store.
pub(super) fn restore(store: &dyn ObjectStore, prefix: &str, disk: &Disk, root: &Path) -> store::Result<()> {
    let list = joined(store, prefix)?;
    if list.is_empty() {
        return Ok(());
    }
    disk.create_dir_all(&root.join(layout::SEEDS))?;
    disk.replace(&list_path(root), &list).map_err(Error::Disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_from_the_beginning_and_the_longest_counts() {
        let piece = |from, to, name: &str| Piece { from, to, name: name.to_owned() };
        let all = vec![
            piece(30, 40, "d"),
            piece(0, 10, "a"),
            piece(10, 25, "of a process that was killed"),
            piece(10, 30, "b"),
            piece(50, 60, "behind a gap"),
            piece(25, 28, "nowhere"),
        ];
        let names: Vec<String> = chain(all).into_iter().map(|piece| piece.name).collect();
        assert_eq!(names, ["a", "b", "d"]);
        let named = parse("x/seeds/", "x/seeds/000000000010-000000000025-0af3").unwrap();
        assert_eq!((named.from, named.to), (10, 25));
        for wrong in ["x/seeds/a-b-c", "x/seeds/5-5-c", "x/seeds/5", "y/seeds/1-2-3"] {
            assert!(parse("x/seeds/", wrong).is_none(), "{wrong}");
        }
    }
}

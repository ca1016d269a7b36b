//! The crawl tree: domains, their hosts, and the paths below them, with what is archived there.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::archive;
use super::tree_index::{ROOT, Sums, TreeIndex};
use crate::checkpoint::Identity;
use crate::console::{Problem, Tree, TreeRow};
use crate::disk::Disk;

/// A question reads on in the archive for this long, and is answered with what was read.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Rows of an answer; the others are summed up in one more.
const ROWS_MAX: usize = 200;

/// Returns what is archived below `under` by the crawl in `dir`; `index` is kept from question to question.
pub(super) fn below(dir: &Path, index: &Mutex<Option<TreeIndex>>, under: &str) -> Result<Tree, Problem> {
    let archives = archive::open(dir)?;
    let shards = archives.dirs().shards().len();
    let identity = Identity::read_copy(&Disk::real(), archives.dirs().root());
    let created = identity.map_or(0, |identity| identity.created.ms());
    let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
    if index.as_ref().is_none_or(|index| !index.is_of(created, shards)) {
        *index = Some(TreeIndex::new(created, shards));
    }
    let index = index.as_mut().expect("it was made just now");
    let complete = index.read_on(&archives, PATIENCE)?;
    let (rows, records) = (rows(index, under), index.records);
    match rows {
        Some(rows) => Ok(Tree { rows, complete, records }),
        // what was not read yet may have it
        None if !complete => Ok(Tree { rows: Vec::new(), complete, records }),
        None => Err(Problem::Missing("nothing is archived below that".to_owned())),
    }
}

fn rows(index: &TreeIndex, under: &str) -> Option<Vec<TreeRow>> {
    let parent = index.find(under)?;
    let is_of_urls = under.contains("://");
    let mut rows: Vec<TreeRow> = index
        .children(parent)
        .map(|(name, node)| {
            let prefix = match (parent, is_of_urls) {
                (ROOT, _) => name.to_owned(),
                (_, false) => format!("{name}/"),
                (_, true) => format!("{}/{name}", under.trim_end_matches('/')),
            };
            let is_leaf = node.children == 0 && node.rest == Sums::default();
            row(name.to_owned(), prefix, node.all, is_leaf)
        })
        .collect();
    rows.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.name.cmp(&b.name)));
    let node = index.node(parent);
    let mut rest = node.rest;
    for row in rows.drain(ROWS_MAX.min(rows.len())..) {
        rest.pages += row.pages;
        rest.bytes += row.bytes;
        rest.errors += row.errors;
    }
    if node.own != Sums::default() && is_of_urls {
        rows.insert(0, row("the page itself".to_owned(), under.to_owned(), node.own, true));
    }
    if rest != Sums::default() {
        rows.push(row("all others".to_owned(), String::new(), rest, true));
    }
    Some(rows)
}

fn row(name: String, prefix: String, sums: Sums, leaf: bool) -> TreeRow {
    let Sums { pages, bytes, errors } = sums;
    TreeRow { name, prefix, pages, bytes, errors, leaf }
}

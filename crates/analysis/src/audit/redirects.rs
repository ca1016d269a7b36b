//! Redirects followed, all at once.
//!
//! Each pass over the file of URLs is a hop of all paths that go on: paths are sorted by where they are, so nothing is
//! looked up at random, and the passes are as many as the longest path has hops.

use super::line::{fields, line};
use super::node::Node;
use super::spool::Spool;
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Hops that are followed.
pub(super) const HOPS_MAX: usize = 20;

/// The path from a URL along its redirects, to where it is.
pub(super) struct RedirectPath<'a> {
    /// The keys that it passed, the one where it begins first; none if it is still there.
    pub stops: Vec<&'a str>,
    /// The key where it is.
    pub at: &'a str,
    /// The state of the URL at that key.
    pub node: Option<&'a Node>,
}

/// The next step of a path.
pub(super) enum Next {
    /// It goes on to this key.
    On(String),
    /// It ends, and this line is written.
    End(Vec<u8>),
    /// It ends, and nothing is to be said.
    Nothing,
}

impl RedirectPath<'_> {
    /// The key where it begins.
    pub(super) fn start(&self) -> &str {
        self.stops.first().copied().unwrap_or(self.at)
    }

    /// Returns whether it has been here.
    pub(super) fn is_circle(&self) -> bool {
        self.stops.contains(&self.at)
    }
}

/// Writes what `judge` says of the paths from all `nodes`, a line each.
pub(super) fn follow(nodes: &Spool, memory: usize, judge: &dyn Fn(&RedirectPath<'_>) -> Next) -> Result<Spool> {
    let mut pass = Pass { judge, found: Sorter::new(memory / 2), paths: Sorter::new(memory / 4), is_any: false };
    let (mut lines, mut last) = (nodes.read(), Vec::new());
    while let Some(bytes) = lines.next()? {
        let Some((key, node)) = Node::of_line(bytes).filter(|(key, _)| key.as_bytes() != last) else { continue };
        last = key.as_bytes().to_vec();
        pass.take(&RedirectPath { stops: Vec::new(), at: key, node: Some(&node) })?;
    }
    while std::mem::take(&mut pass.is_any) {
        let before = Spool::of(std::mem::replace(&mut pass.paths, Sorter::new(memory / 4)))?;
        pass.hop(nodes, &before)?;
    }
    Spool::of(pass.found)
}

/// A pass over all paths that go on: lines with the place of a path, and the keys that it passed.
struct Pass<'a> {
    judge: &'a dyn Fn(&RedirectPath<'_>) -> Next,
    found: Sorter,
    paths: Sorter,
    /// True if some go on.
    is_any: bool,
}

impl Pass<'_> {
    fn hop(&mut self, nodes: &Spool, before: &Spool) -> Result<()> {
        let (mut paths, mut nodes) = (before.read(), nodes.read());
        let mut at: Option<(Vec<u8>, Option<Node>)> = None;
        while let Some(bytes) = paths.next()? {
            let [key, path] = fields(bytes);
            if at.as_ref().is_none_or(|(known, _)| known != key.as_bytes()) {
                at = Some((key.as_bytes().to_vec(), Node::of(&mut nodes, key.as_bytes())?));
            }
            let node = at.as_ref().and_then(|(_, node)| node.as_ref());
            self.take(&RedirectPath { stops: path.split(' ').collect(), at: key, node })?;
        }
        Ok(())
    }

    fn take(&mut self, path: &RedirectPath<'_>) -> Result<()> {
        match (self.judge)(path) {
            Next::On(target) => {
                self.is_any = true;
                let stops: Vec<&str> = path.stops.iter().copied().chain([path.at]).collect();
                self.paths.push(&line([&target, &stops.join(" ")]))
            }
            Next::End(line) => self.found.push(&line),
            Next::Nothing => Ok(()),
        }
    }
}

//! A graph of hosts by their links, and what it says of them: names, in-degrees, harmonic centrality and PageRank.
//!
//! # How it is made
//!
//! All of it is sorting and sequential reading; nothing is looked up by name. What [`Builder`] is given are pairs of
//! names and the names themselves. Both are sorted (`disk::sorter`); a name's number is its place among the
//! sorted names. The pairs, sorted by the first name, get its number while names and pairs are read side by side; then
//! they are sorted by the second name, which gets its number in the same way. Edges are pairs of numbers from there on.
//!
//! A measure is computed by passes over the edges (`graph::flow`). Each host has a state of fixed size, in a file by
//! number; a pass computes all new states from the old ones. If the states do not fit into the memory that is given,
//! the hosts are cut into blocks that do, and the edges are sorted by block of their target and then by source, once. A
//! pass then reads the old states once per block, in order, and the edges of each block once. So memory is bounded
//! whatever the graph is, no access is random, and a pass costs blocks x states + edges.
//!
//! # What is computed
//!
//! - **Harmonic centrality** of a host: the sum of 1/d over all hosts from which it can be reached, d being the number
//!   of links on the shortest way. See `harmonic`: exact up to `harmonic::EXACT_MAX` hosts, estimated by HyperBall
//!   (Boldi and Vigna, 2013) above.
//! - **PageRank** (Page and others, 1998; damping 0.85), see `page_rank`.
//! - **In-degree**: the number of other hosts that link to a host.
//!
//! A link from a host to itself is no edge, and each pair of hosts is one edge, however many links there are.

mod edges;
mod flow;
pub(crate) mod harmonic;
mod names;
pub(crate) mod page_rank;
mod ranks;

use crate::disk::Result;
use crate::disk::sorter::Sorter;
pub use edges::Edges;
pub use names::{Name, Names};
pub use ranks::{Rank, Ranks};

/// Separator of the parts of a line. No name has it.
const BETWEEN: u8 = 0;

/// Takes the links of a graph.
pub struct Builder {
    memory: usize,
    names: Sorter,
    pairs: Sorter,
}

impl Builder {
    /// A builder that keeps about `memory` bytes.
    pub fn new(memory: usize) -> Builder {
        Builder { memory, names: Sorter::new(memory / 2), pairs: Sorter::new(memory / 2) }
    }

    /// Takes a host, by its `name`, and a `member` of it, which is counted: of a domain one of its hosts. Names and
    /// members have no control characters.
    pub fn host(&mut self, name: &str, member: &str) -> Result<()> {
        self.names.push(&line(name, member.as_bytes()))
    }

    /// Takes a link between two hosts, both of which are given to [`Builder::host`] too.
    pub fn link(&mut self, from: &str, to: &str) -> Result<()> {
        if from == to { Ok(()) } else { self.pairs.push(&line(from, to.as_bytes())) }
    }

    /// The graph of all that was taken.
    pub fn finish(self) -> Result<Graph> {
        let names = Names::of(self.names.finish()?)?;
        let edges = Edges::of(self.pairs.finish()?, &names, self.memory)?;
        Ok(Graph { memory: self.memory, names, edges })
    }
}

/// A graph whose hosts have numbers from 0 on, in the order of their names.
pub struct Graph {
    memory: usize,
    /// The hosts.
    pub names: Names,
    /// The links between them, by their first host and then by their second.
    pub edges: Edges,
}

impl Graph {
    /// All hosts by their harmonic centrality, the highest first.
    pub fn ranks(&self) -> Result<Ranks> {
        let hosts = self.names.count();
        let harmonic = harmonic::of(&self.edges, hosts, self.memory)?;
        let page_rank = page_rank::of(&self.edges, hosts, self.memory)?;
        ranks::of(&self.names, &self.edges, harmonic, page_rank, self.memory)
    }
}

/// A line to be sorted.
fn line(name: &str, rest: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(name.len() + 1 + rest.len());
    line.extend_from_slice(name.as_bytes());
    line.push(BETWEEN);
    line.extend_from_slice(rest);
    line
}

/// The two parts of a line.
fn parts(line: &[u8]) -> (&[u8], &[u8]) {
    let at = line.iter().position(|&byte| byte == BETWEEN).unwrap_or(line.len());
    (&line[..at], line.get(at + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests;

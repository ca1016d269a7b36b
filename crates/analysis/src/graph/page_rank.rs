//! PageRank (Page, Brin, Motwani, Winograd, 1998): where somebody is who follows a random link of the host where he is,
//! or, with one chance in seven and where no link leads on, goes to any host.

use super::edges::Edges;
use super::flow::{Flow, Passes};
use crate::disk::Result;
use crate::disk::scratch::{Scratch, Writer};

/// The chance to follow a link.
const DAMPING: f64 = 0.85;
/// It ends when a pass changes all ranks together by less.
const PRECISION: f64 = 1e-9;
const PASSES_MAX: u32 = 200;
/// A rank and the number of links that lead on.
const WIDTH: usize = 16;

/// The PageRank of each of `hosts`, by number. Their sum is 1.
pub(super) fn of(edges: &Edges, hosts: u32, memory: usize) -> Result<Scratch> {
    let all = f64::from(hosts.max(1));
    let mut ahead = edges.each().peekable();
    let mut stuck = 0.0;
    let mut passes = Passes::new(edges, hosts, memory, WIDTH, |host, state| {
        let mut links = 0.0;
        while let Some(edge) = ahead.next_if(|edge| edge.as_ref().map_or(true, |edge| edge.0 == host)) {
            edge?;
            links += 1.0;
        }
        stuck += if links == 0.0 { 1.0 / all } else { 0.0 };
        put(state, 1.0 / all, links);
        Ok(())
    })?;
    let mut number = 0;
    loop {
        number += 1;
        let mut walk = Walk { all, stuck, stuck_next: 0.0, change: 0.0, ranks: Writer::new()? };
        passes.pass(&mut walk)?;
        stuck = walk.stuck_next;
        if walk.change < PRECISION || number == PASSES_MAX {
            return walk.ranks.finish();
        }
    }
}

fn put(state: &mut [u8], rank: f64, links: f64) {
    state[..8].copy_from_slice(&rank.to_ne_bytes());
    state[8..].copy_from_slice(&links.to_ne_bytes());
}

/// The rank in a state, and its links.
fn get(state: &[u8]) -> (f64, f64) {
    let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().expect("a state has two numbers"));
    (number(&state[..8]), number(&state[8..]))
}

/// One step.
struct Walk {
    all: f64,
    /// The rank of the hosts from which no link leads on.
    stuck: f64,
    stuck_next: f64,
    change: f64,
    ranks: Writer,
}

impl Flow for Walk {
    fn width(&self) -> usize {
        WIDTH
    }

    fn begin(&self, old: &[u8], new: &mut [u8]) {
        put(new, (1.0 - DAMPING + DAMPING * self.stuck) / self.all, get(old).1);
    }

    fn add(&self, source: &[u8], new: &mut [u8]) {
        let (rank, links) = get(source);
        let (own, of_own) = get(new);
        put(new, own + DAMPING * rank / links, of_own);
    }

    fn end(&mut self, old: &[u8], new: &mut [u8]) -> Result<()> {
        let (rank, links) = get(new);
        self.change += (rank - get(old).0).abs();
        self.stuck_next += if links == 0.0 { rank } else { 0.0 };
        self.ranks.write(&rank.to_be_bytes())
    }
}

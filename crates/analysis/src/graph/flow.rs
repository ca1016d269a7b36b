//! Passes over a graph: what flows along its links, from a state of each host to the next one.

use super::edges::{Blocks, Edges};
use crate::disk::Result;
use crate::disk::scratch::{Scratch, Writer};

/// A measure that flows along links, by passes over the edges.
pub(super) trait Flow {
    /// Bytes of a state.
    fn width(&self) -> usize;
    /// The state that a pass begins with, from the one before.
    fn begin(&self, old: &[u8], new: &mut [u8]);
    /// Adds the part of a link to the state of the host that it leads to, by the old state of the host from which it
    /// comes.
    fn add(&self, source: &[u8], new: &mut [u8]);
    /// Receives all new states, in the order of the hosts.
    fn end(&mut self, old: &[u8], new: &mut [u8]) -> Result<()>;
}

/// The states of all hosts.
pub(super) struct Passes<'a> {
    blocks: Blocks<'a>,
    hosts: u32,
    states: Scratch,
}

impl<'a> Passes<'a> {
    /// Begins with the states that `first` gives, for `hosts` of the graph of `edges`. About `memory` bytes are kept.
    pub(crate) fn new(
        edges: &'a Edges,
        hosts: u32,
        memory: usize,
        width: usize,
        mut first: impl FnMut(u32, &mut [u8]) -> Result<()>,
    ) -> Result<Passes<'a>> {
        // a block's new states and its old ones
        let of_block = u32::try_from(memory / (2 * width)).unwrap_or(u32::MAX).max(1);
        let blocks = Blocks::new(edges, of_block, hosts, memory)?;
        let (mut states, mut state) = (Writer::new()?, vec![0; width]);
        for host in 0..hosts {
            state.fill(0);
            first(host, &mut state)?;
            states.write(&state)?;
        }
        Ok(Passes { blocks, hosts, states: states.finish()? })
    }

    /// Computes the next states.
    pub(crate) fn pass(&mut self, flow: &mut impl Flow) -> Result<()> {
        let width = flow.width();
        let mut out = Writer::new()?;
        let mut first = 0;
        while first < self.hosts {
            let count = self.blocks.hosts.min(self.hosts - first);
            let new = self.block(first, count, flow)?;
            let mut old = self.states.read_from(u64::from(first) * width as u64);
            let mut new = new;
            for state in new.chunks_exact_mut(width) {
                let before = old.next(width)?.unwrap_or_default();
                flow.end(before, state)?;
                out.write(state)?;
            }
            first += count;
        }
        self.states = out.finish()?;
        Ok(())
    }

    /// The new states of `count` hosts from `first` on, which are a block.
    fn block(&self, first: u32, count: u32, flow: &impl Flow) -> Result<Vec<u8>> {
        let width = flow.width();
        let mut new = vec![0; count as usize * width];
        let mut old = self.states.read_from(u64::from(first) * width as u64);
        for state in new.chunks_exact_mut(width) {
            flow.begin(old.next(width)?.unwrap_or_default(), state);
        }
        let mut links = self.blocks.of((first / self.blocks.hosts) as usize);
        let (mut sources, mut at, mut source) = (self.states.read(), 0, vec![0; width]);
        while let Some((from, to)) = links.next()? {
            while at <= from {
                source.copy_from_slice(sources.next(width)?.unwrap_or_default());
                at += 1;
            }
            let place = (to - first) as usize * width;
            flow.add(&source, &mut new[place..place + width]);
        }
        Ok(new)
    }
}

//! Harmonic centrality: the sum of 1/d(u, v) over all u from which v can be reached (Boldi and Vigna, "Axioms for
//! centrality", 2014).
//!
//! The ball of v at distance t are the hosts from which v is at most t links away. Balls grow by passes: the next ball
//! of v is the union of its ball and the balls of all hosts that link to v. What a ball gains at distance t counts 1/t.
//! It ends with the pass that changes no ball.
//!
//! In small graphs a ball is a bit for each host, and the result is exact. In larger ones it is a HyperLogLog counter
//! (Flajolet and others, 2007) of 256 registers, each a byte: union is the maximum of each register. That is HyperBall
//! (Boldi and Vigna, "In-core computation of geometric centralities with HyperBall", 2013). The standard error of a
//! ball's size is 1.04 / sqrt(256) = 6.5 %.

use super::edges::Edges;
use super::flow::{Flow, Passes};
use crate::disk::Result;
use crate::disk::scratch::{Reader, Scratch, Writer};
use crate::fingerprint::mix_next;

/// Hosts of a graph for which it is computed exactly.
pub(crate) const EXACT_MAX: u32 = 16_384;
/// Registers of a counter.
const REGISTERS: usize = 256;
/// Passes at most: what is farther away would add less than 1/1,000 for each host.
const PASSES_MAX: u32 = 1_000;

/// The harmonic centrality of each of `hosts`, by number.
pub(super) fn of(edges: &Edges, hosts: u32, memory: usize) -> Result<Scratch> {
    of_balls(edges, hosts, memory, hosts <= EXACT_MAX)
}

/// The same, with exact balls or with estimated ones.
pub(super) fn of_balls(edges: &Edges, hosts: u32, memory: usize, exact: bool) -> Result<Scratch> {
    let ball = if exact { Ball::Exact(hosts) } else { Ball::Estimated };
    let mut passes = Passes::new(edges, hosts, memory, ball.width(), |host, state| {
        ball.put(host, state);
        Ok(())
    })?;
    let mut sums = Writer::new()?;
    for _ in 0..hosts {
        sums.write(&0_f64.to_be_bytes())?;
    }
    let mut sums = sums.finish()?;
    for distance in 1..=PASSES_MAX {
        let mut growth = Growth { ball, distance, before: sums.read(), after: Writer::new()?, has_grown: false };
        passes.pass(&mut growth)?;
        let Growth { after, has_grown, .. } = growth;
        sums = after.finish()?;
        if !has_grown {
            break;
        }
    }
    Ok(sums)
}

/// Ways in which balls are kept.
#[derive(Clone, Copy)]
enum Ball {
    /// A bit for each of this many hosts.
    Exact(u32),
    /// A HyperLogLog counter.
    Estimated,
}

impl Ball {
    fn width(self) -> usize {
        match self {
            // eight bytes at a time are joined
            Ball::Exact(hosts) => (hosts as usize).div_ceil(64).max(1) * 8,
            Ball::Estimated => REGISTERS,
        }
    }

    /// Puts a host into an empty ball.
    fn put(self, host: u32, ball: &mut [u8]) {
        match self {
            Ball::Exact(_) => ball[host as usize / 8] |= 1 << (host % 8),
            Ball::Estimated => {
                let hash = mix_next(u64::from(host));
                let rest = hash >> REGISTERS.trailing_zeros();
                // the place of the first one among the bits that did not choose the register
                ball[hash as usize % REGISTERS] = rest.trailing_zeros() as u8 + 1;
            }
        }
    }

    fn join(self, from: &[u8], ball: &mut [u8]) {
        match self {
            Ball::Exact(_) => ball.iter_mut().zip(from).for_each(|(own, other)| *own |= other),
            Ball::Estimated => ball.iter_mut().zip(from).for_each(|(own, other)| *own = (*own).max(*other)),
        }
    }

    /// Returns the number of hosts in it.
    fn size(self, ball: &[u8]) -> f64 {
        match self {
            Ball::Exact(_) => f64::from(ball.iter().map(|byte| byte.count_ones()).sum::<u32>()),
            Ball::Estimated => estimate(ball),
        }
    }
}

/// The count of a HyperLogLog counter, corrected where it is small.
fn estimate(registers: &[u8]) -> f64 {
    let count = registers.len() as f64;
    let bias = 0.7213 / (1.0 + 1.079 / count);
    let sum: f64 = registers.iter().map(|&register| (-f64::from(register)).exp2()).sum();
    let raw = bias * count * count / sum;
    let empty = registers.iter().filter(|&&register| register == 0).count();
    if raw <= 2.5 * count && empty > 0 { count * (count / empty as f64).ln() } else { raw }
}

/// Balls that grow by one link.
struct Growth<'a> {
    ball: Ball,
    distance: u32,
    /// The sums so far, by host.
    before: Reader<'a>,
    after: Writer,
    has_grown: bool,
}

impl Flow for Growth<'_> {
    fn width(&self) -> usize {
        self.ball.width()
    }

    fn begin(&self, old: &[u8], new: &mut [u8]) {
        new.copy_from_slice(old);
    }

    fn add(&self, source: &[u8], new: &mut [u8]) {
        self.ball.join(source, new);
    }

    fn end(&mut self, old: &[u8], new: &mut [u8]) -> Result<()> {
        let mut sum = self.before.next_f64()?.unwrap_or_default();
        if old != new {
            self.has_grown = true;
            sum += (self.ball.size(new) - self.ball.size(old)).max(0.0) / f64::from(self.distance);
        }
        self.after.write(&sum.to_be_bytes())
    }
}

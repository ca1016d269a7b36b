//! Hosts by their centrality.

use super::edges::Edges;
use super::names::Names;
use crate::disk::Result;
use crate::disk::scratch::Scratch;
use crate::disk::sorter::{Sorted, Sorter};

/// A host among the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Name of the host.
    pub name: String,
    /// The number of its members.
    pub members: u32,
    /// Its place by harmonic centrality, from 1 on.
    pub harmonic_place: u32,
    /// Its harmonic centrality.
    pub harmonic: f64,
    /// Its place by PageRank, from 1 on.
    pub page_rank_place: u32,
    /// Its PageRank.
    pub page_rank: f64,
    /// The number of other hosts that link to it.
    pub in_degree: u32,
}

/// All hosts by their harmonic centrality, the highest first; equal ones by their names.
pub struct Ranks {
    sorted: Sorted,
    place: u32,
}

/// Makes the ranks of hosts with these measures.
pub(super) fn of(names: &Names, edges: &Edges, harmonic: Scratch, page_rank: Scratch, memory: usize) -> Result<Ranks> {
    let mut places = places(&page_rank, memory)?;
    let (mut targets, mut sorter) = (edges.in_degrees(memory)?, Sorter::new(memory));
    let mut target = next_number(&mut targets)?;
    let (mut harmonic, mut page_rank) = (harmonic.read(), page_rank.read());
    for (number, name) in (0_u32..).zip(names.each()) {
        let name = name?;
        let mut in_degree = 0_u32;
        while target == Some(number) {
            in_degree += 1;
            target = next_number(&mut targets)?;
        }
        let place = places.next()?.map_or([0; 4], |line| [line[4], line[5], line[6], line[7]]);
        let mut line = descending(harmonic.next_f64()?.unwrap_or_default()).to_vec();
        line.extend_from_slice(&number.to_be_bytes());
        line.extend_from_slice(&place);
        line.extend_from_slice(&page_rank.next_f64()?.unwrap_or_default().to_be_bytes());
        line.extend_from_slice(&name.members.to_be_bytes());
        line.extend_from_slice(&in_degree.to_be_bytes());
        line.extend_from_slice(name.name.as_bytes());
        sorter.push(&line)?;
    }
    Ok(Ranks { sorted: sorter.finish()?, place: 0 })
}

/// Returns each host's number and its place by `measure`, in the order of the numbers.
fn places(measure: &Scratch, memory: usize) -> Result<Sorted> {
    let (mut measure, mut by_measure) = (measure.read(), Sorter::new(memory));
    let mut number = 0_u32;
    while let Some(value) = measure.next_f64()? {
        by_measure.push(&[&descending(value)[..], &number.to_be_bytes()].concat())?;
        number += 1;
    }
    let (mut sorted, mut by_number, mut place) = (by_measure.finish()?, Sorter::new(memory), 0_u32);
    while let Some(line) = sorted.next()? {
        place += 1;
        by_number.push(&[&line[8..], &place.to_be_bytes()].concat())?;
    }
    by_number.finish()
}

/// Bytes that sort the larger of two numbers, neither of them negative, before the other.
fn descending(value: f64) -> [u8; 8] {
    (!value.to_bits()).to_be_bytes()
}

fn next_number(sorted: &mut Sorted) -> Result<Option<u32>> {
    Ok(sorted.next()?.map(|line| u32::from_be_bytes([line[0], line[1], line[2], line[3]])))
}

impl Iterator for Ranks {
    type Item = Result<Rank>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.sorted.next() {
            Ok(line) => line?,
            Err(error) => return Some(Err(error)),
        };
        self.place += 1;
        let long = |at: usize| u64::from_be_bytes(line[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_be_bytes(line[at..at + 4].try_into().expect("four bytes"));
        Some(Ok(Rank {
            name: String::from_utf8_lossy(&line[32..]).into_owned(),
            members: short(24),
            harmonic_place: self.place,
            harmonic: f64::from_bits(!long(0)),
            page_rank_place: short(12),
            page_rank: f64::from_bits(long(16)),
            in_degree: short(28),
        }))
    }
}

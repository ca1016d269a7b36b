//! Groups of texts that are alike, by sorts of their signatures.

use super::sets::Sets;
use super::signature::{BAND, BYTES, Signature, resemblance};
use crate::disk::scratch::{Reader, Scratch, Writer};
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{Error, Result};

/// Texts of a run of the same band with which each other one is compared, at most.
pub const LEADERS: usize = 16;
/// Texts of a united set that may each have their own group; what is like none of them is in no group.
const CENTRES: usize = 64;
/// Bytes of a number.
const NUMBER: usize = size_of::<u32>();

/// Takes texts.
pub struct Finder {
    memory: usize,
    least: f64,
    /// Signatures by number; `labels` has the label of each behind its length.
    signatures: Writer,
    labels: Writer,
    count: u32,
}

/// Bytes before each label.
const LENGTH: usize = size_of::<u32>();

impl Finder {
    /// A finder of texts that resemble each other by `least` or more. It keeps about `memory` bytes, and four a text.
    pub fn new(least: f64, memory: usize) -> Result<Finder> {
        Ok(Finder { memory, least, signatures: Writer::new()?, labels: Writer::new()?, count: 0 })
    }

    /// Takes the next text, by its signature; `label` is what it is known by.
    pub fn push(&mut self, signature: &Signature, label: &[u8]) -> Result<()> {
        let too_much = |what| Error::limit("compare", &std::env::temp_dir(), what);
        let length = u32::try_from(label.len()).map_err(|_| too_much("labels of more than 4 GiB"))?;
        self.count = self.count.checked_add(1).ok_or_else(|| too_much("more than four billion texts"))?;
        self.signatures.write(&signature.0)?;
        self.labels.write(&length.to_be_bytes())?;
        self.labels.write(label)
    }

    /// The groups of all that was taken.
    pub fn finish(self) -> Result<Groups> {
        let Finder { memory, least, signatures, labels, count } = self;
        let (signatures, labels) = (signatures.finish()?, labels.finish()?);
        let mut sets = Sets::new(count);
        let distinct = distinct(&signatures, &mut sets, memory)?;
        for band in 0..BYTES / BAND {
            unite_by_band(&distinct, band, &mut sets, least, memory)?;
        }
        drop(distinct);
        let mut sorter = Sorter::new(memory);
        let mut rows = Rows { signatures: signatures.read(), labels: labels.read(), next: 0 };
        sets.each_united(|number, set| {
            let (signature, label) = rows.get(number)?;
            sorter.push(&[&set.to_be_bytes(), &number.to_be_bytes()[..], &signature, &label].concat())
        })?;
        let sorted = by_centre(sorter.finish()?, least, memory)?;
        Ok(Groups { sorted, next: None, centre: None, groups: 0 })
    }
}

/// Unites texts with the same signature. What is returned has each signature once, with its first number.
fn distinct(signatures: &Scratch, sets: &mut Sets, memory: usize) -> Result<Scratch> {
    let (mut reader, mut sorter, mut number) = (signatures.read(), Sorter::new(memory), 0_u32);
    while let Some(signature) = reader.next(BYTES)? {
        sorter.push(&[signature, &number.to_be_bytes()].concat())?;
        number += 1;
    }
    let (mut sorted, mut out) = (sorter.finish()?, Writer::new()?);
    let mut last: Option<([u8; BYTES], u32)> = None;
    while let Some(line) = sorted.next()? {
        let (signature, number) = (&line[..BYTES], number_at(line, BYTES));
        match &last {
            Some((same, first)) if same == signature => sets.unite(*first, number),
            _ => {
                out.write(line)?;
                last = Some((signature.try_into().expect("a signature has its length"), number));
            }
        }
    }
    out.finish()
}

/// Unites texts that agree in a band and are alike enough.
fn unite_by_band(distinct: &Scratch, band: usize, sets: &mut Sets, least: f64, memory: usize) -> Result<()> {
    let (mut reader, mut sorter) = (distinct.read(), Sorter::new(memory));
    while let Some(line) = reader.next(BYTES + NUMBER)? {
        let (signature, number) = line.split_at(BYTES);
        sorter.push(&[&signature[band * BAND..(band + 1) * BAND], number, signature].concat())?;
    }
    let mut sorted = sorter.finish()?;
    let (mut key, mut leaders) = ([0; BAND], Vec::<(u32, [u8; BYTES])>::new());
    while let Some(line) = sorted.next()? {
        let (of_band, number, signature) = (&line[..BAND], number_at(line, BAND), &line[BAND + NUMBER..]);
        if key != of_band {
            key.copy_from_slice(of_band);
            leaders.clear();
        }
        let set = sets.least(number);
        let mut is_alike =
            |leader: u32, other: &[u8]| sets.least(leader) == set || resemblance(other, signature) >= least;
        match leaders.iter().find(|(leader, other)| is_alike(*leader, other)) {
            Some((leader, _)) => sets.unite(*leader, number),
            None if leaders.len() < LEADERS => {
                leaders.push((number, signature.try_into().expect("a signature has its length")));
            }
            None => {}
        }
    }
    Ok(())
}

fn number_at(line: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(line[at..at + NUMBER].try_into().expect("a number has four bytes"))
}

/// Signatures and labels by rising number.
struct Rows<'a> {
    signatures: Reader<'a>,
    labels: Reader<'a>,
    next: u32,
}

impl Rows<'_> {
    fn get(&mut self, number: u32) -> Result<(Vec<u8>, Vec<u8>)> {
        loop {
            let signature = self.signatures.next(BYTES)?.unwrap_or_default().to_vec();
            let length = self.labels.next(LENGTH)?.map_or(0, |length| number_at(length, 0));
            let label = self.labels.next(length as usize)?.unwrap_or_default();
            self.next += 1;
            if self.next > number {
                return Ok((signature, label.to_vec()));
            }
        }
    }
}

/// A text of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The number of the group, from 0 on.
    pub group: u64,
    /// The number of the text, in the order in which they were taken.
    pub number: u32,
    /// The label by which it was added.
    pub label: Vec<u8>,
    /// Estimate of its resemblance to the first of the group, from 0 to 1; 1 for the first itself.
    pub resemblance: f64,
}

/// Parts united sets, whose lines these are, into groups: each text goes to the first one of its set that it is alike
/// enough to. Lines of the result begin with the number of that one.
fn by_centre(mut sets: Sorted, least: f64, memory: usize) -> Result<Sorted> {
    let mut sorter = Sorter::new(memory);
    let (mut of_set, mut centres) = (None, Vec::<(u32, [u8; BYTES])>::new());
    while let Some(line) = sets.next()? {
        let (set, number) = (number_at(line, 0), number_at(line, NUMBER));
        let (signature, label) = line[2 * NUMBER..].split_at(BYTES);
        if of_set != Some(set) {
            of_set = Some(set);
            centres.clear();
        }
        let alike = centres.iter().map(|(centre, other)| (*centre, resemblance(other, signature)));
        let found = alike.into_iter().find(|(_, resemblance)| *resemblance >= least);
        let (centre, resemblance) = match found {
            Some(found) => found,
            None if centres.len() < CENTRES => {
                centres.push((number, signature.try_into().expect("a signature has its length")));
                (number, 1.0)
            }
            None => continue,
        };
        let (centre, number, resemblance) = (centre.to_be_bytes(), number.to_be_bytes(), resemblance.to_be_bytes());
        sorter.push(&[&centre[..], &number, &resemblance, label].concat())?;
    }
    sorter.finish()
}

/// The texts of all groups, group by group, the first of each group first.
pub struct Groups {
    sorted: Sorted,
    /// A member that was read and not given out, behind the number of the text to whose group it belongs.
    next: Option<(u32, Member)>,
    /// The first text of the group that is being given out.
    centre: Option<u32>,
    groups: u64,
}

impl Groups {
    fn read(&mut self) -> Result<Option<(u32, Member)>> {
        Ok(self.sorted.next()?.map(|line| {
            let (head, label) = line.split_at(2 * NUMBER + size_of::<f64>());
            let resemblance = f64::from_be_bytes(head[2 * NUMBER..].try_into().expect("it has eight bytes"));
            let member = Member { group: 0, number: number_at(head, NUMBER), label: label.to_vec(), resemblance };
            (number_at(head, 0), member)
        }))
    }

    /// The next text of a group that has others.
    fn next_member(&mut self) -> Result<Option<Member>> {
        loop {
            let read = match self.next.take() {
                Some(read) => Some(read),
                None => self.read()?,
            };
            let Some((centre, member)) = read else { return Ok(None) };
            if self.centre != Some(centre) {
                self.next = self.read()?;
                if self.next.as_ref().is_none_or(|(other, _)| *other != centre) {
                    continue;
                }
                self.centre = Some(centre);
                self.groups += 1;
            }
            return Ok(Some(Member { group: self.groups - 1, ..member }));
        }
    }
}

impl Iterator for Groups {
    type Item = Result<Member>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_member().transpose()
    }
}

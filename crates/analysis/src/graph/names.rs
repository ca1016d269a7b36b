//! The hosts of a graph, in the order of their names.

use super::parts;
use crate::disk::scratch::{Reader, Scratch, Writer};
use crate::disk::sorter::Sorted;
use crate::disk::{Error, Result};

/// Bytes before a name: its length, and how many members it has.
const HEAD: usize = 6;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Name of the host.
    pub name: String,
    /// The number of its different members.
    pub members: u32,
}

/// All hosts; the number of one is its place.
pub struct Names {
    stored: Scratch,
    count: u32,
}

impl Names {
    /// Makes names from lines of a name and a member.
    pub(super) fn of(mut lines: Sorted) -> Result<Names> {
        let (mut out, mut count) = (Writer::new()?, 0_u32);
        let mut current: Option<(Vec<u8>, Vec<u8>, u32)> = None;
        while let Some(line) = lines.next()? {
            let (name, member) = parts(line);
            match &mut current {
                Some((of, last, members)) if of == name => {
                    if last != member {
                        *members += 1;
                        *last = member.to_vec();
                    }
                }
                other => {
                    write(&mut out, other.as_ref())?;
                    *other = Some((name.to_vec(), member.to_vec(), 1));
                    count = count.checked_add(1).ok_or_else(too_many)?;
                }
            }
        }
        write(&mut out, current.as_ref())?;
        Ok(Names { stored: out.finish()?, count })
    }

    /// Returns the number of names.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// All in order.
    pub fn each(&self) -> Each<'_> {
        Each { reader: self.stored.read() }
    }

    /// Looks names up that come in order.
    pub(super) fn lookup(&self) -> Lookup<'_> {
        Lookup { reader: self.stored.read(), current: None }
    }
}

fn too_many() -> Error {
    Error::limit("number", &std::env::temp_dir(), "more than four billion hosts")
}

fn write(out: &mut Writer, name: Option<&(Vec<u8>, Vec<u8>, u32)>) -> Result<()> {
    let Some((name, _, members)) = name else { return Ok(()) };
    let length = u16::try_from(name.len()).map_err(|_| too_long())?;
    out.write(&length.to_be_bytes())?;
    out.write(&members.to_be_bytes())?;
    out.write(name)
}

fn too_long() -> Error {
    Error::limit("number", &std::env::temp_dir(), "names of more than 65,535 bytes")
}

/// The next name as it is stored, and its members.
fn next(reader: &mut Reader<'_>) -> Result<Option<(Vec<u8>, u32)>> {
    let Some(head) = reader.next(HEAD)? else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let members = u32::from_be_bytes([head[2], head[3], head[4], head[5]]);
    Ok(reader.next(length)?.map(|name| (name.to_vec(), members)))
}

/// Hosts in order.
pub struct Each<'a> {
    reader: Reader<'a>,
}

impl Iterator for Each<'_> {
    type Item = Result<Name>;

    fn next(&mut self) -> Option<Result<Name>> {
        let name = next(&mut self.reader).transpose()?;
        Some(name.map(|(name, members)| Name { name: String::from_utf8_lossy(&name).into_owned(), members }))
    }
}

/// Numbers of names that are asked for in order.
pub(super) struct Lookup<'a> {
    reader: Reader<'a>,
    /// The name that was read last, and its number.
    current: Option<(Vec<u8>, u32)>,
}

impl Lookup<'_> {
    /// The number of `name`; none where it is no host. None that was asked for before sorts behind it.
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<Option<u32>> {
        loop {
            match &self.current {
                Some((current, number)) if &**current >= name => return Ok((current == name).then_some(*number)),
                _ => {
                    let number = self.current.as_ref().map_or(0, |(_, number)| number + 1);
                    let Some((found, _)) = next(&mut self.reader)? else { return Ok(None) };
                    self.current = Some((found, number));
                }
            }
        }
    }
}

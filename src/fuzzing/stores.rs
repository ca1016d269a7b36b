//! The targets that read what only their room may see: an input is taken apart here, so that no room needs this one.

use super::input::{choice, join, parts};
use crate::{calendar, cli, container, drum, frontier};

fn files<const N: usize>(bytes: &[u8]) -> [Vec<u8>; N] {
    parts(bytes).map(<[u8]>::to_vec)
}

fn joined<const N: usize>(files: &[Vec<u8>; N]) -> Vec<u8> {
    join(&files.each_ref().map(Vec::as_slice))
}

pub(super) fn drum(bytes: &[u8]) -> bool {
    let (kind, bytes) = choice(bytes);
    drum::fuzzing::drum(kind, files(bytes))
}

pub(super) fn drum_samples() -> Vec<Vec<u8>> {
    let samples = drum::fuzzing::samples().into_iter().zip(0_u8..);
    samples.map(|(files, kind)| [&[kind][..], &joined(&files)].concat()).collect()
}

pub(super) fn addresses(bytes: &[u8]) -> bool {
    container::fuzzing::addresses(files(bytes))
}

pub(super) fn address_samples() -> Vec<Vec<u8>> {
    vec![joined(&container::fuzzing::address_sample())]
}

pub(super) fn frontier(bytes: &[u8]) -> bool {
    frontier::fuzzing::frontier(files(bytes))
}

pub(super) fn frontier_samples() -> Vec<Vec<u8>> {
    frontier::fuzzing::samples().iter().map(joined).collect()
}

pub(super) fn calendar(bytes: &[u8]) -> bool {
    calendar::fuzzing::calendar(files(bytes))
}

pub(super) fn calendar_samples() -> Vec<Vec<u8>> {
    vec![joined(&calendar::fuzzing::sample())]
}

pub(super) fn extract(bytes: &[u8]) -> bool {
    let (selector, bytes) = choice(bytes);
    cli::fuzzing::extract(selector, bytes)
}

pub(super) fn cdxj(bytes: &[u8]) -> bool {
    let words = parts(bytes).map(|part| String::from_utf8_lossy(part).into_owned());
    cli::fuzzing::cdxj(words, bytes.len() as u64)
}

//! The parts of one input: a choice, several files. The rooms' own targets get them separately.

/// Takes the first byte as a choice, and the rest.
pub(super) fn choice(bytes: &[u8]) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(&first, rest)| (first, rest))
}

/// Splits `bytes` into `N` parts: the lengths of all but the last come before them, 4 bytes each, little-endian.
pub(super) fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let (heads, mut rest) = bytes.split_at_checked(4 * (N - 1)).unwrap_or((&[], bytes));
    let mut parts = [&[][..]; N];
    for (part, head) in parts.iter_mut().zip(heads.chunks_exact(4)) {
        let wanted = u32::from_le_bytes(head.try_into().expect("a chunk of four"));
        (*part, rest) = rest.split_at(rest.len().min(wanted as usize));
    }
    parts[N - 1] = rest;
    parts
}

/// The inverse of [`parts`].
pub(super) fn join(parts: &[&[u8]]) -> Vec<u8> {
    let (last, others) = parts.split_last().expect("there are parts");
    let mut bytes: Vec<u8> = others.iter().flat_map(|part| (part.len() as u32).to_le_bytes()).collect();
    others.iter().chain([last]).for_each(|part| bytes.extend_from_slice(part));
    bytes
}

//! Numbers of variable length, as every format of the crawl has them: LEB128, seven bits per byte, the lowest first;
//! the top bit says that more follow.

/// Appends `number`.
pub fn push(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number at `*at` and moves on; `None` where none ends within ten bytes or within `bytes`.
pub fn read(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Reads a length at `*at` and that many bytes, and moves on.
pub fn read_slice<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(read(bytes, at)?).ok()?;
    let slice = bytes.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(slice)
}

/// Puts the length of what follows `start` in `out` before it.
pub fn prefix_length(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    push((end - start) as u64, out);
    let bytes = out.len() - end;
    out[start..].rotate_right(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_what_ends_early_or_overflows_is_refused() {
        for number in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            push(number, &mut out);
            let mut at = 0;
            assert_eq!(read(&out, &mut at), Some(number));
            assert_eq!(at, out.len());
            assert_eq!(read(&out[..out.len() - 1], &mut 0), None);
        }
        assert_eq!(read(&[0xff; 9], &mut 0), None);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], &mut 0), None);
        assert_eq!(read_slice(&[5, 1, 2], &mut 0), None);
        assert_eq!(read_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &mut 0), None);
    }

    #[test]
    fn a_length_is_put_before_what_it_counts() {
        for length in [0, 5, 127, 128, 20_000] {
            let mut out = vec![9];
            out.resize(1 + length, 7);
            prefix_length(&mut out, 1);
            let mut at = 1;
            assert_eq!(read_slice(&out, &mut at).unwrap(), vec![7; length]);
            assert_eq!(at, out.len());
        }
    }
}

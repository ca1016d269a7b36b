//! A file of lines, read as a stream: of a line that has no end only the start is kept.

use std::io::{self, Read};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// All lines of `source`, of each no more than `line_bytes_max` bytes and one, by which a line that was cut is reported
/// from one that was not; `FileTooLarge` where there are more than `bytes_max` bytes in all.
pub(super) fn read(mut source: impl Read, line_bytes_max: usize, bytes_max: u64) -> io::Result<Vec<u8>> {
    let (mut lines, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    let (mut read_bytes, mut line_bytes) = (0, 0);
    loop {
        let read = match source.read(&mut chunk) {
            Ok(0) => return Ok(lines),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        read_bytes += read as u64;
        if read_bytes > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut rest = &chunk[..read];
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let content = &rest[..end.unwrap_or(rest.len())];
            let room = (line_bytes_max + 1).saturating_sub(line_bytes);
            lines.extend_from_slice(&content[..content.len().min(room)]);
            line_bytes += content.len();
            rest = &rest[content.len()..];
            if end.is_some() {
                lines.push(b'\n');
                (line_bytes, rest) = (0, &rest[1..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(3);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn n24_lines_are_cut_one_byte_beyond_the_bound_however_they_come() {
        let text = b"12345\n123456\n1234567\n\n12345678901234567890\nend";
        let cut = b"12345\n123456\n123456\n\n123456\nend";
        assert_eq!(read(&text[..], 5, 1_000).unwrap(), cut);
        assert_eq!(read(Trickle(text), 5, 1_000).unwrap(), cut);
        assert_eq!(read(&text[..], 100, text.len() as u64).unwrap(), text);
        assert_eq!(read(&text[..], 100, text.len() as u64 - 1).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn n24_three_hundred_megabytes_without_a_line_end_are_kept_as_one_cut_line() {
        let lines = read(io::repeat(0).take(300_000_000), 65_536, 1 << 30).unwrap();
        assert_eq!(lines, vec![0; 65_537]);
        assert!(lines.capacity() < 300_000);
    }
}

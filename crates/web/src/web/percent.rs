//! Percent-encoding (RFC 3986, 2.1 and 2.3), as far as spellings of the same URL differ by it.

/// The byte that two hexadecimal digits at the start of `digits` mean.
pub(crate) fn escaped_byte(digits: &[u8]) -> Option<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = value(*digits.first()?)? << 4 | value(*digits.get(1)?)?;
    u8::try_from(byte).ok()
}

/// Letters, digits and `-._~`: escaping them changes nothing.
pub(crate) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The escape of a byte, with upper case digits.
pub fn escape(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_stands_for_its_byte() {
        for byte in 0..=255 {
            assert_eq!(escaped_byte(&escape(byte)[1..]), Some(byte));
        }
        assert_eq!(escaped_byte(b"e9x"), Some(0xe9));
        for broken in [&b""[..], b"4", b"4g", b"+1"] {
            assert_eq!(escaped_byte(broken), None);
        }
    }
}

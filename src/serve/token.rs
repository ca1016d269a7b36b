//! A token that a request has to bring: made for a process, kept in memory, compared in constant time.

use std::fmt;

/// Bytes of randomness.
const BYTES: usize = 16;

/// A token: 128 random bits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    pub(crate) fn new() -> Result<Token, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Token(data_encoding::HEXLOWER.encode(&bytes)))
    }

    /// Returns the token as it is in the address of the page. It is shown nowhere else.
    pub(crate) fn as_text(&self) -> &str {
        &self.0
    }

    /// Returns whether `given` is the token. The time that this takes says nothing about where they differ.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differences = own.iter().enumerate().fold(0, |differences, (at, byte)| {
            let other = given.get(at).copied().unwrap_or_default();
            differences | std::hint::black_box(byte ^ other)
        });
        differences == 0 && given.len() == own.len()
    }
}

/// It is in no log and no message of a fault.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it_and_no_two_are_the_same() {
        let (token, other) = (Token::new().unwrap(), Token::new().unwrap());
        let text = token.as_text().to_owned();
        assert_eq!(text.len(), 2 * BYTES);
        assert!(token.is(text.as_bytes()) && !other.is(text.as_bytes()));
        for length in 0..text.len() {
            assert!(!token.is(&text.as_bytes()[..length]));
        }
        assert!(!token.is(format!("{text}0").as_bytes()) && !token.is(b"") && !token.is(&[0; 2 * BYTES]));
        for at in 0..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] ^= 1;
            assert!(!token.is(&wrong));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}

//! A value that nobody may read who has no business with it: passwords, tokens, cookies of a login.
//!
//! It is never printed: not by `{:?}`, in no message, in no file. Who sends it says [`Secret::expose`].

use std::fmt;

/// What stands in the place of a secret, wherever one would be seen.
pub const REDACTED: &str = "[redacted]";

/// A text that is not printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Box<str>);

impl Secret {
    /// `text`, from now on a secret.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Secret(text.into())
    }

    /// The text itself, to be sent.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!((format!("{secret:?}").as_str(), secret.expose()), (REDACTED, "hunter2"));
        assert!(!format!("{:#?}", [Some(secret)]).contains("hunter2"));
    }
}

//! A value that nobody may read who has no business with it: passwords, tokens, cookies of a login, and addresses in
//! which there may be one.
//!
//! It is never printed: not by `{:?}`, in no message, in no file. Who sends it says [`Secret::expose`], who connects
//! [`SecretAddress::expose`].

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// The text that is shown in place of a secret.
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

/// The address of a proxy, a store, a registry or a server, as the operator wrote it: maybe with a password or a key in
/// it. Printed, written down and sent it is without user, password, query and fragment; where these cannot be
/// distinguished from the rest, its scheme alone is left.
#[derive(Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct SecretAddress(String);

impl SecretAddress {
    /// The address `text`.
    pub fn new(text: impl Into<String>) -> Self {
        SecretAddress(text.into())
    }

    /// The address itself, for who connects.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if something is left out where it is shown.
    pub fn has_secrets(&self) -> bool {
        self.shown() != self.0
    }

    /// The same address without what is left out.
    #[must_use]
    pub fn without_secrets(&self) -> SecretAddress {
        SecretAddress(self.shown())
    }

    fn shown(&self) -> String {
        // the path of a directory has no user before it
        let is_harmless =
            |text: &str| !text.contains(['?', '#']) && (text.starts_with("file:///") || !text.contains('@'));
        if is_harmless(&self.0) {
            return self.0.clone();
        }
        let known = Url::parse(&self.0).ok().filter(Url::has_host);
        let bare = known.and_then(|mut url| {
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
            url.set_query(None);
            url.set_fragment(None);
            let text = if url.path() == "/" { url.as_str().trim_end_matches('/') } else { url.as_str() };
            Some(text.to_owned()).filter(|text| is_harmless(text))
        });
        let scheme = || self.0.split_once("://").map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
        let scheme = || Some(scheme()).filter(|scheme| is_harmless(scheme)).unwrap_or_default();
        bare.unwrap_or_else(|| scheme() + "...")
    }
}

impl fmt::Display for SecretAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for SecretAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown(), f)
    }
}

impl Serialize for SecretAddress {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.shown())
    }
}

impl FromStr for SecretAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(SecretAddress::new(text))
    }
}

impl PartialEq<&str> for SecretAddress {
    fn eq(&self, text: &&str) -> bool {
        self.0 == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_written_and_debugged_without_what_may_be_a_secret() {
        for (text, shown) in [
            ("off", "off"),
            ("", ""),
            ("file:///mnt/my crawls", "file:///mnt/my crawls"),
            ("s3://bucket/crawls", "s3://bucket/crawls"),
            ("http://127.0.0.1:3128", "http://127.0.0.1:3128"),
            ("http://me:sesame@127.0.0.1:3128", "http://127.0.0.1:3128"),
            ("http://sesame@[::1]:2379/a", "http://[::1]:2379/a"),
            ("s3://me:sesame@bucket/crawls", "s3://bucket/crawls"),
            ("s3://me:sesame/sesame@bucket/crawls", "s3://..."),
            ("s3://bucket/sesame@crawls", "s3://..."),
            ("az://container/a?sig=sesame", "az://container/a"),
            ("https://a.example/#sesame", "https://a.example"),
            ("file:///mnt/a@b", "file:///mnt/a@b"),
            ("me:sesame@127.0.0.1", "..."),
            ("me@sesame://127.0.0.1", "..."),
        ] {
            let address = SecretAddress::new(text);
            assert_eq!((address.to_string().as_str(), address.expose()), (shown, text));
            assert_eq!((format!("{address:?}"), serde_json::to_string(&address).unwrap()), {
                let quoted = format!("\"{shown}\"");
                (quoted.clone(), quoted)
            });
            assert_eq!(address.has_secrets(), text != shown, "{text}");
            assert_eq!(serde_json::from_str::<SecretAddress>(&format!("\"{text}\"")).unwrap(), address);
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!((format!("{secret:?}").as_str(), secret.expose()), (REDACTED, "hunter2"));
        assert!(!format!("{:#?}", [Some(secret)]).contains("hunter2"));
    }
}

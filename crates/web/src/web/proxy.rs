//! The URL of a proxy: which there are, what is wrong with one, and how one is shown.
//!
//! User and password are in the URL, percent-encoded where they have special characters. Whatever shows a [`ProxyUrl`]
//! leaves them out; only who connects asks for them ([`ProxyUrl::secret_url`]).

use std::fmt;

use url::Url;

/// Bytes of a user or a password that SOCKS5 can say (RFC 1929).
const CREDENTIAL_BYTES_MAX: usize = 255;
/// Description of what a proxy must look like, for errors.
const EXPECTED: &str = "write \"http://HOST:PORT\", \"https://HOST:PORT\", \"socks5://HOST:PORT\" or \
                        \"socks5h://HOST:PORT\", USER:PASSWORD@ before HOST where it wants them, or \"none\"";

/// A proxy, with its user and password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProxyUrl(Url);

/// Reasons why a text is no proxy. They do not repeat the text, which may have a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Not a URL with a host, or one of another scheme.
    #[error("{EXPECTED}")]
    Form,
    /// More than scheme, user, password, host and port.
    #[error("has a path, a query or a fragment; {EXPECTED}")]
    More,
    /// A reference to a secret, which would be taken for the password itself.
    #[error("cannot refer to a secret by ${{...}}: write user and password as they are, percent-encoded")]
    Reference,
    /// A user or a password that is too long.
    #[error("has a user or a password of more than {CREDENTIAL_BYTES_MAX} bytes")]
    Credentials,
}

impl ProxyUrl {
    /// The proxy that `text` says: none where it is empty or `none`.
    pub fn parse(text: &str) -> Result<Option<ProxyUrl>, ProxyError> {
        if matches!(text, "" | "none") {
            return Ok(None);
        }
        if text.contains("${") {
            return Err(ProxyError::Reference);
        }
        let url = Url::parse(text).map_err(|_| ProxyError::Form)?;
        let is_known = matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h");
        if !is_known || !url.has_host() || url.host_str().is_none_or(str::is_empty) || url.port() == Some(0) {
            return Err(ProxyError::Form);
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(ProxyError::More);
        }
        let is_long = |text: &str| text.len() > CREDENTIAL_BYTES_MAX;
        if is_long(url.username()) || url.password().is_some_and(is_long) {
            return Err(ProxyError::Credentials);
        }
        Ok(Some(ProxyUrl(url)))
    }

    /// Itself with user and password, for who connects to it.
    pub fn secret_url(&self) -> &str {
        self.0.as_str()
    }

    /// True if it speaks HTTP: plain requests go to it as they are, without a connection through it.
    pub fn is_http(&self) -> bool {
        matches!(self.0.scheme(), "http" | "https")
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host_str().unwrap_or_default();
        write!(f, "{}://{host}", self.0.scheme())?;
        self.0.port().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_shown_without_user_and_password() {
        for (text, shown) in [
            ("http://127.0.0.1:3128", "http://127.0.0.1:3128"),
            ("http://me:secret@proxy.example/", "http://proxy.example"),
            ("https://me@[::1]:8443", "https://[::1]:8443"),
            ("socks5://me:s%40cret@127.0.0.1:1080", "socks5://127.0.0.1:1080"),
            ("socks5h://[::1]:9050", "socks5h://[::1]:9050"),
            ("SOCKS5H://localhost", "socks5h://localhost"),
        ] {
            let proxy = ProxyUrl::parse(text).unwrap().unwrap();
            assert_eq!(proxy.to_string(), shown);
            assert_eq!(format!("{proxy:?}"), shown);
        }
    }

    #[test]
    fn no_proxy_is_written_as_none_or_nothing() {
        assert_eq!((ProxyUrl::parse(""), ProxyUrl::parse("none")), (Ok(None), Ok(None)));
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_being_repeated() {
        let long = format!("socks5://{}:x@127.0.0.1:1", "a".repeat(256));
        for (text, error) in [
            ("not a url", ProxyError::Form),
            ("127.0.0.1:3128", ProxyError::Form),
            ("ftp://me:sesame@127.0.0.1", ProxyError::Form),
            ("socks4://127.0.0.1", ProxyError::Form),
            ("socks5:me:sesame@127.0.0.1", ProxyError::Form),
            ("socks5://", ProxyError::Form),
            ("socks5:///x", ProxyError::Form),
            ("http://", ProxyError::Form),
            ("http://127.0.0.1:0", ProxyError::Form),
            ("http://me:sesame@127.0.0.1/path", ProxyError::More),
            ("http://127.0.0.1/?sesame", ProxyError::More),
            ("socks5://127.0.0.1#sesame", ProxyError::More),
            ("socks5://me:${SECRET}@127.0.0.1", ProxyError::Reference),
            (&long, ProxyError::Credentials),
        ] {
            assert_eq!(ProxyUrl::parse(text), Err(error), "{text}");
            assert!(!error.to_string().contains("sesame"));
        }
    }
}

//! What an error of the libraries means for the crawl.

use std::error::Error;
use std::fmt;
use std::io;

use crate::outcome::Failure;

/// The resolver's refusal, carried through the client as an error.
#[derive(Debug)]
pub(super) struct Refused(pub Failure);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Refused {}

/// The failure behind `error`: the innermost cause that says more than "it did not work".
pub(super) fn classify(error: &reqwest::Error) -> Failure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(Refused(failure)) = at.downcast_ref() {
            return *failure;
        }
        if at.is::<rustls::Error>() {
            return Failure::Tls;
        }
        if let Some(io) = at.downcast_ref::<io::Error>() {
            // rustls hides inside of an io::Error
            if io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
                return Failure::Tls;
            }
        }
        if let Some(hyper) = at.downcast_ref::<hyper::Error>() {
            if hyper.is_parse() || hyper.is_parse_too_large() {
                return Failure::Protocol;
            }
            if hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled() {
                return Failure::Disconnected;
            }
        }
        cause = at.source();
    }
    match () {
        () if error.is_connect() => Failure::Connect,
        () if error.is_timeout() => Failure::Timeout,
        () if error.is_builder() => Failure::Protocol,
        () => Failure::Disconnected,
    }
}

/// The whole chain of causes in one line.
pub(super) fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(at) = cause {
        let more = at.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = at.source();
    }
    text
}

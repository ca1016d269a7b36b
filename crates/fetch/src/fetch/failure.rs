//! The meaning that an error of the libraries has for the crawl.

use std::error::Error;
use std::fmt;
use std::io;

use rustls::pki_types::InvalidDnsNameError;

use super::protocols::Http2Fault;
use crate::outcome::{Cause, Failure};

/// The resolver's refusal, carried through the client as an error.
#[derive(Debug)]
pub(super) struct Refused(pub Cause);

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
            return failure.failure();
        }
        if is_of_tls(at) || at.is::<InvalidDnsNameError>() {
            return Failure::Tls;
        }
        if let Some(h2) = at.downcast_ref::<h2::Error>() {
            return match fault_of(h2) {
                Http2Fault::Unusable => Failure::Protocol,
                Http2Fault::Broken => Failure::Disconnected,
            };
        }
        if let Some(hyper) = at.downcast_ref::<hyper::Error>() {
            if hyper.is_parse() || hyper.is_parse_too_large() {
                return Failure::Protocol;
            }
            let ended = hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled();
            if ended && at.source().is_none() {
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

/// The same in more detail.
pub(super) fn cause_of(error: &reqwest::Error) -> Cause {
    let failure = classify(error);
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(Refused(cause)) = at.downcast_ref() {
            return *cause;
        }
        let finer = match failure {
            Failure::Tls if at.is::<InvalidDnsNameError>() => Some(Cause::TlsName),
            Failure::Tls => certificate(innermost(at)),
            Failure::Connect => at.downcast_ref::<io::Error>().and_then(|error| connection(error.kind())),
            Failure::Protocol => at.downcast_ref::<hyper::Error>().and_then(head),
            _ => None,
        };
        if let Some(finer) = finer {
            return finer;
        }
        cause = at.source();
    }
    match failure {
        Failure::Connect if error.is_timeout() => Cause::ConnectTimeout,
        failure => failure.into(),
    }
}

fn connection(kind: io::ErrorKind) -> Option<Cause> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some(Cause::ConnectionRefused),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some(Cause::Unreachable),
        io::ErrorKind::TimedOut => Some(Cause::ConnectTimeout),
        _ => None,
    }
}

/// Finds what is wrong with the head of an answer. Most of it the library says in words alone; a test compares them.
fn head(error: &hyper::Error) -> Option<Cause> {
    match error.to_string().as_str() {
        _ if error.is_parse_too_large() => Some(Cause::HeadTooLarge),
        _ if error.is_parse_status() => Some(Cause::HeadStatus),
        "invalid HTTP version parsed" => Some(Cause::HeadVersion),
        "invalid HTTP header parsed" => Some(Cause::HeadField),
        "invalid content-length parsed" => Some(Cause::HeadLength),
        "invalid transfer-encoding parsed" | "unexpected transfer-encoding parsed" => Some(Cause::HeadCoding),
        _ => None,
    }
}

fn certificate(error: &(dyn Error + 'static)) -> Option<Cause> {
    use rustls::CertificateError as E;
    let Some(rustls::Error::InvalidCertificate(problem)) = error.downcast_ref() else { return None };
    match problem {
        E::Expired | E::ExpiredContext { .. } => Some(Cause::CertificateExpired),
        E::NotValidYet | E::NotValidYetContext { .. } => Some(Cause::CertificateNotYetValid),
        E::NotValidForName | E::NotValidForNameContext { .. } => Some(Cause::CertificateName),
        E::UnknownIssuer => Some(Cause::CertificateIssuer),
        _ => None,
    }
}

/// True if it is the error of a process or a machine that has no file left.
pub(super) fn is_of_files(error: &io::Error) -> bool {
    /// EMFILE and ENFILE.
    const OUT_OF_FILES: [i32; 2] = [24, 23];
    error.raw_os_error().is_some_and(|code| OUT_OF_FILES.contains(&code))
}

/// True if the process or the machine has no file left for a connection: that says nothing of the server.
pub(super) fn is_out_of_files(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if at.downcast_ref::<io::Error>().is_some_and(is_of_files) {
            return true;
        }
        cause = at.source();
    }
    false
}

/// True if `error` comes from rustls. Its errors hide in an [`io::Error`], or in one inside of another, whose sources
/// are those of what they hide.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    innermost(error).is::<rustls::Error>()
}

/// Returns what an [`io::Error`] hides; `error` itself if it is none or hides nothing.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut at = error;
    while let Some(inner) = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        at = inner;
    }
    at
}

/// Returns what a failed request says about the server's HTTP/2, where that was offered to it; `None` if it failed
/// before or for another reason.
pub(super) fn http2_fault(error: &reqwest::Error) -> Option<Http2Fault> {
    if let Some(h2) = h2_error(error) {
        return Some(fault_of(h2));
    }
    // the library does not always say what broke, nor whether the connection was one of HTTP/2
    (classify(error) == Failure::Disconnected).then_some(Http2Fault::Broken)
}

/// Returns whether the server says that it has not processed the request (RFC 9113, 8.7), which may be sent again
/// whatever it is.
pub(super) fn is_unprocessed(error: &reqwest::Error) -> bool {
    h2_error(error).is_some_and(|h2| {
        let is_refused = h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM);
        let is_gone = h2.is_go_away() && h2.reason() == Some(h2::Reason::NO_ERROR);
        h2.is_remote() && (is_refused || is_gone)
    })
}

/// Returns whether the connection ended under the request before anything of an answer came.
pub(super) fn is_of_dead_connection(error: &reqwest::Error) -> bool {
    // a stream that is reset says that its connection lives
    let has_ended = h2_error(error).is_none_or(|h2| h2.is_io() || h2.is_go_away());
    has_ended && matches!(classify(error), Failure::Disconnected | Failure::Tls) && !error.is_timeout()
}

fn h2_error(error: &reqwest::Error) -> Option<&h2::Error> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        if let Some(h2) = at.downcast_ref::<h2::Error>() {
            return Some(h2);
        }
        cause = at.source();
    }
    None
}

fn fault_of(error: &h2::Error) -> Http2Fault {
    match error.reason() {
        Some(h2::Reason::HTTP_1_1_REQUIRED) => Http2Fault::Unusable,
        // a stream that is reset may mean this one page; a connection is ended so in good order or under load
        Some(
            h2::Reason::NO_ERROR | h2::Reason::REFUSED_STREAM | h2::Reason::CANCEL | h2::Reason::ENHANCE_YOUR_CALM,
        )
        | None => Http2Fault::Broken,
        Some(_) if error.is_reset() && error.is_remote() => Http2Fault::Broken,
        Some(_) => Http2Fault::Unusable,
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

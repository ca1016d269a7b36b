//! Why a host brings no answer, in the detail in which an operator wants to know it.
//!
//! A [`Failure`] is what the crawl decides and counts by; a [`Cause`] is finer, decides nothing, and is shown: a
//! connection that was refused is not one that timed out. A [`HostFault`] adds where it happened, and is kept with the
//! host until it answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Failure;

/// Why an attempt brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The name does not exist.
    NoSuchHost,
    /// The name servers answer SERVFAIL.
    ServFail,
    /// The name servers answer REFUSED.
    DnsRefused,
    /// The name servers do not answer in time.
    DnsSilent,
    /// The name servers answer with nonsense, or cannot be reached.
    Dns,
    /// The connection was refused.
    ConnectionRefused,
    /// There is no route to the address.
    Unreachable,
    /// No connection within `fetch.timeout_connect`.
    ConnectTimeout,
    /// No connection, for another reason.
    Connect,
    /// The certificate has expired.
    CertificateExpired,
    /// The certificate does not hold yet.
    CertificateNotYetValid,
    /// The certificate is for another name.
    CertificateName,
    /// Nobody who is trusted has signed the certificate.
    CertificateIssuer,
    /// The TLS handshake failed for another reason.
    Tls,
    /// `fetch.timeout_total` passed.
    Timeout,
    /// No whole head within `fetch.timeout_head`.
    TooSlow,
    /// The connection broke.
    Disconnected,
    /// The answer is not HTTP, or breaks a limit of it.
    Protocol,
    /// Every address of the host is private.
    PrivateAddress,
    /// A 304 that nobody asked for.
    Unconditional304,
    /// The proxy cannot be connected to, or does not speak as a proxy does.
    ProxySilent,
    /// The proxy wants another user or password.
    ProxyCredentials,
    /// The proxy is there, and makes no connection to the server.
    NotByProxy,
    /// Something else about the proxy.
    Proxy,
    /// The aliases of the name lead from one to the other without end.
    AliasLoop,
    /// TLS, as it is spoken here, knows no such name of a host.
    TlsName,
    /// The head of the answer begins with no version of HTTP that is known.
    HeadVersion,
    /// The head has no status code.
    HeadStatus,
    /// A field of the head is malformed.
    HeadField,
    /// The length that the head announces is malformed.
    HeadLength,
    /// The head announces a transfer coding that cannot be.
    HeadCoding,
    /// The head has more fields than can be, or longer ones.
    HeadTooLarge,
}

impl Cause {
    /// All causes, in the order of their codes in host records.
    pub const ALL: [Cause; 32] = [
        Cause::NoSuchHost,
        Cause::ServFail,
        Cause::DnsRefused,
        Cause::DnsSilent,
        Cause::Dns,
        Cause::ConnectionRefused,
        Cause::Unreachable,
        Cause::ConnectTimeout,
        Cause::Connect,
        Cause::CertificateExpired,
        Cause::CertificateNotYetValid,
        Cause::CertificateName,
        Cause::CertificateIssuer,
        Cause::Tls,
        Cause::Timeout,
        Cause::TooSlow,
        Cause::Disconnected,
        Cause::Protocol,
        Cause::PrivateAddress,
        Cause::Unconditional304,
        Cause::ProxySilent,
        Cause::ProxyCredentials,
        Cause::NotByProxy,
        Cause::Proxy,
        Cause::AliasLoop,
        Cause::TlsName,
        Cause::HeadVersion,
        Cause::HeadStatus,
        Cause::HeadField,
        Cause::HeadLength,
        Cause::HeadCoding,
        Cause::HeadTooLarge,
    ];

    /// The failure by which the crawl decides.
    pub fn failure(self) -> Failure {
        match self {
            Cause::NoSuchHost => Failure::NoSuchHost,
            Cause::ServFail | Cause::DnsRefused | Cause::DnsSilent | Cause::Dns | Cause::AliasLoop => Failure::Dns,
            Cause::ConnectionRefused
            | Cause::Unreachable
            | Cause::ConnectTimeout
            | Cause::Connect
            | Cause::NotByProxy => Failure::Connect,
            Cause::CertificateExpired
            | Cause::CertificateNotYetValid
            | Cause::CertificateName
            | Cause::CertificateIssuer
            | Cause::TlsName
            | Cause::Tls => Failure::Tls,
            Cause::Timeout => Failure::Timeout,
            Cause::TooSlow => Failure::TooSlow,
            Cause::Disconnected => Failure::Disconnected,
            Cause::Protocol
            | Cause::HeadVersion
            | Cause::HeadStatus
            | Cause::HeadField
            | Cause::HeadLength
            | Cause::HeadCoding
            | Cause::HeadTooLarge => Failure::Protocol,
            Cause::PrivateAddress => Failure::PrivateAddress,
            Cause::Unconditional304 => Failure::Unconditional304,
            Cause::ProxySilent | Cause::ProxyCredentials | Cause::Proxy => Failure::Proxy,
        }
    }

    /// Returns whether the host was asked for anything: a name that leads nowhere, or to an address that is refused,
    /// ends the attempt before a connection is tried, as does a proxy that does not work.
    pub fn is_contact(self) -> bool {
        !matches!(self.failure(), Failure::NoSuchHost | Failure::Dns | Failure::PrivateAddress | Failure::Proxy)
    }
}

impl From<Failure> for Cause {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoSuchHost => Cause::NoSuchHost,
            Failure::Dns => Cause::Dns,
            Failure::Connect => Cause::Connect,
            Failure::Tls => Cause::Tls,
            Failure::Timeout => Cause::Timeout,
            Failure::TooSlow => Cause::TooSlow,
            Failure::Disconnected => Cause::Disconnected,
            Failure::Protocol => Cause::Protocol,
            Failure::PrivateAddress => Cause::PrivateAddress,
            Failure::Unconditional304 => Cause::Unconditional304,
            Failure::Proxy => Cause::Proxy,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::ServFail => "the name servers answer SERVFAIL",
            Cause::DnsRefused => "the name servers answer REFUSED",
            Cause::DnsSilent => "the name servers do not answer",
            Cause::TlsName => "its name cannot be said in TLS: a label begins or ends with a hyphen, or is empty",
            Cause::AliasLoop => "the aliases of its name have no end",
            Cause::ConnectionRefused => "connection refused",
            Cause::Unreachable => "no route to its address",
            Cause::ConnectTimeout => "no connection in time",
            Cause::CertificateExpired => "certificate expired",
            Cause::CertificateNotYetValid => "certificate not valid yet",
            Cause::CertificateName => "certificate of another name",
            Cause::CertificateIssuer => "certificate of an unknown authority",
            Cause::ProxySilent => "the proxy does not answer",
            Cause::ProxyCredentials => "the proxy wants another user or password",
            Cause::NotByProxy => "the proxy makes no connection",
            Cause::HeadVersion => "no version of HTTP in its head that is known",
            Cause::HeadStatus => "no status code in its head",
            Cause::HeadField => "a malformed field in its head",
            Cause::HeadLength => "a malformed Content-Length in its head",
            Cause::HeadCoding => "a Transfer-Encoding in its head that cannot be",
            Cause::HeadTooLarge => "more or longer fields in its head than can be",
            other => return other.failure().fmt(f),
        })
    }
}

/// The reason for which a host is held back: why it brings nothing, and where that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostFault {
    /// At the host itself.
    Host(Cause),
    /// At the place where its robots.txt redirects.
    RobotsMoved(Cause),
    /// Its robots.txt was answered with this status, from which nothing follows.
    RobotsStatus(u16),
    /// Its robots.txt came in a content coding that cannot be undone.
    RobotsCoding,
    /// The login that its pages need cannot be reached.
    Login,
}

impl HostFault {
    /// Returns the fault of a robots.txt from whose answer nothing follows: one that came whole cannot be decoded.
    pub fn of_robots(status: u16, is_interrupted: bool) -> HostFault {
        let is_whole = status < 300 && !is_interrupted;
        if is_whole { HostFault::RobotsCoding } else { HostFault::RobotsStatus(status) }
    }

    /// Tag and value for a host record.
    pub fn code(self) -> (u8, u16) {
        let of = |cause: Cause| Cause::ALL.iter().position(|&other| other == cause).unwrap_or(0) as u16;
        match self {
            HostFault::Host(cause) => (0, of(cause)),
            HostFault::RobotsMoved(cause) => (1, of(cause)),
            HostFault::RobotsStatus(status) => (2, status),
            HostFault::RobotsCoding => (3, 0),
            HostFault::Login => (4, 0),
        }
    }

    /// The fault that [`HostFault::code`] was made of.
    pub fn of_code(tag: u8, value: u16) -> Option<HostFault> {
        let cause = || Cause::ALL.get(usize::from(value)).copied();
        match tag {
            0 => cause().map(HostFault::Host),
            1 => cause().map(HostFault::RobotsMoved),
            2 => Some(HostFault::RobotsStatus(value)),
            3 => Some(HostFault::RobotsCoding),
            4 => Some(HostFault::Login),
            _ => None,
        }
    }
}

impl fmt::Display for HostFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostFault::Host(cause) => cause.fmt(f),
            HostFault::RobotsMoved(Cause::PrivateAddress) => f.write_str("robots.txt redirects to a private address"),
            HostFault::RobotsMoved(cause) => write!(f, "robots.txt redirects to where nothing answers: {cause}"),
            HostFault::RobotsStatus(200..300) => f.write_str("robots.txt breaks off"),
            HostFault::RobotsStatus(status) => write!(f, "robots.txt is answered with {status}"),
            HostFault::RobotsCoding => f.write_str("robots.txt cannot be decoded"),
            HostFault::Login => f.write_str("its login cannot be reached"),
        }
    }
}

/// The ground on which a host is left alone for a while. A [`HostFault`], where it is known, says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing may be asked for before its robots.txt is known.
    Robots,
    /// Requests bring no answers.
    Silence,
    /// Its answers ask for it.
    Load,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hold::Robots => "its robots.txt is unreachable",
            Hold::Silence => "it does not answer",
            Hold::Load => "it asks for a pause, or is overloaded",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_belongs_to_a_failure_and_comes_back_from_its_code() {
        for cause in Cause::ALL {
            for blame in [HostFault::Host(cause), HostFault::RobotsMoved(cause)] {
                let (tag, value) = blame.code();
                assert_eq!(HostFault::of_code(tag, value), Some(blame));
            }
        }
        for &failure in Failure::ALL {
            assert_eq!(Cause::from(failure).failure(), failure);
            assert_eq!(Cause::from(failure).to_string(), failure.to_string());
        }
        assert_eq!(HostFault::of_code(2, 503), Some(HostFault::RobotsStatus(503)));
        assert_eq!(HostFault::of_code(3, 0), Some(HostFault::RobotsCoding));
        assert_eq!(HostFault::of_code(4, 0), Some(HostFault::Login));
        assert_eq!((HostFault::of_code(5, 0), HostFault::of_code(0, 99)), (None, None));
    }
}

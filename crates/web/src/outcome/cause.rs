//! Why a host brings no answer, in the detail in which an operator wants to know it.
//!
//! A [`Failure`] is what the crawl decides and counts by; a [`Cause`] is finer, decides nothing, and is shown: a
//! connection that was refused is not one that timed out. A [`HostFault`] adds where it happened, and is kept with the
//! host until it answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Failure;

/// The causes, from one list: `Variant = Failure, "text";`, without a text where that of the failure says it all.
macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $failure:ident $(, $text:literal)?;)*) => {
        /// Why an attempt brought no answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[$doc])* $variant,)*
        }

        impl Cause {
            /// All causes, in the order of their codes in host records.
            pub const ALL: &'static [Cause] = &[$(Cause::$variant,)*];

            /// The failure by which the crawl decides.
            pub const fn failure(self) -> Failure {
                match self {
                    $(Cause::$variant => Failure::$failure,)*
                }
            }

            /// The text in logs, reports and commands.
            pub const fn text(self) -> &'static str {
                let own: &[&str] = match self {
                    $(Cause::$variant => &[$($text)?],)*
                };
                match own {
                    [text] => text,
                    _ => self.failure().text(),
                }
            }
        }
    };
}

// host records store the place of a cause in the list: a new one goes last
causes! {
    /// The name does not exist.
    NoSuchHost = NoSuchHost;
    /// The name servers answer SERVFAIL.
    ServFail = Dns, "the name servers answer SERVFAIL";
    /// The name servers answer REFUSED.
    DnsRefused = Dns, "the name servers answer REFUSED";
    /// The name servers do not answer in time.
    DnsSilent = Dns, "the name servers do not answer";
    /// The name servers answer with nonsense, or cannot be reached.
    Dns = Dns;
    /// The connection was refused.
    ConnectionRefused = Connect, "connection refused";
    /// There is no route to the address.
    Unreachable = Connect, "no route to its address";
    /// No connection within `fetch.timeout_connect`.
    ConnectTimeout = Connect, "no connection in time";
    /// No connection, for another reason.
    Connect = Connect;
    /// The certificate has expired.
    CertificateExpired = Tls, "certificate expired";
    /// The certificate does not hold yet.
    CertificateNotYetValid = Tls, "certificate not valid yet";
    /// The certificate is for another name.
    CertificateName = Tls, "certificate of another name";
    /// Nobody who is trusted has signed the certificate.
    CertificateIssuer = Tls, "certificate of an unknown authority";
    /// The TLS handshake failed for another reason.
    Tls = Tls;
    /// `fetch.timeout_total` passed.
    Timeout = Timeout;
    /// No whole head within `fetch.timeout_head`.
    TooSlow = TooSlow;
    /// The connection broke.
    Disconnected = Disconnected;
    /// The answer is not HTTP, or breaks a limit of it.
    Protocol = Protocol;
    /// Every address of the host is private.
    PrivateAddress = PrivateAddress;
    /// A 304 that nobody asked for.
    Unconditional304 = Unconditional304;
    /// The proxy cannot be connected to, or does not speak as a proxy does.
    ProxySilent = Proxy, "the proxy does not answer";
    /// The proxy wants another user or password.
    ProxyCredentials = Proxy, "the proxy wants another user or password";
    /// The proxy is there, and makes no connection to the server.
    NotByProxy = Connect, "the proxy makes no connection";
    /// Something else about the proxy.
    Proxy = Proxy;
    /// The aliases of the name lead from one to the other without end.
    AliasLoop = Dns, "the aliases of its name have no end";
    /// TLS, as it is spoken here, knows no such name of a host.
    TlsName = Tls, "its name cannot be said in TLS: a label begins or ends with a hyphen, or is empty";
    /// The head of the answer begins with no version of HTTP that is known.
    HeadVersion = Protocol, "no version of HTTP in its head that is known";
    /// The head has no status code.
    HeadStatus = Protocol, "no status code in its head";
    /// A field of the head is malformed.
    HeadField = Protocol, "a malformed field in its head";
    /// The length that the head announces is malformed.
    HeadLength = Protocol, "a malformed Content-Length in its head";
    /// The head announces a transfer coding that cannot be.
    HeadCoding = Protocol, "a Transfer-Encoding in its head that cannot be";
    /// The head has more fields than can be, or longer ones.
    HeadTooLarge = Protocol, "more or longer fields in its head than can be";
}

impl Cause {
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
        f.write_str(self.text())
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
        // its place in the list
        let of = |cause: Cause| cause as u16;
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
        for &cause in Cause::ALL {
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

//! The reasons for which a URL is not fetched, and the failures for which an attempt brings no answer.
//!
//! Each is listed once, with everything that people see of it: its text in logs, reports and commands, its code in
//! crawl.log (as Heritrix numbers them), and the setting by which it is decided, where one setting decides. A new one
//! goes last: checkpoints store its place.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An enum of such reasons, from one list: `Variant = "text", code, by "section.key";`.
macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal, $code:literal $(, by $setting:literal)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The text in logs, reports and commands.
            pub const fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// The code in crawl.log.
            pub const fn code(self) -> i32 {
                match self {
                    $($name::$variant => $code,)*
                }
            }

            /// The setting that decides, as `section.key`; none where it is no setting, or several.
            pub const fn setting(self) -> Option<&'static str> {
                match self {
                    $($name::$variant => {
                        let setting: &[&str] = &[$($setting)?];
                        setting.first().copied()
                    })*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

reasons! {
    /// Reasons why a URL is not fetched.
    Reason {
        /// Outside of the crawl's scope.
        Scope = "out of scope", -5000, by "scope.mode";
        /// Deeper than allowed.
        Depth = "too deep", -5001, by "crawl.max_depth";
        /// robots.txt of its origin forbids it.
        Robots = "robots.txt", -9998, by "robots.obey";
        /// More segments, or more repeated ones, than `scope` allows.
        Trap = "trap rule", -5005;
        /// More URLs of its pattern than allowed.
        Pattern = "too many of its pattern", -5005, by "scope.max_urls_per_pattern";
        /// Longer than allowed.
        TooLong = "URL too long", -5000, by "scope.max_url_length";
        /// More redirects in a row than allowed.
        Redirects = "too many redirects", -5002, by "scope.max_redirects";
        /// The page budget of its origin is used up.
        HostPages = "page budget of its host", -5003, by "budget.pages_per_host";
        /// The byte budget of its origin is used up.
        HostBytes = "byte budget of its host", -5003, by "budget.bytes_per_host";
        /// The page budget of its registrable domain is used up.
        DomainPages = "page budget of its domain", -5003, by "budget.pages_per_domain";
        /// Its address is not in the public internet and not among those that are allowed.
        PrivateAddress = "private address", -5004, by "network.allow";
        /// Its host is dead or its robots.txt stays unreachable.
        HostGivenUp = "host given up", -8, by "politeness.give_up";
        /// A link beyond the limits of its page: of number, length, or memory.
        PageLimit = "beyond a limit of its page", -5003, by "scope.max_links_per_page";
        /// A URL elsewhere, when the page budget of the domain that embeds it is used up.
        EmbeddedPages = "page budget of what embeds it", -5003, by "budget.pages_per_domain";
        /// Its site lets nobody in without a login, and that failed. The code is that of a prerequisite other than
        /// name and robots.txt.
        Login = "its site's login failed", -62;
        /// A URL on a page whose text more pages of its origin nearly have than allowed.
        Text = "on one of many pages of one text", -5005, by "scope.max_pages_per_text";
        /// A page with another value of a session parameter was fetched in its place.
        SessionParam = "copy by a session parameter", -5005, by "scope.learn_session_params";
        /// A URL on an answer that is no content.
        Kind = "on an answer that is no content", -5005, by "kinds.no_links";
        /// robots.txt of its origin refuses the use for which the crawl is made.
        Purpose = "its use is refused", -9998, by "crawl.purpose";
    }
}

reasons! {
    /// Failures: reasons why an attempt to fetch brings no answer. Their order is that of the closing report.
    Failure {
        /// The name does not exist.
        NoSuchHost = "no such host", -1;
        /// The name servers did not answer, or answered with an error.
        Dns = "DNS failed", -1, by "dns.timeout";
        /// No connection.
        Connect = "no connection", -2, by "fetch.timeout_connect";
        /// The TLS handshake failed or the certificate does not hold.
        Tls = "TLS failed", -2, by "fetch.ca_file";
        /// The whole request took too long.
        Timeout = "timed out", -4, by "fetch.timeout_total";
        /// No whole head in time.
        TooSlow = "too slow", -4, by "fetch.timeout_head";
        /// The connection broke.
        Disconnected = "connection broke", -3;
        /// The answer is not HTTP, or breaks a limit of it.
        Protocol = "not HTTP", -5;
        /// Every address of the host is private.
        PrivateAddress = "private address", -5004, by "network.allow";
        /// A 304 to a request that set no condition: it says nothing of any page.
        Unconditional304 = "304 that was not asked for", -5;
        /// The proxy does not answer, or wants another user or password.
        Proxy = "proxy failed", -2, by "fetch.proxy";
    }
}

impl Reason {
    /// Returns the rule by which a URL is left out: the setting, and what of it counts here.
    pub fn rule(self, detail: impl fmt::Display) -> String {
        self.setting().map_or_else(|| detail.to_string(), |setting| format!("{setting}: {detail}"))
    }

    /// Returns what of the setting counts, of a text that [`Reason::rule`] has made; any other text as it is.
    pub fn detail(self, rule: &str) -> &str {
        let detail = self.setting().and_then(|setting| rule.strip_prefix(setting)?.strip_prefix(": "));
        detail.unwrap_or(rule)
    }
}

/// The code in crawl.log of the last of several attempts without an answer.
pub const LAST_ATTEMPT_CODE: i32 = -8;

/// The rule by which a host is refused none of whose addresses is public.
pub const NO_ADDRESS_ALLOWED: &str = "network.allow has none of its addresses";

/// Returns the words of a status code, as it is registered; empty for one that is not.
pub fn status_text(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default()
}

/// Returns the words of the code of an attempt in crawl.log, a status or that of failures, of which some share a code;
/// empty where none has it.
pub fn code_text(code: i32) -> String {
    if let Ok(status) = u16::try_from(code) {
        return status_text(status).to_owned();
    }
    let failures = Failure::ALL.iter().filter(|failure| failure.code() == code);
    failures.map(|failure| failure.text()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_its_setting_before_what_of_it_counts_which_is_read_back() {
        let rule = Reason::HostGivenUp.rule("connection refused");
        assert_eq!(rule, "politeness.give_up: connection refused");
        assert_eq!(Reason::HostGivenUp.detail(&rule), "connection refused");
        assert_eq!(Reason::HostGivenUp.detail("no such host"), "no such host");
        assert_eq!(Reason::Trap.rule("x"), "x");
    }

    #[test]
    fn a_code_has_the_words_of_all_that_share_it() {
        assert_eq!(code_text(-2), "no connection or TLS failed or proxy failed");
        assert_eq!((code_text(503).as_str(), code_text(-7_777).as_str()), ("Service Unavailable", ""));
    }

    #[test]
    fn no_two_have_the_same_text() {
        let texts = |texts: Vec<&'static str>| texts.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(texts(Reason::ALL.iter().map(|reason| reason.text()).collect()), Reason::ALL.len());
        assert_eq!(texts(Failure::ALL.iter().map(|failure| failure.text()).collect()), Failure::ALL.len());
    }
}

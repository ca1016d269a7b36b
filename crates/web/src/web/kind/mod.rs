//! Kinds of answers: content, or what a server gave in its place.
//!
//! A challenge, a wall or the empty shell of an application comes with a status of success as often as not. [`Kinds`]
//! tells them apart by signals with weights, from the table `kinds.toml` and from the operator's own rules behind it:
//! what is in the head, in the title, in the markup and in the text, and how much of it there is. No single word of a
//! text is enough. Beside the answer, what its host has shown before counts (`hosts`). What is judged is not changed by
//! it: nothing here asks, clicks or decides anything.
//!
//! Most answers are content and are known as such by their heads, their titles and the length of their texts; only the
//! others are looked at closely ([`Page`]).

mod choice;
mod hosts;
mod judge;
mod page;
mod phrases;
mod rules;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use choice::KindChoice;
pub use hosts::{HOSTS_BYTES_MAX, MISSING_PATH, is_missing_url};
pub use judge::Kinds;
pub use page::Page;
pub use rules::{KindRule, RuleError, SignalRule};

/// The kinds, from one list: `Variant = "text", "what it is";`.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)*) => {
        /// Kinds of answers other than content.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// All kinds, in the order of their codes.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant,)*];

            /// The word for it in rules, records and commands.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Kind::$variant => $text,)*
                }
            }
        }
    };
}

// key records store the place of a kind in the list: a new one goes last
kinds! {
    /// A test of whether a browser or a person asks.
    Challenge = "challenge";
    /// The refusal of a firewall, a filter or a server.
    Block = "block";
    /// A rate limit that is told otherwise than by 429.
    RateLimit = "rate-limit";
    /// A page that lets nobody in without a login.
    Login = "login";
    /// A page that lets nobody in without consent to cookies.
    Consent = "consent";
    /// The beginning of a text whose rest is for subscribers.
    Paywall = "paywall";
    /// An error page with a status of success.
    SoftNotFound = "soft-404";
    /// A page that shows nothing before its scripts have run.
    Shell = "shell";
    /// The page of a domain that is for sale, or earns by advertisements.
    Parked = "parked";
    /// The page that a server or a panel shows before there is a site.
    Placeholder = "placeholder";
    /// A demand of payment for the answer.
    Payment = "payment";
    /// A refusal by the country of who asks.
    Geo = "geo";
    /// A page that asks for an age.
    Age = "age";
}

impl Kind {
    /// The kind that has this word.
    pub fn of_text(text: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.text() == text)
    }

    /// The number that key records have: 1 for the first of the list.
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The kind that has this number; `None` for 0, and for one that a later version has.
    pub fn of_code(code: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// True if a page may be behind it that others get, or that is there at another time.
    pub fn hides_page(self) -> bool {
        self.is_refusal() || matches!(self, Kind::Login | Kind::Consent | Kind::Payment | Kind::Geo | Kind::Age)
    }

    /// True for what a server gives to those that it takes for robots, or for too fast, whatever they ask for.
    pub fn is_refusal(self) -> bool {
        matches!(self, Kind::Challenge | Kind::Block | Kind::RateLimit)
    }
}

impl From<Kind> for &'static str {
    fn from(kind: Kind) -> &'static str {
        kind.text()
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(text: String) -> Result<Kind, String> {
        Kind::of_text(&text).ok_or_else(|| format!("no kind is called {text:?}"))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A kind with the rule that says so, and the signals that it met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The kind.
    pub kind: Kind,
    /// The name of the rule: a vendor, or what it is about.
    pub by: String,
    /// The signals, each in a few words.
    pub evidence: Vec<String>,
}

/// Field of a metadata record with the kind.
pub const KIND_FIELD: &str = "kind";
/// Field of a metadata record with the name of the rule.
const BY_FIELD: &str = "kindBy";
/// Field of a metadata record with the signals.
const EVIDENCE_FIELD: &str = "kindEvidence";
/// Separator of two signals there.
const BETWEEN: &str = "; ";

impl Judged {
    /// The fields of a metadata record.
    pub fn fields(&self) -> [(&'static str, String); 3] {
        let evidence = self.evidence.join(BETWEEN);
        [(KIND_FIELD, self.kind.to_string()), (BY_FIELD, self.by.clone()), (EVIDENCE_FIELD, evidence)]
    }

    /// Reads the block of a metadata record; `None` where it says nothing of a kind.
    pub fn parse(block: &[u8]) -> Option<Judged> {
        let block = String::from_utf8_lossy(block);
        let value = |name: &str| {
            let values = block.lines().filter_map(|line| line.split_once(": "));
            values.filter(|(found, _)| *found == name).map(|(_, value)| value.trim()).next().unwrap_or_default()
        };
        let kind = Kind::of_text(value(KIND_FIELD))?;
        let evidence = value(EVIDENCE_FIELD).split(BETWEEN).map(str::to_owned).collect();
        Some(Judged { kind, by: value(BY_FIELD).to_owned(), evidence })
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.kind, self.by, self.evidence.join(", "))
    }
}

/// An answer that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a, B> {
    /// The URL that was asked for.
    pub url: &'a str,
    /// The status.
    pub status: u16,
    /// The fields of its head.
    pub headers: &'a [(B, B)],
    /// The body without content coding, as much of it as is looked at.
    pub body: &'a [u8],
    /// Bytes of its text, where they were counted already.
    pub text_bytes: Option<usize>,
}

#[cfg(test)]
mod tests;

//! Answers: plain values, as JSON has them.

use schemars::JsonSchema;
use serde::Serialize;

/// The capture that an answer is from, by which others find the same.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Citation {
    /// The URL as it was requested
    pub url: String,
    /// Time of the request, in UTC
    pub captured: String,
    /// The WARC record of the answer (WARC-Record-ID)
    pub record: Option<String>,
    /// Digest of the body as it was sent: sha1: and Base32, as in WARC records
    pub digest: String,
}

/// A stored answer of a URL.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Capture {
    /// The URL as it was requested
    pub url: String,
    /// Time of the request, in UTC
    pub captured: String,
    /// Status of the answer
    pub status: u16,
    /// Media type as the answer states it
    pub mime: String,
    /// Length of the body as it was sent
    pub bytes: u64,
    /// True if its body is that of an earlier capture
    pub revisit: bool,
    /// Path of the page that shows it, at this server
    pub path: String,
}

/// The captures of a URL.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Captures {
    /// All that there are
    pub total: usize,
    /// The newest of them, the newest first
    pub captures: Vec<Capture>,
}

/// A field of a head.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Field {
    /// Name as it was sent
    pub name: String,
    /// Value; bytes that are no UTF-8 are replaced
    pub value: String,
}

/// A capture as it was received.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Stored {
    /// The capture
    pub citation: Citation,
    /// Status of the answer
    pub status: u16,
    /// Fields of its head
    pub headers: Vec<Field>,
    /// The body without content coding, if it is text in UTF-8
    pub text: Option<String>,
    /// The body without content coding in Base64, if it is not
    pub base64: Option<String>,
    /// True if the body is not all that was sent
    pub partial: bool,
}

/// The text of a page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Text {
    /// The capture
    pub citation: Citation,
    /// Status of the answer
    pub status: u16,
    /// Media type of the page
    pub mime: String,
    /// URL to which the answer redirects, if it does
    pub location: Option<String>,
    /// Title of the page
    pub title: Option<String>,
    /// The part of the text that was asked for
    pub text: String,
    /// Characters of the whole text
    pub characters: usize,
    /// Offset of what follows this part, if there is more
    pub next: Option<usize>,
}

/// A link of a page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Link {
    /// The URL to which it leads
    pub target: String,
    /// Kind: anchor, embed, redirect, refresh, canonical, header, listed, sitemap, other
    pub kind: &'static str,
    /// True if it must not be followed
    pub nofollow: bool,
    /// Its text
    pub text: String,
}

/// The links of a page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Links {
    /// The capture
    pub citation: Citation,
    /// Links of the page
    pub total: usize,
    /// The part of them that was asked for
    pub links: Vec<Link>,
    /// Offset of what follows this part, if there is more
    pub next: Option<usize>,
}

/// The differences of two captures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The earlier capture
    pub from: Citation,
    /// The later capture
    pub to: Citation,
    /// Lines of the text that differ, in the unified format; empty where readers see the same
    pub unified: String,
    /// True if that is only the beginning
    pub partial: bool,
}

//! Questions of programs to an archive, and its answers: each question is one line of one table, from which the JSON
//! API, its OpenAPI document and the tools of the Model Context Protocol are made.
//!
//! [`Answers`] is all that this room knows of an archive. It only reads, and each answer is bounded. An answer names
//! the capture that it is from ([`Citation`]): the URL, the time, the WARC record and the digest. Texts and titles are
//! foreign: they are marked as data for language models ([`mcp`]).

pub(crate) mod answer;
mod mcp;
mod openapi;
mod operation;
mod problem;
pub(crate) mod question;
mod readers;
#[cfg(feature = "search")]
mod search;
mod table;
mod unified;

pub(crate) use problem::INTERNAL;
pub use problem::Problem;

pub(crate) use answer::{Capture, Captures, Citation, Difference, Link, Links, Stored, Text};
pub(crate) use mcp::{HttpTools, Tools};
pub(crate) use openapi::{ROOT, document, given};
pub(crate) use readers::Readers;
#[cfg(feature = "search")]
pub(crate) use search::{SearchFor, Searched};
pub(crate) use table::find;
pub(crate) use unified::unified;

use serde_json::Value;

use question::{CapturesOf, DifferenceOf, ExplanationOf, LinksOf, Nothing, StoredAt, TextOf};

/// An archive that is asked.
pub(crate) trait Answers: Send + Sync + 'static {
    /// Pages by their words.
    #[cfg(feature = "search")]
    fn search(&self, question: &SearchFor) -> Result<Searched, Problem>;
    /// The captures of a URL.
    fn captures(&self, question: &CapturesOf) -> Result<Captures, Problem>;
    /// A capture as it was received.
    fn stored(&self, question: &StoredAt) -> Result<Stored, Problem>;
    /// The text of a page.
    fn text(&self, question: &TextOf) -> Result<Text, Problem>;
    /// The links of a page.
    fn links(&self, question: &LinksOf) -> Result<Links, Problem>;
    /// The differences of two captures.
    fn difference(&self, question: &DifferenceOf) -> Result<Difference, Problem>;
    /// Everything that the crawl knows of a URL.
    fn explanation(&self, question: &ExplanationOf) -> Result<Value, Problem>;
    /// The share of the known URLs that is in the archive.
    fn coverage(&self, question: &Nothing) -> Result<Value, Problem>;
    /// The newest changes since a time, or else of some days, as an Atom feed.
    fn changes(&self, since: Option<&str>) -> Result<Vec<u8>, Problem>;
}

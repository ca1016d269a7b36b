//! The web's formats, pure: bytes in, values out; no I/O, no clock, no panic on any input.
//!
//! ```text
//!   seeds file ──► seeds ─┐                      ┌─► scope ──► admitted or a reason
//!                         ├──► url (fetch form) ─┤
//!   body ─► coding ─► html┘      │               └─► address (literal or resolved)
//!             charset ─┘         └──► keys (fingerprints of the key form, origin, host, domain)
//!
//!   robots.txt ──► robots (rules of our own agent)       Retry-After ──► retry_after
//! ```
//!
//! - [`url`]: URLs as they are requested
//! - `url::keys`: what makes two of them the same
//! - [`pattern`](mod@pattern): what URLs share that a generator counts up
//! - [`host_name`]: the parts of a host name, by the public suffix list
//! - `percent`: percent-encoding, for keys and robots patterns
//! - `shortcut`: references resolved without the parser, where that is plain
//! - [`scope`]: which URLs belong to the crawl
//! - [`seeds`]: the seed file
//! - [`robots`]: robots.txt by RFC 9309, compiled for one agent
//! - [`sitemap`]: files that list the URLs of a site
//! - [`html`]: the streaming link scan, robots directives of pages, the Link header
//! - `css`, `json`, `plain`, `script`, `xml`: what sheets, JSON, plain text, scripts and documents of XML name
//! - [`format`](mod@format): the formats of documents that are no pages
//! - [`markdown`]: Markdown as HTML, which the link scan and readers take as a page
//! - [`tags`], `references`, `values`: tags of a page, and what is written in their attributes
//! - [`charset`]: the encoding of a page
//! - [`coding`]: content codings, capped on decoded bytes
//! - [`headers`]: fields of an answer, which are bytes
//! - [`mailbox`]: who is behind the crawl, as the `From` field says it
//! - [`kind`]: what a server gave in place of content
//! - [`mime`]: the Content-Type of an answer
//! - [`address`]: which addresses may be connected to
//! - [`proxy`]: proxies as they are written, and shown without their passwords
//! - [`name_server`]: name servers as they are written
//! - [`surt`](mod@surt): the keys of archive indexes
//! - [`warc_date`]: dates as WARC writes them
//! - [`validators`]: what a stored answer lets a conditional request ask
//! - [`preferences`]: what a page or a site asks of anyone who uses its content
//! - `price`: what an answer asks to be paid
//! - [`statements`]: all that and robots directives, as they are recorded with the page
//! - [`request`]: requests that are more than a question for a URL, and how they are written behind it
//! - [`retry_after`](mod@retry_after): how long a server asks to be left alone

pub mod address;
pub mod base;
pub mod charset;
pub mod coding;
pub mod cookies;
pub mod css;
mod directives;
pub mod expression;
pub mod forgotten;
pub mod format;
pub mod headers;
pub mod host_name;
pub mod html;
pub mod json;
pub mod kind;
pub mod login;
pub mod mailbox;
pub mod markdown;
pub mod mime;
pub mod name_server;
pub mod parameter;
pub mod pattern;
pub(crate) mod percent;
mod plain;
pub mod preferences;
mod price;
pub mod proxy;
pub mod references;
pub mod request;
pub mod retry_after;
pub mod robots;
pub mod scope;
pub mod script;
pub mod secret;
pub mod seeds;
pub(crate) mod shortcut;
pub mod site;
pub mod sitemap;
pub mod statements;
pub mod surt;
pub mod tags;
pub mod url;
pub mod validators;
mod values;
pub mod warc_date;
pub(crate) mod xml;

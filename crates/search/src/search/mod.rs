//! A full text index of the pages of a crawl, and questions to it.
//!
//! # The index
//!
//! It is derived data, in `DIR/search/`: `index/` has the files of tantivy, `LOCK` is the lock of the one process that
//! writes them. Delete the directory, and the next update rebuilds it. [`Updater`] keeps it up with the crawl by
//! `archive::Follower`, so it has what the crawl's checkpoints cover. The follower's cursor is the payload of
//! tantivy's commit: index and cursor are one file and can never disagree. After a kill at any moment the next update
//! goes on from the last commit, and a page that comes twice takes its own place, as the URL is its key.
//!
//! One document for each URL: its newest version, if that is a page with status 200 or a 304 that confirms one.
//! robots.txt files, redirects and errors are not in it; where the newest version is one of these, the URL has no
//! document, as `crawler list --status 200` does not show it. A revisit changes the time and the record of a document,
//! and not its text.
//!
//! The text is the main content of the page; of a page without, all that is seen of it. Of rendered pages and of
//! documents it is what was made of them. It is kept in the index in zstd: an excerpt from the archive would cost a
//! record and a tree of HTML for each hit (docs/performance/search.md has the sizes).
//!
//! # Words
//!
//! A text is cut at everything that is no letter, digit or mark. Words lose case, accents and the differences of forms
//! (`folding`), and then their endings, by the stemmer of the page's language (`stems`). Chinese, Japanese, Korean,
//! Thai, Lao, Khmer and Burmese are cut into pairs of letters (`words`): no dictionary, and every part of a word is
//! found. A question has no language, so each of its words is looked for with the stems of all languages that the index
//! has, or of those that it is narrowed to.
//!
//! # Promises
//!
//! - Readers take no lock and write nothing. They see the last commit.
//! - A page that was forgotten is not answered from that moment on, however old the index is.
//! - Memory of the writer: 64 MB of postings, and 64 MB of texts that wait for it. Merges stop at 50,000 documents a
//!   segment. A question has at most 32 words, and 10,000 hits can be reached.
//! - A damaged index is an error that says so, never a panic.
//!
//! # Modules
//!
//! - `folding`, `stems`, `words`, `analyzer`: from texts to terms
//! - `fields`, `document`: the fields, and a page as a document
//! - `state`, `writer`: what the payload says, and the one writer of an index
//! - `updater`: keeps the index up with the crawl
//! - `query`, `plan`: questions as they are written, and as the index is asked
//! - `index`, `directory`: readers
//! - `documents`: keeps an index that is of no crawl, but of documents
//! - `found`, `facets`, `near`, `snippet`: the answer

mod analyzer;
mod directory;
mod document;
mod documents;
mod error;
mod facets;
mod fields;
mod folding;
mod found;
mod index;
mod near;
mod plan;
mod query;
mod snippet;
mod state;
mod stems;
mod updater;
mod words;
mod writer;

pub use document::Searchable;
pub use documents::{Documents, Indexed};
pub use error::{Error, Result};
pub use facets::{Facet, Facets};
pub use found::{Found, Hit};
pub use index::Index;
pub use query::{Filter, HITS_MAX, LIMIT_MAX, Query, WORDS_MAX};
pub use snippet::Snippet;
pub use updater::{Updated, Updater};
pub use writer::WRITER_BYTES;

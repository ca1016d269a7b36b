//! The changes feed of a crawl.
//!
//! A crawl stores versions of URLs; a search engine wants documents: one for each page of the site, no more, and none
//! that is gone. The feed keeps a file with all URLs that were a document once, sorted by host ([`Updater`]). A pass
//! merges what the crawl has stored since the last pass with it, and notes with each document the pass that changed
//! it. So a consumer that knows the number of a pass gets what changed since, however long it was away
//! ([`Documents::changes`]): no journal grows, and nothing has to know its consumers.
//!
//! | a document goes | when |
//! |---|---|
//! | gone | two answers of 404 or 410, a day apart or more, and no content between them |
//! | kind | likewise, of answers that are no content; a challenge, a block or a rate limit says nothing |
//! | duplicate | it redirects for good to a document, or for a day; or names a document as canonical |
//! | robots | a robots.txt that was read forbids it; an error or a wall says nothing |
//! | duplicate | its text is nearly that of another document, where the operator wants these to be one |
//! | scope | the settings of the crawl leave it out |
//! | forgotten | the operator had it removed: at once |
//!
//! A week lies between the two answers where most documents of a host are missing (`doubt`). An answer that is not
//! confirmed changes nothing: the document is what it was before, there or gone.
//!
//! No more than a share of the documents of a host goes in a day ([`Limits`]).

mod ahead;
mod change;
mod consumer;
mod cursor;
mod documents;
mod doubt;
mod entry;
mod error;
mod guard;
mod home;
mod id;
mod key;
mod near;
mod part;
mod pass;
mod resolve;
mod robots;
mod rules;
mod run;
mod sighting;
#[cfg(test)]
mod tests;
mod updater;
mod urls;

pub use change::{Change, Deletion, Document, Reason};
pub use consumer::{Consumer, Subscription, directory_of_sink};
pub use cursor::Cursor;
pub use documents::{Changes, Documents, Listed, Step, Waiting};
pub use error::{Error, Result};
pub use guard::{Allowed, Limits};
pub use pass::{PASS_BYTES, READ_BYTES};
pub use rules::Rules;
pub use updater::{Updated, Updater};

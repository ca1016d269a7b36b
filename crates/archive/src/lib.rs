//! Access to a stored crawl for other programs: open a crawl directory, iterate over its pages, get one by its URL,
//! follow pages as they are stored.
//!
//! This is the one crate of the crawler that is meant for other programs: what its documentation says keeps to semantic
//! versioning. It only reads files. It takes no lock, writes nothing into the crawl directory and never slows the
//! crawl, so it works while the crawl runs and after it has ended, with any number of shards and any compression.
//!
//! | to do this | use |
//! |---|---|
//! | read all stored answers | [`Archive::open`], then [`Archive::pages`] |
//! | read the newest version of a URL, and the versions before it | [`Archive::get`], [`Page::previous`] |
//! | read status, headers and body of an answer | [`Page::answer`] |
//! | know where the crawl found a page | [`Page::history`] |
//! | receive pages as they are stored, and resume after a kill | [`Follower::open`] with a [`Cursor`] |
//! | find the WARC record for another tool | [`Page::warc`] |
//!
//! A [`Page`] is one stored answer: a version of a URL. Redirects, errors and robots.txt files are pages, too; see
//! [`Page::status`] and [`Page::is_robots`].
//!
//! ```no_run
//! use crawler_archive::Archive;
//!
//! # fn main() -> crawler_archive::Result<()> {
//! let archive = Archive::open("./crawl")?;
//! for page in archive.pages() {
//!     let page = page?;
//!     if page.status() == 200 && page.media_type() == "text/html" {
//!         println!("{} {} bytes", page.url(), page.body_bytes());
//!     }
//! }
//! // the newest version of a page, and how many there are before it
//! if let Some(page) = archive.get("https://example.com/")? {
//!     println!("{}", String::from_utf8_lossy(&page.answer()?.body));
//!     let mut earlier = 0;
//!     let mut version = page.previous()?;
//!     while let Some(page) = version {
//!         earlier += 1;
//!         version = page.previous()?;
//!     }
//!     println!("{earlier} earlier versions");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Following a crawl, with a cursor in a file, so that the next run continues where this one ended:
//!
//! ```no_run
//! use crawler_archive::{Cursor, Follower};
//!
//! # fn main() -> crawler_archive::Result<()> {
//! let mut follower = Follower::open("./crawl", &Cursor::read("cursor.json")?.unwrap_or_default())?;
//! while let Some(page) = follower.next_page()? {
//!     println!("{}", page.url());
//!     // only now: a page whose cursor is not written comes again
//!     follower.cursor().write("cursor.json")?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` of the repository has three whole programs: `pages`, `versions` and `feed`, which waits for more pages
//! while the crawl runs. There the crate has the name `crawler::archive`.
//!
//! # Promises of following
//!
//! - **Pages that were returned stay.** [`Follower::next_page`] returns a page once a checkpoint covers it: everything
//!   that a checkpoint names was synced before its file was begun. A crawl that resumes after a power cut, from that
//!   checkpoint or the one before it, never cuts off a whole exchange that was synced, and replays it into the same
//!   place of the index. So no page that was returned can vanish. Pages stored after the last checkpoint are returned
//!   after the next one.
//! - **Every page comes at least once**: each stored answer, every version of a URL, redirects, errors and robots.txt
//!   included, unless it was removed or forgotten before it was reached. Write the [`Cursor`] after you have processed
//!   a page, and the next run returns the rest. Pages between the last written cursor and a kill come again.
//!   [`Page::place`] is different for every answer, so use it to recognise a page that comes twice.
//! - **In order**: for each shard by place in the archive, which is the order in which its pages were stored. Pages of
//!   different shards take turns, in an order without meaning.
//!
//! # Cursors when the archive changes
//!
//! - A compaction removes pages and moves others to another place of their value file. Cursors stay valid: places are
//!   offsets in key.dat, which never change. Removed pages are skipped.
//! - `crawler verify --rebuild` rebuilds key.dat. Damaged pages may be missing in it, and others may have come back. So
//!   a cursor also has properties of its last page (value file, time, URL), and continues behind that page, wherever
//!   its record is now. Only if that page itself is missing, the pages of its value file (at most
//!   `container.segment_bytes`) come again, and [`Follower::notices`] says so. Places of pages may be different
//!   afterwards: compare URL and time.
//! - While a crawl that was killed replays the part after its last checkpoint, key.dat is shorter for a moment. The
//!   follower waits for the next checkpoint.
//! - A cursor of another crawl is refused ([`Error::OtherCrawl`]).
//!
//! # Cost
//!
//! A call that finds no more pages reads the names in the directory of each shard. A new checkpoint costs one read of
//! the last section of its file, and of the end of key.dat. Memory is bounded by 256 KiB of key.dat for each shard and
//! one page.

use crawler_contract::{checkpoint, contract, record};
use crawler_core::{container, disk, frontier, reading, shard, warc};
use crawler_web::{clock, fingerprint, web};

mod archive;
// for the crawler's own commands, and not promised, like all that is hidden here
#[doc(hidden)]
pub mod dirs;

pub use archive::{Answer, Archive, Cursor, Error, Follower, History, Page, Place, Result, WarcPlace};
#[doc(hidden)]
pub use archive::{FoundLink, FoundLinks, LinkFinder, Linking, PageTexts, StoredList, redirect, stated};

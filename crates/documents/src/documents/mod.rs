//! Documents as pages: one reader for each format, and the page that it writes.
//!
//! | module | what it has |
//! |---|---|
//! | `page` | the page that is written: elements, text with the URLs in it, what the document states of itself |
//! | `pool` | the readers of a crawl: processes that each read many documents |
//! | `child` | such a process |
//! | `sandbox` | the limits that it puts on itself |
//! | `wire` | the words between the two |
//! | `pdf` | PDF |
//! | `office` | files of office programs and books: ZIP files of XML |

pub mod child;
pub mod office;
pub mod page;
pub mod pdf;
pub mod pool;
mod sandbox;
mod wire;

use crate::contract::ConversionFailure;
use crate::web::format::Format;
use office::Office;
use page::{Page, Stated};
use pdf::Pdf;

/// Bytes of the body of a page.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Bytes of a page with its head and the marks of its elements.
const PAGE_SENT_MAX: u64 = 8 * PAGE_BYTES_MAX as u64;

/// A reader of documents of one format.
pub trait Document {
    /// Writes the document `bytes` to `page`, in the order in which people read it, and returns what it states of
    /// itself.
    fn read(&self, bytes: &[u8], page: &mut Page) -> Result<Stated, ConversionFailure>;
}

/// The reader of a format.
fn reader_of(format: Format) -> &'static dyn Document {
    match format {
        Format::Pdf => &Pdf,
        Format::Office | Format::Epub => &Office,
    }
}

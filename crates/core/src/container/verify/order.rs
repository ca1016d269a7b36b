//! The pages of an imported archive in the order of time: what its key.dat is made of, and compared with.

use serde::{Deserialize, Serialize};

use super::Report;
use super::asked::address;
use super::walk::{Exchange, Walk};
use crate::container::keys::KeyRecord;
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{Error, Result};
use crate::warc::parse_date;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Memory in which pages are sorted.
const SORT_MEMORY: usize = 64 << 20;
/// The longest body of a page. Readers hold it in memory, and the files come from anywhere.
const BODY_MAX: u64 = 1 << 30;
/// Bytes of time, value file and offset, by which they are.
const PLACE_BYTES: usize = 20;

/// A page of an imported archive.
#[derive(Debug)]
pub(in crate::container) struct Imported {
    /// Its key record, which says nothing yet of other ones.
    pub(in crate::container) record: KeyRecord,
    /// The answer that it refers to, where it is a revisit.
    pub(in crate::container) revisit: Option<ForeignRevisit>,
}

/// A revisit record, as other programs write them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::container) struct ForeignRevisit {
    /// The URL of the record that it refers to, and when that was fetched, if it says so.
    pub(in crate::container) url: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub(in crate::container) time_ms: Option<u64>,
    /// True if it states a SHA-1 of the payload, which is in its key record.
    pub(in crate::container) has_digest: bool,
}

impl ForeignRevisit {
    fn of(exchange: &Exchange) -> ForeignRevisit {
        let field = |name: &str| exchange.answer.field(name);
        let url = field("WARC-Refers-To-Target-URI").and_then(|url| CanonicalUrl::parse(url).ok());
        ForeignRevisit {
            url: url.map(|url| url.as_str().to_owned()),
            time_ms: field("WARC-Refers-To-Date").and_then(parse_date).map(|time| time.ms()),
            has_digest: exchange.answer.payload_digest().is_some(),
        }
    }
}

/// All pages that `walk` meets, in the order of time, and within a moment in that of the value files.
pub(in crate::container) struct InOrder(Sorted);

impl InOrder {
    pub(in crate::container) fn read(
        walk: &mut Walk<'_>,
        maker: Option<&KeyMaker>,
        report: &mut Report<'_>,
    ) -> Result<InOrder> {
        let mut sorter = Sorter::new(SORT_MEMORY);
        let mut line = Vec::new();
        while let Some(exchange) = walk.next(report)? {
            let Some(mut record) = exchange.key_record(maker) else { continue };
            if record.payload_bytes > BODY_MAX {
                continue;
            }
            // archives of others have URLs as they were asked for
            let Ok(url) = CanonicalUrl::parse(&record.url) else { continue };
            let url = match &exchange.request {
                Some(request) => address(url, &request.kept),
                None => Some(url),
            };
            let Some(url) = url else { continue };
            if let Some(maker) = maker {
                record.key = maker.keys(&url).key;
            }
            record.url = url.as_str().to_owned();
            // one that is longer than an index knows is no page
            let Ok(encoded) = record.encode() else { continue };
            line.clear();
            line.extend_from_slice(&record.time.ms().to_be_bytes());
            line.extend_from_slice(&record.file.to_be_bytes());
            line.extend_from_slice(&record.value_offset.to_be_bytes());
            line.extend_from_slice(&encoded);
            let revisit = (exchange.answer.kind() == "revisit").then(|| ForeignRevisit::of(&exchange));
            let revisit = postcard::to_stdvec(&revisit).expect("it consists of plain data");
            line.extend_from_slice(&revisit);
            sorter.push(&line)?;
        }
        Ok(InOrder(sorter.finish()?))
    }

    /// The next page.
    pub(in crate::container) fn next(&mut self) -> Result<Option<Imported>> {
        let Some(line) = self.0.next()? else { return Ok(None) };
        let read = KeyRecord::read(&line[PLACE_BYTES..]).and_then(|(record, rest)| {
            let revisit = postcard::from_bytes(rest).ok()?;
            Some(Imported { record, revisit })
        });
        let lost =
            || Error::damaged(&std::env::temp_dir(), 0, "what was written to a temporary file", "something else");
        read.map(Some).ok_or_else(lost)
    }
}

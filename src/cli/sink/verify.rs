//! The content of a sink beside the documents of the feed.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::iter;

use crate::disk::sorter::Sorter;
use crate::feed::{Change, Deletion, Documents, Reason};
use crate::sink::{Delivery, Difference, Differences, Entry, Listing};
use crate::text::escape::Escaped;

/// Memory for sorting ids.
const MEMORY: usize = 64 << 20;
/// Bytes between an id and the digest behind it.
const SEPARATOR: u8 = b' ';

/// Prints the documents that the sink called `name` has not, has too many or has in another version; delivers these if
/// it `repairs`. All other changes have arrived before. Says whether there are any.
pub(super) fn verify(
    name: &str,
    documents: &mut Documents,
    delivery: &mut Delivery,
    repairs: bool,
) -> anyhow::Result<bool> {
    let mut ids = Sorter::new(MEMORY);
    documents.each(|document| -> anyhow::Result<()> {
        Ok(ids.push(format!("{}{}{}", document.id, char::from(SEPARATOR), document.digest).as_bytes())?)
    })?;
    let mut sorted = ids.finish()?;
    let of_crawl = iter::from_fn(|| sorted.next().map(|line| line.map(entry)).transpose());
    let mut out = BufWriter::new(io::stdout().lock());
    let mut differences = Vec::new();
    for difference in Differences::new(of_crawl, Listing::new(delivery.sink())) {
        let difference = difference?;
        writeln!(out, "{name}\t{}\t{}", word(&difference), Escaped(difference.id()))?;
        differences.push(difference);
    }
    out.flush()?;
    if repairs {
        repair(documents, delivery, &differences)?;
    }
    Ok(!differences.is_empty())
}

fn repair(documents: &mut Documents, delivery: &mut Delivery, differences: &[Difference]) -> anyhow::Result<()> {
    let is_extra = |difference: &&Difference| matches!(difference, Difference::Extra(_));
    let wanted: HashSet<&str> =
        differences.iter().filter(|difference| !is_extra(difference)).map(Difference::id).collect();
    let mut number = documents.number_behind();
    let mut deliver = |change: Change| -> anyhow::Result<()> {
        delivery.push(number, change)?;
        number += 1;
        Ok(())
    };
    for extra in differences.iter().filter(is_extra) {
        let id = extra.id().to_owned();
        deliver(Change::Delete(Deletion { id, url: String::new(), reason: Reason::Gone, duplicate_of: None }))?;
    }
    documents.upserts(&wanted, &mut deliver)?;
    Ok(delivery.flush()?)
}

fn word(difference: &Difference) -> &'static str {
    match difference {
        Difference::Missing(_) => "missing",
        Difference::Extra(_) => "extra",
        Difference::Stale(_) => "stale",
    }
}

fn entry(line: &[u8]) -> Entry {
    let text = String::from_utf8_lossy(line);
    let (id, digest) = text.split_once(char::from(SEPARATOR)).unwrap_or((&text, ""));
    Entry { id: id.to_owned(), digest: digest.to_owned() }
}

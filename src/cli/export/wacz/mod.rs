//! `crawler export wacz`: selected pages as one WACZ file (WACZ 1.1.1), which replays in a browser without a server.
//!
//! A ZIP file of WARC files, their compressed index, a list of pages and a manifest with hashes of all of it. It is
//! written as a stream: what belongs at its end is sorted or spooled in temporary files meanwhile, so memory does not
//! grow with the archive, and the output may be a pipe.
//!
//! A WACZ needs no other file. So what a selected revisit refers to comes along, and so do records under those
//! spellings of URLs that its pages use ([`Spellings`]).

mod index;
mod package;
mod pages;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use self::package::{Digested, Keys, Package};
use self::pages::Pages;
use super::Common;
use super::cdxj::line;
use super::replayable::{Answer, Replayable};
use super::spellings::Spellings;
use super::wanted::{Wanted, WantedPage};
use super::warc::copy;
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage, Entry, RecordLocation};
use crate::cli::exit::{Exit, UsageError};
use crate::cli::output::memory;
use crate::cli::selection::KindChoice;
use crate::clock::{Clock, SystemClock, Time};
use crate::container::StoredRecord;
use crate::disk::sorter::Sorter;
use crate::warc::{Compression, Encoder};

/// A WARC file ends with the exchange that makes it longer than this.
const SEGMENT_BYTES: u64 = 1 << 30;

#[derive(Debug, Args)]
#[command(after_help = "\
The file has archive/data-*.warc.gz (the records as they are stored), archive/spellings.warc.gz (revisit records for \
links that name a page in another spelling), indexes/index.cdx.gz with index.idx, pages/pages.jsonl with all HTML \
pages, the seeds first, and datapackage.json. The records are the same as from crawler export warc: the file needs no \
other. Name the file .wacz. It opens in ReplayWeb.page and in other readers of WACZ.

Examples:
  crawler export wacz --output site.wacz
  crawler export wacz --prefix https://example.com/docs/ --text -o docs.wacz
  crawler export wacz --key identity/key.pem --output site.wacz
  crawler export wacz --all --since 2026-11-21 > day.wacz")]
pub(super) struct WaczArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// Also the text of each page, for searches
    #[arg(long)]
    text: bool,
    /// Title of the collection
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The private key of the identity: signs the file, with a P-384 key that is made beside it at first use
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Memory for sorting
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = memory)]
    memory: usize,
}

/// Data that is gathered while the WARC files are written.
struct Gathered {
    /// Lines of the index.
    lines: Sorter,
    spellings: Spellings,
    pages: Pages,
}

impl WaczArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let now = SystemClock::new().now();
        self.common
            .with(open_archive, true, |archive, out, warnings| self.write(archive, now, SEGMENT_BYTES, out, warnings))
    }

    fn write(
        &self,
        archive: &dyn Archive,
        now: Time,
        segment_bytes: u64,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let keys = self.key.as_deref().map(Keys::load).transpose();
        let keys = keys.map_err(|error| UsageError::because(error.to_string()))?;
        let mut damage = Damage::default();
        let mut package = Package::new(out, now, keys);
        let mut gathered = Gathered {
            lines: Sorter::new(self.memory),
            spellings: Spellings::new(self.memory),
            pages: Pages::new(self.text)?,
        };
        let selection = self.common.selection(KindChoice::Unrefused);
        let mut wanted = Wanted::new(&selection, archive, self.all)?;
        let mut next = wanted.next(&mut damage, warnings)?;
        for number in 0.. {
            let file = format!("data-{number:05}.warc.gz");
            next = package.stored(&format!("archive/{file}"), |out| {
                out.write_all(&self.warcinfo(&file, now))?;
                while let Some(page) = next.take() {
                    gathered.take(archive, &page, &file, out, &mut damage, warnings)?;
                    next = wanted.next(&mut damage, warnings)?;
                    if out.position() >= segment_bytes {
                        break;
                    }
                }
                Ok(next)
            })?;
            if next.is_none() {
                break;
            }
        }
        let Gathered { mut lines, spellings, pages } = gathered;
        if spellings.any() {
            let file = "spellings.warc.gz";
            package.stored(&format!("archive/{file}"), |out| {
                out.write_all(&self.warcinfo(file, now))?;
                let mut encoder = Encoder::new(Compression::Gzip);
                let each = |spelling: &str, entry: &Entry, damage: &mut Damage, warnings: &mut dyn Write| {
                    match spelt(archive, entry, spelling, file, &mut encoder, out)? {
                        Ok(line) => lines.push(line.as_bytes())?,
                        Err(e) => damage.note(e, warnings),
                    }
                    Ok(())
                };
                spellings.each(archive, &selection, self.all, &mut damage, warnings, each)
            })?;
        }
        index::write(lines.finish()?, &mut package)?;
        let main = pages.write(&mut package)?;
        package.finish(self.title.as_deref(), main)?;
        Ok(damage.or(Exit::Done, warnings))
    }

    fn warcinfo(&self, file: &str, now: Time) -> Vec<u8> {
        self.common.warcinfo(KindChoice::Unrefused, self.all, file, now)
    }
}

impl Gathered {
    /// Writes the records of an exchange, and takes what the index and the lists of pages have of it.
    fn take(
        &mut self,
        archive: &dyn Archive,
        wanted: &WantedPage,
        file: &str,
        out: &mut Digested<'_>,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let entry = &wanted.page.entry;
        let records = match wanted.page.records(archive) {
            Ok(records) => records,
            Err(e) => {
                damage.note(e, warnings);
                return Ok(());
            }
        };
        let mut offset = out.position();
        for record in &records {
            offset = out.position();
            copy(record, out)?;
        }
        let place = RecordLocation { file: file.to_owned(), offset, bytes: out.position() - offset };
        let is_revisit = records.last().is_some_and(|answer| answer.record.kind() == "revisit");
        match line(Answer { place, is_revisit }, entry) {
            Ok(line) => self.lines.push(line.as_bytes())?,
            Err(e) => damage.note(e, warnings),
        }
        if !wanted.is_selected {
            return Ok(());
        }
        self.spellings.take_url(archive, entry)?;
        if !super::spellings::may_name_urls(entry) {
            return Ok(());
        }
        match archive.response(entry) {
            Ok(response) => {
                self.spellings.take_links(archive, entry, &response)?;
                let made = archive.rendered(entry)?.map(|html| response.with_rendered(html));
                self.pages.take(entry, is_seed(&records), made.as_ref().unwrap_or(&response), warnings)
            }
            Err(e) => {
                damage.note(e, warnings);
                Ok(())
            }
        }
    }
}

/// Writes the record of `entry` under another spelling of its URL; gives its line of the index. What is wrong with the
/// archive is the inner error.
fn spelt(
    archive: &dyn Archive,
    entry: &Entry,
    spelling: &str,
    file: &str,
    encoder: &mut Encoder,
    out: &mut Digested<'_>,
) -> anyhow::Result<anyhow::Result<String>> {
    let found = Replayable::of(archive, entry).and_then(|page| Ok((page.records(archive)?, page.entry)));
    let (records, entry) = match found {
        Ok(found) => found,
        Err(e) => return Ok(Err(e)),
    };
    let mut bytes = Vec::new();
    if !records.last().is_some_and(|answer| encoder.spelling(spelling, &answer.record, &mut bytes)) {
        return Ok(Err(anyhow::anyhow!("the record of {} has no answer", entry.url)));
    }
    let place = RecordLocation { file: file.to_owned(), offset: out.position(), bytes: bytes.len() as u64 };
    out.write_all(&bytes)?;
    Ok(line(Answer { place, is_revisit: true }, &Entry { url: spelling.to_owned(), ..entry }))
}

/// True if an exchange belongs to a seed, or to the target of its redirect: its metadata record says so.
fn is_seed(records: &[StoredRecord]) -> bool {
    let metadata = records.iter().find(|stored| stored.record.kind() == "metadata");
    metadata.is_some_and(|stored| {
        let text = String::from_utf8_lossy(&stored.record.block);
        let hops = text.lines().find_map(|line| line.strip_prefix("hopsFromSeed:"));
        hops.is_some_and(|hops| hops.trim().bytes().all(|hop| hop == b'R'))
    })
}

#[cfg(test)]
mod tests;

//! `crawler export warc`: selected pages as one WARC file, which needs no other: every revisit in it leads to a record
//! of it, and what a 304 confirms has the status and the headers of that.
//!
//! The stream is gzip members, a record each, because every tool reads that. Members of a gzip archive are copied as
//! they are stored, checked on the way; records of a zstd or uncompressed archive are compressed again, their content
//! unchanged.

use std::io::Write;

use clap::Args;
use flate2::Compression as Level;
use flate2::write::GzEncoder;

use super::Common;
use super::replayable::Replayable;
use super::spellings::Spellings;
use super::wanted::{Wanted, WantedPage};
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::selection::KindChoice;
use crate::clock::{Clock, SystemClock, Time};
use crate::container::StoredRecord;
use crate::text::figures::digits_ms;
use crate::warc::{Compression, Encoder};

/// Memory for spellings of URLs; beyond it they are sorted in a temporary file.
const SPELLINGS_MEMORY: usize = 64 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
The first record is a warcinfo record that describes the selection. The metadata, request and response of every page \
follow, in the order in which they were stored. Records keep their ids, dates and digests. The output always has one \
gzip member per record; the members of a gzip archive are copied without being compressed again.

The output needs no other file. A page that was not stored again because its content was there already brings along \
the record that has it. A page that the server reported as unchanged (304) has the status and the headers of the \
answer with its content. A page with its content in an earlier archive, or that shares it with an answer to a POST, is \
written with its content.

Examples:
  crawler export warc --prefix https://example.com/ --output example.warc.gz
  crawler export warc --all --since 2026-11-21 --output day.warc.gz
  crawler export warc --mime application/pdf > pdfs.warc.gz")]
pub(super) struct WarcArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// Also revisit records for the other spellings of a URL that pages use, such as links with parameters that the
    /// crawl strips, so that they replay
    #[arg(long)]
    spellings: bool,
}

impl WarcArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.common.with(open_archive, true, |archive, out: &mut Output, warnings| {
            let now = SystemClock::new().now();
            // a stream has no name: the one that it might get
            let name = out.name().unwrap_or_else(|| format!("export-{}.warc.gz", digits_ms(now)));
            self.write(archive, &name, now, out, warnings)
        })
    }

    /// Records for the spellings of URLs that pages use and that were not fetched.
    fn spellings(
        &self,
        archive: &dyn Archive,
        spellings: Spellings,
        out: &mut dyn Write,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (mut encoder, mut bytes) = (Encoder::new(Compression::Gzip), Vec::new());
        let selection = &self.common.selection(KindChoice::Unrefused);
        spellings.each(archive, selection, self.all, damage, warnings, |spelling, entry, damage, warnings| {
            bytes.clear();
            match Replayable::of(archive, entry).and_then(|page| page.records(archive)) {
                Ok(records) => {
                    if let Some(answer) = records.last() {
                        encoder.spelling(spelling, &answer.record, &mut bytes);
                    }
                }
                Err(e) => damage.note(e, warnings),
            }
            Ok(out.write_all(&bytes)?)
        })
    }

    fn write(
        &self,
        archive: &dyn Archive,
        name: &str,
        now: Time,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let mut damage = Damage::default();
        out.write_all(&self.common.warcinfo(KindChoice::Unrefused, self.all, name, now))?;
        let mut spellings = self.spellings.then(|| Spellings::new(SPELLINGS_MEMORY));
        let selection = self.common.selection(KindChoice::Unrefused);
        let mut wanted = Wanted::new(&selection, archive, self.all)?;
        while let Some(WantedPage { page, is_selected }) = wanted.next(&mut damage, warnings)? {
            match page.records(archive) {
                Ok(records) => records.iter().try_for_each(|record| copy(record, out))?,
                Err(e) => {
                    damage.note(e, warnings);
                    continue;
                }
            }
            if let Some(spellings) = spellings.as_mut().filter(|_| is_selected) {
                spellings.take(archive, &page.entry, &mut damage, warnings)?;
            }
        }
        if let Some(spellings) = spellings {
            self.spellings(archive, spellings, out, &mut damage, warnings)?;
        }
        Ok(damage.or(Exit::Done, warnings))
    }
}

/// Writes a record as a gzip member.
pub(super) fn copy(record: &StoredRecord, out: &mut dyn Write) -> anyhow::Result<()> {
    if record.stored.starts_with(&[0x1f, 0x8b]) {
        return Ok(out.write_all(&record.stored)?);
    }
    let mut member = GzEncoder::new(out, Level::fast());
    member.write_all(&record.record.to_bytes())?;
    member.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;
    use crate::cli::export::tests::records;
    use crate::warc::Record;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: WarcArgs,
    }

    fn export(archive: &FakeArchive, args: &[&str]) -> (Vec<u8>, Vec<Record>) {
        let mut out = Vec::new();
        let args = Cli::parse_from([&["warc"], args].concat()).args;
        args.write(archive, "x.warc.gz", Time::ZERO, &mut out, &mut Vec::new()).unwrap().unwrap();
        let found = records(&out);
        (out, found)
    }

    #[test]
    fn whatever_the_archives_coding_the_stream_is_gzip_members_of_the_same_records() {
        for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
            let mut archive = FakeArchive { compression: Some(compression), ..FakeArchive::default() };
            archive.page("https://a.example/", 200, "text/html", b"<p>one");
            archive.page("https://a.example/2", 404, "text/html", b"<p>two");
            let (bytes, records) = export(&archive, &["--status", "200", "--prefix", "https://a.example/"]);
            assert!(bytes.starts_with(&[0x1f, 0x8b]));
            let kinds: Vec<_> = records.iter().map(Record::kind).collect();
            assert_eq!(kinds, ["warcinfo", "metadata", "request", "response"]);
            let info = String::from_utf8(records[0].block.clone()).unwrap();
            assert!(
                info.contains("selection: --prefix https://a.example/ --status 200 --kind unrefused; the newest"),
                "{info}"
            );
            let stored = archive.exchange(&archive.stored[0].0).unwrap();
            for (copied, stored) in records[1..].iter().zip(&stored) {
                assert_eq!(copied.to_bytes(), stored.record.to_bytes());
                let range = copied.offset as usize..(copied.offset + copied.length) as usize;
                assert_eq!(bytes[range] == stored.stored, compression == Compression::Gzip, "{compression:?}");
            }
        }
    }

    #[test]
    fn spellings_that_pages_use_are_revisits_at_the_end() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/", 200, "text/html", b"<a href='/b?utm_source=1'>");
        archive.page("https://a.example/b", 200, "text/html", b"b");
        assert_eq!(export(&archive, &[]).1.len(), 1 + 6);
        let records = export(&archive, &["--spellings"]).1;
        let last = records.last().unwrap();
        assert_eq!((records.len(), last.kind()), (1 + 6 + 1, "revisit"));
        assert_eq!(last.field("WARC-Target-URI"), Some("https://a.example/b?utm_source=1"));
        let answer = &records[6];
        assert_eq!(last.field("WARC-Refers-To"), answer.field("WARC-Record-ID"));
        assert_eq!(last.field("WARC-Payload-Digest"), answer.field("WARC-Payload-Digest"));
        assert_eq!(last.field("WARC-Date"), answer.field("WARC-Date"));
        assert!(last.is_intact() && answer.block.starts_with(&last.block));
    }

    #[test]
    fn every_version_is_exported_when_asked_for() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/", 503, "text/html", b"");
        archive.page("https://a.example/", 200, "text/html", b"");
        assert_eq!(export(&archive, &[]).1.len(), 1 + 3);
        assert_eq!(export(&archive, &["--all"]).1.len(), 1 + 6);
        assert_eq!(export(&archive, &["--status", "404"]).1.len(), 1);
    }
}

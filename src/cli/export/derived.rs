//! WARC files whose records are made from the records of the archive: one thing for each page, made by all cores, in
//! the order of the archive.

use std::io::Write;
use std::thread;

use super::Common;
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage, Entry, RecordLocation, Response};
use crate::cli::exit::Exit;
use crate::cli::ordered::{Named, Ordered};
use crate::cli::selection::{KindChoice, Selection};
use crate::clock::{Clock, SystemClock, Time};
use crate::container::StoredRecord;
use crate::text::escape::Escaped;
use crate::text::figures::digits_ms;
use crate::warc::{Compression, Encoder};

/// A page of which records are made.
pub(super) struct Page {
    /// The records of its exchange, the record of the answer last.
    pub exchange: Vec<StoredRecord>,
    pub response: Response,
    /// The page that the crawl has made of it.
    pub rendered: Option<String>,
    /// Place of the record of the answer.
    pub place: RecordLocation,
}

/// Records as they are written.
#[derive(Default)]
pub(super) struct Made {
    /// The records, compressed.
    pub bytes: Vec<u8>,
    pub warning: Option<String>,
}

/// An export whose records are made from pages.
pub(super) struct Derivation<'a> {
    pub common: &'a Common,
    /// True to make records of all versions of a URL.
    pub all: bool,
    /// End of the name of a file that was given none.
    pub suffix: &'static str,
    /// Entries of which records are made.
    pub wants: fn(&Selection, &dyn Archive, &Entry) -> anyhow::Result<bool>,
    pub make: fn(&Page, &mut Encoder) -> Made,
}

impl Derivation<'_> {
    /// Writes it to the output that was asked for.
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.common.with(open_archive, true, |archive, out, warnings| {
            let now = SystemClock::new().now();
            let name = out.name().unwrap_or_else(|| format!("export-{}{}", digits_ms(now), self.suffix));
            self.write(archive, &name, now, out, warnings)
        })
    }

    /// Writes a file with the name `name`.
    pub(super) fn write(
        &self,
        archive: &dyn Archive,
        name: &str,
        now: Time,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let mut damage = Damage::default();
        out.write_all(&self.common.warcinfo(KindChoice::Unjudged, self.all, name, now))?;
        let make = self.make;
        let work = |page: Page| make(&page, &mut Encoder::new(Compression::Gzip));
        thread::scope(|scope| {
            let mut made = Ordered::start(scope, &work);
            let selection = self.common.selection(KindChoice::Unjudged);
            selection.each(archive, self.all, &mut damage, warnings, |entry, damage, warnings| {
                if !(self.wants)(&selection, archive, &entry)? {
                    return Ok(());
                }
                match page(archive, &entry) {
                    Ok(page) => {
                        let bytes = page.response.decoded.len() + page.response.body.len();
                        let done = made.push(entry.url, bytes, page).into_iter();
                        done.into_iter().try_for_each(|made| write(made, out, warnings))
                    }
                    Err(e) => {
                        damage.note(e, warnings);
                        Ok(())
                    }
                }
            })?;
            std::iter::from_fn(|| made.next()).try_for_each(|made| write(made, out, warnings))
        })?;
        Ok(damage.or(Exit::Done, warnings))
    }
}

fn page(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Page> {
    let (exchange, response) = archive.exchange_and_response(entry)?;
    Ok(Page { exchange, response, rendered: archive.rendered(entry)?, place: archive.place(entry)? })
}

/// Writes what was made of a page.
fn write((url, made): Named<Made>, out: &mut dyn Write, warnings: &mut dyn Write) -> anyhow::Result<()> {
    let broke = || Made { bytes: Vec::new(), warning: Some("its tree broke the parser".to_owned()) };
    let made = made.unwrap_or_else(broke);
    if let Some(warning) = made.warning {
        writeln!(warnings, "crawler: left out, {warning}: {}", Escaped(&url))?;
    }
    Ok(out.write_all(&made.bytes)?)
}

/// The fields of a record of `kind` that is made from `source`, to be written by [`Encoder::again`].
pub(super) fn fields(kind: &str, content_type: &str, source: &StoredRecord) -> Vec<(String, String)> {
    let source = &source.record;
    let of_source = |name: &str| source.field(name).unwrap_or_default().to_owned();
    let own = crate::warc::id_of(&format!("{kind} {content_type} {}", of_source("WARC-Record-ID")));
    let mut fields = vec![("WARC-Type".to_owned(), kind.to_owned())];
    fields.extend(source.field("WARC-Target-URI").map(|url| ("WARC-Target-URI".to_owned(), url.to_owned())));
    fields.extend([
        ("WARC-Date".to_owned(), of_source("WARC-Date")),
        ("WARC-Record-ID".to_owned(), own),
        ("WARC-Refers-To".to_owned(), of_source("WARC-Record-ID")),
        ("WARC-Block-Digest".to_owned(), String::new()),
        ("Content-Type".to_owned(), content_type.to_owned()),
        ("Content-Length".to_owned(), String::new()),
    ]);
    fields
}

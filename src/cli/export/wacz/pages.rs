//! The list of pages of a WACZ: every HTML page with its title and, where that is wanted, its text; seeds come first.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};

use serde::Serialize;

use super::package::{MainPage, Package, seconds};
use crate::cli::archive::{Entry, Response};
use crate::cli::page::{decode, is_page};
use crate::reading::rendered_lines;
use crate::reading::tree::{TIME_MAX, parse};
use crate::text::escape::Escaped;
use crate::web::html::title;
use crate::web::markdown::MADE;

/// Bytes of the text of a page; what is beyond is left out.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Pages as they come, in temporary files: the list comes behind the WARC files that they are found in.
pub(super) struct Pages {
    text: bool,
    seeds: BufWriter<File>,
    others: BufWriter<File>,
    main: Option<MainPage>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    format: &'static str,
    id: &'static str,
    title: &'static str,
    has_text: bool,
}

#[derive(Serialize)]
struct Page<'a> {
    id: String,
    url: &'a str,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    seed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Pages {
    /// An empty list, with the texts of its pages if `text`.
    pub(super) fn new(text: bool) -> io::Result<Self> {
        let spool = || tempfile::tempfile().map(BufWriter::new);
        Ok(Pages { text, seeds: spool()?, others: spool()?, main: None })
    }

    /// Takes an answer, if it is a page.
    pub(super) fn take(
        &mut self,
        entry: &Entry,
        seed: bool,
        response: &Response,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let came = matches!(entry.status, 200..300);
        if entry.robots || !came || !is_page(response) {
            return Ok(());
        }
        let ts = seconds(entry.time);
        let html = decode(response);
        let text = if self.text { text(entry, &html, warnings)? } else { None };
        let title = title(html.as_bytes(), Some(MADE)).filter(|title| !title.is_empty());
        let page = Page { id: format!("{:x}", entry.handle), url: plain(&entry.url), ts: &ts, title, seed, text };
        let out = if seed { &mut self.seeds } else { &mut self.others };
        serde_json::to_writer(&mut *out, &page)?;
        out.write_all(b"\n")?;
        if seed && self.main.is_none() {
            self.main = Some(MainPage { url: plain(&entry.url).to_owned(), ts });
        }
        Ok(())
    }

    /// Writes the list; gives the page to open first.
    pub(super) fn write(self, package: &mut Package<'_>) -> anyhow::Result<Option<MainPage>> {
        let header = Header { format: "json-pages-1.0", id: "pages", title: "All Pages", has_text: self.text };
        package.deflated("pages/pages.jsonl", |out| {
            serde_json::to_writer(&mut *out, &header)?;
            out.write_all(b"\n")?;
            for spool in [self.seeds, self.others] {
                let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
                spool.rewind()?;
                io::copy(&mut BufReader::new(spool), out)?;
            }
            Ok(())
        })?;
        Ok(self.main)
    }
}

/// The text of a page, where it has a tree within the limits.
fn text(entry: &Entry, html: &str, warnings: &mut dyn Write) -> anyhow::Result<Option<String>> {
    match parse(html, TIME_MAX) {
        Ok(page) => {
            let mut text = rendered_lines(&page);
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
            Ok(Some(text))
        }
        Err(why) => {
            writeln!(warnings, "crawler: without its text, {why}: {}", Escaped(&entry.url))?;
            Ok(None)
        }
    }
}

/// The URL of an address.
fn plain(address: &str) -> &str {
    address.split_once('#').map_or(address, |(url, _)| url)
}

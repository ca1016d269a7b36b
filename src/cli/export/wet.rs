//! `crawler export wet`: the text of pages, in the form of Common Crawl's WET files.

use std::borrow::Cow;

use clap::Args;

use super::Common;
use super::derived::{Derivation, Made, Page, fields};
use crate::cli::OpenArchive;
use crate::cli::exit::Exit;
use crate::cli::page::{decode, title_of};
use crate::cli::selection::Selection;
use crate::reading::rendered_lines;
use crate::reading::tree::{TIME_MAX, parse};
use crate::warc::Encoder;

#[derive(Debug, Args)]
#[command(after_help = "\
A WARC file with a conversion record (text/plain, UTF-8) for every HTML page with status 200, or with the status of \
--status: its title, and its visible text with a line for each block; of a rendered page, as a browser left it. \
Records have the date of the capture, and refer to the record of the answer.

Examples:
  crawler export wet --output crawl.warc.wet.gz
  crawler export wet --prefix https://example.com/docs/ | zcat | less")]
pub(super) struct WetArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
}

impl WetArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.derivation().run(open_archive)
    }

    fn derivation(&self) -> Derivation<'_> {
        let Self { common, all } = self;
        Derivation { common, all: *all, suffix: ".warc.wet.gz", wants: Selection::is_page, make: conversion }
    }
}

/// The record of a page.
fn conversion(page: &Page, encoder: &mut Encoder) -> Made {
    let mut made = Made::default();
    let Some(answer) = page.exchange.last() else { return made };
    let html = page.rendered.as_deref().map_or_else(|| Cow::Owned(decode(&page.response)), Cow::Borrowed);
    match parse(&html, TIME_MAX) {
        Ok(tree) => {
            let mut text = title_of(&tree).unwrap_or_default();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&rendered_lines(&tree));
            text.push('\n');
            encoder.again(&fields("conversion", "text/plain", answer), text.as_bytes(), &[], false, &mut made.bytes);
        }
        Err(given_up) => made.warning = Some(given_up.to_string()),
    }
    made
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::Archive;
    use crate::cli::archive::tests::FakeArchive;
    use crate::cli::export::tests::records;
    use crate::clock::Time;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: WetArgs,
    }

    #[test]
    fn every_good_page_has_a_record_of_its_text_that_refers_to_its_answer() {
        let mut archive = FakeArchive::default();
        let page = b"<title>Ti\ntle</title><style>p{}</style><h1>Head</h1><p>a <b>b</b><p>\xc3\xa4";
        archive.page("https://a.example/", 200, "text/html", page);
        archive.page("https://a.example/gone", 404, "text/html", page);
        archive.page("https://a.example/x.css", 200, "text/css", page);
        let export = |args: &[&str]| {
            let (mut out, args) = (Vec::new(), Cli::parse_from([&["wet"], args].concat()).args);
            args.derivation().write(&archive, "x.warc.wet.gz", Time::ZERO, &mut out, &mut Vec::new()).unwrap().unwrap();
            records(&out)
        };
        let found = export(&[]);
        assert_eq!(found.iter().map(|record| record.kind()).collect::<Vec<_>>(), ["warcinfo", "conversion"]);
        let (record, answer) = (&found[1], archive.exchange(&archive.stored[0].0).unwrap().pop().unwrap().record);
        assert_eq!(record.block, "Ti tle\nHead\na b\n\u{e4}\n".as_bytes());
        assert_eq!(record.field("WARC-Refers-To"), answer.field("WARC-Record-ID"));
        for same in ["WARC-Date", "WARC-Target-URI"] {
            assert_eq!(record.field(same), answer.field(same));
        }
        assert_eq!(record.field("Content-Type"), Some("text/plain"));
        assert!(record.is_intact() && record.field("WARC-Record-ID") != answer.field("WARC-Record-ID"));
        assert_eq!(export(&["--status", "4xx"])[1].field("WARC-Target-URI"), Some("https://a.example/gone"));
    }
}

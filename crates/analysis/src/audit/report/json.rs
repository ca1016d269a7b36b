//! The JSON file: findings as they come, each with its places, then what was fixed, counts and distributions.
//!
//! ```text
//! {"version": 1, "crawl": ..., "directory": ..., "made": ..., "newest": ..., "compared_with": ...,
//!  "findings": [
//!   {"kind": "broken", "subject": URL, "detail": "404 Not Found", "places": [{"url", "how", "text", "state"}, ...]},
//!   ...],
//!  "fixed": [...],
//!  "counts": {"broken": {"findings", "places", "new", "fixed"}, ...},
//!  "figures": {...}, "tree": {...}, "sample": {...},
//!  "external": {"urls", "sound", "broken", "refused", "forbidden", "timed_out", "unchecked", "stopped"}}
//! ```
//! `newest` is when the last answer was asked for. `external` is there where external links were checked.
//! A finding with more than a thousand places comes several times, with its places in parts.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::super::compare::{PLACES_MAX, State};
use super::super::finding::{Finding, Kind};
use super::super::tree::Branch;
use super::{About, Summary};
use crate::text::escape::json_line;
use crate::text::figures::iso_ms;

/// The version of the file.
const VERSION: u32 = 1;

pub(super) struct Json<'a> {
    out: &'a mut dyn Write,
    /// The finding whose places are being written, and how many there are.
    open: Option<(Kind, String, usize)>,
    is_first: bool,
}

#[derive(Serialize)]
struct Place<'a> {
    url: &'a str,
    how: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

impl<'a> Json<'a> {
    pub(super) fn begin(out: &'a mut dyn Write, about: &About) -> io::Result<Json<'a>> {
        let (crawl, dir, made) = (json_line(&about.crawl)?, json_line(&about.dir)?, json_line(&iso_ms(about.now))?);
        write!(out, "{{\"version\":{VERSION},\"crawl\":{crawl},\"directory\":{dir},\"made\":{made}")?;
        write!(out, ",\"newest\":{}", json_line(&iso_ms(about.newest))?)?;
        if let Some(earlier) = &about.earlier {
            write!(out, ",\"compared_with\":{}", json_line(earlier)?)?;
        }
        out.write_all(b",\n\"findings\":[")?;
        Ok(Json { out, open: None, is_first: true })
    }

    /// A place of a finding; places of one finding come one after the other.
    pub(super) fn finding(&mut self, finding: &Finding, state: Option<State>) -> io::Result<()> {
        let Finding { kind, subject, item, detail } = finding;
        let same = |(open_kind, open_subject, places): &(Kind, String, usize)| {
            open_kind == kind && open_subject == subject && *places < PLACES_MAX
        };
        if self.open.as_ref().is_none_or(|open| !same(open)) {
            self.close()?;
            let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
            let (name, subject_json, detail) = (json_line(&kind.name())?, json_line(subject)?, json_line(detail)?);
            write!(self.out, "{comma}\n{{\"kind\":{name},\"subject\":{subject_json},\"detail\":{detail},\"places\":[")?;
            self.open = Some((*kind, subject.clone(), 0));
        }
        if let Some((_, _, places)) = &mut self.open {
            let comma = if *places > 0 { "," } else { "" };
            *places += 1;
            let place = Place { url: &item.url, how: &item.how, text: &item.text, state };
            write!(self.out, "{comma}{}", json_line(&place)?)?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        if self.open.take().is_some() {
            self.out.write_all(b"]}")?;
        }
        Ok(())
    }

    /// Begins the list of fixed findings, to which all that follow belong.
    pub(super) fn fixed(&mut self) -> io::Result<()> {
        self.close()?;
        self.is_first = true;
        self.out.write_all(b"],\n\"fixed\":[")
    }

    pub(super) fn end(mut self, about: &About, summary: &Summary) -> io::Result<()> {
        self.close()?;
        let counts = Kind::ALL.iter().map(|kind| {
            let count = summary.of(*kind);
            let mut value = json!({ "findings": count.findings, "places": count.places });
            if summary.is_compared {
                value["new"] = json!(count.new);
                value["fixed"] = json!(count.fixed);
            }
            (kind.name().to_owned(), value)
        });
        let counts: serde_json::Map<_, _> = counts.collect();
        let figures = &about.figures;
        let figures = json!({
            "answers": figures.answers, "pages": figures.pages, "links": figures.links, "failed": figures.failed,
            "forbidden": figures.forbidden, "statuses": figures.statuses(), "types": figures.types(),
            "depths": figures.depths(), "clicks": figures.clicks(), "times": figures.times(), "sizes": figures.sizes(),
        });
        let pages: Vec<_> =
            about.sample.pages.iter().map(|page| json!({ "url": page.url, "depth": page.depth })).collect();
        let sample = json!({ "pages": pages, "links": about.sample.edges });
        let (counts, figures, tree) = (json_line(&counts)?, json_line(&figures)?, json_line(&branch(&about.tree))?);
        let sample = json_line(&sample)?;
        write!(self.out, "],\n\"counts\":{counts},\n\"figures\":{figures},\n\"tree\":{tree},\n\"sample\":{sample}")?;
        if let Some(external) = &summary.external {
            write!(self.out, ",\n\"external\":{}", json_line(external)?)?;
        }
        self.out.write_all(b"}\n")
    }
}

fn branch(found: &Branch) -> serde_json::Value {
    let children: Vec<_> = found.children.iter().map(branch).collect();
    json!({
        "name": found.name, "pages": found.pages, "others": found.others, "faults": found.faults,
        "children": children, "more": found.more,
    })
}

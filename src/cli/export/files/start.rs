//! The start page of an export, which leads to one page of every host.

use std::io::{BufWriter, Write};

use super::guide::File;
use super::tree::Tree;
use crate::disk::sorter::Sorter;
use crate::text::escape::html;
use crate::web::url::CanonicalUrl;

/// Memory for the lines; beyond it they are sorted in a temporary file.
const MEMORY: usize = 16 << 20;
/// Parts the fields of a line; no URL has any.
const PART: char = '\0';

/// Gathers the start pages of hosts: of each the page with the shortest URL, or another file where it has no page.
pub(super) struct StartPage(Sorter);

impl StartPage {
    pub(super) fn new() -> Self {
        StartPage(Sorter::new(MEMORY))
    }

    /// Takes a file.
    pub(super) fn add(&mut self, url: &CanonicalUrl, file: &File) -> anyhow::Result<()> {
        let rank = u8::from(!file.is_page);
        let (host, length) = (url.authority(), url.as_str().len());
        let line = format!("{host}{PART}{rank}{length:08}{PART}{url}{PART}{}", file.name.as_str());
        Ok(self.0.push(line.as_bytes())?)
    }

    /// Writes the page.
    pub(super) fn write(self, tree: &Tree) -> anyhow::Result<()> {
        let mut out = BufWriter::new(tree.start()?);
        out.write_all(
            b"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Exported sites</title>\n",
        )?;
        out.write_all(b"<h1>Exported sites</h1>\n<ul>\n")?;
        let (mut lines, mut last) = (self.0.finish()?, String::new());
        while let Some(line) = lines.next()? {
            let line = String::from_utf8_lossy(line);
            let fields: Vec<&str> = line.split(PART).collect();
            let [host, _, url, name] = fields[..] else { continue };
            if host != last {
                host.clone_into(&mut last);
                writeln!(out, "<li><a href=\"{name}\">{}</a></li>", html(url))?;
            }
        }
        out.write_all(b"</ul>\n</html>\n")?;
        Ok(out.flush()?)
    }
}

//! `cargo bench --bench links -- [--pages N] DIR...`: the links of the files below directories, as the crawler finds
//! them, for a comparison with what others find (`compare.py` beside this file).
//!
//! A line for each link: file, its URL, kind and target, separated by tabs; a file without links has a line with `-`
//! for kind and target. Of pages N are taken (20,000), the same share of each directory that has enough, evenly spread
//! over it; of sheets and pictures in SVG all. `nofollow` is not respected, and no parameter is stripped, so that every
//! reference counts.
//!
//! With `--parser` all pages are taken, and each target of an anchor is compared with what the URL parser alone makes
//! of it: the scan resolves plain references without that. The first difference ends it.

mod parser;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use crawler::fingerprint::Fingerprinter;
use crawler::web::html::{Document, LinkScan, RobotsDirectives};
use crawler::web::url::{CanonicalUrl, KeyMaker};
use parser::Compared;

const PAGES: usize = 20_000;
const LINKS_MAX: usize = 1_000_000;

fn main() -> Result<()> {
    let (mut pages_max, mut dirs, mut by_parser) = (PAGES, Vec::new(), false);
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        match &*arg {
            "--parser" => by_parser = true,
            "--pages" => pages_max = args.next().context("--pages needs a number")?.parse()?,
            _ => dirs.push(PathBuf::from(arg)),
        }
    }
    ensure!(!dirs.is_empty(), "name directories with pages");
    let keys = KeyMaker::new(Fingerprinter::random(1), &[]);
    let mut scan = LinkScan::new(LINKS_MAX, false, CanonicalUrl::LENGTH_MAX);
    if by_parser {
        return compare(&dirs, &mut scan, &keys);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let is_page = |(_, document): &(PathBuf, Document)| matches!(document, Document::Html | Document::Xhtml);
    let mut found: Vec<(Vec<_>, Vec<_>)> =
        dirs.iter().map(|dir| Ok(files(dir)?.into_iter().partition(is_page))).collect::<Result<_>>()?;
    // those with few pages give all, and leave the rest to the others
    found.sort_by_key(|(pages, _)| pages.len());
    let mut dirs_left = found.len();
    for (pages, others) in found {
        let share = pages_max / dirs_left;
        let count = share.min(pages.len());
        let pages: Vec<_> = (0..count).map(|number| pages[number * pages.len() / count].clone()).collect();
        (pages_max, dirs_left) = (pages_max - pages.len(), dirs_left - 1);
        for (path, document) in pages.into_iter().chain(others) {
            let body = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let (file, url) = (path.display(), url_of(&path)?);
            let links = scan.document(document, &body, None, &url, &keys, RobotsDirectives::default());
            if links.entries.is_empty() {
                writeln!(out, "{file}\t{url}\t-\t-")?;
            }
            for link in &links.entries {
                writeln!(out, "{file}\t{url}\t{:?}\t{}", link.kind, link.url)?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn compare(dirs: &[PathBuf], scan: &mut LinkScan, keys: &KeyMaker) -> Result<()> {
    let mut compared = Compared::default();
    for dir in dirs {
        for (path, _) in files(dir)?.into_iter().filter(|(_, document)| *document == Document::Html) {
            compared.page(&path, &url_of(&path)?, scan, keys)?;
        }
    }
    let Compared { pages, links, no_urls } = compared;
    println!("{links} links of {pages} pages are as the parser says; {no_urls} of them are no URLs");
    Ok(())
}

/// A URL for a file: its path on its own host.
fn url_of(path: &Path) -> Result<CanonicalUrl> {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    CanonicalUrl::parse(&format!("http://files.example/{}", path.trim_start_matches('/'))).context("a path makes a URL")
}

/// The documents below a directory, in the order of their paths; links to files are followed to no other directory.
fn files(dir: &Path) -> Result<Vec<(PathBuf, Document)>> {
    let (mut dirs, mut files) = (vec![dir.to_owned()], Vec::new());
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                dirs.push(path);
                continue;
            }
            let document = match path.extension().and_then(|end| end.to_str()) {
                Some("html" | "htm") => Document::Html,
                Some("xhtml") => Document::Xhtml,
                Some("css") => Document::Css,
                Some("svg") => Document::Svg,
                _ => continue,
            };
            if path.is_file() {
                files.push((path, document));
            }
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(files)
}

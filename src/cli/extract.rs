//! `crawler extract --select CSS`: elements of the archived HTML pages, as JSON lines.
//!
//! Pages are hostile: a tree of them can cost time that grows with the square of its depth, and nested elements
//! repeat their content. So a page has a limit of time and its values have a limit of bytes; what breaks one is said.

use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use clap::Args;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};
use serde::Serialize;

use super::archive::{Archive, Damage, Entry, Response, essence};
use super::exit::{Exit, UsageError};
use super::selection::Selection;
use super::{DirArg, OpenArchive, open};
use crate::report::escape::{Escaped, json_line};

/// Time that one page may take to parse.
const PARSE_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes between two looks at the clock.
const PARSE_STEP: usize = 16 << 10;
/// Bytes of all values of one page.
const VALUES_BYTES_MAX: usize = 16 << 20;
/// Bytes in which a page names its encoding.
const META_BYTES: usize = 1_024;

#[derive(Debug, Args)]
#[command(after_help = "\
The newest version of every HTML page is read that has status 200, or what --status says, also where another page has its
body. Pages without a match print nothing.

Examples:
  crawler extract --select h1 --text
  crawler extract --select title --text --prefix https://example.com/docs/
  crawler extract --select 'a[rel~=author]' --attr href
  crawler extract --select 'table.prices tr'")]
pub(super) struct ExtractArgs {
    #[command(flatten)]
    dir: DirArg,
    #[command(flatten)]
    selection: Selection,
    /// Which elements
    #[arg(long, value_name = "CSS")]
    select: String,
    /// Print this attribute of them
    #[arg(long, value_name = "NAME", conflicts_with = "text")]
    attr: Option<String>,
    /// Print their text, runs of blanks made one; without this, their HTML
    #[arg(long)]
    text: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    values: Vec<String>,
}

impl ExtractArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let selector = self.selector()?;
        let archive = open(&self.dir.dir, open_archive)?;
        let mut out = BufWriter::new(io::stdout().lock());
        self.print(&*archive, &selector, PARSE_TIME_MAX, &mut out, &mut io::stderr())
    }

    fn selector(&self) -> anyhow::Result<Selector> {
        let refuse = |e| UsageError::because(format!("--select {:?} is not a CSS selector: {e}", self.select));
        Selector::parse(&self.select).map_err(refuse)
    }

    fn print(
        &self,
        archive: &dyn Archive,
        selector: &Selector,
        time_max: Duration,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        self.selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
            if !self.is_page(&entry) {
                return Ok(());
            }
            let text = match archive.response(&entry) {
                Ok(response) => decode(&response),
                Err(e) => {
                    damage.note(e, warnings);
                    return Ok(());
                }
            };
            let url = Escaped(&entry.url);
            let started = Instant::now();
            let Some(page) = parse(&text, time_max) else {
                writeln!(warnings, "crawler: left out, it takes longer than {time_max:?} to parse: {url}")?;
                return Ok(());
            };
            let (values, whole) = self.values(&page, selector, started, time_max);
            if !whole {
                let limit = format!("{VALUES_BYTES_MAX} bytes of values, {time_max:?}");
                writeln!(warnings, "crawler: its first values only, as many as the limits allow ({limit}): {url}")?;
            }
            if !values.is_empty() {
                writeln!(out, "{}", json_line(&Line { url: &entry.url, values })?)?;
            }
            Ok(())
        })?;
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }

    fn is_page(&self, entry: &Entry) -> bool {
        let mime = essence(&entry.mime);
        let good = entry.status == 200 || entry.is_confirmed();
        (good || !self.selection.status.is_empty()) && (mime == "text/html" || mime == "application/xhtml+xml")
    }

    /// What is asked for of each element that matches, and whether that is all of it. In deeply nested elements each
    /// value is a walk over all that is below, so the time that was given since `started` holds here, too.
    fn values(&self, page: &Html, selector: &Selector, started: Instant, time_max: Duration) -> (Vec<String>, bool) {
        let (mut values, mut bytes) = (Vec::new(), 0);
        for element in page.select(selector) {
            let Some(value) = self.value(element) else { continue };
            bytes += value.len();
            if bytes > VALUES_BYTES_MAX || started.elapsed() >= time_max {
                return (values, false);
            }
            values.push(value);
        }
        (values, true)
    }

    fn value(&self, element: ElementRef<'_>) -> Option<String> {
        match &self.attr {
            Some(name) => element.attr(&name.to_ascii_lowercase()).map(str::to_owned),
            None if self.text => Some(text_of(element)),
            None => Some(element.html()),
        }
    }
}

/// The text of an element, with runs of white space made one blank.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    let mut blank = false;
    for c in element.text().flat_map(str::chars) {
        if c.is_whitespace() {
            blank = !text.is_empty();
        } else {
            if std::mem::take(&mut blank) {
                text.push(' ');
            }
            text.push(c);
        }
    }
    text
}

/// The tree of a page; none where it takes longer than `time_max`.
pub(super) fn parse(text: &str, time_max: Duration) -> Option<Html> {
    let started = Instant::now();
    let mut parser = parse_document(HtmlTreeSink::new(Html::new_document()), ParseOpts::default());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(PARSE_STEP);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (step, after) = rest.split_at(end);
        parser.process(StrTendril::from(step));
        rest = after;
        if started.elapsed() >= time_max {
            return None;
        }
    }
    Some(parser.finish())
}

/// The text of a page, in the encoding that its bytes, its header or its meta element name.
pub(super) fn decode(response: &Response) -> String {
    let body = &response.decoded;
    let header = response.header("content-type").and_then(charset);
    let meta = || charset(&body[..body.len().min(META_BYTES)]);
    let guess = || if std::str::from_utf8(body).is_ok() { UTF_8 } else { WINDOWS_1252 };
    // A byte order mark outranks them all: `decode` looks for it itself.
    header.or_else(meta).unwrap_or_else(guess).decode(body).0.into_owned()
}

/// The encoding named after the first `charset=` that names one.
fn charset(bytes: &[u8]) -> Option<&'static Encoding> {
    let lower = bytes.to_ascii_lowercase();
    for at in memchr::memmem::find_iter(&lower, b"charset") {
        let Some(value) = lower[at + b"charset".len()..].trim_ascii_start().strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let end = value.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte));
        if let Some(encoding) = Encoding::for_label(&value[..end.unwrap_or(value.len())]) {
            // A meta element that can be read byte by byte is not in UTF-16, whatever it says.
            return Some(encoding.output_encoding());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ExtractArgs,
    }

    const PAGE: &[u8] = b"<title>T</title><h1>One\n  <b>big</b>\theading</h1><a href='/x' REL=me>x</a><a>no</a>";

    fn extract(args: &[&str], archive: &FakeArchive, time_max: Duration) -> (String, String) {
        let cli = Cli::parse_from([&["extract"], args].concat());
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let selector = cli.args.selector().unwrap();
        cli.args.print(archive, &selector, time_max, &mut out, &mut warnings).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(warnings).unwrap())
    }

    fn of_page(args: &[&str], content_type: &str, body: &[u8]) -> String {
        let mut archive = FakeArchive::default();
        let headers = vec![(b"Content-Type".to_vec(), content_type.as_bytes().to_vec())];
        let response = Response { status: 200, headers, decoded: body.to_vec(), ..Response::default() };
        archive.store("https://a.example/", content_type, response);
        extract(args, &archive, Duration::MAX).0
    }

    #[test]
    fn text_attributes_and_html_are_selected() {
        let text = of_page(&["--select", "h1", "--text"], "text/html", PAGE);
        assert_eq!(text, "{\"url\":\"https://a.example/\",\"values\":[\"One big heading\"]}\n");
        let attr = of_page(&["--select", "a", "--attr", "HREF"], "text/html; charset=utf-8", PAGE);
        assert!(attr.ends_with("\"values\":[\"/x\"]}\n"), "{attr}");
        let html = of_page(&["--select", "b"], "text/html", PAGE);
        assert!(html.ends_with("\"values\":[\"<b>big</b>\"]}\n"), "{html}");
    }

    #[test]
    fn only_good_html_pages_with_a_match_print_a_line() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/404", 404, "text/html", PAGE);
        archive.page("https://a.example/t", 200, "text/plain", PAGE);
        archive.page("https://a.example/none", 200, "text/html", b"<p>nothing");
        archive.page("https://a.example/old", 200, "text/html", PAGE);
        archive.page("https://a.example/old", 410, "text/html", PAGE);
        assert_eq!(extract(&["--select", "h1"], &archive, Duration::MAX), (String::new(), String::new()));
        archive.page("https://a.example/yes", 200, "Text/HTML;charset=utf-8", PAGE);
        assert_eq!(extract(&["--select", "h1"], &archive, Duration::MAX).0.lines().count(), 1);
        assert_eq!(extract(&["--select", "h1", "--status", "4xx"], &archive, Duration::MAX).0.lines().count(), 2);
        assert_eq!(extract(&["--select", "h1", "--prefix", "https://b."], &archive, Duration::MAX).0, "");
    }

    #[test]
    fn a_page_is_read_in_its_encoding() {
        let args = ["--select", "p", "--text"];
        for (content_type, body) in [
            ("text/html; charset=ISO-8859-1", &b"<p>\xfc"[..]),
            ("text/html", b"<meta charset='windows-1252'><p>\xfc"),
            ("text/html", b"<meta content='text/html; CHARSET = \"latin1\"'><p>\xfc"),
            ("text/html", b"<p>\xfc"),
            ("text/html", b"<p>\xc3\xbc"),
            ("text/html; charset=nonsense", b"\xef\xbb\xbf<p>\xc3\xbc"),
            ("text/html; charset=latin1", b"\xef\xbb\xbf<p>\xc3\xbc"),
        ] {
            let line = of_page(&args, content_type, body);
            assert!(line.contains("\"\u{fc}\""), "{content_type} {body:?} {line}");
        }
    }

    #[test]
    fn a_page_that_takes_too_long_is_left_out_and_named() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/\x1b", 200, "text/html", PAGE);
        let (out, warnings) = extract(&["--select", "h1"], &archive, Duration::ZERO);
        assert_eq!(out, "");
        assert!(warnings.contains("left out") && warnings.contains("https://a.example/\\x1b"), "{warnings}");
    }

    #[test]
    fn nested_elements_do_not_multiply_without_a_bound() {
        let body = "<div>0123456789abcdef".repeat(4_000);
        let line = of_page(&["--select", "div"], "text/html", body.as_bytes());
        assert!(line.len() < 2 * VALUES_BYTES_MAX, "{}", line.len());
    }

    #[test]
    fn walks_over_nested_elements_without_text_end_when_the_time_is_over() {
        let page = parse(&"<div>".repeat(2_000), Duration::MAX).unwrap();
        let args = Cli::parse_from(["extract", "--select", "div", "--text"]).args;
        let selector = args.selector().unwrap();
        let (values, whole) = args.values(&page, &selector, Instant::now(), Duration::ZERO);
        assert_eq!((values.len(), whole), (0, false));
        let (values, whole) = args.values(&page, &selector, Instant::now(), Duration::MAX);
        assert_eq!((values.len(), whole), (2_000, true));
    }

    #[test]
    fn what_is_no_selector_is_a_usage_error() {
        let error = Cli::parse_from(["extract", "--select", "a[["]).args.selector().unwrap_err();
        assert!(error.is::<UsageError>() && error.to_string().contains("a[["), "{error}");
    }
}

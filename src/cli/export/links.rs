//! `crawler export links`: which page names which URL.
//!
//! Pages, sheets and other documents are scanned again by the scan that the crawl itself uses, against their own URL
//! and `<base>`. A target comes once a page, as the kind of link that names it first, with the first text that any of
//! its anchors has. Sitemaps in all their forms and feeds of JSON are read as the crawl reads them, too: a text is one
//! where the way to it says so.

use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::Common;
use crate::archive::StoredList;
use crate::cli::OpenArchive;
use crate::cli::archive::{self, Archive, Damage, Response, redirect};
use crate::cli::columns::{Column, Columns};
use crate::cli::exit::Exit;
use crate::cli::selection::KindChoice;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::text::escape::{Cell, Escaped, json_line};
use crate::web::headers;
use crate::web::html::{
    Document, LinkKind, LinkScan, Links, RobotsDirectives, Stated, canonical_header, link_header, x_robots_tag,
};
use crate::web::sitemap::{Body, Entry, Format};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Links of a page; a page that names more is cut, and that is reported.
const LINKS_MAX: usize = 100_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints one line per link: source, target, kind, follow or nofollow, and the text of the anchor, separated by tabs. \
Tabs, line ends and control characters are written as \\t, \\n, \\x1b, and a text that a spreadsheet would take for a \
formula begins with '; JSON lines have the text as it is. An anchor without text has the alternative text of its \
pictures. A page lists each target once. Kinds: anchor, embed (images, scripts, styles, frames; what a style sheet \
names), refresh, canonical, other (further <link>s, links of feeds), listed and sitemap (entries of a sitemap, of an \
index), header (the Link header, unless it is canonical), redirect. nofollow comes from rel, meta robots or \
X-Robots-Tag where they apply to all robots. Reads redirects, and HTML pages, style sheets and other documents that \
name URLs, with status 200, or with the status of --status.

--columns adds what is known of the page with the link: status, referrer, mime, bytes, time, change, depth, hops, \
duration, location, digest. --target-columns adds the same of the target of the link; each link is looked up for that, \
which takes several times as long. A target that is not in the archive has empty columns.

Examples:
  crawler export links --prefix https://example.com/ > links.tsv
  crawler export links --jsonl --output links.jsonl
  crawler export links --columns depth,change --target-columns status,location
  crawler export links | cut -f 2 | sort | uniq -c | sort -rn | head")]
pub(super) struct LinksArgs {
    #[command(flatten)]
    common: Common,
    /// Columns of the page with the link, behind the others, separated by commas
    #[arg(long, value_enum, value_name = "COLUMN", value_delimiter = ',')]
    columns: Vec<Column>,
    /// The same columns of the link's target, as it was fetched last; empty if it was not
    #[arg(long, value_enum, value_name = "COLUMN", value_delimiter = ',')]
    target_columns: Vec<Column>,
    /// JSON lines: source, target, kind, nofollow, text; from and to have the fields of the other columns
    #[arg(long, visible_alias = "json")]
    jsonl: bool,
}

#[derive(Serialize)]
struct LinkRow<'a> {
    source: &'a str,
    target: &'a str,
    kind: &'static str,
    nofollow: bool,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Option<Value>>,
}

/// The columns for the page that has a link, and for the target of the link.
struct LinkColumns {
    columns: Option<Columns>,
    target_columns: Option<Columns>,
}

/// The scans of a page: one that finds all links, one that leaves out what must not be followed.
pub(in crate::cli) struct Scans {
    all: LinkScan,
    followed: LinkScan,
    keys: KeyMaker,
}

impl LinksArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.common.with(open_archive, false, |archive, out, warnings| self.write(archive, out, warnings))
    }

    fn write(
        &self,
        archive: &dyn Archive,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let (mut damage, mut scans) = (Damage::default(), Scans::new());
        let selection = self.common.selection(KindChoice::Unjudged);
        selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
            if !selection.may_link(&entry) {
                return Ok(());
            }
            match archive.shown(&entry) {
                Ok(response) => match self.page(archive, &entry, &response, &mut scans, out, warnings)? {
                    Ok(()) => {}
                    Err(e) => damage.note(e, warnings),
                },
                Err(e) => damage.note(e, warnings),
            }
            Ok(())
        })?;
        Ok(damage.or(Exit::Done, warnings))
    }

    /// Writes the links of a page; says within what of the archive could not be read.
    fn page(
        &self,
        archive: &dyn Archive,
        entry: &archive::Entry,
        response: &Response,
        scans: &mut Scans,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<()>> {
        let Ok(url) = CanonicalUrl::parse(&entry.url) else { return Ok(Ok(())) };
        let columns = LinkColumns::new(self);
        let (from_line, from) = match columns.of_source(archive, entry, self.jsonl) {
            Ok(columns) => columns,
            Err(unread) => return Ok(Err(unread)),
        };
        let mut unread = Ok(());
        let mut line = |target: &str, kind, nofollow, text: &str| -> anyhow::Result<()> {
            let (to_line, to) = columns.of_target(archive, target, self.jsonl).unwrap_or_else(|error| {
                unread = Err(error);
                (String::new(), Some(None))
            });
            if self.jsonl {
                let line = LinkRow { source: &entry.url, target, kind, nofollow, text, from: from.as_ref(), to };
                return Ok(writeln!(out, "{}", json_line(&line)?)?);
            }
            let (source, target) = (Cell(&entry.url), Cell(target));
            let follow = if nofollow { "nofollow" } else { "follow" };
            Ok(writeln!(out, "{source}\t{target}\t{kind}\t{follow}\t{}{from_line}{to_line}", Cell(text))?)
        };
        if let Some(target) = redirect(&url, entry.status, response) {
            line(target.as_str(), "redirect", false, "")?;
        }
        let (links, texts, followed) = scans.find(&url, response);
        let join = |value: &str| url.join(value).ok();
        let linked: Vec<_> = headers::named(&response.headers, "link").map(headers::reference).collect();
        let canonical = linked.iter().find_map(|value| canonical_header(value)).and_then(|value| join(&value));
        if let Some(target) = headers::refresh(&response.headers).and_then(|value| join(&value)) {
            line(target.as_str(), "refresh", links.nofollow_page, "")?;
        }
        for target in linked.iter().flat_map(|value| link_header(value)).filter_map(|(value, _)| join(&value)) {
            let kind = if canonical.as_ref() == Some(&target) { "canonical" } else { "header" };
            line(target.as_str(), kind, links.nofollow_page, "")?;
        }
        let mut dropped = u64::from(links.dropped);
        match listed(&url, response, || archive.history(entry).map(|history| history.hops)) {
            Ok(None) => {
                for (link, text) in links.entries.iter().zip(&texts) {
                    line(link.url.as_str(), kind(link.kind), !followed.contains(&link.keys.key), text)?;
                }
            }
            Ok(Some(listed)) => {
                for (target, entry) in &listed.entries {
                    line(target.as_str(), kind(kind_of_entry(listed.format, *entry)), false, "")?;
                }
                dropped = listed.dropped;
            }
            Err(e) => return Ok(Err(e)),
        }
        if dropped > 0 {
            writeln!(warnings, "crawler: {dropped} more links left out: {}", Escaped(&entry.url))?;
        }
        Ok(unread)
    }
}

impl LinkColumns {
    fn new(args: &LinksArgs) -> LinkColumns {
        let of = |wanted: &[Column]| (!wanted.is_empty()).then(|| Columns::new(wanted, None));
        LinkColumns { columns: of(&args.columns), target_columns: of(&args.target_columns) }
    }

    /// Returns the text that follows each link of a page: the end of its line, or the fields of its object.
    fn of_source(
        &self,
        archive: &dyn Archive,
        entry: &archive::Entry,
        json: bool,
    ) -> anyhow::Result<(String, Option<Value>)> {
        Ok(match &self.columns {
            None => (String::new(), None),
            Some(columns) if json => (String::new(), Some(columns.fields(archive, entry)?)),
            Some(columns) => (format!("\t{}", columns.line(archive, entry)?), None),
        })
    }

    /// The same for where a link leads; empty columns, or null, where that was not fetched.
    fn of_target(
        &self,
        archive: &dyn Archive,
        url: &str,
        json: bool,
    ) -> anyhow::Result<(String, Option<Option<Value>>)> {
        let Some(columns) = &self.target_columns else { return Ok((String::new(), None)) };
        let newest = archive.newest(url)?;
        Ok(match newest {
            _ if json => {
                let fields = newest.map(|entry| columns.fields(archive, &entry)).transpose()?;
                (String::new(), Some(fields))
            }
            Some(entry) => (format!("\t{}", columns.line(archive, &entry)?), None),
            None => ("\t".repeat(columns.count()), None),
        })
    }
}

impl Scans {
    pub(in crate::cli) fn new() -> Self {
        let scan = |respect_nofollow| LinkScan::new(LINKS_MAX, respect_nofollow, CanonicalUrl::LENGTH_MAX);
        // any polynomial will do: the keys are compared within a page only
        let keys = KeyMaker::new(Fingerprinter::random(fastrand::u64(..)), &[]);
        Scans { all: scan(false), followed: scan(true), keys }
    }

    /// All URLs that an answer names which was found by `hops`: its redirect, its header fields, its links whether they
    /// may be followed or not, its entries.
    pub(in crate::cli) fn targets(
        &mut self,
        url: &CanonicalUrl,
        status: u16,
        response: &Response,
        hops: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<Vec<CanonicalUrl>> {
        let mut targets: Vec<CanonicalUrl> = redirect(url, status, response).into_iter().collect();
        let refresh = headers::refresh(&response.headers);
        targets.extend(refresh.and_then(|value| url.join(&value).ok()));
        let linked: Vec<_> = headers::named(&response.headers, "link").map(headers::reference).collect();
        targets
            .extend(linked.iter().flat_map(|value| link_header(value)).filter_map(|(value, _)| url.join(&value).ok()));
        if let Some(listed) = listed(url, response, hops)? {
            targets.extend(listed.entries.into_iter().map(|(target, _)| target));
            return Ok(targets);
        }
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        if let Some(document) = Document::of(&stated(url, content_type), &response.decoded) {
            let (keys, said) = (&self.keys, RobotsDirectives::default());
            let links = self.all.document(document, &response.decoded, content_type, url, keys, said);
            targets.extend(links.entries.into_iter().map(|link| link.url));
        }
        Ok(targets)
    }

    /// The links of a page, their texts, and the keys of those that may be followed.
    fn find(&mut self, url: &CanonicalUrl, response: &Response) -> (Links, Vec<String>, HashSet<Fingerprint>) {
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        let tags: Vec<_> = headers::named(&response.headers, "x-robots-tag").map(String::from_utf8_lossy).collect();
        let said = x_robots_tag(tags.iter().map(|value| &**value), "*");
        let Some(document) = Document::of(&stated(url, content_type), &response.decoded) else {
            return (Links { nofollow_page: said.nofollow, ..Links::default() }, Vec::new(), HashSet::new());
        };
        let keys = &self.keys;
        let (links, texts) = if matches!(document, Document::Html | Document::Xhtml) {
            self.all.html_with_texts(&response.decoded, content_type, url, &self.keys, said)
        } else {
            let links = self.all.document(document, &response.decoded, content_type, url, keys, said);
            let texts = vec![String::new(); links.entries.len()];
            (links, texts)
        };
        let followed = self.followed.document(document, &response.decoded, content_type, url, keys, said);
        (links, texts, followed.entries.iter().map(|link| link.keys.key).collect())
    }
}

/// The entries of the answer at `url`, if it is a sitemap or a feed of JSON.
fn listed(
    url: &CanonicalUrl,
    response: &Response,
    hops: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<Option<StoredList>> {
    let content_type = response.content_type();
    let body = Body { content_type: content_type.as_deref(), content_encoding: None, bytes: &response.decoded };
    StoredList::of(url, body, hops)
}

/// The kind of an entry of a file of this format.
fn kind_of_entry(format: Format, entry: Entry) -> LinkKind {
    match entry {
        _ if format == Format::JsonFeed => LinkKind::Other,
        Entry::Sitemap => LinkKind::Sitemap,
        Entry::Page => LinkKind::Listed,
        Entry::Beside | Entry::Next => LinkKind::Other,
    }
}

/// Returns what is known of an answer before it is read. URLs in a sheet of a wrong type are found if a page embeds it,
/// which is not known here.
pub(super) fn stated<'a>(url: &'a CanonicalUrl, content_type: Option<&'a str>) -> Stated<'a> {
    Stated { content_type, nosniff: false, path: url.path(), embedded: true }
}

fn kind(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Anchor | LinkKind::Aside => "anchor",
        LinkKind::Embed => "embed",
        LinkKind::Refresh => "refresh",
        LinkKind::Canonical => "canonical",
        LinkKind::Other => "other",
        LinkKind::Listed => "listed",
        LinkKind::Sitemap => "sitemap",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: LinksArgs,
    }

    fn links(archive: &FakeArchive, args: &[&str]) -> String {
        let mut out = Vec::new();
        let args = Cli::parse_from([&["links"], args].concat()).args;
        args.write(archive, &mut out, &mut Vec::new()).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn store(archive: &mut FakeArchive, url: &str, status: u16, headers: &[(&str, &str)], body: &str) {
        let headers = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        let decoded = body.as_bytes().to_vec();
        let response = Response { status, headers: headers.collect(), decoded, ..Response::default() };
        archive.store(url, "text/html", response);
    }

    const HTML: (&str, &str) = ("Content-Type", "text/html");

    #[test]
    fn links_are_resolved_named_by_kind_and_by_whether_they_are_followed() {
        let mut archive = FakeArchive::default();
        let page = "<base href=/b/><a href=x>1</a><a href='x#f'>2</a><img src=i.png><a rel=nofollow href=n>3</a>\
                    <link rel=canonical href=/c><a href=\"y\tz\">4&#9;&#27;[2J</a><a href=mailto:a@b>5</a><a \
                    href=f>=1+1</a>";
        store(
            &mut archive,
            "https://a.example/p/",
            200,
            &[HTML, ("Link", "</h>; rel=next, </k>; rel=canonical")],
            page,
        );
        store(&mut archive, "https://a.example/old", 301, &[("Location", "/new")], "");
        store(&mut archive, "https://a.example/gone", 404, &[HTML], page);
        let lines: Vec<String> = links(&archive, &[]).lines().map(str::to_owned).collect();
        let expected = [
            ("p/", "h", "header\tfollow\t"),
            ("p/", "k", "canonical\tfollow\t"),
            ("p/", "b/x", "anchor\tfollow\t1"),
            ("p/", "b/i.png", "embed\tfollow\t"),
            ("p/", "b/n", "anchor\tnofollow\t3"),
            ("p/", "c", "canonical\tfollow\t"),
            ("p/", "b/yz", "anchor\tfollow\t4 \\x1b[2J"),
            ("p/", "b/f", "anchor\tfollow\t'=1+1"),
            ("old", "new", "redirect\tfollow\t"),
        ];
        let expected: Vec<String> = expected
            .iter()
            .map(|(s, t, rest)| format!("https://a.example/{s}\thttps://a.example/{t}\t{rest}"))
            .collect();
        assert_eq!(lines, expected);
        assert_eq!(links(&archive, &["--status", "404"]).lines().count(), 6);
    }

    #[test]
    fn columns_tell_of_the_page_and_of_where_a_link_leads() {
        let mut archive = FakeArchive::default();
        store(&mut archive, "https://a.example/", 200, &[HTML], "<a href=old>1</a><a href=none>2</a>");
        store(&mut archive, "https://a.example/old", 301, &[("Location", "/new")], "");
        let args = ["--columns", "depth,change", "--target-columns", "status,location"];
        let lines = links(&archive, &args);
        let expected = [
            "https://a.example/\thttps://a.example/old\tanchor\tfollow\t1\t0\tfirst\t301\thttps://a.example/new",
            "https://a.example/\thttps://a.example/none\tanchor\tfollow\t2\t0\tfirst\t\t",
            "https://a.example/old\thttps://a.example/new\tredirect\tfollow\t\t0\tfirst\t\t",
        ];
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
        let objects = links(&archive, &[&args[..], &["--jsonl"]].concat());
        let objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects[0]["from"], serde_json::json!({ "change": "first", "depth": 0 }));
        assert_eq!(objects[0]["to"], serde_json::json!({ "location": "https://a.example/new", "status": 301 }));
        assert!(objects[1]["to"].is_null() && objects[1].as_object().unwrap().contains_key("to"));
        let plain: Value = serde_json::from_str(links(&archive, &["--jsonl"]).lines().next().unwrap()).unwrap();
        assert_eq!(plain.as_object().unwrap().len(), 5);
    }

    #[test]
    fn sheets_and_feeds_have_links_too() {
        let mut archive = FakeArchive::default();
        let css = ("Content-Type", "text/css");
        store(&mut archive, "https://a.example/s/a.css", 200, &[css], "@import 'b.css';a{b:url(../c.png)}");
        let feed = ("Content-Type", "application/atom+xml");
        store(&mut archive, "https://a.example/feed", 200, &[feed], "<feed><link href='/d'/></feed>");
        let expected = "https://a.example/s/a.css\thttps://a.example/s/b.css\tembed\tfollow\t\n\
                        https://a.example/s/a.css\thttps://a.example/c.png\tembed\tfollow\t\n\
                        https://a.example/feed\thttps://a.example/d\tother\tfollow\t\n";
        assert_eq!(links(&archive, &[]), expected);
    }

    #[test]
    fn the_entries_of_sitemaps_in_all_their_forms_are_links() {
        let mut archive = FakeArchive::default();
        let xml = ("Content-Type", "application/xml");
        let urlset = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>/a</loc></url></urlset>";
        store(&mut archive, "https://a.example/map.xml", 200, &[xml], urlset);
        let index = "<sitemapindex><sitemap><loc>/map.xml</loc></sitemap></sitemapindex>";
        store(&mut archive, "https://a.example/index.xml", 200, &[xml], index);
        let text = ("Content-Type", "text/plain");
        store(&mut archive, "https://a.example/map.txt", 200, &[text], "https://a.example/b\nhttps://a.example/b\n");
        store(&mut archive, "https://a.example/words.txt", 200, &[text], "see https://a.example/no\n");
        let feed = "{\"version\": \"https://jsonfeed.org/version/1.1\", \"items\": [{\"id\": \"1\", \"url\": \"/c\"}]}";
        store(&mut archive, "https://a.example/feed.json", 200, &[("Content-Type", "application/feed+json")], feed);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(urlset.as_bytes()).unwrap();
        let decoded = gzip.finish().unwrap();
        let headers = vec![(b"Content-Type".to_vec(), b"application/gzip".to_vec())];
        let response = Response { status: 200, headers, decoded, ..Response::default() };
        archive.store("https://a.example/map.xml.gz", "application/gzip", response);
        let expected = [
            "map.xml a listed",
            "index.xml map.xml sitemap",
            "map.txt b listed",
            "feed.json c other",
            "map.xml.gz a listed",
        ];
        let lines = links(&archive, &[]);
        let lines: Vec<String> = lines
            .lines()
            .map(|line| line.split('\t').take(3).collect::<Vec<_>>().join(" ").replace("https://a.example/", ""))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_page_that_asks_for_it_has_only_links_that_are_not_followed() {
        let mut archive = FakeArchive::default();
        let meta = "<a href=x>1</a><meta name=robots content=nofollow>";
        store(&mut archive, "https://a.example/", 200, &[HTML], meta);
        store(&mut archive, "https://a.example/2", 200, &[HTML, ("X-Robots-Tag", "none")], "<a href=x>1</a>");
        let text = links(&archive, &["--jsonl"]);
        let first = "{\"source\":\"https://a.example/\",\"target\":\"https://a.example/x\",\"kind\":\"anchor\",\
                     \"nofollow\":true,\"text\":\"1\"}";
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(text.matches("\"nofollow\":true").count(), 2);
    }
}

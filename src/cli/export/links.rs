//! `crawler export links`: which page names which URL.
//!
//! Links are those that [`LinkFinder`] finds: each target once a page.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::Common;
use crate::archive::{FoundLink, LinkFinder};
use crate::cli::OpenArchive;
use crate::cli::archive::{self, Archive, Damage, Response};
use crate::cli::columns::{Column, Columns};
use crate::cli::exit::Exit;
use crate::cli::selection::KindChoice;
use crate::text::escape::{Cell, Escaped, json_line};
use crate::web::url::CanonicalUrl;

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
        let (mut damage, mut finder) = (Damage::default(), LinkFinder::new(fastrand::u64(..)));
        let selection = self.common.selection(KindChoice::Unjudged);
        selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
            if !selection.may_link(&entry) {
                return Ok(());
            }
            match archive.shown(&entry) {
                Ok(response) => match self.page(archive, &entry, &response, &mut finder, out, warnings)? {
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
        finder: &mut LinkFinder,
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
        let content_type = response.content_type();
        let hops = || archive.history(entry).map(|history| history.hops);
        let found = match finder.links(&response.linking(&url, content_type.as_deref()), hops) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        for FoundLink { target, kind, nofollow, text } in &found.links {
            line(target.as_str(), kind, *nofollow, text)?;
        }
        if found.dropped > 0 {
            writeln!(warnings, "crawler: {} more links left out: {}", found.dropped, Escaped(&entry.url))?;
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

//! `crawler export files`: pages as files that open without a server, with links that lead from file to file.
//!
//! [`name`] makes the name of a file out of its URL, [`guide`] says where a link leads, `rewrite` writes that into the
//! page, [`tree`] has the directory, and [`start`] the page from which all hosts are reached. Memory does not grow with
//! the archive: where a link leads is looked up, and what was looked up is kept within a bound.

mod ending;
mod guide;
mod name;
mod start;
mod tree;

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use self::guide::{Destination, Guide};
use self::name::Name;
use self::start::StartPage;
use self::tree::{Made, Tree};
use crate::archive::stated;
use crate::cli::archive::{Archive, Damage, Entry, Response};
use crate::cli::exit::Exit;
use crate::cli::selection::{KindArgs, KindChoice, Selection};
use crate::cli::{ArchiveArg, OpenArchive};
use crate::rewrite::{Options, Purpose, Source, Target, rewrite};
use crate::text::escape::Escaped;
use crate::text::figures::{count, size};
use crate::web::html::{Document, is_html};
use crate::web::url::CanonicalUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
Writes the newest version of each URL into DIR/HOST/PATH, if it is content with a status of 2xx; of a rendered page, \
what a browser left. Links between the files become relative, so the pages open from the disk, without a server and \
without this program: begin with DIR/index.html. A link to a redirect leads to where that leads in the end. Links to \
what is not exported, and forms, lead to the web. Scripts are not changed: what they load is missing, or comes from \
the web.

Names are those of the URLs: an ending is added where the type needs one (.html), and what no file can be called, such \
as a query, becomes a digest. The port is behind the host, unless it is that of https. Capital letters are marked \
behind the name, so that no two files differ only in them.

DIR must be new or empty, and appears when it is complete.

Examples:
  crawler export files site
  crawler export files docs --prefix https://example.com/docs/
  crawler export files site --since 2026-11-21 --mime 'text/*' --mime 'image/*'")]
pub(super) struct FilesArgs {
    /// Directory for the files, new or empty
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
}

/// Counts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    files: u64,
    bytes: u64,
    inside: u64,
    outside: u64,
}

impl FilesArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let archive = self.archive.open(open_archive)?;
        let tree = Tree::create(&self.directory, &self.archive.dir.dir)?;
        self.write(&*archive, tree, &mut io::stderr())?
    }

    fn write(
        &self,
        archive: &dyn Archive,
        tree: Tree,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let selection = self.kind.narrow(&self.selection, KindChoice::Content);
        let mut damage = Damage::default();
        let mut export = Export {
            archive,
            guide: Guide::new(archive, &selection),
            tree,
            start: StartPage::new(),
            counts: Counts::default(),
        };
        selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
            if !guide::has_file(&entry) {
                return Ok(());
            }
            match export.page(&entry, damage, warnings) {
                Err(Stop::Damaged(e)) => damage.note(e, warnings),
                Err(Stop::Unwritten(e)) => return Err(e),
                Ok(()) => {}
            }
            Ok(())
        })?;
        let counts = export.finish()?;
        writeln!(warnings, "{counts}")?;
        Ok(damage.or(Exit::Done, warnings))
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "files            {}", count(self.files))?;
        writeln!(f, "bytes            {}", size(self.bytes))?;
        writeln!(f, "links to files   {}", count(self.inside))?;
        write!(f, "links to the web {}", count(self.outside))
    }
}

/// Reasons why a page has no file.
enum Stop {
    /// It cannot be read; the others can.
    Damaged(anyhow::Error),
    /// The file cannot be written.
    Unwritten(anyhow::Error),
}

/// An export in progress.
struct Export<'a> {
    archive: &'a dyn Archive,
    guide: Guide<'a>,
    tree: Tree,
    start: StartPage,
    counts: Counts,
}

impl Export<'_> {
    /// Writes the file of a page.
    fn page(&mut self, entry: &Entry, damage: &mut Damage, warnings: &mut dyn Write) -> Result<(), Stop> {
        let url = CanonicalUrl::parse(&entry.url).map_err(|e| Stop::Damaged(e.into()))?;
        let response = shown(self.archive, entry).map_err(Stop::Damaged)?;
        let file = self.guide.file(entry, &url).map_err(Stop::Damaged)?;
        let bytes = self.rewritten(&url, &response, &file.name, damage, warnings);
        match self.tree.put(&file.name, &bytes).map_err(Stop::Unwritten)? {
            Made::File => {}
            Made::Nothing => {
                let _ = writeln!(warnings, "crawler: left out, its file is there already: {}", Escaped(&entry.url));
                return Ok(());
            }
        }
        self.counts.files += 1;
        self.counts.bytes += bytes.len() as u64;
        self.start.add(&url, &file).map_err(Stop::Unwritten)
    }

    /// The content of a page, with its links led to files.
    fn rewritten<'r>(
        &mut self,
        url: &CanonicalUrl,
        response: &'r Response,
        name: &Name,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> Cow<'r, [u8]> {
        let body = &response.decoded;
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        let Some(document) = Document::of(&stated(url, content_type), body) else { return Cow::Borrowed(body) };
        let (guide, counts) = (&mut self.guide, &mut self.counts);
        let mut lead = |target: &Target<'_>| {
            // a form needs its server, and what a page says of its own address stays true
            if matches!(target.purpose, Purpose::Form | Purpose::Canonical) {
                return None;
            }
            let end = guide.lead(target.url).unwrap_or_else(|error| {
                damage.note(error, warnings);
                Destination::Outside
            });
            match end {
                Destination::Inside(to) => {
                    counts.inside += 1;
                    Some(name.reference_to(&to))
                }
                Destination::Outside => {
                    counts.outside += 1;
                    None
                }
            }
        };
        let options = Options { removes_crossorigin: true, declares_encoding: true, ..Options::default() };
        rewrite(body, &Source { url, content_type, document }, options, &mut lead)
    }

    fn finish(self) -> anyhow::Result<Counts> {
        self.start.write(&self.tree)?;
        self.tree.into_place()?;
        Ok(self.counts)
    }
}

/// The answer, with what a rendering left in the place of a page. What was made of a document, such as a PDF, is not
/// taken: browsers show the document itself.
fn shown(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Response> {
    let response = archive.response(entry)?;
    let is_page = is_html(response.content_type().as_deref(), &response.decoded);
    Ok(match archive.rendered(entry)?.filter(|_| is_page) {
        Some(dom) => response.with_rendered(dom),
        None => response,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: FilesArgs,
    }

    /// The files of an export, and what was said.
    fn export(archive: &FakeArchive, args: &[&str]) -> (BTreeMap<String, String>, String) {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("site");
        let args = Cli::parse_from([&["files", "site"], args].concat()).args;
        let (tree, mut said) = (Tree::create(&place, Path::new("crawl")).unwrap(), Vec::new());
        args.write(archive, tree, &mut said).unwrap().unwrap();
        let (mut files, mut open) = (BTreeMap::new(), vec![place.clone()]);
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(&place).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
                }
            }
        }
        (files, String::from_utf8(said).unwrap())
    }

    /// Stores a page that says its type.
    fn page(archive: &mut FakeArchive, url: &str, status: u16, mime: &str, body: &[u8]) {
        let headers = vec![(b"Content-Type".to_vec(), mime.as_bytes().to_vec())];
        let (body, decoded) = (body.to_vec(), body.to_vec());
        archive.store(url, mime, Response { status, headers, body, decoded, ..Response::default() });
    }

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        let start = "<link rel=stylesheet href=/s/main.css><a href=/b?x=1#f>b</a><a href='d/'>d</a><a href=/moved>m</a>\
                    <a href=/gone>g</a><a href=https://b.example/>o</a><img src=/p.png><form action=/b></form>";
        page(&mut archive, "https://a.example/", 200, "text/html", start.as_bytes());
        page(&mut archive, "https://a.example/s/main.css", 200, "text/css", b"a{b:url(../p.png)}");
        page(&mut archive, "https://a.example/p.png", 200, "image/png", b"<a href=/>");
        page(&mut archive, "https://a.example/b?x=1", 200, "text/html", b"<a href='/?utm_source=x'>");
        page(&mut archive, "https://a.example/d/", 200, "text/html", b"<a href=../>");
        page(&mut archive, "https://a.example/gone", 404, "text/html", b"<a href=/>");
        let location = vec![(b"Location".to_vec(), b"/moved/again".to_vec())];
        let moved = Response { status: 301, headers: location, ..Response::default() };
        archive.store("https://a.example/moved", "text/html", moved);
        let location = vec![(b"Location".to_vec(), b"https://a.example/d/".to_vec())];
        let again = Response { status: 302, headers: location, ..Response::default() };
        archive.store("https://a.example/moved/again", "text/html", again);
        archive
    }

    #[test]
    fn links_lead_from_file_to_file_and_else_to_the_web() {
        let (files, said) = export(&archive(), &[]);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let query = names[0];
        assert!(query.starts_with("a.example/b_x_1=x") && query.ends_with(".html"), "{query}");
        let others = ["a.example/d/index.html", "a.example/index.html", "a.example/p.png", "a.example/s/main.css"];
        assert_eq!((&names[1..5], names[5]), (&others[..], "index.html"));
        let query = query.trim_start_matches("a.example/");
        let expected = format!(
            "<link rel=stylesheet href=\"s/main.css\"><a href=\"{query}#f\">b</a><a href=\"d/index.html\">d</a>\
             <a href=\"d/index.html\">m</a><a href=\"https://a.example/gone\">g</a><a href=https://b.example/>o</a>\
             <img src=\"p.png\"><form action=\"https://a.example/b\"></form>"
        );
        assert_eq!(files["a.example/index.html"], expected);
        assert_eq!(files["a.example/s/main.css"], "a{b:url(../p.png)}", "it is right as it is");
        assert_eq!(files[&format!("a.example/{query}")], "<a href=\"index.html\">", "another spelling");
        assert_eq!(files["a.example/d/index.html"], "<a href=\"../index.html\">");
        assert_eq!(files["a.example/p.png"], "<a href=/>", "a picture is no page");
        assert!(files["index.html"].contains("<a href=\"a.example/index.html\">https://a.example/</a>"));
        assert!(said.contains("files            5\n") && said.contains("links to files   8\n"), "{said}");
        assert!(said.contains("links to the web 2\n"), "{said}");
    }

    #[test]
    fn what_is_not_selected_is_of_the_web() {
        let (files, _) = export(&archive(), &["--mime", "text/html"]);
        assert!(!files.contains_key("a.example/p.png"));
        assert!(files["a.example/index.html"].contains("<img src=\"https://a.example/p.png\">"));
    }

    #[test]
    fn damage_leaves_the_other_pages() {
        let archive = FakeArchive { damaged: true, ..archive() };
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::create(&dir.path().join("site"), Path::new("crawl")).unwrap();
        let args = Cli::parse_from(["files", "site"]).args;
        let mut said = Vec::new();
        assert!(args.write(&archive, tree, &mut said).unwrap().is_err());
        assert!(String::from_utf8(said).unwrap().contains("key.dat"));
        assert!(dir.path().join("site/a.example/index.html").is_file());
    }
}

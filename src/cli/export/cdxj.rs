//! `crawler export cdxj`: an index of the value files as the tools of web archives read it.
//!
//! A line an answer: `key timestamp {json}`, sorted by its bytes, so that readers find a URL by binary search. The keys
//! come from [`crate::web::surt`]; fields, their order and their being strings are as cdxj-indexer writes them, with
//! `--post-append` for what was asked for by POST.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::Common;
use super::replayable::{Answer, Replayable};
use super::spellings::Spellings;
use crate::cli::OpenArchive;
use crate::cli::archive::{Archive, Damage, Entry};
use crate::cli::exit::Exit;
use crate::cli::output::memory;
use crate::cli::selection::KindChoice;
use crate::clock::Time;
use crate::disk::sorter::Sorter;
use crate::text::escape::json_line;
use crate::text::figures::digits_ms;
use crate::warc::digest;
use crate::web::request::archive_query;
use crate::web::surt::surt;
use crate::web::url::CanonicalUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
The index points into the value files (DIR/pages/value-*.warc.*), which stay where they are. Lines that do not fit \
into --memory are sorted in a temporary file (in TMPDIR). The line of a page that the server reported as unchanged \
(304) leads to the record with its content.

With pywb:
  wb-manager init my
  ln -s \"$PWD\"/crawl/pages/value-*.warc.gz collections/my/archive/
  crawler export cdxj --all --spellings -o collections/my/indexes/index.cdxj
  wayback
The index of a crawl of several shards names files such as shard-000/pages/value-00000.warc.gz; link the shards instead:
  ln -s \"$PWD\"/crawl/shard-* collections/my/archive/

Examples:
  crawler export cdxj --output index.cdxj
  crawler export cdxj --all --prefix https://example.com/ --memory 256MiB")]
pub(super) struct CdxjArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// Also lines under the other spellings of a URL that pages use, such as links with parameters that the crawl
    /// strips: reads all selected pages for their links
    #[arg(long)]
    spellings: bool,
    /// Memory for sorting
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = memory)]
    memory: usize,
}

/// Names and order as cdxj-indexer has them.
#[derive(Serialize)]
struct Fields<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    mime: &'a str,
    status: String,
    digest: String,
    length: String,
    offset: String,
    filename: String,
    #[serde(rename = "requestBody", skip_serializing_if = "Option::is_none")]
    request_body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
}

impl CdxjArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.common.with(open_archive, false, |archive, out, warnings| self.write(archive, out, warnings))
    }

    fn write(
        &self,
        archive: &dyn Archive,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let (mut damage, mut sorter) = (Damage::default(), Sorter::new(self.memory));
        let (selection, all) = (&self.common.selection(KindChoice::Unrefused), self.all);
        let mut spellings = self.spellings.then(|| Spellings::new(self.memory));
        selection.each(archive, all, &mut damage, warnings, |entry, damage, warnings| {
            match stored_line(archive, &entry) {
                Ok(line) => sorter.push(line.as_bytes())?,
                Err(e) => damage.note(e, warnings),
            }
            match &mut spellings {
                Some(spellings) => spellings.take(archive, &entry, damage, warnings),
                None => Ok(()),
            }
        })?;
        let mut spelt = |spelling: &str, entry: &Entry, damage: &mut Damage, warnings: &mut dyn Write| {
            match spelt_line(archive, entry, spelling) {
                Ok(line) => line.map_or(Ok(()), |line| sorter.push(line.as_bytes()))?,
                Err(e) => damage.note(e, warnings),
            }
            Ok(())
        };
        if let Some(spellings) = spellings {
            spellings.each(archive, selection, all, &mut damage, warnings, &mut spelt)?;
        }
        let mut lines = sorter.finish()?;
        while let Some(line) = lines.next()? {
            out.write_all(line)?;
        }
        Ok(damage.or(Exit::Done, warnings))
    }
}

/// The line of `entry`, which is replayed from `answer`.
pub(in crate::cli) fn line(answer: Answer, entry: &Entry) -> anyhow::Result<String> {
    let Answer { place, is_revisit } = answer;
    let url = CanonicalUrl::parse(&entry.url)
        .map_err(|e| anyhow::anyhow!("the archive names {}, which cannot be indexed: {e}", entry.url))?;
    let query = url.request().as_ref().and_then(archive_query);
    let fields = Fields {
        url: if url.has_request() { url.plain() } else { &entry.url },
        mime: if is_revisit { "warc/revisit" } else { &entry.mime },
        status: entry.status.to_string(),
        digest: digest(entry.digest_sha1),
        length: place.bytes.to_string(),
        offset: place.offset.to_string(),
        filename: place.file,
        request_body: query.as_ref().map(|query| query.body.as_str()),
        method: query.as_ref().map(|query| query.method),
    };
    let key = match &query {
        Some(query) => surt(&CanonicalUrl::parse(&query.extend(url.plain()))?),
        None => surt(&url),
    };
    Ok(format!("{key} {} {}\n", timestamp(entry.time), json_line(&fields)?))
}

/// The line of `entry`, which is replayed from a value file.
fn stored_line(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<String> {
    let page = Replayable::of(archive, entry)?;
    line(page.stored(archive)?, &page.entry)
}

/// The same under another spelling of its URL; nothing where both have one key.
fn spelt_line(archive: &dyn Archive, entry: &Entry, spelling: &str) -> anyhow::Result<Option<String>> {
    let key = surt(&CanonicalUrl::parse(spelling)?);
    let line = stored_line(archive, entry)?;
    let (own, rest) = line.split_once(' ').unwrap_or_default();
    Ok((own != key).then(|| format!("{key} {rest}")))
}

/// `20261121043800`.
fn timestamp(time: Time) -> String {
    let mut digits = digits_ms(time);
    digits.truncate(14);
    digits
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: CdxjArgs,
    }

    fn index(archive: &FakeArchive, args: &[&str]) -> String {
        let mut out = Vec::new();
        let args = Cli::parse_from([&["cdxj"], args].concat()).args;
        args.write(archive, &mut out, &mut Vec::new()).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_have_key_time_and_the_fields_that_other_tools_write() {
        let mut archive = FakeArchive::default();
        archive.page("http://www.b.example:8080/X?b=1&a=2", 404, "Text/HTML", b"");
        archive.page("https://a.example/", 200, "", b"");
        archive.stored[1].0.payload = Some(0);
        assert_eq!(
            index(&archive, &[]),
            "example,a)/ 20050428011615 {\"url\":\"https://a.example/\",\"mime\":\"warc/revisit\",\"status\":\"200\",\
             \"digest\":\"sha1:AEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIB\",\"length\":\"101\",\"offset\":\"1000\",\
             \"filename\":\"value-00000.warc.gz\"}\n\
             example,b:8080)/x?a=2&b=1 20050428011615 {\"url\":\"http://www.b.example:8080/X?b=1&a=2\",\
             \"mime\":\"Text/HTML\",\"status\":\"404\",\"digest\":\"sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\
             \"length\":\"100\",\"offset\":\"0\",\"filename\":\"value-00000.warc.gz\"}\n"
        );
    }

    #[test]
    fn spellings_that_pages_use_have_lines_that_lead_to_the_page_which_was_fetched() {
        let mut archive = FakeArchive::default();
        let links = b"<a href='/b?utm_source=1'><a href='/%7eu'><a href='http://h.example./c'><a href=/x?utm_source=2>";
        archive.page("http://h.example/", 200, "text/html", links);
        archive.page("http://h.example/b?utm_source=0", 200, "text/html", b"b");
        archive.page("http://h.example/~u", 200, "text/html", b"u");
        let keys = |args: &[&str]| -> Vec<(String, String)> {
            let line = |line: &str| {
                let mut parts = line.splitn(3, ' ');
                let fields: serde_json::Value = serde_json::from_str(parts.clone().nth(2).unwrap()).unwrap();
                (parts.next().unwrap().to_owned(), fields["url"].as_str().unwrap().to_owned())
            };
            index(&archive, args).lines().map(line).collect()
        };
        let plain = keys(&[]);
        assert_eq!(plain.len(), 3);
        let spelt: Vec<_> = keys(&["--spellings"]).into_iter().filter(|line| !plain.contains(line)).collect();
        let b = "http://h.example/b?utm_source=0".to_owned();
        // an escape makes no other key, and what was not fetched has no line
        assert_eq!(spelt, ["example,h)/b", "example,h)/b?utm_source=1"].map(|key| (key.to_owned(), b.clone())));
        assert_eq!(keys(&["--spellings", "--status", "404"]).len(), 0);
        assert_eq!(keys(&["--spellings", "--all"]).len(), 5);
    }

    #[test]
    fn a_page_has_only_so_many_spellings_and_the_rest_is_told() {
        let mut archive = FakeArchive::default();
        let links: String = (0..1_007).map(|n| format!("<a href='/b?utm_source={n}'>")).collect();
        archive.page("http://h.example/", 200, "text/html", links.as_bytes());
        archive.page("http://h.example/b", 200, "text/html", b"b");
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let args = Cli::parse_from(["cdxj", "--spellings"]).args;
        args.write(&archive, &mut out, &mut warnings).unwrap().unwrap();
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 1_002);
        let warnings = String::from_utf8(warnings).unwrap();
        assert_eq!(warnings, "crawler: 7 more spellings left out: http://h.example/b\n");
    }

    #[test]
    fn lines_are_sorted_by_their_bytes_also_when_they_do_not_fit_in_memory() {
        let mut archive = FakeArchive::default();
        for n in 0..9_000_u32 {
            archive.stored.push(archive_entry(n));
        }
        let text = index(&archive, &["--memory", "1MiB", "--all"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 9_000);
        assert!(text.len() > 2 << 20);
        assert!(lines.is_sorted());
        assert_eq!(index(&archive, &["--all"]), text);
    }

    fn archive_entry(n: u32) -> (Entry, crate::cli::archive::Response) {
        let entry = Entry {
            url: format!("http://h{}.example/{}{}", n % 7, "long/".repeat(20), n * 7_919 % 9_001),
            status: 200,
            kind: None,
            time: Time::from_ms(1_114_650_975_990 + u64::from(n)),
            mime: "text/html".to_owned(),
            bytes: 1,
            digest_sha1: [1; 20],
            robots: false,
            payload: None,
            external: false,
            previous: None,
            handle: u64::from(n),
        };
        (entry, Default::default())
    }

    #[test]
    fn a_url_that_cannot_be_indexed_is_told_and_the_rest_is_written() {
        let mut archive = FakeArchive::default();
        archive.page("no url \x1b[2J", 200, "text/html", b"");
        archive.page("https://a.example/", 200, "text/html", b"");
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let exit = Cli::parse_from(["cdxj"]).args.write(&archive, &mut out, &mut warnings).unwrap();
        assert!(exit.is_err());
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert!(!warnings.contains(&0x1b));
    }

    #[test]
    fn a_memory_that_is_none_is_refused() {
        for bad in ["1KiB", "much", "-1"] {
            assert!(Cli::try_parse_from(["cdxj", &format!("--memory={bad}")]).is_err(), "{bad}");
        }
    }
}

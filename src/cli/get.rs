//! `crawler get URL`: one page out of the archive, byte for byte.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use url::Url;

use super::archive::{Archive, Entry, Response};
use super::exit::{Exit, UsageError};
use super::{ArchiveArg, OpenArchive};
use crate::text::escape::{Escaped, shown};
use crate::web::mime;
use crate::web::seeds::parse_request;
use crate::web::url::{CanonicalUrl, UrlError};

#[derive(Debug, Args)]
#[command(after_help = "\
Without an option, prints the body as a browser would get it, with its content coding (gzip, br, ...) removed. On a \
terminal, control characters are shown as their codes, and a body that is not text is rejected; a file or a pipe gets \
every byte unchanged.

Examples:
  crawler get https://example.com/ > page.html
  crawler get https://example.com/ --headers
  crawler get https://example.com/ --rendered      what a browser made of it
  crawler get https://example.com/ --version 1     the version before the newest
  crawler get https://example.com/ --warc > page.warc
  crawler get '{\"url\": \"https://example.com/api\", \"json\": {\"page\": 1}}'

Exit codes: 0 printed, 1 not in the archive or not to be decoded, 2 not a URL, no crawl directory, or \
not text on a terminal.")]
pub(super) struct GetArgs {
    /// The URL, with its scheme; of a request its address (URL#~POST...) or its line of a seed file ({"url": ...})
    url: String,
    #[command(flatten)]
    archive: ArchiveArg,
    /// Print status line and headers only
    #[arg(long, group = "part")]
    headers: bool,
    /// Print the WARC records of the exchange, uncompressed: metadata, request, response, and the
    /// rendered page
    #[arg(long, group = "part")]
    warc: bool,
    /// Print the body as the server sent it, content coding included
    #[arg(long, group = "part")]
    raw: bool,
    /// Print the page as its rendering left it (HTML in UTF-8), where it was rendered
    #[arg(long, group = "part")]
    rendered: bool,
    /// Version to print: 0 is the newest, 1 the one before it
    #[arg(long, value_name = "N", default_value_t = 0)]
    version: u32,
}

impl GetArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let url = parse(&self.url)?;
        let archive = self.archive.open(open_archive)?;
        let mut out = io::stdout().lock();
        let terminal = out.is_terminal();
        self.print(&*archive, &url, &mut out, terminal, &mut io::stderr())
    }

    /// Prints what `archive` has of `url`.
    fn print(
        &self,
        archive: &dyn Archive,
        url: &str,
        out: &mut dyn Write,
        terminal: bool,
        errors: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let Some(newest) = archive.newest(url)? else {
            writeln!(errors, "crawler: {}", not_there(url, &self.archive))?;
            return Ok(Exit::Internal);
        };
        if newest.url != url {
            writeln!(errors, "crawler: it was fetched as {}", Escaped(&newest.url))?;
        }
        let Some(entry) = self.go_back(archive, newest, errors)? else { return Ok(Exit::Internal) };
        let Part { bytes, missing } = self.part(archive, &entry)?;
        if terminal && !self.headers && is_binary(&entry, &bytes) {
            return Err(UsageError::because(format!(
                "{url} is not text ({}) and could upset the terminal; write it to a file: crawler get URL > FILE",
                if entry.mime.is_empty() { "of no known type" } else { &entry.mime },
            )));
        }
        if terminal {
            out.write_all(shown(&bytes).as_bytes())?
        } else {
            out.write_all(&bytes)?
        }
        out.flush()?;
        if let Some(missing) = &missing {
            writeln!(errors, "crawler: {}", Escaped(missing))?;
        }
        Ok(if bytes.is_empty() && missing.is_some() { Exit::Internal } else { Exit::Done })
    }

    /// Returns the part of `entry` that was asked for.
    fn part(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Part> {
        let whole = |bytes| Ok(Part { bytes, missing: None });
        if self.warc {
            return whole(archive.exchange(entry)?.iter().flat_map(|stored| stored.record.to_bytes()).collect());
        }
        if self.rendered {
            let rendered = archive.rendered(entry)?;
            let none =
                || UsageError::because(format!("{} was not rendered; leave out --rendered", Escaped(&entry.url)));
            return whole(rendered.ok_or_else(none)?.into_bytes());
        }
        let response = archive.response(entry)?;
        match (self.headers, self.raw) {
            (true, _) => whole(head(&response)),
            (_, true) => whole(response.body),
            _ => Ok(Part { missing: missing(&response), bytes: response.decoded }),
        }
    }

    /// The version that was asked for; if there are fewer versions, an error says so.
    fn go_back(&self, archive: &dyn Archive, newest: Entry, errors: &mut dyn Write) -> anyhow::Result<Option<Entry>> {
        let mut entry = newest;
        for gone in 0..self.version {
            let Some(previous) = archive.previous(&entry)? else {
                let (url, wanted, count) = (Escaped(&entry.url), self.version, u64::from(gone) + 1);
                let there = match gone {
                    0 => "1 version in the archive, --version 0".to_owned(),
                    _ => format!("{count} versions in the archive, --version 0 (the newest) to --version {gone}"),
                };
                writeln!(errors, "crawler: {url} has no version {wanted}; it has {there}")?;
                return Ok(None);
            };
            entry = previous;
        }
        Ok(Some(entry))
    }
}

/// A part of an exchange.
struct Part {
    bytes: Vec<u8>,
    /// The part that is missing, for people.
    missing: Option<String>,
}

/// Says of a body that was decoded in part only how much there is.
fn missing(response: &Response) -> Option<String> {
    let coding = response.content_encoding().filter(|_| response.is_partial)?;
    let reach = match response.decoded.len() {
        0 => "cannot be undone".to_owned(),
        bytes => format!("was undone up to byte {bytes} only"),
    };
    Some(format!("its content coding ({coding}) {reach}; --raw prints the body as it was sent"))
}

/// A URL as a crawl requests it, serialised, without fragment and user information; or the address of a request, also
/// as its line in a seed file.
pub(super) fn parse(text: &str) -> anyhow::Result<String> {
    let refuse = |why: &str| UsageError::because(format!("{text} is not a URL that can be in an archive: {why}"));
    if text.starts_with('{') {
        return parse_request(text).map(|url| url.into_text().into()).map_err(|why| refuse(&why));
    }
    match CanonicalUrl::parse(text) {
        Ok(url) => Ok(url.into_text().into()),
        Err(UrlError::Syntax(url::ParseError::RelativeUrlWithoutBase)) => {
            Err(refuse(&format!("write it with its scheme: https://{}", text.trim_start_matches('/'))))
        }
        Err(e) => Err(refuse(&e.to_string())),
    }
}

pub(super) fn not_there(url: &str, archive: &ArchiveArg) -> String {
    let origin = Url::parse(url).map_or(String::new(), |url| url.origin().ascii_serialization());
    let (option, name) = archive.option_and_name();
    let dir = Some(&archive.dir.dir).filter(|_| archive.store.is_none());
    let list = dir.and_then(|dir| crate::crawl::retention::forgotten(dir).ok()).unwrap_or_default();
    if let Some(act) = list.act_of(url) {
        let reason = if act.reason.is_empty() { String::new() } else { format!(": {}", Escaped(&act.reason)) };
        return format!("{} was forgotten on {}{reason}", Escaped(url), Escaped(&act.date));
    }
    format!(
        "not in the archive of {}: {}\n  to see what it has of that site: crawler list {option} --prefix {}/",
        Escaped(&name),
        Escaped(url),
        Escaped(&origin)
    )
}

/// Status line and headers, a line each.
fn head(response: &Response) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} {}", response.status, Escaped(&response.reason)).trim_end().as_bytes().to_vec();
    head.push(b'\n');
    for (name, value) in &response.headers {
        for (part, end) in [(name, &b": "[..]), (value, b"\n")] {
            // A line end inside of a field would forge the next one.
            head.extend(part.iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
            head.extend_from_slice(end);
        }
    }
    head
}

/// Types of content that no terminal can show.
const BINARY_TYPES: [&str; 4] = ["image/", "audio/", "video/", "font/"];
/// Bytes in which a NUL shows that they are no text.
const PROBE_BYTES: usize = 64 << 10;

/// True if `bytes` of `entry` are no text.
fn is_binary(entry: &Entry, bytes: &[u8]) -> bool {
    let mime = mime::essence(Some(&entry.mime));
    let of_type = BINARY_TYPES.iter().any(|known| mime.starts_with(known)) && mime != "image/svg+xml";
    (of_type && !bytes.is_empty()) || memchr::memchr(0, &bytes[..bytes.len().min(PROBE_BYTES)]).is_some()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        args: GetArgs,
    }

    /// Returns what `get` with `args` prints of a small archive: exit, standard output, standard error.
    fn get(args: &[&str], terminal: bool) -> (Exit, Vec<u8>, String) {
        let mut archive = FakeArchive::default();
        archive.page("https://example.com/", 200, "text/html", b"old");
        archive.page("https://example.com/~user", 200, "text/html", b"home");
        archive.store(
            "https://example.com/",
            "text/html",
            Response {
                status: 200,
                reason: "OK".to_owned(),
                headers: vec![
                    (b"Content-Encoding".to_vec(), b"gzip".to_vec()),
                    (b"X".to_vec(), b"a\r\nY: b\xff".to_vec()),
                ],
                payload_headers: Vec::new(),
                body: b"\x1f\x8bcoded\0".to_vec(),
                decoded: b"new\x01\xff\x1b[2J\r\n\tend".to_vec(),
                is_partial: false,
            },
        );
        let line = TestCli::parse_from([&["get"], args].concat());
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let url = parse(&line.args.url).unwrap();
        let exit = line.args.print(&archive, &url, &mut out, terminal, &mut errors).unwrap();
        (exit, out, String::from_utf8(errors).unwrap())
    }

    #[test]
    fn a_body_comes_byte_for_byte_with_its_coding_removed() {
        assert_eq!(get(&["https://example.com"], false).1, b"new\x01\xff\x1b[2J\r\n\tend");
        assert_eq!(get(&["HTTPS://example.com:443/#top"], false).1, b"new\x01\xff\x1b[2J\r\n\tend");
        assert_eq!(get(&["https://example.com/", "--raw"], false).1, b"\x1f\x8bcoded\0");
        let warc = String::from_utf8_lossy(&get(&["https://example.com/", "--warc"], false).1).into_owned();
        assert!(warc.starts_with("WARC/1.1\r\nWARC-Type: metadata\r\n"), "{warc}");
        assert_eq!(warc.matches("WARC/1.1\r\n").count(), 3, "{warc}");
    }

    #[test]
    fn n21_a_page_is_found_by_its_key_form_and_the_spelling_that_was_fetched_is_told() {
        let (exit, out, errors) = get(&["https://example.com/%7Euser"], false);
        assert_eq!((exit, out.as_slice()), (Exit::Done, &b"home"[..]));
        assert_eq!(errors, "crawler: it was fetched as https://example.com/~user\n");
        assert_eq!(get(&["https://example.com/~user"], false).2, "");
        let with_user = get(&["https://me:secret@example.com/~user"], false);
        assert_eq!((with_user.1.as_slice(), with_user.2.as_str()), (&b"home"[..], ""));
    }

    #[test]
    fn a_terminal_is_not_moved_by_what_a_page_says() {
        assert_eq!(get(&["https://example.com/"], true).1, "new\\x01\u{fffd}\\x1b[2J\n\tend".as_bytes());
    }

    #[test]
    fn what_is_no_text_is_refused_on_a_terminal_only() {
        let mut archive = FakeArchive::default();
        archive.page("https://example.com/a.png", 200, "image/png", b"\x89PNG");
        archive.page("https://example.com/b", 200, "", b"a\0b");
        archive.page("https://example.com/c.svg", 200, "image/svg+xml", b"<svg/>");
        for (url, refused) in [("a.png", true), ("b", true), ("c.svg", false)] {
            let url = format!("https://example.com/{url}");
            let args = TestCli::parse_from(["get", &url]).args;
            let mut out = Vec::new();
            let printed = args.print(&archive, &url, &mut out, true, &mut Vec::new());
            assert_eq!(printed.is_err(), refused, "{url}");
            assert_eq!(out.is_empty(), refused, "{url}");
            if let Err(error) = printed {
                assert!(error.is::<UsageError>() && error.to_string().contains("> FILE"), "{error}");
            }
            assert_eq!(args.print(&archive, &url, &mut out, false, &mut Vec::new()).unwrap(), Exit::Done);
        }
    }

    #[test]
    fn headers_cannot_forge_headers() {
        let head = get(&["https://example.com/", "--headers"], false).1;
        assert_eq!(head, b"HTTP/1.1 200 OK\nContent-Encoding: gzip\nX: a  Y: b\xff\n");
    }

    #[test]
    fn versions_are_counted_back_from_the_newest() {
        assert_eq!(get(&["https://example.com/", "--version", "1"], false).1, b"old");
        let (exit, out, errors) = get(&["https://example.com/", "--version", "5"], false);
        assert_eq!((exit, out.len()), (Exit::Internal, 0));
        assert!(errors.contains("no version 5; it has 2 versions in the archive"), "{errors}");
        assert!(errors.contains("to --version 1"), "{errors}");
    }

    #[test]
    fn a_url_that_is_not_there_names_the_directory_and_what_to_try() {
        let (exit, _, errors) = get(&["https://example.org/x", "--dir", "my crawl"], false);
        assert_eq!(exit, Exit::Internal);
        assert!(errors.contains("not in the archive of my crawl: https://example.org/x"), "{errors}");
        assert!(errors.contains("crawler list --dir 'my crawl' --prefix https://example.org/"), "{errors}");
    }

    #[test]
    fn what_is_no_url_is_a_usage_error_that_says_how_to_write_it() {
        for (text, hint) in [
            ("example.com/a", "https://example.com/a"),
            ("ftp://example.com/", "only http and https URLs"),
            ("https://", "empty host"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is::<UsageError>() && error.to_string().contains(hint), "{error}");
        }
    }
}

//! The seed file: one URL per line, or a [request](super::request) as an object of JSON.
//!
//! Blank lines, `#` comments, CRLF and a byte order mark are tolerated. A line that is no URL is reported with its
//! number and does not stop the rest; of a file that is full of such lines the first are reported and the others
//! counted. The file is only read, never written.

mod line;

pub use line::parse_line as parse_request;

use super::url::{CanonicalUrl, UrlError};

/// Characters of a bad line that are shown.
const SHOWN_CHARS: usize = 120;
/// Bytes of a bad line that are looked at for that; what is a name and a password has to end in them to be left out.
const SHOWN_BYTES_MAX: usize = LINE_BYTES_MAX;
/// Bad lines that are reported one by one.
const PROBLEMS_MAX: usize = 20;
/// Bytes of a line beyond which it is no seed, however it begins: no URL is nearly as long.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// A seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Number of its line, from 1.
    pub line: usize,
    /// The URL to fetch.
    pub url: CanonicalUrl,
    /// The URL to fetch if that cannot be connected to: a host without scheme means https, then http.
    pub fallback: Option<CanonicalUrl>,
    /// True if the line names a user or a password, which are left out.
    pub names_user: bool,
}

/// A line that is no seed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{text}`: {why}")]
pub struct SeedProblem {
    /// Number of the line, from 1.
    pub line: usize,
    /// Its start, escaped for terminals.
    pub text: String,
    /// Description of what is wrong with it.
    pub why: String,
}

/// The lines of a file that are no seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedProblems {
    /// The first of them.
    pub first: Vec<SeedProblem>,
    /// The number of problems beyond those.
    pub more: usize,
}

impl SeedProblems {
    /// Adds one; it is returned where it is reported by itself.
    pub fn add(&mut self, problem: SeedProblem) -> Option<&SeedProblem> {
        if self.first.len() < PROBLEMS_MAX {
            self.first.push(problem);
            return self.first.last();
        }
        self.more += 1;
        None
    }

    /// Returns the sentence about the problems that are only counted, if there are any.
    pub fn rest(&self) -> Option<String> {
        (self.more > 0).then(|| format!("{} more lines are not URLs", self.more))
    }
}

/// The seeds of a file, and its lines that are none, each in the order of the file.
pub fn parse_seeds(bytes: &[u8]) -> (Vec<Seed>, SeedProblems) {
    let (mut seeds, mut problems) = (Vec::new(), SeedProblems::default());
    for line in SeedLines::of(bytes) {
        match line {
            Ok(seed) => seeds.push(seed),
            Err(problem) => _ = problems.add(problem),
        }
    }
    (seeds, problems)
}

/// The lines of a seed file one by one, but for those that are blank or comments.
#[derive(Clone, Debug)]
pub struct SeedLines<B> {
    bytes: B,
    at: usize,
    line: usize,
}

impl<B: AsRef<[u8]>> SeedLines<B> {
    /// The lines of the file with this content.
    pub fn of(bytes: B) -> Self {
        let at = if bytes.as_ref().starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        SeedLines { bytes, at, line: 0 }
    }
}

impl<B: AsRef<[u8]>> Iterator for SeedLines<B> {
    type Item = Result<Seed, SeedProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.bytes.as_ref().get(self.at..).filter(|rest| !rest.is_empty())?;
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let is_request = rest[..end].trim_ascii_start().starts_with(b"{");
            let bare = if is_request { &rest[..end] } else { without_comment(&rest[..end]) };
            let is_long = end > LINE_BYTES_MAX;
            let content = bare.trim_ascii();
            (self.at, self.line) = (self.at + end + 1, self.line + 1);
            let line = self.line;
            // it may have been cut where it was read: its start alone is no URL that somebody wrote
            if is_long && bare.len() == end {
                let why = format!("longer than {LINE_BYTES_MAX} bytes");
                return Some(Err(SeedProblem { line, text: shown(content), why }));
            }
            if content.is_empty() {
                continue;
            }
            return Some(match parse_line(content) {
                Ok((url, fallback)) => {
                    let names_user = user_information(&String::from_utf8_lossy(content)).is_some();
                    Ok(Seed { line, url, fallback, names_user })
                }
                Err(why) => Err(SeedProblem { line, text: shown(content), why }),
            });
        }
    }
}

/// A comment starts the line or follows a blank; any other `#` starts a fragment.
fn without_comment(line: &[u8]) -> &[u8] {
    let start = memchr::memchr_iter(b'#', line)
        .find(|&at| at == 0 || matches!(line[at - 1], b' ' | b'\t'))
        .unwrap_or(line.len());
    &line[..start]
}

fn parse_line(content: &[u8]) -> Result<(CanonicalUrl, Option<CanonicalUrl>), String> {
    let text = std::str::from_utf8(content).map_err(|_| "not UTF-8".to_owned())?;
    if text.starts_with('{') {
        return Ok((line::parse_line(text)?, None));
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("it contains blanks: write one URL per line".to_owned());
    }
    let parse = |text: &str| CanonicalUrl::parse(text).map_err(|error: UrlError| error.to_string());
    if text.contains("://") || names_scheme(text) {
        return Ok((parse(text)?, None));
    }
    // what begins with two slashes has the scheme of the page that it is in, and here is none
    let text = if begins_with_slashes(text) { text.trim_start_matches(SLASHES) } else { text };
    let host_and_port = text.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    check_host(host_and_port)?;
    Ok((parse(&format!("https://{text}"))?, Some(parse(&format!("http://{text}"))?)))
}

/// Signs that a browser reads as slashes.
const SLASHES: [char; 2] = ['/', '\\'];

/// Returns whether a text begins with two of them.
fn begins_with_slashes(text: &str) -> bool {
    text.starts_with(SLASHES) && text[1..].starts_with(SLASHES)
}

/// Returns whether a text begins with `http:` or `https:` and a slash of any kind, as no host with a port does.
fn names_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').filter(|(_, rest)| rest.starts_with(SLASHES));
    scheme.is_some_and(|(scheme, _)| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// Checks that a text without scheme is a host, and none of the other things that people write: mail addresses,
/// `mailto:`, single words. The error says what is wrong.
fn check_host(host_and_port: &str) -> Result<(), String> {
    if host_and_port.contains('@') {
        return Err("neither a URL nor a host".to_owned());
    }
    // the colons of an IPv6 address end with its bracket
    let after_address = host_and_port.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match host_and_port[after_address..].split_once(':') {
        Some((_, port)) => (&host_and_port[..host_and_port.len() - port.len() - 1], Some(port)),
        None => (host_and_port, None),
    };
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("only http and https URLs are crawled".to_owned());
    }
    let is_plain_word = port.is_none() && !host.contains(['.', '[']) && !host.eq_ignore_ascii_case("localhost");
    if is_plain_word { Err(format!("a single word; write `http://{host}/` if it is a host")) } else { Ok(()) }
}

/// The start of a line, for a terminal; what may be a name and a password is left out.
fn shown(content: &[u8]) -> String {
    let start = &content[..content.len().min(SHOWN_BYTES_MAX)];
    let text = without_user_information(String::from_utf8_lossy(start).into_owned());
    let mut shown = String::new();
    for (number, c) in text.chars().enumerate() {
        if number == SHOWN_CHARS {
            shown.push_str("...");
            break;
        }
        match c {
            '\'' | '"' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// `text` without what is between a scheme and the last `@` before its path.
pub fn without_user_information(text: String) -> String {
    match user_information(&text) {
        Some((start, end)) => format!("{}{}", &text[..start], &text[end..]),
        None => text,
    }
}

/// The index at which the authority of a URL begins: behind the slashes, of any kind, that follow a scheme, or that
/// begin the text.
fn authority(text: &str) -> Option<usize> {
    let behind = |start: usize| text.len() - text[start..].trim_start_matches(SLASHES).len();
    if begins_with_slashes(text) {
        return Some(behind(0));
    }
    let two = text.match_indices(':').map(|(at, _)| at + 1).find(|&at| begins_with_slashes(&text[at..]));
    two.or_else(|| names_scheme(text).then(|| text.find(':').map_or(0, |at| at + 1))).map(behind)
}

/// Returns the index at which a URL's user information begins, and the index at which what follows begins.
fn user_information(text: &str) -> Option<(usize, usize)> {
    let start = authority(text)?;
    let end = text[start..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| start + at);
    text[start..end].rfind('@').map(|at| (start, start + at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<(usize, String, Option<String>)> {
        let (seeds, problems) = parse_seeds(text.as_bytes());
        assert_eq!(problems, SeedProblems::default());
        let text_of = |url: CanonicalUrl| url.as_str().to_owned();
        seeds.into_iter().map(|seed| (seed.line, text_of(seed.url), seed.fallback.map(text_of))).collect()
    }

    fn why(text: &str) -> String {
        let (seeds, problems) = parse_seeds(text.as_bytes());
        assert_eq!(seeds, [], "{text}");
        assert_eq!(problems.first.len(), 1, "{text}");
        problems.first[0].why.clone()
    }

    #[test]
    fn comments_blank_lines_crlf_and_a_byte_order_mark_are_tolerated() {
        let text =
            "\u{feff}http://a.com\r\n\r\n# comment\r\n  https://b.com/x#part  # why\n\t# http://c.com\nhttp://d.com/#y";
        let expected = [(1, "http://a.com/"), (4, "https://b.com/x"), (6, "http://d.com/")];
        let expected: Vec<_> = expected.into_iter().map(|(line, url)| (line, url.to_owned(), None)).collect();
        assert_eq!(urls(text), expected);
    }

    #[test]
    fn a_host_without_scheme_means_https_then_http() {
        for (line, rest) in [
            ("example.com", "example.com/"),
            ("example.com:8080/x?y=http", "example.com:8080/x?y=http"),
            ("localhost", "localhost/"),
            ("intranet:81", "intranet:81/"),
            ("192.0.2.1/a", "192.0.2.1/a"),
            ("[2001:db8::1]", "[2001:db8::1]/"),
            ("[2001:db8::1]:81/a", "[2001:db8::1]:81/a"),
            ("bücher.example", "xn--bcher-kva.example/"),
            ("//example.com/y", "example.com/y"),
            ("\\\\example.com\\y", "example.com/y"),
            ("///example.com:81/y", "example.com:81/y"),
            ("example.com\\y", "example.com/y"),
        ] {
            assert_eq!(urls(line), [(1, format!("https://{rest}"), Some(format!("http://{rest}")))], "{line}");
        }
    }

    #[test]
    fn slashes_of_any_kind_and_number_follow_a_scheme() {
        for line in ["http:\\\\example.com\\p", "HTTP:/example.com/p", "http:///example.com/p", "http:\\/example.com/p"]
        {
            assert_eq!(urls(line), [(1, "http://example.com/p".to_owned(), None)], "{line}");
        }
        assert_eq!(urls("https:\\\\me:secret@example.com\\p@q"), [(1, "https://example.com/p@q".to_owned(), None)]);
        assert!(why("//user@").contains("neither"), "{}", why("//user@"));
    }

    #[test]
    fn a_line_that_is_no_url_is_reported_and_does_not_stop_the_rest() {
        let (seeds, problems) = parse_seeds(b"http://a.com/\nhttp://[\nnonsense\n\xff\xfe\nhttp://b.com/\n");
        assert_eq!(seeds.iter().map(|seed| seed.line).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(problems.first.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 3, 4]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(why("ftp://example.com/").contains("only http and https"));
        assert!(why("mailto:somebody@example.com").contains("neither"));
        assert!(why("javascript:alert(1)").contains("only http and https"));
        assert!(why("word").contains("http://word/"));
        assert!(why("http://a.com http://b.com").contains("one URL per line"));
        assert!(why("http://a b.com/").contains("one URL per line"));
        assert!(why("http://").contains("not a URL"));
    }

    #[test]
    fn a_hostile_line_is_shown_escaped_and_short() {
        let (_, problems) = parse_seeds("word\u{1b}[2J\u{202e}".as_bytes());
        assert_eq!(problems.first[0].text, "word\\u{1b}[2J\\u{202e}");
        let (_, problems) = parse_seeds("x".repeat(1_000_000).as_bytes());
        assert!(problems.first[0].text.len() < 200);
    }

    #[test]
    fn n24_of_a_file_full_of_bad_lines_the_first_are_told_and_the_others_counted() {
        let mut random = fastrand::Rng::with_seed(24);
        let mut bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(3_000_000).collect();
        bytes.extend_from_slice(b"\nhttp://a.com/\n");
        let (seeds, problems) = parse_seeds(&bytes);
        assert_eq!(seeds.last().map(|seed| seed.url.as_str()), Some("http://a.com/"));
        assert_eq!(problems.first.len(), PROBLEMS_MAX);
        assert!(problems.more > 10_000, "{}", problems.more);
        assert_eq!(problems.rest(), Some(format!("{} more lines are not URLs", problems.more)));
        assert!(problems.first.iter().all(|problem| problem.to_string().len() < 2_000));
    }

    #[test]
    fn n24_a_line_that_may_have_been_cut_is_no_url_and_a_long_comment_is_a_comment() {
        let blanks = " ".repeat(LINE_BYTES_MAX);
        for text in
            [format!("http://a.com/{blanks}http://b.com/"), format!("{blanks} http://a.com/"), format!("{blanks} ")]
        {
            assert!(why(&text).contains("longer than 65536 bytes"));
        }
        let text = format!("#{blanks}\nhttp://a.com/ # {blanks}\n");
        assert_eq!(urls(&text), [(2, "http://a.com/".to_owned(), None)]);
    }

    #[test]
    fn a_password_in_a_line_that_is_no_url_is_not_shown() {
        for line in [
            "http:\\\\user:secret@[\\x",
            "//user:secret@[/x",
            "http:/user:secret@[/x",
            "http://user:secret@[/x",
            "ftp://secret@example.com/",
            "http://a:secret@b@c d/",
        ] {
            let (_, problems) = parse_seeds(line.as_bytes());
            assert!(!problems.first[0].to_string().contains("secret"), "{}", problems.first[0]);
        }
        let (_, problems) = parse_seeds(b"http://[/@x");
        assert_eq!(problems.first[0].text, "http://[/@x");
    }

    #[test]
    fn n22_a_seed_that_names_a_user_is_known_as_such() {
        let (seeds, _) = parse_seeds(b"http://me:secret@a.com/x\nhttp://b.com/@x\nhttp://me@c.com\nd.com/a@b\n");
        assert_eq!(seeds.iter().map(|seed| seed.names_user).collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!(seeds[0].url.as_str(), "http://a.com/x");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let pieces: [&[u8]; 12] =
            [b"http://", b"\n", b"#", b" ", b"\xff", b":", b"[", b"]", b"a.com", b"@", "é".as_bytes(), b"\r"];
        for seed in 0..4_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: Vec<u8> = (0..random.usize(..12)).flat_map(|_| pieces[random.usize(..12)].to_vec()).collect();
            parse_seeds(&text);
        }
    }
}

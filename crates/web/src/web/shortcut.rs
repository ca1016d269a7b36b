//! References resolved without the URL parser, where their result is plain.
//!
//! Most links of a page are plain paths, relative or within its origin, in characters that the WHATWG parser leaves as
//! they are. For those [`Shortcut::resolve`] gives what the parser would give, to the byte, at the price of a look at
//! each byte and one allocation. It refuses everything else, so anyone who calls it has the parser behind it.

use url::{Position, Url};

use super::url::CanonicalUrl;

/// Bytes that the parser takes over into a path as they are: no white space, nothing that it escapes, no backslash.
const PATH: [bool; 256] = bytes(b"-_.~!$&()*+,;=@:%/");
/// The same of a query. An apostrophe is escaped there.
const QUERY: [bool; 256] = bytes(b"-_.~!$&()*+,;=@:%/?");

const fn bytes(beside: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < beside.len() {
        table[beside[at] as usize] = true;
        at += 1;
    }
    table
}

/// A base for references.
#[derive(Debug)]
pub(crate) struct Shortcut {
    /// Scheme, host and port as they are in the base.
    authority: String,
    /// The path of the base up to its last `/`.
    directory: String,
    host_end: u32,
    port: u16,
}

impl Shortcut {
    /// A shortcut for references on `base`, if that is an http or https URL without user information.
    pub(crate) fn of(base: &Url) -> Option<Shortcut> {
        let has_user = !base[Position::BeforeUsername..Position::BeforeHost].is_empty();
        if !matches!(base.scheme(), "http" | "https") || has_user || base.host_str().is_none_or(str::is_empty) {
            return None;
        }
        let directory_end = base.path().rfind('/')? + 1;
        Some(Shortcut {
            authority: base[..Position::BeforePath].to_owned(),
            directory: base.path()[..directory_end].to_owned(),
            host_end: u32::try_from(base[..Position::AfterHost].len()).ok()?,
            port: base.port_or_known_default()?,
        })
    }

    /// Returns the URL that `reference`, without a fragment, leads to, where that is plain.
    pub(crate) fn resolve(&self, reference: &str) -> Option<CanonicalUrl> {
        let own = reference.strip_prefix(&*self.authority).filter(|rest| rest.starts_with('/'));
        let mut rest = own.unwrap_or(reference);
        let mut directory = "";
        if !rest.starts_with('/') {
            (directory, rest) = self.descend(rest)?;
        } else if own.is_none() && rest.starts_with("//") {
            return None;
        }
        if !is_plain(rest, directory.is_empty()) {
            return None;
        }
        let length = self.authority.len() + directory.len() + rest.len();
        if length > CanonicalUrl::LENGTH_MAX {
            return None;
        }
        let mut text = String::with_capacity(length);
        text.push_str(&self.authority);
        text.push_str(directory);
        text.push_str(rest);
        CanonicalUrl::from_serialised(text, self.host_end, self.authority.len(), self.port)
    }

    /// The directory that a relative reference begins in, and what follows its `./` and `../`.
    fn descend<'a>(&'a self, reference: &'a str) -> Option<(&'a str, &'a str)> {
        let (mut directory, mut rest) = (&*self.directory, reference);
        loop {
            if let Some(after) = rest.strip_prefix("../") {
                rest = after;
                // segments are short: a loop is faster than a search that prepares itself
                let above = directory.as_bytes()[..directory.len() - 1].iter().rposition(|&byte| byte == b'/');
                directory = &directory[..above.map_or(directory.len().min(1), |slash| slash + 1)];
            } else if let Some(after) = rest.strip_prefix("./") {
                rest = after;
            } else {
                break;
            }
        }
        // what begins a query, or nothing at all, keeps the last segment of the base
        let is_bare = rest.starts_with('?') || rest.is_empty();
        (!is_bare || rest.len() < reference.len()).then_some((directory, rest))
    }
}

/// True if the parser would take `rest` over as it is: behind an authority if it is `absolute`, else behind a
/// directory.
fn is_plain(rest: &str, absolute: bool) -> bool {
    let bytes = rest.as_bytes();
    let is_path = |byte: &&u8| PATH[usize::from(**byte)];
    let path_end = bytes.iter().take_while(is_path).count();
    let (path, query) = bytes.split_at(path_end);
    let is_query = query.is_empty() || query[0] == b'?' && query.iter().all(|&byte| QUERY[usize::from(byte)]);
    // a scheme ends with a colon, and segments that begin with a dot may be `.` or `..`, also in escapes
    is_query
        && (absolute || memchr::memchr(b':', path).is_none())
        && path.first() != Some(&b'.')
        && !path.windows(2).any(|pair| pair == b"/.")
        && !memchr::memchr_iter(b'%', path).any(|at| matches!(path.get(at + 1..at + 3), Some(b"2e" | b"2E")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the parser makes of `reference`.
    fn parsed(base: &Url, reference: &str) -> Option<CanonicalUrl> {
        CanonicalUrl::from_url(base.join(reference).ok()?).ok()
    }

    #[test]
    fn plain_references_are_resolved_as_the_parser_does() {
        let base = Url::parse("https://h.example:8080/a/b//c?d").unwrap();
        let shortcut = Shortcut::of(&base).unwrap();
        for (reference, path) in [
            ("x.html", "/a/b//x.html"),
            ("x/y/", "/a/b//x/y/"),
            ("./x", "/a/b//x"),
            ("../x?q=/a:b", "/a/b/x?q=/a:b"),
            ("../../x", "/a/x"),
            ("../../../../../x", "/x"),
            ("../", "/a/b/"),
            ("../?q", "/a/b/?q"),
            ("/x;v=1/%41(y)", "/x;v=1/%41(y)"),
            ("/Talk:x", "/Talk:x"),
            ("https://h.example:8080/x", "/x"),
            ("https://h.example:8080//x", "//x"),
        ] {
            let found = shortcut.resolve(reference).unwrap_or_else(|| panic!("{reference} is plain"));
            assert_eq!(found.path_and_query(), path, "{reference}");
            assert_eq!(Some(found), parsed(&base, reference), "{reference}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        let shortcut = Shortcut::of(&Url::parse("http://h.example/a/b?c").unwrap()).unwrap();
        for reference in [
            "",
            "?q",
            ".",
            "..",
            "a/../b",
            "/.",
            "//g/x",
            "mailto:x",
            "a:b",
            " a",
            "a b",
            "a\\b",
            "a/%2e%2E/b",
            "ä",
            "a'b",
            "a|b",
        ] {
            assert_eq!(shortcut.resolve(reference), None, "{reference}");
        }
        for base in ["ftp://h/", "http://user@h/", "http://:secret@h/", "data:text/html,x"] {
            assert!(Shortcut::of(&Url::parse(base).unwrap()).is_none(), "{base}");
        }
    }

    #[test]
    fn no_reference_is_resolved_otherwise_than_by_the_parser() {
        let pieces = [
            "/",
            "//",
            ".",
            "..",
            "../",
            "./",
            "%2e",
            "%2E",
            "%41",
            "%",
            "a",
            "b.html",
            "?",
            "&x=1",
            "=",
            "#",
            "@",
            ":",
            ":80",
            "http://h.example",
            "http://h.example/",
            "https:",
            "http:",
            ";v",
            "'",
            "(",
            "|",
            "^",
            "\\",
            " ",
            "\t",
            "é",
            "~",
            "C:",
        ];
        let bases = [
            "http://h.example/",
            "http://h.example/a/b/c.html?d",
            "http://h.example:81/a//",
            "https://[::1]/x",
            "http://h/%2e%2e;/.a/b",
        ];
        let mut short = 0;
        for seed in 0..40_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let base = Url::parse(bases[random.usize(..bases.len())]).unwrap();
            let count = random.usize(..7);
            let reference: String = (0..count).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let shortcut = Shortcut::of(&base).unwrap();
            if let Some(found) = shortcut.resolve(reference.split('#').next().unwrap()) {
                short += 1;
                assert_eq!(Some(&found), parsed(&base, &reference).as_ref(), "seed {seed}: {reference} on {base}");
                assert_eq!(CanonicalUrl::parse(found.as_str()), Ok(found), "seed {seed}: {reference} on {base}");
            }
        }
        assert!(short > 4_000, "{short} of them are plain");
    }
}

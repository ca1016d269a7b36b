//! Names of files: a path for each URL, in which no URL can say more than a name.
//!
//! A [`Name`] is made of parts, and a part is only made here:
//! - A part of letters, digits and `-_.~@+` that no system treats specially stays as it is. With capital letters, the
//!   number that says which they are is put behind it: `Foo` becomes `Foo=1`. So names differ where case is ignored.
//! - All else becomes a readable rest and a digest: `caf%C3%A9` becomes `caf_c3_a9=x` and 16 characters.
//!
//! No part begins with a dot or ends with one, is longer than 140 bytes, or is a device of Windows. Files always have
//! an ending and directories never, so no file is in the way of a directory.
//!
//! The name is a function of the URL, of the type of the answer, and of one question: [`rivals`] are the URLs whose
//! plain name would be the same, as `/a` and `/a.html`. One whose rival is exported gets a mark, so that no two URLs
//! share a name.

use std::fmt::Write;

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

use super::ending::{Ending, split};
use crate::web::url::CanonicalUrl;

/// The longest part that stays as it is.
const PART_MAX: usize = 100;
/// The longest readable rest of another one.
const REST_MAX: usize = 40;
/// The longest name; of a longer one there are the host and a digest.
const NAME_MAX: usize = 220;
/// Names that Windows gives to devices, with whatever ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// The name of the start page of an export, which is beside the directories of hosts.
pub(super) const START: &str = "index.html";

/// The path of a file below the directory of an export, its parts separated by slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(String);

impl Name {
    /// The name of the file for `url`; `has_rival` if one of its [`rivals`] is exported too.
    pub(super) fn of(url: &CanonicalUrl, ending: &Ending, has_rival: bool) -> Name {
        let (directories, last) = segments(url);
        let host = host(url);
        let mut name = host.clone();
        for segment in directories {
            name.push('/');
            name.push_str(&directory(segment));
        }
        name.push('/');
        name.push_str(&file(url, last, ending, has_rival));
        if name.len() > NAME_MAX {
            let rest = rest(last);
            name = format!("{host}/{rest}=y{}.{}", digest(url.as_str()), ending.usual());
        }
        Name(name)
    }

    /// The path.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The reference by which a page in the file `self` leads to the file `to`.
    pub(super) fn reference_to(&self, to: &Name) -> String {
        let parts = |name: &'_ str| name.split('/').map(str::to_owned).collect::<Vec<String>>();
        let (from, to) = (parts(&self.0), parts(&to.0));
        let shared = from.iter().zip(&to).take(to.len() - 1).take_while(|(a, b)| a == b).count();
        let shared = shared.min(from.len() - 1);
        let mut reference = "../".repeat(from.len() - 1 - shared);
        reference.push_str(&to[shared..].join("/"));
        reference
    }
}

/// URLs whose plain name would be the same as that of `url`.
pub(super) fn rivals(url: &CanonicalUrl, ending: &Ending) -> Vec<String> {
    let (_, last) = segments(url);
    if !is_plain(last) || url.path_and_query().contains('?') || url.has_request() {
        return Vec::new();
    }
    let start = &url.as_str()[..url.as_str().len() - last.len()];
    let kept = kept(last, ending);
    let stem = kept.map_or(last, |(stem, _)| stem);
    let mut rivals = Vec::new();
    if stem == "index" {
        rivals.push(start.to_owned());
    }
    if kept.is_none() {
        rivals.push(format!("{start}{last}.{}", ending.usual()));
    }
    rivals
}

/// The segments of the path that are directories, and the last one.
fn segments(url: &CanonicalUrl) -> (impl Iterator<Item = &str>, &str) {
    let path = &url.path()[1..];
    let (before, last) = path.rsplit_once('/').map_or((None, path), |(before, last)| (Some(before), last));
    (before.into_iter().flat_map(|before| before.split('/')), last)
}

/// The directory of a host; with the port, unless it is that of https.
fn host(url: &CanonicalUrl) -> String {
    let host = url.host();
    // an underscore is what the port is behind
    let is_plain = is_plain(host) && !host.contains(['_', '~', '@', '+']) && host != START;
    let mut name = if is_plain { host.to_owned() } else { hashed(host, host) };
    if !url.is_https() || url.port() != 443 {
        let _ = write!(name, "_{}", url.port());
    }
    if url.is_https() && url.port() != 443 {
        name.push_str("_https");
    }
    name
}

/// The name of a directory: it has no ending.
fn directory(segment: &str) -> String {
    if !is_plain(segment) {
        return hashed(segment, segment);
    }
    match capitals(segment) {
        0 if split(segment).is_none() => segment.to_owned(),
        capitals => format!("{segment}={capitals:x}"),
    }
}

/// The name of a file: it has an ending.
fn file(url: &CanonicalUrl, last: &str, ending: &Ending, has_rival: bool) -> String {
    let kept = kept(last, ending);
    let usual = ending.usual();
    let path_end = url.authority().len() + url.path().len();
    if url.as_str().len() > path_end {
        // a query or a request behind it
        let whole = &url.as_str()[path_end - last.len()..];
        return format!("{}.{usual}", hashed(whole, whole));
    }
    if last.is_empty() {
        return format!("index.{usual}");
    }
    if !is_plain(last) {
        return format!("{}.{usual}", hashed(last, kept.map_or(last, |(stem, _)| stem)));
    }
    let (stem, end) = kept.unwrap_or((last, usual));
    let rival = match (has_rival, kept) {
        (false, _) => "",
        (true, Some(_)) => "k",
        (true, None) => "a",
    };
    match (rival, capitals(last)) {
        ("", 0) => format!("{stem}.{end}"),
        (rival, capitals) => format!("{stem}={rival}{capitals:x}.{end}"),
    }
}

/// The stem and the ending of a last segment that fits the type.
fn kept<'a>(last: &'a str, ending: &Ending) -> Option<(&'a str, &'a str)> {
    split(last).filter(|(_, own)| ending.accepts(own))
}

/// True if a part can be a name as it is.
fn is_plain(part: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~@+".contains(&byte);
    (1..=PART_MAX).contains(&part.len())
        && part.bytes().all(is_safe)
        && !part.starts_with('.')
        && !part.ends_with('.')
        && !is_device(part)
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_port = |name: &str| stem.strip_prefix(name).is_some_and(|rest| rest.len() == 1 && rest.is_ascii());
    DEVICES.contains(&&*stem) || is_port("com") || is_port("lpt")
}

/// The number whose bits say which letters of a plain part are capital ones.
fn capitals(part: &str) -> u128 {
    let bits = part.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase());
    bits.fold(0, |bits, (at, _)| bits | 1 << at)
}

/// A part for any text: a readable rest of `readable`, and the digest of `text`.
fn hashed(text: &str, readable: &str) -> String {
    format!("{}=x{}", rest(readable), digest(text))
}

/// The readable rest of a text: it begins with a letter, a digit or `_`, and has no dot.
fn rest(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let rest: String = text.chars().take(REST_MAX).map(plain).collect();
    if rest.is_empty() { "_".to_owned() } else { rest }
}

fn digest(text: &str) -> String {
    BASE32_NOPAD.encode(&Sha256::digest(text.as_bytes())[..10]).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::path::{Component, Path};

    use super::*;

    fn name(url: &str, essence: &str) -> String {
        Name::of(&CanonicalUrl::parse(url).unwrap(), &Ending::of(essence), false).0
    }

    #[test]
    fn plain_urls_have_plain_names() {
        for (url, essence, expected) in [
            ("https://a.example/", "text/html", "a.example/index.html"),
            ("https://a.example/b/", "text/html", "a.example/b/index.html"),
            ("https://a.example/b", "text/html", "a.example/b.html"),
            ("https://a.example/b.html", "text/html", "a.example/b.html"),
            ("https://a.example/b.htm", "text/html", "a.example/b.htm"),
            ("https://a.example/b.php", "text/html", "a.example/b.php.html"),
            ("https://a.example/s/main.css", "text/css", "a.example/s/main.css"),
            ("https://a.example/s/main", "text/css", "a.example/s/main.css"),
            ("https://a.example/favicon.ico", "image/png", "a.example/favicon.ico.png"),
            ("https://a.example/a.tar.gz", "application/octet-stream", "a.example/a.tar.gz"),
            ("https://a.example/v1.2/~u/@x", "text/plain", "a.example/v1.2/~u/@x.txt"),
            ("https://a.example/x.js/y.js", "text/javascript", "a.example/x.js=0/y.js"),
            ("http://a.example/", "text/html", "a.example_80/index.html"),
            ("http://a.example:8080/", "text/html", "a.example_8080/index.html"),
            ("https://a.example:8080/", "text/html", "a.example_8080_https/index.html"),
            ("https://a.example/Foo/READ.html", "text/html", "a.example/Foo=1/READ=f.html"),
        ] {
            assert_eq!(name(url, essence), expected, "{url}");
        }
    }

    #[test]
    fn what_no_name_can_be_becomes_a_digest() {
        for (url, start) in [
            ("https://a.example/p.php?id=3&x=%2f..", "a.example/p_php_id_3_x__2f__=x"),
            ("https://a.example/caf%C3%A9.html", "a.example/caf_c3_a9=x"),
            ("https://a.example/%2e%2e%2fx", "a.example/_2e_2e_2fx=x"),
            ("https://a.example/con.html", "a.example/con=x"),
            ("https://a.example/aux.d/x", "a.example/aux_d=x"),
            ("https://a.example/.htaccess", "a.example/_htaccess=x"),
            ("https://a.example//x", "a.example/_=x"),
            ("https://a.example/a./x", "a.example/a_=x"),
            ("http://[::1]:8080/", "___1_=x"),
            ("https://index.html/", "index_html=x"),
        ] {
            assert!(name(url, "text/html").starts_with(start), "{}", name(url, "text/html"));
        }
        let deep = format!("https://a.example{}", "/abcdefgh".repeat(100));
        assert!(name(&deep, "text/html").starts_with("a.example/abcdefgh=y"));
    }

    #[test]
    fn references_lead_from_file_to_file() {
        let of = |from: &str, to: &str| Name(from.to_owned()).reference_to(&Name(to.to_owned()));
        assert_eq!(of("a/b/c.html", "a/b/d.html"), "d.html");
        assert_eq!(of("a/b/c.html", "a/b/c.html"), "c.html");
        assert_eq!(of("a/b/c.html", "a/d.html"), "../d.html");
        assert_eq!(of("a/b.html", "a/b/c.html"), "b/c.html");
        assert_eq!(of("a/b/c.html", "x/b/c.html"), "../../x/b/c.html");
        assert_eq!(of("a/b.html", "x/b.html"), "../x/b.html");
    }

    const PIECES: &[&str] = &[
        "a",
        "A",
        "b",
        "index",
        "Index",
        "index.html",
        "a.html",
        "a.htm",
        ".html",
        "html",
        "/",
        "/",
        "//",
        "..",
        ".",
        "%2e",
        "%2F",
        "%5c",
        "\\",
        "%00",
        "con",
        "NUL",
        "com1.txt",
        "lpt9",
        "=",
        "=x",
        "=a0",
        "=k0",
        "=0",
        "=1",
        "?",
        "?q",
        "?a=b/../c",
        "&",
        ";",
        ":",
        "*",
        "<",
        "|",
        "~",
        "@",
        "+",
        "%20",
        " ",
        "%C3%A9",
        "\u{e9}",
        "e%CC%81",
        "x.js",
        "x.js/",
        "v1.2/",
        "\u{202e}",
        "#~POST",
        "!",
        "$(x)",
        "-rf",
        ".htaccess",
        "...",
        "_80",
        "_https",
        "longlonglonglonglonglonglonglonglonglonglong",
    ];
    const HOSTS: &[&str] = &[
        "https://a.example",
        "http://a.example",
        "https://A.example.",
        "https://a.example:8080",
        "http://a.example:8080",
        "https://a_80",
        "http://a",
        "https://[::1]",
        "https://index.html",
        "https://con",
        "https://xn--bcher-kva.example",
    ];
    const TYPES: &[&str] = &["text/html", "text/plain", "image/png", "text/css", "application/xhtml+xml", "", "x/y"];

    /// URLs with a type each, all different.
    fn hostile(count: usize) -> HashMap<String, &'static str> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut urls = HashMap::new();
        while urls.len() < count {
            let host = HOSTS[random.usize(..HOSTS.len())];
            let path: String = (0..random.usize(..6)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
            if let Ok(url) = CanonicalUrl::parse(&format!("{host}/{path}")) {
                urls.entry(url.as_str().to_owned()).or_insert(TYPES[random.usize(..TYPES.len())]);
            }
        }
        urls
    }

    #[test]
    fn no_url_leaves_the_directory_and_no_two_share_a_file_even_without_case() {
        let urls = hostile(50_000);
        let (mut files, mut directories) = (HashMap::new(), HashSet::new());
        for (text, essence) in &urls {
            let (url, ending) = (CanonicalUrl::parse(text).unwrap(), Ending::of(essence));
            let has_rival = rivals(&url, &ending).iter().any(|rival| urls.contains_key(rival));
            let name = Name::of(&url, &ending, has_rival).0;
            let lower = name.to_lowercase();
            assert_eq!(files.insert(lower.clone(), text), None, "{text} has the name {name} too");
            let mut above = lower.as_str();
            while let Some((directory, _)) = above.rsplit_once('/') {
                directories.insert(directory.to_owned());
                above = directory;
            }
            let parts: Vec<Component> = Path::new(&name).components().collect();
            assert!(parts.iter().all(|part| matches!(part, Component::Normal(_))), "{name}");
            assert_eq!(parts.len(), name.split('/').count(), "{name}");
            assert!(name.len() <= NAME_MAX + 60 && parts.len() >= 2, "{name}");
            for part in name.split('/') {
                assert!(part.len() <= 140 && !part.starts_with('.') && !part.ends_with('.'), "{name}");
                assert!(!is_device(part), "{name}");
                assert!(part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~@+=".contains(&b)), "{name}");
            }
        }
        for directory in &directories {
            assert!(!files.contains_key(directory), "{directory} is a file and a directory");
            assert_ne!(directory, START);
        }
    }

    #[test]
    fn rivals_get_marks() {
        let all =
            ["https://h/", "https://h/index", "https://h/index.html", "https://h/a", "https://h/a.html", "https://h/A"];
        let names = all.map(|text| {
            let (url, ending) = (CanonicalUrl::parse(text).unwrap(), Ending::of("text/html"));
            let has_rival = rivals(&url, &ending).iter().any(|rival| all.contains(&&**rival));
            Name::of(&url, &ending, has_rival).0
        });
        assert_eq!(
            names,
            ["h/index.html", "h/index=a0.html", "h/index=k0.html", "h/a=a0.html", "h/a.html", "h/A=1.html"]
        );
    }
}

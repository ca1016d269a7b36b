//! Endings of file names: without a server, an ending is all that tells a browser what a file is.

use std::borrow::Cow;

use crate::web::mime;

/// Types with the ending that their files get, and the other endings that mean the same.
const TYPES: [(&str, &str, &[&str]); 40] = [
    ("text/html", "html", &["htm"]),
    ("application/xhtml+xml", "xhtml", &["xht"]),
    ("text/css", "css", &[]),
    ("image/svg+xml", "svg", &[]),
    ("image/png", "png", &[]),
    ("image/jpeg", "jpg", &["jpeg", "jpe"]),
    ("image/gif", "gif", &[]),
    ("image/webp", "webp", &[]),
    ("image/avif", "avif", &[]),
    ("image/bmp", "bmp", &[]),
    ("image/x-icon", "ico", &["cur"]),
    ("image/vnd.microsoft.icon", "ico", &["cur"]),
    ("font/woff", "woff", &[]),
    ("application/font-woff", "woff", &[]),
    ("font/woff2", "woff2", &[]),
    ("font/ttf", "ttf", &[]),
    ("font/otf", "otf", &[]),
    ("application/pdf", "pdf", &[]),
    ("application/epub+zip", "epub", &[]),
    ("application/zip", "zip", &["jar", "xpi", "whl", "docx", "xlsx", "pptx", "odt", "ods", "odp"]),
    ("application/gzip", "gz", &["tgz", "svgz"]),
    ("application/json", "json", &["map", "geojson", "ipynb"]),
    ("application/manifest+json", "webmanifest", &["json"]),
    ("text/xml", "xml", &["rss", "atom", "xsl", "xslt", "xsd", "rdf", "opml"]),
    ("application/xml", "xml", &["rss", "atom", "xsl", "xslt", "xsd", "rdf", "opml"]),
    ("application/rss+xml", "rss", &["xml"]),
    ("application/atom+xml", "atom", &["xml"]),
    ("video/mp4", "mp4", &["m4v"]),
    ("video/webm", "webm", &[]),
    ("video/ogg", "ogv", &["ogg"]),
    ("video/quicktime", "mov", &[]),
    ("audio/mpeg", "mp3", &[]),
    ("audio/mp4", "m4a", &["mp4"]),
    ("audio/ogg", "ogg", &["oga", "opus"]),
    ("audio/wav", "wav", &[]),
    ("audio/x-wav", "wav", &[]),
    ("audio/webm", "weba", &["webm"]),
    ("text/vtt", "vtt", &[]),
    ("text/csv", "csv", &[]),
    ("text/calendar", "ics", &[]),
];

/// Endings by which a browser would run a file: those of no file whose type does not say so.
const RUN: [&str; 12] = ["html", "htm", "shtml", "xhtml", "xht", "svg", "svgz", "xml", "xsl", "mht", "mhtml", "hta"];

/// The longest ending, without its dot.
const BYTES_MAX: usize = 12;

/// The endings that files of a type may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    usual: Cow<'static, str>,
    others: &'static [&'static str],
    /// True if any ending will do that is not run.
    is_open: bool,
}

impl Ending {
    /// The endings of files of a type, `type/subtype` in lower case.
    pub(super) fn of(essence: &str) -> Ending {
        let found = TYPES.iter().find(|(known, ..)| *known == essence);
        let (usual, others, is_open): (_, &[&str], _) = match found {
            Some((_, usual, others)) => (*usual, *others, false),
            None if mime::is_javascript(essence) => ("js", &["mjs", "cjs"], false),
            None if essence.ends_with("+json") => ("json", &[], false),
            None if essence.ends_with("+xml") => ("xml", &["rss", "atom", "xsl", "xslt", "rdf"], false),
            None if essence.starts_with("text/") => ("txt", &[], true),
            None => ("bin", &[], true),
        };
        Ending { usual: Cow::Borrowed(usual), others, is_open }
    }

    /// The ending of a file that has none of its own.
    pub(super) fn usual(&self) -> &str {
        &self.usual
    }

    /// True if a file of this type may keep the ending `own`.
    pub(super) fn accepts(&self, own: &str) -> bool {
        let own = own.to_ascii_lowercase();
        own == self.usual || self.others.contains(&&*own) || self.is_open && !RUN.contains(&&*own)
    }

    /// True for files that browsers show as pages.
    pub(super) fn is_page(&self) -> bool {
        matches!(&*self.usual, "html" | "xhtml")
    }
}

/// Splits a name before its ending: the last dot, with at most 12 letters and digits behind it, the first a letter.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ending = (1..=BYTES_MAX).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_ending && !stem.is_empty()).then_some((stem, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_an_ending_that_fits_their_type() {
        for (essence, own, keeps) in [
            ("text/html", "HTM", true),
            ("text/html", "php", false),
            ("image/jpeg", "jpeg", true),
            ("image/png", "jpg", false),
            ("text/javascript", "mjs", true),
            ("application/ld+json", "json", true),
            ("text/plain", "rst", true),
            ("text/plain", "html", false),
            ("application/octet-stream", "deb", true),
            ("application/octet-stream", "svg", false),
            ("", "xhtml", false),
        ] {
            assert_eq!(Ending::of(essence).accepts(own), keeps, "{essence} {own}");
        }
    }

    #[test]
    fn every_type_has_an_ending_that_is_split_off_again() {
        let generic = ["text/x", "x/y", "x/a+json", "x/a+xml", "text/javascript"];
        for essence in TYPES.iter().map(|(known, ..)| *known).chain(generic) {
            let ending = Ending::of(essence);
            assert_eq!(split(&format!("a.{}", ending.usual())), Some(("a", ending.usual())), "{essence}");
            assert!(ending.accepts(ending.usual()), "{essence}");
        }
        for name in ["a", "a.", ".a", "v1.2", "a.b-c", "a.muchtoolongending"] {
            assert_eq!(split(name), None, "{name}");
        }
    }
}

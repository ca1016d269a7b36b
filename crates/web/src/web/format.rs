//! The format of a document that is no page, such as a PDF.
//!
//! A stated type is believed where the start of the body does not speak against it. Where the type says nothing, or
//! what servers say of files that they do not know, the start of the body tells it, as the MIME Sniffing standard does
//! (<https://mimesniff.spec.whatwg.org/>).

use serde::{Deserialize, Serialize};

use super::mime;

/// A format of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// PDF.
    Pdf,
    /// Texts, tables and slides of office programs: Office Open XML and OpenDocument.
    Office,
    /// EPUB.
    Epub,
}

/// Types that servers state for files that they do not know.
const UNKNOWN: [&str; 10] = [
    "",
    "*/*",
    "unknown/unknown",
    "application/unknown",
    "application/octet-stream",
    "binary/octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
    "text/plain",
];
/// Types of ZIP files, which documents of two formats are.
const ZIP: [&str; 2] = ["application/zip", "application/x-zip-compressed"];
/// A PDF says that it is one in the first bytes; readers of PDF look so far.
const PDF_START: usize = 1024;
/// The start of a ZIP file.
const ZIP_START: &[u8] = b"PK\x03\x04";
/// The start of files of earlier office programs, and of encrypted ones of today's.
const OLE_START: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The name of the first file in a ZIP file begins here.
const ZIP_NAME: usize = 30;

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Pdf, Format::Office, Format::Epub];

    /// Its name in settings and notes.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pdf => "pdf",
            Format::Office => "office",
            Format::Epub => "epub",
        }
    }

    /// True if a body may have a format by its `Content-Type`, as far as that is known before it is looked at.
    pub fn may_be(content_type: Option<&str>) -> bool {
        let essence = mime::essence(content_type);
        Self::named(&essence).is_some() || is_unknown(&essence)
    }

    /// The format of a body, which is without content coding.
    pub fn of(content_type: Option<&str>, body: &[u8]) -> Option<Format> {
        let essence = mime::essence(content_type);
        match Self::named(&essence) {
            Some(Format::Pdf) => {
                let start = &body[..body.len().min(PDF_START)];
                start.windows(PDF_MARK.len()).any(|window| window == PDF_MARK).then_some(Format::Pdf)
            }
            Some(named) => (body.starts_with(ZIP_START) || body.starts_with(OLE_START)).then_some(named),
            None if is_unknown(&essence) => Self::sniffed(body),
            None => None,
        }
    }

    fn named(essence: &str) -> Option<Format> {
        let office = ["application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."];
        match essence {
            "application/pdf" | "application/x-pdf" | "application/acrobat" => Some(Format::Pdf),
            "application/epub+zip" => Some(Format::Epub),
            _ if office.iter().any(|start| essence.starts_with(start)) => Some(Format::Office),
            _ if essence.starts_with("application/vnd.ms-") && essence.contains(".macroenabled.") => {
                Some(Format::Office)
            }
            _ => None,
        }
    }

    fn sniffed(body: &[u8]) -> Option<Format> {
        if body.starts_with(PDF_MARK) {
            return Some(Format::Pdf);
        }
        let name = body.strip_prefix(ZIP_START)?.get(ZIP_NAME - ZIP_START.len()..)?;
        // the first file of an EPUB and an OpenDocument is its type, not compressed
        match name.strip_prefix(b"mimetype") {
            Some(stated) if stated.starts_with(b"application/epub+zip") => Some(Format::Epub),
            Some(stated) => stated.starts_with(b"application/vnd.oasis.opendocument.").then_some(Format::Office),
            None => {
                let firsts: [&[u8]; 5] = [b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"ppt/"];
                firsts.iter().any(|first| name.starts_with(first)).then_some(Format::Office)
            }
        }
    }
}

/// The beginning of a PDF.
const PDF_MARK: &[u8] = b"%PDF-";

fn is_unknown(essence: &str) -> bool {
    UNKNOWN.contains(&essence) || ZIP.contains(&essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

    fn zip(first: &str) -> Vec<u8> {
        [ZIP_START, &[0; ZIP_NAME - 4], first.as_bytes()].concat()
    }

    fn of(content_type: &str, body: &[u8]) -> Option<Format> {
        let content_type = Some(content_type).filter(|text| !text.is_empty());
        let found = Format::of(content_type, body);
        assert!(found.is_none() || Format::may_be(content_type), "{content_type:?}");
        found
    }

    #[test]
    fn a_type_is_believed_where_the_start_agrees() {
        assert_eq!(of("application/pdf", b"%PDF-1.7"), Some(Format::Pdf));
        assert_eq!(of("Application/PDF; x=y", b"\n\nrubbish %PDF-1.4"), Some(Format::Pdf));
        assert_eq!(of("application/pdf", b"<html>not found"), None);
        assert_eq!(of(WORD, &zip("word/document.xml")), Some(Format::Office));
        assert_eq!(of(WORD, OLE_START), Some(Format::Office));
        assert_eq!(of(WORD, b"<html>"), None);
        assert_eq!(of("application/vnd.oasis.opendocument.text", &zip("mimetype")), Some(Format::Office));
        assert_eq!(of("application/epub+zip", &zip("mimetype")), Some(Format::Epub));
        assert_eq!(of("text/html", b"%PDF-1.7"), None);
        assert!(!Format::may_be(Some("text/html")) && !Format::may_be(Some("image/png")));
    }

    #[test]
    fn the_start_tells_it_where_the_type_says_nothing() {
        for unknown in UNKNOWN.into_iter().chain(ZIP) {
            assert_eq!(of(unknown, b"%PDF-1.7"), Some(Format::Pdf), "{unknown}");
            assert_eq!(of(unknown, &zip("[Content_Types].xml")), Some(Format::Office));
            assert_eq!(of(unknown, &zip("mimetypeapplication/epub+zipPK")), Some(Format::Epub));
            assert_eq!(of(unknown, &zip("mimetypeapplication/vnd.oasis.opendocument.textPK")), Some(Format::Office));
            assert_eq!(of(unknown, &zip("photo.jpg")), None);
            assert_eq!(of(unknown, b"text %PDF-1.7"), None);
            assert_eq!(of(unknown, b"PK\x03\x04"), None);
        }
    }
}

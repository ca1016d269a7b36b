//! The test for HTML: by a body's Content-Type, or by its start where that says nothing.

use crate::web::mime::MimeType;

/// Types that say nothing, like one that cannot be parsed.
const UNKNOWN: [&str; 3] = ["unknown/unknown", "application/unknown", "*/*"];

/// Starts of HTML pages (WHATWG MIME Sniffing, 7.1), lower case.
const STARTS: [&str; 17] = [
    "<!doctype html",
    "<html",
    "<head",
    "<script",
    "<iframe",
    "<h1",
    "<div",
    "<font",
    "<table",
    "<a",
    "<style",
    "<title",
    "<b",
    "<body",
    "<br",
    "<p",
    "<!--",
];

/// True if links are looked for in a body, which is without content coding. A stated type is believed.
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    stated(content_type).unwrap_or_else(|| starts_as_html(body))
}

/// True if a body can be HTML by its type, or by its start if that says nothing.
pub fn may_be_html(content_type: Option<&str>) -> bool {
    stated(content_type).unwrap_or(true)
}

/// Returns whether the type is HTML's; none where it says nothing.
fn stated(content_type: Option<&str>) -> Option<bool> {
    let stated = content_type.and_then(MimeType::parse)?.essence;
    let is_html = matches!(&*stated, "text/html" | "application/xhtml+xml");
    (!says_nothing(&stated)).then_some(is_html)
}

/// True if a type says no more than that none is known.
pub(super) fn says_nothing(essence: &str) -> bool {
    UNKNOWN.contains(&essence)
}

pub(super) fn starts_as_html(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    STARTS.iter().any(|start| {
        let Some((found, rest)) = body.split_at_checked(start.len()) else { return false };
        let is_ended = matches!(rest.first(), Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'>' | b'/'));
        found.eq_ignore_ascii_case(start.as_bytes()) && (is_ended || *start == "<!--")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_type_is_believed() {
        assert!(is_html(Some("text/html; charset=utf-8"), b""));
        assert!(is_html(Some("Text/HTML"), b"\0"));
        assert!(is_html(Some("application/xhtml+xml"), b""));
        assert!(!is_html(Some("text/plain"), b"<html>"));
        assert!(!is_html(Some("application/pdf"), b"<html>"));
    }

    #[test]
    fn without_a_type_the_start_of_the_body_tells() {
        for body in ["<!DOCTYPE html>", "\u{feff} \n<HTML lang=de>", "<!--x", "<p>", "<a href=x>"] {
            assert!(is_html(None, body.as_bytes()), "{body}");
            for says_nothing in ["", "*/*", "html", "text/html charset=utf-8"] {
                assert!(is_html(Some(says_nothing), body.as_bytes()), "{says_nothing}: {body}");
            }
        }
        for body in ["", "%PDF-1.4", "<?xml", "<abbr>", "text <p>", "<html"] {
            assert!(!is_html(None, body.as_bytes()), "{body}");
        }
    }
}

//! Lines of CDXJ files: `key timestamp {json}`, as `crawler export cdxj`, cdxj-indexer and pywb write them.

use data_encoding::BASE32;
use serde::Deserialize;

use super::Original;
use crate::clock::Time;
use crate::disk::{DiskFile, Error, Result};
use crate::warc::parse_date;
use crate::web::url::CanonicalUrl;

/// Bytes that are read at once.
const STEP_BYTES: usize = 1 << 20;
/// The longest line.
const LINE_MAX: usize = 1 << 20;

/// Kinds of line.
pub(super) enum Line {
    /// A response with this payload.
    Response([u8; 20], Original),
    /// Something else: a revisit, an error page, a header.
    Other,
    /// Nothing that can be read.
    Broken,
}

#[derive(Deserialize)]
struct Fields {
    url: String,
    #[serde(default)]
    mime: String,
    status: Option<Status>,
    digest: Option<String>,
    method: Option<String>,
}

/// Some tools write numbers as such.
#[derive(Deserialize)]
#[serde(untagged)]
enum Status {
    Text(String),
    Number(u16),
}

impl Status {
    fn is_page(&self) -> bool {
        let status = match self {
            Status::Text(text) => text.parse().unwrap_or(0),
            Status::Number(status) => *status,
        };
        (200..300).contains(&status)
    }
}

/// Calls `each` with the lines of a file.
pub(super) fn lines(file: &DiskFile, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let (mut buffer, mut position) = (Vec::new(), 0);
    loop {
        let kept = buffer.len();
        buffer.resize(kept + STEP_BYTES, 0);
        let got = file.read_at(&mut buffer[kept..], position)?;
        buffer.truncate(kept + got);
        position += got as u64;
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[start..]) {
            each(&buffer[start..start + length])?;
            start += length + 1;
        }
        buffer.drain(..start);
        if got == 0 {
            return if buffer.is_empty() { Ok(()) } else { each(&buffer) };
        }
        if buffer.len() > LINE_MAX {
            return Err(Error::damaged(file.path(), position, "lines of a CDXJ file", "a line of more than 1 MiB"));
        }
    }
}

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Line {
    let Ok(line) = std::str::from_utf8(line) else { return Line::Broken };
    if line.trim().is_empty() || line.starts_with('!') || line.starts_with(" CDX") {
        return Line::Other;
    }
    let mut parts = line.trim_end().splitn(3, ' ');
    let (_, Some(timestamp), Some(json)) = (parts.next(), parts.next(), parts.next()) else { return Line::Broken };
    let (Some((time, to_second)), Ok(fields)) = (moment(timestamp), serde_json::from_str::<Fields>(json)) else {
        return Line::Broken;
    };
    let is_get = fields.method.as_deref().is_none_or(|method| method == "GET");
    let is_response = fields.mime != "warc/revisit" && fields.status.as_ref().is_some_and(Status::is_page);
    let digest = fields.digest.as_deref().and_then(sha1);
    match (digest, CanonicalUrl::parse(&fields.url)) {
        (Some(sha1), Ok(_)) if is_get && is_response => {
            Line::Response(sha1, Original { url: fields.url, time, to_second, id_seed: None, source: 0 })
        }
        _ => Line::Other,
    }
}

/// A digest with or without the name of its algorithm.
fn sha1(text: &str) -> Option<[u8; 20]> {
    let digits = text.strip_prefix("sha1:").unwrap_or(text);
    BASE32.decode(digits.to_ascii_uppercase().as_bytes()).ok()?.try_into().ok()
}

/// A time of 14 digits, or of 17 with milliseconds; and whether it is to the second only.
fn moment(digits: &str) -> Option<(Time, bool)> {
    if !matches!(digits.len(), 14 | 17) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| &digits[range];
    let (day, clock) = ([part(0..4), part(4..6), part(6..8)], [part(8..10), part(10..12), part(12..14)]);
    let fraction = if digits.len() == 17 { &digits[14..] } else { "000" };
    let time = parse_date(&format!("{}T{}.{fraction}Z", day.join("-"), clock.join(":")))?;
    Some((time, digits.len() == 14))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";

    fn line(json: &str) -> String {
        format!("org,example)/ 20261121050844 {json}")
    }

    #[test]
    fn a_line_of_a_response_names_its_payload_url_and_time() {
        for digest in [DIGEST.to_owned(), format!("sha1:{DIGEST}"), DIGEST.to_lowercase()] {
            for status in ["\"200\"", "200"] {
                let line =
                    line(&format!(r#"{{"url":"https://example.org/","status":{status},"digest":"{digest}","x":1}}"#));
                let Line::Response(sha1, original) = parse(line.as_bytes()) else { panic!("{line}") };
                assert_eq!(BASE32.encode(&sha1), DIGEST);
                assert_eq!((original.url.as_str(), original.date().as_str()), {
                    ("https://example.org/", "2026-11-21T05:08:44Z")
                });
            }
        }
    }

    #[test]
    fn what_is_no_page_is_passed_over_and_what_is_no_line_is_told() {
        let fields = |more: &str| line(&format!(r#"{{"url":"https://example.org/","digest":"{DIGEST}"{more}}}"#));
        for text in [
            fields(r#","status":"404""#),
            fields(r#","status":"200","mime":"warc/revisit""#),
            fields(r#","status":"200","method":"POST""#),
            fields(""),
            line(r#"{"url":"dns:example.org","status":"200","digest":"-"}"#),
            "!meta 0 {\"format\":\"cdxj-gzip-1.0\"}".to_owned(),
            String::new(),
        ] {
            assert!(matches!(parse(text.as_bytes()), Line::Other), "{text}");
        }
        for text in
            ["org,example)/ 2026 {}", "a b", "org,example)/ 20261121050844 {", "org,example)/ 20261321050844 {}"]
        {
            assert!(matches!(parse(text.as_bytes()), Line::Broken), "{text}");
        }
    }
}

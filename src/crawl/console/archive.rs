//! Archived versions of a URL, and the content of one for a browser.
//!
//! What a browser is given of the web neither runs nor loads anything: the answer says so (`console::answer`), what
//! connects all the same is taken out ([`preview`]), and types that no such frame can show are refused here.

use std::path::Path;

use super::directories::{directories, fault};
use super::preview;
use crate::console::{Content, Problem, Version};
use crate::container::KeyRecord;
use crate::crawl::options;
use crate::dirs::CrawlDirs;
use crate::dirs::{Archives, Found, has_no_page};
use crate::disk::Disk;
use crate::text::figures::size;
use crate::web::mime::{self, MimeType};
use crate::web::url::CanonicalUrl;
use crate::web::{coding, headers};

/// Versions that are shown.
const VERSIONS_MAX: usize = 1_000;
/// Compressed bytes of a record beyond which it is not read for a browser, and bytes of a body that is shown.
const RECORD_BYTES_MAX: u64 = 32 << 20;
const BODY_BYTES_MAX: usize = 16 << 20;
/// Pictures that every browser shows.
const PICTURES: [&str; 9] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "image/x-icon",
    "image/vnd.microsoft.icon",
    "image/svg+xml",
];

/// The archive of the crawl in `dir`.
pub(super) fn open(dir: &Path) -> Result<Archives, Problem> {
    let disk = Disk::real();
    let dirs: CrawlDirs = directories(&disk, dir)?;
    let keys = match dirs.keys() {
        Some(keys) => keys.clone(),
        None if has_no_page(&disk, dir) => return Err(Problem::Missing("nothing is archived yet".to_owned())),
        None => options::key_maker(dir).map_err(|error| Problem::Fault(error.to_string()))?,
    };
    Ok(Archives::new(disk, dirs, keys))
}

/// The versions of `url` in the archive of the crawl in `dir`, the newest first.
pub(super) fn versions(dir: &Path, url: &CanonicalUrl) -> Result<Vec<Version>, Problem> {
    let archives = open(dir)?;
    let versions = chain(&archives, url, VERSIONS_MAX)?.into_iter().enumerate();
    Ok(versions.map(|(number, (_, record))| version(number, record)).collect())
}

fn version(number: usize, record: KeyRecord) -> Version {
    Version {
        number,
        at: record.time,
        status: record.status,
        mime: record.mime,
        bytes: record.payload_bytes,
        url: record.url,
    }
}

/// The newest `count` versions.
fn chain(archives: &Archives, url: &CanonicalUrl, count: usize) -> Result<Vec<Found>, Problem> {
    let mut versions = Vec::new();
    let mut next = archives.newest(url).map_err(fault)?;
    while let Some(found) = next.take().filter(|_| versions.len() < count) {
        // a chain that does not lead back has its own end
        let older = archives.previous(&found).map_err(fault)?;
        next = older.filter(|(_, older)| older.offset < found.1.offset);
        versions.push(found);
    }
    Ok(versions)
}

/// Returns the content of the version with this number.
pub(super) fn page(dir: &Path, url: &CanonicalUrl, number: usize) -> Result<Content, Problem> {
    let archives = open(dir)?;
    let missing = || Problem::Missing("this version of the URL is not in the archive".to_owned());
    let versions = chain(&archives, url, number.min(VERSIONS_MAX).saturating_add(1))?;
    let (place, record) = versions.get(number).ok_or_else(missing)?;
    if record.value_bytes > RECORD_BYTES_MAX {
        return Err(too_large(record.value_bytes));
    }
    let reader = archives.reader(*place).map_err(fault)?.ok_or_else(missing)?;
    let response = reader.response(record).map_err(fault)?;
    // what a 304 does not say of its body, the answer with the body says
    let of_body = |own: Option<String>, read: &dyn Fn() -> Option<String>| {
        own.or_else(|| if response.status == 304 { read() } else { None })
    };
    let stated = of_body(mime::content_type(&response.headers), &|| mime::content_type(&response.payload_headers));
    let encoding = of_body(headers::list(&response.headers, "content-encoding"), &|| {
        headers::list(&response.payload_headers, "content-encoding")
    });
    let stated = stated.unwrap_or_else(|| record.mime.clone());
    let mime = shown_as(&stated).ok_or_else(|| {
        let stated = if stated.is_empty() { "unknown" } else { &stated };
        Problem::Kind(format!("a body of type {stated} is not shown here: run crawler get"))
    })?;
    let body_max = coding::within_ratio(response.body.len(), BODY_BYTES_MAX);
    let decoded = coding::decode(encoding.as_deref(), &response.body, body_max);
    if decoded.bytes.len() >= BODY_BYTES_MAX {
        return Err(too_large(decoded.bytes.len() as u64));
    }
    Ok(match mime::stated(Some(&mime)) {
        "text/html" | "application/xhtml+xml" => preview::page(&decoded.bytes, &mime),
        "image/svg+xml" => preview::drawing(&decoded.bytes),
        _ => Content { mime, body: decoded.bytes.into_owned() },
    })
}

fn too_large(bytes: u64) -> Problem {
    Problem::TooMuch(format!("the body takes {} or more, too much for a browser: run crawler get", size(bytes)))
}

/// The type as which a body of the type `stated` is given to a browser; nothing for what is not shown.
fn shown_as(stated: &str) -> Option<String> {
    let MimeType { essence, charset } = MimeType::parse(stated)?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:+".contains(&byte));
    let charset = charset.filter(|charset| is_plain(charset));
    let with = |essence: &str| match &charset {
        Some(charset) => format!("{essence}; charset={charset}"),
        None => essence.to_owned(),
    };
    if PICTURES.contains(&essence.as_str()) {
        return Some(essence);
    }
    let is_text = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.as_str(),
            "application/json" | "application/xml" | "application/javascript" | "application/x-javascript"
        );
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Some(with(&essence)),
        _ if is_text => Some(with("text/plain")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_pictures_are_shown_as_they_are_other_texts_as_text_and_nothing_else_is() {
        for (stated, shown) in [
            ("text/html; charset=UTF-8", Some("text/html; charset=UTF-8")),
            ("application/xhtml+xml", Some("application/xhtml+xml")),
            ("IMAGE/PNG; x=1", Some("image/png")),
            ("image/svg+xml", Some("image/svg+xml")),
            ("text/css", Some("text/plain")),
            ("application/javascript; charset=\"a b\"", Some("text/plain")),
            ("application/rss+xml", Some("text/plain")),
            ("application/pdf", None),
            ("image/x-unheard-of", None),
            ("application/octet-stream", None),
            ("multipart/x-mixed-replace", None),
            ("html", None),
            ("", None),
        ] {
            assert_eq!(shown_as(stated).as_deref(), shown, "{stated}");
        }
    }
}

//! Records of the type `resource` whose URL is one of the web: pages of archives that were made of files, say. Their
//! block is the body; this program writes none such (its pictures of pages have URLs of their own scheme).

use super::Header;

/// The status of such a page.
pub(crate) const STATUS: u16 = 200;

/// Returns whether a record of the type `kind` with this target is such a page.
pub(crate) fn is_page(kind: &str, target: Option<&str>) -> bool {
    kind == "resource" && target.is_some_and(|url| url.starts_with("http://") || url.starts_with("https://"))
}

/// The headers that an answer with the page would have, by the `Content-Type` of its record.
pub(crate) fn headers(content_type: Option<&str>) -> Vec<Header> {
    let header = |value: &str| (b"Content-Type".as_slice().into(), value.as_bytes().into());
    content_type.map(header).into_iter().collect()
}

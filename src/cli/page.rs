//! Answers of the archive as pages: whether they are, and their HTML.

use super::archive::Response;
use crate::reading::page::{self, html_of};
pub(super) use crate::reading::page::{text_of, title_of};

/// True for an answer that is read as a page.
pub(super) fn is_page(response: &Response) -> bool {
    page::is_page(&response.decoded, response.content_type().as_deref())
}

/// The HTML of a page, in the encoding that the crawl took it for when it looked for links.
pub(super) fn decode(response: &Response) -> String {
    html_of(&response.decoded, response.content_type().as_deref())
}

//! Main content as Markdown.
//!
//! dom_query writes it. What the library does not know is prepared in its tree: what browsers part is parted, and links
//! are absolute.

use dom_query::Document;
use url::Url;

/// The Markdown of a part of a page; links are resolved against `base`, where there is one.
pub(super) fn markdown(html: &str, base: Option<&Url>) -> String {
    let found = Document::fragment(html);
    found.select("dt, dd, summary, center").rename("p");
    found.select("a br").replace_with_html(" ");
    found.select("pre div, pre p").append_html("\n");
    resolve(&found, base);
    found.root().md(None).to_string()
}

/// Makes the addresses of links and pictures absolute; what is run by a click is no link.
fn resolve(found: &Document, base: Option<&Url>) {
    found.select("a[href^='javascript:']").remove_attr("href");
    let Some(base) = base else { return };
    for (selector, name) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in found.select(selector).nodes() {
            if let Ok(url) = base.join(node.attr_or(name, "").trim()) {
                node.set_attr(name, url.as_str());
            }
        }
    }
}

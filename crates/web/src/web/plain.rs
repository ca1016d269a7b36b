//! URLs in text without markup.

use linkify::{LinkFinder, LinkKind};

/// Hands each URL with its scheme, http or https, to `found`.
pub(crate) fn urls(text: &str, found: &mut dyn FnMut(&str)) {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let of_web = |url: &&str| url.starts_with("http://") || url.starts_with("https://");
    finder.links(text).map(|link| link.as_str()).filter(of_web).for_each(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_end_where_people_end_them() {
        let mut found = Vec::new();
        let text =
            "See https://a.example/x, (http://b.example/y_(z)) and <https://c.example/>. ftp://d.example e.example";
        urls(text, &mut |url| found.push(url.to_owned()));
        assert_eq!(found, ["https://a.example/x", "http://b.example/y_(z)", "https://c.example/"]);
    }
}

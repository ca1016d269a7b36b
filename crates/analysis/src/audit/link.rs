//! A link as a line, sorted by where it leads.

use super::line::{fields, line};

/// Ways in which a URL is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// `a`, `area`.
    Anchor,
    /// Part of a page.
    Embed,
    /// A refresh by `<meta http-equiv=refresh>` or a header field.
    Refresh,
    /// The canonical URL of a page.
    Canonical,
    /// `<link>`s of other kinds, feeds.
    Other,
    /// The `Link` header.
    Header,
    /// The target of an answer that redirects.
    Redirect,
    /// An entry of a sitemap.
    Listed,
    /// A sitemap that robots.txt or an index names.
    Sitemap,
}

const NAMES: [(How, &str); 9] = [
    (How::Anchor, "anchor"),
    (How::Embed, "embed"),
    (How::Refresh, "refresh"),
    (How::Canonical, "canonical"),
    (How::Other, "other"),
    (How::Header, "header"),
    (How::Redirect, "redirect"),
    (How::Listed, "listed"),
    (How::Sitemap, "sitemap"),
];

impl How {
    /// Returns its name in `export links`.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(how, _)| *how == self).map_or("", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<How> {
        NAMES.iter().find(|(_, found)| *found == name).map(|(how, _)| *how)
    }

    /// Returns whether a visitor comes along it.
    pub(super) fn is_followed(self) -> bool {
        matches!(self, How::Anchor | How::Refresh | How::Redirect)
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The key of where it leads.
    pub target: String,
    pub how: How,
    /// The URL of the page that names it.
    pub source: String,
    /// True if it has rel=nofollow.
    pub nofollow: bool,
    /// True if it leads to another host.
    pub leaves: bool,
    /// The text of the anchor.
    pub text: String,
    /// The URL as it is named, where that is not its key.
    pub url: String,
}

impl Link {
    pub(super) fn line(&self) -> Vec<u8> {
        let flags = format!("{}{}", if self.nofollow { "n" } else { "" }, if self.leaves { "x" } else { "" });
        let url = if self.url == self.target { "" } else { self.url.as_str() };
        line([&self.target, self.how.name(), &self.source, &flags, &self.text, url])
    }

    pub(super) fn of_line(bytes: &[u8]) -> Option<Link> {
        let [target, how, source, flags, text, url] = fields(bytes);
        Some(Link {
            how: How::parse(how)?,
            source: source.to_owned(),
            nofollow: flags.contains('n'),
            leaves: flags.contains('x'),
            text: text.to_owned(),
            url: if url.is_empty() { target } else { url }.to_owned(),
            target: target.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_as_it_was_written() {
        for (how, name) in NAMES {
            assert_eq!(how.name(), name);
            let link = Link {
                target: "https://a.example/".to_owned(),
                how,
                source: "https://b.example/".to_owned(),
                nofollow: how == How::Anchor,
                leaves: how == How::Embed,
                text: "ü".to_owned(),
                url: "https://a.example/?utm_source=x".to_owned(),
            };
            assert_eq!(Link::of_line(&link.line()), Some(link));
        }
        assert_eq!(Link::of_line(b"x"), None);
    }
}

//! The state of a URL: how it was answered, or why not. Each source that knows of it adds a line, and the line that
//! counts comes first.

use super::line::{fields, line};
use super::spool::Lines;
use crate::clock::Time;
use crate::disk::Result;
use crate::outcome::status_text;
use crate::web::kind::Kind;

/// An answer for a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// The URL as it was requested.
    pub url: String,
    /// A page that the server calls unchanged has 200.
    pub status: u16,
    pub is_html: bool,
    pub noindex: bool,
    /// The kind of the answer, where it is no content.
    pub kind: Option<Kind>,
    /// Links from a seed.
    pub depth: Option<u32>,
    /// The key of where it redirects; empty where it does not.
    pub redirect: String,
    /// The key of its canonical URL; empty where it names none but itself.
    pub canonical: String,
}

/// The state of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// It was answered.
    Answered(Answered),
    /// It was asked for in vain.
    Failed(String),
    /// robots.txt forbids it, by this rule.
    Forbidden(String),
}

/// Marks of lines, in the order in which they count.
const ANSWERED: &str = "a";
const FAILED: &str = "f";
const FORBIDDEN: &str = "r";

impl Node {
    /// Its line, for the URL of this key, known since a moment.
    pub(super) fn line(&self, key: &str, time: Time) -> Vec<u8> {
        // the newest one first
        let time = format!("{:016x}", u64::MAX - time.ms());
        match self {
            Node::Answered(known) => {
                let kind = known.kind.map_or("", Kind::text);
                let flags = [(known.is_html, "h"), (known.noindex, "n")];
                let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag).collect();
                let flags = format!("{flags} {kind}");
                let depth = known.depth.map_or(String::new(), |depth| depth.to_string());
                let status = known.status.to_string();
                let [redirect, canonical, url] = [&known.redirect, &known.canonical, &known.url].map(String::as_str);
                line([key, ANSWERED, &time, &status, &flags, &depth, redirect, canonical, url])
            }
            Node::Failed(why) => line([key, FAILED, &time, why]),
            Node::Forbidden(rule) => line([key, FORBIDDEN, &time, rule]),
        }
    }

    /// Key and node of a line.
    pub(super) fn of_line(bytes: &[u8]) -> Option<(&str, Node)> {
        let [key, mark, _, first, second, depth, redirect, canonical, url] = fields(bytes);
        let node = match mark {
            ANSWERED => {
                let (flags, kind) = second.split_once(' ')?;
                Node::Answered(Answered {
                    url: url.to_owned(),
                    status: first.parse().ok()?,
                    is_html: flags.contains('h'),
                    noindex: flags.contains('n'),
                    kind: Kind::of_text(kind),
                    depth: depth.parse().ok(),
                    redirect: redirect.to_owned(),
                    canonical: canonical.to_owned(),
                })
            }
            FAILED => Node::Failed(first.to_owned()),
            FORBIDDEN => Node::Forbidden(first.to_owned()),
            _ => return None,
        };
        Some((key, node))
    }

    /// Reads the state of the URL of this key. The keys have to rise from call to call.
    pub(super) fn of(nodes: &mut Lines<'_>, key: &[u8]) -> Result<Option<Node>> {
        let line = nodes.next_of(key)?;
        Ok(line.and_then(|line| Node::of_line(&line).map(|(_, node)| node)))
    }

    /// Returns what is wrong with it for those who follow a link to it, and `None` where all is well.
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Node::Answered(Answered { kind: Some(Kind::SoftNotFound), status: code, .. }) => {
                Some(format!("{}, but its page says that there is none", status(*code)))
            }
            Node::Answered(known) if known.status >= 400 && self.withheld().is_none() => Some(status(known.status)),
            Node::Failed(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// The kind of an answer behind which a page may be that others get.
    pub(super) fn withheld(&self) -> Option<Kind> {
        match self {
            Node::Answered(known) => known.kind.filter(|kind| kind.hides_page()),
            _ => None,
        }
    }

    /// The key of where it redirects.
    pub(super) fn redirect(&self) -> Option<&str> {
        match self {
            Node::Answered(known) => Some(known.redirect.as_str()).filter(|target| !target.is_empty()),
            _ => None,
        }
    }

    /// Returns whether it is a page with content.
    pub(super) fn is_page(&self) -> bool {
        matches!(self, Node::Answered(known) if known.status == 200 && known.is_html && known.kind.is_none())
    }
}

/// A status with its words.
pub(super) fn status(code: u16) -> String {
    format!("{code} {}", status_text(code)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::spool::Spool;
    use super::*;
    use crate::disk::sorter::Sorter;

    fn answered(status: u16) -> Node {
        let url = "https://a.example/?utm_source=x".to_owned();
        Node::Answered(Answered { url, status, is_html: true, depth: Some(2), ..Answered::default() })
    }

    #[test]
    fn a_wall_is_no_fault_of_the_site_and_a_page_that_says_there_is_none_is_one() {
        let of = |status, kind| match answered(status) {
            Node::Answered(known) => Node::Answered(Answered { kind: Some(kind), ..known }),
            other => other,
        };
        for (status, kind) in [(403, Kind::Challenge), (402, Kind::Payment), (200, Kind::Login)] {
            let node = of(status, kind);
            assert_eq!((node.fault(), node.withheld(), node.is_page()), (None, Some(kind), false));
            assert_eq!(Node::of_line(&node.line("k", Time::ZERO)), Some(("k", node.clone())));
        }
        assert!(of(200, Kind::SoftNotFound).fault().is_some_and(|fault| fault.starts_with("200 OK, but")));
    }

    #[test]
    fn of_several_words_about_a_url_the_newest_answer_counts() {
        let mut sorter = Sorter::new(0);
        let nodes = [
            (Node::Failed("no connection".to_owned()), 9),
            (answered(200), 1),
            (answered(404), 7),
            (Node::Forbidden("Disallow: /".to_owned()), 8),
        ];
        for (node, ms) in &nodes {
            assert_eq!(Node::of_line(&node.line("k", Time::from_ms(*ms))), Some(("k", node.clone())));
            sorter.push(&node.line("k", Time::from_ms(*ms))).unwrap();
        }
        sorter.push(&Node::Failed("no such host".to_owned()).line("l", Time::ZERO)).unwrap();
        let spool = Spool::of(sorter).unwrap();
        let mut lines = spool.read();
        let node = Node::of(&mut lines, b"k").unwrap().unwrap();
        assert_eq!((node.fault().as_deref(), node.is_page()), (Some("404 Not Found"), false));
        assert_eq!(Node::of(&mut lines, b"kk").unwrap(), None);
        assert_eq!(Node::of(&mut lines, b"l").unwrap().unwrap().fault().as_deref(), Some("no such host"));
    }
}

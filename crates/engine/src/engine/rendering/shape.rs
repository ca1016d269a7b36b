//! Patterns of URLs, from the closest to the widest: what the URLs have in common.
//!
//! The closest pattern is the path with its varying parts taken out, and the names of its parameters: `/product/17` and
//! `/product/blue-shirt-of-linen` are one each whatever their number or title. Wider ones leave the last words open:
//! `/tag/linen` is of `/tag/~` and `/~/~`. A pattern is known by a fingerprint of the crawl's own, which nobody can aim
//! at.

use crate::fingerprint::Fingerprint;
use crate::web::url::KeyMaker;

/// A word of a path that is longer, or has as many hyphens, is a title.
const TITLE_BYTES: usize = 24;
const TITLE_HYPHENS: usize = 2;
/// Patterns that are wider than the closest one.
const WIDER_MAX: usize = 4;

/// The patterns of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patterns {
    /// The closest one.
    pub closest: u64,
    /// Wider ones, each wider than the one before.
    pub wider: Vec<u64>,
}

impl Patterns {
    pub(super) fn of(keys: &KeyMaker, origin: Fingerprint, url: &str) -> Patterns {
        let key = |shape: &str| keys.of(shape).bits().rotate_left(32) ^ origin.bits();
        let (closest, wider) = shapes(url);
        Patterns { closest: key(&closest), wider: wider.iter().map(|shape| key(shape)).collect() }
    }
}

/// The shapes of `url`: words with a digit are `#`, words that look like titles `*`, words that are left open `~`.
fn shapes(url: &str) -> (String, Vec<String>) {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[start..].find(['/', '?']).map_or("", |at| &url[start + at..]);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (path, end) = path.strip_suffix('/').map_or((path, ""), |path| (path, "/"));
    let words: Vec<&str> = path.split('/').skip(1).map(shape_of_word).collect();
    let mut closest: String = words.iter().flat_map(|word| ["/", word]).collect();
    closest.push_str(end);
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        closest.push('&');
        closest.push_str(parameter.split('=').next().unwrap_or_default());
    }
    let wider = (1..=words.len().min(WIDER_MAX)).map(|open| {
        let (kept, open) = words.split_at(words.len() - open);
        let kept = kept.iter().flat_map(|word| ["/", word]);
        kept.chain(open.iter().map(|_| "/~")).chain([end]).collect()
    });
    (closest, wider.collect())
}

fn shape_of_word(word: &str) -> &str {
    let is_title = word.len() > TITLE_BYTES || word.bytes().filter(|&byte| byte == b'-').count() >= TITLE_HYPHENS;
    match word {
        _ if word.bytes().any(|byte| byte.is_ascii_digit()) => "#",
        _ if is_title => "*",
        word => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_differ_in_what_varies_have_one_shape() {
        for (one, other) in [
            ("http://a/product/17", "http://a/product/4711"),
            ("http://a/post/why-we-wrote-this", "http://a/post/how-to-use-it-well"),
            ("http://a/search?q=a&page=2", "http://a/search?q=b&page=17"),
        ] {
            assert_eq!(shapes(one), shapes(other));
        }
        assert_ne!(shapes("http://a/about").0, shapes("http://a/contact").0);
        assert_ne!(shapes("http://a/about").0, shapes("http://a/about/").0);
        assert_eq!((shapes("http://a").0, shapes("http://a/").0), (String::new(), "/".to_owned()));
    }

    #[test]
    fn wider_shapes_leave_the_last_words_open() {
        assert_eq!(
            shapes("http://a/tag/linen?page=2"),
            ("/tag/linen&page".to_owned(), vec!["/tag/~".to_owned(), "/~/~".to_owned()])
        );
        assert_eq!(shapes("http://a/tag/linen/").1, ["/tag/~/", "/~/~/"]);
        assert!(shapes("http://a/").1.is_empty() && shapes("http://a").1.is_empty());
        assert_eq!(shapes("http://a/b/c/d/e/f/g").1.len(), WIDER_MAX);
    }
}

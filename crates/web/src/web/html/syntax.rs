//! The syntax of attribute values that hold URLs, and the places of the URLs in them.

use std::ops::Range;

use super::lazy::looks_like_url;
use crate::web::{css, values};

/// A form in which a value holds URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// It is one.
    Url,
    /// `srcset`: several, with descriptors.
    Srcset,
    /// Properties of CSS.
    Css,
    /// The content of a meta refresh: a time and a URL.
    Refresh,
    /// A page of its own.
    Markup,
    /// An attribute that a script reads: one of the others by its value, or none, as [`lazy_syntax`] says.
    Lazy,
}

/// Returns how an attribute that a script reads holds URLs; `value` is in UTF-8, with its character references.
pub fn lazy_syntax(name: &[u8], value: &[u8]) -> Option<Syntax> {
    let is_set = name.last_chunk::<3>().is_some_and(|end| end.eq_ignore_ascii_case(b"set"));
    if css::may_name(value) {
        Some(Syntax::Css)
    } else if is_set {
        Some(Syntax::Srcset)
    } else {
        looks_like_url(value).then_some(Syntax::Url)
    }
}

/// Returns the ranges of the URLs in a value, without character references, of this syntax; none for one that is not
/// plain text.
pub fn urls_in(value: &str, syntax: Syntax) -> Vec<Range<usize>> {
    // the parts are parts of the text: their distance is their offset
    let range = |part: &str| {
        let start = part.as_ptr().addr() - value.as_ptr().addr();
        start..start + part.len()
    };
    match syntax {
        Syntax::Url => std::iter::once(0..value.len()).collect(),
        Syntax::Srcset => values::srcset_urls(value).map(range).collect(),
        Syntax::Refresh => values::refresh_url(value).map(range).into_iter().collect(),
        Syntax::Css | Syntax::Markup | Syntax::Lazy => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_in_values_are_found_where_they_are() {
        let of = |value: &'static str, syntax| {
            urls_in(value, syntax).into_iter().map(|range| &value[range]).collect::<Vec<_>>()
        };
        assert_eq!(of(" a.png 1x, data:x,y 2x,b.png", Syntax::Srcset), ["a.png", "data:x,y", "b.png"]);
        assert_eq!(of("3; url='x y'", Syntax::Refresh), ["x y"]);
        assert_eq!(of("3", Syntax::Refresh), Vec::<&str>::new());
    }
}

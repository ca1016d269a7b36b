//! Attribute values that hold a URL among other things: `srcset` and meta refresh; what a URL is to its document.

/// Roles that a URL has for the document that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Part of what it shows, or of what it needs to do so.
    Part,
    /// Somewhere else.
    Link,
}

/// The URLs of a `srcset` (HTML standard, 4.8.4.2.1).
pub(crate) fn srcset_urls(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\x0c', '\r', ',']);
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_blank).unwrap_or(rest.len());
        let url = rest[..end].trim_end_matches(',');
        let has_descriptors = url.len() == end;
        rest = &rest[end..];
        if has_descriptors {
            rest = &rest[descriptors_end(rest)..];
        }
        Some(url)
    })
}

/// The index of the comma that ends the descriptors of a candidate: the first one outside of parentheses.
fn descriptors_end(descriptors: &str) -> usize {
    let mut is_nested = false;
    for (index, byte) in descriptors.bytes().enumerate() {
        match byte {
            b'(' => is_nested = true,
            b')' => is_nested = false,
            b',' if !is_nested => return index,
            _ => {}
        }
    }
    descriptors.len()
}

/// The URL of the content of `<meta http-equiv=refresh>` (HTML standard, 4.2.5.3); none if it only names a time.
pub(crate) fn refresh_url(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(is_blank);
    let after_time = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if after_time.len() == content.len() || !after_time.starts_with(|c| is_blank(c) || matches!(c, ';' | ',')) {
        return None;
    }
    let rest = after_time.trim_start_matches(is_blank);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(is_blank);
    let rest = after_url_word(rest).unwrap_or(rest);
    let url = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next().unwrap_or_default(),
        _ => rest,
    };
    Some(url).filter(|url| !url.is_empty())
}

/// Returns the text behind `url =`, if `text` starts with that.
fn after_url_word(text: &str) -> Option<&str> {
    let word = text.get(..3)?;
    let rest = text[3..].trim_start_matches(is_blank);
    word.eq_ignore_ascii_case("url").then(|| rest.strip_prefix('='))?.map(|rest| rest.trim_start_matches(is_blank))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidates_of_a_srcset_are_told_apart() {
        let urls = |value| srcset_urls(value).collect::<Vec<_>>();
        assert_eq!(urls("a.png 1x, b.png 2x"), ["a.png", "b.png"]);
        assert_eq!(urls(" ,, a.png,b.png ,c.png,, d.png"), ["a.png,b.png", "c.png", "d.png"]);
        assert_eq!(urls("a,1.png 100w (x, y) , b.png"), ["a,1.png", "b.png"]);
        assert_eq!(urls("data:image/png;base64,AAA= 1x"), ["data:image/png;base64,AAA="]);
        assert_eq!(urls(""), Vec::<&str>::new());
        assert_eq!(urls(" , "), Vec::<&str>::new());
    }

    #[test]
    fn the_url_of_a_refresh_is_found_as_browsers_find_it() {
        for (content, url) in [
            ("0;url=/a", Some("/a")),
            ("5; URL = '/a b' x", Some("/a b")),
            ("0 /a", Some("/a")),
            ("1.5,url=\"/a", Some("/a")),
            ("0;url", Some("url")),
            ("0; urlx=1", Some("urlx=1")),
            ("0;url=", None),
            ("5", None),
            ("5;", None),
            ("url=/a", None),
            ("0x;url=/a", None),
            ("0;ürl", Some("ürl")),
        ] {
            assert_eq!(refresh_url(content), url, "{content}");
        }
    }
}

//! The parameters of a URL, in all forms in which servers write session ids: `name=value` in the query and behind a `;`
//! in the path, and segments of the path in brackets, as ASP.NET writes them (`/(S(lit3py55t21z))/`).

use std::ops::Range;

/// A URL has at most this many of them; the others are part of what it names.
const PARAMETERS_MAX: usize = 8;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name; of a segment in brackets what it begins with, `(S(`.
    pub name: &'a str,
    /// Its value, which is not empty.
    pub value: &'a str,
    url: &'a str,
    /// Its range in the URL, with the separator before it.
    range: Range<usize>,
}

impl Parameter<'_> {
    /// The URL without it.
    pub fn base(&self) -> String {
        let (before, mut rest) = (&self.url[..self.range.start], &self.url[self.range.end..]);
        let mut base = before.to_owned();
        if self.url[self.range.clone()].starts_with('?')
            && let Some(others) = rest.strip_prefix('&')
        {
            base.push('?');
            rest = others;
        }
        base.push_str(rest);
        base
    }
}

/// The parameters of `url`, which is in the fetch form.
pub fn parameters(url: &str) -> Vec<Parameter<'_>> {
    let authority = url.find("://").map_or(0, |scheme| scheme + 3);
    let Some(slash) = url[authority..].find('/') else { return Vec::new() };
    let start = authority + slash;
    // nearly no URL goes further
    if memchr::memchr3(b'?', b';', b'(', &url.as_bytes()[start..]).is_none() {
        return Vec::new();
    }
    let query = url[start..].find('?').map_or(url.len(), |query| start + query);
    let of_path = parts(url, start..query, &['/', ';']);
    let of_query = parts(url, query..url.len(), &['?', '&']);
    of_path.chain(of_query).filter_map(|range| parameter(url, range)).take(PARAMETERS_MAX).collect()
}

/// The parts of `within`, each with the separator that it begins with.
fn parts<'a>(url: &'a str, within: Range<usize>, separators: &'a [char]) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut rest = within;
    std::iter::from_fn(move || {
        let first = url[rest.clone()].chars().next()?;
        let begin = rest.start + first.len_utf8();
        let end = url[begin..rest.end].find(separators).map_or(rest.end, |end| begin + end);
        let part = rest.start..end;
        rest.start = end;
        Some(part)
    })
}

fn parameter(url: &str, range: Range<usize>) -> Option<Parameter<'_>> {
    let (separator, text) = url[range.clone()].split_at_checked(1)?;
    let (name, value) = match separator {
        "/" => {
            let inner = text.strip_prefix('(').filter(|inner| inner.ends_with("))"))?;
            text.split_at(inner.find('(')? + 2)
        }
        _ => text.split_once('=')?,
    };
    (!name.is_empty() && !value.is_empty()).then_some(Parameter { name, value, url, range })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_in_each_form_and_goes_with_its_separator() {
        for (url, expected) in [
            ("http://h/a?sid=1", &[("sid", "1", "http://h/a")][..]),
            ("http://h/a?sid=1&t=2", &[("sid", "1", "http://h/a?t=2"), ("t", "2", "http://h/a?sid=1")]),
            ("http://h/a;s=1/b?t", &[("s", "1", "http://h/a/b?t")]),
            ("http://h/(S(x1y2))/b.aspx", &[("(S(", "x1y2))", "http://h/b.aspx")]),
            ("http://h/a?x&&=1&y=", &[]),
            ("http://h/a(1)/(b)/=c", &[]),
            ("http://h/ä;ö=ü?", &[("ö", "ü", "http://h/ä?")]),
            ("http://h", &[]),
        ] {
            let found = parameters(url);
            let bases: Vec<_> = found.iter().map(Parameter::base).collect();
            let found: Vec<_> = found.iter().zip(&bases).map(|(one, base)| (one.name, one.value, &**base)).collect();
            assert_eq!(found, expected, "{url}");
        }
        let many: Vec<String> = (0..20).map(|n| format!("p{n}=1")).collect();
        assert_eq!(parameters(&format!("http://h/?{}", many.join("&"))).len(), PARAMETERS_MAX);
    }

    #[test]
    fn no_text_makes_it_panic() {
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| b"%/?;=&(():a1\xc3\xa9"[random.usize(..14)]).collect();
            let text = String::from_utf8_lossy(&bytes);
            let _ = parameters(&text).iter().map(Parameter::base).count();
        }
    }
}

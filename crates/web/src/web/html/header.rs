//! The `Link` header (RFC 8288).

use super::LinkKind;
use super::element::kind_of_rel;
use crate::web::headers;

/// Targets that are taken from one header value.
const TARGETS_MAX: usize = 256;
/// Licences that are taken from a header.
const LICENSES_MAX: usize = 16;

/// The targets of a `Link` header value, as written: they are resolved against the page's URL. Each with its kind: what
/// a `<link>` of that `rel` would be, but for the canonical URL, which [`canonical_header`] finds. Hints to connect
/// (`preconnect`, `dns-prefetch`) name no page and are left out.
pub fn link_header(value: &str) -> Vec<(String, LinkKind)> {
    let kind = |parameters: &str| {
        let rel = parameter(parameters, "rel").unwrap_or_default();
        let has = |word: &str| rel.split_ascii_whitespace().any(|found| found.eq_ignore_ascii_case(word));
        kind_of_rel(has).map(|kind| if kind == LinkKind::Canonical { LinkKind::Other } else { kind })
    };
    let targets = links(value).filter_map(|(target, parameters)| Some((target.to_owned(), kind(parameters)?)));
    targets.take(TARGETS_MAX).collect()
}

/// The target that a `Link` header value names as the canonical URL of the page, as written. One that has an `anchor`
/// speaks of something else.
pub fn canonical_header(value: &str) -> Option<String> {
    let is_canonical = |parameters: &str| {
        let rel = parameter(parameters, "rel").unwrap_or_default();
        let of_page = parameter(parameters, "anchor").is_none();
        of_page && rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case("canonical"))
    };
    links(value).find(|(_, parameters)| is_canonical(parameters)).map(|(target, _)| target.to_owned())
}

/// The references of the licences that the header of an answer names, as written: targets of `Link` fields with
/// `rel=license`, and those of `tdm-policy`. A target that has an `anchor` is the licence of something else.
pub fn license_header<B: AsRef<[u8]>>(fields: &[(B, B)]) -> Vec<String> {
    let is_license = |parameters: &str| {
        let rel = parameter(parameters, "rel").unwrap_or_default();
        let of_page = parameter(parameters, "anchor").is_none();
        of_page && rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case("license"))
    };
    let mut references = Vec::new();
    for value in headers::named(fields, "link").map(headers::reference) {
        let named = links(&value).filter(|(_, parameters)| is_license(parameters));
        references.extend(named.map(|(target, _)| target.to_owned()).take(LICENSES_MAX));
    }
    references.extend(headers::named(fields, "tdm-policy").map(|value| headers::reference(value).into_owned()));
    references.truncate(LICENSES_MAX);
    references
}

/// Targets with their parameters.
fn links(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let open = rest.find('<')?;
        let (target, after) = rest[open + 1..].split_once('>')?;
        let end = parameters_end(after);
        rest = &after[end..];
        Some((target.trim(), &after[..end]))
    })
}

/// The index of the comma that ends the parameters: the first one outside of quotes.
fn parameters_end(parameters: &str) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (index, byte) in parameters.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return index,
            _ => {}
        }
    }
    parameters.len()
}

/// The first value of the parameter `wanted`.
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(value: &str) -> Vec<String> {
        link_header(value).into_iter().map(|(target, _)| target).collect()
    }

    #[test]
    fn targets_are_found_between_commas_outside_of_quotes() {
        let value = r#"</a>; rel="next"; title="x, </not>, \"y", <https://h/b?x=1,2>;rel=canonical , <>;rel=self"#;
        assert_eq!(targets(value), ["/a", "https://h/b?x=1,2", ""]);
        assert_eq!(targets("</c>"), ["/c"]);
    }

    #[test]
    fn hints_to_connect_are_no_links() {
        assert_eq!(targets("<https://cdn.h>; rel=preconnect, </s.css>; rel=\"preload\"; as=style"), ["/s.css"]);
        assert_eq!(targets("<//h>; REL = \"dns-prefetch\""), Vec::<String>::new());
    }

    #[test]
    fn a_target_has_the_kind_that_its_relation_names() {
        use LinkKind::*;
        let value =
            "</a>; rel=\"alternate Stylesheet\", </b>;rel=preload;as=font, </c>; rel=next, </d>; rel=canonical, </e>";
        let kinds: Vec<LinkKind> = link_header(value).into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Embed, Embed, Other, Other, Other]);
    }

    #[test]
    fn the_canonical_url_is_told_by_its_relation_alone() {
        let value = r#"</n>; rel=next, </c>; title="rel=canonical"; REL="start Canonical", </d>; rel=canonical"#;
        assert_eq!(canonical_header(value).as_deref(), Some("/c"));
        assert_eq!(canonical_header("</c>; rel=canonical; anchor=\"/other\"").as_deref(), None);
        assert_eq!(canonical_header("</c>; rel=canonicals, </c>; title=canonical"), None);
    }

    #[test]
    fn broken_values_give_what_can_be_read_in_bounded_number() {
        for value in ["", "<", "<a", ">", ",,,", "a; rel=next", "\"<a>"] {
            assert!(link_header(value).len() <= 1, "{value}");
        }
        assert_eq!(link_header(&"<a>,".repeat(100_000)).len(), TARGETS_MAX);
        assert_eq!(targets("<a>; title=\"unclosed, <b>"), ["a"]);
    }
}

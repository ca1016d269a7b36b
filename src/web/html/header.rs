//! The `Link` header (RFC 8288).

/// Targets that are taken from one header value.
const TARGETS_MAX: usize = 256;

/// The targets of a `Link` header value, as written: they are resolved against the page's URL. Hints to connect
/// (`preconnect`, `dns-prefetch`) name no page and are left out.
pub fn link_header(value: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = value;
    while let Some(open) = rest.find('<') {
        let Some((target, after)) = rest[open + 1..].split_once('>') else { break };
        let end = parameters_end(after);
        if !is_connect_hint(&after[..end]) && targets.len() < TARGETS_MAX {
            targets.push(target.trim().to_owned());
        }
        rest = &after[end..];
    }
    targets
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

fn is_connect_hint(parameters: &str) -> bool {
    let rel = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
    });
    rel.is_some_and(|rel| rel.eq_ignore_ascii_case("preconnect") || rel.eq_ignore_ascii_case("dns-prefetch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_between_commas_outside_of_quotes() {
        let value = r#"</a>; rel="next"; title="x, </not>, \"y", <https://h/b?x=1,2>;rel=canonical , <>;rel=self"#;
        assert_eq!(link_header(value), ["/a", "https://h/b?x=1,2", ""]);
        assert_eq!(link_header("</c>"), ["/c"]);
    }

    #[test]
    fn hints_to_connect_are_no_links() {
        assert_eq!(link_header("<https://cdn.h>; rel=preconnect, </s.css>; rel=\"preload\"; as=style"), ["/s.css"]);
        assert_eq!(link_header("<//h>; REL = \"dns-prefetch\""), Vec::<String>::new());
    }

    #[test]
    fn broken_values_give_what_can_be_read_in_bounded_number() {
        for value in ["", "<", "<a", ">", ",,,", "a; rel=next", "\"<a>"] {
            assert!(link_header(value).len() <= 1, "{value}");
        }
        assert_eq!(link_header(&"<a>,".repeat(100_000)).len(), TARGETS_MAX);
        assert_eq!(link_header("<a>; title=\"unclosed, <b>"), ["a"]);
    }
}

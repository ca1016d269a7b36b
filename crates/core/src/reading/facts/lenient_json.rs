//! JSON as pages write it: with comments of JavaScript and HTML around and within it, strings that go over lines, and a
//! comma behind the last entry.

use serde_json::Value;

/// The object or the list that a text is, if it is JSON but for what pages do to it.
pub(super) fn parse(text: &str) -> Option<Value> {
    let read = |text: &str| serde_json::from_str(text).ok();
    let value = read(text).or_else(|| read(&mended(text, Html::Marks))).or_else(|| read(&mended(text, Html::Comments)));
    value.filter(|value: &Value| value.is_object() || value.is_array())
}

/// What is left out of HTML: some pages write a comment, others have all JSON within one.
#[derive(Clone, Copy)]
enum Html {
    /// The marks of a comment.
    Marks,
    /// Comments with what is in them.
    Comments,
}

/// The text with a blank for each comment and each control character, and without a comma that nothing follows.
/// Comments are those of JavaScript (`/* */`, and `//` to the end of the line), those of HTML (`<!-- -->`), and the
/// marks of a CDATA section.
fn mended(text: &str, html: Html) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest, html);
        if skipped > 0 {
            out.push(' ');
            rest = &rest[skipped..];
        } else if first == '"' {
            rest = string(rest, &mut out);
        } else {
            if matches!(first, ']' | '}') {
                let end = out.trim_end().len();
                out.truncate(out[..end].strip_suffix(',').map_or(end, str::len));
            }
            out.push(if first.is_control() { ' ' } else { first });
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Bytes of what is no JSON at the beginning of a text that is in no string.
fn skipped(text: &str, html: Html) -> usize {
    let to = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    match html {
        _ if text.starts_with("//") => text.find(['\n', '\r']).unwrap_or(text.len()),
        _ if text.starts_with("/*") => text[2..].find("*/").map_or(text.len(), |end| end + 4),
        Html::Comments if text.starts_with("<!--") => to("-->"),
        _ => ["<!--", "-->", "<![CDATA[", "]]>"].into_iter().find(|mark| text.starts_with(mark)).map_or(0, str::len),
    }
}

/// Copies a string, with blanks for its control characters, and returns what is behind it.
fn string<'a>(text: &'a str, out: &mut String) -> &'a str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        out.push(if c.is_control() { ' ' } else { c });
        if c == '"' && at > 0 && !escaped {
            return &text[at + 1..];
        }
        escaped = c == '\\' && !escaped;
    }
    ""
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_control_characters_are_no_fault() {
        for (text, value) in [
            ("{\"a\": 1}", json!({"a": 1})),
            ("<!-- {\"a\": 1} -->", json!({"a": 1})),
            ("//<![CDATA[\n[1]\n//]]>", json!([1])),
            ("/* one */ [1, // two\n 2 /**/]", json!([1, 2])),
            ("[\"//no\", \"/*no*/\", \"<!--\\\"//\"]", json!(["//no", "/*no*/", "<!--\"//"])),
            ("<!-- one, \"two -->{\"a\": 1, // three\n}", json!({"a": 1})),
            ("[{\"a\": \"x,\" , }, [],\n]", json!([{"a": "x,"}, []])),
            ("[\"a\nb\\\\\", \"\tc\"]\u{1}", json!(["a b\\", " c"])),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        for text in ["", "{", "[1", "[\"a]", "/*", "//", "{a: 1}", "[,1]", "null", "5", "\u{fc}", "\"\\"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

//! Media types: the `Content-Type` of an answer, as the WHATWG MIME Sniffing and Fetch standards read it.
//!
//! Takes time linear in the fields. Of the parameters only `charset` is kept, which is all that a crawl asks for.

use super::headers;

/// A type that could be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MimeType {
    /// `type/subtype` in lower case.
    pub essence: String,
    /// The first parameter `charset`, as written.
    pub charset: Option<String>,
}

impl MimeType {
    /// Parses one value ("parse a MIME type"); none where it has no type, no subtype, or other characters in them.
    pub fn parse(text: &str) -> Option<MimeType> {
        let text = text.trim_matches(is_blank);
        let (kind, rest) = text.split_once('/')?;
        let (subtype, parameters) = rest.split_once(';').map_or((rest, None), |(name, rest)| (name, Some(rest)));
        let subtype = subtype.trim_end_matches(is_blank);
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        let charset = parameters.and_then(charset_in);
        Some(MimeType { essence: format!("{kind}/{subtype}").to_ascii_lowercase(), charset })
    }

    /// Writes the type as a header value.
    fn into_text(self) -> String {
        match self.charset {
            // what a quoted value may hold and a bare one may not
            Some(charset) if !is_token(&charset) => {
                let escaped = charset.replace('\\', "\\\\").replace('"', "\\\"");
                format!("{};charset=\"{escaped}\"", self.essence)
            }
            Some(charset) => format!("{};charset={charset}", self.essence),
            None => self.essence,
        }
    }
}

/// The type that the `Content-Type` fields of an answer state together ("extract a MIME type" of the Fetch standard):
/// the type of the last value that can be parsed. It has the charset of an earlier one of the same type where it states
/// none itself. Where none can be parsed, the first value as it came.
pub fn content_type<B: AsRef<[u8]>>(fields: &[(B, B)]) -> Option<String> {
    let values: Vec<String> = headers::named(fields, "content-type").map(headers::isomorphic).collect();
    let mut stated: Option<MimeType> = None;
    for value in split(&values.join(", ")) {
        let Some(mut found) = MimeType::parse(value).filter(|found| found.essence != "*/*") else { continue };
        if let Some(before) = stated.filter(|before| before.essence == found.essence && found.charset.is_none()) {
            found.charset = before.charset;
        }
        stated = Some(found);
    }
    stated.map(MimeType::into_text).or_else(|| values.into_iter().next())
}

/// The `type/subtype` of a `Content-Type`, in lower case, whatever it is; empty for none.
pub fn essence(content_type: Option<&str>) -> String {
    stated(content_type).to_ascii_lowercase()
}

/// The type without its parameters as it was sent: what an archive keeps. It is compared without its case.
pub fn stated(content_type: Option<&str>) -> &str {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// True if a type in lower case, without parameters, is one of JavaScript ("JavaScript MIME type").
pub fn is_javascript(essence: &str) -> bool {
    let Some((kind, subtype)) = essence.split_once('/') else { return false };
    match kind {
        "application" => matches!(subtype, "ecmascript" | "javascript" | "x-ecmascript" | "x-javascript"),
        "text" => {
            let plain = matches!(subtype, "ecmascript" | "javascript" | "jscript" | "livescript");
            let numbered = subtype.strip_prefix("javascript1.");
            plain
                || numbered.is_some_and(|number| matches!(number, "0" | "1" | "2" | "3" | "4" | "5"))
                || matches!(subtype, "x-ecmascript" | "x-javascript")
        }
        _ => false,
    }
}

/// The values of a list: commas in quotes part nothing.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = unquoted(text, b',');
        rest = text.get(end + 1..);
        Some(&text[..end])
    })
}

/// Returns the index of the first `wanted` outside of quotes, or the length of `text`.
fn unquoted(text: &str, wanted: u8) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if byte == wanted && !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// The first parameter `charset` that has a value.
fn charset_in(parameters: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        rest = rest.trim_start_matches(is_blank);
        let end = rest.find([';', '='])?;
        // blanks around the `=` are an error that browsers forgive
        let (name, after) = (rest[..end].trim_end_matches(is_blank), &rest[end + 1..]);
        if rest.as_bytes()[end] == b';' {
            rest = after;
            continue;
        }
        let after = after.trim_start_matches(is_blank);
        let is_quoted = after.starts_with('"');
        let end = if is_quoted { unquoted_end(after) } else { after.find(';').unwrap_or(after.len()) };
        let value = if is_quoted { unquote(&after[..end]) } else { after[..end].trim_end_matches(is_blank).to_owned() };
        let is_allowed = is_quoted || !value.is_empty();
        if name.eq_ignore_ascii_case("charset") && is_allowed && value.chars().all(is_quotable) {
            return Some(value);
        }
        rest = after.get(end..)?.split_once(';')?.1;
    }
}

/// Returns the index behind the quoted string that `text` starts with.
fn unquoted_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the text in a quoted string. One that is not closed ends with the text.
fn unquote(quoted: &str) -> String {
    let mut value = String::new();
    let mut chars = quoted.chars().skip(1);
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.push(chars.next().unwrap_or('\\')),
            '"' => break,
            c => value.push(c),
        }
    }
    value
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// True if `text` is a token (RFC 9110, section 5.6.2), as names of header fields and types are.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_quotable(c: char) -> bool {
    c == '\t' || (' '..='~').contains(&c) || ('\u{80}'..='\u{ff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<String> {
        let bytes = |value: &str| value.chars().map(|c| u8::try_from(c).unwrap()).collect::<Vec<u8>>();
        let fields: Vec<(Vec<u8>, Vec<u8>)> =
            values.iter().map(|value| (b"Content-Type".to_vec(), bytes(value))).collect();
        content_type(&fields)
    }

    /// The cases of web-platform-tests, fetch/content-type/resources/content-types.json (3-clause BSD); of the types
    /// only what is kept here.
    #[test]
    fn n18_of_several_content_types_the_last_that_parses_counts() {
        let cases: [(&[&str], &str); 16] = [
            (&["", "text/plain"], "text/plain"),
            (&["text/plain", ""], "text/plain"),
            (&["text/html", "text/plain"], "text/plain"),
            (&["text/plain;charset=gbk", "text/html"], "text/html"),
            (&["text/plain;charset=gbk", "text/html;charset=windows-1254"], "text/html;charset=windows-1254"),
            (&["text/plain;charset=gbk", "text/plain"], "text/plain;charset=gbk"),
            (&["text/plain;charset=gbk", "text/plain;charset=windows-1252"], "text/plain;charset=windows-1252"),
            (&["text/html;charset=gbk", "text/html;x=\",text/plain"], "text/html;charset=gbk"),
            (&["text/html;charset=gbk", "text/plain", "text/html"], "text/html"),
            (&["text/plain", "*/*"], "text/plain"),
            (&["text/html", "*/*"], "text/html"),
            (&["*/*", "text/html"], "text/html"),
            (&["text/plain", "*/*;charset=gbk"], "text/plain"),
            (&["text/html", "*/*;charset=gbk"], "text/html"),
            (&["text/html;x=\"", "text/plain"], "text/html"),
            (&["text/html;\"", "text/plain"], "text/html"),
        ];
        for (values, expected) in cases {
            assert_eq!(of(values).as_deref(), Some(expected), "{values:?}");
        }
    }

    #[test]
    fn n18_what_cannot_be_parsed_stays_as_it_came() {
        assert_eq!(of(&[]), None);
        for raw in ["html", "text/html charset=utf-8", "", "/", "text/", "te xt/html"] {
            assert_eq!(of(&[raw]).as_deref(), Some(raw));
        }
        assert_eq!(of(&["html", "text"]).as_deref(), Some("html"));
    }

    #[test]
    fn parameters_are_read_with_their_quotes() {
        let charset = |text: &str| MimeType::parse(text).unwrap().charset;
        for (text, expected) in [
            ("Text/HTML ; CharSet=\"utf-8\" ", Some("utf-8")),
            ("a/b;charset=\"a\\\"b;c\"x;charset=d", Some("a\"b;c")),
            ("a/b;x=\"y;charset=no\";charset=yes", Some("yes")),
            ("a/b;charset=;charset=two", Some("two")),
            ("a/b;charset;x;;charset = yes", Some("yes")),
            ("a/b;charset;x", None),
            ("a/b;charset=\"open", Some("open")),
            ("a/b;charset='koi8-r'", Some("'koi8-r'")),
        ] {
            assert_eq!(charset(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn no_text_makes_it_panic_and_a_stated_type_states_itself() {
        let pieces = ["text/html", "/", ";", "charset", "=", "\"", "\\", ",", " ", "*/*", "é", "utf-8", "\t"];
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let Some(found) = of(&[&text]) else { panic!("a value says something") };
            assert_eq!(of(&[&found]).as_deref().map(str::trim), Some(found.trim()), "seed {seed}: {text}");
        }
    }
}

//! JSON as pages write it: with comments of JavaScript and HTML around and within it, strings that go over lines, a
//! comma behind the last entry, a semicolon or a byte order mark around it, halves of surrogates, and numbers that no
//! reader has room for.
//!
//! What is nested deeper than `DEPTH_MAX` is null. A number that would come out as another one is the text of its
//! digits: identifiers of goods and people are written as numbers, too.

use serde_json::Value;

/// Levels of lists and objects; `serde_json` reads no more than 127.
const DEPTH_MAX: usize = 100;
/// Digits in a row that any number has room for.
const DIGITS_SURE: usize = 15;

/// The object or the list that a text is, if it is JSON but for what pages do to it.
pub fn parse(text: &str) -> Option<Value> {
    let read = |text: &str| serde_json::from_str(text).ok();
    let as_it_is = || if has_long_number(text) { None } else { read(text) };
    let repaired = |html| read(&Repairer::default().repaired(text, html));
    let value = as_it_is().or_else(|| repaired(Html::Marks)).or_else(|| repaired(Html::Comments));
    value.filter(|value: &Value| value.is_object() || value.is_array())
}

/// True if there may be a number that a reader rounds.
fn has_long_number(text: &str) -> bool {
    text.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > DIGITS_SURE)
}

/// Parts of HTML that are left out: some pages write a comment, others have all JSON within one.
#[derive(Clone, Copy)]
enum Html {
    /// The marks of a comment.
    Marks,
    /// Comments with what is in them.
    Comments,
}

/// A text on its way to JSON.
#[derive(Default)]
struct Repairer {
    out: String,
    depth: usize,
}

impl Repairer {
    /// The text with a blank for each comment and each control character, and without a comma that nothing follows.
    /// Comments are JavaScript's (`/* */`, and `//` to the end of the line), HTML's (`<!-- -->`), and the marks of a
    /// CDATA section.
    fn repaired(mut self, text: &str, html: Html) -> String {
        self.out.reserve(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let skipped = skipped(rest, html);
            let taken = match first {
                _ if skipped > 0 => {
                    self.push(' ');
                    skipped
                }
                '"' => self.string(rest),
                '-' | '0'..='9' => self.number(rest),
                _ => {
                    self.mark(first);
                    first.len_utf8()
                }
            };
            rest = &rest[taken..];
        }
        self.out
    }

    /// True if what is read now is nested too deeply to be kept.
    fn is_cut(&self) -> bool {
        self.depth > DEPTH_MAX
    }

    fn push(&mut self, c: char) {
        if !self.is_cut() {
            self.out.push(c);
        }
    }

    /// Takes a character that is in no string and in no number.
    fn mark(&mut self, c: char) {
        match c {
            '[' | '{' => {
                self.depth += 1;
                if self.depth == DEPTH_MAX + 1 {
                    self.out.push_str("null");
                }
                self.push(c);
            }
            ']' | '}' => {
                let end = self.out.trim_end().len();
                if !self.is_cut() {
                    self.out.truncate(self.out[..end].strip_suffix(',').map_or(end, str::len));
                }
                self.push(c);
                self.depth = self.depth.saturating_sub(1);
            }
            // the end of a statement, and a byte order mark
            ';' | '\u{feff}' => self.push(' '),
            c => self.push(if c.is_control() { ' ' } else { c }),
        }
    }

    /// Copies the number that `text` begins with, or the text of its digits, and returns its length.
    fn number(&mut self, text: &str) -> usize {
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let number = &text[..end];
        if self.is_cut() {
            return end;
        }
        match is_whole(number) {
            true => self.out.push_str(number),
            false => self.out.push_str(&format!("\"{number}\"")),
        }
        end
    }

    /// Copies the string that `text` begins with, with blanks for its control characters, and returns its length. One
    /// that does not end is not closed.
    fn string(&mut self, text: &str) -> usize {
        self.push('"');
        let mut at = 1;
        while let Some(c) = text[at..].chars().next() {
            if c == '\\' {
                at += self.escape(&text[at..]);
                continue;
            }
            self.push(if c.is_control() { ' ' } else { c });
            at += c.len_utf8();
            if c == '"' {
                break;
            }
        }
        at
    }

    /// Copies the escape that `text` begins with, and returns its length. Half of a pair of surrogates becomes U+FFFD.
    fn escape(&mut self, text: &str) -> usize {
        let (kept, taken) = match (unit(text, 0), unit(text, 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&text[..12], 12),
            (Some(0xd800..=0xdfff), _) => ("\\ufffd", 6),
            (Some(_), _) => (&text[..6], 6),
            (None, _) => {
                let end = text.chars().take(2).map(char::len_utf8).sum();
                (&text[..end], end)
            }
        };
        kept.chars().for_each(|c| self.push(if c.is_control() { ' ' } else { c }));
        taken
    }
}

/// The unit of UTF-16 that an escape at `at` names.
fn unit(text: &str, at: usize) -> Option<u16> {
    let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+'))
}

/// True if a number is read as what it is, or is none, which is left to the reader.
fn is_whole(number: &str) -> bool {
    let is_integer = !number.contains(['.', 'e', 'E']);
    let has_room = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    match number.parse::<f64>() {
        Ok(read) => {
            if is_integer {
                has_room
            } else {
                read.is_finite()
            }
        }
        Err(_) => true,
    }
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
            ("\u{feff}{\"a\": 1};", json!({"a": 1})),
            ("[1];\n", json!([1])),
            (
                r#"["\ud83d\ude00", "\ud83d", "x\ude00y", "\ud83d\u0041"]"#,
                json!(["\u{1f600}", "\u{fffd}", "x\u{fffd}y", "\u{fffd}A"]),
            ),
            ("[1e400, -1e400, 1e3]", json!(["1e400", "-1e400", 1e3])),
            (
                "{\"gtin\": 12345678901234567890123, \"n\": -9223372036854775808, \"m\": 18446744073709551615}",
                json!({"gtin": "12345678901234567890123", "n": i64::MIN, "m": u64::MAX}),
            ),
            ("[\"12345678901234567890123\", 0.5]", json!(["12345678901234567890123", 0.5])),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        let nested = |levels: usize| format!("{}\"[{{\"{}", "[".repeat(levels), "]".repeat(levels));
        let mut deep = parse(&format!("{{\"a\": {}, \"b\": 1}}", nested(100_000))).unwrap();
        assert_eq!(deep["b"], 1);
        let (mut inner, mut levels) = (deep["a"].take(), 1);
        while let Some(next) = inner.get_mut(0).map(Value::take) {
            (inner, levels) = (next, levels + 1);
        }
        assert_eq!((inner, levels), (Value::Null, DEPTH_MAX));
        for text in ["", "{", "[1", "[\"a]", "/*", "//", "{a: 1}", "[,1]", "null", "5", "\u{fc}", "\"\\"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

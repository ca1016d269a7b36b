//! Text from the web made safe for terminals and for logs of one line an event.
//!
//! Control characters of both sets (ESC and the C1 ones that terminals obey too), line ends, and the characters that
//! turn or hide text (BiDi, zero width, line separators) are shown by their code. All else stays as it is. Tables in
//! files and pipes keep the characters that turn or hide text: Persian, Indic scripts and emoji are written with them.

use std::fmt::{self, Write};

/// Shows a text with everything escaped that a terminal or a log would obey instead of showing.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                _ if !is_terminal_control(c) => f.write_char(c)?,
                _ if (c as u32) < 0x100 => write!(f, "\\x{:02x}", c as u32)?,
                _ => write!(f, "\\u{{{:x}}}", c as u32)?,
            }
        }
        Ok(())
    }
}

/// Shows a text as a part of a line in a file: line ends, tabs and control characters are escaped, all else is as it
/// is, joiners and marks of direction too.
#[derive(Clone, Copy, Debug)]
pub struct InLine<'a>(pub &'a str);

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.0.split_inclusive(ends_or_obeyed) {
            let text = piece.trim_end_matches(ends_or_obeyed);
            f.write_str(text)?;
            Escaped(&piece[text.len()..]).fmt(f)?;
        }
        Ok(())
    }
}

/// Returns whether `c` ends a line, parts columns, or is a control character, which no text is written with.
fn ends_or_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Shows a text as a cell of a table that spreadsheets open too: in a line, and with `'` in front where they would take
/// it for a formula. A formula reads files and calls out; a page only has to be titled like one.
///
/// Source: OWASP, "CSV Injection". Differences: blanks and quotation marks before the sign count too, since programs
/// take them off, and a number with its sign stays a number.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a>(pub &'a str);

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_formula(self.0) {
            f.write_char('\'')?;
        }
        InLine(self.0).fmt(f)
    }
}

/// Returns whether a spreadsheet would take `text` for a formula.
pub fn is_formula(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || is_terminal_control(c));
    let mut rest = text.chars();
    match rest.next() {
        Some('=' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}') => true,
        Some('+' | '-') => {
            let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '%');
            let number = rest.as_str();
            number.is_empty() || !number.chars().all(is_digit)
        }
        _ => false,
    }
}

/// Returns whether a terminal or a reader of lines may obey `c` instead of showing it.
pub fn is_terminal_control(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// `text` with everything escaped.
pub fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}

/// `text` as text of HTML, in elements and in quoted attributes.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Bytes of a text as a terminal may see them: lines and tabs stay, what it would obey is shown by its code.
pub fn shown(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => {}
            _ if is_terminal_control(c) => shown.push_str(&Escaped(c.encode_utf8(&mut [0; 4])).to_string()),
            _ => shown.push(c),
        }
    }
    shown
}

/// `text` as one field of a line whose fields are parted by blanks: blanks are percent-encoded, nothing is `-`.
pub fn field(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    // as nearly all are
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut field = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(field, "%{byte:02X}");
            }
        } else {
            let mut buffer = [0; 4];
            let _ = write!(field, "{}", Escaped(c.encode_utf8(&mut buffer)));
        }
    }
    field
}

/// JSON in which what a terminal would obey is written by its code; it means the same.
pub fn json_line(value: &impl serde::Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(if json.chars().any(is_terminal_control) { json_escaped(&json) } else { json })
}

/// `json`, a line, in which what a terminal would obey is written by its code.
pub fn json_escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + 32);
    for c in json.chars() {
        if is_terminal_control(c) {
            // Such characters come in strings only, and past the first plane as two units.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[2Jb\u{9b}31mc\r\nd\u{202e}e\u{2028}f\0g\x7fh\ti\u{e0041}";

    #[test]
    fn what_a_terminal_obeys_is_shown_by_its_code() {
        let shown = escaped(HOSTILE);
        assert_eq!(shown, "a\\x1b[2Jb\\x9b31mc\\r\\nd\\u{202e}e\\u{2028}f\\x00g\\x7fh\\ti\\u{e0041}");
        assert!(!shown.chars().any(is_terminal_control));
    }

    #[test]
    fn ordinary_text_of_any_script_stays_as_it_is() {
        for text in ["https://example.com/a?b=c", "日本語", "größer", "עברית", "🙂"] {
            assert_eq!(escaped(text), text);
        }
    }

    #[test]
    fn a_cell_has_the_characters_that_text_is_written_with_and_a_terminal_sees_their_codes() {
        for text in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}🚀 ❤\u{fe0f}",
            "Donau\u{ad}dampf",
            "C\u{200e}++ \u{200f}שלום",
            "a\u{2060}b",
            "x\u{feff}y",
            "🏴\u{e0067}\u{e007f}",
            "ᠠ\u{180e}ᠠ",
            "\u{600}\u{661}",
        ] {
            assert_eq!((InLine(text).to_string().as_str(), Cell(text).to_string().as_str()), (text, text));
            assert!(!shown(text.as_bytes()).chars().any(is_terminal_control));
        }
        assert_eq!(Cell("a\tb\r\nc\x1b[2J\u{9b}\u{2028}d").to_string(), "a\\tb\\r\\nc\\x1b[2J\\x9b\\u{2028}d");
    }

    #[test]
    fn n24_what_a_spreadsheet_takes_for_a_formula_is_a_text_in_a_cell() {
        for formula in [
            "=1+1",
            "+1+1",
            "-1+1",
            "@SUM(A1)",
            " =1",
            "\u{a0}=1",
            "\"=1\"",
            "\" @x",
            "-",
            "- a point of a list",
            "+49 30 123",
            "=cmd|' /C calc'!A0",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}x",
            "-1\n",
            "\u{feff}=1",
            "\u{200b}\u{202e}=1",
        ] {
            assert_eq!(Cell(formula).to_string(), format!("'{}", InLine(formula)));
        }
        for text in
            ["", "1", "-5", "+3.5%", "-1,000.00", "a=b", "https://a/?=1", "'=1", "[\"=1\"]", "<b>=1</b>", "größer"]
        {
            assert_eq!(Cell(text).to_string(), text);
        }
    }

    #[test]
    fn a_field_holds_no_blank_and_is_never_empty() {
        assert_eq!(field(""), "-");
        assert_eq!(field("a b\u{a0}c\nd"), "a%20b%C2%A0c%0Ad");
        assert!(!field(HOSTILE).chars().any(|c| c.is_whitespace() || is_terminal_control(c)));
    }

    #[test]
    fn safe_json_means_the_same() {
        let line = json_line(&HOSTILE).unwrap();
        assert!(!line.chars().any(is_terminal_control), "{line}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), HOSTILE);
    }
}

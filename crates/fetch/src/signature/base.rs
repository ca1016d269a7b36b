//! The signature base of RFC 9421, section 2.5: the text that is signed.
//!
//! ```text
//! "@authority": example.com
//! "signature-agent";key="sig1": "https://bot.example"
//! "@signature-params": ("@authority" "signature-agent";key="sig1");created=1735689600;keyid="..."
//! ```
//! Identifiers are given as they are in the text, values as the fields have them; nothing is looked up here.

use std::fmt::Write as _;

/// A part of a message that a signature covers: its identifier, such as `"@authority";req`, and its value.
pub(super) type Covered<'a> = (&'a str, &'a str);

/// The value of a parameter of a signature.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter<'a> {
    Number(u64),
    Text(&'a str),
}

/// A text as a String of structured fields (RFC 9651, section 4.1.6). It has printable ASCII only.
pub(super) fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The covered components and the parameters, as `Signature-Input` has them behind the label.
pub(super) fn input(covered: &[Covered<'_>], parameters: &[(&str, Parameter<'_>)]) -> String {
    let identifiers: Vec<&str> = covered.iter().map(|(identifier, _)| *identifier).collect();
    let mut text = format!("({})", identifiers.join(" "));
    for (name, value) in parameters {
        // writing to a string cannot fail
        let _ = match value {
            Parameter::Number(number) => write!(text, ";{name}={number}"),
            Parameter::Text(value) => write!(text, ";{name}={}", string(value)),
        };
    }
    text
}

/// Returns the text that is signed, where `input` is the result of [`input`] for the same components.
pub(super) fn base(covered: &[Covered<'_>], input: &str) -> String {
    let lines = covered.iter().map(|(identifier, value)| format!("{identifier}: {value}\n"));
    let mut text: String = lines.collect();
    text.push_str("\"@signature-params\": ");
    text.push_str(input);
    text
}

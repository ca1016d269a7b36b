//! Numbers and dates as pages write them, and values within their JSON-LD.

use serde_json::Value as Json;

use crate::table::{Type, Value};
use crate::web::sitemap::Written;

/// The type as which the value of a field is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holds {
    /// The text as it is.
    #[default]
    Text,
    /// The first number in the text.
    Number,
    /// A date, with a time or without.
    Date,
}

impl Holds {
    /// The one of this name.
    pub(crate) fn parse(name: &str) -> Option<Holds> {
        [("text", Holds::Text), ("number", Holds::Number), ("date", Holds::Date)]
            .into_iter()
            .find_map(|(known, holds)| (known == name).then_some(holds))
    }

    /// The type of its column.
    pub(crate) fn column(self) -> Type {
        match self {
            Holds::Text => Type::Text,
            Holds::Number => Type::Number,
            Holds::Date => Type::Time,
        }
    }

    /// The value of a text; nothing where it is none of these.
    pub(crate) fn value(self, text: String) -> Value {
        match self {
            Holds::Text => Value::Text(text),
            Holds::Number => number(&text).map_or(Value::Null, Value::Number),
            Holds::Date => Written::parse(&text).map_or(Value::Null, |date| Value::Time(date.first())),
        }
    }
}

/// The first number in a text, with the separators of any country: `1.299,00 EUR`, `$1,299.00`, `1 299`, `-5`.
///
/// Of two kinds of separators the last one separates decimals. A single one in front of three digits separates
/// thousands, unless a 0 is in front of it; one that comes several times always does.
fn number(text: &str) -> Option<f64> {
    if let Some(number) = text.trim().parse().ok().filter(|number: &f64| number.is_finite()) {
        return Some(number);
    }
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let is_negative = text[..start].ends_with(['-', '\u{2212}']);
    let run = digits_and_separators(&text[start..]);
    let marks: Vec<(usize, char)> = run.char_indices().filter(|(_, c)| matches!(c, '.' | ',')).collect();
    let decimals = match *marks.as_slice() {
        [] => None,
        [(at, _)] => {
            let is_of_thousands = run.len() - at - 1 == 3 && !run.starts_with("0");
            (!is_of_thousands).then_some(at)
        }
        [.., (_, before), (at, last)] => (before != last).then_some(at),
    };
    let (whole, part) = decimals.map_or((run, ""), |at| (&run[..at], &run[at + 1..]));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let number: f64 = format!("{}.{}", digits(whole), digits(part)).parse().ok()?;
    Some(if is_negative { -number } else { number })
}

/// The digits that `text` begins with, groups of three behind a blank or an apostrophe, and separators between digits.
fn digits_and_separators(text: &str) -> &str {
    let digits_at = |at: usize| text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits_at(0);
    while let Some(separator) = text[end..].chars().next() {
        let next = end + separator.len_utf8();
        let digits = digits_at(next);
        let goes_on = match separator {
            '.' | ',' => digits > 0,
            ' ' | '\'' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2019}' => digits == 3,
            _ => false,
        };
        if !goes_on {
            break;
        }
        end = next + digits;
    }
    &text[..end]
}

/// Calls `take` with what is at `path` in the blocks of JSON-LD of a page, until it returns false. Lists are passed
/// through, also `@graph`; a part of a path is the name of a property.
pub(crate) fn at_path(blocks: &Json, path: &[String], take: &mut dyn FnMut(&str) -> bool) -> bool {
    match (blocks, path) {
        (Json::Array(values), _) => values.iter().all(|value| at_path(value, path, take)),
        (Json::Object(object), [name, rest @ ..]) => {
            let graph = object.get("@graph").is_none_or(|graph| at_path(graph, path, take));
            graph && object.get(name).is_none_or(|value| at_path(value, rest, take))
        }
        (Json::Object(object), []) => match object.get("@value") {
            Some(value) => at_path(value, path, take),
            None => take(&blocks.to_string()),
        },
        (Json::Null, _) | (_, [_, ..]) => true,
        (Json::String(text), []) => take(text),
        (value, []) => take(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_read_with_the_separators_of_any_country() {
        for (text, expected) in [
            ("1299", 1299.0),
            ("$1,299.00", 1299.0),
            ("1.299,00 EUR", 1299.0),
            ("EUR 1\u{202f}299,5", 1299.5),
            ("1'299.95 CHF", 1299.95),
            ("1.299", 1.299),
            ("ab 1.299 EUR", 1299.0),
            ("12,50", 12.5),
            ("ca. 0,125 l", 0.125),
            ("1,234,567", 1_234_567.0),
            ("12 34", 12.0),
            ("-5 C", -5.0),
            ("\u{2212}5,5", -5.5),
            ("9.99.", 9.99),
            ("1e3", 1000.0),
            ("5, 6", 5.0),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        assert_eq!([number(""), number("free"), number("inf"), number("NaN")], [None; 4]);
    }

    #[test]
    fn dates_are_read_in_the_forms_of_sitemaps_and_of_mail() {
        let of = |text: &str| Holds::Date.value(text.to_owned());
        let Value::Time(day) = of("2026-11-26") else { panic!("no date") };
        assert_eq!(of("2026-11-26T01:00:00+01:00"), Value::Time(day));
        assert_eq!(of("Thu, 26 Nov 2026 00:00:00 GMT"), Value::Time(day));
        assert_eq!([of("soon"), of("26/11/2026")], [Value::Null, Value::Null]);
    }

    fn all(blocks: &Json, path: &str) -> Vec<String> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let mut found = Vec::new();
        at_path(blocks, &path, &mut |text| {
            found.push(text.to_owned());
            true
        });
        found
    }

    #[test]
    fn a_path_passes_through_lists_and_graphs() {
        let blocks = json!([
            {"@graph": [{"@type": "Product", "offers": [{"price": "9.99"}, {"price": 12}, {"price": null}]}]},
            {"offers": {"price": {"@value": true}, "seller": {"name": "S"}}},
            "offers",
        ]);
        assert_eq!(all(&blocks, "offers.price"), ["9.99", "12", "true"]);
        assert_eq!(all(&blocks, "offers.seller"), ["{\"name\":\"S\"}"]);
        assert_eq!(all(&blocks, "@type"), ["Product"]);
        assert!(all(&blocks, "offers.price.currency").is_empty() && all(&blocks, "none").is_empty());
    }
}

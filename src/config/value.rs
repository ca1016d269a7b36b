//! The types of settings and how they are written in TOML: durations and sizes with their units, and lists.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use crate::container::Keep;
use crate::signature::Component;
use crate::web::format::Format;
use crate::web::preferences::Usage;
use crate::web::secret::SecretAddress;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB.
    pub(crate) const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }

    /// `n` MiB.
    pub(crate) const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }

    /// `n` GiB.
    pub(crate) const fn gib(n: u64) -> Self {
        Bytes(n << 30)
    }

    /// A length in memory.
    pub(crate) const fn of(length: usize) -> Self {
        Bytes(length as u64)
    }

    /// The number.
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// The number as a length in memory.
    pub(crate) fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Bytes {
    /// The largest unit that divides the number: `64MiB`, `1500B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}B", self.0)
    }
}

/// A value did not have the type of its key.
pub(super) struct Mismatch {
    pub expected: &'static str,
    pub example: &'static str,
    /// True if the value that was found may be a secret.
    pub is_secret: bool,
}

/// A type that a key can have.
pub(super) trait Setting: Sized {
    /// Values that can be written, in words.
    const EXPECTED: &'static str;
    /// Example of a value, in TOML.
    const EXAMPLE: &'static str;
    /// True if a value may have a secret in it: then messages do not repeat it.
    const IS_SECRET: bool = false;

    /// The value, where it has this type.
    fn from_toml(value: &DeValue<'_>) -> Option<Self>;

    /// The value as TOML on one line, from which `from_toml` makes the same one.
    fn to_toml(&self) -> String;

    /// The value without the secrets that `to_toml` leaves out; none where it has none.
    fn without_secrets(&self) -> Option<Self> {
        None
    }

    /// The value, or what was expected.
    fn read(value: &DeValue<'_>) -> Result<Self, Mismatch> {
        Self::from_toml(value).ok_or(Mismatch {
            expected: Self::EXPECTED,
            example: Self::EXAMPLE,
            is_secret: Self::IS_SECRET,
        })
    }
}

/// A duration written as numbers with units: `250ms`, `10s`, `5m`, `24h`, `30d`, `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let unit_len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit_ms: f64 = match &after[..unit_len] {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" | "min" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        let seconds = number * unit_ms / 1_000.0;
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = after[unit_len..].trim_start();
    }
    // Beyond centuries a date would overflow somewhere.
    (total <= Duration::from_secs(1_000 * 366 * 86_400)).then_some(total)
}

/// A duration as [`parse_duration`] reads it, in the largest unit that it is a whole number of: `250ms`, `10s`, `24h`,
/// `30d`.
pub(crate) fn show_duration(duration: Duration) -> String {
    const UNITS: [(u128, &str, u128); 4] =
        [(86_400_000, "d", 2), (3_600_000, "h", 1), (60_000, "m", 1), (1_000, "s", 1)];
    let ms = duration.as_millis();
    if !duration.subsec_nanos().is_multiple_of(1_000_000) {
        return format!("{}ms", duration.as_secs_f64() * 1_000.0);
    }
    // a day is written in hours, as people do
    let unit = UNITS.into_iter().find(|&(unit, _, least)| ms.is_multiple_of(unit) && ms >= unit * least);
    match unit {
        Some((unit, name, _)) => format!("{}{name}", ms / unit),
        None if ms == 0 => "0s".to_owned(),
        None => format!("{ms}ms"),
    }
}

/// A string of TOML on one line.
fn written(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            c if c.is_control() => written.push_str(&format!("\\u{:04X}", c as u32)),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// A table of TOML on one line.
pub(super) fn inline_table<K: fmt::Display>(entries: impl Iterator<Item = (K, String)>) -> String {
    let entries: Vec<String> = entries.map(|(key, value)| format!("{key} = {value}")).collect();
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
}

/// The entries of a table whose keys are its own names; `None` where it is none, or `read` reads no value.
pub(super) fn named<T>(value: &DeValue<'_>, read: impl Fn(&DeValue<'_>) -> Option<T>) -> Option<BTreeMap<String, T>> {
    let entries = value.as_table()?.iter();
    entries.map(|(name, value)| Some((name.get_ref().to_string(), read(value.get_ref())?))).collect()
}

/// A size written as a number with a unit: `500KiB`, `64MiB`, `2GiB`, `1TiB`, `10MB`, `128B`, or a plain number.
pub(crate) fn parse_bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = split_number(text.trim())?;
    let unit_bytes: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "TiB" | "T" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    let bytes = number * unit_bytes as f64;
    // Past 2^53 a float no longer distinguishes neighbours; no disk is that large.
    (bytes <= 9e15).then_some(Bytes(bytes as u64))
}

/// The decimal number that `text` starts with, and what follows it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

/// A string, or a list of them.
pub(super) struct OneOrMore(pub Vec<String>);

impl Setting for OneOrMore {
    const EXPECTED: &'static str = "a string or a list of strings";
    const EXAMPLE: &'static str = "\"example.org\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        String::from_toml(value).map(|one| vec![one]).or_else(|| Vec::from_toml(value)).map(OneOrMore)
    }

    fn to_toml(&self) -> String {
        match &self.0[..] {
            [one] => one.to_toml(),
            more => more.to_vec().to_toml(),
        }
    }
}

macro_rules! whole_number {
    ($type:ty, $expected:literal) => {
        impl Setting for $type {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = "10";

            fn from_toml(value: &DeValue<'_>) -> Option<Self> {
                integer(value).and_then(|number| number.try_into().ok())
            }

            fn to_toml(&self) -> String {
                self.to_string()
            }
        }
    };
}

whole_number!(u8, "a whole number from 0 to 255");
whole_number!(u16, "a whole number from 0 to 65535");
whole_number!(u64, "a whole number");
whole_number!(usize, "a whole number");

/// The number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workers {
    /// The number that the crawl finds to be of use.
    Auto,
    /// A number that is written.
    #[serde(untagged)]
    Fixed(usize),
}

impl Setting for Workers {
    const EXPECTED: &'static str = "\"auto\" or a whole number";
    const EXAMPLE: &'static str = "\"auto\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        if value.as_str() == Some("auto") { Some(Workers::Auto) } else { usize::from_toml(value).map(Workers::Fixed) }
    }

    fn to_toml(&self) -> String {
        match self {
            Workers::Auto => "\"auto\"".to_owned(),
            Workers::Fixed(workers) => workers.to_toml(),
        }
    }
}

impl Setting for Keep {
    const EXPECTED: &'static str = "\"all\", a number of versions, or an age";
    const EXAMPLE: &'static str = "\"90d\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        match value.as_str() {
            Some(text) => parse_keep(text),
            None => u8::from_toml(value).map(Keep::Versions),
        }
    }

    fn to_toml(&self) -> String {
        match self {
            Keep::Versions(versions) => versions.to_toml(),
            _ => format!("\"{self}\""),
        }
    }
}

/// Reads which versions an archive keeps: `all`, a number of versions such as `3`, or an age such as `90d`.
pub(crate) fn parse_keep(text: &str) -> Option<Keep> {
    match text.trim() {
        "all" => Some(Keep::All),
        text => text.parse().ok().map(Keep::Versions).or_else(|| parse_duration(text).map(Keep::Age)),
    }
}

impl Setting for f64 {
    const EXPECTED: &'static str = "a number";
    const EXAMPLE: &'static str = "5.0";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let float = value.as_float().and_then(|number| number.as_str().replace('_', "").parse().ok());
        float.or_else(|| integer(value).map(|number| number as f64))
    }

    fn to_toml(&self) -> String {
        // with a point or an exponent, as TOML wants it
        format!("{self:?}")
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }

    fn to_toml(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const EXPECTED: &'static str = "a string";
    const EXAMPLE: &'static str = "\"text\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn to_toml(&self) -> String {
        written(self)
    }
}

impl Setting for SecretAddress {
    const EXPECTED: &'static str = String::EXPECTED;
    const EXAMPLE: &'static str = "\"https://example.org\"";
    const IS_SECRET: bool = true;

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(SecretAddress::new)
    }

    /// Writes it without its secrets, unlike all other settings.
    fn to_toml(&self) -> String {
        written(&self.to_string())
    }

    fn without_secrets(&self) -> Option<Self> {
        self.has_secrets().then(|| SecretAddress::without_secrets(self))
    }
}

impl Setting for Vec<SecretAddress> {
    const EXPECTED: &'static str = "a list of strings";
    const EXAMPLE: &'static str = "[\"https://example.org\"]";
    const IS_SECRET: bool = true;

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_array()?.iter().map(|item| SecretAddress::from_toml(item.get_ref())).collect()
    }

    fn to_toml(&self) -> String {
        format!("[{}]", self.iter().map(SecretAddress::to_toml).collect::<Vec<_>>().join(", "))
    }

    fn without_secrets(&self) -> Option<Self> {
        let has_some = self.iter().any(SecretAddress::has_secrets);
        has_some.then(|| self.iter().map(SecretAddress::without_secrets).collect())
    }
}

impl Setting for Vec<String> {
    const EXPECTED: &'static str = "a list of strings";
    const EXAMPLE: &'static str = "[\"one\", \"two\"]";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_array()?.iter().map(|item| String::from_toml(item.get_ref())).collect()
    }

    fn to_toml(&self) -> String {
        format!("[{}]", self.iter().map(|text| written(text)).collect::<Vec<_>>().join(", "))
    }
}

/// A list of values by their names.
macro_rules! named_list {
    ($name:ident, $expected:literal, $example:literal) => {
        impl Setting for Vec<$name> {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &DeValue<'_>) -> Option<Self> {
                let named = |name: String| $name::ALL.into_iter().find(|value| value.name() == name);
                Vec::<String>::from_toml(value)?.into_iter().map(named).collect()
            }

            fn to_toml(&self) -> String {
                self.iter().map(|value| value.name().to_owned()).collect::<Vec<_>>().to_toml()
            }
        }
    };
}

named_list! {
    Component,
    "a list of \"@authority\", \"@method\", \"@path\", \"@query\" and \"@target-uri\"",
    "[\"@authority\", \"@method\", \"@path\"]"
}
named_list! { Usage, "a list of \"search\", \"ai-input\", \"ai-train\" and \"tdm\"", "[\"ai-train\", \"tdm\"]" }
named_list! { Format, "a list of \"pdf\", \"office\" and \"epub\"", "[\"pdf\", \"office\", \"epub\"]" }

impl Setting for Duration {
    const EXPECTED: &'static str = "a duration with its unit (ms, s, m, h, d)";
    const EXAMPLE: &'static str = "\"10s\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().and_then(parse_duration)
    }

    fn to_toml(&self) -> String {
        format!("\"{}\"", show_duration(*self))
    }
}

impl Setting for Bytes {
    const EXPECTED: &'static str = "a size with its unit (B, KiB, MiB, GiB, TiB) or a number of bytes";
    const EXAMPLE: &'static str = "\"64MiB\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let number = || integer(value).and_then(|number| u64::try_from(number).ok()).map(Bytes);
        value.as_str().and_then(parse_bytes).or_else(number)
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}

/// Types of which a key may also be `"unlimited"`.
macro_rules! or_unlimited {
    ($type:ty, $expected:literal, $example:literal) => {
        impl Setting for Option<$type> {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &DeValue<'_>) -> Option<Self> {
                if value.as_str() == Some("unlimited") { Some(None) } else { <$type>::from_toml(value).map(Some) }
            }

            fn to_toml(&self) -> String {
                self.as_ref().map_or_else(|| "\"unlimited\"".to_owned(), Setting::to_toml)
            }
        }
    };
}

or_unlimited!(u16, "a whole number from 0 to 65535, or \"unlimited\"", "10");
or_unlimited!(u64, "a whole number, or \"unlimited\"", "1000");
or_unlimited!(f64, "a number, or \"unlimited\"", "10.0");
or_unlimited!(Duration, "a duration with its unit (ms, s, m, h, d), or \"unlimited\"", "\"24h\"");
or_unlimited!(Bytes, "a size with its unit (B, KiB, MiB, GiB, TiB), or \"unlimited\"", "\"10GiB\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units_and_refused_without() {
        let ms = |text| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(ms("10s"), Some(10_000));
        assert_eq!(ms("250ms"), Some(250));
        assert_eq!(ms("5m"), Some(300_000));
        assert_eq!(ms("24h"), Some(86_400_000));
        assert_eq!(ms("30d"), Some(2_592_000_000));
        assert_eq!(ms("1h30m"), Some(5_400_000));
        assert_eq!(ms("1.5s"), Some(1_500));
        assert_eq!(ms("0s"), Some(0));
        for wrong in ["", "10", "s", "-5s", "5 parsecs", "1e9s", "99999999999999d", "5s x", "1..2s", "∞s"] {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_people_write_it_and_read_back_the_same() {
        let shown = |ms| show_duration(Duration::from_millis(ms));
        for (ms, text) in [
            (0, "0s"),
            (250, "250ms"),
            (1_000, "1s"),
            (1_500, "1500ms"),
            (60_000, "1m"),
            (90_000, "90s"),
            (5_400_000, "90m"),
            (86_400_000, "24h"),
            (2_592_000_000, "30d"),
        ] {
            assert_eq!(shown(ms), text);
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)));
        }
        let odd = Duration::from_micros(1_500);
        assert_eq!((show_duration(odd).as_str(), parse_duration("1.5ms")), ("1.5ms", Some(odd)));
    }

    #[test]
    fn workers_are_a_number_or_found_in_toml_and_in_json() {
        for (workers, toml, json) in [(Workers::Auto, "\"auto\"", "\"auto\""), (Workers::Fixed(64), "64", "64")] {
            assert_eq!(workers.to_toml(), toml);
            assert_eq!(serde_json::to_string(&workers).unwrap(), json);
            assert_eq!(serde_json::from_str::<Workers>(json).unwrap(), workers);
        }
        assert!(serde_json::from_str::<Workers>("\"many\"").is_err());
    }

    #[test]
    fn sizes_are_read_in_binary_and_decimal_units() {
        assert_eq!(parse_bytes("64MiB"), Some(Bytes::mib(64)));
        assert_eq!(parse_bytes("500KiB"), Some(Bytes::kib(500)));
        assert_eq!(parse_bytes("2 GiB"), Some(Bytes::gib(2)));
        assert_eq!(parse_bytes("1.5KiB"), Some(Bytes(1_536)));
        assert_eq!(parse_bytes("10MB"), Some(Bytes(10_000_000)));
        assert_eq!(parse_bytes("128"), Some(Bytes(128)));
        for wrong in ["", "MiB", "-1", "1XiB", "99999999TiB", "1MiB MiB"] {
            assert_eq!(parse_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_size_is_shown_as_it_would_be_written() {
        for text in ["64MiB", "2GiB", "500KiB", "128B", "1TiB", "0B"] {
            assert_eq!(parse_bytes(text).unwrap().to_string(), text);
        }
    }
}

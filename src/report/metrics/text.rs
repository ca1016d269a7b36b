//! The text format: families with help and type, samples with labels.

use std::fmt::{Display, Write};

/// Kinds of numbers that a family may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bounds.
    Histogram,
}

/// A text that grows by families.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
    name: &'static str,
}

impl Exposition {
    /// Begins a family; its samples follow.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        debug_assert!((kind == "counter") == name.ends_with("_total"), "{name}: counters, and only they, end so");
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self.name = name;
        self
    }

    /// A sample of the family without labels.
    pub(crate) fn value(&mut self, value: impl Display) -> &mut Self {
        let _ = writeln!(self.text, "{} {value}", self.name);
        self
    }

    /// A sample of the family with labels.
    pub(crate) fn labelled(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.suffixed("", labels, value)
    }

    /// A sample whose name has a suffix, as in histograms.
    pub(crate) fn suffixed(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let _ = write!(self.text, "{}{suffix}", self.name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{label}=\"{text}\"", if number == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
        self
    }

    /// All of it.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

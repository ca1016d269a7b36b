//! The errors of a configuration: what is wrong, where, and what to write instead.

use std::fmt;
use std::io;

/// A line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    name: String,
    line: usize,
}

impl SourceLine {
    /// Line `line` of the file `name`; 0 where the value is not from a line.
    pub(super) fn new(name: &str, line: usize) -> Self {
        SourceLine { name: name.to_owned(), line }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.name),
            line => write!(f, "{}:{line}", self.name),
        }
    }
}

/// The reason for which a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// The operating system's word.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: {problem}")]
    Syntax {
        /// File and line.
        place: SourceLine,
        /// The message of the parser.
        problem: String,
    },
    /// No section has this name.
    #[error("{place}: unknown section [{section}]{}", suggestion(&nearest.as_ref().map(|name| format!("[{name}]"))))]
    UnknownSection {
        /// File and line.
        place: SourceLine,
        /// The name that is written there.
        section: String,
        /// The section that was likely meant.
        nearest: Option<String>,
    },
    /// No key has this name.
    #[error("{place}: unknown key {key}{}", suggestion(nearest))]
    UnknownKey {
        /// File and line.
        place: SourceLine,
        /// The key that is written there.
        key: String,
        /// The key that was likely meant, as `section.key`.
        nearest: Option<String>,
    },
    /// The value has the wrong type or unit.
    #[error("{place}: {key}: expected {expected}, found {found}; write for example: {example}")]
    WrongType {
        /// File and line.
        place: SourceLine,
        /// The key, as `section.key`.
        key: String,
        /// The value that is written there.
        found: String,
        /// The type that is expected, in words.
        expected: &'static str,
        /// A line that is right.
        example: String,
    },
    /// The value is not one that can be run with.
    #[error("{place}: {key}: {problem}")]
    Limit {
        /// File and line.
        place: SourceLine,
        /// The key, as `section.key`.
        key: String,
        /// The limit that the value breaks, in words.
        problem: String,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => "; crawler config lists them all".to_owned(),
    }
}

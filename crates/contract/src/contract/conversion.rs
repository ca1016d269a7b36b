//! Documents that are no pages, and are made into pages.

use std::fmt;
use std::time::Duration;

use crate::web::format::Format;

/// Makes pages of documents: the one thing that the crawl knows of the readers of their formats.
pub trait Converter: fmt::Debug + Send + Sync {
    /// True if it reads documents of this format.
    fn reads(&self, format: Format) -> bool;
    /// Makes a page of a document: HTML in UTF-8. It takes no longer than its limit of time.
    fn convert(&self, format: Format, document: &[u8]) -> Result<String, ConversionFailure>;
    /// Returns the number of documents that it reads at the same time.
    fn at_once(&self) -> usize;
}

/// A reason for which no page was made of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionFailure {
    /// It did not come whole.
    Truncated,
    /// It is larger than the crawl reads.
    TooLarge,
    /// It is encrypted.
    Encrypted,
    /// It is no document of its format.
    Damaged,
    /// Its format, or its version of it, is not read.
    Unsupported,
    /// Its reader took more time than it may.
    Time,
    /// Its reader took more memory than it may.
    Memory,
    /// Its reader broke down, or did something that it may not do.
    Crashed,
    /// No reader could be started.
    NoReader,
}

impl ConversionFailure {
    /// All of them, by the numbers that processes tell each other.
    pub const ALL: [ConversionFailure; 9] = [
        ConversionFailure::Truncated,
        ConversionFailure::TooLarge,
        ConversionFailure::Encrypted,
        ConversionFailure::Damaged,
        ConversionFailure::Unsupported,
        ConversionFailure::Time,
        ConversionFailure::Memory,
        ConversionFailure::Crashed,
        ConversionFailure::NoReader,
    ];

    /// It in a word.
    pub fn name(self) -> &'static str {
        match self {
            ConversionFailure::Truncated => "truncated",
            ConversionFailure::TooLarge => "tooLarge",
            ConversionFailure::Encrypted => "encrypted",
            ConversionFailure::Damaged => "damaged",
            ConversionFailure::Unsupported => "unsupported",
            ConversionFailure::Time => "time",
            ConversionFailure::Memory => "memory",
            ConversionFailure::Crashed => "crashed",
            ConversionFailure::NoReader => "noReader",
        }
    }
}

/// The outcome for a document of which a page was to be made.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// Its format.
    pub format: Format,
    /// Reason for which there is no page, if there is none.
    pub failure: Option<ConversionFailure>,
    /// Time that it took.
    pub duration: Duration,
}

impl Conversion {
    /// It in a word or two, for crawl.log and the metadata record.
    pub fn note(&self) -> String {
        let format = self.format.name();
        match self.failure {
            Some(failure) => format!("conversionFailed:{format}:{}", failure.name()),
            None => format!("converted:{format}:{}ms", self.duration.as_millis()),
        }
    }
}

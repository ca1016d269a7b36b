//! The output and the format of a table: the options of every command that prints one.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::UsageError;
use super::output::Output;
use crate::table::{Column, Format, Sink, Table};

/// The options of commands that print a table.
#[derive(Debug, Args)]
pub(super) struct TableArgs {
    /// Output file; it appears when it is complete. - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// tsv, csv, jsonl, sqlite or parquet; without it, what the name of the output ends with, else tsv
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// JSON lines
    #[arg(long, visible_alias = "json", conflicts_with = "format")]
    jsonl: bool,
}

impl Default for TableArgs {
    fn default() -> Self {
        TableArgs { output: PathBuf::from("-"), format: None, jsonl: false }
    }
}

fn format(name: &str) -> Result<Format, String> {
    let known = || Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    Format::parse(name).ok_or_else(|| format!("{name:?} is no format of a table; known: {}", known()))
}

impl TableArgs {
    pub(super) fn format(&self) -> Format {
        let named = || self.format.or_else(|| Format::of(&self.output));
        if self.jsonl { Format::JsonLines } else { named().unwrap_or_default() }
    }

    /// A table of these columns in the format that is wanted.
    pub(super) fn table(&self, name: &'static str, columns: Vec<Column>) -> anyhow::Result<Table> {
        Table::new(self.format(), name, columns).map_err(UsageError::because)
    }

    /// Opens the output; one in the directory `crawl` is refused.
    pub(super) fn open(&self, crawl: &Path) -> anyhow::Result<Output> {
        let format = self.format();
        if format == Format::Sqlite && self.output == Path::new("-") {
            return Err(UsageError::because("a database needs a file: write --output FILE"));
        }
        Output::open(&self.output, crawl, !format.has_lines())
    }
}

/// Begins `table` in `output`.
pub(super) fn begin<'a>(table: &Table, output: &'a mut Output) -> io::Result<Box<dyn Sink + 'a>> {
    let path = output.aside().map(Path::to_owned);
    table.sink(output, path.as_deref())
}

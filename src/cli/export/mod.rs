//! `crawler export`: the archive for other tools, as one WARC stream, a WACZ file, a CDXJ index, a table of its
//! contents, a list of URLs or of links, a signed manifest, a graph of hosts, texts and metadata, files for a browser.
//!
//! All of it streams: memory does not grow with the archive. No lock is taken; what a running crawl has stored when the
//! export begins is exported, and nothing of what comes after.

mod cdxj;
mod derived;
mod files;
mod graph;
mod index;
mod links;
mod manifest;
mod replayable;
mod spellings;
mod urls;
mod wacz;
mod wanted;
mod warc;
mod wat;
mod wet;

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[cfg(any(test, feature = "fuzzing"))]
pub(super) use self::{cdxj::line as cdxj_line, replayable::Answer as CdxjAnswer};
use super::archive::Archive;
use super::exit::Exit;
use super::output::Output;
use super::selection::{KindArgs, KindChoice, Selection};
use super::{ArchiveArg, OpenArchive};
use crate::clock::Time;
use crate::warc::{Compression, Encoder};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler export warc --prefix https://example.com/ --output example.warc.gz
  crawler export wacz --output site.wacz
  crawler export cdxj --output index.cdxj
  crawler export index --output index.parquet
  crawler export urls --status 200 --mime text/html
  crawler export links | cut -f 2 | sort | uniq -c | sort -rn | head
  crawler export graph --output graph
  crawler export manifest --key identity/key.pem --output manifest.jsonl
  crawler export wet --output crawl.warc.wet.gz
  crawler export files site

crawler export COMMAND --help describes each one.")]
pub(super) struct ExportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The records of selected pages as one WARC file
    Warc(warc::WarcArgs),
    /// Selected pages as one WACZ file, which replays in a browser
    Wacz(wacz::WaczArgs),
    /// An index of the value files, sorted, as pywb reads it
    Cdxj(cdxj::CdxjArgs),
    /// A table of what is in the archive and where, with the columns of Common Crawl's index
    Index(index::IndexArgs),
    /// The URLs of selected pages, one a line
    Urls(urls::UrlsArgs),
    /// A list of pages with the terms under which they were fetched, sealed and signed
    Manifest(manifest::ManifestArgs),
    /// The links of selected pages as a graph: source, target, kind, text
    Links(links::LinksArgs),
    /// The links between hosts or domains as a graph, and their centrality
    Graph(graph::GraphArgs),
    /// The text of pages, as Common Crawl's WET files
    Wet(wet::WetArgs),
    /// Headers and links of pages as JSON, as Common Crawl's WAT files
    Wat(wat::WatArgs),
    /// Pages as files that open in a browser without a server
    Files(files::FilesArgs),
}

/// The options that all exports have.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// Output file; it appears when it is complete. - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl ExportArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        match &self.what {
            What::Warc(args) => args.run(open_archive),
            What::Wacz(args) => args.run(open_archive),
            What::Cdxj(args) => args.run(open_archive),
            What::Index(args) => args.run(open_archive),
            What::Urls(args) => args.run(open_archive),
            What::Manifest(args) => args.run(open_archive),
            What::Links(args) => args.run(open_archive),
            What::Graph(args) => args.run(open_archive),
            What::Wet(args) => args.run(open_archive),
            What::Wat(args) => args.run(open_archive),
            What::Files(args) => args.run(open_archive),
        }
    }
}

impl Common {
    /// The selection, of the kinds that are said, or else of the `usual` ones.
    fn selection(&self, usual: KindChoice) -> Selection {
        self.kind.narrow(&self.selection, usual)
    }

    /// Opens the archive and the output, lets `write` do its work, and ends the output. What was damaged in the archive
    /// does not keep the rest from being exported.
    fn with(
        &self,
        open_archive: OpenArchive,
        binary: bool,
        write: impl FnOnce(&dyn Archive, &mut Output, &mut io::Stderr) -> anyhow::Result<anyhow::Result<Exit>>,
    ) -> anyhow::Result<Exit> {
        let archive = self.archive.open(open_archive)?;
        let mut output = Output::open(&self.output, &self.archive.dir.dir, binary)?;
        let exit = write(&*archive, &mut output, &mut io::stderr())?;
        output.finish()?;
        exit
    }

    /// The first record of a WARC file: who wrote it, and what was selected.
    fn warcinfo(&self, usual: KindChoice, all: bool, name: &str, now: Time) -> Vec<u8> {
        let software = concat!("crawler/", env!("CARGO_PKG_VERSION"));
        let versions = if all { "all versions" } else { "the newest version of each URL" };
        let filters = self.selection(usual).to_string();
        let filters = if filters.is_empty() { "all pages".to_owned() } else { filters };
        let fields = [
            ("selection".to_owned(), format!("{filters}; {versions}")),
            ("source".to_owned(), self.archive.dir.dir.to_string_lossy().into_owned()),
        ];
        Encoder::new(Compression::Gzip).warcinfo(name, software, &fields, "", now, fastrand::u128(..))
    }
}

#[cfg(test)]
mod tests {
    use crate::disk::{Disk, Mode};
    use crate::warc::{Record, RecordReader};

    /// The records of a WARC file.
    pub(super) fn records(bytes: &[u8]) -> Vec<Record> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), bytes).unwrap();
        let file = Disk::real().open(dir.path().join("x"), Mode::Read).unwrap();
        let mut reader = RecordReader::new(&file, 0, 1 << 20);
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    }
}

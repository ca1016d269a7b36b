//! Faults of a site, by what a crawl has stored of it: links that fail, titles that are missing, canonical URLs that
//! contradict one another, and what else [`Kind`] names, each finding with the pages where it shows.
//!
//! # How it works
//!
//! 1. **A pass over the archive** (`gather`): the newest version of each URL, in the order of the archive, so that
//!    nothing is read at random. What a page says of itself (`page`) becomes lines: one for its URL, one for each
//!    link, for each translation that it names, for each text that it should have alone. The logs add what has no
//!    answer (`logs`).
//! 2. **Sorting**: the lines of URLs and links go into files in the order of the URLs (`spool`).
//! 3. **Merging**: redirects are followed by passes over the file of URLs (`redirects`); then links meet their targets
//!    in one pass over both files (`join`). A pass over the links is a click away from the seeds (`clicks`). Texts,
//!    bodies and translations that are the same are next to each other when they are sorted (`same`, `pairs`).
//! 4. **Findings** are lines too, sorted by kind and by what they are about, and written as they come (`report`).
//!
//! # What is promised
//!
//! - Nothing is written into the crawl directory and no lock is taken: a running crawl is not disturbed. What it has
//!   stored when the pass begins is seen.
//! - Only what was crawled is judged. A URL that nobody asked for (out of scope, too deep, still in the queue) is no
//!   finding.
//! - The same directory gives the same findings in the same order, so that two audits can be compared line by line.
//!
//! # Cost
//!
//! Memory stays at [`Options::memory`] with one page and its tree of tags beside it, whatever the number of pages and
//! links. Temporary files (in `TMPDIR`) take some 150 bytes for each link where that memory holds all lines, and some
//! 240 where they are sorted on disk: docs/COMMANDS.md has the figures. The report keeps a bounded number of findings
//! of each kind; CSV and JSON have all.

mod chains;
mod clicks;
mod codes;
mod compare;
mod external;
mod figures;
mod finding;
mod gather;
mod join;
mod line;
mod link;
mod logs;
mod node;
mod page;
mod pairs;
mod redirects;
mod report;
mod same;
mod sample;
mod spool;
mod tree;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use external::{ExternalCounts, REDIRECTS_MAX};
pub use figures::Figures;
pub use finding::{Kind, Weight};
pub use report::{Files, Summary};

use crate::archive::{self, Archive};
use crate::checkpoint::Identity;
use crate::clock::Time;
use crate::disk::{self, Disk};
use crate::web::url::CanonicalUrl;
use external::Checked;
use finding::Findings;
use gather::Gatherer;
use join::Sides;
use spool::Spool;

/// Reasons for which an audit cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The archive cannot be read.
    #[error("{0}")]
    Archive(#[from] archive::Error),
    /// A temporary file or a log.
    #[error("{0}")]
    Disk(#[from] disk::Error),
    /// A file of the report cannot be written.
    #[error("the report cannot be written: {0}")]
    Write(#[from] io::Error),
    /// The file of `--compare` is none of an audit.
    #[error("{}: it is not the JSON file of an audit: {why}", path.display())]
    Earlier {
        /// The file.
        path: PathBuf,
        /// The fault, in words.
        why: String,
    },
}

/// The result of an audit.
pub type Result<T> = std::result::Result<T, Error>;

/// Options of an audit.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for sorting, in bytes.
    pub memory: usize,
    /// The JSON file of an earlier audit, to compare with.
    pub earlier: Option<PathBuf>,
    /// Time at which the report says that it was made.
    pub now: Time,
    /// The site as the report calls it; it names the crawl directory otherwise.
    pub title: Option<String>,
}

/// A crawl whose pages are read.
pub struct Audit {
    options: Options,
    crawl: String,
    gathered: Rest,
    links: Spool,
    nodes: Spool,
    external: Option<External>,
}

/// External links, once somebody has asked for them.
struct External {
    /// Their keys.
    keys: Spool,
    /// Results of a check of them, and the reason why it ended before its end, if it did.
    checked: Option<(Checked, Option<String>)>,
}

/// The rest of what was gathered when URLs and links are sorted.
struct Rest {
    same: disk::sorter::Sorter,
    pairs: disk::sorter::Sorter,
    findings: Findings,
    figures: Figures,
    newest: Time,
    sampler: sample::Sampler,
    tree: tree::Tree,
}

impl Audit {
    /// Reads the crawl in `dir`. What cannot be read of a page is reported to `faulty`; the others go on.
    ///
    /// # Errors
    /// Where nothing is stored, or a file cannot be read at all.
    pub fn read(dir: &Path, options: Options, faulty: &mut dyn FnMut(archive::Error)) -> Result<Audit> {
        let disk = Disk::real();
        let archive = Archive::open_on(&disk, dir)?;
        let archives = archive.archives();
        let mut gatherer = Gatherer::new(&archive, options.memory);
        gatherer.read(faulty)?;
        let mut gathered = gatherer.out;
        logs::read(&disk, archives.dirs(), archives.keys(), &mut gathered.nodes)?;
        let crawl = Identity::read_copy(&disk, archives.dirs().root())
            .or_else(|_| Identity::read_copy(&disk, &archives.dirs().shards()[0]))?;
        let gather::Gathered { nodes, links, same, pairs, findings, figures, newest, sampler, tree } = gathered;
        let rest = Rest { same, pairs, findings, figures, newest, sampler, tree };
        let (links, nodes) = (Spool::of(links)?, Spool::of(nodes)?);
        let crawl = format!("{:032x}", crawl.id);
        Ok(Audit { options, crawl, gathered: rest, links, nodes, external: None })
    }

    /// Writes the external URLs that links lead to, one a line and each once, and says how many they are. `is_outside`
    /// says of a URL whether it is out of the crawl's scope. Then [`Audit::checked`] may say what came of them.
    pub fn external(&mut self, is_outside: &dyn Fn(&CanonicalUrl) -> bool, out: &mut dyn Write) -> Result<u64> {
        let (keys, count) = external::list(&self.links, &self.nodes, is_outside, out)?;
        self.external = Some(External { keys, checked: None });
        Ok(count)
    }

    /// The external URLs were fetched by the crawl in `dir`, which ended before its end if it was `stopped` by
    /// something.
    pub fn checked(
        &mut self,
        dir: &Path,
        stopped: Option<String>,
        faulty: &mut dyn FnMut(archive::Error),
    ) -> Result<()> {
        if let Some(external) = &mut self.external {
            external.checked = Some((Checked::read(dir, self.options.memory / 8, faulty)?, stopped));
        }
        Ok(())
    }

    /// Finds what is wrong, and writes the report.
    pub fn write(self, dir: &str, files: Files<'_>) -> Result<Summary> {
        let Audit { options, crawl, gathered: mut rest, links, nodes, external } = self;
        let mut sample = rest.sampler.finish();
        join::count(&nodes, &mut rest.tree, &mut rest.figures)?;
        clicks::count(&links, &nodes, options.memory / 8, &mut rest.figures)?;
        let chains = chains::find(&nodes, options.memory / 8)?;
        let checked = external.as_ref().and_then(|external| Some((&external.keys, &external.checked.as_ref()?.0)));
        let checked = checked.map(|(keys, checked)| join::External { keys, verdicts: checked.verdicts() });
        let sides = Sides { links: &links, nodes: &nodes, chains: &chains, external: checked };
        let counts = join::find(&sides, &mut sample, &mut rest.findings)?;
        let stopped = |external: External| external.checked.and_then(|(_, why)| why);
        let external = external.map(|external| ExternalCounts { stopped: stopped(external), ..counts });
        same::find(rest.same, &mut rest.findings)?;
        pairs::find(rest.pairs, &nodes, &mut rest.findings)?;
        let findings = Spool::of(rest.findings.into_sorter())?;
        let earlier = options.earlier.as_deref().map(|path| compare::read(path, options.memory / 8)).transpose()?;
        let about = report::About {
            dir: dir.to_owned(),
            title: options.title.unwrap_or_else(|| dir.to_owned()),
            crawl,
            now: options.now,
            newest: rest.newest,
            earlier: options.earlier.map(|path| path.display().to_string()),
            figures: rest.figures,
            sample,
            tree: rest.tree.finish(),
            external,
        };
        report::write(&about, &findings, earlier.as_ref(), files)
    }
}

//! The command line: what was typed, turned into one request, one call and one exit code.
//!
//! Each subcommand has its own file. Only answers go to standard output; progress, logs and errors go to standard
//! error. Subcommands read a crawl directory and never write to it, but for `verify --rebuild`, `report --write`,
//! `compact` and `forget`; `ctl` talks to the process that does.

mod audit;
mod backup;
mod canonical;
mod changes;
mod cluster;
mod columns;
mod compact;
mod completions;
mod config;
mod console;
mod ctl;
mod demo;
mod diff;
mod duplicates;
mod exit;
mod explain;
mod export;
mod extract;
mod follow;
mod forget;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod get;
mod identity;
mod import;
mod init;
mod lines;
mod list;
mod login;
mod mcp;
mod ordered;
mod origin_files;
mod output;
mod page;
mod parts;
mod plan;
mod preferences;
mod report;
mod reservations;
mod robots;
mod run;
mod search;
mod seed_words;
mod selection;
mod serve;
pub(crate) mod simulate;
mod sink;
mod status;
mod tables;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

pub(crate) use crate::stored as archive;
pub(crate) use crate::stored::compare;

pub use exit::{Exit, UsageError};

use archive::Archive;
use run::CrawlArgs;

use crate::crawl::cluster::StoredCrawl;
use crate::crawl::{CrawlError, CrawlRequest};
use crate::disk::{DirectoryLock, Disk};
use crate::documents::child;
use crate::report::closing::shell_word;
use crate::ship::Reads;
use crate::web::secret::SecretAddress;

/// Runs a crawl to its end.
pub(crate) type CrawlFn = fn(CrawlRequest) -> Result<crate::record::Finish, CrawlError>;
/// Opens the archive of a crawl directory on a disk for reading.
pub(crate) type OpenArchive = fn(&Disk, &Path) -> anyhow::Result<Box<dyn Archive>>;

#[derive(Debug, Parser)]
#[command(
    name = "crawler",
    version,
    about = "Crawls the web from a list of seeds: politely, exactly, and safe against crashes",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    crawl: CrawlArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl URLs: the same as crawler without a command
    #[command(after_help = OF_CRAWL)]
    Crawl(CrawlArgs),
    /// Try it without the internet: crawl a synthetic web on this machine and check the result, in ten seconds
    Demo(demo::DemoArgs),
    /// Print a page from the archive
    Get(get::GetArgs),
    /// List what is in the archive
    List(list::ListArgs),
    /// Find pages of the archive by words
    Search(search::SearchArgs),
    /// Show what became of pages since a date: new, changed, moved, gone, back
    Changes(changes::ChangesArgs),
    /// Show the differences of two versions of a page, or of two crawls
    Diff(diff::DiffArgs),
    /// Show what seeds and settings imply before a crawl begins: rates, memory, disk
    Plan(plan::PlanArgs),
    /// Control a running crawl: pause, resume, add seeds, checkpoint, stop, reload
    Ctl(ctl::CtlArgs),
    /// Copy a crawl, also one that runs, from its last checkpoint
    Backup(backup::BackupArgs),
    /// Continue a crawl from a store on another machine, or share one among machines
    Cluster(cluster::ClusterArgs),
    /// Show a crawl in the browser, while it runs or afterwards
    Console(console::ConsoleArgs),
    /// Show archived pages in the browser as they were, while the crawl runs or afterwards
    Serve(serve::ServeArgs),
    /// Answer a language model about the archive: a server of the Model Context Protocol
    Mcp(mcp::McpArgs),
    /// Show the progress of a crawl, while it runs or afterwards
    Status(status::StatusArgs),
    /// Print the tables of a crawl: crawl, hosts, seeds, status-codes, mime-types
    Report(report::ReportArgs),
    /// Explain everything that a crawl knows and decides about a URL
    Explain(explain::ExplainArgs),
    /// Try the login of a site, and see what came of each step
    Login(login::LoginArgs),
    /// Check which URLs a robots.txt allows an agent to fetch, and by which line
    Robots(robots::RobotsArgs),
    /// Show the forms in which URLs are fetched, compared and sorted
    Canonical(canonical::CanonicalArgs),
    /// Check a crawl directory for damage, or rebuild what can be rebuilt
    Verify(verify::VerifyArgs),
    /// Group pages whose texts are nearly the same
    Duplicates(duplicates::DuplicatesArgs),
    /// Print stored pages as JSON lines, as they come, or hand them to a program or a web server
    Follow(follow::FollowArgs),
    /// Deliver documents to search engines, databases and files, compare these with the crawl, and repair them
    Sink(sink::SinkArgs),
    /// Make a table of the archived HTML pages: titles, text, elements by CSS
    Extract(extract::ExtractArgs),
    /// Report what is wrong with a crawled site: broken links, titles, canonical URLs and more
    Audit(audit::AuditArgs),
    /// Remove what is not kept from the archive of a stopped crawl
    Compact(compact::CompactArgs),
    /// Remove pages for good, and never fetch them again
    Forget(forget::ForgetArgs),
    /// Export pages for the tools of web archives: WARC, CDXJ, URLs, links
    Export(export::ExportArgs),
    /// Write a seeds file and a settings file to start from
    Init(init::InitArgs),
    /// Make a crawl directory of WARC and WACZ files by other programs
    Import(import::ImportArgs),
    /// Make and show the key that signs requests, its public directory, and a page about the bot
    Identity(identity::IdentityArgs),
    /// Print the settings in effect, and where each comes from
    Config(config::ConfigArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man(completions::ManArgs),
    /// Serve a synthetic web on loopback, to try a crawl without the internet
    Simulate(simulate::SimulateArgs),
}

/// The crawl directory that a subcommand reads.
#[derive(Debug, Args)]
struct DirArg {
    /// Crawl directory
    #[arg(long, value_name = "DIR", default_value = "./crawl")]
    dir: PathBuf,
}

/// The same, which may also be said without the name of the option.
#[derive(Debug, Args)]
struct GivenDir {
    /// Crawl directory, the same as --dir
    #[arg(value_name = "DIR", conflicts_with = "dir")]
    of: Option<PathBuf>,
    #[command(flatten)]
    option: DirArg,
}

impl GivenDir {
    fn path(&self) -> &Path {
        self.of.as_ref().unwrap_or(&self.option.dir)
    }
}

/// The time for which a subcommand follows a crawl: until it ends, unless it is said otherwise.
#[derive(Debug, Args)]
struct Lasting {
    /// End at what is there now
    #[arg(long)]
    once: bool,
    /// Never end: wait for the crawl to begin, and to be run again
    #[arg(long, conflicts_with = "once")]
    forever: bool,
}

impl Lasting {
    /// Refuses a directory in which there is no crawl, unless one is waited for.
    fn require_crawl(&self, dir: &Path) -> anyhow::Result<()> {
        if self.forever { Ok(()) } else { run::require_crawl(dir) }
    }

    /// True if more may come of the crawl in `dir` that is followed.
    fn goes_on(&self, dir: &Path) -> bool {
        !self.once && (self.forever || DirectoryLock::is_held_or_listed(dir))
    }
}

/// Says something on standard error.
fn tell(sentence: &str) {
    let _ = writeln!(io::stderr(), "crawler: {sentence}");
}

/// The crawl whose archive a subcommand reads.
#[derive(Debug, Args)]
struct ArchiveArg {
    #[command(flatten)]
    dir: DirArg,
    /// Read the crawl from the store that it ships to, instead of --dir
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    store: Option<SecretAddress>,
    /// First digits of the crawl's id, where the store has several
    #[arg(long, value_name = "ID", requires = "store")]
    crawl: Option<String>,
}

impl ArchiveArg {
    /// The archive of a crawl directory.
    fn of(dir: &Path) -> ArchiveArg {
        ArchiveArg { dir: DirArg { dir: dir.to_owned() }, store: None, crawl: None }
    }

    /// Opens it, or says that there is no crawl.
    fn open(&self, open_archive: OpenArchive) -> anyhow::Result<Box<dyn Archive>> {
        match self.stored(Reads::Archive)? {
            None => open(&self.dir.dir, open_archive),
            Some(stored) => open_archive(&stored.disk(), stored.dir()),
        }
    }

    /// The crawl in the store, of which a command `reads` this; nothing where a directory is read.
    fn stored(&self, reads: Reads) -> anyhow::Result<Option<StoredCrawl>> {
        let open = |store: &SecretAddress| StoredCrawl::open(store, self.crawl.as_deref(), reads);
        Ok(self.store.as_ref().map(open).transpose()?)
    }

    /// Returns the option that names it in a command line, and its name.
    fn option_and_name(&self) -> (String, String) {
        match &self.store {
            None => (format!("--dir {}", shell_word(&self.dir.dir)), self.dir.dir.display().to_string()),
            Some(store) => {
                let store = store.to_string();
                (format!("--store {}", shell_word(Path::new(&store))), store)
            }
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  crawler demo                                 try it without the internet
  crawler https://example.com/                 crawl; run it again to resume
  crawler example.com --max-pages 100          stop after 100 pages
  crawler init                                 write the first files
  crawler --seeds seeds.txt                    crawl the URLs in a file
  crawler --seeds seeds.txt --config my.toml   with settings of your own
  crawler --seeds seeds.txt --force            fetch the listed URLs again
  crawler plan seeds.txt                       what such a crawl needs
  crawler status                               progress of the crawl in ./crawl
  crawler console                              the same in the browser
  crawler report hosts                         how each host was treated
  crawler ctl pause                            start no new requests for now
  crawler list --status 404                    pages that were not found
  crawler get https://example.com/             print an archived page
  crawler explain https://example.com/a        why fetched, waiting, or never
  crawler robots robots.txt --agent me /a /b   which of these may be fetched
  crawler verify                               look for damage
  crawler extract --select h1 --text           headings; without it, titles
  crawler export cdxj --output index.cdxj      an index for pywb and others

A seeds file has one URL per line; blank lines and lines that begin with # are skipped. A host without a scheme is \
tried with https, then with http. The crawl goes to ./crawl, or to --dir: several crawls can be side by side.

Ctrl-C stops gracefully: requests in flight finish and are saved. A second Ctrl-C stops at once.

Exit codes:
  0  done                       5   nothing could be fetched
  1  internal fault; for get:   6   directory in use
     not in the archive; for    11  stopped by a signal or ctl stop
     robots: disallowed; for    13  forced by a second signal
     ctl: refused, no crawl
  2  usage or configuration
  3  state damaged or newer
  4  disk full or failing";

const OF_CRAWL: &str = "\
Examples:
  crawler crawl https://example.com/ --max-pages 100
  crawler crawl --seeds seeds.txt --dir my-crawl";

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == child::ARGUMENT) {
        return child::run();
    }
    run_with(parts::crawl, parts::open_archive)
}

/// Runs the command line of this process with the given crawl and archive.
pub fn run_with(crawl: CrawlFn, open_archive: OpenArchive) -> ExitCode {
    // where that cannot be had, such a write ends the process, as the system has it
    let _ = crate::crawl::signals::survive_file_limit();
    run_args(std::env::args_os(), crawl, open_archive).into()
}

/// Runs the command line `args`, its first element the program's name.
pub fn run_args(args: impl IntoIterator<Item = OsString>, crawl: CrawlFn, open_archive: OpenArchive) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            // --help and --version arrive here too; a closed pipe is no reason for another message.
            if !e.use_stderr() {
                let _ = e.print();
                return Exit::Done;
            }
            let _ = io::stderr().write_all(exit::misread(e).as_bytes());
            return Exit::Usage;
        }
    };
    let done = match cli.command {
        None => run::run(cli.crawl, &Cli::command(), crawl),
        Some(Command::Crawl(args)) => run::run(args, &Cli::command(), crawl),
        Some(Command::Demo(args)) => args.run(crawl, open_archive),
        Some(Command::Get(args)) => args.run(open_archive),
        Some(Command::List(args)) => args.run(open_archive),
        Some(Command::Search(args)) => args.run(),
        Some(Command::Changes(args)) => args.run(open_archive),
        Some(Command::Diff(args)) => args.run(open_archive),
        Some(Command::Plan(args)) => args.run(),
        Some(Command::Ctl(args)) => args.run(),
        Some(Command::Backup(args)) => args.run(),
        Some(Command::Cluster(args)) => args.run(crawl),
        Some(Command::Console(args)) => args.run(),
        Some(Command::Serve(args)) => args.run(),
        Some(Command::Mcp(args)) => args.run(),
        Some(Command::Status(args)) => args.run(),
        Some(Command::Report(args)) => args.run(),
        Some(Command::Explain(args)) => args.run(),
        Some(Command::Login(args)) => args.run(crawl),
        Some(Command::Robots(args)) => args.run(),
        Some(Command::Canonical(args)) => args.run(),
        Some(Command::Verify(args)) => args.run(),
        Some(Command::Extract(args)) => args.run(open_archive),
        Some(Command::Duplicates(args)) => args.run(open_archive),
        Some(Command::Follow(args)) => args.run(),
        Some(Command::Sink(args)) => args.run(),
        Some(Command::Audit(args)) => args.run(crawl),
        Some(Command::Compact(args)) => args.run(),
        Some(Command::Forget(args)) => args.run(),
        Some(Command::Export(args)) => args.run(open_archive),
        Some(Command::Import(args)) => args.run(),
        Some(Command::Init(args)) => args.run(),
        Some(Command::Identity(args)) => args.run(),
        Some(Command::Config(args)) => args.run(),
        Some(Command::Completions(args)) => args.run(Cli::command()),
        Some(Command::Man(args)) => args.run(Cli::command()),
        Some(Command::Simulate(args)) => simulate::simulate(&args).map(|()| Exit::Done),
    };
    done.unwrap_or_else(|e| {
        let exit = exit::of(&e);
        if exit != Exit::Done {
            let _ = io::stderr().write_all(exit::message(&e).as_bytes());
        }
        exit
    })
}

/// Opens the archive of the crawl in `dir`, or says that there is no crawl.
fn open(dir: &Path, open_archive: OpenArchive) -> anyhow::Result<Box<dyn Archive>> {
    run::require_crawl(dir)?;
    open_archive(&Disk::real(), dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every command below `command`, by its words.
    fn commands(words: &str, command: &clap::Command, found: &mut Vec<(String, clap::Command)>) {
        for below in command.get_subcommands() {
            let words = format!("{words} {}", below.get_name());
            found.push((words.clone(), below.clone()));
            commands(&words, below, found);
        }
    }

    #[test]
    fn json_and_jsonl_mean_the_same_where_a_command_prints_an_object_a_line() {
        let mut found = Vec::new();
        commands("crawler", &Cli::command(), &mut found);
        let mut of_lines = 0;
        for (words, command) in found {
            let names = |argument: &clap::Arg| {
                let more = argument.get_visible_aliases().unwrap_or_default();
                more.into_iter().chain(argument.get_long()).map(str::to_owned).collect::<Vec<_>>()
            };
            let of_json =
                command.get_arguments().filter(|argument| names(argument).iter().any(|n| n.starts_with("json")));
            for argument in of_json {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default().to_lowercase();
                let is_of_lines = ["lines", "per line", "per row"].iter().any(|word| help.contains(word));
                let both = ["json", "jsonl"].iter().all(|name| names(argument).contains(&(*name).to_owned()));
                assert_eq!(both, is_of_lines, "{words}: {:?} {help}", names(argument));
                of_lines += u32::from(is_of_lines);
            }
        }
        assert!(of_lines >= 8, "{of_lines}");
    }
}

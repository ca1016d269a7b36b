//! `crawler demo`: the first command of a newcomer. It serves a synthetic web on loopback, crawls it, checks what came
//! of it against what that web is known to hold, replays a page of it, searches it, and says what to do next.
//!
//! The web and the crawl run in this one process and need no network. The crawl is one like any other: the crawl
//! directory that it leaves, `crawl` in the directory of the demo, can be read by every command. An earlier demo in the
//! same place is moved aside; a directory of anything else is refused.

mod verdict;

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::archive::{Archive, Damage};
use super::exit::{Exit, UsageError};
use super::extract::ExtractArgs;
#[cfg(feature = "search")]
use super::search::SearchArgs;
use super::selection::Selection;
use super::{CrawlFn, OpenArchive, run, simulate};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, LogFormat};
use crate::console::{Console, DEFAULT_ADDRESS, RecentWarnings};
use crate::crawl::serve::{HOME_ADDRESS, ServeOptions, Served};
use crate::crawl::{CrawlRequest, GivenLimits, Verbosity, console, signals};
use crate::disk::{self, Aside, DirectoryLock, Disk};
use crate::record::Finish;
use crate::report::Screen;
use crate::report::closing::shell_word;
use crate::simweb::{Limits, SimOptions, SimWeb};
use crate::text::escape::Escaped;
use crate::text::figures::count;
use verdict::Verdict;

/// The file by which the directory of a demo is known, and what it says.
const MARK_FILE: &str = "demo.txt";
const MARK: &str = "This directory was made by `crawler demo`.";
const TITLES_FILE: &str = "titles.tsv";
/// Lines of the table that are shown.
const LINES_SHOWN: usize = 5;
/// Words that are searched for.
#[cfg(feature = "search")]
const WORDS: usize = 2;
/// Time between two requests to a host: the largest host of the web takes some eight seconds with it.
const DELAY: Duration = Duration::from_millis(50);
/// Addresses of the archive at the end.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Times are counted in milliseconds by the crawler, and the server may see them that much shorter.
const SLACK: Duration = Duration::from_millis(2);

#[derive(Debug, Args)]
#[command(after_help = "\
Needs no internet: the command itself serves the web that it crawls, on 127.0.0.1. A directory from an earlier demo is \
moved aside; a directory with anything else in it is rejected.

Examples:
  crawler demo
  crawler demo --dir /tmp/demo
  crawler demo --console         watch it in the browser

Exit codes: 0 the result is as expected, 1 it is not, 2 the directory cannot be used, 11 stopped by Ctrl-C.")]
pub(super) struct DemoArgs {
    /// Directory for the crawl
    #[arg(long, value_name = "DIR", default_value = "./crawl-demo")]
    dir: PathBuf,
    /// Show the crawl in the browser, and keep the page open at the end until Ctrl-C
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    #[arg(default_missing_value = DEFAULT_ADDRESS, value_parser = run::console_address)]
    console: Option<SocketAddr>,
}

impl DemoArgs {
    pub(super) fn run(&self, crawl: CrawlFn, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let screen = Screen::stderr();
        let warnings = self.console.map(|_| RecentWarnings::default());
        run::log_to(&screen, Verbosity::Normal, LogFormat::Text, warnings.clone())?;
        // without a handler the signal ends the process, which is what happens where there can be none
        let _ = signals::survive_checkpoint_signal();
        let web = SimWeb::start(options()).context("cannot start the synthetic web on 127.0.0.1")?;
        let aside = self.make_room()?;
        let config = config(&web);
        self.write_files(&web, &config)?;
        say(&introduction(&web, &self.dir, aside.as_deref()))?;
        let console = self.open_console(warnings)?;
        let request = CrawlRequest {
            config: Config::parse(&config, "crawler.toml")?,
            config_path: Some(self.dir.join("crawler.toml")),
            limits: GivenLimits::default(),
            seeds_path: Some(self.dir.join("seeds.txt")),
            urls: Vec::new(),
            json_path: None,
            seeds: web.seeds().join("\n").into(),
            dir: self.crawl_dir(),
            force: false,
            until_fresh: false,
            verbosity: Verbosity::Normal,
            warnings: None,
            screen: screen.clone(),
        };
        let finish = crawl(request)?;
        if finish != Finish::Complete {
            say("\nThe demo ended before its crawl was complete, so the result was not checked.\n")?;
            return Ok(Exit::from(finish));
        }
        let archive = open_archive(&Disk::real(), &self.crawl_dir())?;
        let verdict = Verdict::of(&*archive, web.expected(), &web.log(), web.http_port(), &limits())?;
        say(&format!("\nStep 2: check the archive against the list of pages that this web holds.\n\n{verdict}"))?;
        if !verdict.is_right() {
            return Ok(Exit::Internal);
        }
        self.extract(&*archive)?;
        let page = first_page(&*archive)?.unwrap_or_else(|| web.seeds()[0].clone());
        let served = Served::open(&self.crawl_dir(), ServeOptions::at(ANY_PORT, ANY_PORT))?;
        let Some(shown) = served.shown(&page) else {
            say(&format!("\nStep 4: replay a page. {page} is in the archive, and is not shown.\n"))?;
            return Ok(Exit::Internal);
        };
        say(&replay(&shown, &self.crawl_dir()))?;
        #[cfg(feature = "search")]
        if !self.search()? {
            return Ok(Exit::Internal);
        }
        say(&next_steps(&page, &web, &self.crawl_dir()))?;
        let stays = console.as_ref().map(|console| format!("The console stays open at {}", console.address()));
        let open = || format!("The page stays open at http://{}{shown}", served.home());
        let stays = stays.or_else(|| screen.is_terminal().then(open));
        if let Some(stays) = stays {
            screen.print(&format!("\n{stays}\nCtrl-C closes it.\n"));
            signals::wait_for_interrupt()?;
        }
        Ok(Exit::Done)
    }

    /// The console, where one is wanted: of the directory, so that it outlives the crawl.
    fn open_console(&self, warnings: Option<RecentWarnings>) -> anyhow::Result<Option<Console>> {
        let Some(address) = self.console else { return Ok(None) };
        let console = console::open(&self.crawl_dir(), &address.to_string(), warnings)?;
        super::console::tell(&console)?;
        Ok(Some(console))
    }

    /// The crawl directory, in the directory of the demo.
    fn crawl_dir(&self) -> PathBuf {
        self.dir.join("crawl")
    }

    /// Makes the directory, and moves the directory of an earlier demo aside; returns its new path.
    fn make_room(&self) -> anyhow::Result<Option<PathBuf>> {
        let list = |e| disk::Error::io("list", &self.dir, e);
        let name = Escaped(&self.dir.to_string_lossy()).to_string();
        let is_empty = match fs::read_dir(&self.dir) {
            Ok(mut entries) => entries.next().transpose().map_err(list)?.is_none(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => true,
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                return Err(UsageError::because(format!("{name} is a file, not a directory; choose another --dir")));
            }
            Err(e) => return Err(list(e).into()),
        };
        let aside = if is_empty {
            None
        } else if is_demo(&self.dir) {
            let crawl = self.crawl_dir();
            let _lock = if crawl.exists() { Some(DirectoryLock::acquire(&crawl)?) } else { None };
            let aside = run::rename_aside(&self.dir, SystemClock::new().now())?;
            Some(as_typed(&self.dir, aside))
        } else {
            let problem = format!("{name} is not empty and not from an earlier demo; choose another --dir");
            return Err(UsageError::because(problem));
        };
        fs::create_dir_all(&self.dir).map_err(|e| disk::Error::io("create", &self.dir, e))?;
        Ok(aside)
    }

    /// The mark comes first: what a killed demo leaves is the directory of a demo.
    fn write_files(&self, web: &SimWeb, config: &str) -> anyhow::Result<()> {
        let path = self.dir.join(MARK_FILE);
        let mark = format!(
            "{MARK}\n\n\
             seeds.txt      where the crawl began\n\
             crawler.toml   its settings\n\
             expected.txt   status and URL of every page that had to be found\n\
             crawl/         the crawl directory: archive, logs, reports\n\
             {TITLES_FILE}     a table of all titles\n\n\
             The web that was crawled ended with the command. You can delete this directory.\n"
        );
        Aside::put(&path, mark.as_bytes())?;
        simulate::write_start(web, config, &self.dir)
    }

    /// Searches for the title of a page, and shows what is found. Says whether anything was.
    #[cfg(feature = "search")]
    fn search(&self) -> anyhow::Result<bool> {
        let path = self.dir.join(TITLES_FILE);
        let titles = fs::read_to_string(&path).map_err(|e| disk::Error::io("read", &path, e))?;
        let title = titles.lines().nth(1).and_then(|line| line.split('\t').nth(1)).unwrap_or_default();
        let words: Vec<String> = title.split_whitespace().map(str::to_owned).take(WORDS).collect();
        say(&format!(
            "\nStep 5: search the archive for words of its pages.\n\n    {} search {} --dir {}\n\n",
            program(),
            words.join(" "),
            shell_word(&self.crawl_dir()),
        ))?;
        let search = SearchArgs::of_words(&self.crawl_dir(), words);
        let found = search.find()?;
        let mut shown = Vec::new();
        search.print(&found, false, &mut shown)?;
        let shown = String::from_utf8_lossy(&shown);
        say(&shown.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect::<String>())?;
        Ok(found.total > 0)
    }

    /// Writes the table of titles, and shows how it begins.
    fn extract(&self, archive: &dyn Archive) -> anyhow::Result<()> {
        let path = self.dir.join(TITLES_FILE);
        let mut table = Vec::new();
        ExtractArgs::of_titles(&self.crawl_dir()).print_to(archive, &mut table, &mut io::stderr())?;
        Aside::put(&path, &table)?;
        let text = String::from_utf8_lossy(&table);
        let first: Vec<String> = text.lines().take(LINES_SHOWN).map(|line| format!("    {line}\n")).collect();
        say(&format!(
            "\nStep 3: extract a table, one line per page with its title. The first lines:\n\n\
             {}\nAll {} lines are in {}.\n",
            first.concat(),
            count(text.lines().count() as u64),
            shell_word(&path),
        ))
    }
}

/// `aside` as people name it who named its neighbour `dir`, where that is the same place.
fn as_typed(dir: &Path, aside: PathBuf) -> PathBuf {
    let Some(near) = aside.file_name().map(|name| dir.with_file_name(name)) else { return aside };
    if near.exists() { near } else { aside }
}

/// True if an earlier demo made `dir`.
fn is_demo(dir: &Path) -> bool {
    Disk::real().read(dir.join(MARK_FILE)).is_ok_and(|text| text.starts_with(MARK.as_bytes()))
}

/// A web whose largest host takes some eight seconds at one request in [`DELAY`].
fn options() -> SimOptions {
    let smooth = SimOptions::default().smooth();
    SimOptions { hosts: 40, pages: 700, latency: Duration::from_millis(10), sitemap_share: 0.2, ..smooth }
}

fn config(web: &SimWeb) -> String {
    let delay_ms = DELAY.as_millis();
    let politeness = format!("delay_factor = 0.0\ndelay_min = \"{delay_ms}ms\"\ndelay_per_ip = \"0s\"\n");
    format!("[crawl]\ncontact = \"https://example.org/demo\"\n\n{}", web.config_with(&politeness))
}

/// Returns the limits that [`config`] promises to keep.
fn limits() -> Limits {
    Limits { delay_min: DELAY, slack: SLACK, ..Limits::default() }
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

fn introduction(web: &SimWeb, dir: &Path, aside: Option<&Path>) -> String {
    let aside = aside
        .map_or(String::new(), |aside| format!("There was an earlier demo. It was moved to {}.\n", shell_word(aside)));
    format!(
        "This demo needs no internet. It serves a small synthetic web on this machine,\n\
         crawls it as it would crawl real sites, and checks the result. It takes about\n\
         ten seconds. Everything that it writes goes to {}.\n{aside}\n\
         Step 1: crawl {} hosts. Each host gets one request at a time, with a pause of\n\
         {} ms in between, and its robots.txt is obeyed. Ctrl-C stops the crawl.\n\n",
        shell_word(dir),
        web.hosts().count(),
        DELAY.as_millis(),
    )
}

/// The page at this path was shown.
fn replay(path: &str, dir: &Path) -> String {
    format!(
        "\nStep 4: replay a page as it was, from the archive alone. The first line opens\n\
         the archive, the second is the page in the browser:\n\n    \
         {} serve --dir {}\n    \
         http://{HOME_ADDRESS}{path}\n",
        program(),
        shell_word(dir),
    )
}

fn next_steps(page: &str, web: &SimWeb, dir: &Path) -> String {
    let (crawler, dir) = (program(), shell_word(dir));
    let disallowed = web.expected().disallowed.first().map_or(String::new(), |url| {
        format!("    # why a page was not fetched\n    {crawler} explain {url} --dir {dir}\n")
    });
    format!(
        "\nNext, look at this crawl:\n\n    \
         # pages that were not found\n    \
         {crawler} list --status 404 --dir {dir}\n    \
         # a page, as it was served\n    \
         {crawler} get {page} --dir {dir}\n\
         {disallowed}    \
         # how each host was treated\n    \
         {crawler} report hosts --dir {dir}\n    \
         # the archive as a WARC file, for other tools\n    \
         {crawler} export warc --dir {dir} --output demo.warc.gz\n\n\
         Or crawl a real site, with its address in the place of https://example.com/:\n\n    \
         {crawler} https://example.com/ --max-pages 100\n    \
         # with settings of your own\n    \
         {crawler} init\n    \
         {crawler} https://example.com/ --config crawler.toml --dir my-crawl\n"
    )
}

/// The first page of the archive that is one, and no redirect or error.
fn first_page(archive: &dyn Archive) -> anyhow::Result<Option<String>> {
    let (mut found, mut damage) = (None, Damage::default());
    Selection::default().each(archive, false, &mut damage, &mut io::stderr(), |entry, _, _| {
        if found.is_none() && entry.status == 200 && entry.mime.starts_with("text/html") {
            found = Some(entry.url);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the name by which this program was called: a reader may have built it and not installed it.
fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    called.filter(|path| path.components().count() > 1).map_or("crawler".to_owned(), |path| shell_word(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::archive::tests::FakeArchive;
    use crate::crawl::CrawlError;

    fn empty(_: &Disk, _: &Path) -> anyhow::Result<Box<dyn Archive>> {
        Ok(Box::new(FakeArchive::default()))
    }

    #[test]
    fn n30_a_directory_of_an_earlier_demo_is_moved_aside_and_any_other_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let demo = DemoArgs { dir: parent.path().join("demo"), console: None };
        assert_eq!(demo.make_room().unwrap(), None);
        assert_eq!(demo.make_room().unwrap(), None, "an empty one is as good as none");
        fs::write(demo.dir.join("mine"), "x").unwrap();
        for mark in [None, Some("my own notes")] {
            if let Some(mark) = mark {
                fs::write(demo.dir.join(MARK_FILE), mark).unwrap();
            }
            let error = demo.make_room().unwrap_err();
            assert!(error.is::<UsageError>() && error.to_string().contains("choose another --dir"), "{error}");
        }
        fs::write(demo.dir.join(MARK_FILE), format!("{MARK}\n")).unwrap();
        let aside = demo.make_room().unwrap().unwrap();
        assert!(aside.join("mine").exists() && aside != demo.dir);
        assert_eq!(fs::read_dir(&demo.dir).unwrap().count(), 0);
        let error = DemoArgs { dir: aside.join("mine"), console: None }.make_room().unwrap_err();
        assert!(error.to_string().contains("is a file"), "{error}");
    }

    #[test]
    fn n30_a_result_that_is_not_the_expected_one_and_a_crawl_that_was_stopped_have_codes_of_their_own() {
        fn nothing(_: CrawlRequest) -> Result<Finish, CrawlError> {
            Ok(Finish::Complete)
        }
        fn stopped(_: CrawlRequest) -> Result<Finish, CrawlError> {
            Ok(Finish::StoppedBySignal)
        }
        let parent = tempfile::tempdir().unwrap();
        for (crawl, exit) in [(nothing as CrawlFn, Exit::Internal), (stopped, Exit::Stopped)] {
            let demo = DemoArgs { dir: parent.path().join("demo"), console: None };
            assert_eq!(demo.run(crawl, empty).unwrap(), exit);
        }
    }
}

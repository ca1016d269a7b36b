//! Pages that are visited again after `verify --rebuild` has made the index anew: what is known of a page outside the
//! archive leads to no other page in it, and content that is lost is asked for until it is there.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::{Command, Output};
use std::time::Duration;

use crawler::container::{KeyRecord, Reader};
use crawler::disk::Disk;

use super::again::{Pace, start};
use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, RUSH, wait};

/// All URLs of the site have the same length, and so have their records in key.dat.
const PAGES: usize = 10;
/// The page whose content is lost.
const LOST: usize = 3;
const LATER: Duration = Duration::from_secs(3 * 3_600);

fn path(page: usize) -> String {
    format!("/{page}")
}

fn body(page: usize) -> String {
    let links: String = (0..PAGES).map(|page| format!("<a href=\"{}\">{page}</a>", path(page))).collect();
    format!("<title>{page}</title>{links}{}", format!("<p>Page {page} says this, in words of its own.</p>").repeat(20))
}

/// Pages with an ETag each, of which a condition with it brings no body.
fn answer(asked: &Asked) -> Answer {
    let Some(page) = (0..PAGES).find(|&page| path(page) == asked.path) else { return Answer::status(404) };
    let tag = format!("\"of-{page}\"");
    let is_known = asked.field("if-none-match") == Some(&tag);
    let answer = if is_known { Answer::status(304) } else { Answer::page(body(page)) };
    answer.with("etag", tag)
}

struct Site {
    hosts: Hosts,
    crawl: Crawl,
}

impl Site {
    fn new() -> Site {
        let hosts = Hosts::start(1, answer);
        let config = format!(
            "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}\n\
             [recrawl]\nmode = \"fixed\"\ninterval = \"1h\"\n"
        );
        let crawl = Crawl::new(&format!("{}\n", hosts.url(1, &path(0))), &config);
        Site { hosts, crawl }
    }

    fn command(&self, command: &[&str]) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
        process.args(command).arg("--dir").arg(self.crawl.path("crawl")).output().unwrap()
    }

    /// Returns the findings of `verify`, without the sum.
    fn findings(&self) -> Vec<String> {
        let told = String::from_utf8(self.command(&["verify"]).stdout).unwrap();
        let lines: Vec<String> = told.lines().map(str::to_owned).collect();
        lines[..lines.len() - 1].to_vec()
    }

    /// The conditions with which pages were asked for behind the first `from` requests, by page.
    fn conditions(&self, from: usize) -> Vec<(usize, Option<String>)> {
        let asked = self.hosts.asked();
        let of_page = |asked: &Asked| (0..PAGES).find(|&page| path(page) == asked.path);
        let condition = |asked: &Asked| asked.field("if-none-match").map(str::to_owned);
        let mut each: Vec<_> =
            asked[from..].iter().filter_map(|asked| Some((of_page(asked)?, condition(asked)))).collect();
        each.sort();
        each
    }

    fn record(&self, page: usize) -> (Reader, KeyRecord) {
        let reader = Reader::open(Disk::real(), &self.crawl.path("crawl/pages")).unwrap();
        let url = self.hosts.url(1, &path(page));
        let record = reader.records().map(Result::unwrap).find(|record| record.url == url).unwrap();
        (reader, record)
    }

    /// Damages the stored content of a page.
    fn damage(&self, page: usize) {
        let (reader, record) = self.record(page);
        let path = self.crawl.path("crawl/pages").join(reader.value_name(&record).unwrap());
        let at = record.value_offset + record.value_bytes / 2;
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0xff], at).unwrap();
    }

    fn visit(&self, pace: Pace, options: &[&str]) {
        wait(start(&self.crawl, pace, options)).expect(0, &[]);
    }

    /// Every page is in the archive with its own content.
    #[track_caller]
    fn assert_whole(&self) {
        for page in 0..PAGES {
            let output = self.command(&["get", &self.hosts.url(1, &path(page))]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{page}: {said}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), body(page), "{page}");
        }
    }
}

/// A crawl of which one page was lost with its content, and whose index was made again.
fn rebuilt(pace: Pace) -> Site {
    let site = Site::new();
    site.visit(pace, &["--until-fresh"]);
    site.assert_whole();
    assert_eq!(site.findings(), [""; 0]);
    site.damage(LOST);
    assert_eq!(site.command(&["verify"]).status.code(), Some(3));
    assert_eq!(site.command(&["verify", "--rebuild"]).status.code(), Some(3), "content is lost");
    site
}

fn visited_after_a_rebuild(options: &[&str], asked_again: &[usize]) {
    let pace = Pace::of_machine(1);
    let site = rebuilt(pace);
    let found = site.findings();
    // the bytes that cannot be read, and nothing that the rebuild has left
    assert_eq!(found.len(), 1, "{found:?}");
    let before = site.hosts.asked().len();
    site.visit(pace.on(LATER, 1), options);
    assert_eq!(site.findings(), found, "the visits have damaged nothing");
    site.assert_whole();
    // what is there is asked for on its condition, and what is lost without one
    let condition = |page: usize| (page != LOST).then(|| format!("\"of-{page}\""));
    let expected: Vec<_> = asked_again.iter().map(|&page| (page, condition(page))).collect();
    assert_eq!(site.conditions(before), expected);
    // and from then on that is there, too
    let before = site.hosts.asked().len();
    site.visit(pace.on(LATER * 2, 1), options);
    let expected: Vec<_> = asked_again.iter().map(|&page| (page, Some(format!("\"of-{page}\"")))).collect();
    assert_eq!(site.conditions(before), expected);
    assert_eq!(site.findings(), found);
    site.assert_whole();
}

#[test]
fn pages_that_are_due_after_a_rebuild_refer_to_themselves_and_lost_content_comes_back() {
    visited_after_a_rebuild(&["--until-fresh"], &(0..PAGES).collect::<Vec<_>>());
}

#[test]
fn seeds_that_are_wanted_again_after_a_rebuild_refer_to_themselves_and_lost_content_comes_back() {
    visited_after_a_rebuild(&["--force", "--until-fresh"], &(0..PAGES).collect::<Vec<_>>());
}

/// The position of a record is no name that lasts: the index of a directory may be made again at any time.
#[test]
fn an_index_that_is_made_again_without_damage_changes_nothing() {
    let pace = Pace::of_machine(1);
    let site = Site::new();
    site.visit(pace, &["--until-fresh"]);
    fs::remove_file(site.crawl.path("crawl/pages/key.dat")).unwrap();
    assert_eq!(site.command(&["verify", "--rebuild"]).status.code(), Some(0));
    let before = site.hosts.asked().len();
    site.visit(pace.on(LATER, 1), &["--until-fresh"]);
    assert_eq!(site.findings(), [""; 0]);
    assert!(site.conditions(before).iter().all(|(page, condition)| *condition == Some(format!("\"of-{page}\""))));
    site.assert_whole();
}

//! The commands of README.md, as they are there: the first one, and those of the first crawl, on a synthetic web in
//! the place of the reader's site. The documents of the repository are linked to one another; no link leads nowhere.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::serve::Served;
use crawler::simweb::{SimOptions, SimWeb};

const README: &str = include_str!("../../README.md");
/// Address that stands for the reader's site.
pub(crate) const SITE: &str = "https://example.com/";

/// The commands of the first crawl, in their order.
fn commands() -> Vec<&'static str> {
    let section = README.split("\n## First crawl\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let commands = section.lines().filter_map(|line| line.strip_prefix("    "));
    commands.filter(|line| line.starts_with("crawler ")).collect()
}

/// Does by the file of settings what the text says, and what it takes to crawl a web that is not in the internet: the
/// sections of `settings`.
pub(crate) fn settle(path: &Path, settings: &str) {
    let text = fs::read_to_string(path).unwrap();
    let contact = "contact = \"https://example.org/bot\"";
    assert_eq!(text.matches("\ncontact = \"\"").count(), 1, "{text}");
    let mut config: toml::Table = text.replace("contact = \"\"", contact).parse().unwrap();
    let of_web: toml::Table = settings.parse().unwrap();
    for (section, keys) in of_web {
        let place = config.entry(section).or_insert_with(|| toml::Table::new().into());
        place.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
    }
    fs::write(path, config.to_string()).unwrap();
}

/// A command that finds the program under its name.
pub(crate) fn with_binary(command: &mut Command) -> &mut Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_crawler")).parent().unwrap();
    command.env("PATH", format!("{}:{}", binary.display(), std::env::var("PATH").unwrap()))
}

#[test]
fn the_first_crawl_of_the_readme_does_what_it_says() {
    let options = SimOptions { hosts: 4, pages: 150, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let site = web.seeds()[0].clone();
    let dir = tempfile::tempdir().unwrap();
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    assert!(commands[0].starts_with("crawler https://example.com/ "), "{commands:?}");
    // no settings are asked of a reader for this one, but a web that is not in the internet takes some
    fs::write(dir.path().join("web.toml"), web.config_toml()).unwrap();
    for (number, line) in commands.iter().enumerate() {
        let mut line = line.replace(SITE, &site);
        if number == 0 {
            line += " --config web.toml";
        }
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(dir.path()).stdin(Stdio::null());
        let output = with_binary(&mut command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        if line.starts_with("crawler init ") {
            settle(&dir.path().join("crawler.toml"), &web.config_toml());
        }
    }
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let titles = read("titles.tsv");
    assert!(titles.starts_with("url\ttitle\n") && titles.lines().count() > 20, "{titles}");
    assert!(titles.lines().all(|line| line.split('\t').count() == 2), "{titles}");
    assert!(read("links.tsv").lines().all(|line| line.split('\t').count() == 5));
    assert!(read("page.html").contains('<'));
    assert!(fs::read(dir.path().join("site.wacz")).unwrap().starts_with(b"PK"));
}

/// The words behind `cargo run --release --` of every such line of README.md, in their order.
fn run_from_a_clone() -> Vec<Vec<&'static str>> {
    let lines = README.lines().filter_map(|line| line.strip_prefix("    cargo run --release -- "));
    lines.map(|line| line.split(" #").next().unwrap().split_whitespace().collect()).collect()
}

fn crawler(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn n30_the_first_command_of_the_readme_crawls_checks_extracts_and_says_what_to_do_next() {
    let code: Vec<&str> = README.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert!(code[0].starts_with("cargo run --release -- demo"), "the first command is {:?}", code[0]);
    assert!(code.contains(&"cargo test"));
    assert!(README.lines().count() <= 200, "README.md has more than 200 lines");
    let commands = run_from_a_clone();

    let dir = tempfile::tempdir().unwrap();
    let output = crawler(dir.path(), &commands[0]).output().unwrap();
    let (told, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{told}{said}");
    assert!(told.starts_with("This demo needs no internet."), "{told}");
    assert!(told.contains("The result is right") && told.contains("url\ttitle"), "{told}");
    assert!(said.contains("complete: no URL is left"), "{said}");
    assert!(!said.contains(" WARN "), "{said}");
    // commands and the table are as long as paths and titles are
    assert!(told.lines().all(|line| line.starts_with("    ") || line.chars().count() <= 80), "{told}");
    let titles = fs::read_to_string(dir.path().join("crawl-demo/titles.tsv")).unwrap();
    assert!(titles.starts_with("url\ttitle\n") && titles.lines().count() > 500, "{titles}");

    // what README.md shows of it is what it says
    let shown = README.split("\n## Try it\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let name = |line: &str| line.trim().split("  ").next().unwrap().to_owned();
    let shown: Vec<_> =
        shown.iter().filter(|line| line.starts_with("    ") || line.starts_with("The result")).collect();
    assert!(shown.len() > 4, "{shown:?}");
    for line in shown {
        assert!(told.contains(&name(line)), "{line:?} is not in {told}");
    }

    // the page that it replays is there when the archive is opened
    let step = told.split_once("Step 4: ").unwrap().1;
    let path = step.lines().find_map(|line| line.strip_prefix("    http://127.0.0.1:9160")).unwrap();
    let served = Served::by(&[], &dir.path().join("crawl-demo/crawl"), &[]);
    let page = served.ask(&served.replay, &format!("GET {path}"), &[], "");
    assert_eq!((page.status, page.text().contains("/replay-head.js")), (200, true));

    // and its search has found something
    let step = told.split_once("Step 5: ").unwrap().1.split_once("Next, ").unwrap().0;
    assert!(step.contains(" search ") && step.contains("    1. ") && step.contains("urn:uuid:"), "{step}");

    // and every command that it names does something
    let (look, real) =
        told.split_once("Next, look at this crawl:").unwrap().1.split_once("Or crawl a real site").unwrap();
    let look: Vec<&str> =
        look.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(look.len(), 5, "{look:?}");
    for line in look {
        let Output { status, stderr, .. } =
            Command::new("sh").args(["-c", line]).current_dir(dir.path()).output().unwrap();
        assert!(status.success(), "{line}: {}", text(&stderr));
    }
    assert!(real.contains(" https://example.com/ --max-pages 100\n") && real.contains(" init\n"), "{real}");
    let verify = crawler(dir.path(), &["verify", "--dir", "crawl-demo/crawl"]).output().unwrap();
    assert!(verify.status.success() && !text(&verify.stdout).contains("leftover"), "{verify:?}");
}

#[test]
fn n30_a_second_demo_moves_the_first_aside_and_no_demo_touches_what_is_none() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/notes"), "mine").unwrap();
    let output = crawler(dir.path(), &["demo", "--dir", "mine"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("mine is not empty and not from an earlier demo"), "{output:?}");
    assert_eq!(fs::read_dir(dir.path().join("mine")).unwrap().count(), 1);

    // each is stopped as soon as it crawls
    for number in 0..2 {
        let mut child = crawler(dir.path(), &["demo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.any(|line| line.contains("a new crawl in")), "demo {number} does not crawl");
        // the one that works there is not moved
        let second = crawler(dir.path(), &["demo"]).output().unwrap();
        assert_eq!(second.status.code(), Some(6), "{}", text(&second.stderr));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        said.for_each(drop);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(11));
        assert_eq!(text(&output.stdout).contains("It was moved to ./crawl-demo.old-"), number == 1);
    }
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("crawl-demo")).count(), 2);
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// The anchors of a document.
fn anchors(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut anchors = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with('#') {
            anchors.push(anchor(line.trim_start_matches('#').trim()));
        }
    }
    anchors
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let within = |dir: &str| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut documents = ["docs", "docs/architecture", "docs/performance"].map(within).concat();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| Path::new(name).to_owned()));
    let mut links = 0;
    for path in &documents {
        let text = fs::read_to_string(path).unwrap();
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            // of the web, or code such as `[a](b, c)`
            if target.contains("://") || target.contains([' ', '`']) {
                continue;
            }
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(file.exists(), "{}: {target} leads to no file", path.display());
            if !heading.is_empty() {
                let headings = anchors(&fs::read_to_string(&file).unwrap());
                assert!(headings.contains(&heading.to_owned()), "{}: {target} leads to no heading", path.display());
            }
        }
    }
    assert!(links > 50, "{links}");
}

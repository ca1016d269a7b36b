//! The tutorial of README.md: its commands, as they stand there, on a synthetic web in the place of the reader's site.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crawler::simweb::{SimOptions, SimWeb};

const README: &str = include_str!("../README.md");
/// What stands for the reader's site.
const SITE: &str = "https://example.com/";

/// The commands of the tutorial, in their order.
fn commands() -> Vec<&'static str> {
    let section = README.split("\n## Your first archive\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let commands = section.lines().filter_map(|line| line.strip_prefix("    "));
    commands.filter(|line| line.starts_with("crawler ")).collect()
}

/// Does by the file of settings what the text says, and what it takes to crawl a web that is not in the internet.
fn settle(path: &Path, web: &SimWeb) {
    let text = fs::read_to_string(path).unwrap();
    let contact = "contact = \"https://example.org/bot\"";
    assert_eq!(text.matches("\ncontact = \"\"").count(), 1, "{text}");
    let mut config: toml::Table = text.replace("contact = \"\"", contact).parse().unwrap();
    let of_web: toml::Table = web.config_toml().parse().unwrap();
    for (section, keys) in of_web {
        let place = config.entry(section).or_insert_with(|| toml::Table::new().into());
        place.as_table_mut().unwrap().extend(keys.as_table().unwrap().clone());
    }
    fs::write(path, config.to_string()).unwrap();
}

#[test]
fn the_tutorial_does_what_it_says() {
    let options = SimOptions { hosts: 4, pages: 150, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let site = web.seeds()[0].clone();
    let dir = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_crawler")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    assert!(commands[0].starts_with("crawler init "), "{commands:?}");
    for (number, line) in commands.iter().enumerate() {
        let line = line.replace(SITE, &site);
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(dir.path()).env("PATH", &path).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        if number == 0 {
            settle(&dir.path().join("crawler.toml"), &web);
        }
    }
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let titles = read("titles.tsv");
    assert!(titles.starts_with("url\ttitle\n") && titles.lines().count() > 20, "{titles}");
    assert!(titles.lines().all(|line| line.split('\t').count() == 2), "{titles}");
    assert!(read("links.tsv").lines().all(|line| line.split('\t').count() == 5));
    assert!(read("page.html").contains('<'));
}

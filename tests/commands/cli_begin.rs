//! Beginning with the real binary: the first files, the settings and where they come from, completions, the manual.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crawler::config::Config;

fn crawler(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

/// Returns what a run prints that must succeed in silence.
fn prints(dir: &Path, args: &[&str]) -> String {
    let output = crawler(dir, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a run that must end as a usage error.
fn refused(dir: &Path, args: &[&str]) -> String {
    let output = crawler(dir, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    said
}

#[test]
fn init_writes_the_first_files_and_never_again() {
    let dir = tempfile::tempdir().unwrap();
    let told = prints(dir.path(), &["init", "https://example.com/", "example.org"]);
    assert!(told.ends_with("then: crawler --seeds seeds.txt --config crawler.toml\n"), "{told}");
    let seeds = fs::read_to_string(dir.path().join("seeds.txt")).unwrap();
    let urls: Vec<&str> = seeds.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(urls, ["https://example.com/", "example.org"]);
    let config = Config::load(Some(&dir.path().join("crawler.toml"))).unwrap();
    assert_eq!(config, Config::default());

    fs::write(dir.path().join("crawler.toml"), "# mine\n").unwrap();
    let said = refused(dir.path(), &["init", "https://example.net/"]);
    assert!(said.contains("seeds.txt exists already"), "{said}");
    let told = prints(dir.path(), &["init"]);
    assert_eq!(told.matches("exists already and was not changed").count(), 2, "{told}");
    assert_eq!(fs::read_to_string(dir.path().join("seeds.txt")).unwrap(), seeds);
    assert_eq!(fs::read_to_string(dir.path().join("crawler.toml")).unwrap(), "# mine\n");
}

#[test]
fn init_makes_a_directory_and_says_the_line_that_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let told = prints(dir.path(), &["init", "--into", "my crawl"]);
    assert!(told.contains("then: crawler --seeds 'my crawl/seeds.txt' --config 'my crawl/crawler.toml'"), "{told}");
    assert!(told.contains("write the seed URLs into it"), "{told}");
    // no seed yet: a crawl says so, and how to write one
    let said = refused(dir.path(), &["--seeds", "my crawl/seeds.txt", "--config", "my crawl/crawler.toml"]);
    assert!(said.contains("has no URL") && said.contains("https://example.com/"), "{said}");
}

#[test]
fn init_refuses_what_is_no_seed_and_writes_nothing_then() {
    let dir = tempfile::tempdir().unwrap();
    for url in
        ["me@example.com", "mailto:me@example.com", "ftp://example.com/", "# x", "", "https://a b/", "a.org\nb.org"]
    {
        let said = refused(dir.path(), &["init", "https://example.com/", url]);
        assert!(said.contains("cannot be a seed"), "{url}: {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    fs::write(dir.path().join("file"), "").unwrap();
    let output = crawler(dir.path(), &["init", "--into", "file"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("file"));
}

#[test]
fn config_prints_the_settings_and_where_each_comes_from() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[crawl]\nmax_pages = 5\ncontact = \"me@example.com\"\n\n[politeness]\ndelay_min = \"1500ms\"\n\
                [fetch]\nproxy = \"http://me:sesame@127.0.0.1:3128\"\n[scope]\nexclude = [\"a\\u202Eb\"]\n";
    fs::write(dir.path().join("my.toml"), text).unwrap();
    let limits = ["--max-pages", "9", "--max-time", "90m", "--max-depth", "3"];
    let shown = prints(dir.path(), &[&["config", "--config", "my.toml"], &limits[..]].concat());
    for line in [
        "max_pages = 9                   # command line, --max-pages",
        "max_time = \"90m\"                # command line, --max-time",
        "max_depth = 3                   # command line, --max-depth",
        "delay_min = \"1500ms\"            # my.toml:6",
        "contact = \"me@example.com\"      # my.toml:3",
        "exclude = [\"a\\u202Eb\"]               # my.toml:10",
        "max_body = \"16MiB\"              # default",
        "delay_max = \"30s\"               # default",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\nis not in\n{shown}");
    }
    assert!(
        !shown.contains("sesame") && shown.contains("# my.toml:8; its user name and password are left out here"),
        "{shown}"
    );
    let read = Config::parse(&shown, "shown").unwrap();
    let mut expected = Config::parse(text, "my.toml").unwrap().without_secrets();
    expected.crawl.max_pages = Some(9);
    expected.crawl.max_time = Some(std::time::Duration::from_secs(5_400));
    expected.crawl.max_depth = Some(3);
    assert_eq!(read, expected);

    let changed = prints(dir.path(), &["config", "--config", "my.toml", "--changed"]);
    assert_eq!(changed.lines().filter(|line| line.contains(" = ")).count(), 5, "{changed}");
    Config::parse(&changed, "changed").unwrap();
    assert_eq!(prints(dir.path(), &["config", "--changed"]), "");
    assert_eq!(Config::parse(&prints(dir.path(), &["config"]), "shown").unwrap(), Config::default());
}

#[test]
fn config_refuses_what_a_crawl_would_refuse() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my.toml"), "[crawl]\nmax_page = 5\n").unwrap();
    let said = refused(dir.path(), &["config", "--config", "my.toml"]);
    assert!(said.contains("my.toml:2: unknown key crawl.max_page; did you mean crawl.max_pages?"), "{said}");
    assert!(refused(dir.path(), &["config", "--config", "none.toml"]).contains("none.toml"));
    assert!(refused(dir.path(), &["config", "--max-time", "soon"]).contains("90s, 10m or 2h"));
}

/// The options of a command as its help has them, and the commands below it.
fn options(dir: &Path, command: &[&str]) -> (BTreeSet<String>, Vec<String>) {
    let help = prints(dir, &[command, &["--help"]].concat());
    let word = |line: &str| {
        let line = line.trim_start().trim_start_matches(|c: char| c == '-' && line.trim_start().starts_with("---"));
        let long = line.split([' ', ',']).find(|word| word.starts_with("--"))?;
        Some(long.split(['=', '[', '.']).next()?.to_owned())
    };
    let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
    let found = help.lines().filter(is_option).filter_map(word).collect();
    let commands = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let commands = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    (found, commands.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// Every command with its options.
fn all_options(dir: &Path) -> Vec<(Vec<String>, BTreeSet<String>)> {
    let mut all = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let (options, below) = options(dir, &words);
        open.extend(below.into_iter().map(|name| [command.clone(), vec![name]].concat()));
        all.push((command, options));
    }
    assert!(all.len() > 18, "{all:?}");
    all
}

#[test]
fn completions_and_manual_know_every_command_and_option() {
    let dir = tempfile::tempdir().unwrap();
    let all = all_options(dir.path());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = prints(dir.path(), &["completions", shell]);
        for (command, options) in &all {
            for word in command.iter().chain(options) {
                let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
                assert!(script.contains(word), "{shell}: {word} of {command:?} is missing");
            }
        }
    }
    let manual = prints(dir.path(), &["man"]).replace("\\-", "-");
    assert!(manual.contains(".TH crawler 1"), "{manual}");
    for (command, options) in &all {
        let title = format!(".SH CRAWLER {}\n", command.join(" ").to_uppercase());
        let section = if command.is_empty() { Some(&*manual) } else { manual.split(&title).nth(1) };
        let section = section.unwrap_or_else(|| panic!("{command:?} has no section"));
        for option in options {
            assert!(section.contains(option), "{option} of {command:?} is missing");
        }
        let words: Vec<&str> = ["man"].into_iter().chain(command.iter().map(String::as_str)).collect();
        assert!(prints(dir.path(), &words).contains(".SH SYNOPSIS"), "{command:?}");
    }
    let exit_codes = manual.matches("forced by a second signal").count();
    assert_eq!(exit_codes, 1, "the exit codes belong into the manual");
}

#[test]
fn bash_takes_its_completions() {
    let dir = tempfile::tempdir().unwrap();
    let script = prints(dir.path(), &["completions", "bash"]);
    let asked = "\nCOMP_WORDS=(crawler ext); COMP_CWORD=1; _crawler crawler ext crawler; echo \"${COMPREPLY[@]}\"\n";
    let child = Command::new("bash").arg("-s").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return eprintln!("there is no bash here") };
    child.stdin.take().unwrap().write_all((script + asked).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "extract");
}

#[test]
fn completions_and_manual_refuse_what_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refused(dir.path(), &["completions"]).contains("<SHELL>"));
    assert!(refused(dir.path(), &["completions", "cmd"]).contains("bash, elvish, fish, powershell, zsh"));
    assert!(
        refused(dir.path(), &["man", "gte"]).contains("has no command \"gte\"; known commands: crawl, demo, get, list")
    );
    assert!(
        refused(dir.path(), &["man", "export", "x"])
            .contains("known commands: warc, wacz, cdxj, index, urls, manifest, links, graph, wet, wat")
    );
    assert!(refused(dir.path(), &["man", "get", "x"]).contains("known commands: none"));
}

/// The help of a command as a terminal of this many columns shows it.
fn help_at(dir: &Path, command: &[String], columns: u16) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_crawler"));
    run.args(command).arg("--help").env("COLUMNS", columns.to_string()).current_dir(dir);
    String::from_utf8(run.output().unwrap().stdout).unwrap()
}

#[test]
fn every_help_can_be_read_at_eighty_columns() {
    let dir = tempfile::tempdir().unwrap();
    for (command, _) in all_options(dir.path()) {
        let (wide, narrow) = (help_at(dir.path(), &command, 2_000), help_at(dir.path(), &command, 80));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        // a paragraph is one line where there is room: one that is torn by hand would be torn twice on a narrow
        // terminal
        let lines: Vec<&str> = wide.lines().collect();
        for pair in lines.windows(2) {
            let is_prose =
                pair.iter().all(|line| !line.is_empty() && !line.starts_with(' ') && !line.contains("Usage:"));
            assert!(!is_prose, "{command:?}: torn between {pair:#?}");
        }
        // examples and tables are as they were written
        for line in wide.split("-h, --help").last().unwrap().lines().skip(1).filter(|line| line.starts_with("  ")) {
            assert!(narrow.lines().any(|found| found == line), "{command:?}: {line}");
        }
    }
}

/// The lines of all tests, without the marks between words; a string that goes on in the next line is one line.
fn lines_of_all_tests() -> Vec<String> {
    let mut tests = String::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            tests += &fs::read_to_string(path).unwrap();
        }
    }
    let words = |line: &str| {
        let words = line.split(|c: char| c.is_whitespace() || "\",&[]()=".contains(c)).filter(|word| !word.is_empty());
        format!(" {} ", words.collect::<Vec<_>>().join(" "))
    };
    tests.replace("\\\n", " ").lines().map(words).collect()
}

#[test]
fn every_option_of_every_command_stands_in_a_line_of_a_test() {
    let dir = tempfile::tempdir().unwrap();
    let lines = lines_of_all_tests();
    let mut missing = Vec::new();
    for (command, options) in all_options(dir.path()) {
        let command = if command.is_empty() { String::new() } else { format!(" {} ", command.join(" ")) };
        for option in options.iter().filter(|option| *option != "--help") {
            let option = format!(" {option} ");
            let is_there = |line: &String| {
                let after = line.find(&command).map(|start| &line[(start + command.len()).saturating_sub(1)..]);
                after.is_some_and(|after| after.contains(&option))
            };
            if !lines.iter().any(is_there) {
                missing.push(format!("{command}{option}"));
            }
        }
    }
    assert!(missing.is_empty(), "no test has {missing:#?}");
}

//! The command line as a shell meets it: messages, exit codes, and that nothing is written before all is checked.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the real program in `dir`.
fn crawler(dir: &Path, args: &[&str]) -> Output {
    crawler_with_input(dir, args, b"")
}

fn crawler_with_input(dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end without having read it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The message of a run that must end with `code` and print nothing else.
fn refused(dir: &Path, args: &[&str], code: i32) -> String {
    let output = crawler(dir, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    said
}

/// The names of the exports, as the program lists them.
pub fn exports() -> Vec<String> {
    let output = crawler(Path::new("."), &["export", "--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let names: Vec<String> = names.filter(|name| *name != "help").map(str::to_owned).collect();
    assert!(names.len() > 5 && names.iter().any(|name| name == "warc"), "{help}");
    names
}

/// A directory with a seeds file.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("seeds.txt"), "https://example.com/\n").unwrap();
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn without_seeds_it_says_how_to_write_some() {
    let dir = place();
    let said = refused(dir.path(), &[], 2);
    assert!(said.contains("one per line") && said.contains("https://example.com/"), "{said}");
    assert!(said.contains("crawler --seeds seeds.txt"), "{said}");
    assert_eq!(names(dir.path()), ["seeds.txt"]);
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let dir = place();
    let output = crawler(dir.path(), &["--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for word in
        ["--seeds", "--max-pages", "--fresh", "get", "list", "status", "extract", "export", "Examples:", "Exit codes:"]
    {
        assert!(help.contains(word), "{word} in {help}");
    }
    let exports = exports().into_iter().map(|name| format!("export {name}"));
    let others = ["get", "list", "status", "report", "explain", "canonical", "extract"].map(str::to_owned);
    for command in others.into_iter().chain(exports) {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = crawler(dir.path(), &words);
        let help = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(help.contains("Examples:") && help.contains("--dir <DIR>"), "{help}");
    }
    let output = crawler(dir.path(), &["--version"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("crawler {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_command_line_that_cannot_be_read_is_a_usage_error() {
    let dir = place();
    for (args, hint) in [
        (&["--sedes", "seeds.txt"][..], "--seeds"),
        (&["--seeds", "seeds.txt", "--max-pages", "0"], "--max-pages"),
        (&["--seeds", "seeds.txt", "--max-pages", "many"], "--max-pages"),
        (&["--seeds", "seeds.txt", "--max-time", "10"], "90s, 10m or 2h"),
        (&["--seeds", "seeds.txt", "--max-time", "0s"], "would fetch nothing"),
        (&["--seeds", "seeds.txt", "--max-depth", "-1"], "-1"),
        (&["--seeds", "seeds.txt", "-q", "-v"], "cannot be used with"),
        (&["--seeds", "seeds.txt", "list"], "is a command, which comes first"),
        (&["--seeds", "seeds.txt", "--log-format", "xml"], "text or json"),
        (&["report", "everything"], "status-codes"),
        (&["report", "--json", "--write"], "cannot be used with"),
        (&["lsit"], "list"),
        (&["get"], "<URL>"),
        (&["get", "https://example.com/", "--raw", "--warc"], "cannot be used with"),
        (&["extract", "--attr", "href"], "--select"),
        (&["extract", "--select", "a", "--fields", "f.toml"], "cannot be used with"),
        (&["extract", "--select", "a", "--attr", "href", "--text"], "cannot be used with"),
        (&["list", "--status", "many"], "--status"),
        (&["list", "--since", "yesterday"], "2026-11-21"),
        (&["export"], "cdxj"),
        (&["export", "cdx"], "cdxj"),
        (&["export", "cdxj", "--memory", "1"], "64MiB"),
        (&["export", "warc", "--mime"], "--mime"),
    ] {
        let said = refused(dir.path(), args, 2);
        assert!(said.contains(hint), "{args:?}: {said}");
    }
    assert_eq!(names(dir.path()), ["seeds.txt"]);
}

#[test]
fn seeds_that_cannot_be_read_or_hold_nothing_are_a_usage_error() {
    let dir = place();
    let said = refused(dir.path(), &["--seeds", "none.txt"], 2);
    assert!(said.contains("none.txt") && said.contains("one URL per line"), "{said}");
    let said = refused(dir.path(), &["--seeds", "."], 2);
    assert!(said.contains("cannot read the seeds"), "{said}");
    fs::write(dir.path().join("empty.txt"), "# nothing\n\n").unwrap();
    let said = refused(dir.path(), &["--seeds", "empty.txt"], 2);
    assert!(said.contains("empty.txt has no URL"), "{said}");
    let output = crawler_with_input(dir.path(), &["--seeds", "-"], b"# nothing\r\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard input has no URL"));
    assert_eq!(names(dir.path()), ["empty.txt", "seeds.txt"]);
}

#[test]
fn a_configuration_that_cannot_be_used_is_a_usage_error_with_its_line() {
    let dir = place();
    for (text, hint) in [
        ("[crawl]\nmax_page = 5\n", "my.toml:2: unknown key crawl.max_page; did you mean crawl.max_pages?"),
        ("[fetch]\nworkers = 0\n", "my.toml:2: fetch.workers: must be from 1"),
        (
            "[fetch]\nworkers = \"x\"\n",
            "my.toml:2: fetch.workers: expected \"auto\" or a whole number, found the string \"x\"",
        ),
        ("[report]\nmetrics = \"localhost\"\n", "my.toml:2: report.metrics: \"localhost\" is not an address"),
        ("[fetch\n", "my.toml:1: "),
    ] {
        fs::write(dir.path().join("my.toml"), text).unwrap();
        let said = refused(dir.path(), &["--seeds", "seeds.txt", "--config", "my.toml"], 2);
        assert!(said.contains(hint), "{said}");
    }
    let said = refused(dir.path(), &["--seeds", "seeds.txt", "--config", "none.toml"], 2);
    assert!(said.contains("none.toml"), "{said}");
    assert_eq!(names(dir.path()), ["my.toml", "seeds.txt"]);
}

#[test]
fn a_directory_of_something_else_is_refused_and_left_as_it_is() {
    let dir = place();
    let other = dir.path().join("photos");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("cat.jpg"), "cat").unwrap();
    for args in
        [&["--seeds", "seeds.txt", "--dir", "photos"][..], &["--seeds", "seeds.txt", "--dir", "photos", "--fresh"]]
    {
        let said = refused(dir.path(), args, 2);
        assert!(said.contains("photos is not a crawl directory"), "{said}");
    }
    assert_eq!(names(&other), ["cat.jpg"]);
    let said = refused(dir.path(), &["--seeds", "seeds.txt", "--dir", "seeds.txt"], 2);
    assert!(said.contains("is a file"), "{said}");
    assert_eq!(names(dir.path()), ["photos", "seeds.txt"]);
}

#[test]
fn subcommands_say_where_there_is_no_crawl() {
    let dir = place();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for args in [
        &["get", "https://example.com/", "--dir", "none"][..],
        &["list", "--dir", "none"],
        &["status", "--dir", "none"],
        &["extract", "--select", "h1", "--dir", "none"],
        &["export", "warc", "--dir", "none", "--output", "out"],
        &["export", "cdxj", "--dir", "none"],
        &["export", "urls", "--dir", "none"],
        &["export", "links", "--dir", "none"],
        &["export", "graph", "--dir", "none", "--output", "out"],
        &["export", "wet", "--dir", "none"],
        &["export", "wat", "--dir", "none"],
        &["export", "files", "out", "--dir", "none"],
        &["list", "--dir", "empty"],
        &["status"],
    ] {
        let said = refused(dir.path(), args, 2);
        assert!(said.contains("no crawl in") && said.contains("crawler https://example.com/"), "{args:?}: {said}");
    }
    assert_eq!(names(dir.path()), ["empty", "seeds.txt"]);
}

#[test]
fn what_is_no_url_or_no_selector_is_a_usage_error() {
    let dir = place();
    assert!(refused(dir.path(), &["get", "example.com"], 2).contains("https://example.com"));
    assert!(refused(dir.path(), &["get", "\x1b[2Jx"], 2).contains("\\x1b[2Jx"));
    assert!(refused(dir.path(), &["extract", "--select", "a[["], 2).contains("not a CSS selector"));
}

/// A crawl directory as a killed crawl leaves it, with a snapshot.
fn with_snapshot(content: &str) -> tempfile::TempDir {
    let dir = place();
    fs::create_dir(dir.path().join("crawl")).unwrap();
    fs::write(dir.path().join("crawl/LOCK"), "1\n").unwrap();
    fs::write(dir.path().join("crawl/status.json"), content).unwrap();
    dir
}

#[test]
fn a_crawl_that_has_just_begun_is_not_taken_for_a_damaged_one() {
    let dir = with_snapshot(&snapshot());
    for args in [&["get", "https://example.com/"][..], &["export", "cdxj"], &["export", "warc"]] {
        let said = refused(dir.path(), args, 2);
        assert!(said.contains("nothing is stored in ./crawl yet"), "{args:?}: {said}");
    }
    // its list is empty, which is no mistake
    let said = refused(dir.path(), &["list"], 0);
    assert!(said.contains("nothing is stored in ./crawl yet"), "{said}");
    // but where pages were stored, a missing file is a fault
    fs::create_dir(dir.path().join("crawl/pages")).unwrap();
    fs::write(dir.path().join("crawl/pages/key.dat"), [0; 200]).unwrap();
    assert!(refused(dir.path(), &["list"], 4).contains("identity.json"));
}

fn snapshot() -> String {
    use crawler::clock::Time;
    use crawler::record::{Gauges, Snapshot, State, Statistics, StoreBytes};
    let snapshot = Snapshot {
        version: Snapshot::VERSION,
        state: State::Running,
        finish: None,
        started: Time::from_ms(1_114_650_975_990),
        updated: Time::from_ms(1_114_651_000_000),
        statistics: Statistics { pages_stored: 4_321, ..Default::default() },
        layers: Default::default(),
        gauges: Gauges::default(),
        stores: StoreBytes::default(),
    };
    serde_json::to_string(&snapshot).unwrap()
}

#[test]
fn status_shows_the_last_checkpoint_and_writes_nothing() {
    let dir = with_snapshot(&snapshot());
    let output = crawler(dir.path(), &["status"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("4,321") && text.contains("not running: it was killed"), "{text}");
    let output = crawler(dir.path(), &["status", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["statistics"]["pages_stored"], 4_321);
    assert_eq!(json["state"], "running");
    assert_eq!(names(&dir.path().join("crawl")), ["LOCK", "status.json"]);
    assert_eq!(fs::read_to_string(dir.path().join("crawl/LOCK")).unwrap(), "1\n");
}

#[test]
fn a_snapshot_that_is_damaged_or_newer_ends_with_its_own_code() {
    let dir = with_snapshot("{\"version\": 1, \"state\": ");
    let said = refused(dir.path(), &["status"], 3);
    assert!(said.contains("status.json: damaged at byte"), "{said}");
    let dir = with_snapshot("{\"version\": 99}");
    let said = refused(dir.path(), &["status"], 3);
    assert!(said.contains("use a newer crawler"), "{said}");
}

#[test]
fn a_fresh_start_on_a_directory_in_use_is_refused() {
    let dir = with_snapshot(&snapshot());
    let _held = crawler::disk::DirectoryLock::acquire(&dir.path().join("crawl")).unwrap();
    let said = refused(dir.path(), &["--seeds", "seeds.txt", "--fresh", "-q"], 6);
    assert!(said.contains("in use by another crawler"), "{said}");
    assert!(dir.path().join("crawl/status.json").exists());
    let output = crawler(dir.path(), &["status"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(" running\n"));
}

#[test]
fn a_reader_that_closes_the_pipe_is_a_quiet_end() {
    let dir = with_snapshot(&snapshot());
    let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .arg("status")
        .current_dir(dir.path())
        .stdout({
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        })
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said, "");
}

#[test]
fn the_example_seeds_are_urls() {
    let text = include_str!("../../seeds/example.txt");
    let seeds: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(seeds.len() >= 3);
    for seed in seeds {
        assert_eq!(url::Url::parse(seed).unwrap().as_str(), seed);
    }
}

#[test]
fn n24_a_word_that_was_mistyped_is_quoted_with_its_escapes_shown() {
    let dir = place();
    for args in [
        &["--\x1b[2Jseeds"][..],
        &["\x1b]0;title\x07"],
        &["list", "--status", "\x1b[31m4xx"],
        &["--seeds", "seeds.txt", "--log-format", "x\ncrawler: all is well\r"],
        &["--seeds", "seeds.txt", "--max-pages", "\u{9b}31m\u{202e}1"],
        &["get", "https://example.com/", "two\x1b[A"],
        &["report", "crawl\x1b[2J"],
    ] {
        let said = refused(dir.path(), args, 2);
        let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!said.contains(obeyed), "{args:?}: {said:?}");
        assert!(!said.lines().any(|line| line.starts_with("crawler: all is well")), "{said}");
        assert!(said.contains("\\x1b") || said.contains("\\x9b") || said.contains("x\\ncrawler"), "{args:?}: {said}");
    }
}

#[test]
fn n24_a_seeds_file_of_three_hundred_megabytes_of_nothing_takes_little_memory() {
    let dir = place();
    // a file with a hole takes no room
    fs::File::create(dir.path().join("nothing.txt")).unwrap().set_len(300 << 20).unwrap();
    let line = format!("ulimit -v 262144; exec '{}' plan nothing.txt", env!("CARGO_BIN_EXE_crawler"));
    let output = Command::new("sh").args(["-c", &line]).current_dir(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("line 1: `") && told.contains("longer than 65536 bytes"), "{told}");
    assert!(told.len() < 5_000, "{told}");
}

#[test]
fn n24_sigusr1_before_a_crawl_is_open_does_not_end_it() {
    let dir = place();
    // it waits for its seeds
    let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["--seeds", "-"])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (start, status) = (std::time::Instant::now(), format!("/proc/{}/status", child.id()));
    let is_handled = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (10 - 1)) != 0)
    };
    while !is_handled() {
        assert!(start.elapsed().as_secs() < 60, "SIGUSR1 would end it");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..100 {
        rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"http://127.0.0.1/\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("nothing could be fetched"), "{said}");
}

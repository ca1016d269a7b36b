//! Answers of servers that would trick those who read the output: terminals, logs, JSON, WARC fields, indexes, names of
//! files.
//!
//! The real binary crawls a server on loopback of which every word is hostile; then every byte is checked that the
//! crawl and the commands give out, and every file name.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crawler::disk::{Disk, Mode};
use crawler::text::escape::is_terminal_control;
use crawler::warc::{Record, RecordReader};
use server::{BIDI, C1, ESC, FORGED, SCRIPT};

mod server;

/// A crawl of the hostile server, made once for all tests.
struct Crawled {
    dir: tempfile::TempDir,
    port: u16,
    /// Standard error of the two runs, the second one with `--force`.
    said: Vec<u8>,
}

impl Crawled {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(args).current_dir(self.dir.path()).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command with `input` on standard input.
    fn feed(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // the program may end without having read it
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn urls(&self) -> Vec<String> {
        let listing = String::from_utf8(self.run(&["list", "--json"]).stdout).unwrap();
        let url =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_owned();
        listing.lines().map(url).collect()
    }
}

fn crawled() -> &'static Crawled {
    static CRAWLED: OnceLock<Crawled> = OnceLock::new();
    CRAWLED.get_or_init(|| {
        let port = server::start();
        let dir = tempfile::tempdir().unwrap();
        let mut crawled = Crawled { dir, port, said: Vec::new() };
        let seeds = format!("http://127.0.0.1:{port}/\nhttp://[{ESC}{C1}{BIDI}/\nhttp://x/{C1} {SCRIPT}\n\u{202e}\n");
        fs::write(crawled.path("seeds.txt"), [seeds.as_bytes(), b"http://\xff\xfe\x9b/\n"].concat()).unwrap();
        let config = "[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"127.0.0.1:9\"]\n\
                      [scope]\nmode = \"any\"\nfavicon = false\nexclude = [\"excluded\"]\n[fetch]\nretries = 0\n\
                      [politeness]\ndelay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\ngive_up = \"1s\"\n";
        fs::write(crawled.path("crawler.toml"), config).unwrap();
        for again in [&[][..], &["--force"]] {
            let args = [&["-v", "--seeds", "seeds.txt", "--config", "crawler.toml"][..], again].concat();
            let output = crawled.run(&args);
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            crawled.said.extend(output.stderr);
        }
        crawled
    })
}

/// Fails at the first character that a terminal or a reader of lines would obey; lines may end, and have tabs in them.
#[track_caller]
fn assert_inert(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("{what} is not UTF-8: {e}"));
    for line in text.lines() {
        let bad = line.chars().find(|&c| is_terminal_control(c) && c != '\t');
        assert_eq!(bad, None, "{what}: {line:?}");
    }
    assert!(!text.contains('\r'), "{what} has a carriage return");
}

#[track_caller]
fn assert_all_inert(what: &str, output: &Output) {
    assert_inert(&format!("{what}, standard output"), &output.stdout);
    assert_inert(&format!("{what}, standard error"), &output.stderr);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{what} panicked");
}

/// Every file below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[test]
fn s14_names_of_files_come_from_counters_whatever_urls_and_headers_say() {
    let crawled = crawled();
    assert!(crawled.urls().iter().any(|url| url.ends_with("/etc/owned")), "{:?}", crawled.urls());
    let names: Vec<String> = files(crawled.dir.path())
        .iter()
        .map(|path| path.strip_prefix(crawled.dir.path()).unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in &names {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_hexdigit() || "/.-_".contains(c);
        assert!(name.ends_with("/LOCK") || (name.chars().all(plain) && name.len() < 60), "{name:?}");
        for word in ["owned", "etc", "nnn", "script", "secret", "esc", "bidi", "forged", "listed", ".."] {
            assert!(!name.contains(word), "{name} is named by a server");
        }
    }
    assert!(!names.is_empty() && !crawled.dir.path().parent().unwrap().join("owned").exists());
}

#[test]
fn s15_nothing_that_a_terminal_obeys_comes_through_the_messages_of_a_crawl() {
    let crawled = crawled();
    let said = String::from_utf8_lossy(&crawled.said);
    // the failures and the bad seeds have been reported, or this proves nothing
    for word in ["seeds.txt:2", "seeds.txt:3", "seeds.txt:5", "no answer"] {
        assert!(said.contains(word), "{word} is missing in\n{said}");
    }
    assert_inert("standard error of the crawl", &crawled.said);
}

#[test]
fn s15_logs_and_reports_are_inert_and_have_one_line_an_event() {
    let crawled = crawled();
    for name in ["logs", "reports"] {
        for path in files(&crawled.path("crawl").join(name)) {
            assert_inert(&path.display().to_string(), &fs::read(&path).unwrap());
        }
    }
    assert_inert("status.json", &fs::read(crawled.path("crawl/status.json")).unwrap());
    let log = fs::read_to_string(crawled.path("crawl/logs/crawl.log")).unwrap();
    for line in log.lines() {
        assert_eq!(line.split_whitespace().count(), 12, "{line}");
    }
    assert!(log.contains("/esc") && log.contains("/crlf") && log.contains("/invalid"), "{log}");
    let skipped = fs::read_to_string(crawled.path("crawl/logs/skipped.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = skipped.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reasons: Vec<&str> = lines.iter().map(|line| line["reason"].as_str().unwrap()).collect();
    assert!(reasons.contains(&"robots.txt") && reasons.contains(&"out of scope"), "{skipped}");
}

#[test]
fn s15_nothing_that_a_terminal_obeys_comes_through_a_command() {
    let crawled = crawled();
    let root = format!("http://127.0.0.1:{}/", crawled.port);
    let asked = format!("{root}bidi{BIDI}{C1}");
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["status"],
        &["status", "--json"],
        &["explain", &root],
        &["explain", &asked],
        &["explain", &asked, "--json"],
        &["explain", &format!("http://[{ESC}")],
        &["get", &format!("{root}nowhere{BIDI}{C1}")],
        &["get", &format!("http://[{ESC}{C1}")],
        &["get", &root, "--version", "77"],
        &["export", "urls"],
        &["export", "links", "--json"],
        &["export", "cdxj", "--all"],
        &["extract", "--select", "h1", "--jsonl"],
        &["extract", "--fields", ESC],
        &["extract", "--select", ESC],
        &["list", "--dir", ESC],
        &["verify"],
        &["--config", C1, "--seeds", ESC],
    ] {
        assert_all_inert(&format!("{args:?}"), &crawled.run(args));
    }
    for url in crawled.urls() {
        assert_all_inert(&format!("explain {url}"), &crawled.run(&["explain", &url]));
    }
    // texts of tables keep what turns or hides text, where no terminal is: people write with it
    for args in [
        &["export", "links"][..],
        &["extract"],
        &["extract", "--text"],
        &["extract", "--text", "--format", "csv"],
        &["extract", "--select", "title"],
        &["list", "--columns", "location,mime"],
    ] {
        let table = String::from_utf8(crawled.run(args).stdout).unwrap();
        let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        assert!(!table.contains(obeyed) && table.lines().count() > 3, "{args:?}: {table:?}");
    }
}

#[test]
fn s15_nothing_that_a_terminal_obeys_comes_through_what_is_read_from_files() {
    let crawled = crawled();
    let hostile = format!("http://h/{ESC}{C1}{BIDI}\nhttp://[{ESC}\n{SCRIPT}\nhttp://h/a b\r\n");
    let input = [hostile.as_bytes(), b"http://\xff\x9b/\n"].concat();
    for args in [&["canonical"][..], &["canonical", "--json"]] {
        assert_all_inert(&format!("{args:?}"), &crawled.feed(args, &input));
    }
    let rules = format!("User-agent: {ESC}{C1}\nDisallow: /{BIDI}\nSitemap: {ESC}\nCrawl-delay: 3 {C1}\nAllow: /{ESC}");
    fs::write(crawled.path("robots.txt"), [rules.as_bytes(), b"\xff\n"].concat()).unwrap();
    let url = format!("http://h/{BIDI}{C1}");
    for extra in [&[][..], &["--json"], &["--explain"]] {
        let args = [&["robots", "robots.txt", "--agent", "bot", &url, "http://[\x1b"][..], extra].concat();
        assert_all_inert(&format!("{args:?}"), &crawled.run(&args));
    }
    fs::write(crawled.path("bad.toml"), format!("[fetch]\n\"{C1}{BIDI}\" = 1\nx = \"{C1}\"\n")).unwrap();
    assert_all_inert("a bad configuration", &crawled.run(&["--seeds", "seeds.txt", "--config", "bad.toml"]));
}

#[test]
fn s15_on_a_terminal_the_same_holds_but_for_the_display_itself() {
    let crawled = crawled();
    let bin = env!("CARGO_BIN_EXE_crawler");
    let page = format!("{bin} get http://127.0.0.1:{}/", crawled.port);
    let text = format!("{page}{}", "n".repeat(300));
    let crawl = format!("{bin} -v --seeds seeds.txt --config crawler.toml --dir seen");
    let line = format!(
        "{crawl}; {bin} list; {text}; {page}; {page}mime --headers; \
         {page}reason --headers; {bin} export urls; {bin} export links; {bin} extract --text; {bin} explain {}",
        crawled.urls().last().unwrap().replace('\'', "%27")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(crawled.dir.path()).stdin(Stdio::null());
    let Ok(output) = command.output() else { return eprintln!("`script` is not there: not tested") };
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("<title>"), "{shown}");
    assert!(shown.contains("no answer") && shown.contains("finish reason"), "{shown}");
    assert_inert("a terminal", without_display(&shown).replace("\r\n", "\n").as_bytes());
    fs::remove_dir_all(crawled.path("seen")).unwrap();
}

/// Removes what the live display and the colours of the log are made of: lines up and clear below, colours.
fn without_display(shown: &str) -> String {
    let mut rest = shown;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let number = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        rest = match after[number..].chars().next() {
            Some('m') => &after[number + 1..],
            Some('A') => after[number + 1..].strip_prefix("\r\x1b[J").expect("a redraw clears below itself"),
            _ => panic!("an escape sequence of somebody else: {:?}", &after[..after.len().min(20)]),
        };
    }
    plain + rest
}

#[test]
fn s16_a_script_in_a_url_or_title_stays_text() {
    let crawled = crawled();
    let urls = crawled.urls();
    assert!(urls.iter().any(|url| url.contains("/script")), "{urls:?}");
    for url in &urls {
        assert!(!url.contains(['<', '>', '"']), "{url}");
    }
    // no report is HTML, and the archive is bytes; titles come out in columns and JSON only
    for path in files(&crawled.path("crawl")) {
        let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
        assert!(!matches!(extension.as_deref(), Some("html" | "htm" | "svg" | "xml")), "{}", path.display());
    }
    let titles = crawled.run(&["extract", "--jsonl"]);
    for line in String::from_utf8(titles.stdout).unwrap().lines() {
        let _: serde_json::Value = serde_json::from_str(line).unwrap();
    }
}

#[test]
fn s17_no_answer_forges_a_field_or_a_record_of_the_archive() {
    let crawled = crawled();
    let mut records = Vec::new();
    for path in files(&crawled.path("crawl/pages")) {
        if !path.file_name().unwrap().to_str().unwrap().starts_with("value-") {
            continue;
        }
        let file = Disk::real().open(&path, Mode::Read).unwrap();
        let mut reader = RecordReader::new(&file, 0, 64 << 20);
        records.extend(std::iter::from_fn(|| reader.next().unwrap()));
    }
    let types = |kind: &str| records.iter().filter(|record| record.field("WARC-Type") == Some(kind)).count();
    let answers = types("response") + types("revisit");
    assert_eq!((types("request"), types("metadata")), (answers, answers), "one of each an exchange");
    for record in &records {
        check_record(record);
    }
}

/// The head has one line a field, each known and without control characters; so has the block of a metadata record.
fn check_record(record: &Record) {
    let bytes = record.to_bytes();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let (version, fields) = head.split_once("\r\n").unwrap();
    assert_eq!(version, "WARC/1.1");
    let mut names = Vec::new();
    for line in fields.split("\r\n") {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} is no field"));
        assert!(name.starts_with("WARC-") || name.starts_with("Content-"), "{line:?}");
        assert!(!value.chars().any(is_terminal_control), "{line:?}");
        names.push(name.to_owned());
    }
    names.sort();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "a field twice in {head}");
    assert_ne!(record.field("WARC-Target-URI"), Some("http://forged.example/"));
    if record.field("WARC-Type") == Some("metadata") {
        let block = std::str::from_utf8(&bytes[end + 4..]).unwrap();
        for line in block.split("\r\n").filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?} is no field"));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{line:?}");
            assert!(!value.chars().any(is_terminal_control) && name != "forged", "{line:?}");
        }
    }
}

#[test]
fn s17_every_line_of_the_index_parses_and_leads_to_its_record() {
    let crawled = crawled();
    let output = crawled.run(&["export", "cdxj", "--all"]);
    let index = String::from_utf8(output.stdout).unwrap();
    assert!(index.lines().count() >= server::paths().len(), "{index}");
    for line in index.lines() {
        let mut parts = line.splitn(3, ' ');
        let (key, time, json) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        assert!(key.contains(')') && key.bytes().all(|byte| byte.is_ascii_graphic()), "{line}");
        assert!(time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit()), "{line}");
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap();
        let field = |name: &str| fields[name].as_str().unwrap();
        assert!(field("url").is_ascii() && !field("url").contains(' '), "{line}");
        assert!(field("filename").starts_with("value-"), "{line}");
        let file = Disk::real().open(crawled.path("crawl/pages").join(field("filename")), Mode::Read).unwrap();
        let record = RecordReader::new(&file, field("offset").parse().unwrap(), 64 << 20).next().unwrap().unwrap();
        assert_eq!(record.field("WARC-Target-URI"), Some(field("url")));
    }
    assert!(FORGED.contains("forged") && !index.contains("forged.example\","), "{index}");
}

//! `crawler follow --documents`: what a consumer has that applies each change, against the documents of the crawl.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::changing::Pages;
use crate::site::{Crawl, kill, wait_for};
use crawler::disk;
use crawler::simweb::{SimOptions, SimWeb};

fn crawler(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(words).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn lines(dir: &Path, words: &[&str]) -> Vec<Value> {
    let output = crawler(dir, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A consumer: its documents by their ids.
#[derive(Default)]
struct Consumer(BTreeMap<String, Value>);

impl Consumer {
    fn apply(&mut self, changes: &[Value]) {
        for change in changes {
            let id = change["id"].as_str().unwrap().to_owned();
            match change["op"].as_str().unwrap() {
                "upsert" => _ = self.0.insert(id, change.clone()),
                "delete" => _ = self.0.remove(&id),
                other => panic!("{other}"),
            }
        }
    }

    /// The id and the digest of each document.
    fn has(&self) -> BTreeSet<(String, String)> {
        self.0.values().map(id_and_digest).collect()
    }
}

fn id_and_digest(document: &Value) -> (String, String) {
    let text = |name: &str| document[name].as_str().unwrap().to_owned();
    (text("id"), text("digest"))
}

/// The documents of the crawl.
fn listed(dir: &Path) -> BTreeSet<(String, String)> {
    lines(dir, &["list", "--documents", "--json"]).iter().map(id_and_digest).collect()
}

/// Changes in short: the operation, the path, and the reason of a deletion.
fn short(pages: &Pages, changes: &[Value]) -> Vec<String> {
    let path = |change: &Value| change["url"].as_str().unwrap().replacen(&pages.url("/"), "/", 1);
    let reason = |change: &Value| change["reason"].as_str().map_or(String::new(), |reason| format!(" {reason}"));
    changes
        .iter()
        .map(|change| format!("{} {}{}", change["op"].as_str().unwrap(), path(change), reason(change)))
        .collect()
}

fn page(title: &str, rest: &str) -> String {
    format!(
        "<title>{title}</title><main><h1>{title}</h1><p>The text of {title} is long enough for a page.</p></main>{rest}"
    )
}

/// Has URLs left out that this pattern matches.
fn exclude(crawl: &Crawl, pattern: &str) {
    let config = fs::read_to_string(crawl.path("crawler.toml")).unwrap();
    let config = config.replace("[scope]\n", &format!("[scope]\nexclude = [\"{pattern}\"]\n"));
    fs::write(crawl.path("crawler.toml"), config).unwrap();
}

/// A sink of the settings.
const TABLE: &str = "[sink.table]\nkind = \"sqlite\"\npath = \"documents.db\"\n";
/// A server that is not there.
const CLOSED: &str = "http://127.0.0.1:1";

const FOLLOW: [&str; 5] = ["follow", "--documents", "--once", "--cursor", "cursor"];

/// The documents in the database.
fn table(dir: &Path) -> BTreeSet<(String, String)> {
    let table = rusqlite::Connection::open(dir.join("documents.db")).unwrap();
    let mut rows = table.prepare("SELECT id, digest FROM pages").unwrap();
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_consumer_ends_with_the_documents_of_the_site() {
    let pages = Pages::new(&[
        ("/a", &page("A", "")),
        ("/b", &page("B", "")),
        ("/c", &page("C", "")),
        ("/old", "301 /b"),
        ("/gone", "404 gone"),
        ("/picture", "200 not a page"),
    ]);
    let dir = pages.crawl.dir.path();
    let run = || pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    let mut consumer = Consumer::default();
    let mut changes = |words: &[&str]| {
        let changes = lines(dir, &[&FOLLOW[..], words].concat());
        consumer.apply(&changes);
        assert_eq!(consumer.has(), listed(dir));
        changes
    };
    let none = crawler(dir, &["list", "--documents"]);
    assert_eq!(none.status.code(), Some(2), "{}", String::from_utf8_lossy(&none.stderr));
    run();
    let first = changes(&[]);
    let b = first.iter().find(|change| change["url"] == pages.url("/b")).unwrap();
    assert_eq!(b["urls"], serde_json::json!([pages.url("/b"), pages.url("/old")]));
    assert_eq!((&b["title"], &b["language"], &b["mime"]), (&"B".into(), &"eng".into(), &"text/html".into()));
    assert!(b["text"].as_str().unwrap().contains("long enough") && b["captured"].as_str().unwrap().ends_with('Z'));
    let warc = String::from_utf8_lossy(&crawler(dir, &["get", "--warc", &pages.url("/b")]).stdout).into_owned();
    assert!(warc.contains(b["record"].as_str().unwrap()) && warc.contains(b["digest"].as_str().unwrap()));
    assert_eq!(changes(&[]), [Value::Null; 0]);

    // one changes, one moves, one becomes a part of another, one is missing for now
    pages.put("/a", &page("A2", ""));
    pages.put("/b", "301 /new");
    pages.put("/new", &page("B", ""));
    pages.put("/c", &page("C", "<link rel=canonical href=/a>"));
    run();
    let second = changes(&[]);
    let told = short(&pages, &second);
    let place = |word: &str| told.iter().position(|told| told == word).unwrap_or_else(|| panic!("{word}: {told:?}"));
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(place("delete /b duplicate") + 1, place("upsert /new"));
    assert_eq!(place("delete /c duplicate") + 1, place("upsert /a"));
    assert_eq!(second[place("delete /b duplicate")]["duplicate_of"], second[place("upsert /new")]["id"]);
    pages.put("/a", "404 for a moment");
    pages.put("/new", "503 out of order");
    run();
    assert_eq!(short(&pages, &changes(&[])), [""; 0]);

    // the settings and the operator
    pages.put("/a", &page("A2", ""));
    pages.put("/new", &page("B", ""));
    let config = fs::read(pages.crawl.path("crawler.toml")).unwrap();
    exclude(&pages.crawl, "/new$");
    run();
    assert_eq!(short(&pages, &changes(&[])), ["delete /new scope"]);
    fs::write(pages.crawl.path("crawler.toml"), config).unwrap();
    run();
    assert_eq!(short(&pages, &changes(&[])), ["upsert /new"]);
    assert!(crawler(dir, &["forget", &pages.url("/new")]).status.success());
    assert_eq!(short(&pages, &changes(&[])), ["delete /new forgotten"]);

    // a database, from a cursor of its own
    fs::write(pages.crawl.path("sinks.toml"), format!("{TABLE}[sink.other]\nkind = \"solr\"\nurl = \"{CLOSED}\"\n"))
        .unwrap();
    let into_table = || crawler(dir, &["sink", "run", "--config", "sinks.toml", "--only", "table", "--once"]);
    assert!(into_table().status.success(), "{}", String::from_utf8_lossy(&into_table().stderr));
    assert_eq!(table(dir), listed(dir));
    assert!(crawler(dir, &["forget", &pages.url("/a")]).status.success());
    let output = into_table();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    changes(&[]);
    assert_eq!(table(dir), listed(dir));
    assert!(!listed(dir).is_empty());

    // somebody has changed the table
    let sql = "UPDATE pages SET digest = 'x' WHERE title = 'C'; INSERT INTO pages (id, digest) VALUES ('ff', 'y');";
    let database = rusqlite::Connection::open(dir.join("documents.db")).unwrap();
    database.execute_batch(&format!("DELETE FROM pages WHERE title = ''; {sql}")).unwrap();
    drop(database);
    let compared = |words: &[&str]| {
        let output = crawler(dir, words);
        let words: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        (output.status.code(), words)
    };
    let verify = ["sink", "verify", "--dir", "crawl", "--config", "sinks.toml", "--only", "table"];
    let repair = ["sink", "repair", "--dir", "crawl", "--config", "sinks.toml", "--only", "table"];
    let (code, found) = compared(&verify);
    assert_eq!(code, Some(1), "{found:?}");
    assert!(found.contains(&"table\textra\tff".to_owned()), "{found:?}");
    assert_eq!(compared(&repair), (Some(0), found));
    assert_eq!((table(dir), compared(&verify)), (listed(dir), (Some(0), Vec::new())));

    // another consumer gets what there is, and no deletions
    let all = lines(dir, &["follow", "--documents", "--once"]);
    let mut other = Consumer::default();
    other.apply(&all);
    assert_eq!((other.has(), all.len()), (listed(dir), listed(dir).len()));
}

#[test]
fn a_robots_txt_forbids_documents_also_where_it_is_redirected() {
    for rules in ["/robots.txt", "/rules"] {
        let pages = Pages::new(&[("/a", &page("A", "")), ("/b", &page("B", ""))]);
        let dir = pages.crawl.dir.path();
        let config = fs::read_to_string(pages.crawl.path("crawler.toml")).unwrap();
        let careless = format!("{config}[robots]\nobey = false\n");
        fs::write(pages.crawl.path("crawler.toml"), &careless).unwrap();
        pages.crawl.run(&[]).expect(0, &["finish"]);
        let told = short(&pages, &lines(dir, &FOLLOW));
        assert_eq!(BTreeSet::from_iter(told), ["upsert /a", "upsert /b"].map(str::to_owned).into());
        fs::write(pages.crawl.path("crawler.toml"), config).unwrap();
        pages.put("/robots.txt", "301 /rules");
        pages.put(rules, "User-agent: *\nDisallow: /b\n");
        pages.crawl.run(&["--force"]).expect(0, &["finish"]);
        assert_eq!(short(&pages, &lines(dir, &FOLLOW)), ["delete /b robots"], "{rules}");
        fs::write(pages.crawl.path("crawler.toml"), &careless).unwrap();
        pages.crawl.run(&["--force"]).expect(0, &["finish"]);
        assert_eq!(short(&pages, &lines(dir, &FOLLOW)), ["upsert /b"], "{rules}");
    }
}

#[test]
fn more_deletions_than_a_days_share_wait_for_the_operator() {
    let many: Vec<(String, String)> = (0..40).map(|at| (format!("/{at}"), page(&format!("Page {at}"), ""))).collect();
    let given: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let pages = Pages::new(&given);
    let dir = pages.crawl.dir.path();
    pages.crawl.run(&[]).expect(0, &["finish"]);
    assert_eq!(lines(dir, &FOLLOW).len(), 40);
    exclude(&pages.crawl, "/[0-9]");
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    let output = crawler(dir, &FOLLOW);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.is_empty() && said.contains("40 documents of 127.0.0.1 would go"), "{said}");
    assert_eq!(listed(dir).len(), 40);
    let allowed = ["follow", "--documents", "--once", "--cursor", "cursor", "--allow-deletions", "127.0.0.1"];
    assert_eq!(lines(dir, &allowed).len(), 40);
    assert!(listed(dir).is_empty());
    fs::remove_dir_all(dir.join("crawl/feed")).unwrap();
    let refused = crawler(dir, &FOLLOW);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(lines(dir, &["follow", "--documents", "--once", "--deletions-max", "0.5"]).len(), 40);
}

#[test]
fn pages_that_say_nearly_the_same_are_one_document_where_the_settings_say_so() {
    let words: Vec<_> = (0..150).map(|at| format!("word{}", at * 7919 % 1_000)).collect();
    let long = |title: &str| page(title, &format!("<p>{}</p>", words.join(" ")));
    let pages = Pages::new(&[("/a", &long("A")), ("/b", &long("B")), ("/c", &page("C", ""))]);
    let dir = pages.crawl.dir.path();
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    let first = lines(dir, &FOLLOW);
    let urls = |changes: &[Value]| changes.iter().map(|change| change["urls"].clone()).collect::<Vec<_>>();
    let alone: Vec<_> = ["/a", "/b", "/c"].map(|path| serde_json::json!([pages.url(path)])).to_vec();
    let mut told = urls(&first);
    told.sort_by_key(Value::to_string);
    assert_eq!(told, alone);
    // what was read without signatures is read once more
    let config = pages.crawl.path("crawler.toml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}\n[feed]\nnear_duplicates = 0.8\n")).unwrap();
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    let changes = lines(dir, &FOLLOW);
    let stays = if short(&pages, &changes)[0] == "delete /b duplicate" { ["/a", "/b"] } else { ["/b", "/a"] };
    assert_eq!(short(&pages, &changes)[1], format!("upsert {}", stays[0]));
    assert_eq!(changes[1]["urls"], serde_json::json!(stays.map(|path| pages.url(path))));
    assert_eq!((changes.len(), listed(dir).len()), (2, 2));
    fs::write(&config, before).unwrap();
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    lines(dir, &FOLLOW);
    assert_eq!(listed(dir).len(), 3);
}

/// A follower whose consumer keeps each batch in a file of its own.
fn follower(dir: &Path) -> Child {
    let consumer = "f=batches/$(date +%s%N); cat > $f.part && mv $f.part $f";
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["follow", "--documents", "--cursor", "cursor", "--batch", "50", "--exec", consumer]);
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_consumer_has_the_documents_after_kills_of_crawl_and_follower() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let options = SimOptions { hosts: 20, pages: 3_000, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let config = format!("{}[crawl]\ncheckpoint_interval = \"1s\"\n{TABLE}", web.config_toml());
    let crawl = Crawl::new(&web.seeds().join("\n"), &config);
    let dir = crawl.dir.path();
    fs::create_dir(dir.join("batches")).unwrap();
    let mut crawling = crawl.start(&[]);
    let mut following = None;
    for _ in 0..200 {
        let mut child = following.take().unwrap_or_else(|| follower(dir));
        thread::sleep(Duration::from_millis(random.u64(1..300)));
        match random.u8(..8) {
            0 => {
                kill(crawling);
                crawling = crawl.start(&[]);
                following = Some(child);
            }
            _ => {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
    kill(crawling);
    crawl.run(&[]).expect(0, &["finish"]);
    if let Some(mut child) = following {
        wait_for("the follower ends with the crawl", || child.try_wait().unwrap().is_some());
    }
    let mut last = follower(dir);
    wait_for("the last follower ends", || last.try_wait().unwrap().is_some());
    let mut batches: Vec<_> = fs::read_dir(dir.join("batches")).unwrap().map(|entry| entry.unwrap().path()).collect();
    batches.retain(|path| path.extension().is_none());
    batches.sort();
    let mut consumer = Consumer::default();
    for batch in batches {
        let text = fs::read_to_string(batch).unwrap();
        // a killed follower leaves half a line, and the batch comes again
        let changes: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        consumer.apply(&changes);
    }
    let listed = listed(dir);
    assert!(listed.len() > 500, "seed {seed}: {}", listed.len());
    assert_eq!(consumer.has(), listed, "seed {seed}");
    assert_eq!(table(dir), listed, "seed {seed}");
}

#[test]
fn a_crawl_feeds_its_sinks_and_goes_on_without_one_that_is_not_there() {
    let pages = Pages::new(&[("/a", &page("A", "")), ("/b", &page("B", ""))]);
    let dir = pages.crawl.dir.path();
    let config = fs::read_to_string(pages.crawl.path("crawler.toml")).unwrap();
    let gone = format!("[sink.gone]\nkind = \"solr\"\nurl = \"{CLOSED}\"\nretries = 0\n");
    fs::write(pages.crawl.path("crawler.toml"), format!("{config}{TABLE}{gone}")).unwrap();
    pages.crawl.run(&[]).expect(0, &["sink gone: not delivered", "(tries: 1)", "finish"]);
    assert_eq!(table(dir).len(), 2);
    assert_eq!(table(dir), listed(dir));
    pages.put("/b", &page("B2", ""));
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    assert_eq!(table(dir), listed(dir));

    // another process has the sink, also when the crawl begins
    let words = ["sink", "run", "--dir", "crawl", "--config", "crawler.toml", "--only", "table", "--forever"];
    let mut feeding = Command::new(env!("CARGO_BIN_EXE_crawler")).args(words).current_dir(dir).spawn().unwrap();
    wait_for("the sink is fed", || disk::DirectoryLock::is_held(&dir.join("crawl/feed/sinks/table")));
    pages.put("/a", &page("A2", ""));
    pages.crawl.run(&["--force"]).expect(0, &["feed/sinks/table: in use", "finish"]);
    wait_for("the documents are there", || lines(dir, &FOLLOW).is_empty() && table(dir) == listed(dir));
    feeding.kill().unwrap();
    feeding.wait().unwrap();

    let output = crawler(dir, &["sink", "run", "--config", "crawler.toml", "--only", "gone"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("sink gone"), "{said}");
    for (words, problem) in [
        (["sink", "run", "--config", "crawler.toml", "--only", "nobody"], "there is no [sink.nobody]"),
        (["sink", "verify", "--dir", "nowhere", "--config", "crawler.toml"], "nowhere"),
    ] {
        let output = crawler(dir, &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(problem), "{said}");
    }

    // where the feed cannot be written, nobody waits for it
    fs::remove_dir_all(dir.join("crawl/feed")).unwrap();
    fs::write(dir.join("crawl/feed"), "").unwrap();
    let output = crawler(dir, &["sink", "run", "--config", "crawler.toml", "--only", "table"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("the sinks get nothing more"), "{said}");
    pages.crawl.run(&["--force"]).expect(0, &["the sinks get nothing more", "finish"]);
}

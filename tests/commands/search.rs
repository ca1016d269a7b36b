//! `crawler search` on real crawls: what is found, when it is found, and an index that survives kills.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::changing::Pages;
use crate::site::{Crawl, wait_for};
use crawler::search::{Hit, Index, Query, Updater};
use crawler::simweb::{SimOptions, SimWeb};

impl Pages {
    /// The paths of the pages that `words` find, the best first.
    #[track_caller]
    fn found(&self, words: &[&str]) -> Vec<String> {
        let found = found(self.crawl.dir.path(), words);
        let path = |hit: &Value| hit["url"].as_str().unwrap().replacen(&self.url("/"), "/", 1);
        found["hits"].as_array().unwrap().iter().map(path).collect()
    }
}

fn search(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.arg("search").args(words).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

/// The answer in JSON.
#[track_caller]
fn found(dir: &Path, words: &[&str]) -> Value {
    let output = search(dir, &[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn document(title: &str, text: &str) -> String {
    format!("<title>{title}</title><main><h1>{title}</h1><p>{text}</p></main>")
}

#[test]
fn pages_are_found_by_words_phrases_and_fields_in_their_languages() {
    let german = "Der Crawler speichert die Häuser der Stadt, und nach einem Stromausfall geht es weiter ohne Verlust.";
    let japanese = "東京都の言語入門です。これは日本語のページであり、検索のために書かれました。";
    let english = "After a power cut the crawler resumes where it was, and it never fetches a stored page again.";
    let pages = Pages::new(&[
        ("/en", &document("Power cuts", english)),
        ("/de", &document("Häuser", german)),
        ("/ja", &document("言語", japanese)),
        (
            "/cut",
            &document("Scissors", "They cut paper, and need no power. The scissors of the office are in the drawer."),
        ),
        ("/login", &document("Log in", "<form><input type=password name=p></form> power")),
        ("/gone", "404 power cut"),
    ]);
    pages.crawl.run(&[]).expect(0, &["finish"]);
    assert_eq!(pages.found(&["power", "cut"]), ["/en", "/cut"]);
    assert_eq!(pages.found(&["\"power cut\""]), ["/en"]);
    assert_eq!(pages.found(&["POWER -scissors"]), ["/en"]);
    assert_eq!(pages.found(&["resuming fetched"]), ["/en"]);
    assert_eq!(pages.found(&["hauser", "lang:de"]), ["/de"]);
    assert_eq!(pages.found(&["Haus", "--language", "deu"]), ["/de"]);
    assert_eq!(pages.found(&["京都"]), ["/ja"]);
    assert_eq!(pages.found(&["言語入門 OR scissors"]).len(), 2);
    assert_eq!(pages.found(&["title:power"]), ["/en"]);
    assert_eq!(pages.found(&["url:cut"]), ["/cut"]);
    assert_eq!(pages.found(&["power", "site:127.0.0.1"]).len(), 2);
    assert_eq!(pages.found(&["power", "--site", "a.example"]).len(), 0);
    assert_eq!(pages.found(&["power after:2100-01-01"]).len(), 0);
    assert_eq!(pages.found(&["power", "--until", "2000-01-01"]).len(), 0);
    assert_eq!(pages.found(&["power", "--mime", "text/*"]).len(), 2);
    assert_eq!(pages.found(&["power", "--mime", "application/pdf"]).len(), 0);
    let all = found(pages.crawl.dir.path(), &[]);
    assert_eq!(all["total"], 4, "{all}");
    let kinds = found(pages.crawl.dir.path(), &["--kind", "all"]);
    assert_eq!(kinds["facets"]["kinds"].as_array().unwrap().len(), 2, "{kinds}");
    let hit = &found(pages.crawl.dir.path(), &["resumes"])["hits"][0];
    let mark = &hit["snippet"]["marks"][0];
    let place = mark["start"].as_u64().unwrap() as usize..mark["end"].as_u64().unwrap() as usize;
    assert_eq!(&hit["snippet"]["text"].as_str().unwrap()[place], "resumes");
    let mut get = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let warc =
        get.args(["get", "--warc", &pages.url("/en")]).current_dir(pages.crawl.dir.path()).output().unwrap().stdout;
    let warc = String::from_utf8_lossy(&warc).into_owned();
    for cited in ["record_id", "digest", "captured"] {
        assert!(warc.contains(hit[cited].as_str().unwrap()), "{cited}: {hit}\n{warc}");
    }
    let printed = String::from_utf8(search(pages.crawl.dir.path(), &["resumes"]).stdout).unwrap();
    assert!(printed.starts_with("1 page\n\n1. Power cuts\n") && printed.contains(hit["record_id"].as_str().unwrap()));
}

#[test]
fn a_page_counts_as_it_is_now_and_is_gone_when_it_is_forgotten() {
    let same = "A text that both pages have, and that is long enough to be recognised as the same by its signature.";
    let pages = Pages::new(&[
        ("/a", &document("One", "The first edition speaks of zebras.")),
        ("/b", &document("Two", same)),
        ("/c", &document("Three", same)),
        ("/d", &document("Four", "This one is there today, with its giraffe.")),
    ]);
    pages.crawl.run(&[]).expect(0, &["finish"]);
    assert_eq!(pages.found(&["zebra"]), ["/a"]);
    let before = found(pages.crawl.dir.path(), &["signature"]);
    assert_eq!((&before["total"], &before["folded"]), (&2.into(), &1.into()), "{before}");
    assert_eq!(pages.found(&["signature", "--all"]).len(), 2);
    pages.put("/a", &document("One", "The second edition speaks of tapirs."));
    pages.put("/d", "404 giraffe");
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    assert_eq!(pages.found(&["zebra", "--no-update"]), ["/a"], "as it was");
    assert_eq!(pages.found(&["zebra"]), [""; 0]);
    assert_eq!(pages.found(&["tapir"]), ["/a"]);
    assert_eq!(pages.found(&["giraffe"]), [""; 0]);
    let again = found(pages.crawl.dir.path(), &["signature"]);
    assert!(again["hits"][0]["captured"].as_str() > before["hits"][0]["captured"].as_str(), "it was seen again");
    let forget = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let done = command.arg("forget").args(words).current_dir(pages.crawl.dir.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    forget(&[&pages.url("/a")]);
    forget(&["--prefix", &pages.url("/b")]);
    for update in [&["--no-update"][..], &[]] {
        assert_eq!(pages.found(&[&["tapir"], update].concat()), [""; 0]);
        let left = found(pages.crawl.dir.path(), &[&["--all"], update].concat());
        assert_eq!((&left["total"], left["hits"].as_array().unwrap().len()), (&1.into(), 1), "{left}");
    }
    forget(&["--undo", &pages.url("/a")]);
    assert_eq!(pages.found(&["tapir"]), ["/a"]);
}

/// A crawl of a synthetic web.
fn crawled(config: &str) -> (SimWeb, Crawl) {
    let options = SimOptions { hosts: 4, pages: 120, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let crawl = Crawl::new(&web.seeds().join("\n"), &(web.config_toml() + config));
    crawl.run(&[]).expect(0, &["finish"]);
    (web, crawl)
}

/// All pages of an index by their URLs.
fn everything(crawl: &Path) -> Vec<Hit> {
    let query = Query { limit: 1_000, fold: false, ..Query::default() };
    let mut hits = Index::open(crawl).unwrap().search(&query).unwrap().hits;
    hits.sort_by(|one, other| one.url.cmp(&other.url));
    hits
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().map(Result::unwrap).collect();
    // first the file that names the others: a merge writes those of the next one meanwhile
    entries.sort_by_key(|entry| entry.file_name() != "meta.json");
    for entry in entries {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            // a merge takes files away
            false => _ = fs::copy(entry.path(), target),
        }
    }
}

/// The index of the whole crawl, made at once.
fn built_at_once(dir: &Path) -> Vec<Hit> {
    let _ = fs::remove_dir_all(dir.join("search"));
    let done = Updater::open(dir).unwrap().unwrap().update(u64::MAX, &mut |_| {}).unwrap();
    assert!(done.is_complete && done.is_new && done.unreadable == 0, "{done:?}");
    everything(dir)
}

#[test]
fn an_index_that_was_left_after_any_step_is_completed_to_the_same() {
    let (_web, crawl) = crawled("");
    let (dir, saved) = (crawl.path("crawl"), tempfile::tempdir().unwrap());
    let whole = built_at_once(&dir);
    assert!(whole.len() > 60, "{}", whole.len());
    fs::remove_dir_all(dir.join("search")).unwrap();
    let mut updater = Updater::open(&dir).unwrap().unwrap();
    assert!(Updater::open(&dir).unwrap().is_none(), "one writer at a time");
    let mut left: Vec<PathBuf> = Vec::new();
    loop {
        let done = updater.update(1, &mut |_| {}).unwrap();
        left.push(saved.path().join(left.len().to_string()));
        copy(&dir.join("search"), left.last().unwrap());
        if done.is_complete {
            break;
        }
    }
    drop(updater);
    assert_eq!(everything(&dir), whole);
    assert!(left.len() > 100, "{}", left.len());
    for index in left {
        fs::remove_dir_all(dir.join("search")).unwrap();
        fs::rename(index, dir.join("search")).unwrap();
        let done = Updater::open(&dir).unwrap().unwrap().update(u64::MAX, &mut |_| {}).unwrap();
        assert!(done.is_complete);
        assert_eq!(everything(&dir), whole);
    }
}

#[test]
fn an_update_that_is_killed_goes_on_from_its_last_commit() {
    let (_web, crawl) = crawled("");
    let dir = crawl.path("crawl");
    let whole = built_at_once(&dir);
    for kill in 0..10 {
        let _ = fs::remove_dir_all(dir.join("search"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let mut child = command
            .args(["search", "x", "--dir"])
            .arg(&dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // ten moments between the first file and the end, as files are made
        let files = || fs::read_dir(dir.join("search/index")).map_or(0, |files| files.count());
        wait_for("the index is begun", || files() > kill || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        found(&dir, &["x", "--dir", "."]);
        assert_eq!(everything(&dir), whole, "after kill {kill}");
    }
}

#[test]
fn shards_are_searched_as_one_crawl_and_a_running_crawl_as_of_its_checkpoint() {
    let (_web, crawl) = crawled("");
    let (_sharded_web, sharded) = crawled("[crawl]\nshards = 2\n");
    let urls = |hits: Vec<Hit>| hits.len();
    assert_eq!(urls(built_at_once(&crawl.path("crawl"))), urls(built_at_once(&sharded.path("crawl"))));
    let options = SimOptions { hosts: 4, pages: 20_000, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let running = Crawl::new(&web.seeds().join("\n"), &(web.config_toml() + "[crawl]\ncheckpoint_interval = \"1s\"\n"));
    let child = running.start(&[]);
    let total = || {
        let output = search(running.dir.path(), &["--json"]);
        let found: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        found.and_then(|found| found["total"].as_u64()).unwrap_or(0)
    };
    let mut first = 0;
    wait_for("pages are found while the crawl runs", || {
        first = total();
        first > 0
    });
    wait_for("more are found later", || total() > first);
    crate::site::kill(child);
}

#[test]
fn an_index_is_searched_where_it_cannot_be_written_and_made_again_where_it_is_damaged() {
    let (_web, crawl) = crawled("");
    let dir = crawl.path("crawl");
    let output = search(&dir, &["x", "--dir", ".", "--no-update"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let whole = built_at_once(&dir);
    let lock = Updater::open(&dir).unwrap().unwrap();
    let output = search(&dir, &["--dir", ".", "--json"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("another process"));
    drop(lock);
    let index = || fs::read_dir(dir.join("search/index")).unwrap().map(|entry| entry.unwrap().path());
    for harm in ["store", "term", "fast", "json"] {
        for file in index().filter(|path| path.extension().is_some_and(|kind| kind == harm)) {
            fs::write(file, b"").unwrap();
        }
        let output = search(&dir, &["--dir", ".", "page"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{harm}: {said}");
        assert_eq!(built_at_once(&dir), whole, "{harm}");
    }
}

#[test]
fn an_index_of_a_sink_has_the_documents_of_the_site_and_no_outage_empties_it() {
    let pages = Pages::new(&[
        ("/a", &document("One", "The first edition speaks of zebras, and of nothing else that has stripes.")),
        ("/d", &document("Two", "This one is there today, with its giraffe, which looks over every tree.")),
    ]);
    let dir = pages.crawl.dir.path();
    let config = fs::read_to_string(pages.crawl.path("crawler.toml")).unwrap();
    let sink = "[sink.site]\nkind = \"search\"\npath = \"site\"\n";
    fs::write(pages.crawl.path("crawler.toml"), format!("{config}{sink}")).unwrap();
    let by_sink = |words: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
            .args(["search", "--index", "site", "--json", words])
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    pages.crawl.run(&[]).expect(0, &["finish"]);
    assert_eq!((by_sink("zebra"), by_sink("giraffe")), (vec!["One".to_owned()], vec!["Two".to_owned()]));
    pages.put("/d", "404 giraffe");
    pages.crawl.run(&["--force"]).expect(0, &["finish"]);
    assert_eq!(pages.found(&["giraffe"]).len(), 0, "the newest version is no page");
    assert_eq!(by_sink("giraffe"), ["Two"], "and no other visit confirms that");
    let crawler = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(words).current_dir(dir).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(crawler(&["forget", &pages.url("/a")]).0, Some(0));
    for command in ["run", "verify"] {
        let (code, said) = crawler(&["sink", command, "--config", "crawler.toml"]);
        assert_eq!(code, Some(0), "{command}: {said}");
    }
    assert!(by_sink("zebra").is_empty());
    let (code, said) = crawler(&["search", "--index", "nowhere", "x"]);
    assert!(code == Some(2) && said.contains("no index of documents"), "{said}");
}

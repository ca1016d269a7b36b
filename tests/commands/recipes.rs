//! The commands of docs/RECIPES.md, as they are there: each recipe on a synthetic web, whose right result is known,
//! and on a site of documentation as rustdoc makes it. Only addresses are replaced, and a delivery that fails ends its
//! command soon.

mod documentation;
mod engines;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crawler::simweb::{SimOptions, SimWeb};
use documentation::Documentation;
use engines::{Documents, Engines};

use super::site::{RUSH, next_second};
use super::tutorial::{SITE, settle, with_binary};
use crate::tools::{Tool, has};

const RECIPES: &str = include_str!("../../docs/RECIPES.md");
const FIRST: &str = "Before the first recipe";

/// A recipe: its heading, and its blocks of commands.
type Recipe = (&'static str, Vec<String>);

/// All recipes with commands, in their order.
fn recipes() -> Vec<Recipe> {
    let sections = RECIPES.split("\n## ").skip(1);
    sections.map(|section| (section.lines().next().unwrap(), blocks(section))).collect()
}

/// The indented blocks of a text, each without its indent.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(code) => *blocks.last_mut().unwrap() += &format!("{code}\n"),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Servers of the recipes that take documents or texts: Elasticsearch, Typesense, Qdrant, and one that embeds.
const SERVERS: [&str; 4] = ["localhost:9200", "localhost:8108", "localhost:6333", "localhost:8080"];

/// Programs that some blocks take and few machines have.
const PROGRAMS: [&str; 5] = ["sqlite3", "duckdb", "kcat", "curl", "jq"];

/// Returns whether the machine has what a block of commands takes.
fn can_run(block: &str) -> bool {
    let takes = |program: &str| block.split(['\'', '"', '|', ' ', '\n']).any(|word| word == program);
    if block.contains("python3") {
        return has(Tool::Python("sqlite3")) && (!block.contains("import duckdb") || has(Tool::Python("duckdb")));
    }
    PROGRAMS.into_iter().filter(|program| takes(program)).all(|program| has(Tool::Program(program)))
}

/// A place in which recipes are run for one site.
struct Place {
    dir: tempfile::TempDir,
    site: String,
    engines: Engines,
}

impl Place {
    /// Makes a place with the files of the first section, and the settings that a crawl of a site on loopback needs.
    fn new(site: &str, settings: &str) -> Place {
        let (dir, engines) = (tempfile::tempdir().unwrap(), Engines::start());
        let place = Place { dir, site: site.to_owned(), engines };
        let (heading, blocks) = recipes().remove(0);
        assert_eq!(heading, FIRST);
        blocks.iter().for_each(|block| place.run(block));
        settle(&place.dir.path().join("crawler.toml"), settings);
        place
    }

    /// Runs a block of commands as a shell does that stops at the first one that fails.
    fn run(&self, block: &str) {
        if !can_run(block) {
            return;
        }
        let mut block = block.replace(SITE, &self.site).replace(" --exec ", " --retries 2 --exec ");
        for server in SERVERS {
            block = block.replace(server, &self.engines.address.to_string());
        }
        // kcat brings its own cluster in memory for tests
        let block = &block.replace("-b localhost:9092", "-b localhost:9092 -X test.mock.num.brokers=1");
        let output = self.shell(block);
        assert!(output.status.success(), "{block}: {}", String::from_utf8_lossy(&output.stderr));
        let quiet = block.lines().any(|line| line.ends_with(" --quiet"));
        assert!(!quiet || output.stderr.is_empty(), "{block}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a shell's command.
    fn shell(&self, command: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-euc", command]).stdin(Stdio::null()).current_dir(self.dir.path());
        with_binary(&mut shell).output().unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn lines(&self, name: &str) -> BTreeSet<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// The objects of a file of JSON lines, by their URL.
    fn objects(&self, name: &str) -> BTreeMap<String, serde_json::Value> {
        let object = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            (value["url"].as_str().unwrap().to_owned(), value)
        };
        self.read(name).lines().map(object).collect()
    }

    /// The URLs in the archive of a crawl.
    fn stored(&self, crawl: &str) -> BTreeSet<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(["list", "--dir"]).arg(self.dir.path().join(crawl)).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns what the program prints for these words.
    fn said(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        String::from_utf8(command.args(words).current_dir(self.dir.path()).output().unwrap().stdout).unwrap()
    }

    /// Checks that the answers of the crawl have come to each target of the recipe once. A page can have two: an answer
    /// of 503 is stored, and so is the answer when it was asked again.
    fn assert_fed(&self, pages: &BTreeSet<String>) {
        let urls = |name: &str| self.objects(name).into_keys().collect::<BTreeSet<_>>();
        assert_eq!((&urls("pages.jsonl"), &urls("seen.jsonl")), (pages, pages));
        let place = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["place"].clone();
        let answers: Vec<_> = self.read("pages.jsonl").lines().map(|line| place(line).to_string()).collect();
        assert_eq!(answers.iter().collect::<BTreeSet<_>>().len(), answers.len());
        let count = |module: &str, file: &str| {
            let program = format!(
                "import {module}; c = {module}.connect('{file}'); \
                print(c.execute('select count(distinct url), count(*) from pages').fetchone())"
            );
            let mut command = Command::new("python3");
            let output = command.args(["-c", &program]).current_dir(self.dir.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let expected = format!("({}, {})", pages.len(), answers.len());
        if has(Tool::Python("sqlite3")) {
            assert_eq!(count("sqlite3", "feed.db"), expected);
        }
        let places = |command: &str| String::from_utf8(self.shell(command).stdout).unwrap().trim().to_owned();
        for command in [
            "sqlite3 lines.db 'select count(*) from pages'",
            "duckdb -csv -noheader lines.duckdb 'select count(*) from pages'",
        ] {
            if can_run(command) {
                assert_eq!(places(command), answers.len().to_string(), "{command}");
            }
        }
        if can_run("curl | jq") {
            let kept = self.engines.kept();
            let titled = kept.elasticsearch.values().filter(|page| page["title"].is_string()).count();
            let found = self.objects("pages.jsonl").into_iter().filter(|(_, page)| page["status"] == 200);
            let found: BTreeSet<String> = found.map(|(url, _)| url).collect();
            assert_eq!((kept.elasticsearch.keys().cloned().collect(), titled > 0), (found, true));
        }
        if has(Tool::Python("duckdb")) {
            assert_eq!(count("duckdb", "feed.duckdb"), expected);
        }
    }

    /// The documents of the crawl of the recipe, as `list` prints them.
    fn documents(&self) -> Documents {
        let listed = self.said(&["list", "--documents", "--json", "--dir", "indexed"]);
        let listed = listed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        listed.map(|document| (document["id"].as_str().unwrap().to_owned(), document)).collect()
    }

    /// Checks that the targets of the recipe have the documents of the crawl, also once one of them was deleted, and
    /// that a document which is refused is a failure.
    fn assert_equal_to_the_site(&self, blocks: &[String]) {
        if !can_run("kcat | jq") && !can_run("curl | jq") {
            return;
        }
        let (before, mut topic) = (self.documents(), Documents::new());
        assert!(before.len() > 5, "{before:?}");
        self.assert_indexed(&before, &mut topic);
        let (id, document) = before.first_key_value().unwrap();
        self.said(&["forget", document["url"].as_str().unwrap(), "--dir", "indexed"]);
        blocks.iter().filter(|block| block.contains("crawler follow ")).for_each(|block| self.run(block));
        let after = self.documents();
        assert!(!after.contains_key(id), "{after:?}");
        self.assert_indexed(&after, &mut topic);
        if can_run("curl | jq") {
            let refused = self.shell("echo '{\"op\":\"upsert\",\"id\":\"0\"}' | sh to-typesense.sh");
            let said = String::from_utf8_lossy(&refused.stderr);
            assert!(!refused.status.success() && said.contains("a field is missing"), "{said}");
        }
    }

    /// Checks that each target has these documents. The topic gets the last batch first.
    fn assert_indexed(&self, documents: &Documents, topic: &mut Documents) {
        if can_run("kcat | jq") {
            for line in self.read("kafka.batch").lines() {
                match line.split_once(':').unwrap() {
                    (id, "") => topic.remove(id),
                    (id, document) => topic.insert(id.to_owned(), serde_json::from_str(document).unwrap()),
                };
            }
            assert_eq!(digests(topic), digests(documents));
        }
        if can_run("curl | jq") {
            let kept = self.engines.kept();
            assert_eq!(digests(&kept.typesense), digests(documents));
            assert_eq!(digests(&kept.qdrant), digests(documents));
        }
    }

    /// Checks that the page was read and a search answered, by the command and by its tools.
    fn assert_answered(&self) {
        let found: serde_json::Value = serde_json::from_str(&self.read("found.json")).unwrap();
        assert!(found["total"].is_u64(), "{found}");
        if !can_run("jq") {
            return;
        }
        let answers = self.read("answers.jsonl");
        let answers = answers.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let results: BTreeMap<u64, serde_json::Value> =
            answers.map(|answer| (answer["id"].as_u64().unwrap(), answer["result"].clone())).collect();
        for (id, word) in [(2, self.site.as_str()), (3, "\"total\"")] {
            let text = results[&id]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(word) && text.contains("<archived-data mark="), "{text}");
        }
    }

    fn is_zip(&self, name: &str) -> bool {
        fs::read(self.dir.path().join(name)).unwrap().starts_with(b"PK\x03\x04")
    }
}

/// The digests of documents, by their ids.
fn digests(documents: &Documents) -> BTreeMap<&str, &serde_json::Value> {
    documents.iter().map(|(id, document)| (id.as_str(), &document["digest"])).collect()
}

/// Tries every recipe in its own place, all at the same time: most of each is waiting for servers and seconds.
fn each_recipe(check: impl Fn(&'static str, Vec<String>) + Sync) {
    std::thread::scope(|threads| {
        for (heading, blocks) in recipes().into_iter().skip(1) {
            let check = &check;
            threads.spawn(move || check(heading, blocks));
        }
    });
}

#[test]
fn the_recipes_work_on_a_synthetic_web() {
    let options = SimOptions { hosts: 4, pages: 150, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let expected: BTreeSet<String> = web.expected().pages.keys().cloned().collect();
    let broken = |status: u16| status >= 400;
    let settings = format!("{}[fetch]\nretries = 2\n", web.config_toml());
    each_recipe(|heading, blocks| {
        let place = Place::new(&web.seeds()[0], &settings);
        for block in &blocks {
            place.run(block);
            next_second();
        }
        match heading {
            "Site audit" => {
                let pages = web.expected().pages.iter().filter(|(_, page)| broken(page.status));
                let pages: BTreeSet<String> = pages.map(|(url, _)| url.clone()).collect();
                assert!(!pages.is_empty());
                assert_eq!(place.lines("broken.txt"), pages);
                let linked = place.lines("broken-links.tsv");
                let linked: BTreeSet<&str> = linked.iter().map(|line| line.split('\t').next().unwrap()).collect();
                assert!(pages.iter().all(|url| linked.contains(url.as_str())), "{linked:?}");
                assert!(place.lines("titles.tsv").len() > 50);
                let moved = web.expected().pages.values().filter(|page| (300..400).contains(&page.status)).count();
                assert_eq!(place.lines("redirects.tsv").len(), moved);
            }
            "Data set" => {
                let html = web.expected().pages.values().filter(|page| page.status == 200).count();
                let pages = place.objects("pages.jsonl");
                assert!(pages.len() > html / 2, "{} of {html}", pages.len());
                assert!(place.objects("texts.jsonl").values().all(|page| page["text"].is_string()));
                assert!(!place.read("links.jsonl").is_empty());
            }
            "Archive" => {
                assert_eq!(place.stored("archive"), expected);
                assert!(place.is_zip("example.wacz"));
                assert!(place.stored("single").contains(&place.site));
            }
            "Mirror that stays fresh" => {
                assert_eq!(place.stored("mirror"), expected);
                assert_eq!(place.read("newest.html"), place.read("before.html"));
                assert_eq!(place.read("changes.tsv") + &place.read("difference.txt"), "");
                assert_eq!(place.stored("fresh"), expected);
                let calendar = place.said(&["status", "--dir", "fresh"]);
                assert!(calendar.contains("\ndue ") && calendar.contains("\nfreshness "), "{calendar}");
                assert!(calendar.contains("up to date: no page is due"), "{calendar}");
            }
            "Search index" => assert!(place.objects("texts.jsonl").len() > 50),
            "Ask an archive" => place.assert_answered(),
            "Feed" => place.assert_fed(&expected),
            "Index that equals the site" => place.assert_equal_to_the_site(&blocks),
            other => panic!("no test knows what comes of the recipe {other:?}"),
        }
    });
}

#[test]
fn the_recipes_work_on_a_site_of_documentation() {
    let documented = documentation::pages();
    each_recipe(|heading, blocks| {
        let site = Documentation::serve(documented.clone());
        let root = site.root();
        let at = |path: &str| format!("{root}{path}");
        let place = Place::new(&root, &format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}"));
        for (number, block) in blocks.iter().enumerate() {
            place.run(block);
            next_second();
            if heading == "Mirror that stays fresh" && number == 0 {
                site.change();
            }
        }
        match heading {
            "Site audit" => {
                assert!(place.lines("broken.txt").contains(&at("missing.html")));
                let link = format!("{}\t{root}\tnowhere", at("missing.html"));
                assert!(place.lines("broken-links.tsv").contains(&link), "{}", place.read("broken-links.tsv"));
                let redirect = format!("{}\t{}", at("moved"), at("small/index.html"));
                assert_eq!(place.lines("redirects.tsv"), BTreeSet::from([redirect]));
                assert_eq!(place.lines("untitled.txt"), BTreeSet::from([at("plain.html")]));
                assert!(place.lines("titles.tsv").iter().any(|line| line.contains("small - Rust")));
            }
            "Data set" => {
                let pages = place.objects("pages.jsonl");
                assert_eq!(pages[&root]["heading"], "Documentation of a small crate");
                let of_struct = &pages[&at("small/struct.Lamp.html")];
                assert!(of_struct["heading"].as_str().unwrap().contains("Lamp"), "{of_struct}");
                assert!(of_struct["headings"].is_array() && of_struct["description"].is_string(), "{of_struct}");
                assert!(place.objects("texts.jsonl")[&root]["text"].as_str().unwrap().contains("example"));
            }
            "Archive" => {
                let all = place.stored("archive");
                assert!(all.iter().any(|url| url.ends_with(".woff2")), "{all:?}");
                assert!(place.is_zip("example.wacz"));
                // the page, its style sheet, and no link of it
                let single = place.stored("single");
                assert!(single.contains(&root) && single.contains(&at("style.css")), "{single:?}");
                assert!(!single.contains(&at("small/index.html")), "{single:?}");
            }
            "Mirror that stays fresh" => {
                let changes = place.read("changes.tsv");
                let became =
                    |what: &str, url: &str| changes.lines().any(|line| line.starts_with(&format!("{what}\t{url}")));
                assert!(became("changed", &root) && became("new", &at("news.html")), "{changes}");
                assert_eq!(changes.lines().count(), 2, "{changes}");
                assert!(place.read("difference.txt").contains("news"), "{}", place.read("difference.txt"));
                let explained = place.said(&["explain", &root, "--dir", "fresh"]);
                assert!(explained.contains("; its next visit is due in "), "{explained}");
                assert!(place.read("newest.html").contains("news.html"));
                assert!(!place.read("before.html").contains("news.html"));
            }
            "Search index" => {
                assert!(place.objects("texts.jsonl").len() > 5);
                if has(Tool::Python("sqlite3")) {
                    assert!(place.read("found.txt").contains(&root), "{}", place.read("found.txt"));
                }
            }
            "Ask an archive" => place.assert_answered(),
            "Feed" => place.assert_fed(&place.stored("feed")),
            "Index that equals the site" => place.assert_equal_to_the_site(&blocks),
            other => panic!("no test knows what comes of the recipe {other:?}"),
        }
    });
}

#[test]
fn the_recipes_of_the_readme_are_those_of_the_document() {
    let readme = include_str!("../../README.md");
    for (heading, _) in recipes().into_iter().skip(1) {
        let anchor = heading.to_lowercase().replace(' ', "-");
        assert!(readme.contains(&format!("(docs/RECIPES.md#{anchor})")), "README.md has no link to {heading:?}");
    }
    assert!(Path::new("docs/RECIPES.md").is_file());
}

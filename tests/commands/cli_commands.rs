//! Every command and every option on a crawl of a synthetic web, with the real binary; and what is said of each
//! mistake.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::site::Crawl;
use crawler::config::Config;
use crawler::disk::{Disk, Mode};
use crawler::simweb::{SimOptions, SimWeb};
use crawler::warc::RecordReader;

struct Crawled {
    _web: SimWeb,
    crawl: Crawl,
    seed: String,
}

fn crawled() -> Crawled {
    let options = SimOptions { hosts: 6, pages: 90, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let crawl = Crawl::new(&web.seeds().join("\n"), &web.config_toml());
    crawl.run(&["--verbose", "--max-depth", "50", "--max-time", "1h", "--max-pages", "1000"]).expect(0, &["finish"]);
    let seed = web.seeds()[0].clone();
    Crawled { _web: web, crawl, seed }
}

impl Crawled {
    /// Runs a command line; `SEED` in it stands for a URL of the archive.
    fn output(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        for word in line.split(' ') {
            command.arg(if word == "SEED" { &self.seed } else { word });
        }
        command.current_dir(self.crawl.dir.path()).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn prints(&self, line: &str) -> String {
        let output = self.output(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn refused(&self, line: &str) -> String {
        let output = self.output(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(output.stdout.is_empty(), "{line}");
        said
    }
}

#[test]
fn every_reading_command_answers_with_each_of_its_options() {
    let crawled = crawled();
    fs::write(crawled.crawl.path("robots.txt"), "User-agent: *\nDisallow: /a\nCrawl-delay: 3\n").unwrap();
    fs::write(
        crawled.crawl.path("fields.toml"),
        "heading = \"h1\"\nlinks = { css = \"a\", attr = \"href\", all = true }\n",
    )
    .unwrap();
    fs::write(crawled.crawl.path("old.csv"), "url,title\r\n").unwrap();
    for (line, words) in [
        ("get SEED", "<"),
        ("get SEED --headers", "HTTP/1.1 200"),
        ("get SEED --raw", ""),
        ("get SEED --warc", "WARC/1.1"),
        ("get SEED --version 0 --dir crawl", "<"),
        ("audit", "report: ./audit/report.html"),
        ("audit crawl --output second --memory 64MiB", "second/report.html"),
        ("audit --dir crawl --output third --compare audit/audit.json --fail-on new", "0 new, 0 fixed"),
        ("audit --check-external --config crawler.toml --max-time 1h --output fourth", "external links: "),
        ("list", "http"),
        ("list --json --status 200 --mime text/html", "\"status\":200"),
        ("list --all --robots", "/robots.txt"),
        ("list --prefix SEED --since 2020-01-01 --until 2199-12-31", "http"),
        ("changes --since 2020-01-01", "new\thttp"),
        ("changes --since 2020-01-01 --until 2199-12-31 --kind new --json --dir crawl", "\"change\":\"new\""),
        ("changes --since 2020-01-01 --prefix SEED --status 200 --mime text/* --robots", "new\thttp"),
        ("changes --since 2020-01-01 --text", "new\thttp"),
        ("changes --since 2020-01-01 --feed atom", "<feed xmlns=\"http://www.w3.org/2005/Atom\">"),
        ("changes --since 2020-01-01 --respect-preferences ai-train=n", "new\thttp"),
        ("changes --since 2020-01-01 --directive noindex --without-directive noai", ""),
        ("diff crawl crawl --directive noindex --without-directive noai", ""),
        ("diff SEED --from 0 --to 2199-12-31 --source --dir crawl", ""),
        ("diff crawl crawl --prefix SEED --status 200 --mime text/* --robots --json", ""),
        ("diff crawl crawl --since 2020-01-01 --until 2199-12-31 --respect-preferences ai-train=n", ""),
        ("status", "pages"),
        ("status --memory", "memory"),
        ("status --json", "\"pages_stored\""),
        ("explain SEED", "was fetched"),
        ("explain SEED --json", "\"verdict\""),
        ("explain SEED --config crawler.toml", "the file of --config"),
        ("robots robots.txt --agent me /b", "allowed\t/b"),
        ("robots robots.txt --agent me /b --verbose", "delay\t3 s"),
        ("robots robots.txt --agent me /b --json", "\"agent\":\"me\""),
        ("canonical http://EXAMPLE.com:80/a/../b", "http://example.com/b"),
        ("canonical http://example.com/ --json", "\"surt\""),
        ("canonical http://example.com/ --config crawler.toml", "http://example.com/"),
        ("canonical http://example.com/ --dir crawl", "http://example.com/"),
        ("verify", "no damage"),
        ("verify --verbose", "no damage"),
        ("verify --rebuild", ""),
        ("verify --quiet", ""),
        ("extract", "url\ttitle\n"),
        ("extract --text", "url\ttitle\ttext\n"),
        ("extract --main --markdown", "url\ttitle\tmain\tmarkdown\n"),
        ("extract --jsonl --prefix SEED", "\"title\":"),
        ("extract --select a", "<a "),
        ("extract --select a --text", "\t"),
        ("extract --select a --attr href", "\t"),
        ("extract --select a --jsonl", "\"values\":["),
        ("extract --fields fields.toml", "url\ttitle\theading\tlinks\n"),
        ("extract --fields fields.toml --jsonl --text", "\"heading\":"),
        ("extract --field heading=h1 --field id=/id=(.)/", "url\ttitle\theading\tid\n"),
        ("extract --facts language,words", "url\ttitle\tlanguage\twords\n"),
        ("extract --columns time,digest,record", "url\ttitle\ttime\tdigest\trecord\n"),
        ("extract --language eng --min-words 1 --max-words 100000", "url\ttitle\n"),
        ("extract --format csv --compare old.csv", "change,url,title,before\r\nnew,http"),
        ("extract --format csv --facts words", "url,title,words\r\n"),
        ("extract --select a --format csv --text", "url,value\r\n"),
        ("extract --output pages.csv", ""),
        ("extract --unique", "url\ttitle\n"),
        ("extract --unique=0.9 --text", "url\ttitle\ttext\n"),
        ("follow crawl --once", "\"place\":"),
        ("follow --dir crawl --from end --once --cursor end.cursor", ""),
        ("follow --once --fields url,title,body_path --bodies bodies --batch 5 --cursor all.cursor", "\"title\":"),
        ("follow --prefix SEED --status 200 --mime text/* --since 2020-01-01 --until 2199-12-31 --robots", "\"via\":"),
        ("follow --respect-preferences ai-train=n --directive noindex --without-directive noai", ""),
        ("follow --exec cat --retries 1", "\"url\":"),
        ("follow --from 0-16 --exec cat --retries 0 --status 999", ""),
        ("export warc --output some.warc.gz --all", ""),
        ("export cdxj --all --memory 1MiB", "{\"url\""),
        ("export urls --status 2xx", "http"),
        ("export urls --output urls.txt", ""),
        ("export manifest --all --prefix SEED --status 200 --mime text/* --robots", "\"sha256\":"),
        ("export manifest --since 2020-01-01 --until 2199-12-31 --directive noindex", "\"sha256\":"),
        ("export manifest --without-directive noai --respect-preferences ai-train=n", "\"robots\":"),
        ("identity init --dir sealing", "thumbprint"),
        ("export manifest --key sealing/key.pem --output manifest.jsonl", ""),
        ("export manifest --check manifest.jsonl", "signed by the key"),
        ("export wacz --key sealing/key.pem --output signed.wacz", ""),
        ("export links", "\tfollow\t"),
        ("export graph --output graph --kind all", ""),
        ("duplicates", ""),
        ("search page --limit 3 --offset 1", "pages"),
        ("search --json --all --no-update --dir crawl", "\"facets\""),
        ("search page --site example --since 2020-01-01 --until 2100-01-01 --language en", "page"),
        ("search --mime text/html --kind all", "1. "),
        ("duplicates --similarity 0.9 --whole --memory 1MiB --jsonl --prefix SEED --status 200 --mime text/*", ""),
        ("duplicates --since 2020-01-01 --until 2199-12-31 --robots --directive noindex", ""),
        ("duplicates --without-directive noai --respect-preferences ai-train=n", ""),
        ("export wet --output some.warc.wet.gz --all --prefix SEED --status 200 --mime text/*", ""),
        ("export wet -o x.wet.gz --since 2020-01-01 --until 2199-12-31 --robots --directive noindex", ""),
        ("export wet -o x.wet.gz --without-directive noai --respect-preferences ai-train=n", ""),
        ("export wat --output some.warc.wat.gz --all --prefix SEED --status 200 --mime text/*", ""),
        ("export wat -o x.wat.gz --since 2020-01-01 --until 2199-12-31 --robots --directive noindex", ""),
        ("export wat -o x.wat.gz --without-directive noai --respect-preferences ai-train=n", ""),
        ("export files site --prefix SEED --status 200 --mime text/*", ""),
        ("export files site-2 --since 2020-01-01 --until 2199-12-31 --robots --directive noindex --kind all", ""),
        ("export files site-3 --without-directive noai --respect-preferences ai-train=n", ""),
        ("export graph -o graph --level domain --memory 1MiB --prefix SEED --status 200 --mime text/*", ""),
        ("export graph -o graph --since 2020-01-01 --until 2199-12-31 --robots --directive noindex", ""),
        ("export graph -o graph --without-directive noai --respect-preferences ai-train=n", ""),
        ("export links --jsonl --mime text/*", "\"text\":"),
        ("config --config crawler.toml", "# crawler.toml:"),
        ("config --for SEED", "[crawl]"),
        ("extract --status 4xx --mime text/* --since 2020-01-01 --until 2199-12-31 --robots", "url\ttitle\n"),
        ("export warc --prefix SEED --since 2020-01-01 --until 2199-12-31 --robots --output -", ""),
        ("export cdxj --prefix SEED --status 200 --mime text/* --since 2020-01-01 --until 2199-12-31 --robots", "{"),
        ("export cdxj --output index.cdxj --respect-preferences ai-train=n", ""),
        ("export warc --output some.warc.gz --respect-preferences ai-train=n,search=n", ""),
        ("export wacz --output some.wacz --respect-preferences tdm=n", ""),
        ("export urls --respect-preferences ai-input=n", "http"),
        ("export index --respect-preferences ai-input=n", "url_surtkey\turl\t"),
        ("export links --respect-preferences ai-train=n", "http"),
        ("extract --respect-preferences search=n", "url\ttitle\n"),
        ("list --respect-preferences ai-train=n", "http"),
        ("export cdxj --output index.cdxj --directive noindex --without-directive noai", ""),
        ("export warc --output some.warc.gz --directive noindex --without-directive noai", ""),
        ("export wacz --output some.wacz --directive noindex --without-directive noai", ""),
        ("export urls --directive noindex --without-directive noai", ""),
        ("export index --directive noindex --without-directive noai", "url_surtkey\turl\t"),
        ("export links --directive noindex --without-directive noai", ""),
        ("extract --directive noindex --without-directive noai", "url\ttitle\n"),
        ("list --directive noindex --without-directive noai", ""),
        ("export wacz --prefix SEED --status 200 --mime text/* --since 2020-01-01 --until 2199-12-31 --robots", ""),
        ("export wacz --output all.wacz --all --text --title All --memory 1MiB", ""),
        ("export urls --prefix SEED --since 2020-01-01 --until 2199-12-31 --robots", "http"),
        ("export links --prefix SEED --status 200 --since 2020-01-01 --until 2199-12-31 --robots", "http"),
        ("export index --all --languages --prefix SEED --status 200 --mime text/* --jsonl", "\"warc_record_offset\":"),
        ("export index --format csv --robots --since 2020-01-01 --until 2199-12-31", "url_surtkey,url,"),
        ("export index --output index.tsv --name my-crawl", ""),
        ("export links --output links.tsv", ""),
    ] {
        let printed = crawled.prints(line);
        assert!(printed.contains(words), "{line}: {words:?} is not in\n{printed}");
    }
    assert_eq!(crawled.output("get http://none.example/").status.code(), Some(1));
    assert_eq!(crawled.output("robots robots.txt --agent me /a").status.code(), Some(1));
}

#[test]
fn a_filter_means_the_same_to_every_command_that_has_it() {
    let crawled = crawled();
    let all = crawled.prints("list").lines().count();
    for (filter, some) in [
        ("--status 200", true),
        ("--status 4xx", true),
        ("--status 3xx --status 4xx", true),
        ("--mime text/html", true),
        ("--mime image/*", false),
        ("--prefix SEED", true),
        ("--robots", true),
        ("--since 2199-01-01", false),
        ("--until 2020-01-01", false),
    ] {
        let listed: BTreeSet<String> = crawled.prints(&format!("list {filter}")).lines().map(str::to_owned).collect();
        assert_eq!(!listed.is_empty(), some, "{filter}");
        assert!(filter == "--robots" || listed.len() < all || filter.contains("mime"), "{filter}");
        let urls: BTreeSet<String> =
            crawled.prints(&format!("export urls {filter}")).lines().map(str::to_owned).collect();
        assert_eq!(urls, listed, "{filter}");
        let index = crawled.prints(&format!("export cdxj {filter}"));
        let of_line = |line: &str| -> String {
            let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
            json["url"].as_str().unwrap().to_owned()
        };
        let indexed: BTreeSet<String> = index.lines().filter(|line| !line.starts_with('!')).map(of_line).collect();
        assert_eq!(indexed, listed, "{filter}");
        let sources = crawled.prints(&format!("export links {filter}"));
        let source = |line: &str| line.split('\t').next().unwrap().to_owned();
        assert!(sources.lines().all(|line| listed.contains(&source(line))), "{filter}");
        let table = crawled.prints(&format!("extract {filter}"));
        assert!(table.lines().skip(1).all(|line| listed.contains(&source(line))), "{filter}");
        let exchanges = crawled.output(&format!("export warc {filter}"));
        assert!(exchanges.status.success() && exchanges.stdout.starts_with(&[0x1f, 0x8b]), "{filter}");
    }
}

#[test]
fn tables_and_graphs_are_the_same_each_time() {
    let crawled = crawled();
    for line in ["extract --text", "extract --select a --text", "export links", "export links --jsonl"] {
        let printed = crawled.prints(line);
        assert!(printed.lines().count() > 20, "{line}: {printed}");
        assert_eq!(crawled.prints(line), printed, "{line}");
    }
    let table = crawled.prints("extract");
    let urls: Vec<&str> = table.lines().skip(1).map(|line| line.split('\t').next().unwrap()).collect();
    let listed = crawled.prints("list --status 200 --mime text/html");
    assert_eq!(urls, listed.lines().collect::<Vec<_>>(), "the order is that of the archive");
}

#[test]
fn a_table_in_a_file_has_the_format_that_its_name_says() {
    let crawled = crawled();
    for (name, begins, ends) in [
        ("p.csv", &b"url,title,words\r\n"[..], &b"\r\n"[..]),
        ("p.jsonl", b"{\"url\":", b"}\n"),
        #[cfg(feature = "sqlite")]
        ("p.db", b"SQLite format 3\0", b""),
        #[cfg(feature = "parquet")]
        ("p.parquet", b"PAR1", b"PAR1"),
    ] {
        assert_eq!(crawled.prints(&format!("extract --facts words --output {name}")), "");
        let file = std::fs::read(crawled.crawl.path(name)).unwrap();
        assert!(file.len() > 1_000 && file.starts_with(begins) && file.ends_with(ends), "{name}");
    }
    let left = std::fs::read_dir(crawled.crawl.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().ends_with(".part")).count(), 0);
}

#[test]
fn the_archive_says_its_settings_as_people_write_them() {
    let crawled = crawled();
    let file = Disk::real().open(crawled.crawl.path("crawl/pages/value-00000.warc.gz"), Mode::Read).unwrap();
    let record = RecordReader::new(&file, 0, 1 << 20).next().unwrap().unwrap();
    let info = String::from_utf8(record.block).unwrap();
    let written: Vec<&str> = info.lines().filter_map(|line| line.strip_prefix("crawler-config: ")).collect();
    assert!(written.contains(&"max_body = \"16MiB\"") && written.contains(&"max_time = \"1h\""), "{info}");
    let mut expected = Config::load(Some(&crawled.crawl.path("crawler.toml"))).unwrap();
    expected.crawl.max_pages = Some(1_000);
    expected.crawl.max_time = Some(Duration::from_secs(3_600));
    expected.crawl.max_depth = Some(50);
    assert_eq!(Config::parse(&written.join("\n"), "warcinfo").unwrap(), expected);
}

#[test]
fn every_mistake_is_told_with_what_to_write() {
    let crawled = crawled();
    fs::write(crawled.crawl.path("bad.toml"), "a = 'h1'\nb = 'a[['\n").unwrap();
    fs::write(crawled.crawl.path("empty.toml"), "").unwrap();
    for (line, words) in [
        ("get", "<URL>"),
        ("get example.com", "https://example.com"),
        ("get ftp://example.com/", "only http and https"),
        ("get http://[x/", "is not a URL"),
        ("get SEED --version 99", "SEED"),
        ("get SEED --version -1", "-1"),
        ("list --status 6", "404, 4xx or 200-299"),
        ("list --until never", "2026-11-21"),
        ("robots robots.txt", "--agent"),
        ("robots none.txt --agent me /", "cannot read none.txt"),
        ("canonical", "<URL>"),
        ("canonical nonsense://", "nonsense"),
        ("canonical http://a.example/ --config crawler.toml --dir crawl", "cannot be used with"),
        ("explain", "<URL>"),
        ("extract --select a[[", "not a CSS selector"),
        ("extract --attr href", "--select"),
        ("extract --select a --fields bad.toml", "cannot be used with"),
        ("extract --fields bad.toml", "bad.toml:2: field \"b\""),
        ("extract --facts colour", "no fact of a page"),
        ("extract --format xls", "known: tsv, csv, jsonl"),
        ("extract --format tsv --jsonl", "cannot be used with"),
        ("extract --format sqlite", "needs a file"),
        ("extract --output crawl/pages.csv", "crawl directory"),
        ("extract --field title=h1", "two columns have the name"),
        ("extract --fields none.toml", "cannot read the fields in none.toml"),
        ("extract --fields empty.toml", "has no field"),
        ("export", "cdxj"),
        ("export urls --output crawl/pages/x", "in the crawl directory"),
        ("export urls --output ..", "does not name a file"),
        (
            "export warc --output nowhere/x",
            "no such directory: nowhere; make it (mkdir -p), or choose another --output",
        ),
        ("export urls --output crawl", "crawl is a directory; name a file in it"),
        ("export cdxj --memory 1KiB", "at least 1MiB"),
        ("follow --once --forever", "cannot be used with"),
        ("follow crawl --dir crawl", "cannot be used with"),
        ("follow --exec cat --webhook https://a.example/ --secret-file s", "cannot be used with"),
        ("follow --webhook https://a.example/", "--secret-file"),
        ("follow --webhook http://a.example/ --secret-file crawler.toml", "write https"),
        ("follow --fields body_path", "--bodies"),
        ("follow --batch 0", "1 to 100000"),
        ("follow --exec {}", "a page cannot say which program is run"),
        ("follow none", "no crawl in none"),
        ("simulate --latency 5", "--latency"),
        ("simulate --trap-kinds hole", "--trap-kinds"),
        ("--seeds seeds.txt --dir seeds.txt", "is a file"),
        ("--config crawler.toml", "nothing to crawl"),
    ] {
        let said = if line.ends_with("--version 99") {
            let output = crawled.output(line);
            assert_eq!(output.status.code(), Some(1), "{line}");
            String::from_utf8_lossy(&output.stderr).replace(&crawled.seed, "SEED")
        } else {
            crawled.refused(line)
        };
        assert!(said.contains(words), "{line}: {words:?} is not in\n{said}");
    }
    let output = crawled.output("robots robots.txt --agent 1 /");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_finds_no_room_is_told_and_is_not_said_to_go_on() {
    let crawled = crawled();
    for line in ["list", "man", "status", "report crawl", "export urls"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let command = command.args(line.split(' ')).current_dir(crawled.crawl.dir.path());
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{line}: {said}");
        assert!(said.contains("free some space where the output goes") && !said.contains("goes on"), "{line}: {said}");
    }
}

#[test]
fn every_command_that_reads_an_archive_reads_it_from_a_store() {
    let options = SimOptions { hosts: 6, pages: 90, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let crawl = Crawl::new(&web.seeds().join("\n"), &web.config_toml());
    let store = format!("file://{}", fs::canonicalize(crawl.dir.path()).unwrap().join("store").display());
    let seed = web.seeds()[0].clone();
    let run = |line: &str, id: &str| {
        let words = line.split(' ').map(|word| match word {
            "STORE" => store.as_str(),
            "ID" => id,
            "SEED" => seed.as_str(),
            word => word,
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let words: Vec<String> = words.map(str::to_owned).collect();
        let output = command.args(words).current_dir(crawl.dir.path()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        (String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    run("crawl --seeds seeds.txt --config crawler.toml --store STORE", "");
    let (told, _) = run("config --config crawler.toml --store STORE", "");
    assert!(told.contains("# command line, --store"), "{told}");
    let objects = fs::read_dir(crawl.path("store/crawls")).unwrap();
    let names: Vec<String> = objects.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let [name] = &names[..] else { panic!("{names:?}") };
    let id = &name[..5];
    for (here, there) in [
        ("list --all --dir crawl", "list --all --store STORE --crawl ID"),
        ("get SEED --dir crawl", "get SEED --store STORE --crawl ID"),
        ("extract --text --dir crawl", "extract --text --store STORE --crawl ID"),
        ("changes --since 2020-01-01 --dir crawl", "changes --since 2020-01-01 --store STORE --crawl ID"),
        ("export urls --dir crawl", "export urls --store STORE --crawl ID"),
        ("export index --dir crawl --format csv", "export index --store STORE --crawl ID --format csv"),
        ("export links --dir crawl", "export links --store STORE --crawl ID"),
        ("export manifest --dir crawl", "export manifest --store STORE --crawl ID"),
        ("export wet --dir crawl -o a.wet.gz", "export wet --store STORE --crawl ID -o b.wet.gz"),
        ("export wat --dir crawl -o a.wat.gz", "export wat --store STORE --crawl ID -o b.wat.gz"),
        ("export graph --dir crawl -o graph", "export graph --store STORE --crawl ID -o graph"),
        ("duplicates --dir crawl", "duplicates --store STORE --crawl ID"),
    ] {
        assert_eq!(run(here, id).0, run(there, id).0, "{there}");
    }
    run("diff SEED --from 0 --to 2199-12-31 --store STORE --crawl ID", id);
    run("export warc --output some.warc.gz --store STORE --crawl ID", id);
    run("export wacz --output some.wacz --store STORE --crawl ID", id);
    run("export cdxj --output some.cdxj --store STORE --crawl ID", id);
    run("export files some --store STORE --crawl ID", id);
}

#[test]
fn simulate_takes_all_its_options() {
    let dir = tempfile::tempdir().unwrap();
    let line = "simulate --seed 3 --hosts 12 --pages 60 --addresses 2 --latency 1ms --page-bytes 2000 --links 5 \
                --cross-links 0.3 --redirects 0.1 --not-found 0.1 --server-errors 0.1 --flaky 0.1 --robots 0.5 \
                --crawl-delay 0.1 --robots-errors 0.1 --sitemaps 0.2 --robots-moved 0.1 --robots-forbidden 0.1 \
                --robots-broken 0.1 --giant 0.2 --overloaded 0.1 --slow 0.1 --dead 0.1 --silent --delay 1ms \
                --delay-factor 0.5 --delay-per-ip 1ms --unresolvable 0.1 --gzip 0.5 --traps 2 --trap-kinds \
                maze,calendar --drip 1s --domains 6 --in-degree 2.5 --farms 9 --farm-kinds dense,ring --farm-size 3 \
                --farm-networks 2 --out web --for 0";
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(line.split_whitespace()).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["seeds.txt", "crawler.toml", "expected.txt", "requests.jsonl"] {
        assert!(dir.path().join("web").join(name).exists(), "{name}");
    }
}

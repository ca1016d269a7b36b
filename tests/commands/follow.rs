//! `crawler follow`: fields, bodies, programs and web servers that get lines; and the examples of the library, on the
//! same crawl.

#[path = "../../examples/feed.rs"]
#[expect(dead_code, reason = "its main function is the example's")]
mod feed;
#[path = "../../examples/pages.rs"]
#[expect(dead_code, reason = "its main function is the example's")]
mod pages;
#[path = "../../examples/versions.rs"]
#[expect(dead_code, reason = "its main function is the example's")]
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::posted::{field, server};
use super::site::Crawl;
use crawler::simweb::{SimOptions, SimWeb};

const SECRET: &str = "a secret of some length";

struct Crawled {
    _web: SimWeb,
    crawl: Crawl,
    seed: String,
}

fn crawled() -> Crawled {
    let options = SimOptions { hosts: 4, pages: 60, latency: Duration::ZERO, ..SimOptions::default() };
    let web = SimWeb::start(options).unwrap();
    let crawl = Crawl::new(&web.seeds().join("\n"), &web.config_toml());
    crawl.run(&[]).expect(0, &["finish"]);
    let secret = crawl.path("secret");
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let seed = web.seeds()[0].clone();
    Crawled { _web: web, crawl, seed }
}

impl Crawled {
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(words).current_dir(self.crawl.dir.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// The lines that `follow` prints with these options.
    #[track_caller]
    fn lines(&self, options: &[&str]) -> Vec<Value> {
        let output = self.run(&[&["follow", "--once"], options].concat());
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
        json(&output.stdout)
    }

    /// The URLs in the archive, in its order.
    fn stored(&self) -> Vec<String> {
        let output = self.run(&["list", "--all"]);
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

fn json(text: &[u8]) -> Vec<Value> {
    String::from_utf8(text.to_vec()).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn urls(lines: &[Value]) -> Vec<String> {
    lines.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_line_has_the_fields_that_are_wanted_and_they_are_what_other_commands_say() {
    let crawled = crawled();
    let lines = crawled.lines(&[]);
    assert_eq!(urls(&lines), crawled.stored());
    let text = String::from_utf8(crawled.run(&["follow", "--once", "crawl", "--fields", "url,status"]).stdout).unwrap();
    assert!(text.starts_with("{\"url\":\"http") && text.lines().all(|line| line.ends_with('}')), "{text}");

    let listed = json(&crawled.run(&["list", "--all", "--json"]).stdout);
    for (line, listed) in lines.iter().zip(&listed) {
        for field in ["url", "status", "mime", "bytes", "time", "digest", "revisit"] {
            assert_eq!(line[field], listed[field], "{line}");
        }
    }
    let referrers = crawled.run(&["list", "--all", "--columns", "referrer,url"]).stdout;
    let referrers = String::from_utf8(referrers).unwrap();
    for (line, row) in lines.iter().zip(referrers.lines()) {
        let via = line["via"].as_str().unwrap_or("");
        assert_eq!(row.split('\t').next().unwrap().trim_matches('-'), via, "{row}");
    }
    let seed = &lines.iter().find(|line| line["url"] == crawled.seed.as_str()).unwrap();
    assert_eq!((seed["depth"].as_u64(), seed["hops"].as_str()), (Some(0), Some("")));

    let all = crawled.lines(&["--fields", "all,title,links,text,body,warc", "--status", "200", "--mime", "text/html"]);
    let pages = json(&crawled.run(&["extract", "--text", "--jsonl"]).stdout);
    let pages: BTreeMap<_, _> = pages.iter().map(|page| (page["url"].as_str().unwrap(), page)).collect();
    let links = json(&crawled.run(&["export", "links", "--jsonl"]).stdout);
    assert!(!all.is_empty());
    for line in &all {
        let url = line["url"].as_str().unwrap();
        assert_eq!([&line["title"], &line["text"]], [&pages[url]["title"], &pages[url]["text"]]);
        let named: BTreeSet<_> = line["links"].as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect();
        let exported: BTreeSet<_> =
            links.iter().filter(|link| link["source"] == url).map(|link| link["target"].as_str().unwrap()).collect();
        assert_eq!(named, exported, "{url}");
        let body = crawled.run(&["get", url]).stdout;
        assert_eq!(BASE64.decode(line["body"].as_str().unwrap().as_bytes()).unwrap(), body);
        let file = crawled.crawl.path("crawl").join(line["warc"]["file"].as_str().unwrap());
        assert!(fs::metadata(file).unwrap().len() > line["warc"]["offset"].as_u64().unwrap());
        assert!(line["content_type"].as_str().unwrap().starts_with("text/html") && line["duration_ms"].is_u64());
        assert!(line["headers"].as_array().unwrap().iter().any(|pair| pair[0] == "content-type"), "{line}");
    }
    let redirects = crawled.lines(&["--fields", "url,redirect", "--status", "3xx"]);
    for line in &redirects {
        let target = links.iter().find(|link| link["source"] == line["url"] && link["kind"] == "redirect").unwrap();
        assert_eq!(line["redirect"], target["target"]);
    }
}

#[test]
fn bodies_lie_in_files_by_their_content() {
    let crawled = crawled();
    let lines = crawled.lines(&["--bodies", "bodies", "--fields", "url,body", "--batch", "3"]);
    for line in &lines {
        let path = Path::new(line["body_path"].as_str().unwrap());
        let body = fs::read(path).unwrap();
        assert_eq!(BASE64.encode(&body), line["body"].as_str().unwrap());
        assert_eq!(path.file_name().unwrap().to_str().unwrap(), HEXLOWER.encode(&Sha256::digest(&body)));
    }
    assert_eq!(crawled.run(&["follow", "--once", "--fields", "body_path"]).status.code(), Some(2));
}

#[test]
fn one_begins_where_it_is_said_or_where_the_cursor_is() {
    let crawled = crawled();
    let all = crawled.lines(&[]);
    let tenth = all[9]["place"].as_str().unwrap();
    assert_eq!(crawled.lines(&["--from", tenth]), all[10..]);
    assert_eq!(crawled.lines(&["--from", "end", "--cursor", "c"]), Vec::<Value>::new());
    assert_eq!(crawled.lines(&["--from", "start", "--cursor", "c"]), Vec::<Value>::new(), "the cursor counts");
    let kept: Value = serde_json::from_str(&fs::read_to_string(crawled.crawl.path("c")).unwrap()).unwrap();
    assert_eq!(kept["shards"][0]["url"], all.last().unwrap()["url"]);
    // a filter does not keep the cursor back
    assert_eq!(crawled.lines(&["--cursor", "d", "--status", "999"]), Vec::<Value>::new());
    assert_eq!(crawled.lines(&["--cursor", "d"]), Vec::<Value>::new());
    for (words, said) in [
        (&["--from", "7-16"][..], "no shard 7"),
        (&["--from", "0-17"], "no page begins there"),
        (&["--from", "later"], "write start, end or places"),
        (&["--cursor", "seeds.txt"], "is no cursor"),
    ] {
        let output = crawled.run(&[&["follow", "--once"], words].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn a_program_gets_every_batch_until_it_has_dealt_with_it() {
    let crawled = crawled();
    let all = crawled.lines(&["--fields", "url"]);
    // it fails once, with the second batch; what was given is what a queue would have
    let script =
        "cat > given; if [ $(wc -l < taken) -eq 20 ] && mkdir failed 2>/dev/null; then exit 1; fi; cat given >> taken";
    fs::write(crawled.crawl.path("taken"), "").unwrap();
    let output =
        crawled.run(&["follow", "--once", "--cursor", "c", "--fields", "url", "--batch", "20", "--exec", script]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("not delivered, tried again"), "{said}");
    assert_eq!(json(&fs::read(crawled.crawl.path("taken")).unwrap()), all);
    assert!(crawled.crawl.path("failed").is_dir());

    // one that gives up stays before what it could not deliver
    let output = crawled.run(&["follow", "--once", "--cursor", "d", "--retries", "0", "--exec", "exit 3"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("exit status: 3"), "{said}");
    assert!(!crawled.crawl.path("d").exists());
    assert_eq!(crawled.lines(&["--cursor", "d", "--fields", "url"]), all);
}

#[test]
fn a_program_with_braces_runs_once_for_each_page() {
    let crawled = crawled();
    let all = crawled.lines(&["--fields", "url"]);
    fs::write(crawled.crawl.path("one"), "#!/bin/sh\nprintf '%s %s\\n' \"$1\" \"$(cat)\" >> each\n").unwrap();
    fs::set_permissions(crawled.crawl.path("one"), Permissions::from_mode(0o700)).unwrap();
    crawled.lines(&["--fields", "url", "--exec", "./one {}", "--cursor", "c"]);
    let text = fs::read_to_string(crawled.crawl.path("each")).unwrap();
    let (given, lines): (Vec<_>, Vec<_>) = text.lines().map(|line| line.split_once(' ').unwrap()).unzip();
    assert_eq!(given, urls(&all));
    assert_eq!(json(lines.join("\n").as_bytes()), all);
}

#[test]
fn a_web_server_gets_signed_batches_until_it_takes_them() {
    let crawled = crawled();
    let all = crawled.lines(&["--fields", "url"]);
    let answers = &["503 Busy\r\nRetry-After: 1", "302 Found\r\nLocation: /other", "200 OK", "204 No Content"];
    let (url, server) = server(answers);
    let half = all.len().div_ceil(2).to_string();
    let words = ["follow", "--once", "--fields", "url", "--cursor", "c", "--batch", &half, "--webhook", &url];
    let output = crawled.run(&[&words[..], &["--secret-file", "secret"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("answers 503") && said.contains("answers 302"), "{said}");
    let got = server.join().unwrap();
    let ids: Vec<_> = got.iter().map(|(head, _)| field(head, "webhook-id")).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    assert_eq!(json(&[got[2].1.clone(), got[3].1.clone()].concat()), all);
    assert_eq!(got[0].1, got[2].1);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
    for (head, body) in &got {
        assert!(head.starts_with("post /posted http/1.1") && field(head, "content-type") == "application/x-ndjson");
        let before = format!("{}.{}.", field(head, "webhook-id"), field(head, "webhook-timestamp"));
        let signed = [before.as_bytes(), body];
        let tag = BASE64.encode(ring::hmac::sign(&key, &signed.concat()).as_ref());
        assert_eq!(field(head, "webhook-signature"), format!("v1,{tag}").to_ascii_lowercase());
    }
    assert!(!said.contains(SECRET) && !fs::read_to_string(crawled.crawl.path("c")).unwrap().contains(SECRET));
    let output = crawled.run(&["follow", "--webhook", &url]);
    assert_eq!(output.status.code(), Some(2), "a batch is always signed");
}

#[test]
fn the_examples_of_the_library_do_what_they_say() {
    let crawled = crawled();
    let dir = crawled.crawl.path("crawl");
    let (dir, cursor) = (dir.to_str().unwrap(), crawled.crawl.path("feed.cursor"));
    let mut out = Vec::new();
    pages::print(dir, &mut out).unwrap();
    let html = crawled.run(&["list", "--all", "--mime", "text/html"]).stdout;
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), String::from_utf8(html).unwrap().lines().count());
    assert!(text.contains(&format!("{} from a seed", crawled.seed)), "{text}");

    let mut out = Vec::new();
    versions::print(dir, &crawled.seed, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains(" 200 "));

    let mut out = Vec::new();
    feed::print(dir, cursor.to_str().unwrap(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let fed: Vec<_> = text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect();
    let robots = crawled.run(&["list", "--all", "--robots"]).stdout;
    assert_eq!(fed, String::from_utf8(robots).unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    let mut out = Vec::new();
    feed::print(dir, cursor.to_str().unwrap(), &mut out).unwrap();
    assert!(out.is_empty());
}

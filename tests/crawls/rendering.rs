//! Crawls whose pages are rendered by the Chromium of the system: applications of one page, beside static ones.

mod application;
mod rules;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::hosts::{Answer, Hosts};
use crate::site::{Crawl, Ended, PATIENCE, RUSH, kill, wait};
use crate::tools::{Tool, has};
use application::{Application, Kind};

/// A crawl of an application of this many routes and static pages, with `render` as its section.
fn begun((routes, pages): (usize, usize), render: &str, more: &str) -> (Application, Crawl) {
    let application = Application::start(routes, pages);
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\ndelay_min = \"0s\"\ndelay_factor = 0.0\ndelay_per_ip = \
         \"0s\"\n[crawl]\ncheckpoint_interval = \"1s\"\ndisk_floor = \"0\"\n[render]\ndelay = \"0s\"\n{render}\n{more}"
    );
    let crawl = Crawl::new(&application.url("/"), &config);
    (application, crawl)
}

/// The crawler with a directory for temporary files of its own, by which its browsers are known.
fn start(crawl: &Crawl) -> Child {
    let temporary = crawl.path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]).env("TMPDIR", temporary);
    command.current_dir(crawl.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn run(crawl: &Crawl) -> Ended {
    wait(start(crawl))
}

/// Returns what a subcommand prints about the crawl.
fn output(crawl: &Crawl, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(arguments).arg("--dir").arg(crawl.path("crawl")).output().unwrap();
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}{told}");
    said.into_owned()
}

/// Returns how many times each URL is in the archive.
fn versions(crawl: &Crawl) -> BTreeMap<String, usize> {
    let mut versions = BTreeMap::new();
    for line in output(crawl, &["list", "--all", "--json"]).lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        *versions.entry(entry["url"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    versions
}

/// Returns what the crawl has counted of renderings.
fn figures(crawl: &Crawl) -> serde_json::Value {
    let status = std::fs::read(crawl.path("crawl/status.json")).unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    status["gauges"]["rendering"].clone()
}

/// Processes of browsers that this crawl has started: their numbers and command lines.
fn browsers(crawl: &Crawl) -> Vec<(i32, String)> {
    let temporary = crawl.path("tmp");
    let temporary = temporary.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(temporary) && !command.contains("crawler --seeds") {
            let number = entry.file_name().to_string_lossy().parse().unwrap_or(0);
            found.push((number, command));
        }
    }
    found
}

fn wait_for_no_browser(crawl: &Crawl) {
    let begun = std::time::Instant::now();
    while !browsers(crawl).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "browsers are left: {:#?}", browsers(crawl));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The archive has every route once, with what its rendering has made of it.
#[track_caller]
fn assert_whole(application: &Application, crawl: &Crawl) {
    let versions = versions(crawl);
    let missing: Vec<String> = application.routes().filter(|url| !versions.contains_key(url)).collect();
    assert!(missing.is_empty(), "missing {missing:#?}");
    let twice: Vec<_> = application.routes().filter(|url| versions[url] > 1).collect();
    assert!(twice.is_empty(), "stored twice {twice:#?}");
    output(crawl, &["verify"]);
}

#[test]
fn an_application_of_one_page_is_crawled_completely_and_its_parts_are_fetched_once() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((40, 0), "mode = \"always\"", "");
    let ended = run(&crawl);
    ended.expect(0, &["finish reason            complete"]);
    assert_whole(&application, &crawl);
    let url = application.url("/item/17");
    let rendered = output(&crawl, &["get", &url, "--rendered"]);
    assert!(rendered.contains("<h1>Item 17</h1>") && rendered.contains("href=\"/item/35\""), "{rendered}");
    let served = output(&crawl, &["get", &url]);
    assert!(!served.contains("Item 17") && served.contains("app.js"), "{served}");
    assert!(output(&crawl, &["extract", "--select", "h1", "--text"]).contains("Item 17"));
    let warc = output(&crawl, &["get", &url, "--warc"]);
    assert!(warc.contains("WARC-Type: conversion") && warc.contains("rendering: rendered:always:"), "{warc}");
    assert_eq!((application.count("/app.js"), application.count("/api/17.json")), (1, 1), "{}", ended.said);
    assert_eq!(figures(&crawl)["failed"], 0, "{}", figures(&crawl));
    // what pages ask for is no page of the crawl, and is in the archive
    assert!(versions(&crawl).contains_key(&application.url("/api/17.json")));
    // what robots.txt forbids is not asked for, and nothing that is not a GET
    assert_eq!((application.count("/secret.json"), application.count("/post")), (0, 0));
    // another origin gave no leave for a field, since it was not asked for it, and its answer is there
    assert!(rendered.contains("worth its price"), "{rendered}");
    assert!(versions(&crawl).contains_key(&application.other_url("/opinion.json")));
    assert_eq!(application.count("OPTIONS"), 0);
    let log = std::fs::read_to_string(crawl.path("crawl/logs/crawl.log")).unwrap();
    assert!(log.contains("forRendering") && log.contains("rendered:always:"), "{log}");
    wait_for_no_browser(&crawl);
}

#[test]
fn texts_and_findings_are_those_of_pages_as_a_browser_left_them() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((6, 0), "mode = \"always\"", "");
    run(&crawl).expect(0, &["finish reason            complete"]);
    let (wet, wat) = (crawl.path("crawl.wet.gz"), crawl.path("crawl.wat.gz"));
    output(&crawl, &["export", "wet", "--output", wet.to_str().unwrap()]);
    output(&crawl, &["export", "wat", "--output", wat.to_str().unwrap()]);
    let text = unzipped(&wet);
    assert!(text.contains("Item 5\nThis is what there is to say of item 5.") && !text.contains("Loading"), "{text}");
    let of_records: Vec<serde_json::Value> =
        unzipped(&wat).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of_conversion =
        |line: &&serde_json::Value| line["Envelope"]["WARC-Header-Metadata"]["WARC-Type"] == "conversion";
    let conversions: Vec<_> = of_records.iter().filter(of_conversion).collect();
    assert_eq!(conversions.len(), 6);
    for line in conversions {
        assert_eq!(line["Envelope"]["Payload-Metadata"]["Actual-Content-Type"], "text/html; charset=utf-8", "{line}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    assert!(command.args(["audit", "crawl"]).current_dir(crawl.dir.path()).output().unwrap().status.success());
    let found = std::fs::read_to_string(crawl.path("audit/audit.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let kinds: Vec<&str> = found["findings"].as_array().unwrap().iter().filter_map(|of| of["kind"].as_str()).collect();
    for kind in ["h1-missing", "duplicate-content"] {
        assert!(!kinds.contains(&kind), "{found:#}");
    }
    assert!(kinds.contains(&"description-missing"), "{found:#}");
    assert_eq!(application.count("/api/5.json"), 1);
}

/// The text of a file of several members in gzip.
fn unzipped(path: &std::path::Path) -> String {
    let (file, mut text) = (std::fs::File::open(path).unwrap(), String::new());
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
    text
}

#[test]
fn a_crawl_that_is_killed_while_it_renders_loses_no_page_and_has_none_twice_and_leaves_no_browser() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((40, 0), "mode = \"always\"", "");
    for kills in 1..=4 {
        let child = start(&crawl);
        application.wait_for(Kind::Data, kills * 7);
        kill(child);
        wait_for_no_browser(&crawl);
    }
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert_whole(&application, &crawl);
    wait_for_no_browser(&crawl);
}

/// `RENDER_ROUTES` and `RENDER_CRASHES` say how many routes, and how often its browser is killed.
#[test]
fn browsers_that_are_killed_while_pages_are_in_them_cost_no_page() {
    if !has(Tool::Chromium) {
        return;
    }
    let number = |name: &str, usual: usize| std::env::var(name).map_or(usual, |number| number.parse().unwrap());
    let (routes, crashes) = (number("RENDER_ROUTES", 30), number("RENDER_CRASHES", 3));
    let (application, crawl) = begun((routes, 0), "mode = \"always\"", "");
    let child = start(&crawl);
    for crash in 1..=crashes {
        application.wait_for(Kind::Data, crash * routes / (crashes + 2));
        for (number, _) in browsers(&crawl) {
            if let Some(pid) = rustix::process::Pid::from_raw(number) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
    wait(child).expect(0, &["finish reason            complete"]);
    println!("{}", figures(&crawl));
    assert_whole(&application, &crawl);
    assert_eq!(figures(&crawl)["failed"], 0, "{}", figures(&crawl));
    wait_for_no_browser(&crawl);
}

#[test]
fn a_browser_that_ends_while_it_starts_costs_no_page() {
    if !has(Tool::Chromium) {
        return;
    }
    let browser = crawler::browser::find(None).unwrap();
    // the first that is to render ends at once; who runs it may be another user than who made the directory
    let dir = tempfile::tempdir().unwrap();
    let (program, once) = (dir.path().join("browser"), dir.path().join("once"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) rmdir '{}' 2>/dev/null && exit 1 ;; esac\nexec '{}' \"$@\"\n",
        once.join("still").display(),
        browser.path.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::create_dir_all(once.join("still")).unwrap();
    for (path, mode) in [(dir.path(), 0o755), (&program, 0o755), (&once, 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (application, crawl) = begun((3, 0), &format!("mode = \"always\"\nprogram = '{}'", program.display()), "");
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert!(!once.join("still").exists(), "no browser was started");
    assert_whole(&application, &crawl);
    assert_eq!((figures(&crawl)["pages"].as_u64(), figures(&crawl)["failed"].as_u64()), (Some(3), Some(0)));
}

#[test]
fn without_a_browser_or_with_off_pages_come_as_they_are_served() {
    let (application, crawl) = begun((10, 0), "mode = \"off\"", "");
    run(&crawl).expect(0, &["needs scripts"]);
    assert_eq!(application.count("/item/1"), 0);
    assert!(figures(&crawl).is_null());
}

#[test]
fn a_page_that_was_rendered_needs_no_scripts_however_little_it_shows() {
    if !has(Tool::Chromium) {
        return;
    }
    let host = Hosts::start(1, |asked| match asked.path.as_str() {
        "/" => Answer::page("<div id=r></div><script>document.getElementById('r').textContent = 'hello'</script>"),
        _ => Answer::status(404),
    });
    for (mode, is_told) in [("always", false), ("off", true)] {
        let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}[render]\nmode = \"{mode}\"\n");
        let crawl = Crawl::new(&host.url(1, "/"), &config);
        let ended = run(&crawl);
        ended.expect(0, &["finish reason            complete"]);
        assert_eq!(ended.said.contains("needs scripts"), is_told, "{mode}: {}", ended.said);
    }
}

#[test]
fn needed_renders_the_application_and_not_the_static_pages_beside_it() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((20, 60), "mode = \"needed\"", "");
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert_whole(&application, &crawl);
    let stored = versions(&crawl);
    assert!((0..60).all(|page| stored.contains_key(&application.url(&format!("/static/{page}")))));
    let rendered = figures(&crawl)["pages"].as_u64().unwrap();
    // every route, and of the static pages those by which their pattern was judged
    assert!((20..=30).contains(&rendered), "{}", figures(&crawl));
}

/// `localhost` and `127.0.0.1` are two sites on one server.
#[test]
fn what_is_clicked_is_said_for_each_site() {
    if !has(Tool::Chromium) {
        return;
    }
    let more = "[[site]]\nhost = \"127.0.0.1\"\nclick = [\".more\"]\nscroll = 2\n[dns]\n\
                hosts = { localhost = \"127.0.0.1\" }\n";
    let (application, crawl) = begun((4, 0), "mode = \"always\"", more);
    let seeds = application.url("/growing");
    let other = seeds.replace("127.0.0.1", "localhost");
    std::fs::write(crawl.path("seeds.txt"), format!("{seeds}\n{other}\n")).unwrap();
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert!(output(&crawl, &["get", &seeds, "--rendered"]).contains("/item/3"));
    assert!(!output(&crawl, &["get", &other, "--rendered"]).contains("/item/1"));
    assert!(versions(&crawl).contains_key(&application.url("/item/3")));
}

#[test]
fn a_page_that_is_never_quiet_is_taken_at_its_deadline_and_the_log_says_so() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((1, 0), "mode = \"always\"\ndeadline = \"2s\"", "");
    let url = application.url("/ticking");
    std::fs::write(crawl.path("seeds.txt"), format!("{url}\n")).unwrap();
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert!(output(&crawl, &["get", &url, "--rendered"]).contains("<title>Clock"));
    let log = std::fs::read_to_string(crawl.path("crawl/logs/crawl.log")).unwrap();
    assert!(log.contains("rendered:always:") && log.contains("ms:links+0:deadline"), "{log}");
    let told = output(&crawl, &["explain", &url]);
    assert!(told.contains(", rendered"), "{told}");
}

#[test]
fn a_page_reads_nothing_of_another_site_that_the_crawl_is_logged_in_to() {
    if !has(Tool::Chromium) {
        return;
    }
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "none of theirs").unwrap();
    let known = format!("auth = {{ bearer = \"${{file:{}}}\" }}\n", token.path().display());
    for (auth, said, asked) in [("", "{", 1), (known.as_str(), "refused", 0)] {
        let (application, crawl) = begun((1, 0), "mode = \"always\"\n", "");
        // what is secret is sent to origins that a table names, with their ports
        let (url, there) = (application.url("/peeking").replace("127.0.0.1", "localhost"), application.url("/"));
        let config = std::fs::read_to_string(crawl.path("crawler.toml")).unwrap();
        let more = format!("[[site]]\nprefix = \"{there}\"\npriority = \"low\"\n{auth}");
        let names = "[dns]\nhosts = { localhost = \"127.0.0.1\" }\n";
        std::fs::write(crawl.path("crawler.toml"), format!("{config}\n{more}{names}")).unwrap();
        std::fs::write(crawl.path("seeds.txt"), format!("{url}\n")).unwrap();
        run(&crawl).expect(0, &["finish reason            complete"]);
        let rendered = output(&crawl, &["get", &url, "--rendered"]);
        assert!(rendered.contains(&format!("<p id=\"said\">{said}")), "{rendered}");
        let log = std::fs::read_to_string(crawl.path("crawl/logs/crawl.log")).unwrap();
        assert_eq!(application.count("/api/0.json"), asked, "{log}");
    }
}

#[test]
fn a_site_can_be_rendered_alone() {
    if !has(Tool::Chromium) {
        return;
    }
    let (application, crawl) = begun((8, 0), "", "[[site]]\nhost = \"127.0.0.1\"\nrender = \"always\"\n");
    run(&crawl).expect(0, &["finish reason            complete"]);
    assert_whole(&application, &crawl);
}

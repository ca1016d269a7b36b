//! URLs on the command line, by the real binary: a crawl of them is that of a seeds file with the same lines, what is
//! no URL is refused with a hint, the line that resumes works as it is printed, and scripts hear what they have to.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::site::{RUSH, Site};
use crawler::simweb::SimOptions;
use serde_json::Value;

fn site() -> Site {
    let latency = crate::site::ms(0);
    Site::new(SimOptions { seed: 9, hosts: 4, pages: 60, latency, ..SimOptions::default() }.smooth(), RUSH)
}

fn crawler(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(dir).env_remove("RUST_LOG").stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what a run prints that must succeed, on standard output and on standard error.
#[track_caller]
fn done(dir: &Path, args: &[&str]) -> (String, String) {
    let output = crawler(dir, args);
    let (told, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    (told, said)
}

fn listed(dir: &Path, crawl: &str) -> BTreeSet<String> {
    done(dir, &["list", "--dir", crawl]).0.lines().map(str::to_owned).collect()
}

#[test]
fn urls_on_the_command_line_are_crawled_as_those_of_a_file_and_crawls_lie_side_by_side() {
    let site = site();
    let dir = site.crawl.dir.path();
    let seeds = site.web.seeds();
    let urls: Vec<&str> = seeds.iter().map(String::as_str).collect();
    done(dir, &["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "of-file"]);
    let (told, said) = done(dir, &[&urls[..], &["--config", "crawler.toml", "--dir", "of-urls"]].concat());
    assert!(told.is_empty() && !said.contains(" WARN "), "{told}{said}");
    for next in ["crawler list --dir of-urls", "crawler extract --dir of-urls > titles.tsv"] {
        assert!(said.contains(next), "{next} is not in {said}");
    }
    let (head, rest) = urls.split_at(1);
    fs::write(dir.join("rest.txt"), rest.join("\n")).unwrap();
    let both = [head, &["--seeds", "rest.txt", "--config", "crawler.toml", "--dir", "of-both"]].concat();
    done(dir, &both);
    done(dir, &[&["crawl"], &urls[..], &["--config", "crawler.toml", "--dir", "of-alias"]].concat());
    let expected = listed(dir, "of-file");
    assert!(expected.len() > 20, "{expected:?}");
    for crawl in ["of-urls", "of-both", "of-alias"] {
        assert_eq!(listed(dir, crawl), expected, "{crawl}");
    }
}

#[test]
fn the_line_that_resumes_works_as_it_is_printed() {
    let site = site();
    let dir = site.crawl.dir.path();
    let url = format!("{}?a=1&b=it's", site.web.seeds()[0]);
    let (_, said) = done(dir, &[&url, &site.web.seeds()[0], "--config", "crawler.toml", "--max-pages", "3"]);
    let line = said.lines().find_map(|line| line.strip_prefix("resume with")).unwrap().trim();
    assert!(line.contains(" --dir ./crawl") && !line.contains("--seeds"), "{line}");
    let binary = Path::new(env!("CARGO_BIN_EXE_crawler")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", line]).current_dir(dir).env("PATH", path).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("resuming the crawl in ./crawl (last run: page limit"), "{said}");
    assert!(said.contains("complete: no URL is left") && !said.contains(" WARN "), "{said}");
    // the seeds are the crawl's own by now
    let (seeds, _) = done(dir, &["report", "seeds"]);
    assert!(seeds.contains("?a=1&b=it"), "{seeds}");
}

#[test]
fn what_is_no_url_is_refused_with_a_hint_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["staus"][..], "did you mean crawler status?"),
        (&["fetch", "https://example.com/"], "did you mean crawler crawl?"),
        (&["https://example.com/", "lst"], "did you mean crawler list?"),
        (&["--dir", "x", "list"], "is a command, which comes first: crawler list --dir"),
        (&["--", "list"], "is a command, which comes first"),
        (&["intranet"], "To crawl a host of this name, write http://intranet/"),
        (&["crawl", "intranet"], "a URL or host has a dot, a colon or a slash"),
        (&["ftp://example.com/"], "cannot be crawled"),
        (&["https://example.com/", "--json", "no/such/place.json"], "write a file in a directory that exists"),
        (&[], "crawler https://example.com/ --max-pages 100"),
        (&["crawl"], "nothing to crawl: name a URL or host"),
    ] {
        let output = crawler(dir.path(), args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains(words), "{args:?}: {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn cron_and_ci_hear_nothing_of_what_goes_well_and_read_the_rest_from_a_file() {
    let site = site();
    let dir = site.crawl.dir.path();
    let run = |more: &[&str]| {
        let line = ["--seeds", "seeds.txt", "--config", "crawler.toml", "--quiet", "--json", "out.json"];
        let output = crawler(dir, &[&line[..], more].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        let object = fs::read(dir.join("out.json")).map(|json| serde_json::from_slice::<Value>(&json).unwrap());
        (output.status.code(), said, object.unwrap())
    };
    let (code, said, object) = run(&["--max-pages", "3"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!((&object["finish"], &object["pages"]), (&"page-limit".into(), &3.into()));
    assert_eq!(object["resume_with"], "crawler --seeds seeds.txt --dir ./crawl --config crawler.toml");
    // a job that resumes is as silent
    let (code, said, object) = run(&[]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!((&object["finish"], &object["resume_with"]), (&"complete".into(), &Value::Null));
    let stored = ["pages", "requisites"].map(|name| object[name].as_u64().unwrap());
    assert_eq!(stored.iter().sum::<u64>(), listed(dir, "crawl").len() as u64);
    let answers: u64 = object["statuses"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert!(answers >= object["pages"].as_u64().unwrap(), "{object}");
    // and so is one that finds nothing new
    let (code, said, _) = run(&[]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    // what goes wrong is reported, and the file tells it too
    let line = ["http://no-such-host.test/", "--config", "crawler.toml", "--dir", "other", "-q", "--json", "-"];
    let output = crawler(dir, &line);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &object["pages"]), (Some(5), &0.into()));
    assert!(text(&output.stderr).contains("nothing could be fetched"), "{}", text(&output.stderr));
}

#[test]
fn the_alias_takes_every_option_of_a_crawl() {
    let site = site();
    let dir = site.crawl.dir.path();
    let line = "crawl --seeds seeds.txt --config crawler.toml --dir c --max-pages 5 --max-time 10m --max-depth 1 \
                --fresh --force --until-fresh --json c.json --verbose --log-format json --console 127.0.0.1:0";
    let line: Vec<&str> = line.split_whitespace().collect();
    let (told, said) = done(dir, &line);
    assert!(told.is_empty() && said.lines().all(|line| line.starts_with('{')), "{said}");
    let (told, said) = done(dir, &["crawl", "--seeds", "seeds.txt", "--config", "crawler.toml", "--quiet"]);
    assert_eq!((told.as_str(), said.as_str()), ("", ""));
}

#[test]
fn a_list_has_as_many_lines_and_the_columns_that_are_asked_for() {
    let site = site();
    let dir = site.crawl.dir.path();
    done(dir, &["--seeds", "seeds.txt", "--config", "crawler.toml", "-q"]);
    let (rows, _) = done(dir, &["list", "--limit", "7", "--columns", "status,referrer,url"]);
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|row| row.len() == 3 && row[0].len() == 3), "{rows:?}");
    let seeds = site.web.seeds();
    let (of_seeds, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| seeds.iter().any(|seed| seed == row[2]));
    assert!(of_seeds.iter().all(|row| row[1].is_empty()), "{rows:?}");
    let named = |row: &&Vec<&str>| row[1].starts_with("http://") || row[1].starts_with("https://");
    assert!(others.iter().all(named), "{rows:?}");
}

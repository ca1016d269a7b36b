//! Documents that are no HTML: what Markdown, JSON and plain text link to is crawled where that is asked for, and
//! Markdown is read as a page.

use std::collections::BTreeSet;
use std::process::Command;

use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, RUSH};

/// A document of a type.
pub fn document(of: &str, body: &str) -> Answer {
    Answer { body: body.to_owned(), ..Answer::status(200).with("content-type", of) }
}

fn answer(asked: &Asked) -> Answer {
    let origin = format!("http://{}", asked.field("host").unwrap());
    match &*asked.path {
        "/robots.txt" => Answer::status(404),
        "/" => Answer::page("<a href=/guide>g</a><a href=/api>a</a><a href=/notes.txt>n</a>"),
        "/guide" => document(
            "text/markdown; charset=utf-8",
            &format!(
                "# The guide\n\nRead [on](/inline), ![a](/a.png), [this][r] and <{origin}/auto>.\n\n[r]: /reference\n"
            ),
        ),
        "/api" => document(
            "application/json",
            &format!(r#"{{"items": [{{"url": "{origin}/whole"}}], "next": "/paged", "name": "/no"}}"#),
        ),
        "/notes.txt" => document("text/plain", &format!("See {origin}/noted, and /no.")),
        "/llms.txt" => document("text/plain", "# Shop\n\n- [Prices](/prices.md): all of them\n"),
        "/guide.md" | "/index.html.md" => document("text/markdown", "twin"),
        "/a.png" => document("image/png", "no picture"),
        _ => Answer::page("<p>leaf"),
    }
}

fn crawled(settings: &str) -> (Hosts, Crawl) {
    let hosts = Hosts::start(1, answer);
    let config =
        format!("[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nfavicon = false\n{settings}\n[politeness]\n{RUSH}");
    let crawl = Crawl::new(&format!("{}\n", hosts.url(1, "/")), &config);
    crawl.run(&[]).expect(0, &[]);
    (hosts, crawl)
}

pub fn paths(hosts: &Hosts) -> BTreeSet<String> {
    hosts.paths_of(1).into_iter().filter(|path| path != "/robots.txt").collect()
}

pub fn said(crawl: &Crawl, command: &[&str]) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = process.args(command).arg("--dir").arg(crawl.path("crawl")).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const USUAL: [&str; 8] = ["/", "/a.png", "/api", "/auto", "/guide", "/inline", "/notes.txt", "/reference"];

#[test]
fn markdown_is_read_as_a_page_and_other_documents_name_nothing_unless_they_are_asked() {
    let (hosts, crawl) = crawled("");
    assert_eq!(paths(&hosts), BTreeSet::from(USUAL.map(str::to_owned)));
    let guide = hosts.url(1, "/guide");
    let rows = said(&crawl, &["extract", "--text"]);
    let row = rows.lines().find(|line| line.contains(&guide)).unwrap_or_else(|| panic!("{rows}"));
    assert!(row.contains("The guide") && row.contains("Read on"), "{row}");
    let links = said(&crawl, &["export", "links"]);
    assert!(links.lines().any(|line| line.contains("/guide") && line.contains("/inline")), "{links}");
}

#[test]
fn json_text_and_the_files_for_language_models_name_pages_by_setting() {
    let settings = "json_links = \"urls\"\ntext_links = true\nllms_txt = true\nmarkdown_twins = true\n";
    let (hosts, _) = crawled(settings);
    let more = ["/whole", "/noted", "/llms.txt", "/prices.md", "/index.html.md"];
    let found = paths(&hosts);
    let without_twins: BTreeSet<String> =
        found.iter().filter(|path| !path.ends_with(".md") || more.contains(&&***path)).cloned().collect();
    assert_eq!(without_twins, BTreeSet::from_iter(USUAL.into_iter().chain(more).map(str::to_owned)));
    let (hosts, _) = crawled("json_links = \"paths\"\n");
    assert!(paths(&hosts).contains("/paged") && !paths(&hosts).contains("/no"));
}

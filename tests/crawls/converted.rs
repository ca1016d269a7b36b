//! PDFs and the like: made into pages by processes that can do nothing else, whatever the documents and the processes
//! do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::contract::{ConversionFailure, Converter};
use crawler::documents::pool::{Pool, PoolOptions};
use crawler::web::format::Format;

use crate::documents::{document, paths, said};
use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, RUSH, kill};

/// A PDF of one page with a line of text, and a link on it.
fn pdf(text: &str, link: &str) -> String {
    let drawn = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Annots [6 0 R] /Resources << /Font \
         << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{drawn}\nendstream", drawn.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        format!("<< /Type /Annot /Subtype /Link /Rect [70 715 100 735] /A << /S /URI /URI ({link}) >> >>"),
        "<< /Title (The paper) /Author (A. Writer) /CreationDate (D:20240501120000Z) >>".to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        file.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
    }
    let table = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for place in places {
        file.push_str(&format!("{place:010} 00000 n \n"));
    }
    file.push_str(&format!(
        "trailer << /Size {} /Root 1 0 R /Info 7 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    file
}

fn answer(asked: &Asked) -> Answer {
    let origin = format!("http://{}", asked.field("host").unwrap());
    match &*asked.path {
        "/robots.txt" => Answer::status(404),
        "/" => Answer::page("<a href=/paper.pdf>p</a><a href=/lies>l</a><a href=/closed>c</a><a href=/cut.pdf>t</a>"),
        "/paper.pdf" if asked.field("if-none-match") == Some("\"1\"") => Answer::status(304).with("etag", "\"1\""),
        "/paper.pdf" => {
            let text = format!("Words of the paper, see {origin}/in-text");
            document("application/pdf", &pdf(&text, &format!("{origin}/annotated"))).with("etag", "\"1\"")
        }
        "/lies" => document("text/plain", &pdf("Sniffed words", "/of-lies")),
        "/closed" => document("application/pdf", &pdf("x", "/never")).with("x-robots-tag", "nofollow"),
        "/cut.pdf" => document("application/pdf", "%PDF-1.4\nnothing of it"),
        _ => Answer::page("<p>leaf"),
    }
}

const SETTINGS: &str = "[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nfavicon = false\n[documents]\n\
                        formats = [\"pdf\", \"office\", \"epub\"]\n";

const FOLLOWED: [&str; 8] = ["/", "/paper.pdf", "/lies", "/closed", "/cut.pdf", "/in-text", "/annotated", "/of-lies"];

#[test]
fn a_pdf_is_a_page_to_everything_that_reads_pages() {
    let hosts = Hosts::start(1, answer);
    let crawl = Crawl::new(&format!("{}\n", hosts.url(1, "/")), &format!("{SETTINGS}[politeness]\n{RUSH}"));
    crawl.run(&[]).expect(0, &[]);
    assert_eq!(paths(&hosts), BTreeSet::from(FOLLOWED.map(str::to_owned)));
    let url = hosts.url(1, "/paper.pdf");
    let of_paper = |output: &str| -> Vec<String> {
        output.lines().filter(|line| line.contains(&url)).map(str::to_owned).collect()
    };

    let rows = of_paper(&said(&crawl, &["extract", "--text", "--facts", "stated-language"]));
    assert!(rows.len() == 1 && rows[0].contains("The paper") && rows[0].contains("Words of the paper"), "{rows:?}");
    assert!(rows[0].contains("en-GB"), "{rows:?}");
    let links = of_paper(&said(&crawl, &["export", "links"]));
    assert!(links.iter().any(|line| line.contains("/annotated") && line.contains("Words")), "{links:?}");
    let lines = of_paper(&said(&crawl, &["follow", "--once", "--fields", "url,title,text,links"]));
    assert!(lines.iter().any(|line| line.contains("Words of") && line.contains("/in-text")), "{lines:?}");
    let log = fs::read_to_string(crawl.path("crawl/logs/crawl.log")).unwrap();
    assert!(of_paper(&log).iter().any(|line| line.contains("converted:pdf:")), "{log}");
    assert!(
        log.lines().any(|line| line.contains("/cut.pdf") && line.contains("conversionFailed:pdf:damaged")),
        "{log}"
    );
    let explained = said(&crawl, &["explain", &url]);
    assert!(explained.contains("with a page of it"), "{explained}");
    let stored = said(&crawl, &["get", &url]);
    assert!(stored.contains("%PDF-1.4"), "{stored}");
    said(&crawl, &["verify"]);
}

#[test]
fn a_page_of_a_document_is_read_from_the_archive_after_a_kill_and_after_a_304() {
    let hosts = Hosts::start(1, answer);
    let seeds = format!("{}\n", hosts.url(1, "/paper.pdf"));
    let crawl = Crawl::new(&seeds, &format!("{SETTINGS}[politeness]\n{RUSH}"));
    let url = hosts.url(1, "/paper.pdf");
    let running = crawl.start(&[]);
    crate::site::wait_for("the links of the paper are asked for", || hosts.paths_of(1).len() >= 4);
    kill(running);
    // no reader is there any more: what it read is in the archive
    let without = format!("{}[politeness]\n{RUSH}", SETTINGS.replace("\"pdf\", ", ""));
    fs::write(crawl.path("crawler.toml"), without).unwrap();
    crawl.run(&[]).expect(0, &[]);
    let links = said(&crawl, &["export", "links"]);
    assert!(links.lines().any(|line| line.contains(&url) && line.contains("/annotated")), "{links}");
    crawl.run(&["--force"]).expect(0, &[]);
    let list = said(&crawl, &["list", "--all", "--json"]);
    assert!(list.lines().any(|line| line.contains(&url) && line.contains("\"status\":304")), "{list}");
    let rows = said(&crawl, &["extract", "--text"]);
    assert!(rows.lines().any(|line| line.contains(&url) && line.contains("Words of the paper")), "{rows}");
}

/// A program that takes the place of a reader.
fn program(dir: &Path, name: &str, script: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn pool(program: Option<PathBuf>) -> Pool {
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_crawler").into());
    Pool::new(PoolOptions {
        program: Some(program),
        formats: Format::ALL.to_vec(),
        readers: 1,
        memory: 256 << 20,
        time: Duration::from_secs(1),
    })
}

#[test]
fn a_reader_that_hangs_lies_or_ends_is_an_outcome_and_the_next_document_gets_another() {
    let dir = tempfile::tempdir().unwrap();
    for (name, script, expected) in [
        ("hangs", "exec sleep 600", ConversionFailure::Time),
        ("lies", "printf '\\077'; exec cat >/dev/null", ConversionFailure::Crashed),
        ("ends", "exit 3", ConversionFailure::Crashed),
        ("aborts", "kill -ABRT $$", ConversionFailure::Memory),
        ("works on", "kill -XCPU $$", ConversionFailure::Time),
    ] {
        let pool = pool(Some(program(dir.path(), name, script)));
        for _ in 0..2 {
            assert_eq!(pool.convert(Format::Pdf, &[b'x'; 1 << 20]), Err(expected), "{name}");
        }
    }
    let missing = pool(Some(dir.path().join("missing")));
    assert_eq!(missing.convert(Format::Pdf, b"x"), Err(ConversionFailure::NoReader));
}

#[test]
fn one_reader_reads_many_documents() {
    let pool = pool(None);
    for number in 0..500 {
        let page = pool.convert(Format::Pdf, pdf(&format!("number {number}"), "/x").as_bytes()).unwrap();
        assert!(page.contains(&format!("</a> {number}</p>")), "{page}");
        assert_eq!(pool.convert(Format::Epub, b"PK\x03\x04").err(), Some(ConversionFailure::Damaged));
    }
}

/// A document with some of its bytes changed, cut or repeated.
fn mutated(document: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = document.to_vec();
    for _ in 0..random.usize(1..8) {
        let at = random.usize(0..bytes.len());
        match random.u8(0..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(0..8),
            2 => bytes.truncate(at + 1),
            3 => drop(bytes.drain(at..(at + random.usize(1..100)).min(bytes.len()))),
            4 => {
                let piece = bytes[at..(at + random.usize(1..100)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece.repeat(random.usize(1..20)));
            }
            _ if bytes[at].is_ascii_digit() => bytes.splice(at..=at, *b"99999999").for_each(drop),
            _ => {}
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

/// Memory of the processes that this thread has started, in KiB.
fn memory_of_children() -> u64 {
    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    let memory = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().to_owned();
        line.trim_end_matches(" kB").parse::<u64>().ok()
    };
    children.split_whitespace().filter_map(memory).sum()
}

#[test]
fn mutated_documents_are_outcomes_and_leave_nothing_behind() {
    // ten thousand were read this way when the readers were made
    let count = std::env::var("MUTATED").map_or(1_000, |count| count.parse().unwrap());
    let seed = std::env::var("FROM").map_or_else(|_| fastrand::u64(..), |from| from.parse().unwrap());
    println!("FROM={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let pool = pool(None);
    let pdf = pdf("A line of text, see https://example.com/", "https://example.com/link");
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..count {
        let outcome = pool.convert(Format::Pdf, &mutated(pdf.as_bytes(), &mut random));
        *outcomes.entry(outcome.err().map_or("read", ConversionFailure::name)).or_default() += 1;
    }
    println!("{outcomes:?}");
    assert!(outcomes["read"] > count / 10, "{outcomes:?}");
    assert!(!outcomes.contains_key("noReader"), "{outcomes:?}");
    assert!(memory_of_children() < 64 << 10, "{} KiB", memory_of_children());
    assert!(pool.convert(Format::Pdf, pdf.as_bytes()).is_ok());
}

#[test]
fn a_reader_makes_no_call_but_those_of_its_list() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let script =
        format!("exec strace -f -o {} {} \"$@\"", trace.display(), Path::new(env!("CARGO_BIN_EXE_crawler")).display());
    let script = format!("PATH={}\n{script}", std::env::var("PATH").unwrap());
    let pool = pool(Some(program(dir.path(), "traced", &script)));
    for text in ["first", "second"] {
        let page = pool.convert(Format::Pdf, pdf(text, "/x").as_bytes());
        assert!(page.is_ok_and(|page| page.contains(text)));
    }
    drop(pool);
    let trace = fs::read_to_string(trace).unwrap();
    let sandboxed: Vec<&str> = trace.lines().skip_while(|line| !line.contains("seccomp(")).skip(1).collect();
    assert!(sandboxed.iter().any(|line| line.contains("read(0")), "{trace}");
    for forbidden in ["open", "socket", "connect", "execve", "clone", "fork", "ptrace", "kill(", "unlink", " = -1 "] {
        let made = sandboxed.iter().find(|line| line.contains(forbidden));
        assert!(made.is_none(), "{made:?}");
    }
}

//! A node of OpenSearch.

use std::fs;
use std::path::Path;

use crawler_feed::feed::Document;
use crawler_sinks::sink::{Count, Limits};

use crate::contract::{delete, document, holds, limits, listed, opened, patient, refuses_one, upsert};
use crate::process::{Server, java};

/// A node; it answers nothing before its cluster has a state.
fn node(more: &'static [&'static str]) -> Option<Server> {
    let command = |port: u16, dir: &Path| {
        fs::create_dir(dir.join("config")).unwrap();
        let mut command = java("OpenSearch.java", "opensearch")?;
        command.arg(port.to_string()).arg(dir).args(more);
        Some(command)
    };
    let is_up = |port, _: &Path| {
        let text = format!("kind = 'opensearch'\nurl = 'http://127.0.0.1:{port}'\nindex = 'probe'");
        opened(&text, None).ids(None, 1).is_ok()
    };
    Server::start(command, is_up)
}

fn open(port: u16, index: &str) -> Box<dyn crawler_sinks::sink::Sink> {
    let text = format!("kind = 'opensearch'\nurl = 'http://127.0.0.1:{port}'\nindex = '{index}'");
    opened(&text, None)
}

#[test]
fn opensearch_has_what_the_changes_say() {
    let Some(node) = node(&[]) else { return };
    holds(&|| open(node.port, "pages"));
    // its mapping takes no such time, and says so for this document alone
    let bad = Document { captured: "some day".into(), ..document(9_000, 1) };
    let letter = refuses_one(open(node.port, "pages"), bad);
    let why = letter["why"].as_str().unwrap();
    assert!(why.starts_with("400 mapper_parsing_exception: ") && why.contains("some day"), "{why}");
}

#[test]
fn opensearch_that_takes_no_large_request_gets_small_ones() {
    let Some(node) = node(&["http.max_content_length", "16kb"]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let dead_letters = Some(dir.path().join("dead"));
    let mut sink = patient(open(node.port, "pages"), Limits { batch: 200, dead_letters, ..limits() });
    for number in 0..200 {
        sink.push(number, upsert(number, 1)).unwrap();
    }
    sink.push(200, delete(5)).unwrap();
    let large = Document { text: "large ".repeat(4_000), ..document(300, 1) };
    sink.push(201, crawler_feed::feed::Change::Upsert(Box::new(large))).unwrap();
    sink.flush().unwrap();
    assert_eq!(listed(sink.sink()).len(), 199);
    let count = |count| sink.counters().get(count);
    assert_eq!((count(Count::Documents), count(Count::Deletions), count(Count::DeadLetters)), (200, 1, 1));
}

//! Solr with one core.

use std::path::Path;

use crawler_feed::feed::Document;

use crate::contract::{document, holds, opened, refuses_one};
use crate::process::{Server, java};

fn open(port: u16) -> Box<dyn crawler_sinks::sink::Sink> {
    opened(&format!("kind = 'solr'\nurl = 'http://127.0.0.1:{port}/solr'\ncore = 'pages'"), None)
}

#[test]
fn solr_has_what_the_changes_say() {
    let command = |port: u16, dir: &Path| {
        let mut command = java("Solr.java", "solr")?;
        command.arg(port.to_string()).arg(dir);
        Some(command)
    };
    let Some(server) = Server::start(command, |port, _| open(port).ids(None, 1).is_ok()) else { return };
    holds(&|| open(server.port));
    let bad = Document { captured: "some day".into(), ..document(9_000, 1) };
    let letter = refuses_one(open(server.port), bad);
    assert!(letter["why"].as_str().unwrap().contains("some day"), "{letter}");
}

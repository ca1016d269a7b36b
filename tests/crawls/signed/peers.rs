//! Signatures made here, verified by other implementations: http-message-signatures of PyPI verifies all of it,
//! web-bot-auth and http-message-sig of npm the form that each of them reads. They are in `target/tools/signatures`,
//! where `tests/crawls/signed/install` puts them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::server::Server;
use super::{crawl, prints};
use crate::tools::{Tool, has};

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/signatures");
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crawls/signed");

/// Runs the verifier `script` by `program` on what is in `dir`; says how many it verified.
fn verified(program: &Path, script: &str, dir: &Path) -> Option<usize> {
    if !has(Tool::Installed { path: program, by: "tests/crawls/signed/install" }) {
        return None;
    }
    let mut command = match script.ends_with(".mjs") {
        true => Command::new("node"),
        false => Command::new(program),
    };
    let output = command.arg(format!("{HERE}/{script}")).arg(dir).env("TOOLS", TOOLS).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(said.trim().strip_prefix("verified ").and_then(|number| number.parse().ok()).unwrap())
}

#[test]
fn other_implementations_verify_the_requests_and_the_directory() {
    let server = Server::start();
    let more = "[[site]]\nhost = \"127.0.0.2\"\nsignature_agent_form = \"string\"\n";
    let crawl = crawl(&server, "", more);
    crawl.run(&[]).expect(0, &["complete"]);
    let dir = crawl.dir.path();
    // a directory with two keys, and the fields of the answer with it
    prints(dir, &["identity", "rotate"]);
    fs::write(crawl.path("response.txt"), prints(dir, &["identity", "response", "--agent", "https://bot.example"]))
        .unwrap();
    let asked = server.asked();
    let lines = asked.iter().map(|asked| {
        let url = format!("http://{}{}", asked.authority, asked.path);
        serde_json::json!({ "method": asked.method, "url": url, "fields": asked.fields }).to_string() + "\n"
    });
    fs::write(crawl.path("requests.jsonl"), lines.collect::<String>()).unwrap();
    let of_host = |host: u8| asked.iter().filter(|asked| asked.host == host).count();
    assert!(of_host(1) >= 3 && of_host(2) >= 3, "{asked:?}");
    let python = Path::new(TOOLS).join("bin/python3");
    if let Some(number) = verified(&python, "verify.py", dir) {
        assert_eq!(number, asked.len() + 2, "each request, and the directory by both keys");
    }
    let node = Path::new(TOOLS).join("node_modules/web-bot-auth");
    if let Some(number) = verified(&node, "verify.mjs", dir) {
        assert_eq!(number, asked.len(), "strings by one package, dictionaries by the other");
    }
}

//! A server of PostgreSQL with its own cluster of databases, run by its own user where the tests are root's.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crawler_feed::feed::{Change, Document};
use crawler_sinks::sink::{Batch, Failure};
use rcgen::{CertificateParams, KeyPair};

use crate::contract::{document, holds, opened, refuses_one};
use crate::process::Server;
use crate::tools::skip;

const PASSWORD: &str = "sesame";

/// A program of PostgreSQL; Debian has them on no path.
fn program(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin").join(name)).find(|path| path.exists());
    if found.is_none() {
        skip("PostgreSQL is not installed");
    }
    found
}

/// A command as the user `postgres`, if this is root: the server refuses to be root's.
fn as_user(program: &Path) -> Command {
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

fn start() -> Option<Server> {
    start_with(|_| Vec::new())
}

/// The same with more options, which may have files in its directory of data.
fn start_with(options: impl FnOnce(&Path) -> Vec<String>) -> Option<Server> {
    let (initdb, server) = (program("initdb")?, program("postgres")?);
    let command = |port: u16, dir: &Path| {
        let (data, password) = (dir.join("data"), dir.join("password"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(&password, PASSWORD).unwrap();
        // its user gets at it
        Command::new("chmod").arg("755").arg(dir).status().unwrap();
        let _ = Command::new("chown").arg("postgres").args([&data, &password]).output();
        let mut make = as_user(&initdb);
        make.args(["-U", "me", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"]).arg(&data);
        let made = make.arg(format!("--pwfile={}", password.display())).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let options = options(&data);
        let mut command = as_user(&server);
        command.args(options.iter().flat_map(|option| ["-c", option]));
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-k", "", "-p", &port.to_string()]);
        Some(command)
    };
    let is_up = |port, _: &Path| TcpStream::connect(("127.0.0.1", port)).is_ok();
    let server = Server::start(command, is_up)?;
    wait_until_ready(server.port);
    Some(server)
}

/// Waits until the server answers, whatever it says: it starts up a moment after it listens.
fn wait_until_ready(port: u16) {
    let starts = |failure: &Failure| failure.to_string().contains("starting up");
    while open(port, "postgres").ids(None, 1).is_err_and(|failure| starts(&failure)) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn open(port: u16, database: &str) -> Box<dyn crawler_sinks::sink::Sink> {
    let text =
        format!("kind = 'postgres'\nurl = 'postgres://127.0.0.1:{port}/{database}'\nuser = 'me'\nsecret = '${{S}}'");
    opened(&text, Some(PASSWORD))
}

#[test]
fn postgres_has_what_the_changes_say() {
    let Some(server) = start() else { return };
    holds(&|| open(server.port, "postgres"));
    let bad = Document { captured: "some day".into(), ..document(9_000, 1) };
    let letter = refuses_one(open(server.port, "postgres"), bad);
    assert!(letter["why"].as_str().unwrap().contains("invalid input syntax for type timestamp"), "{letter}");

    let mut sink = open(server.port, "postgres");
    let mut odd = Document { text: "before\0after".into(), urls: Vec::new(), ..document(1, 1) };
    odd.title = "\u{fffd}\u{10ffff}'); DROP TABLE pages; --".into();
    sink.apply(Batch { number: 1, changes: &[Change::Upsert(Box::new(odd.clone()))] }).unwrap();
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{}/postgres", server.port);
    let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
    let row =
        client.query_one("SELECT title, text, urls, captured::text FROM pages WHERE id = $1", &[&odd.id]).unwrap();
    assert_eq!((row.get(0), row.get(1)), (odd.title, "before\u{fffd}after".to_owned()));
    assert_eq!(row.get::<_, Vec<String>>(2), Vec::<String>::new());
    assert!(row.get::<_, String>(3).starts_with("2026-11-29 08:00:00.25"));

    // a connection that the server ends is opened again; what nobody can repair by waiting is said at once
    client
        .execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()", &[])
        .unwrap();
    let again = std::iter::repeat_with(|| sink.ids(None, 1)).take(2).find_map(Result::ok);
    assert_eq!(again.unwrap().len(), 1);
    let failure = open(server.port, "none").ids(None, 1).unwrap_err();
    assert!(matches!(&failure, Failure::Broken { why } if why.contains("does not exist")), "{failure:?}");
    let text = format!(
        "kind = 'postgres'\nurl = 'postgres://127.0.0.1:{}/postgres'\nuser = 'me'\nsecret = '${{S}}'",
        server.port
    );
    let failure = opened(&text, Some("wrong")).ids(None, 1).unwrap_err();
    assert!(matches!(&failure, Failure::Broken { why } if !why.contains("wrong")), "{failure:?}");
}

#[test]
fn postgres_is_reached_by_tls_whose_certificate_is_checked() {
    let key = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let certificate = signed.self_signed(&key).unwrap().pem();
    let pems = [certificate.clone(), key.serialize_pem()];
    let with_tls = |data: &Path| {
        for (name, pem) in ["server.crt", "server.key"].iter().zip(&pems) {
            std::fs::write(data.join(name), pem).unwrap();
            Command::new("chmod").arg("600").arg(data.join(name)).status().unwrap();
            let _ = Command::new("chown").arg("postgres").arg(data.join(name)).output();
        }
        std::fs::write(data.join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n").unwrap();
        vec!["ssl=on".to_owned()]
    };
    let Some(server) = start_with(with_tls) else { return };
    let (ca, other) = (server.dir.path().join("ca.pem"), server.dir.path().join("other.pem"));
    std::fs::write(&ca, certificate).unwrap();
    let unknown = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(&other, unknown.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()).unwrap();
    let open = |more: &str| {
        let url = format!("postgres://127.0.0.1:{}/postgres", server.port);
        let text = format!("kind = 'postgres'\nurl = '{url}'\nuser = 'me'\nsecret = '${{S}}'\n{more}");
        opened(&text, Some(PASSWORD))
    };
    holds(&|| open(&format!("ca_file = '{}'", ca.display())));
    let failure = open(&format!("ca_file = '{}'", other.display())).ids(None, 1).unwrap_err();
    assert!(failure.to_string().contains("certificate"), "{failure:?}");
    // the server takes no connection without TLS
    let failure = open("").ids(None, 1).unwrap_err();
    assert!(matches!(&failure, Failure::Broken { why } if why.contains("no encryption")), "{failure:?}");
}

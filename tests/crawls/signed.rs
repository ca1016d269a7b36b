//! Signed requests: a server checks the signature of each, by the rules of RFC 9421 written down here once more; other
//! implementations do so too. The private key is in no file and no message of a crawl.

mod peers;
pub mod server;
pub mod verify;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64;

use crate::site::{Crawl, RUSH, wait};
use server::{Asked, Server};
use verify::{Keys, Signature};

/// Runs a subcommand where the crawl is.
fn crawler(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(dir).output().unwrap()
}

/// Returns what a subcommand that succeeds prints.
fn prints(dir: &Path, args: &[&str]) -> String {
    let output = crawler(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A crawl of the server with its own key; `more` is behind the settings of all sites.
fn crawl(server: &Server, identity: &str, more: &str) -> Crawl {
    let config = format!(
        "[identity]\nkey_file = \"identity/key.pem\"\nsignature_agent = \"https://bot.example\"\n{identity}\
         [network]\nallow = [\"127.0.0.0/8\"]\n[container]\ncompression = \"none\"\n[politeness]\n{RUSH}{more}"
    );
    let crawl = Crawl::new(&server.seeds(), &config);
    prints(crawl.dir.path(), &["identity", "init", "--agent", "https://bot.example"]);
    crawl
}

fn keys(crawl: &Crawl) -> Keys {
    Keys::of(&fs::read_to_string(crawl.path("identity/http-message-signatures-directory")).unwrap())
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn every_request_every_hop_and_every_robots_txt_is_signed_anew() {
    let server = Server::start();
    let more = "[[site]]\nhost = \"127.0.0.2\"\nsignature_agent_form = \"string\"\n\
                [[site]]\nhost = \"127.0.0.3\"\nsign = false\n";
    let crawl = crawl(&server, "from = \"Our Bot <bot@bot.example>\"\n", more);
    let began = seconds();
    crawl.run(&[]).expect(0, &["complete"]);
    let ended = seconds();
    let (keys, asked) = (keys(&crawl), server.asked());
    let paths = |host: u8| asked.iter().filter(move |asked| asked.host == host).map(|asked| asked.path.as_str());
    // a page, a redirect to another authority, what it leads to, and a robots.txt of each
    for (host, path) in [(1, "/robots.txt"), (1, "/"), (1, "/go"), (2, "/robots.txt"), (2, "/landed?a=b"), (3, "/")] {
        assert!(paths(host).any(|there| there == path), "{host} {path}: {asked:?}");
    }
    assert!(asked.iter().all(|asked| asked.field("from") == Some("Our Bot <bot@bot.example>")));
    let mut nonces = HashSet::new();
    for asked in &asked {
        if asked.host == 3 {
            let unsigned = ["signature", "signature-input", "signature-agent"].map(|name| asked.field(name));
            assert_eq!(unsigned, [None; 3], "{asked:?}");
            continue;
        }
        let Signature { agent, created, expires, nonce, covered } = keys.verify(asked);
        let (form, name) = match asked.host {
            1 => ("sig1=\"https://bot.example\"", "\"signature-agent\";key=\"sig1\""),
            _ => ("\"https://bot.example\"", "\"signature-agent\""),
        };
        assert_eq!((agent.as_str(), covered), (form, vec!["\"@authority\"".to_owned(), name.to_owned()]));
        assert!((began..=ended).contains(&created) && expires == created + 300, "{asked:?}");
        assert_eq!(BASE64.decode(nonce.as_bytes()).unwrap().len(), 64);
        assert!(nonces.insert(nonce), "a nonce twice: {asked:?}");
    }
    assert!(nonces.len() >= 7, "{asked:?}");
    // one that was signed for another host is none
    let first = asked.iter().find(|asked| asked.host == 1).unwrap();
    let moved = Asked { authority: "127.0.0.9".to_owned(), ..first.clone() };
    assert!(keys.check(&moved).is_err() && keys.check(first).is_ok());
    archived_as_sent(&crawl, &server, &asked);
    nothing_has_the_private_key(&crawl);
}

/// A new key takes effect in a running crawl: what was signed by the old one is over, and nothing is asked for twice.
#[test]
fn a_reload_changes_the_key_and_the_mailbox() {
    let server = Server::start();
    // a request every hundred seconds, until the settings change
    let crawl = crawl(&server, "from = \"old@bot.example\"\n", "requests_per_second = 0.01\n");
    let config = fs::read_to_string(crawl.path("crawler.toml")).unwrap();
    let running = crawl.start(&[]);
    while server.asked().is_empty() {
        std::thread::yield_now();
    }
    prints(crawl.dir.path(), &["identity", "rotate", "--overlap", "7d"]);
    let changed = config.replace("identity/key.pem", "identity/key-2.pem").replace("old@", "new@");
    let (changed, begun) = (changed.replace("requests_per_second = 0.01\n", ""), server.asked().len());
    fs::write(crawl.path("crawler.toml"), changed).unwrap();
    let told = prints(crawl.dir.path(), &["ctl", "reload", "--dir", "crawl"]);
    assert!(told.contains("identity.key_file") && told.contains("identity.from"), "{told}");
    wait(running).expect(0, &["complete"]);
    let (keys, asked) = (keys(&crawl), server.asked());
    let key_of = |asked: &Asked| {
        let input = asked.field("signature-input").unwrap();
        input.split("keyid=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let (before, after) = asked.split_at(begun);
    assert!(after.len() >= 4 && after.iter().all(|asked| key_of(asked) != key_of(&before[0])), "{asked:?}");
    for (asked, from) in before.iter().map(|asked| (asked, "old")).chain(after.iter().map(|asked| (asked, "new"))) {
        keys.verify(asked);
        assert_eq!(asked.field("from"), Some(format!("{from}@bot.example").as_str()));
    }
}

/// The archive has the fields of signatures as they were sent.
fn archived_as_sent(crawl: &Crawl, server: &Server, asked: &[Asked]) {
    let landed = asked.iter().find(|asked| asked.path == "/landed?a=b").unwrap();
    let records = prints(crawl.dir.path(), &["get", "--warc", &server.url(2, "/landed?a=b")]);
    for name in ["signature", "signature-input", "signature-agent", "from"] {
        let line = format!("{name}: {}\r\n", landed.field(name).unwrap());
        assert!(records.contains(&line), "{line} is not in\n{records}");
    }
}

/// Neither as it is in its file, nor as bytes.
fn nothing_has_the_private_key(crawl: &Crawl) {
    let pem = fs::read_to_string(crawl.path("identity/key.pem")).unwrap();
    let line = pem.lines().nth(1).unwrap();
    let bytes = BASE64.decode(line.as_bytes()).unwrap();
    let seed = &bytes[bytes.len() - 32..];
    let hex = data_encoding::HEXLOWER.encode(seed);
    // of the line the part that is of the key alone
    let forms = [&line.as_bytes()[24..60], seed, hex.as_bytes(), &seed[..16]];
    let has = |content: &[u8]| forms.iter().any(|form| content.windows(form.len()).any(|window| window == *form));
    assert!(has(pem.as_bytes()), "what is looked for is found where it is");
    let (mut open, mut looked) = (vec![crawl.path("crawl")], 0);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => {
                    looked += 1;
                    assert!(!has(&fs::read(entry.path()).unwrap()), "{}", entry.path().display());
                }
                _ => {}
            }
        }
    }
    assert!(looked > 10, "{looked}");
    let settings = ["config", "--config", "crawler.toml"];
    for args in [&settings[..], &["identity", "show", "--config", "crawler.toml"], &["identity", "page"]] {
        assert!(!has(prints(crawl.dir.path(), args).as_bytes()), "{args:?}");
    }
}

#[test]
fn what_a_signature_covers_and_how_long_it_holds_is_a_setting() {
    let server = Server::start();
    let more = "expires = \"1h\"\ncomponents = [\"@authority\", \"@method\", \"@path\", \"@query\", \"@target-uri\"]\n";
    let crawl = crawl(&server, more, "");
    crawl.run(&[]).expect(0, &["complete"]);
    let (keys, asked) = (keys(&crawl), server.asked());
    assert!(asked.iter().any(|asked| asked.path == "/landed?a=b") && asked.iter().any(|asked| asked.host == 3));
    for asked in &asked {
        let signature = keys.verify(asked);
        assert_eq!((signature.expires, signature.covered.len()), (signature.created + 3_600, 6));
        let moved = Asked { path: "/elsewhere".to_owned(), ..asked.clone() };
        assert!(keys.check(&moved).is_err());
    }
}

#[test]
fn a_key_that_others_may_read_signs_nothing_and_begins_no_crawl() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start();
    let crawl = crawl(&server, "", "");
    let path = crawl.path("identity/key.pem");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    crawl.run(&[]).expect(2, &["identity.key_file", "identity/key.pem is open to others (mode 0640)"]);
    fs::remove_file(&path).unwrap();
    crawl.run(&[]).expect(2, &["identity.key_file: cannot read the private key"]);
    assert!(server.asked().is_empty());
}

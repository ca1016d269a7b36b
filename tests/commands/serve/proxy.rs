//! The archive in the place of the web, by the real binary: curl and sockets have it as their proxy.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::site::{File, Sites};
use super::{Served, crawled};
use crate::site::{Crawl, PATIENCE, RUSH, wait_for};
use crate::warc::server::Answer as Sent;

/// Hosts of the sites.
pub const HOSTS: [&str; 2] = ["shop.example", "cdn.example"];

/// A crawl of sites over https that are gone.
pub struct Gone {
    pub crawl: Crawl,
    pub port: u16,
}

/// Crawls files of sites over https. A seed is a URL without its port, or a line of JSON with `PORT` in it.
pub fn gone(files: &dyn Fn(u16) -> Vec<File>, seeds: &[&str], scope: &str) -> Gone {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sites = Sites::start(listener, &HOSTS, files(port));
    let crawl = Crawl::new(&seeds.join("\n").replace("PORT", &port.to_string()), &config(scope));
    fs::write(crawl.path("ca.pem"), &sites.authority).unwrap();
    crawl.run(&[]).expect(0, &[]);
    drop(sites);
    Gone { crawl, port }
}

fn config(scope: &str) -> String {
    let hosts = HOSTS.map(|host| format!("\"{host}\" = \"127.0.0.1\"")).join(", ");
    format!(
        "[politeness]\n{RUSH}give_up = \"2s\"\n[scope]\nmode = \"host\"\n{scope}\n[fetch]\nca_file = \"ca.pem\"\n\
         [network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"127.0.0.1:9\"]\nhosts = {{ {hosts} }}\n"
    )
}

fn files(_: u16) -> Vec<File> {
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"<p>packed<a href=/v>").unwrap();
        encoder.finish().unwrap()
    };
    let typed = "Content-Type: application/octet-stream\r\n";
    vec![
        File::of("shop.example/", "Content-Type: text/html\r\nContent-Encoding: gzip\r\nAlt-Svc: h3\r\n", gzip),
        File::of("shop.example/v", typed, (0..=255).collect::<Vec<u8>>()),
        File { status: "410 Gone", ..File::of("shop.example/gone", "Strict-Transport-Security: max-age=9\r\n", "g") },
        File { status: "301 Moved", ..File::of("shop.example/moved", "Location: /v?x#y\r\nSet-Cookie: a=b\r\n", "") },
        File::of("shop.example/api", "Content-Type: application/json\r\n", "[1]"),
    ]
}

fn shop() -> Gone {
    gone(
        &files,
        &[
            "https://shop.example:PORT/",
            "https://shop.example:PORT/v",
            "https://shop.example:PORT/gone",
            "https://shop.example:PORT/moved",
            "{\"url\":\"https://shop.example:PORT/api\",\"method\":\"POST\",\"json\":{\"a\":1}}",
        ],
        "",
    )
}

/// An answer to curl.
struct Got {
    code: Option<i32>,
    head: String,
    body: Vec<u8>,
}

/// Asks curl for a URL by way of the proxy.
fn curl(served: &Served, options: &[&str], url: &str) -> Got {
    let heads = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("curl");
    command.args(["--silent", "--noproxy", "", "--suppress-connect-headers", "--max-time", "60", "--proxy"]);
    command.arg(format!("http://{}", served.proxy)).arg("--dump-header").arg(heads.path());
    let output = command.args(options).arg(url).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).output();
    let output = output.unwrap();
    let head = fs::read_to_string(heads.path()).unwrap().to_ascii_lowercase();
    Got { code: output.status.code(), head, body: output.stdout }
}

/// Returns what `crawler get` prints.
fn stored(crawl: &Crawl, url: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["get", url, "--dir"]).arg(crawl.path("crawl")).output().unwrap().stdout
}

#[test]
fn curl_gets_the_archive_in_the_place_of_the_web() {
    let Gone { crawl, port } = shop();
    let served = Served::with(&crawl, &["--proxy", "127.0.0.1:0"]);
    let authority = crawl.path("crawl/serve/authority.pem");
    let trusted = ["--cacert", authority.to_str().unwrap()];
    let origin = format!("https://shop.example:{port}");
    let ask = |options: &[&str], path: &str| curl(&served, &[&trusted, options].concat(), &format!("{origin}{path}"));
    let page = ask(&[], "/");
    assert_eq!((page.code, &*page.body), (Some(0), &*stored(&crawl, &format!("{origin}/"))));
    assert!(page.body.ends_with(b"<a href=/v>"));
    for (line, is_there) in [
        ("http/1.1 200 ok\r\n", true),
        ("content-type: text/html\r\n", true),
        ("memento-datetime: ", true),
        ("x-archive-orig-alt-svc: h3", true),
        ("\r\nalt-svc:", false),
        ("\r\ncontent-encoding:", false),
    ] {
        assert_eq!(page.head.contains(line), is_there, "{line:?} in {}", page.head);
    }
    assert_eq!(ask(&[], "/v").body, (0..=255).collect::<Vec<u8>>());
    let part = ask(&["--range", "7-9"], "/v");
    assert_eq!(part.body, [7, 8, 9]);
    assert!(part.head.contains(" 206 ") && part.head.contains("content-range: bytes 7-9/256"), "{}", part.head);
    let gone = ask(&[], "/gone");
    assert!(gone.head.contains(" 410 ") && !gone.head.contains("\r\nstrict-transport"), "{}", gone.head);
    let moved = ask(&[], "/moved");
    assert!(
        moved.head.contains("location: /v?x#y\r\n") && moved.head.contains("\r\nset-cookie: a=b"),
        "{}",
        moved.head
    );
    let post = |body: &str| ask(&["--json", body], "/api");
    assert_eq!(post("{\"a\":1}").body, b"[1]");
    assert!(post("{\"a\":2}").head.contains(" 404 "));
    let missing = ask(&[], "/nowhere");
    assert_eq!(missing.body, format!("{origin}/nowhere is not in the archive.\n").as_bytes());
    assert!(missing.head.contains(" 404 ") && ask(&["--head"], "/").head.contains(" 200 "));
    let elsewhere = curl(&served, &trusted, "https://[2001:db8::1]/");
    assert!(elsewhere.code == Some(0) && elsewhere.head.contains(" 404 "), "{}", elsewhere.head);
    let old = ask(&["--header", "Accept-Datetime: Thu, 31 May 2001 20:35:00 GMT"], "/");
    assert_eq!((old.body, ask(&["--header", "Accept-Datetime: soon"], "/").head.contains(" 400 ")), (page.body, true));
    // certificate of an unknown authority
    assert_eq!(curl(&served, &[], &format!("{origin}/")).code, Some(60));
    // several requests over one tunnel
    let twice = ask(&["--write-out", "%{num_connects}", &format!("{origin}/v")], "/gone");
    assert!(twice.body.ends_with(b"g0"), "{:?}", twice.body);
}

#[test]
fn captures_over_http_are_shown_by_time_and_a_path_of_the_proxy_itself_is_refused() {
    let crawl = crawled(vec![("/".to_owned(), Sent::html("<p>first"))], "");
    // crawler serve --dir DIR --address ADDRESS --replay ADDRESS --proxy ADDRESS --time TIME
    let served = Served::with(&crawl.crawl, &["--proxy", "127.0.0.1:0", "--time", "2001"]);
    let url = format!("{}/", crawl.origin);
    let ask = |request: &str, fields: &[(&str, &str)]| served.ask(&served.proxy, request, fields, "");
    let close = ("Connection", "close");
    let page = ask(&format!("GET {url}"), &[close]);
    assert_eq!((page.status, page.text()), (200, "<p>first".to_owned()));
    for (request, status) in [
        ("GET /".to_owned(), 421),
        (format!("GET /2026/{url}"), 421),
        (format!("PUT {url}"), 405),
        ("OPTIONS *".to_owned(), 421),
        ("GET http://a.example/".to_owned(), 404),
        ("GET https://a.example/".to_owned(), 404),
    ] {
        assert_eq!(ask(&request, &[close]).status, status, "{request}");
    }
    let refused = ask("GET /", &[close, ("Host", "evil.example")]);
    assert!(refused.text().starts_with("this is a proxy that shows an archive"), "{}", refused.text());
    assert_eq!(ask(&format!("GET {url}"), &[close, ("Upgrade", "websocket")]).status, 501);
    // plain text in a tunnel, one request after the other
    let mut stream = TcpStream::connect(&served.proxy).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let authority = crawl.origin.strip_prefix("http://").unwrap();
    write!(stream, "CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
    let mut answer = vec![0; 19];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, b"HTTP/1.1 200 OK\r\n".iter().chain(&answer[17..]).copied().collect::<Vec<u8>>());
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {authority}\r\n\r\nCONNECT a.example:1 HTTP/1.1\r\n{}",
        close_of(authority)
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("<p>first") && text.contains("HTTP/1.1 400 "), "{text}");
}

fn close_of(authority: &str) -> String {
    format!("Host: {authority}\r\nConnection: close\r\n\r\n")
}

#[test]
fn the_proxy_opens_no_connection_and_its_key_is_its_owners_alone_whatever_the_umask() {
    let crawl = crawled(vec![("/".to_owned(), Sent::html("<p>first"))], "");
    let dir = crawl.crawl.path("crawl/serve");
    drop(Served::of(&crawl.crawl));
    assert!(!dir.exists(), "without --proxy nothing is made");
    let script = "umask 0; exec strace -D -f -o trace -e trace=connect,openat,chmod,fchmod,sendto \"$@\"";
    let shell = ["sh", "-c", script, "sh"];
    let served = Served::by(&shell, &crawl.crawl.path("crawl"), &["--proxy", "127.0.0.1:0"]);
    let tunnel = format!("CONNECT {}", crawl.origin.strip_prefix("http://").unwrap());
    for request in ["GET http://127.0.0.1:1/", "GET http://a.example/", &*tunnel, "CONNECT a.example:443"] {
        let mut stream = TcpStream::connect(&served.proxy).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: a.example\r\n\r\nGET /no HTTP/1.1\r\nHost: b.example\r\n\r\n")
            .unwrap();
        let mut some = [0; 64];
        assert!(stream.read(&mut some).unwrap() > 0, "{request}");
    }
    let key = dir.join("authority.key");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&key)), (0o700, 0o600));
    drop(served);
    // what traces it is another process
    let traced = || fs::read_to_string(crawl.crawl.path("trace")).unwrap_or_default();
    wait_for("the trace ends", || traced().contains("+++ killed by SIGKILL +++"));
    let trace = traced();
    assert!(!trace.contains("connect("), "{trace}");
    let opened: Vec<&str> = trace.lines().filter(|line| line.contains("authority.key")).collect();
    assert!(!opened.is_empty(), "{trace}");
    for line in opened.iter().filter(|line| line.contains("O_CREAT")) {
        assert!(line.contains("O_EXCL") && line.contains("0600"), "{line}");
    }
    assert!(!opened.iter().any(|line| line.contains("chmod")), "{opened:#?}");
}

#[test]
fn the_crawler_does_not_trust_the_authority_of_the_proxy() {
    let crawl = crawled(vec![("/".to_owned(), Sent::html("<p>first"))], "");
    let served = Served::with(&crawl.crawl, &["--proxy", "127.0.0.1:0"]);
    fs::write(crawl.crawl.path("seeds.txt"), "https://a.example/\n").unwrap();
    let settings = fs::read_to_string(crawl.crawl.path("crawler.toml")).unwrap();
    let names = "[dns]\nnameservers = [\"127.0.0.1:9\"]\nhosts = { \"a.example\" = \"127.0.0.1\" }";
    let settings = format!("{settings}{names}\n[fetch]\nproxy = \"http://{}\"\n", served.proxy);
    fs::write(crawl.crawl.path("crawler.toml"), settings).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "other", "--max-time", "20s"]);
    let output = command.current_dir(crawl.crawl.dir.path()).stdin(Stdio::null()).output().unwrap();
    let log = fs::read_to_string(crawl.crawl.path("other/logs/crawl.log")).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("TLS failed") && !log.contains(" 404 "), "{said}\n{log}");
}

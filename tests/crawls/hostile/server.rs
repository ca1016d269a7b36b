//! A server whose every word is meant to trick: paths, headers, reasons, titles, robots.txt, sitemaps.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// Characters that terminals, readers of lines, of JSON and of HTML might obey.
pub const ESC: &str = "\x1b[2J\x1b]0;owned\x07";
pub const C1: &str = "\u{9b}31m\u{85}\u{9d}";
pub const BIDI: &str = "\u{202e}\u{2066}\u{200f}\u{2028}\u{feff}\u{e0041}";
pub const FORGED: &str = "\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://forged.example/\r\n\r\n";
pub const SCRIPT: &str = "\"><script>alert(1)</script>'{\"a\":1}";

/// The web at 127.0.0.1, and what is no HTTP at 127.0.0.2 and 127.0.0.3, all on one port.
pub fn start() -> u16 {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let others: Vec<_> = (2..4).flat_map(|n| TcpListener::bind(format!("127.0.0.{n}:{port}"))).collect();
        if others.len() == 2 {
            [first].into_iter().chain(others).for_each(|listener| drop(std::thread::spawn(move || serve(&listener))));
            return port;
        }
    }
}

fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || converse(stream));
    }
}

fn converse(mut stream: TcpStream) {
    let local = stream.local_addr().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
        }
        let answer = match local.ip().to_string().as_str() {
            "127.0.0.1" => page(&path, local.port()),
            _ if path == "/robots.txt" => answer("404 Not Found", b"", b""),
            "127.0.0.2" => format!("{ESC}{C1} is no HTTP\r\n\r\n").into_bytes(),
            _ => answer("200 OK", format!("X-Bad: {ESC}\r\n").as_bytes(), b""),
        };
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn answer(status: &str, headers: &[u8], body: &[u8]) -> Vec<u8> {
    reasoned(status.as_bytes(), headers, body)
}

fn reasoned(status: &[u8], headers: &[u8], body: &[u8]) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n\r\n", body.len());
    [b"HTTP/1.1 ", status, b"\r\n", headers, length.as_bytes(), body].concat()
}

const HTML: &[u8] = b"Content-Type: text/html; charset=utf-8\r\n";

fn page(path: &str, port: u16) -> Vec<u8> {
    match path {
        "/robots.txt" => answer("200 OK", b"Content-Type: text/plain\r\n", robots(port).as_bytes()),
        "/" => answer("200 OK", HTML, &index(port)),
        "/redirect" => {
            let location = ["Location: /to", BIDI, C1, "%0d%0aWARC-Type:%20x\r\n"].concat();
            answer("302 Found", location.as_bytes(), b"")
        }
        "/away" => {
            let location = format!("Location: http://127.0.0.1:{port}/excluded{BIDI}{C1}{SCRIPT}\r\n");
            answer("302 Found", location.as_bytes(), b"")
        }
        "/reason" => reasoned(b"200 \x9b31m\xff\xe2\x80\xae", HTML, b"odd"),
        "/mime" => answer("200 OK", b"Content-Type: text/ht\x9b31m l\xff;\"{} charset=\x9b\"\r\n", b"odd"),
        "/name" => answer(
            "200 OK",
            b"Content-Disposition: attachment; filename=\"../../../owned\"\r\nLink: </owned>\r\n",
            b"x",
        ),
        "/tag" => answer("200 OK", b"ETag: \"\xe2\x80\xae\x9b\"\r\nLast-Modified: \x9b31m, now\r\n", b"tagged"),
        "/forged" => answer("200 OK", b"X-Note: a\r\nWARC-Type: request\r\n", FORGED.as_bytes()),
        _ if path.starts_with("/map") => {
            answer("200 OK", b"Content-Type: application/xml\r\n", sitemap(port).as_bytes())
        }
        _ => answer("200 OK", HTML, &leaf(port)),
    }
}

fn robots(port: u16) -> String {
    format!(
        "\u{feff}# {ESC}{C1}{BIDI}\nUser-agent: {ESC}{C1}\nDisallow: /{BIDI}\nUser-agent: *\nCrawl-delay: {ESC}\n\
         Disallow: /secret{BIDI}*{C1}\nDisallow: {SCRIPT}\nSitemap: http://127.0.0.1:{port}/map{C1}{BIDI}\n\
         Sitemap: {ESC}{SCRIPT}\n"
    )
}

fn sitemap(port: u16) -> String {
    format!(
        "<urlset><url><loc>http://127.0.0.1:{port}/listed{C1}{BIDI}</loc></url>\
         <url><loc>{ESC}</loc></url><url><loc>http://{C1}.example/&#x202e;</loc></url></urlset>"
    )
}

/// Every path that the index links, as raw bytes.
pub fn paths() -> Vec<Vec<u8>> {
    let texts = [
        format!("/esc{ESC}"),
        format!("/c1{C1}"),
        format!("/bidi{BIDI}"),
        format!("/crlf{FORGED}"),
        "/pct%1b[2J%9b%c2%9b%0d%0aWARC-Target-URI:%20http://forged.example/".to_owned(),
        format!("/script{SCRIPT}"),
        format!("/query?a={SCRIPT}&b={ESC}{C1}{BIDI}"),
        "/sp ace and\ttab \u{a0}\u{3000}".to_owned(),
        "/nul\0byte%00".to_owned(),
        "/../../../etc/owned".to_owned(),
        "/%2e%2e/..%2f..%2f..%2fowned".to_owned(),
        format!("/{}", "n".repeat(300)),
        "/back\\slash|`{}^~".to_owned(),
        format!("/secret{BIDI}yes{C1}"),
        format!("#{ESC}"),
    ];
    let mut paths: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    paths.push(b"/invalid\xff\xfe\x80\xc3(".to_vec());
    paths.extend(["/redirect", "/away", "/reason", "/mime", "/name", "/tag", "/forged"].map(|path| path.into()));
    paths
}

fn index(port: u16) -> Vec<u8> {
    let mut html = format!("<title>{ESC}{C1}{BIDI}{SCRIPT}</title>\n").into_bytes();
    for path in paths() {
        // in single quotes, which none of them but the script has
        let quoted: Vec<u8> =
            path.iter().flat_map(|&byte| if byte == b'\'' { b"&#39;".to_vec() } else { vec![byte] }).collect();
        html.extend([b"<a href='", &quoted[..], b"'>", &path[..], b"</a>\n"].concat());
    }
    for address in ["127.0.0.2", "127.0.0.3"] {
        html.extend(format!("<a href='http://{address}:{port}/{C1}{BIDI}'>x</a>\n").into_bytes());
    }
    html.extend(format!("<a href='http://{C1}.example/'>x</a><a href='javascript:{ESC}'>x</a>").into_bytes());
    html
}

fn leaf(port: u16) -> Vec<u8> {
    format!(
        "<title>{ESC}{C1}{BIDI}{SCRIPT}</title><link rel=canonical href='http://127.0.0.1:{port}/canonical{C1}{BIDI}\
         \r\nforged: yes'><meta name=robots content='{ESC}'><meta charset='{C1}'><h1>{FORGED}</h1>"
    )
    .into_bytes()
}

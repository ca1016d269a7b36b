//! An application of one page: a shell, a script that makes every page of it, and data; beside it pages without any.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::site::PATIENCE;

const SHELL: &str = "<!doctype html><html><head><meta charset=utf-8><title>Shop</title></head><body>\
                     <div id=app>Loading</div><script src=\"/app.js\"></script></body></html>";

/// Each item has links to the two below it, as a tree; its text comes from the data.
const SCRIPT: &str = r#"
const app = document.getElementById("app");
async function show() {
    const path = location.pathname.split("/");
    const number = Number(path[2] || 0);
    fetch("/secret.json").catch(() => {});
    fetch("/post", { method: "POST", body: "x" }).catch(() => {});
    const data = await (await fetch("/api/" + number + ".json")).json();
    // another origin, and a field for which the browser needs its leave
    const asked = fetch(OTHER + "/opinion.json", { headers: { "X-Reader": "shop" } });
    const said = await asked.then(answer => answer.text(), () => "");
    const links = data.links.map(to => `<li><a href="${to}">${to}</a></li>`).join("");
    app.innerHTML = `<h1>${data.title}</h1><p>${data.text}</p><q>${said}</q><ul>${links}</ul>`;
}
show();
"#;

/// A list with a button at its end.
const GROWING: &str = "<!doctype html><title>List</title><ul id=list></ul><button class=more>More</button><script>\
                       let number = 0; document.querySelector('.more').onclick = () => {\
                       if (number < 3) list.innerHTML += `<li><a href=/item/${++number}>${number}</a>`;}</script>";

/// A page that is never quiet.
const TICKING: &str = "<!doctype html><title>Clock</title><p id=time></p><script>\
                       setInterval(() => { time.innerHTML = performance.now(); }, 10);</script>";

/// A page of `localhost` that asks for what `127.0.0.1` shows to whom it knows.
const PEEKING: &str = "<!doctype html><title>Peeking</title><p id=said>nothing</p><script>\
                       fetch('http://127.0.0.1:' + location.port + '/api/0.json').then(answer => answer.text())\
                       .then(text => said.innerText = text, () => said.innerText = 'refused');</script>";

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data of an item.
    Data,
}

/// The server.
pub struct Application {
    port: u16,
    other_port: u16,
    routes: usize,
    log: Arc<Mutex<Vec<String>>>,
}

impl Application {
    /// Serves this many items, and this many static pages that the first item links to.
    pub fn start(routes: usize, pages: usize) -> Application {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let other_port = other.local_addr().unwrap().port();
        let log = Arc::new(Mutex::new(Vec::new()));
        for listener in [listener, other] {
            let log = log.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let log = log.clone();
                    std::thread::spawn(move || serve(stream, (routes, pages, other_port), &log));
                }
            });
        }
        Application { port, other_port, routes, log }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A URL of its other origin.
    pub fn other_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.other_port)
    }

    /// The URLs of all items; the first one is the start page.
    pub fn routes(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.routes).map(|number| match number {
            0 => self.url("/"),
            number => self.url(&format!("/item/{number}")),
        })
    }

    /// Returns how many times `path` was asked for.
    pub fn count(&self, path: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }

    /// Waits until so many of a kind were asked for.
    pub fn wait_for(&self, kind: Kind, count: usize) {
        let begun = Instant::now();
        let Kind::Data = kind;
        while self.log.lock().unwrap().iter().filter(|asked| asked.starts_with("/api/")).count() < count {
            assert!(begun.elapsed() < PATIENCE, "{:?}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn serve(stream: TcpStream, (routes, pages, other): (usize, usize, u16), log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut out = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let is_reader = head.to_ascii_lowercase().contains("x-reader: shop\r\n");
        log.lock().unwrap().push(path.clone());
        if line.starts_with("OPTIONS") {
            log.lock().unwrap().push("OPTIONS".to_owned());
        }
        let (status, kind, body) = match path.as_str() {
            "/app.js" => (200, "text/javascript", SCRIPT.replace("OTHER", &format!("\"http://127.0.0.1:{other}\""))),
            "/opinion.json" if is_reader => (200, "application/json", "\"worth its price\"".to_owned()),
            _ => answer(&path, (routes, pages)),
        };
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\naccess-control-allow-origin: *\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        if out.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(path: &str, (routes, pages): (usize, usize)) -> (u16, &'static str, String) {
    let number = |prefix: &str| path.strip_prefix(prefix)?.trim_end_matches(".json").parse::<usize>().ok();
    if let Some(number) = number("/api/").filter(|&number| number < routes) {
        let below = [2 * number + 1, 2 * number + 2].into_iter().filter(|&below| below < routes);
        let mut links: Vec<String> = below.map(|below| format!("/item/{below}")).collect();
        if number == 0 {
            links.extend((0..pages).map(|page| format!("/static/{page}")));
        }
        let text = format!("This is what there is to say of item {number}. ").repeat(10);
        let data = serde_json::json!({ "title": format!("Item {number}"), "text": text, "links": links });
        return (200, "application/json", data.to_string());
    }
    if let Some(page) = number("/static/").filter(|&page| page < pages) {
        let text = format!("<p>A page that was written by hand, number {page}.</p>").repeat(20);
        let links: String = (0..6).map(|n| format!("<a href=\"/static/{}\">{n}</a>", (page + n) % pages)).collect();
        let head = "<!doctype html><meta charset=utf-8><title>Static</title><script>var counted = 1</script>";
        return (200, "text/html", format!("{head}{text}{links}"));
    }
    match path {
        "/robots.txt" => (200, "text/plain", "User-agent: *\nDisallow: /secret.json\n".to_owned()),
        "/peeking" => (200, "text/html", PEEKING.to_owned()),
        "/ticking" => (200, "text/html", TICKING.to_owned()),
        "/growing" => (200, "text/html", GROWING.to_owned()),
        "/" => (200, "text/html", SHELL.to_owned()),
        _ if number("/item/").is_some_and(|number| number < routes) => (200, "text/html", SHELL.to_owned()),
        _ => (404, "text/html", "<!doctype html><title>nothing</title>".to_owned()),
    }
}

//! A site whose pages a test changes, and a crawl of it.

#[path = "../crawls/fetch/http.rs"]
#[expect(dead_code, reason = "other tests need the rest of it")]
mod http;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::site::Crawl;
use http::HttpServer;

const CONFIG: &str = "[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\ndelay_factor = 0.0\ndelay_min = \"0s\"\n\
                      delay_per_ip = \"0s\"\n";

/// A server whose pages a test changes, and a crawl of them.
pub struct Pages {
    pages: Arc<Mutex<BTreeMap<String, String>>>,
    server: HttpServer,
    pub crawl: Crawl,
}

impl Pages {
    /// Pages by their paths; one whose text begins with a status is an answer with it, and a path behind it is where it
    /// redirects to.
    pub fn new(pages: &[(&str, &str)]) -> Pages {
        let pages: BTreeMap<_, _> = pages.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        let pages = Arc::new(Mutex::new(pages));
        let served = pages.clone();
        let server = HttpServer::start("127.0.0.1", move |connection| {
            while let Some(head) = connection.request() {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let text = served.lock().unwrap().get(&path).cloned().unwrap_or("404 no such page".to_owned());
                let status = text.split(' ').next().filter(|word| word.parse::<u16>().is_ok()).unwrap_or("200");
                let location = text.split(' ').nth(1).filter(|word| status != "200" && word.starts_with('/'));
                let location = location.map_or(String::new(), |path| format!("Location: {path}\r\n"));
                let head = format!("HTTP/1.1 {status} X\r\nContent-Type: text/html; charset=utf-8\r\n{location}");
                if !connection.send(format!("{head}Content-Length: {}\r\n\r\n{text}", text.len())) {
                    return;
                }
            }
        });
        let seeds: String =
            pages.lock().unwrap().keys().map(|path: &String| server.url("127.0.0.1") + &path[1..] + "\n").collect();
        let crawl = Crawl::new(&seeds, CONFIG);
        Pages { pages, server, crawl }
    }

    pub fn put(&self, path: &str, text: &str) {
        self.pages.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url("127.0.0.1") + &path[1..]
    }
}

//! Three hosts of one server, on loopback: pages, and a redirect from one host to another. It keeps each request.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub host: u8,
    pub method: String,
    pub path: String,
    /// Value of `Host`.
    pub authority: String,
    /// Its fields, names in lower case.
    pub fields: Vec<(String, String)>,
}

impl Asked {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// `127.0.0.1` to `127.0.0.3` on one port.
pub struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub fn start() -> Server {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let others = [2, 3].map(|last| (last, TcpListener::bind((Ipv4Addr::new(127, 0, 0, last), port)).unwrap()));
        let server = Server { port, asked: Arc::default() };
        for (host, listener) in others.into_iter().chain([(1, first)]) {
            let asked = server.asked.clone();
            let target = server.url(2, "/landed?a=b");
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let Some(line) = lines.next() else { continue };
                    let words: Vec<&str> = line.split(' ').collect();
                    let fields = lines.take_while(|line| !line.is_empty()).map(|line| {
                        let (name, value) = line.split_once(": ").unwrap();
                        (name.to_lowercase(), value.to_owned())
                    });
                    let (method, path) = (words[0].to_owned(), words[1].to_owned());
                    let mut asking = Asked { host, method, path, authority: String::new(), fields: fields.collect() };
                    asking.authority = asking.field("host").unwrap().to_owned();
                    let (status, more, body) = match asking.path.as_str() {
                        "/robots.txt" => {
                            ("200 OK", "content-type: text/plain".to_owned(), "User-agent: *\nDisallow:\n")
                        }
                        "/go" => ("302 Found", format!("location: {target}"), ""),
                        _ => ("200 OK", "content-type: text/html".to_owned(), "<title>page</title><a href=/go>go</a>"),
                    };
                    asked.lock().unwrap().push(asking);
                    let head = format!("HTTP/1.1 {status}\r\n{more}\r\ncontent-length: {}", body.len());
                    // a client that is gone is no fault
                    let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
                }
            });
        }
        server
    }

    pub fn url(&self, host: u8, path: &str) -> String {
        format!("http://127.0.0.{host}:{}{path}", self.port)
    }

    pub fn seeds(&self) -> String {
        [1, 2, 3].map(|host| self.url(host, "/\n")).concat()
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

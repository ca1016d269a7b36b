//! An HTTP server by hand: a test writes whatever bytes it likes into each connection.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A connection of which requests are read.
pub struct Connection {
    pub stream: TcpStream,
    requests: BufReader<TcpStream>,
    heads: Arc<Mutex<Vec<(usize, String)>>>,
    number: usize,
}

impl Connection {
    /// The next request's head; nothing when the client is gone.
    pub fn request(&mut self) -> Option<String> {
        let mut head = String::new();
        loop {
            let before = head.len();
            if self.requests.read_line(&mut head).unwrap_or(0) == 0 {
                return None;
            }
            if &head[before..] == "\r\n" {
                self.heads.lock().unwrap().push((self.number, head.clone()));
                return Some(head);
            }
        }
    }

    /// Sends `bytes`; says whether the client still takes them.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Waits until the client ends the connection.
    pub fn wait_for_end(&mut self) {
        let _ = std::io::copy(&mut self.requests, &mut std::io::sink());
    }
}

/// A server that runs until the test's process ends.
pub struct HttpServer {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<(usize, String)>>>,
}

impl HttpServer {
    /// A server on its own port, with a thread a connection.
    pub fn start(at: &str, converse: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((at, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let converse = Arc::new(converse);
        let log = heads.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                let (converse, heads) = (converse.clone(), log.clone());
                std::thread::spawn(move || {
                    let requests = BufReader::new(stream.try_clone().unwrap());
                    converse(&mut Connection { stream, requests, heads, number });
                });
            }
        });
        HttpServer { address, heads }
    }

    /// A server that answers every request with the same bytes.
    pub fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        HttpServer::start(
            "127.0.0.1",
            move |connection| {
                while connection.request().is_some() && connection.send(&answer) {}
            },
        )
    }

    /// Every request so far, with the number of its connection.
    pub fn requests(&self) -> Vec<(usize, String)> {
        self.heads.lock().unwrap().clone()
    }

    pub fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.address.port())
    }
}

/// A small whole answer with these lines in its head.
pub fn page(lines: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{lines}\r\n{body}", body.len())
}

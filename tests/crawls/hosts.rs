//! A server on several loopback addresses and one port, that keeps a log of what it is asked.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The last number of the address.
    pub host: u8,
    pub method: String,
    pub path: String,
    /// Its fields, names in lower case.
    pub fields: Vec<(String, String)>,
    pub body: String,
    pub at: Instant,
}

impl Asked {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.field("cookie")?.split("; ").filter_map(|pair| pair.split_once('='));
        pairs.filter(|(own, _)| *own == name).map(|(_, value)| value).next()
    }

    /// All of it.
    pub fn text(&self) -> String {
        format!("{} {} {:?} {}", self.method, self.path, self.fields, self.body)
    }
}

/// An answer of a host.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn page(body: impl Into<String>) -> Answer {
        Answer { status: 200, fields: vec![("content-type".to_owned(), "text/html".to_owned())], body: body.into() }
    }

    pub fn text(body: impl Into<String>) -> Answer {
        Answer { status: 200, fields: vec![("content-type".to_owned(), "text/plain".to_owned())], body: body.into() }
    }

    pub fn status(status: u16) -> Answer {
        Answer { status, fields: Vec::new(), body: String::new() }
    }

    pub fn redirect(to: impl Into<String>) -> Answer {
        Answer::status(302).with("location", to)
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Answer {
        self.fields.push((name.to_owned(), value.into()));
        self
    }
}

/// `127.0.0.1`, `127.0.0.2` and so on, on one port.
pub struct Hosts {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    scheme: &'static str,
}

impl Hosts {
    /// Serves this many addresses. `answer` is asked by one thread for each of them.
    pub fn start(hosts: u8, answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Hosts {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let other = |last| (last, TcpListener::bind((Ipv4Addr::new(127, 0, 0, last), port)).unwrap());
        let listeners: Vec<(u8, TcpListener)> = (2..=hosts).map(other).chain([(1, first)]).collect();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let answer = Arc::new(answer);
        for (host, listener) in listeners {
            let (asked, answer) = (asked.clone(), answer.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    serve(host, stream.unwrap(), &asked, &*answer);
                }
            });
        }
        Hosts { port, asked, scheme: "http" }
    }

    /// `127.0.0.1` alone, by TLS, with a certificate that has to be trusted: it comes along.
    pub fn start_secure(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Hosts, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let (config, asked) = (Arc::new(config), Arc::<Mutex<Vec<Asked>>>::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let hosts = Hosts { port: listener.local_addr().unwrap().port(), asked: asked.clone(), scheme: "https" };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let session = ServerConnection::new(config.clone()).unwrap();
                serve(1, StreamOwned::new(session, stream.unwrap()), &asked, &answer);
            }
        });
        (hosts, certificate.pem())
    }

    /// Everything that was asked so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn asked_of(&self, host: u8) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.host == host).collect()
    }

    pub fn paths_of(&self, host: u8) -> Vec<String> {
        self.asked_of(host).into_iter().map(|asked| asked.path).collect()
    }

    pub fn url(&self, host: u8, path: &str) -> String {
        format!("{}://127.0.0.{host}:{}{path}", self.scheme, self.port)
    }
}

fn serve(
    host: u8,
    stream: impl Read + Write,
    asked: &Mutex<Vec<Asked>>,
    answer: &(impl Fn(&Asked) -> Answer + ?Sized),
) {
    let mut reader = BufReader::new(stream);
    if let Some(asking) = read(host, &mut reader) {
        asked.lock().unwrap().push(asking.clone());
        // a client that is gone is no fault
        let _ = write(reader.into_inner(), &answer(&asking));
    }
}

/// The request that `reader` brings; none from a client that is gone.
fn read(host: u8, reader: &mut impl BufRead) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let field = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let fields: Vec<(String, String)> = lines[1..].iter().filter_map(field).collect();
    let length =
        fields.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Asked { host, method, path, fields, body, at: Instant::now() })
}

fn write(mut stream: impl Write, Answer { status, fields, body }: &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    stream.flush()
}

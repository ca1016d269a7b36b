//! Sites over https, for any number of hosts at one port, which are gone when they are dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A file of the sites.
#[derive(Clone)]
pub struct File {
    /// Host and path, without a port.
    pub at: &'static str,
    pub status: &'static str,
    /// Fields of the head, each with its end of line.
    pub fields: &'static str,
    pub body: Vec<u8>,
}

impl File {
    /// A file with these fields.
    pub fn of(at: &'static str, fields: &'static str, body: impl Into<Vec<u8>>) -> File {
        File { at, status: "200 OK", fields, body: body.into() }
    }
}

/// Sites that are there until this is dropped.
pub struct Sites {
    /// The certificate of their authority, as a file has it.
    pub authority: String,
    _passing: Passing,
}

/// A server that is gone when it is dropped.
pub struct Passing {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Passing {
    /// Answers each connection at `listener` by `answer`, one after the other.
    pub fn start(listener: TcpListener, answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + 'static) -> Passing {
        let (port, stop) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
        let over = stop.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let _ = answer(stream);
            }
        });
        Passing { port, stop, thread: Some(thread) }
    }
}

impl Sites {
    /// Serves files at `listener`.
    pub fn start(listener: TcpListener, hosts: &[&str], files: Vec<File>) -> Sites {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap());
        let (config, authority) = (Arc::new(config.unwrap()), authority.as_ref().pem());
        let passing = Passing::start(listener, move |stream| serve(stream, config.clone(), &files));
        Sites { authority, _passing: passing }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().unwrap().join();
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, files: &[File]) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let (mut path, mut host, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let lower = line.trim().to_ascii_lowercase();
        match lower.split_once(": ") {
            Some(("host", value)) => host = value.split(':').next().unwrap_or_default().to_owned(),
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            _ if lower.is_empty() => break,
            _ if path.is_empty() => path = line.split(' ').nth(1).unwrap_or_default().to_owned(),
            _ => {}
        }
    }
    stream.read_exact(&mut vec![0; length])?;
    let missing = File { status: "404 Not Found", ..File::of("", "", "no") };
    let file = files.iter().find(|file| file.at == format!("{host}{path}")).unwrap_or(&missing);
    let stream = stream.get_mut();
    let (status, fields, length) = (file.status, file.fields, file.body.len());
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n")?;
    stream.write_all(&file.body)?;
    stream.conn.send_close_notify();
    stream.flush()
}

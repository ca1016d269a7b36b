//! A proxy by hand, for SOCKS5 and HTTP on one port: a list of what it was asked for, and names of its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Requests that it has had: `socks5 127.0.0.1:80`, `connect a.test:443` or `GET http://a.test/`.
type Asked = Arc<Mutex<Vec<String>>>;

/// A proxy that runs until the test's process ends.
pub struct Proxy {
    pub address: SocketAddr,
    asked: Asked,
}

struct Rules {
    /// User and password that it wants.
    credentials: Option<(&'static str, &'static str)>,
    /// Names that it knows.
    names: Vec<(&'static str, IpAddr)>,
    asked: Asked,
}

impl Proxy {
    /// One that knows these names, and that everybody may use.
    pub fn open(names: &[(&'static str, &str)]) -> Proxy {
        Proxy::start(None, names)
    }

    /// One that wants these `credentials`.
    pub fn start(credentials: Option<(&'static str, &'static str)>, names: &[(&'static str, &str)]) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Asked::default();
        let names = names.iter().map(|(name, address)| (*name, address.parse().unwrap())).collect();
        let rules = Arc::new(Rules { credentials, names, asked: asked.clone() });
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, rules) = (stream.unwrap(), rules.clone());
                // a client that is gone is no fault
                std::thread::spawn(move || drop(rules.serve(stream)));
            }
        });
        Proxy { address, asked }
    }

    /// Its URL.
    pub fn url(&self, scheme: &str, credentials: &str) -> String {
        let at = if credentials.is_empty() { "" } else { "@" };
        format!("{scheme}://{credentials}{at}{}", self.address)
    }

    /// Everything so far that it was asked for by who may ask.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Rules {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut first = [0];
        stream.peek(&mut first)?;
        if first[0] == 5 { self.socks(stream) } else { self.http(stream) }
    }

    fn note(&self, asked: String) {
        self.asked.lock().unwrap().push(asked);
    }

    /// A connection to `host`, which is a name or an address.
    fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let known = self.names.iter().find(|(name, _)| *name == host).map(|(_, address)| *address);
        let literal = host.trim_matches(['[', ']']).parse().ok();
        let address = known.or(literal).ok_or(io::ErrorKind::NotFound)?;
        TcpStream::connect((address, port))
    }

    /// RFC 1928, with user and password of RFC 1929.
    fn socks(&self, mut stream: TcpStream) -> io::Result<()> {
        let methods = sized(&mut stream, 1)?;
        let method = if self.credentials.is_some() { 2 } else { 0 };
        if !methods.contains(&method) {
            return stream.write_all(&[5, 0xff]);
        }
        stream.write_all(&[5, method])?;
        if let Some((user, password)) = self.credentials {
            let said = (sized(&mut stream, 1)?, sized(&mut stream, 0)?);
            let is_right = said == (user.into(), password.into());
            stream.write_all(&[1, u8::from(!is_right)])?;
            if !is_right {
                return Ok(());
            }
        }
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        let host = match head[3] {
            1 => Ipv4Addr::from(bytes::<4>(&mut stream)?).to_string(),
            3 => String::from_utf8(sized(&mut stream, 0)?).unwrap(),
            4 => Ipv6Addr::from(bytes::<16>(&mut stream)?).to_string(),
            kind => panic!("address of kind {kind}"),
        };
        let port = u16::from_be_bytes(bytes(&mut stream)?);
        self.note(format!("socks5 {host}:{port}"));
        match self.connect(&host, port) {
            Ok(server) => {
                stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
                relay(stream, server)
            }
            Err(_) => stream.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]),
        }
    }

    fn http(&self, mut stream: TcpStream) -> io::Result<()> {
        let (line, fields) = head(&mut stream)?;
        if !self.lets_in(&fields) {
            return stream.write_all(b"HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n");
        }
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        if method == "CONNECT" {
            self.note(format!("connect {target}"));
            let (host, port) = target.rsplit_once(':').unwrap();
            return match self.connect(host, port.parse().unwrap()) {
                Ok(server) => {
                    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
                    relay(stream, server)
                }
                Err(_) => stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"),
            };
        }
        self.note(format!("{method} {target}"));
        let url = url::Url::parse(target).unwrap();
        let mut server = self.connect(url.host_str().unwrap(), url.port().unwrap_or(80))?;
        let own = fields.iter().filter(|field| !field.to_lowercase().starts_with("proxy-"));
        let fields: String = own.map(|field| format!("{field}\r\n")).collect();
        write!(server, "{method} {} HTTP/1.1\r\n{fields}\r\n", url.path())?;
        self.answer(stream, server)
    }

    /// One answer of `server`, behind which the connection ends.
    fn answer(&self, mut stream: TcpStream, mut server: TcpStream) -> io::Result<()> {
        let (line, fields) = head(&mut server)?;
        let field = |name: &str| fields.iter().find_map(|field| field.to_lowercase().strip_prefix(name)?.parse().ok());
        let mut body = vec![0; field("content-length: ").unwrap_or(0)];
        server.read_exact(&mut body)?;
        let fields = fields.iter().filter(|field| !field.to_lowercase().starts_with("connection:"));
        let fields: String = fields.map(|field| format!("{field}\r\n")).collect();
        stream.write_all(format!("{line}\r\n{fields}connection: close\r\n\r\n").as_bytes())?;
        stream.write_all(&body)
    }

    fn lets_in(&self, fields: &[String]) -> bool {
        self.credentials.is_none_or(|(user, password)| {
            let token = data_encoding::BASE64.encode(format!("{user}:{password}").as_bytes());
            let said = fields.iter().find(|field| field.to_lowercase().starts_with("proxy-authorization: "));
            said.is_some_and(|field| field.ends_with(&format!("Basic {token}")))
        })
    }
}

/// A head, byte by byte, so that nothing behind it is taken.
fn head(stream: &mut TcpStream) -> io::Result<(String, Vec<String>)> {
    let mut lines = Vec::new();
    let mut reader = BufReader::with_capacity(1, stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => return Ok((lines.remove(0), lines)),
            text => lines.push(text.to_owned()),
        }
    }
}

fn bytes<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Bytes with their number before them, behind this many others.
fn sized(stream: &mut TcpStream, skip: usize) -> io::Result<Vec<u8>> {
    io::copy(&mut Read::by_ref(stream).take(skip as u64), &mut io::sink())?;
    let mut bytes = vec![0; usize::from(bytes::<1>(stream)?[0])];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Carries bytes both ways until both sides are done.
fn relay(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let there = std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (server, client);
    let _ = io::copy(&mut from_server, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = there.join();
    Ok(())
}

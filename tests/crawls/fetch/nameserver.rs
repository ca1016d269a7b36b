//! A name server by hand: whatever bytes a test wants, over UDP and TCP, and a list of what was asked.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

pub const A: u16 = 1;
pub const CNAME: u16 = 5;
pub const SOA: u16 = 6;
pub const AAAA: u16 = 28;

pub const SERVFAIL: u8 = 2;
pub const NXDOMAIN: u8 = 3;
pub const REFUSED: u8 = 5;

/// A question as it came.
#[derive(Clone, Debug)]
pub struct Question {
    pub id: u16,
    pub name: String,
    pub kind: u16,
    pub over_tcp: bool,
}

/// The reply that is sent back. `None` for no answer.
pub type Reply = Option<Vec<u8>>;

/// A name server that runs until the test's process ends.
pub struct NameServer {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl NameServer {
    /// A server on its own port that answers by `script`.
    pub fn start(script: impl Fn(&Question) -> Reply + Send + Sync + 'static) -> Self {
        // one port for both protocols
        let (udp, tcp) = std::iter::repeat_with(|| UdpSocket::bind("127.0.0.1:0").unwrap())
            .find_map(|udp| TcpListener::bind(udp.local_addr().unwrap()).ok().map(|tcp| (udp, tcp)))
            .unwrap();
        let address = udp.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<dyn Fn(&Question) -> Reply + Send + Sync> = {
            let asked = asked.clone();
            Arc::new(move |question: &Question| {
                asked.lock().unwrap().push(question.clone());
                script(question)
            })
        };
        let over_tcp = script.clone();
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let (stream, script) = (stream.unwrap(), over_tcp.clone());
                std::thread::spawn(move || converse(stream, &*script));
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok((len, from)) = udp.recv_from(&mut buffer) {
                if let Some(reply) = script(&question(&buffer[..len], false)) {
                    let _ = udp.send_to(&reply, from);
                }
            }
        });
        NameServer { address, asked }
    }

    /// Every question so far.
    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

/// An address where no name server is.
pub fn nowhere() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

fn converse(mut stream: TcpStream, script: &dyn Fn(&Question) -> Reply) {
    let mut len = [0; 2];
    while stream.read_exact(&mut len).is_ok() {
        let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
        stream.read_exact(&mut message).unwrap();
        let Some(reply) = script(&question(&message, true)) else { continue };
        let len = u16::try_from(reply.len()).unwrap();
        if stream.write_all(&[&len.to_be_bytes()[..], &reply].concat()).is_err() {
            return;
        }
    }
}

pub fn question(message: &[u8], over_tcp: bool) -> Question {
    let mut labels = Vec::new();
    let mut at = 12;
    while message[at] != 0 {
        let len = usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..=at + len]).to_lowercase());
        at += len + 1;
    }
    let id = u16::from_be_bytes([message[0], message[1]]);
    Question { id, name: labels.join("."), kind: u16::from_be_bytes([message[at + 1], message[at + 2]]), over_tcp }
}

/// A message as it is put together.
pub struct Message {
    pub id: u16,
    pub name: String,
    pub kind: u16,
    pub code: u8,
    pub truncated: bool,
    pub answers: Vec<Vec<u8>>,
    pub authorities: Vec<Vec<u8>>,
    pub additionals: Vec<Vec<u8>>,
}

impl Message {
    /// An empty answer to `question`.
    pub fn to(question: &Question) -> Self {
        Message {
            id: question.id,
            name: question.name.clone(),
            kind: question.kind,
            code: 0,
            truncated: false,
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
        }
    }

    pub fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    pub fn answer(mut self, record: Vec<u8>) -> Self {
        self.answers.push(record);
        self
    }

    pub fn authority(mut self, record: Vec<u8>) -> Self {
        self.authorities.push(record);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let count = |list: &Vec<Vec<u8>>| u16::try_from(list.len()).unwrap();
        let mut bytes = self.id.to_be_bytes().to_vec();
        bytes.extend([0x81 | u8::from(self.truncated) << 1, 0x80 | self.code]);
        for count in [1, count(&self.answers), count(&self.authorities), count(&self.additionals)] {
            bytes.extend(count.to_be_bytes());
        }
        bytes.extend(name(&self.name));
        bytes.extend(self.kind.to_be_bytes());
        bytes.extend([0, 1]);
        for record in self.answers.iter().chain(&self.authorities).chain(&self.additionals) {
            bytes.extend(record);
        }
        bytes
    }

    pub fn reply(self) -> Reply {
        Some(self.bytes())
    }
}

pub fn name(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in text.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

pub fn record(owner: &str, kind: u16, ttl_s: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = name(owner);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend(ttl_s.to_be_bytes());
    bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

pub fn address(owner: &str, ttl_s: u32, address: &str) -> Vec<u8> {
    match address.parse().unwrap() {
        IpAddr::V4(v4) => record(owner, A, ttl_s, &v4.octets()),
        IpAddr::V6(v6) => record(owner, AAAA, ttl_s, &v6.octets()),
    }
}

pub fn alias(owner: &str, ttl_s: u32, target: &str) -> Vec<u8> {
    record(owner, CNAME, ttl_s, &name(target))
}

pub fn start_of_authority(zone: &str, ttl_s: u32, minimum_s: u32) -> Vec<u8> {
    let mut data = [name("ns.test"), name("admin.test")].concat();
    for number in [1, 3_600, 600, 86_400, minimum_s] {
        data.extend(number.to_be_bytes());
    }
    record(zone, SOA, ttl_s, &data)
}

/// `address` for the question of its family, and for the other that there is none.
pub fn found(question: &Question, ttl_s: u32, addresses: &[&str]) -> Reply {
    let mut message = Message::to(question);
    for text in addresses {
        let is_v4 = text.parse::<IpAddr>().unwrap().is_ipv4();
        if question.kind == if is_v4 { A } else { AAAA } {
            message = message.answer(address(&question.name, ttl_s, text));
        }
    }
    if message.answers.is_empty() {
        message = message.authority(start_of_authority("test", 300, 300));
    }
    message.reply()
}

//! A server of HTTP whose every answer the test writes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub head: String,
    pub body: String,
}

/// An answer: a status, further lines of its head, and a body.
pub struct Reply {
    pub status: u16,
    pub head: &'static str,
    pub body: String,
}

impl Reply {
    pub fn new(status: u16, body: impl ToString) -> Reply {
        Reply { status, head: "", body: body.to_string() }
    }
}

/// Serves until the test ends; returns the address.
pub fn serve(mut answer: impl FnMut(Request) -> Reply + Send + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            if let Some(request) = read(&connection) {
                write(&connection, answer(request));
            }
        }
    });
    address
}

fn read(connection: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(connection);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut head, mut bytes) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(length) = line.strip_prefix("content-length: ") {
            bytes = length.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
        head += &format!("{line}\n");
    }
    let mut body = vec![0; bytes];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, target, head, body: String::from_utf8(body).unwrap() })
}

fn write(mut connection: &TcpStream, reply: Reply) {
    let Reply { status, head, body } = reply;
    let length = body.len();
    let _ =
        write!(connection, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{head}\r\n{body}");
}

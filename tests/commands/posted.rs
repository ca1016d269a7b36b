//! A server that gets requests with a body and keeps them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

/// A request that a server got: head in lower case, and body.
pub type Got = (String, Vec<u8>);

/// A server that answers with each of `answers` in turn, and ends then.
pub fn server(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<Got>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/posted", listener.local_addr().unwrap());
    let serve = move || {
        let answer = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            let head = head.to_ascii_lowercase();
            let length = field(&head, "content-length").parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            (head, body)
        };
        answers.iter().map(answer).collect()
    };
    (url, thread::spawn(serve))
}

pub fn field<'a>(head: &'a str, name: &str) -> &'a str {
    let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("{name} in {head}"))
}

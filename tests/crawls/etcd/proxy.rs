//! A way to etcd that loses answers, holds requests back, or is cut.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Fates of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is carried out, and the answer is lost.
    NoAnswer,
    /// It is held back until [`Proxy::let_go`], and has no answer.
    Late,
}

#[derive(Default)]
struct State {
    port: u16,
    /// Faults of the next transactions.
    faults: Mutex<VecDeque<Fault>>,
    held: Mutex<Vec<Vec<u8>>>,
    is_cut: AtomicBool,
    is_over: AtomicBool,
}

/// One endpoint, behind which is a member.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    pub fn new(member: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { port: member, ..State::default() });
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let state = shared.clone();
                // a fault of a connection is its client's to notice
                thread::spawn(move || _ = serve(stream, &state));
            }
        });
        Proxy { port, state }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// These happen to the next transactions, one to each.
    pub fn faults(&self, faults: &[Fault]) {
        self.state.faults.lock().unwrap().extend(faults);
    }

    /// Faults that have not happened yet.
    pub fn faults_left(&self) -> usize {
        self.state.faults.lock().unwrap().len()
    }

    /// Nothing comes through in either direction, or everything again.
    pub fn cut(&self, is_cut: bool) {
        self.state.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// Sends on what was held back; says how many requests that were.
    pub fn let_go(&self) -> usize {
        let held = std::mem::take(&mut *self.state.held.lock().unwrap());
        for request in &held {
            let mut upstream = TcpStream::connect(("127.0.0.1", self.state.port)).unwrap();
            upstream.write_all(request).unwrap();
            upstream.read_to_end(&mut Vec::new()).unwrap();
        }
        held.len()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// One request and its answer; the connection is not kept.
fn serve(client: TcpStream, state: &State) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap_or("0");
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_exact(&mut body)?;
    let (line, fields) = head.split_once("\r\n").unwrap();
    let request = [format!("{line}\r\nConnection: close\r\n{fields}").as_bytes(), &body].concat();
    wait_while_cut(state);
    let fault = match line.contains("/v3/kv/txn") {
        true => state.faults.lock().unwrap().pop_front(),
        false => None,
    };
    if fault == Some(Fault::Late) {
        state.held.lock().unwrap().push(request);
        return client.shutdown(Shutdown::Both);
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", state.port))?;
    upstream.write_all(&request)?;
    if fault == Some(Fault::NoAnswer) {
        upstream.read_to_end(&mut Vec::new())?;
        return client.shutdown(Shutdown::Both);
    }
    pass(upstream, client, state)
}

/// The answer, as it comes: it may be one without end.
fn pass(mut upstream: TcpStream, mut client: TcpStream, state: &State) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let count = upstream.read(&mut buffer)?;
        wait_while_cut(state);
        if count == 0 || state.is_over.load(Ordering::SeqCst) {
            return client.shutdown(Shutdown::Both);
        }
        client.write_all(&buffer[..count])?;
    }
}

fn wait_while_cut(state: &State) {
    while state.is_cut.load(Ordering::SeqCst) && !state.is_over.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(5));
    }
}

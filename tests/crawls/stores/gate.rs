//! A gate before a server: it passes connections on, breaks them after this many bytes, refuses the next ones, and
//! loses the answer of a chosen request.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct State {
    /// Bytes to the server after which everything breaks.
    left: Option<usize>,
    /// Connections that are refused from then on.
    to_refuse: usize,
    refused: usize,
    /// The server of connections behind the break, where it is another one.
    next_port: Option<u16>,
    open: Vec<TcpStream>,
    /// Bytes of the request whose answer is lost.
    lose: Option<Vec<u8>>,
}

pub struct Gate {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl Gate {
    /// Makes a gate before the server on `port`. Its threads end with their connections.
    pub fn before(port: u16) -> Gate {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let gate = Gate { port: listener.local_addr().unwrap().port(), state: state.clone() };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                accept(&state, client, port);
            }
        });
        gate
    }

    /// Breaks all connections after this many bytes to the server, and refuses so many after that.
    pub fn break_after(&self, bytes: usize, refuse: usize) {
        let mut state = self.state.lock().unwrap();
        (state.left, state.to_refuse, state.refused) = (Some(bytes), refuse, 0);
    }

    /// Leads connections behind the next break to the server on `port`.
    pub fn go_on_with(&self, port: u16) {
        self.state.lock().unwrap().next_port = Some(port);
    }

    /// Breaks and refuses nothing more.
    pub fn open(&self) {
        let mut state = self.state.lock().unwrap();
        (state.left, state.to_refuse) = (None, 0);
    }

    /// Connections refused.
    pub fn refused(&self) -> usize {
        self.state.lock().unwrap().refused
    }

    /// Passes the next request with `part` in it on, and breaks the connection in the place of its answer, once the
    /// server has sent that.
    pub fn lose_answer_of(&self, part: &[u8]) {
        self.state.lock().unwrap().lose = Some(part.to_vec());
    }

    /// Returns whether such an answer was lost.
    pub fn has_lost(&self) -> bool {
        self.state.lock().unwrap().lose.is_none()
    }
}

fn accept(state: &Arc<Mutex<State>>, client: TcpStream, port: u16) {
    let mut now = state.lock().unwrap();
    let is_broken = now.left == Some(0);
    if is_broken && now.to_refuse > 0 {
        now.to_refuse -= 1;
        now.refused += 1;
        return;
    }
    let port = now.next_port.filter(|_| is_broken).unwrap_or(port);
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    now.open.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    drop(now);
    let is_mute = Arc::new(AtomicBool::new(false));
    let (to, from) = ((client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client));
    let (state, mute) = (state.clone(), is_mute.clone());
    std::thread::spawn(move || copy(to.0, to.1, |piece| watch(&state, piece, &mute)));
    let mut lost = Vec::new();
    let lose = move |piece: &[u8]| {
        if !is_mute.load(Ordering::SeqCst) {
            return Fate::Passes;
        }
        lost.extend_from_slice(piece);
        if is_whole(&lost) { Fate::Breaks } else { Fate::Vanishes }
    };
    std::thread::spawn(move || copy(from.0, from.1, lose));
}

/// Fates of a piece.
enum Fate {
    Passes,
    /// It is not passed on, and what follows is looked at.
    Vanishes,
    /// The connection breaks in its place.
    Breaks,
}

/// Returns whether an answer has come to its end, as far as it says where that is: a server may send its head while it
/// is still at work.
fn is_whole(answer: &[u8]) -> bool {
    let head = String::from_utf8_lossy(answer).to_ascii_lowercase();
    !head.contains("transfer-encoding: chunked") || answer.ends_with(b"0\r\n\r\n")
}

/// The fate of a piece of a request.
fn watch(state: &Mutex<State>, piece: &[u8], mute: &AtomicBool) -> Fate {
    let mut state = state.lock().unwrap();
    if state.lose.as_ref().is_some_and(|part| piece.windows(part.len()).any(|window| window == part)) {
        state.lose = None;
        mute.store(true, Ordering::SeqCst);
    }
    match &mut state.left {
        Some(left) if *left > 0 => {
            *left = left.saturating_sub(piece.len());
            if *left > 0 {
                return Fate::Passes;
            }
            for stream in std::mem::take(&mut state.open) {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Fate::Breaks
        }
        _ => Fate::Passes,
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, mut fate: impl FnMut(&[u8]) -> Fate) {
    let mut piece = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        match fate(&piece[..length]) {
            Fate::Passes if to.write_all(&piece[..length]).is_ok() => {}
            Fate::Vanishes => {}
            Fate::Passes | Fate::Breaks => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

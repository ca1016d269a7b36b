//! A pseudo-terminal with a program on it, and the screen that people would see.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Nothing that is waited for takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(240);

/// A terminal on which a program runs.
pub struct Terminal {
    child: Child,
    pieces: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    size: (u16, u16),
}

impl Terminal {
    /// Starts `command` on a terminal of this many rows and columns.
    pub fn start(mut command: Command, (rows, columns): (u16, u16)) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let slave: OwnedFd = open();
        tcsetwinsize(&slave, size).unwrap();
        command.stdin(open()).stdout(open()).stderr(slave);
        let child = command.spawn().unwrap();
        // it holds the other ends: while they are open here, the terminal has no end
        drop(command);
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut master = File::from(master);
            let mut piece = vec![0; 64 << 10];
            // the end of a terminal is an error
            while let Ok(length @ 1..) = master.read(&mut piece) {
                if sender.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, pieces, bytes: Vec::new(), size: (rows, columns) }
    }

    /// Everything that was written to it.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    fn screen(&self) -> vt100::Parser {
        let mut parser = parser(self.size.0, self.size.1);
        parser.process(&self.bytes);
        parser
    }

    /// The rows that it shows.
    pub fn rows(&self) -> Vec<String> {
        self.screen().screen().rows(0, self.size.1).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Returns the text that was shown and not taken away, also text that went off the screen.
    pub fn all_text(&self) -> String {
        let mut parser = parser(2_000, self.size.1);
        parser.process(&self.bytes);
        parser.screen().contents()
    }

    /// Waits until the rows are as `wanted`.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&[String]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(&self.rows()) {
            let more = self.more(deadline);
            assert!(more, "{what}: the program ended or took too long before\n{}", self.rows().join("\n"));
        }
    }

    /// Waits until more than `length` bytes were written.
    #[track_caller]
    pub fn until_more_than(&mut self, length: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.bytes.len() <= length {
            assert!(self.more(deadline), "nothing more came\n{}", self.rows().join("\n"));
        }
    }

    /// Takes a piece of what is written; false at the end, and when it takes too long.
    fn more(&mut self, deadline: Instant) -> bool {
        match self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(piece) => {
                self.bytes.extend(piece);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for the end, and returns the exit code.
    #[track_caller]
    pub fn ended(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        while self.more(deadline) {}
        assert!(Instant::now() < deadline, "it did not end\n{}", self.rows().join("\n"));
        self.child.wait().unwrap().code().unwrap()
    }
}

fn parser(rows: u16, columns: u16) -> vt100::Parser {
    vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

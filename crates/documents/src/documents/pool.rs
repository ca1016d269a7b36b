//! The readers of a crawl: processes that are started when documents come, and each read many.

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::PAGE_SENT_MAX;
use super::child::ARGUMENT;
use super::wire::{self, Limits};
use crate::contract::{ConversionFailure, Converter};
use crate::web::format::Format;

/// Documents that a process reads before another takes its place: what a reader does not give back is given back then.
const DOCUMENTS_MAX: u32 = 200;
/// A reader may wait for a processor: by the clock it has so many times the time that it may work.
const PATIENCE: u32 = 6;

/// Options of reading documents.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// The program that is started, with [`ARGUMENT`]; this one itself where none is named.
    pub program: Option<PathBuf>,
    /// Formats that are read.
    pub formats: Vec<Format>,
    /// Documents that are read at the same time.
    pub readers: usize,
    /// Memory of a reader.
    pub memory: u64,
    /// Processor time that a document may take.
    pub time: Duration,
}

/// The readers of a crawl.
#[derive(Debug)]
pub struct Pool {
    options: PoolOptions,
    /// Readers that have no document.
    idle: Mutex<Vec<Reader>>,
}

impl Pool {
    /// A pool without a reader yet.
    pub fn new(options: PoolOptions) -> Pool {
        Pool { options, idle: Mutex::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Converter for Pool {
    fn reads(&self, format: Format) -> bool {
        self.options.formats.contains(&format)
    }

    fn at_once(&self) -> usize {
        self.options.readers
    }

    fn convert(&self, format: Format, document: &[u8]) -> Result<String, ConversionFailure> {
        let idle = self.idle().pop();
        let started = || Reader::start(&self.options).inspect_err(|error| tracing::warn!("no reader: {error}"));
        let mut reader = idle.map_or_else(started, Ok).map_err(|_| ConversionFailure::NoReader)?;
        let (page, is_usable) = reader.read(format, document, self.options.time);
        if is_usable {
            self.idle().push(reader);
        }
        page
    }
}

/// A process that reads documents.
#[derive(Debug)]
struct Reader {
    process: Child,
    asks: BufWriter<ChildStdin>,
    answers: ChildStdout,
    read: u32,
}

impl Reader {
    fn start(options: &PoolOptions) -> io::Result<Reader> {
        let itself = || {
            // also when its file has been replaced
            let link = PathBuf::from("/proc/self/exe");
            if link.exists() { Ok(link) } else { std::env::current_exe() }
        };
        let program = options.program.clone().map_or_else(itself, Ok)?;
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(asks), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut reader = Reader { process, asks: BufWriter::new(asks), answers, read: 0 };
        Limits { bytes: options.memory, seconds: options.time.as_secs() }.write(&mut reader.asks)?;
        Ok(reader)
    }

    /// The page of a document, and whether another document can be read.
    fn read(&mut self, format: Format, document: &[u8], time: Duration) -> (Result<String, ConversionFailure>, bool) {
        let Reader { process, asks, answers, read } = self;
        *read += 1;
        let exchange = move || {
            wire::ask(asks, format, document)?;
            wire::answered(answers, PAGE_SENT_MAX)
        };
        let (is_late, answer) = with_limit(process, time * PATIENCE, exchange);
        match answer {
            _ if is_late => (Err(ConversionFailure::Time), false),
            Ok(page) => (page, *read < DOCUMENTS_MAX),
            Err(_) => (Err(self.why_ended()), false),
        }
    }

    /// The reason for which the process has ended, or why it must.
    fn why_ended(&mut self) -> ConversionFailure {
        let _ = self.process.kill();
        self.process.wait().map_or(ConversionFailure::Crashed, why)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Does `work` with a process, which is ended where it takes longer than `limit`. Returns whether it was.
fn with_limit<T: Send>(process: &mut Child, limit: Duration, work: impl FnOnce() -> T + Send) -> (bool, T) {
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let guard = scope.spawn(move || {
            let is_late = is_done.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                let _ = process.kill();
            }
            is_late
        });
        let result = work();
        drop(done);
        (guard.join().unwrap_or(true), result)
    })
}

/// The reason that the end of a process tells.
#[cfg(unix)]
fn why(status: ExitStatus) -> ConversionFailure {
    use std::os::unix::process::ExitStatusExt;

    const ABORT: i32 = 6;
    const OUT_OF_TIME: i32 = 24;
    match status.signal() {
        // it has no memory, or no stack, and aborts
        Some(ABORT) => ConversionFailure::Memory,
        Some(OUT_OF_TIME) => ConversionFailure::Time,
        _ => ConversionFailure::Crashed,
    }
}

#[cfg(not(unix))]
fn why(_: ExitStatus) -> ConversionFailure {
    ConversionFailure::Crashed
}

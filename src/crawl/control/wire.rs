//! The format of the messages on the socket: one line of JSON there, one line of JSON back, then it is closed.
//!
//! ```text
//! {"command":"add-seeds","seeds":["https://example.com/"]}
//! {"ok":true,"message":"1 seed added","seeds":{"added":1,"known":0,"refused":[]},"checkpoint":17}
//! ```
//! Both sides read no more than a bounded line.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::socket;
use crate::container::retention::list::Act;
use crate::disk::DirectoryLock;
use crate::record::layout;
use crate::record::{Live, QueuedHosts};

/// Longest command, the line's end included.
pub(crate) const COMMAND_BYTES_MAX: usize = 1 << 20;
/// Longest answer: what is said of every seed of a command.
const REPLY_BYTES_MAX: usize = 16 << 20;
/// A command is sent, and one that needs no checkpoint is answered, within this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A command to a crawl. Those without words have braces, for serde to refuse words that they do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Report the state of the crawl.
    Status {},
    /// Report the hosts in memory with the longest queues.
    Hosts {
        /// Most hosts of each shard.
        limit: usize,
    },
    /// Make no new requests.
    Pause {},
    /// Continue after a pause.
    Resume {},
    /// Take more seeds in, each as a line of a seeds file has it; answered when they are durable.
    AddSeeds {
        /// The lines.
        seeds: Vec<String>,
    },
    /// Forget these URLs, or no longer: they are taken down as the list of what is forgotten has them.
    Forget {
        /// The acts by which URLs are forgotten, or taken back.
        acts: Vec<Act>,
    },
    /// Make a checkpoint; answered when it is durable.
    Checkpoint {},
    /// Stop gracefully; answered at once.
    Stop {},
    /// Read the configuration again.
    Reload {},
    /// Tell the address of the console, with the token for orders.
    Console {},
}

impl Command {
    /// Its name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Status {} => "status",
            Command::Hosts { .. } => "hosts",
            Command::Pause {} => "pause",
            Command::Resume {} => "resume",
            Command::AddSeeds { .. } => "add-seeds",
            Command::Forget { .. } => "forget",
            Command::Checkpoint {} => "checkpoint",
            Command::Stop {} => "stop",
            Command::Reload {} => "reload",
            Command::Console {} => "console",
        }
    }

    /// True if its answer waits for the disk, for as long as that takes.
    fn waits(&self) -> bool {
        matches!(self, Command::AddSeeds { .. } | Command::Checkpoint {})
    }
}

/// The answer of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// True if the command was carried out.
    pub ok: bool,
    /// Text that says what was done, or why not.
    pub message: String,
    /// State of the crawl (`status`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<Live>>,
    /// The hosts (`hosts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<QueuedHosts>,
    /// Results for the seeds (`add-seeds`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedsTaken>,
    /// Changes of the configuration (`reload`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsChanged>,
    /// The checkpoint that is durable now and has it (`checkpoint`, `add-seeds`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
    /// The address of the console, with its token (`console`): in no log, which has the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
}

impl Reply {
    /// The answer to a command that was carried out.
    pub(crate) fn done(message: impl Into<String>) -> Reply {
        Reply { ok: true, message: message.into(), ..Reply::default() }
    }

    /// The answer to a command that was not carried out.
    pub(crate) fn refused(why: impl Into<String>) -> Reply {
        Reply { message: why.into(), ..Reply::default() }
    }
}

/// The results for seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeedsTaken {
    /// Seeds that are new.
    pub added: u64,
    /// Seeds that the crawl had already.
    pub known: u64,
    /// Lines that are no seeds.
    pub refused: Vec<Refused>,
}

/// A line that is no seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The start of the line.
    pub seed: String,
    /// Fault of the line.
    pub why: String,
}

/// The changes that a configuration made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettingsChanged {
    /// Settings that are in effect now.
    pub changed: Vec<Change>,
    /// Settings that the file has otherwise, and that stay as they are.
    pub refused: Vec<NotChanged>,
}

/// A setting that is in effect now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `section.key`.
    pub key: String,
    /// Value before, as the file would have it.
    pub old: String,
    /// Value now.
    pub new: String,
}

/// A setting that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotChanged {
    /// `section.key`.
    pub key: String,
    /// Reason for which it stays.
    pub why: String,
}

/// The reason for which there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AskError {
    /// The directory is held by no process.
    #[error("no crawl is running in {}", .0.display())]
    NotRunning(PathBuf),
    /// A process holds the directory but does not listen.
    #[error(
        "a crawl has {} but does not listen: it is starting or ending, or could not create {} (its log says why)",
        .0.display(), layout::SOCKET
    )]
    NotListening(PathBuf),
    /// The command is too long to be sent.
    #[error("the command is longer than {COMMAND_BYTES_MAX} bytes")]
    TooLong,
    /// The crawl did not answer in time.
    #[error("the crawl in {} does not answer; is its process stopped or its disk stuck?", .0.display())]
    Silent(PathBuf),
    /// The crawl ended before it answered, or something else listens there.
    #[error("no answer from the crawl in {}: it has ended", .0.display())]
    NoAnswer(PathBuf),
    /// The socket.
    #[error("cannot talk to the crawl over {}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// `command` as it is sent.
pub fn line(command: &Command) -> Vec<u8> {
    let mut line = serde_json::to_vec(command).expect("a command consists of plain data");
    line.push(b'\n');
    line
}

/// Sends `command`. Where its answer waits for the disk, nobody knows for how long.
pub(super) fn ask(dir: &Path, command: &Command, patience: Duration) -> Result<Reply, AskError> {
    ask_within(dir, command, patience, (!command.waits()).then_some(patience))
}

/// The same, with the time that the answer may take.
pub(super) fn ask_within(
    dir: &Path,
    command: &Command,
    patience: Duration,
    answer_max: Option<Duration>,
) -> Result<Reply, AskError> {
    let line = line(command);
    if line.len() > COMMAND_BYTES_MAX {
        return Err(AskError::TooLong);
    }
    let mut stream = socket::connect(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused if DirectoryLock::is_held(dir) => {
            AskError::NotListening(dir.to_owned())
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => AskError::NotRunning(dir.to_owned()),
        _ => fault(dir, error),
    })?;
    stream.set_write_timeout(Some(patience)).map_err(|error| fault(dir, error))?;
    // a crawl that refuses before it has read all has answered all the same
    let sent = stream.write_all(&line);
    match (read_answer(&mut stream, dir, patience, answer_max), sent) {
        (Ok(answer), _) if answer.last() == Some(&b'\n') => {
            serde_json::from_slice(&answer).map_err(|_| AskError::NoAnswer(dir.to_owned()))
        }
        (Err(error), _) => Err(error),
        (_, Err(error)) => Err(fault(dir, error)),
        _ => Err(AskError::NoAnswer(dir.to_owned())),
    }
}

/// Reads up to a line end, for at most `answer_max`. Where that is not limited, somebody has to hold the directory, or
/// who listens is no crawl.
fn read_answer(
    stream: &mut UnixStream,
    dir: &Path,
    patience: Duration,
    answer_max: Option<Duration>,
) -> Result<Vec<u8>, AskError> {
    let end = answer_max.map(|max| Instant::now() + max);
    let (mut answer, mut piece) = (Vec::new(), [0; 8 << 10]);
    while !answer.ends_with(b"\n") && answer.len() < REPLY_BYTES_MAX {
        let left = end.map_or(patience, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(AskError::Silent(dir.to_owned()));
        }
        stream.set_read_timeout(Some(left)).map_err(|error| fault(dir, error))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => answer.extend_from_slice(&piece[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if end.is_none() && error.kind() == ErrorKind::WouldBlock => {
                if !DirectoryLock::is_held_or_listed(dir) {
                    return Err(AskError::NotRunning(dir.to_owned()));
                }
            }
            Err(error) => return Err(fault(dir, error)),
        }
    }
    Ok(answer)
}

fn fault(dir: &Path, source: io::Error) -> AskError {
    match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => AskError::Silent(dir.to_owned()),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => AskError::NoAnswer(dir.to_owned()),
        _ => AskError::Io { path: dir.join(layout::SOCKET), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_by_their_names_and_strangers_are_refused() {
        let all = [
            Command::Status {},
            Command::Hosts { limit: 7 },
            Command::Pause {},
            Command::Resume {},
            Command::AddSeeds { seeds: vec!["a.example".to_owned()] },
            Command::Checkpoint {},
            Command::Stop {},
            Command::Reload {},
            Command::Console {},
        ];
        for command in all {
            let line = line(&command);
            assert_eq!(serde_json::from_slice::<Command>(&line).unwrap(), command);
            let text = String::from_utf8(line).unwrap();
            assert!(text.starts_with(&format!("{{\"command\":\"{}\"", command.name())), "{text}");
            assert_eq!(text.matches('\n').count(), 1);
        }
        for strange in
            ["{\"command\":\"format\"}", "{\"command\":\"add-seeds\"}", "{}", "[]", "\"status\"", "{\"command\":7}"]
        {
            serde_json::from_str::<Command>(strange).unwrap_err();
        }
    }

    #[test]
    fn a_socket_that_says_nothing_or_never_ends_keeps_nobody_waiting() {
        const SHORT: Duration = Duration::from_millis(50);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(layout::SOCKET);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let listener = runtime.block_on(async {
            let socket = tokio::net::UnixSocket::new_stream().unwrap();
            socket.bind(path).unwrap();
            // few find a place in its queue
            socket.listen(4).unwrap().into_std().unwrap()
        });
        listener.set_nonblocking(false).unwrap();
        let asked = ask(dir.path(), &Command::Status {}, SHORT);
        assert!(matches!(asked, Err(AskError::Silent(_))), "{asked:?}");
        // an answer that waits for the disk is waited for only while somebody holds the directory
        let asked = ask(dir.path(), &Command::Checkpoint {}, SHORT);
        assert!(matches!(asked, Err(AskError::NotRunning(_))), "{asked:?}");
        // the two before are still in its queue, and so is what comes now, until that is full
        let is_taken = |asked: &io::Result<UnixStream>| asked.is_ok();
        let held: Vec<_> =
            std::iter::repeat_with(|| socket::connect(dir.path())).take(100).take_while(is_taken).collect();
        let asked = ask(dir.path(), &Command::Status {}, SHORT);
        assert!(held.len() < 100 && matches!(asked, Err(AskError::Silent(_))), "{asked:?}");
        drop(held);
        let drips = std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|mut stream| while stream.write_all(b" ").is_ok() {});
        });
        let asked = ask(dir.path(), &Command::Status {}, Duration::from_millis(500));
        assert!(asked.is_err() && !drips.is_finished(), "{asked:?}");
    }

    #[test]
    fn a_directory_without_a_crawl_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let asked = ask(dir.path(), &Command::Status {}, PATIENCE);
        assert!(matches!(asked, Err(AskError::NotRunning(_))), "{asked:?}");
        let _lock = DirectoryLock::acquire(dir.path()).unwrap();
        let asked = ask(dir.path(), &Command::Status {}, PATIENCE);
        assert!(matches!(asked, Err(AskError::NotListening(_))), "{asked:?}");
    }
}

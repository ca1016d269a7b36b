//! Exit codes, in one place: scripts rely on them.

use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::ConfigError;
use crate::crawl::CrawlError;
use crate::disk;
use crate::feed;
use crate::record::Finish;
use crate::store;
use crate::text::escape::{Escaped, escaped};

/// The ways in which the program ends; their numbers are its exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for is done.
    Done = 0,
    /// A fault of the program; for `get`, the URL is not in the archive; for `robots`, a URL is disallowed; for
    /// `ctl`, the crawl refused, or none is running.
    Internal = 1,
    /// The command line, the seeds or the configuration cannot be used.
    Usage = 2,
    /// State on disk is damaged, of a newer format, or a link where a file should be.
    Damaged = 3,
    /// The disk is full or fails.
    Disk = 4,
    /// Not one page could be fetched.
    NothingFetched = 5,
    /// Another process works on the directory.
    InUse = 6,
    /// Stopped gracefully by a signal or by `crawler ctl stop`.
    Stopped = 11,
    /// Stopped at once by a second signal.
    Forced = 13,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl From<Finish> for Exit {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::Complete
            | Finish::PageLimit
            | Finish::ByteLimit
            | Finish::TimeLimit
            | Finish::OnlySilentHosts
            | Finish::Fresh => Exit::Done,
            Finish::StoppedBySignal | Finish::StoppedByControl => Exit::Stopped,
            Finish::ForcedBySignal => Exit::Forced,
            Finish::DiskLow => Exit::Disk,
            Finish::LinksLost => Exit::Damaged,
        }
    }
}

impl From<&disk::Error> for Exit {
    fn from(error: &disk::Error) -> Self {
        match error {
            disk::Error::Damaged { .. } | disk::Error::Newer { .. } | disk::Error::Link { .. } => Exit::Damaged,
            disk::Error::InUse { .. } => Exit::InUse,
            _ => Exit::Disk,
        }
    }
}

impl From<&CrawlError> for Exit {
    fn from(error: &CrawlError) -> Self {
        match error {
            CrawlError::Disk(error) => error.into(),
            CrawlError::Usage(_) => Exit::Usage,
            CrawlError::NothingFetched(_) => Exit::NothingFetched,
            CrawlError::Store(store::Error::Damaged { .. }) => Exit::Damaged,
            CrawlError::Store(_) | CrawlError::Cluster(_) => Exit::Disk,
            CrawlError::Internal(_) => Exit::Internal,
        }
    }
}

/// A fault of a command line, a file or a setting that the user has to write differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// The error as the command line passes it on.
    pub(crate) fn because(problem: impl Into<String>) -> anyhow::Error {
        UsageError(problem.into()).into()
    }
}

/// An error of a feed: what the user can write differently is an error of usage.
pub(crate) fn of_feed(error: feed::Error) -> anyhow::Error {
    match error {
        feed::Error::Cursor(_) | feed::Error::OtherFeed | feed::Error::NoFeed(_) => {
            UsageError::because(error.to_string())
        }
        error => error.into(),
    }
}

/// A crawl that has no page yet.
#[derive(Debug, thiserror::Error)]
#[error("nothing is stored in {0} yet: the crawl has just begun, or ended before its first page")]
pub(super) struct NothingStored(pub String);

/// The exit code of an error. A reader that closed its end of our output has what it wanted: that is no error.
pub(super) fn of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<disk::Error>() {
            return error.into();
        }
        if let Some(error) = cause.downcast_ref::<CrawlError>() {
            return error.into();
        }
        if cause.is::<UsageError>() || cause.is::<NothingStored>() || cause.is::<ConfigError>() {
            return Exit::Usage;
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return if error.kind() == io::ErrorKind::BrokenPipe { Exit::Done } else { Exit::Disk };
        }
    }
    Exit::Internal
}

/// Returns the message of an error: every line is safe for a terminal, with advice where the system's word gives none.
pub(super) fn message(error: &anyhow::Error) -> String {
    let text = whole(error);
    let mut message = String::from("crawler: ");
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            message.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        message.push_str(&Escaped(line).to_string());
    }
    let of_crawl = error.chain().any(|cause| cause.is::<CrawlError>());
    if let Some(advice) = error.chain().find_map(|cause| advice(cause, of_crawl)) {
        message.push_str(advice);
    }
    message.push('\n');
    message
}

/// Text for the error where a command does not read a store.
const NO_STORE: &str = "
This command needs the directory of a crawl. A store is read by list, get, extract, changes, diff, export, report,
explain and verify; crawler cluster status shows a crawl on many machines.
";

/// Returns the message for a command line that cannot be read. It quotes words that were typed, or that a script was
/// given: they are escaped one by one, so that none of them looks like a separate line.
pub(super) fn misread(mut error: clap::Error) -> String {
    let words: Vec<_> = error.context().map(|(kind, word)| (kind, word.clone())).collect();
    for (kind, word) in words {
        let safe = match word {
            ContextValue::String(word) => ContextValue::String(escaped(&word)),
            ContextValue::Strings(words) => ContextValue::Strings(words.iter().map(|word| escaped(word)).collect()),
            _ => continue,
        };
        error.insert(kind, safe);
    }
    let mut text = error.render().to_string();
    let is_store = |word: &ContextValue| matches!(word, ContextValue::String(word) if word == "--store");
    if error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::InvalidArg).is_some_and(is_store) {
        text += NO_STORE;
    }
    text.lines().map(|line| format!("{}\n", Escaped(line))).collect()
}

/// The error and its causes, each but where the words before have said it.
fn whole(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns what the user can do: a crawl goes on where it was, every other command begins again.
fn advice(cause: &(dyn std::error::Error + 'static), of_crawl: bool) -> Option<&'static str> {
    /// EMFILE and ENFILE.
    const OUT_OF_FILES: [i32; 2] = [24, 23];
    if let Some(CrawlError::Disk(disk::Error::Damaged { .. })) = cause.downcast_ref() {
        return Some("\n  crawler verify reports all damage; crawler verify --rebuild rebuilds what can be rebuilt");
    }
    let error = cause.downcast_ref::<io::Error>()?;
    if error.raw_os_error().is_some_and(|code| OUT_OF_FILES.contains(&code)) {
        return Some(
            "\n  raise the limit of open files (ulimit -n), or lower fetch.workers and fetch.slow_workers; then run \
             the same command again",
        );
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => Some("\n  check its owner and permissions, or choose another --dir"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if !of_crawl => {
            Some("\n  free some space where the output goes, then run the same command again")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("\n  free some space, then run the same command again: it resumes from the last checkpoint")
        }
        io::ErrorKind::FileTooLarge if !of_crawl => {
            Some("\n  the file size limit is reached: raise it (ulimit -f), then run the same command again")
        }
        io::ErrorKind::FileTooLarge => Some(
            "\n  the file size limit is reached: raise it (ulimit -f), then run the same command again: it resumes \
             from the last checkpoint",
        ),
        io::ErrorKind::ReadOnlyFilesystem => Some("\n  the disk is mounted read-only: choose another --dir"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn io_error(kind: io::ErrorKind) -> anyhow::Error {
        CrawlError::Disk(disk::Error::io("write", Path::new("crawl/x"), kind.into())).into()
    }

    #[test]
    fn every_finish_and_every_fault_has_its_code() {
        assert_eq!(Exit::from(Finish::Complete) as u8, 0);
        assert_eq!(Exit::from(Finish::TimeLimit) as u8, 0);
        assert_eq!(Exit::from(Finish::OnlySilentHosts) as u8, 0);
        assert_eq!(Exit::from(Finish::DiskLow) as u8, 4);
        assert_eq!(Exit::from(Finish::LinksLost) as u8, 3);
        assert_eq!(Exit::from(Finish::StoppedBySignal) as u8, 11);
        assert_eq!(Exit::from(Finish::StoppedByControl) as u8, 11);
        assert_eq!(Exit::from(Finish::ForcedBySignal) as u8, 13);
        let path = Path::new("crawl/x");
        let damaged = disk::Error::damaged(path, 7, "a", "b");
        let newer = disk::Error::Newer { path: path.into(), found: 9, known: 1 };
        let in_use = disk::Error::InUse { path: path.into(), holder: "4711".to_owned() };
        let (poisoned, limit) = (disk::Error::poisoned("write", path), disk::Error::limit("write", path, "too much"));
        assert_eq!(of(&poisoned.into()), Exit::Disk);
        assert_eq!(of(&CrawlError::Disk(limit).into()), Exit::Disk);
        assert_eq!(of(&damaged.into()), Exit::Damaged);
        assert_eq!(of(&CrawlError::Disk(newer).into()), Exit::Damaged);
        assert_eq!(of(&CrawlError::Disk(in_use).into()), Exit::InUse);
        assert_eq!(of(&io_error(io::ErrorKind::StorageFull)), Exit::Disk);
        assert_eq!(of(&CrawlError::NothingFetched("x".to_owned()).into()), Exit::NothingFetched);
        assert_eq!(of(&UsageError::because("x")), Exit::Usage);
        assert_eq!(of(&anyhow::anyhow!("x")), Exit::Internal);
        assert_eq!(of(&io::Error::from(io::ErrorKind::BrokenPipe).into()), Exit::Done);
    }

    #[test]
    fn the_documentation_has_every_code() {
        let operating = include_str!("../../docs/OPERATING.md");
        let commands = include_str!("../../docs/COMMANDS.md");
        let codes = commands.split("Exit codes: ").nth(1).and_then(|text| text.split("\n\n").next()).unwrap();
        for exit in [
            Exit::Done,
            Exit::Internal,
            Exit::Usage,
            Exit::Damaged,
            Exit::Disk,
            Exit::NothingFetched,
            Exit::InUse,
            Exit::Stopped,
            Exit::Forced,
        ] {
            let code = exit as u8;
            assert!(operating.contains(&format!("\n| {code} | ")), "{exit:?} is not in docs/OPERATING.md");
            let is_there = codes.split([' ', '\n']).any(|word| word == code.to_string());
            assert!(is_there, "{exit:?} is not in docs/COMMANDS.md: {codes}");
        }
    }

    #[test]
    fn a_full_or_forbidden_disk_says_what_to_do() {
        assert!(message(&io_error(io::ErrorKind::StorageFull)).contains("free some space"));
        assert!(message(&io_error(io::ErrorKind::FileTooLarge)).contains("ulimit -f"));
        assert!(message(&io_error(io::ErrorKind::PermissionDenied)).contains("choose another --dir"));
        assert!(message(&io_error(io::ErrorKind::StorageFull)).contains("crawl/x"));
    }

    #[test]
    fn n09_damage_that_stops_a_crawl_names_the_command_that_tells_all_of_it() {
        let missing = disk::Error::io("open", Path::new("crawl/pages/address.idx"), io::ErrorKind::NotFound.into());
        let error: anyhow::Error = CrawlError::Disk(missing.of_named_file()).into();
        assert_eq!(of(&error), Exit::Damaged);
        let said = message(&error);
        assert!(said.contains("address.idx") && said.contains("crawler verify --rebuild"), "{said}");
    }

    #[test]
    fn a_full_format_is_not_taken_for_a_limit_of_the_system() {
        let error =
            disk::Error::limit("append to", Path::new("crawl/pages/key.dat"), "it is full: begin another crawl");
        let said = message(&CrawlError::Disk(error).into());
        assert!(said.contains("begin another crawl") && !said.contains("ulimit"), "{said}");
    }

    #[test]
    fn n14_too_few_open_files_say_what_to_do() {
        let error = disk::Error::io("open", Path::new("crawl/x"), io::Error::from_raw_os_error(24));
        let said = message(&CrawlError::Disk(error).into());
        assert!(said.contains("ulimit -n") && said.contains("fetch.workers"), "{said}");
    }

    #[test]
    fn only_a_crawl_is_said_to_go_on() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(message(&io_error(io::ErrorKind::StorageFull)).contains("it resumes from the last checkpoint"));
        let written = disk::Error::io("write", Path::new("x.warc.gz.part"), full());
        for error in [full().into(), written.into()] {
            let said = message(&error);
            assert!(said.contains("free some space") && !said.contains("goes on"), "{said}");
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow::Error::from(io::Error::other("no space")).context("cannot write x").context("cannot end");
        assert_eq!(message(&error), "crawler: cannot end: cannot write x: no space\n");
        let said = message(&io_error(io::ErrorKind::NotFound));
        assert_eq!(said.matches("entity not found").count(), 1, "{said}");
    }

    #[test]
    fn an_error_that_quotes_the_web_cannot_move_the_cursor() {
        let said = message(&anyhow::anyhow!("bad \x1b[2J thing\r\nsecond"));
        assert_eq!(said, "crawler: bad \\x1b[2J thing\n  second\n");
    }
}

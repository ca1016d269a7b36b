//! `crawler ctl`: sends commands to a running crawl, over the socket in its directory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::exit::{Exit, UsageError};
use super::{run, status};
use crate::crawl::control::ask;
use crate::crawl::control::wire::{AskError, COMMAND_BYTES_MAX, Command, Refused, Reply, line};
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk};
use crate::record::{Snapshot, State};
use crate::text::escape::{Escaped, escaped, json_line};
use crate::web::seeds::LINE_BYTES_MAX;

/// Bytes of a line that are sent: one that has them all is refused as too long.
const LINE_SENT_MAX: usize = LINE_BYTES_MAX + 1;
/// Refused lines that are reported one by one.
const REFUSED_TOLD: usize = 20;
/// A crawl that stops is looked at this often.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(after_help = "\
Sends a command to the running crawl over the socket control.sock in its directory. Only the user who runs the crawl \
can do that. Replies go to standard output; with --json, as the one line of JSON that the crawl sent.

Examples:
  crawler ctl status
  crawler ctl pause --dir news
  crawler ctl add-seeds example.com https://example.org/news/
  crawler ctl add-seeds --file more.txt
  crawler ctl reload
  crawler ctl console
  crawler ctl stop --wait && crawler verify

Exit codes: 0 done, 1 refused or no crawl is running, 2 usage, 4 the socket or a file fails.")]
pub(super) struct CtlArgs {
    /// Crawl directory
    #[arg(long, value_name = "DIR", default_value = "./crawl", global = true)]
    dir: PathBuf,
    /// Print the crawl's reply as one line of JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the state of the crawl at this moment
    Status,
    /// Start no new requests; requests in flight finish, and checkpoints continue
    ///
    /// A pause lasts until resume or until the process ends: a crawl that is started again is not paused.
    /// crawl.max_time keeps running during a pause.
    Pause,
    /// Continue after a pause
    Resume,
    /// Add seeds as if they were in the seeds file, which is not changed
    ///
    /// When the command returns, the seeds are in a durable checkpoint and survive a crash. URLs that the crawl has
    /// seen already are not fetched again.
    AddSeeds(SeedsArgs),
    /// Make a checkpoint, and wait until it is durable
    Checkpoint,
    /// Stop gracefully, like SIGTERM
    Stop(StopArgs),
    /// Read the file of --config again: limits, politeness, budgets and scope patterns take effect
    ///
    /// Queued URLs that a new exclude pattern matches are dropped too. Limits from the command line that started the
    /// crawl still take precedence. Other settings take effect at the next start, or were fixed when the crawl was
    /// created; the reply names them.
    Reload,
    /// Print the address of the crawl's console, with the token that permits orders
    Console,
}

#[derive(Debug, Args)]
struct SeedsArgs {
    /// URLs, or hosts without scheme
    #[arg(value_name = "URL", required_unless_present = "file")]
    urls: Vec<String>,
    /// File of URLs, one per line; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct StopArgs {
    /// Wait until the crawl has ended and its directory is free
    #[arg(long)]
    wait: bool,
}

impl CtlArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        run::require_crawl(&self.dir)?;
        match &self.what {
            What::Status => self.command(&Command::Status {}),
            What::Pause => self.command(&Command::Pause {}),
            What::Resume => self.command(&Command::Resume {}),
            What::Checkpoint => self.command(&Command::Checkpoint {}),
            What::Reload => self.command(&Command::Reload {}),
            What::Console => self.command(&Command::Console {}),
            What::Stop(stop) => match self.command(&Command::Stop {})? {
                Exit::Done if stop.wait => self.wait_for_end(),
                exit => Ok(exit),
            },
            What::AddSeeds(seeds) => self.add_seeds(seeds.lines()?),
        }
    }

    /// Lines that are no seeds do not keep the others from being added; a crawl that refuses or ends does.
    fn add_seeds(&self, lines: Vec<String>) -> anyhow::Result<Exit> {
        let (mut exit, mut refused) = (Exit::Done, 0);
        for batch in batches(lines) {
            let Some(reply) = self.send(&batch)? else { return Ok(Exit::Internal) };
            for Refused { seed, why } in reply.seeds.iter().flat_map(|seeds| &seeds.refused) {
                refused += 1;
                if refused <= REFUSED_TOLD {
                    refuse(&format!("{seed}: {why}"));
                }
            }
            match &reply.seeds {
                Some(_) if reply.ok => {}
                Some(_) => exit = Exit::Internal,
                None => return Ok(refuse(&reply.message)),
            }
        }
        if let Some(more) = refused.checked_sub(REFUSED_TOLD).filter(|&more| more > 0) {
            refuse(&format!("{more} more lines were rejected"));
        }
        Ok(exit)
    }

    /// Sends one command, and prints what comes back.
    fn command(&self, command: &Command) -> anyhow::Result<Exit> {
        match self.send(command)? {
            Some(reply) if reply.ok => Ok(Exit::Done),
            Some(reply) => Ok(refuse(&reply.message)),
            None => Ok(Exit::Internal),
        }
    }

    /// Sends one command, and prints what was done; nothing where nobody answers, which is said.
    fn send(&self, command: &Command) -> anyhow::Result<Option<Reply>> {
        let reply = match ask(&self.dir, command) {
            Ok(reply) => reply,
            Err(AskError::Io { path, source }) => {
                return Err(crate::disk::Error::io("use", &path, source).into());
            }
            Err(refusal) => {
                refuse(&refusal.to_string());
                return Ok(None);
            }
        };
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{}", json_line(&reply)?)?;
        } else {
            out.write_all(text(&reply, &self.dir)?.as_bytes())?;
        }
        out.flush()?;
        Ok(Some(reply))
    }

    /// Waits until nobody holds the directory, and says how the crawl ended.
    fn wait_for_end(&self) -> anyhow::Result<Exit> {
        while DirectoryLock::is_held(&self.dir) {
            std::thread::sleep(LOOK);
        }
        let end = Snapshot::read(&Disk::real(), &self.dir)?;
        if end.is_none() && CrawlDirs::find(&Disk::real(), &self.dir)?.is_sharded() {
            // a node of a crawl on many machines: the state of the crawl is not in this directory
            writeln!(io::stdout(), "ended")?;
            return Ok(Exit::Done);
        }
        let end = end.filter(|end| end.state != State::Running);
        let Some(finish) = end.and_then(|end| end.finish) else {
            return Ok(refuse("the crawl was killed before it stopped; run the same command again to resume"));
        };
        if !self.json {
            writeln!(io::stdout(), "ended: {finish}")?;
        }
        Ok(Exit::Done)
    }
}

/// Says why not.
fn refuse(why: &str) -> Exit {
    let _ = writeln!(io::stderr(), "crawler: {}", Escaped(why));
    Exit::Internal
}

impl SeedsArgs {
    /// The lines that are to be added.
    fn lines(&self) -> anyhow::Result<Vec<String>> {
        let mut lines = self.urls.clone();
        if let Some(path) = &self.file {
            let bytes = run::read_whole(path).map_err(|error| match error.kind() {
                io::ErrorKind::FileTooLarge => {
                    UsageError::because(format!("{} is longer than 1 GiB: split it", path.display()))
                }
                _ => UsageError::because(format!("cannot read the seeds in {}: {error}", path.display())),
            })?;
            let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
            let is_seed = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
            lines.extend(text.lines().filter(is_seed).map(str::to_owned));
        }
        match lines.is_empty() {
            true => Err(UsageError::because("the file has no URL; write one per line")),
            false => Ok(lines),
        }
    }
}

/// `lines` in commands that a crawl reads; a line that is too long for one is sent by its start, and refused there.
fn batches(lines: Vec<String>) -> impl Iterator<Item = Command> {
    let empty = line(&Command::AddSeeds { seeds: Vec::new() }).len();
    let mut lines = lines.into_iter().peekable();
    std::iter::from_fn(move || {
        let (mut seeds, mut bytes) = (Vec::new(), empty);
        while let Some(text) = lines.peek() {
            let text = &text[..text.floor_char_boundary(LINE_SENT_MAX)];
            // what JSON escapes takes six bytes at most
            let more = 6 * text.len() + 3;
            if bytes + more > COMMAND_BYTES_MAX && !seeds.is_empty() {
                break;
            }
            bytes += more;
            seeds.push(text.to_owned());
            lines.next();
        }
        (!seeds.is_empty()).then_some(Command::AddSeeds { seeds })
    })
}

/// An answer for people.
fn text(reply: &Reply, dir: &Path) -> anyhow::Result<String> {
    if let Some(live) = &reply.status {
        return status::text_of(live, dir);
    }
    if let Some(console) = &reply.console {
        return Ok(format!("{}\n", escaped(console)));
    }
    let mut text = if reply.ok { format!("{}\n", escaped(&reply.message)) } else { String::new() };
    if let (Some(checkpoint), Some(_)) = (reply.checkpoint, &reply.seeds) {
        // also where some lines were refused: the others are in
        text = format!("{}, in checkpoint {checkpoint}\n", escaped(&reply.message));
    }
    if let Some(settings) = &reply.settings {
        for change in &settings.changed {
            let (old, new) = (escaped(&change.old), escaped(&change.new));
            text.push_str(&format!("{}: {old} -> {new}\n", escaped(&change.key)));
        }
        for setting in &settings.refused {
            text.push_str(&format!("{} {}\n", escaped(&setting.key), escaped(&setting.why)));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_seeds_goes_in_commands_that_a_crawl_reads() {
        let hostile = "\u{1}".repeat(3_000);
        let lines: Vec<String> =
            (0..40_000).map(|number| format!("https://example.com/a/long/way/to/{number}")).collect();
        let all = [lines.clone(), vec![hostile.clone(); 400], vec!["x".repeat(3 << 20)]].concat();
        let batches: Vec<Command> = batches(all.clone()).collect();
        assert!(batches.len() > 2);
        let mut sent = Vec::new();
        for batch in batches {
            assert!(line(&batch).len() <= COMMAND_BYTES_MAX);
            let Command::AddSeeds { seeds } = batch else { panic!() };
            sent.extend(seeds);
        }
        assert_eq!(sent.len(), all.len());
        assert_eq!(sent[..lines.len()], lines);
        assert_eq!(sent[lines.len()], hostile);
    }
}

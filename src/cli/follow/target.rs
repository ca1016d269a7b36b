//! Targets of batches of lines, and trying again until they have arrived.

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::batch::{Batch, Failure};
use super::exec::{EachPage, Reader};
use super::webhook::Webhook;
use crate::sink::Backoff;
use crate::text::escape::Escaped;
use crate::text::figures::brief;
use crate::web::secret::SecretAddress;

/// The target of batches.
pub(super) enum Target {
    /// Standard output.
    Output,
    /// A program that reads each batch.
    Reader(Reader, Option<u32>),
    /// A program for each page.
    EachPage(EachPage, Option<u32>),
    /// A web server.
    Webhook(Box<Webhook>, Option<u32>),
}

impl Target {
    /// The program of `--exec`.
    pub(crate) fn exec(command: &str, retries: Option<u32>) -> anyhow::Result<Target> {
        Ok(match EachPage::parse(command)? {
            Some(program) => Target::EachPage(program, retries),
            None => Target::Reader(Reader::new(command), retries),
        })
    }

    /// The server of `--webhook`.
    pub(crate) fn webhook(url: &SecretAddress, secret: &Path, retries: Option<u32>) -> anyhow::Result<Target> {
        Ok(Target::Webhook(Box::new(Webhook::new(url, secret)?), retries))
    }

    /// True if lines are delivered one by one.
    pub(crate) fn takes_single_lines(&self) -> bool {
        matches!(self, Target::EachPage(..))
    }

    /// Delivers `batch`. It has arrived when this returns.
    pub(crate) fn deliver(&mut self, batch: &Batch) -> anyhow::Result<()> {
        match self {
            Target::Output => {
                let mut out = io::stdout().lock();
                out.write_all(batch.text())?;
                Ok(out.flush()?)
            }
            Target::Reader(program, retries) => again(*retries, || program.deliver(batch)),
            Target::EachPage(program, retries) => {
                batch.pages().try_for_each(|(url, line)| again(*retries, || program.deliver(url, line)))
            }
            Target::Webhook(server, retries) => again(*retries, || server.deliver(batch)),
        }
    }
}

/// Tries until it is done, or has failed too often.
fn again(retries: Option<u32>, mut deliver: impl FnMut() -> Result<(), Failure>) -> anyhow::Result<()> {
    let mut backoff = Backoff::default();
    loop {
        let Err(Failure { why, wait }) = deliver() else { return Ok(()) };
        if retries.is_some_and(|retries| backoff.failures() >= retries) {
            anyhow::bail!("not delivered: {}; the cursor is before it: the same command tries again", Escaped(&why));
        }
        pause(backoff.wait(wait), &why);
    }
}

/// Waits after a failed delivery, and says so.
pub(super) fn pause(wait: Duration, why: &str) {
    let _ = writeln!(io::stderr(), "crawler: not delivered, tried again in {}: {}", brief(wait), Escaped(why));
    thread::sleep(wait);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_again_as_often_as_it_may() {
        let mut tries = 0;
        again(Some(1), || {
            tries += 1;
            if tries == 2 { Ok(()) } else { Err(Failure::because("no")) }
        })
        .unwrap();
        assert_eq!(tries, 2);
        let error = again(Some(0), || Err(Failure::because("no\x1b[2J"))).unwrap_err().to_string();
        assert!(error.contains("not delivered: no\\x1b[2J"), "{error}");
    }
}

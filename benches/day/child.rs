//! The process of the web, as the bench sees it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};

use super::options::Options;
use super::web::{Ready, Served};

/// A web that runs in a process of its own, on the core of its parent. It ends when this is dropped.
pub struct WebProcess {
    child: Child,
    said: BufReader<ChildStdout>,
    asked: Option<ChildStdin>,
    pub ready: Ready,
}

impl WebProcess {
    /// Starts the web of `options`, whose root certificate comes into the file `root`.
    pub fn start(options: &Options, root: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(options.web_words()).arg("--pinned").arg("--serve").arg(root);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let asked = child.stdin.take();
        let mut said = BufReader::new(child.stdout.take().context("standard output is a pipe")?);
        let ready = serde_json::from_str(&line(&mut said)?).context("the web did not start")?;
        Ok(WebProcess { child, said, asked, ready })
    }

    /// Its number as a process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks what was served so far.
    pub fn served(&mut self) -> Result<Served> {
        let asked = self.asked.as_mut().context("it is asked only while it runs")?;
        asked.write_all(b"\n")?;
        asked.flush()?;
        serde_json::from_str(&line(&mut self.said)?).context("the web has ended")
    }
}

impl Drop for WebProcess {
    fn drop(&mut self) {
        drop(self.asked.take());
        // it ends with its standard input
        let _ = self.child.wait();
    }
}

fn line(said: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    said.read_line(&mut line)?;
    Ok(line)
}

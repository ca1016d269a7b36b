//! A crawler with an open console, and what its start line says.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::console::address_by_ctl;
use crate::site::{Crawl, PATIENCE, ms};

/// A process that serves a console.
pub struct Open {
    child: Child,
    said: Arc<Mutex<String>>,
    /// The address in the start line, with the token.
    pub url: String,
}

impl Open {
    /// Starts the crawl with a console.
    pub fn crawl(crawl: &Crawl) -> Open {
        Open::of(crawl.start(&["--console", "127.0.0.1:0"]))
    }

    /// Opens a console on a directory.
    pub fn directory(crawl: &Crawl) -> Open {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["console", "--dir", "crawl", "--address", "127.0.0.1:0"]).current_dir(crawl.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Open::of(command.spawn().unwrap())
    }

    /// The process of a console that was started.
    pub fn of(mut child: Child) -> Open {
        let said = Arc::new(Mutex::new(String::new()));
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let said = said.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    said.lock().unwrap().push_str(&(line + "\n"));
                }
            });
        }
        let start = Instant::now();
        let url = loop {
            let mut text = said.lock().unwrap().clone();
            text.extend(address_by_ctl(&text, &child));
            if let Some(url) = text.split_whitespace().find(|word| word.contains("/#token=")) {
                break url.to_owned();
            }
            let is_over = child.try_wait().unwrap().is_some();
            assert!(!is_over && start.elapsed() < PATIENCE, "no console: {text}");
            std::thread::sleep(ms(5));
        };
        Open { child, said, url }
    }

    /// `http://address:port`.
    pub fn origin(&self) -> String {
        self.url.split("/#").next().unwrap().to_owned()
    }

    /// Waits for the end of the process, and gives its exit code and what it said.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(start.elapsed() < PATIENCE, "it does not end: {}", self.said.lock().unwrap());
            std::thread::sleep(ms(5));
        };
        let said = self.said.lock().unwrap().clone();
        (code, said)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

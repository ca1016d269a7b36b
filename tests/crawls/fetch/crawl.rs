//! A crawl by the real binary, against servers and name servers of the tests' own.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::client::PATIENCE;

/// Results that a crawl left.
pub struct Crawled {
    pub dir: tempfile::TempDir,
    pub code: Option<i32>,
    pub crawl_log: String,
    pub skipped: String,
    /// The most memory that was seen of the process, where the system tells.
    pub peak_bytes: u64,
}

/// A crawl that may connect to `allow`, waits for nothing, and ends by itself or after `PATIENCE`.
pub struct Plan<'a> {
    pub seeds: &'a [String],
    /// A range of addresses.
    pub allow: &'a str,
    /// Address of the name server. `127.0.0.1:9` for none.
    pub names: String,
    /// Limits in the section `scope`.
    pub scope: &'a str,
    /// More lines of the configuration, from `[crawl]` on.
    pub extra: &'a str,
    pub environment: &'a [(&'a str, String)],
}

impl<'a> Plan<'a> {
    /// A crawl of servers at 127.0.0.1.
    pub fn of(seeds: &'a [String]) -> Self {
        Plan { seeds, allow: "127.0.0.1/32", names: "127.0.0.1:9".to_owned(), scope: "", extra: "", environment: &[] }
    }

    pub fn run(&self) -> Crawled {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("seeds.txt"), self.seeds.join("\n")).unwrap();
        // requests are counted, and few servers have one
        let icons = if self.scope.contains("favicon") { "" } else { "favicon = false\n" };
        let config = format!(
            "[network]\nallow = [\"{}\"]\n\
             [dns]\nnameservers = [\"{}\"]\ntimeout = \"1s\"\n[scope]\nmode = \"any\"\n{icons}{}\n\
             [politeness]\ndelay_min = \"0s\"\ndelay_factor = 0.0\ndelay_per_ip = \"0s\"\ngive_up = \"1s\"\n\
             [crawl]\ndisk_floor = 0\n{}",
            self.allow, self.names, self.scope, self.extra
        );
        std::fs::write(dir.path().join("crawler.toml"), config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
            .args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "-q"])
            .current_dir(dir.path())
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let (start, mut peak_bytes) = (Instant::now(), 0);
        while child.try_wait().unwrap().is_none() {
            peak_bytes = peak_bytes.max(peak_memory(child.id()));
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                let log = std::fs::read_to_string(dir.path().join("crawl/logs/crawl.log")).unwrap_or_default();
                panic!("the crawl did not end:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = child.wait().unwrap().code();
        let read = |name: &str| std::fs::read_to_string(dir.path().join("crawl/logs").join(name)).unwrap_or_default();
        let (crawl_log, skipped) = (read("crawl.log"), read("skipped.jsonl"));
        Crawled { dir, code, crawl_log, skipped, peak_bytes }
    }
}

impl Crawled {
    /// The lines of crawl.log for `url`.
    pub fn lines(&self, url: &str) -> Vec<&str> {
        self.crawl_log.lines().filter(|line| line.split_whitespace().nth(3) == Some(url)).collect()
    }

    /// Fails unless a line of crawl.log for `url` says `words`.
    #[track_caller]
    pub fn expect(&self, url: &str, words: &str) {
        let told = self.lines(url).iter().any(|line| line.contains(words));
        assert!(told, "{words:?} of {url} is missing in\n{}\n{}", self.crawl_log, self.skipped);
    }

    /// Fails unless skipped.jsonl has `url` with this reason.
    #[track_caller]
    pub fn expect_skipped(&self, url: &str, reason: &str) {
        let wanted = format!("\"{url}\"");
        let told = self.skipped.lines().any(|line| line.contains(&wanted) && line.contains(reason));
        assert!(told, "{reason:?} of {url} is missing in\n{}\n{}", self.crawl_log, self.skipped);
    }

    /// Returns what a command says of the crawl. It has to succeed.
    pub fn ask(&self, command: &[&str]) -> String {
        let output = self.try_ask(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns how a command about the crawl ends.
    pub fn try_ask(&self, command: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_crawler"))
            .args(command)
            .args(["--dir", "crawl"])
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }
}

/// The most memory that process `id` has held; 0 where the system does not tell.
fn peak_memory(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) << 10
}

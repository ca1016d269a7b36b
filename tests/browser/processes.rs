//! Processes of a browser, as the kernel tells them.

use std::path::Path;
use std::time::Instant;

use crate::PATIENCE;

/// A process: its number, and the ticks at which it started, which no later one with the same number has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub started: u64,
    pub state: String,
    pub command: String,
}

impl Process {
    pub fn read(pid: i32) -> Option<Process> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let words: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let command = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).ok()?).replace('\0', " ");
        let (state, parent, started) = (words[0].to_owned(), words[1].parse().ok()?, words[19].parse().ok()?);
        Some(Process { pid, parent, started, state, command })
    }

    /// Returns whether the process is still there. One that is dead and only not waited for is not.
    pub fn lives(&self) -> bool {
        Process::read(self.pid).is_some_and(|now| now.started == self.started && now.state != "Z" && now.state != "X")
    }

    pub fn is_renderer(&self) -> bool {
        self.command.contains("--type=renderer")
    }

    /// A line of `/proc/PID/status`.
    pub fn status(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    }

    /// Returns the memory that it takes, in bytes: its proportional set size where that may be read, else the memory
    /// that is in no file.
    pub fn memory(&self) -> u64 {
        let line = |file: &str, name: &str| {
            let text = std::fs::read_to_string(format!("/proc/{}/{file}", self.pid)).ok()?;
            let kib = text.lines().find_map(|line| line.strip_prefix(name)?.strip_suffix("kB"))?.trim().parse::<u64>();
            Some(kib.ok()? << 10)
        };
        line("smaps_rollup", "Pss:").or_else(|| line("status", "RssAnon:")).unwrap_or_default()
    }

    pub fn kill(&self, signal: rustix::process::Signal) {
        assert!(self.lives(), "{self:?}");
        rustix::process::kill_process(rustix::process::Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }
}

/// All processes of the browsers with profiles below `dir`.
pub fn of(dir: &Path) -> Vec<Process> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<Process> = numbers.filter_map(Process::read).filter(|process| process.state != "Z").collect();
    let profile = format!("--user-data-dir={}/", dir.display());
    let mut found: Vec<Process> = all.iter().filter(|process| process.command.contains(&profile)).cloned().collect();
    let mut at = 0;
    while at < found.len() {
        let parent = found[at].pid;
        let below = all.iter().filter(|process| process.parent == parent);
        let below: Vec<Process> = below.filter(|process| !found.contains(process)).cloned().collect();
        found.extend(below);
        at += 1;
    }
    found
}

/// The browser itself, not what starts it nor what it starts.
pub fn browser(dir: &Path) -> Process {
    let all = of(dir);
    let is_browser = |process: &&Process| {
        !process.command.contains("--type=")
            && !process.command.starts_with("unshare")
            // the headless shell of Debian is started by a script that waits for it
            && !process.command.starts_with("/bin/sh")
            && process.command.contains("hrom")
    };
    all.iter().find(is_browser).cloned().unwrap_or_else(|| panic!("no browser in {all:#?}"))
}

/// Waits until there is something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Waits until none of `processes` lives.
pub fn wait_for_end(processes: &[Process]) {
    wait_for("the end of all processes", || {
        let living: Vec<&Process> = processes.iter().filter(|process| process.lives()).collect();
        if !living.is_empty() && std::env::var_os("BROWSER_SHOW").is_some() {
            println!("{living:#?}");
        }
        living.is_empty().then_some(())
    });
}

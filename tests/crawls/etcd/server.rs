//! etcd for tests: members of one cluster on free ports of loopback, started and ended here.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::tools::{Tool, free_port, has};

/// A slow machine takes its time to elect a leader.
const READY: Duration = Duration::from_secs(120);

/// The members; those that are left end with the value.
pub struct Members {
    dir: TempDir,
    token: String,
    flags: Vec<String>,
    ports: Vec<(u16, u16)>,
    running: Vec<Option<Child>>,
}

impl Members {
    /// Starts this many members, ready to answer. `None` where etcd is not installed.
    pub fn start(count: usize) -> Option<Members> {
        let members = Members::begin(count, |_| Vec::new())?;
        members.wait_until_ready();
        Some(members)
    }

    /// One member that speaks TLS, with the flags that `made` says, which puts files into the directory; it may not be
    /// ready yet.
    pub fn secured(made: impl FnOnce(&Path) -> Vec<String>) -> Option<Members> {
        Members::begin(1, made)
    }

    fn begin(count: usize, flags: impl FnOnce(&Path) -> Vec<String>) -> Option<Members> {
        if !has(Tool::Program("etcd")) {
            return None;
        }
        let ports = (0..count).map(|_| (free_port(), free_port())).collect();
        let dir = tempfile::tempdir().unwrap();
        let mut members = Members {
            flags: flags(dir.path()),
            dir,
            token: "first".to_owned(),
            ports,
            running: (0..count).map(|_| None).collect(),
        };
        (0..count).for_each(|at| members.run(at));
        Some(members)
    }

    /// Returns their addresses.
    pub fn endpoints(&self) -> Vec<String> {
        self.ports.iter().map(|(client, _)| self.address(*client)).collect()
    }

    fn address(&self, port: u16) -> String {
        let scheme = if self.flags.is_empty() { "http" } else { "https" };
        format!("{scheme}://127.0.0.1:{port}")
    }

    /// Seconds on processors that all running members have had.
    pub fn cpu_s(&self) -> f64 {
        self.running.iter().flatten().map(|child| cpu_s(&child.id().to_string())).sum()
    }

    pub fn port(&self, at: usize) -> u16 {
        self.ports[at].0
    }

    /// Starts a member that is not running, with the data that it has.
    pub fn run(&mut self, at: usize) {
        let cluster: Vec<String> =
            self.ports.iter().enumerate().map(|(at, (_, peer))| format!("m{at}=http://127.0.0.1:{peer}")).collect();
        let (client, peer) = self.ports[at];
        let (client, peer) = (self.address(client), format!("http://127.0.0.1:{peer}"));
        let log = std::fs::File::create(self.dir.path().join(format!("m{at}.log"))).unwrap();
        let child = Command::new("etcd")
            .args(["--name", &format!("m{at}"), "--data-dir", self.dir.path().join(format!("m{at}")).to_str().unwrap()])
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &cluster.join(","), "--initial-cluster-token", &self.token])
            .args(["--heartbeat-interval", "200", "--election-timeout", "2000"])
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.running[at] = Some(child.unwrap());
    }

    /// Waits until every running member answers a linearizable read.
    pub fn wait_until_ready(&self) {
        let until = Instant::now() + READY;
        for at in (0..self.ports.len()).filter(|&at| self.running[at].is_some()) {
            while self.ask(at, "/v3/kv/range", r#"{"key":"YQ=="}"#).is_none_or(|answer| answer["header"].is_null()) {
                assert!(Instant::now() < until, "etcd does not get ready");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// The member that leads.
    pub fn leader(&self) -> usize {
        let until = Instant::now() + READY;
        loop {
            let leads = (0..self.ports.len()).filter(|&at| self.running[at].is_some()).find(|&at| {
                let status = self.ask(at, "/v3/maintenance/status", "{}").unwrap_or_default();
                status["leader"].is_string() && status["leader"] == status["header"]["member_id"]
            });
            if let Some(at) = leads {
                return at;
            }
            assert!(Instant::now() < until, "there is no leader");
        }
    }

    /// Sends the signal to a member.
    pub fn signal(&self, at: usize, signal: Signal) {
        let child = self.running[at].as_ref().unwrap();
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// Kills a member at once.
    pub fn kill(&mut self, at: usize) {
        let mut child = self.running[at].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// All members again, without their data: what a restore of something else looks like to its clients.
    pub fn replace(&mut self, token: &str) {
        for at in 0..self.ports.len() {
            self.kill(at);
            std::fs::remove_dir_all(self.dir.path().join(format!("m{at}"))).unwrap();
        }
        token.clone_into(&mut self.token);
        (0..self.ports.len()).for_each(|at| self.run(at));
        self.wait_until_ready();
    }

    /// Keeps the data of a member as it is now, for [`Members::put_back`]. It is away for a moment.
    pub fn back_up(&mut self, at: usize) {
        self.kill(at);
        copy(&self.data(at), &self.dir.path().join("backup"));
        self.run(at);
        self.wait_until_ready();
    }

    /// Gives the member the data that it had at the backup.
    pub fn put_back(&mut self, at: usize) {
        self.kill(at);
        std::fs::remove_dir_all(self.data(at)).unwrap();
        copy(&self.dir.path().join("backup"), &self.data(at));
        self.run(at);
        self.wait_until_ready();
    }

    fn data(&self, at: usize) -> PathBuf {
        self.dir.path().join(format!("m{at}"))
    }

    /// One call to a member, on its own connection; nothing where there is no answer.
    pub fn ask(&self, at: usize, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[at].0)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, json) = answer.split_once("\r\n\r\n")?;
        serde_json::from_str(json).ok()
    }

    /// Ends the lease as etcd does when it runs out.
    pub fn revoke(&self, lease: u64) {
        let answer = self.ask(0, "/v3/lease/revoke", &format!(r#"{{"ID":"{lease}"}}"#)).unwrap();
        // it may have run out by itself
        let is_gone = answer["message"].as_str().is_some_and(|said| said.contains("lease not found"));
        assert!(answer["header"].is_object() || is_gone, "{answer}");
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            // SIGKILL ends a stopped process, too
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Seconds on processors of a process; `self` is this one.
pub fn cpu_s(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // behind the name, which may have blanks; the 14th and 15th field, in hundredths of a second
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => _ = std::fs::copy(entry.path(), to).unwrap(),
        }
    }
}

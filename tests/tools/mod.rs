//! Programs and rights of the machine that tests of the system tier need, and that a machine may lack.
//!
//! A test that lacks one checks nothing. In CI (`CI=true`) that is a failure. Elsewhere the test passes, and the reason
//! goes into a file, which `tests/system` sums up at its end: no test is left out silently.

#![allow(dead_code, reason = "no test program needs all of it")]

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

/// One line per test that checked nothing: its name, a tab, the reason. `tests/system` reads it.
const SKIPPED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped");

/// A program or right that may be missing.
#[derive(Clone, Copy, Debug)]
pub enum Tool<'a> {
    /// strace, and the right to trace.
    Strace,
    /// Name spaces of users and mounts.
    NameSpaces,
    /// The IPv6 address of loopback.
    Ipv6,
    /// A browser that the crawler finds.
    Chromium,
    /// A module of the Python on `PATH`.
    Python(&'static str),
    /// A program on `PATH`.
    Program(&'a str),
    /// A file or directory that the named script of the repository installs.
    Installed { path: &'a Path, by: &'static str },
}

impl Tool<'_> {
    fn is_here(self) -> bool {
        match self {
            Tool::Strace => succeeds("strace", &["-f", "-o", "/dev/null", "true"]),
            Tool::NameSpaces => succeeds("unshare", &["-Urm", "true"]),
            Tool::Ipv6 => TcpListener::bind("[::1]:0").is_ok(),
            Tool::Chromium => crawler::browser::find(None).is_some(),
            Tool::Python(module) => succeeds("python3", &["-c", &format!("import {module}")]),
            Tool::Program(name) => succeeds("sh", &["-c", &format!("command -v {name}")]),
            Tool::Installed { path, .. } => path.exists(),
        }
    }

    fn problem(self) -> String {
        match self {
            Tool::Strace => "strace is not installed or may not trace".to_owned(),
            Tool::NameSpaces => "name spaces are not permitted".to_owned(),
            Tool::Ipv6 => "this machine has no ::1".to_owned(),
            Tool::Chromium => "Chromium is not installed".to_owned(),
            Tool::Python(module) => format!("python3 has no module {module}"),
            Tool::Program(name) => format!("{name} is not installed"),
            Tool::Installed { path, by } => format!("{} is missing; {by} installs it", path.display()),
        }
    }
}

/// Returns whether the machine has `tool`; fails in CI where it has not.
#[track_caller]
pub fn has(tool: Tool<'_>) -> bool {
    let is_here = tool.is_here();
    if !is_here {
        skip(&tool.problem());
    }
    is_here
}

/// Notes that the calling test checks nothing; fails in CI.
#[track_caller]
pub fn skip(why: &str) {
    assert!(!in_ci(), "{why}; with CI=false the tests that need it are skipped");
    println!("skipped: {why}");
    let test = std::thread::current().name().unwrap_or("main").to_owned();
    let file = OpenOptions::new().create(true).append(true).open(SKIPPED);
    file.unwrap().write_all(format!("{test}\t{why}\n").as_bytes()).unwrap();
}

/// Returns whether a test that checks nothing has to fail.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// A port of loopback that nobody listens on, for a server that has to be told one.
///
/// It is none of those that the system gives to connections: one of them would have it before the server does.
pub fn free_port() -> u16 {
    let given = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = given.split_whitespace().next().and_then(|first| first.parse().ok());
    let first = first.filter(|&first| first > 10_000).unwrap_or(32_768);
    std::iter::repeat_with(|| fastrand::u16(10_000..first))
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .unwrap()
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

//! A server as its own process on loopback, ended with its test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::{Tool, free_port, has};

const START_MAX: Duration = Duration::from_secs(180);

/// A server that is up.
pub struct Server {
    child: Child,
    pub port: u16,
    pub dir: tempfile::TempDir,
}

/// Something that `install` has put below `target/tools/sinks`; nothing where it has not.
pub fn tool(path: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/sinks")).join(path);
    has(Tool::Installed { path: &path, by: "crates/sinks/tests/servers/install" }).then_some(path)
}

/// A program in Java beside this file, with the libraries of `libraries`.
pub fn java(program: &str, libraries: &str) -> Option<Command> {
    let libraries = has(Tool::Program("java")).then(|| tool(libraries))??;
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers")).join(program);
    let mut command = Command::new("java");
    command.args(["-Xmx512m", "-cp"]).arg(libraries.join("*")).arg(source);
    Some(command)
}

impl Server {
    /// Starts what `command` makes for a port and a directory, and waits until it is up.
    pub fn start(
        command: impl FnOnce(u16, &Path) -> Option<Command>,
        is_up: impl Fn(u16, &Path) -> bool,
    ) -> Option<Server> {
        let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
        let mut command = command(port, dir.path())?;
        let log = || File::options().create(true).append(true).open(dir.path().join("log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(log()).stderr(log()).spawn().unwrap();
        let mut server = Server { child, port, dir };
        let start = Instant::now();
        while !is_up(port, server.dir.path()) {
            let ended = server.child.try_wait().unwrap();
            let log = || std::fs::read_to_string(server.dir.path().join("log")).unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", log());
            assert!(start.elapsed() < START_MAX, "it does not come up: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

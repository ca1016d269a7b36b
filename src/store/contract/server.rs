//! A real S3 server of another make on loopback: moto, in Python.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::StoreOptions;

const START_MAX: Duration = Duration::from_secs(120);

pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts one, or says why nothing is tested.
    pub fn start() -> Option<Server> {
        let started = program().and_then(Server::of);
        if started.is_none() {
            let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!in_ci, "moto_server is not installed; with CI=false this test is skipped");
            println!("skipped: moto_server, a server of S3, is not installed (pip install 'moto[server]')");
        }
        started
    }

    fn of(program: PathBuf) -> Option<Server> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let mut server = Server { child, port };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if server.child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(start.elapsed() < START_MAX, "moto_server does not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// It does not look at signatures.
    pub fn make_bucket(&self, name: &str) {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        let port = self.port;
        let head = format!("PUT /{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n");
        write!(connection, "{head}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// How it is reached on `port`.
    pub fn options(&self, port: u16) -> StoreOptions {
        let endpoint = format!("http://127.0.0.1:{port}");
        let environment = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
            ("HOME", "/nonexistent"),
        ];
        let environment = environment.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        StoreOptions { environment, retry_for: Duration::from_secs(60), ..StoreOptions::default() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `.ci/run` installs it, or in the path.
fn program() -> Option<PathBuf> {
    const NAME: &str = "moto_server";
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/moto/bin")).join(NAME);
    let path = std::env::var_os("PATH")?;
    let others = std::env::split_paths(&path).map(|dir| dir.join(NAME)).collect::<Vec<_>>();
    std::iter::once(own).chain(others).find(|path| path.exists())
}

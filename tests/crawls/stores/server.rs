//! A server of objects that others have made, as its own process on loopback.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::makes::Make;
use crawler::store::StoreOptions;

use crate::tools::free_port;

const START_MAX: Duration = Duration::from_secs(120);

pub struct Server {
    make: &'static Make,
    child: Child,
    pub port: u16,
    /// Directory of its objects.
    dir: tempfile::TempDir,
}

impl Server {
    /// Starts one and makes its bucket; nothing where its program is not installed.
    pub fn start(make: &'static Make) -> Option<Server> {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut command = (make.command)(port, dir.path())?;
        let command = command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", make.name));
        let mut server = Server { make, child, port, dir };
        let start = Instant::now();
        while !server.make_bucket("one") {
            let ended = server.child.try_wait().unwrap();
            assert!(ended.is_none(), "{} has ended: {ended:?}", make.name);
            assert!(start.elapsed() < START_MAX, "{} does not come up", make.name);
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    /// Returns whether it has a bucket of that name now.
    fn make_bucket(&self, name: &str) -> bool {
        let Some((method, path, body)) = self.make.bucket_request else {
            std::fs::create_dir_all(self.dir.path().join(name)).unwrap();
            return TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        };
        let (path, body) = (path.replace("BUCKET", name), body.replace("BUCKET", name));
        let ask = || {
            let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            let (port, length) = (self.port, body.len());
            write!(
                connection,
                "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )?;
            let mut answer = Vec::new();
            connection.read_to_end(&mut answer)?;
            std::io::Result::Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        ask().is_ok_and(|answer| ["HTTP/1.1 20", "HTTP/1.0 20"].iter().any(|begin| answer.starts_with(begin)))
    }

    /// The address of a store in its bucket.
    pub fn address(&self, prefix: &str) -> String {
        format!("{}://one/{prefix}", self.make.scheme)
    }

    /// Returns the options by which it is reached on `port`.
    pub fn options(&self, port: u16) -> StoreOptions {
        let mut environment = vec![("HOME".to_owned(), "/nonexistent".to_owned())];
        for (name, value) in self.make.environment {
            environment.push(((*name).to_owned(), value.replace("PORT", &port.to_string())));
        }
        StoreOptions { environment, retry_for: Duration::from_secs(60), ..StoreOptions::default() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

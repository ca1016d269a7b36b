//! The live figures of a crawl that runs, asked of the server that [`super::live`] opens.
//!
//! Where it listens is read from the crawl directory, and whoever answers there is not believed at once: what comes is read up
//! to a limit and within a time, and has to be of the same crawl.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use super::live::address;
use crate::clock::Time;
use crate::disk::Disk;
use crate::report::metrics::Live;

/// It is on the same machine: whoever does not answer by then does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest answer that is read.
const BYTES_MAX: u64 = 1 << 20;

/// The figures of this moment of the crawl in `dir`, which was created at `created`; `None` where nobody tells.
pub fn live(disk: &Disk, dir: &Path, created: Time) -> Option<Live> {
    let mut stream = TcpStream::connect_timeout(&address(disk, dir)?, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(b"GET /status.json HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.take(BYTES_MAX).read_to_end(&mut answer).ok()?;
    let body = memchr::memmem::find(&answer, b"\r\n\r\n")?;
    let live: Live = serde_json::from_slice(&answer[body + 4..]).ok()?;
    (live.snapshot.started == created).then_some(live)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::crawl::live::ADDRESS_FILE;

    #[test]
    fn nobody_nonsense_and_another_crawl_are_no_figures() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert!(live(&disk, dir.path(), Time::ZERO).is_none());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::fs::write(dir.path().join(ADDRESS_FILE), format!("{at}\n")).unwrap();
        for answer in ["", "x", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n{\"phase\":\"crawling\"}\n"] {
            std::thread::scope(|scope| {
                let server = scope.spawn(|| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let _ = stream.read(&mut [0; 1_024]);
                    let _ = stream.write_all(answer.as_bytes());
                });
                assert!(live(&disk, dir.path(), Time::ZERO).is_none(), "{answer}");
                server.join().unwrap();
            });
        }
        std::fs::write(dir.path().join(ADDRESS_FILE), "somewhere else").unwrap();
        assert!(live(&disk, dir.path(), Time::ZERO).is_none());
    }
}

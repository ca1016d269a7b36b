//! A body on its way: the beginning in memory, all of a large one in a file without a name.
//!
//! Memory for large bodies is short, and how long an answer takes is the server's choice. So nothing that is still
//! coming holds any of that memory: what goes beyond [`SMALL_BODY_BYTES`] is written to a file in the crawl directory
//! that has no name and is gone with the process however it ends. A body that is whole, or was cut, comes back into
//! memory when there is a place for it, and keeps the place until its records are in the archive: that takes as long as
//! this program's own threads take. The room for such files is bounded too; a body that finds none waits for it, which
//! is not held against the server's rate, and is cut where it would have to wait for longer than its request may last.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::failure::http2_fault;
use super::protocols::Http2Fault;
use super::{FetchOptions, SMALL_BODY_BYTES};
use crate::disk::{Error, Result};
use crate::warc::Truncation;

/// Memory for all large bodies that are whole and not yet in the archive.
const LARGE_BODIES_BYTES: usize = 48 << 20;
/// A body may be slower than the least rate for this long.
const SLOW_GRACE: Duration = Duration::from_secs(10);
/// A time that is longer than any `timeout_total`, and does not overflow a clock.
const PATIENCE_MAX_S: u64 = 30 * 24 * 3_600;

/// Returns the number of bodies of more than [`SMALL_BODY_BYTES`] and up to `body_max` that may be in memory at once.
pub fn large_bodies(body_max: usize) -> usize {
    (LARGE_BODIES_BYTES / body_max.max(1)).max(1)
}

/// The way in which a body ended.
pub(super) enum End {
    Whole,
    /// Here, at a limit.
    Cut(Truncation),
    /// There, with what it says about the server's HTTP/2.
    Broken(Option<Http2Fault>),
}

impl End {
    pub(super) fn truncation(&self) -> Option<Truncation> {
        match self {
            End::Whole => None,
            End::Cut(limit) => Some(*limit),
            End::Broken(_) => Some(Truncation::Disconnect),
        }
    }
}

/// Limits of bodies, and the room that they share.
#[derive(Debug)]
pub(super) struct Bodies {
    body_max: usize,
    rate_min: u64,
    dir: PathBuf,
    /// Blocks of [`SMALL_BODY_BYTES`] in files.
    room: Arc<Semaphore>,
    /// Places in memory.
    places: Arc<Semaphore>,
}

impl Bodies {
    /// Room for bodies as `options` say.
    pub(super) fn new(options: &FetchOptions) -> Self {
        let FetchOptions { body_max, rate_min, spool_max, .. } = *options;
        // one body always has room
        let blocks = spool_max.max(body_max).div_ceil(SMALL_BODY_BYTES);
        let room = Arc::new(Semaphore::new(blocks.min(Semaphore::MAX_PERMITS)));
        let places = Arc::new(Semaphore::new(large_bodies(body_max)));
        Bodies { body_max, rate_min, dir: options.spool_dir.clone(), room, places }
    }

    /// The longest body.
    pub(super) fn body_max(&self) -> usize {
        self.body_max
    }

    /// A place in memory for a large body.
    pub(super) async fn place(&self) -> OwnedSemaphorePermit {
        self.places.clone().acquire_owned().await.expect("nobody closes it")
    }

    /// Does `work` with the disk, or with much to do, where it keeps no other request waiting.
    pub(super) async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(io::Error::other(e)));
        done.map_err(|error| Error::io("keep a large body in a temporary file in", &self.dir, error))
    }

    /// Reads the body of `answer` to its end or to a limit, `body_max` bytes at most, and says which limit.
    pub(super) async fn read(
        &self,
        answer: &mut reqwest::Response,
        body_max: usize,
        deadline: Instant,
    ) -> Result<(Arrived<'_>, End)> {
        let mut began = Instant::now();
        let expected = usize::try_from(answer.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
        let memory = Vec::with_capacity(expected.min(SMALL_BODY_BYTES).min(body_max));
        let mut body = Arrived { bodies: self, memory, spooled: None };
        loop {
            let slow_at = began + patience(body.len(), self.rate_min);
            let chunk = match timeout_at(slow_at.min(deadline), answer.chunk()).await {
                Err(_) => return Ok((body, End::Cut(Truncation::Time))),
                Ok(Err(error)) => return Ok((body, End::Broken(http2_fault(&error)))),
                Ok(Ok(None)) => return Ok((body, End::Whole)),
                Ok(Ok(Some(chunk))) => chunk,
            };
            let room = body_max - body.len();
            let taken = &chunk[..chunk.len().min(room)];
            if body.memory.len() + taken.len() > SMALL_BODY_BYTES {
                let asked = Instant::now();
                if !body.spool(deadline).await? {
                    return Ok((body, End::Cut(Truncation::Time)));
                }
                // that was not the server's time
                began += asked.elapsed();
            }
            body.memory.extend_from_slice(taken);
            if chunk.len() > room {
                return Ok((body, End::Cut(Truncation::Length)));
            }
        }
    }
}

/// The bytes of a body that have come.
pub(super) struct Arrived<'a> {
    bodies: &'a Bodies,
    /// The bytes that came last; all of a small body.
    memory: Vec<u8>,
    spooled: Option<Spooled>,
}

/// The bytes of a large body that came first.
struct Spooled {
    file: File,
    bytes: usize,
    room: OwnedSemaphorePermit,
}

impl Arrived<'_> {
    fn len(&self) -> usize {
        self.memory.len() + self.spooled.as_ref().map_or(0, |spooled| spooled.bytes)
    }

    /// Writes what is in memory to the file; `false` where no room was free before the deadline.
    async fn spool(&mut self, deadline: Instant) -> Result<bool> {
        let held = self.spooled.as_ref().map_or(0, |spooled| spooled.room.num_permits());
        let blocks = self.len().div_ceil(SMALL_BODY_BYTES).saturating_sub(held);
        let blocks = u32::try_from(blocks).expect("memory has one of them, and a chunk");
        let Ok(Ok(room)) = timeout_at(deadline, self.bodies.room.clone().acquire_many_owned(blocks)).await else {
            return Ok(false);
        };
        let mut memory = std::mem::take(&mut self.memory);
        let (dir, spooled) = (self.bodies.dir.clone(), self.spooled.take());
        let (spooled, memory) = self
            .bodies
            .beside(move || {
                let mut spooled = match spooled {
                    Some(mut spooled) => {
                        spooled.room.merge(room);
                        spooled
                    }
                    None => Spooled { file: tempfile::tempfile_in(&dir)?, bytes: 0, room },
                };
                spooled.file.write_all(&memory)?;
                spooled.bytes += memory.len();
                memory.clear();
                Ok((spooled, memory))
            })
            .await?;
        (self.spooled, self.memory) = (Some(spooled), memory);
        Ok(true)
    }

    /// The body in memory, with its place there if it is a large one.
    pub(super) async fn load(mut self) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>)> {
        let Some(Spooled { file, bytes, room }) = self.spooled.take() else { return Ok((self.memory, None)) };
        // only this program's own threads decide when one is free
        let place = self.bodies.place().await;
        let rest = std::mem::take(&mut self.memory);
        let body = self.bodies.beside(move || {
            let mut body = vec![0; bytes + rest.len()];
            file.read_exact_at(&mut body[..bytes], 0)?;
            body[bytes..].copy_from_slice(&rest);
            drop((file, room));
            Ok(body)
        });
        Ok((body.await?, Some(place)))
    }
}

/// The time in which `bytes` of a body may come: what `rate_min` allows, and [`SLOW_GRACE`] at least.
fn patience(bytes: usize, rate_min: u64) -> Duration {
    let seconds = bytes as u64 / rate_min.max(1);
    Duration::from_secs(seconds.min(PATIENCE_MAX_S)).max(SLOW_GRACE)
}

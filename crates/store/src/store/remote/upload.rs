//! Multipart uploads: an object that comes in parts, and is there when all of them are.
//!
//! Parts of 8 MiB (more for objects beyond 80 GiB, because stores take 10,000 parts) are read from the body when there
//! is room for them in memory: four at once for the whole store. A part that fails is sent again. A completion whose
//! answer is lost is looked up by name and length; where it did not take place, or the store has forgotten the upload,
//! everything is sent again. An upload that is given up is aborted; one of a process that was killed stays in the store
//! until a life-cycle rule removes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use bytes::Bytes;
use object_store::PutPayload;
use object_store::multipart::PartId;

use super::trouble::Trouble;
use super::{RemoteStore, Requests, answer, put_error};
use crate::store::{Body, Error, Result};

/// A part, and the largest object that is not cut.
pub const PART_BYTES: u64 = 8 << 20;
/// Parts of an upload: S3's limit.
const PARTS_MAX: u64 = 10_000;
/// Parts in memory, over all uploads of a store.
const IN_MEMORY_MAX: usize = 4;

/// Uploads of one object, in one call, that the store may forget.
const ATTEMPTS_MAX: usize = 3;

/// A semaphore of the parts that may be in memory.
#[derive(Clone, Debug)]
pub(crate) struct PartSemaphore(Arc<(Mutex<usize>, Condvar)>);

/// The right to one part in memory.
#[derive(Debug)]
pub struct Permit(PartSemaphore);

impl PartSemaphore {
    /// Makes one with a permit for each of [`IN_MEMORY_MAX`] parts.
    pub(crate) fn new() -> PartSemaphore {
        PartSemaphore(Arc::new((Mutex::new(IN_MEMORY_MAX), Condvar::new())))
    }

    /// Waits for a permit.
    pub(crate) fn acquire(&self) -> Permit {
        let (free, changed) = &*self.0;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = changed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Permit(self.clone())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

impl RemoteStore {
    /// Puts an object of more than one part.
    pub(super) fn put_large(&self, name: &str, body: &Body) -> Result<()> {
        let bytes = body.bytes();
        let (requests, there) = (self.requests.clone(), name.to_owned());
        let is_there = async move { requests.patiently(&there, || requests.is_there_once(&there, bytes)).await };
        if self.wait(name, is_there)? {
            return Ok(());
        }
        for _ in 0..ATTEMPTS_MAX {
            if self.attempt(name, body)? {
                return Ok(());
            }
            tracing::debug!("{name}: the store has forgotten the upload; sending all parts again");
        }
        Err(Error::unavailable(name, "the store forgets its uploads"))
    }

    /// One upload; whether the object is there now, and not forgotten by the store on the way.
    fn attempt(&self, name: &str, body: &Body) -> Result<bool> {
        let (requests, there) = (self.requests.clone(), name.to_owned());
        let id = self.wait(name, async move { requests.begin(&there).await })?;
        let parts = self.send_parts(name, body, &id);
        let bytes = body.bytes();
        let (requests, there) = (self.requests.clone(), name.to_owned());
        self.wait(name, async move {
            let ended = match parts {
                Ok(Some(parts)) => requests.complete(&there, &id, parts, bytes).await,
                Ok(None) => Ok(false),
                Err(error) => Err(error),
            };
            if !matches!(ended, Ok(true)) {
                // where even that fails, the life-cycle rule does it
                let _ = requests.cloud.abort_multipart(&requests.path(&there), &id).await;
            }
            ended
        })
    }

    /// Sends all parts, several at once, and waits for all of them; the first error counts. Nothing where the store
    /// has forgotten the upload.
    fn send_parts(&self, name: &str, body: &Body, id: &str) -> Result<Option<Vec<PartId>>> {
        let part_bytes = PART_BYTES.max(body.bytes().div_ceil(PARTS_MAX));
        let has_failed = Arc::new(AtomicBool::new(false));
        let mut sent = Vec::new();
        let mut fault = None;
        for (at, offset) in (0..body.bytes()).step_by(part_bytes as usize).enumerate() {
            let permit = self.parts_in_memory.acquire();
            if has_failed.load(Ordering::Relaxed) {
                break;
            }
            let content = match body.read(offset, part_bytes as usize) {
                Ok(content) => Bytes::from(content),
                Err(error) => {
                    fault = Some(error.into());
                    break;
                }
            };
            let (requests, name, id) = (self.requests.clone(), name.to_owned(), id.to_owned());
            let has_failed = has_failed.clone();
            sent.push(self.spawn(async move {
                let _permit = permit;
                let part = requests.patiently(&name, || requests.send_part(&name, &id, at, content.clone())).await;
                has_failed.fetch_or(!matches!(part, Ok(Some(_))), Ordering::Relaxed);
                part
            }));
        }
        // all are waited for, so that nothing of the upload is sent behind its abort
        let parts: Vec<Result<Option<PartId>>> = sent.iter().map(|part| answer(name, part)).collect();
        match fault {
            Some(error) => Err(error),
            None => parts.into_iter().collect(),
        }
    }
}

/// Returns whether an upload cannot go on: the store has forgotten it, or refuses for good an upload that it has once
/// heard a part of (S3Proxy). Not every store has its own code for the first.
fn is_over(trouble: &Trouble) -> bool {
    trouble.is_upload_forgotten() || trouble.is_not_found() || trouble.is_cut_short()
}

impl Requests {
    async fn begin(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        let begin = || async {
            let id = self.cloud.create_multipart(&path).await;
            id.map_err(|error| put_error(Trouble::of(&error), name))
        };
        self.patiently(name, begin).await
    }

    /// Nothing where the upload cannot go on.
    async fn send_part(&self, name: &str, id: &String, at: usize, content: Bytes) -> Result<Option<PartId>> {
        match self.cloud.put_part(&self.path(name), id, at, PutPayload::from(content)).await {
            Ok(part) => Ok(Some(part)),
            Err(error) => match Trouble::of(&error) {
                trouble if is_over(&trouble) => Ok(None),
                trouble => Err(put_error(trouble, name)),
            },
        }
    }

    /// Makes the object of its parts; whether it is there. Without a clear answer the object itself says whether that
    /// took place.
    async fn complete(&self, name: &str, id: &String, parts: Vec<PartId>, bytes: u64) -> Result<bool> {
        let complete = || async {
            let done = self.cloud.complete_multipart(&self.path(name), id, parts.clone()).await;
            let Err(error) = done else { return Ok(true) };
            let trouble = Trouble::of(&error);
            match self.is_there_once(name, bytes).await? {
                true => Ok(true),
                false if is_over(&trouble) => Ok(false),
                false => Err(put_error(trouble, name)),
            }
        };
        self.patiently(name, complete).await
    }
}

//! Object stores on the network: S3 and what speaks like it, Google Cloud Storage, Azure Blob Storage.
//!
//! The crate `object_store` knows their protocols; what is asked again and for how long, what an answer means, the size
//! and number of parts, the pace and TLS are here, the same for all. Calls block: requests run on one thread of the
//! store's own, and the caller waits.
//!
//! An object of at most 8 MiB is one request, which the store takes only if there is none of that name; where a store
//! cannot do that, it is looked up before. A larger one is a multipart upload ([`upload`]).

mod account;
mod profile;
mod range;
mod transport;
mod trouble;
mod upload;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tokio::runtime::Runtime;

use account::Cloud;
pub use account::Provider;
use trouble::Trouble;
use upload::{PART_BYTES, PartSemaphore};

use super::{Body, Error, ObjectStore, Result, StoreOptions, name};

/// The first pause before a request is sent again; each next one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Listed objects that wait for their visitor.
const LISTED_AHEAD: usize = 1_000;

/// A store on the network.
pub(crate) struct RemoteStore {
    requests: Arc<Requests>,
    parts_in_memory: PartSemaphore,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
    address: String,
}

/// A store, or what is wrong with it in words.
pub type Opened = std::result::Result<RemoteStore, String>;

/// The requests, which run on the store's thread.
#[derive(Debug)]
struct Requests {
    cloud: Arc<dyn Cloud>,
    /// Prefix that names are relative to, without a `/` at the end.
    prefix: String,
    retry_for: Duration,
    /// True if the store is known to take no condition for a put.
    is_unconditional: AtomicBool,
}

impl RemoteStore {
    /// The bucket of `provider`, below `prefix`; the error in words.
    pub(crate) fn open(provider: Provider, bucket: &str, prefix: &str, options: &StoreOptions) -> Opened {
        let scheme = match provider {
            Provider::S3 => "s3",
            Provider::Google => "gs",
            Provider::Azure => "az",
        };
        let cloud = account::open(provider, bucket, options)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|e| format!("cannot start its thread: {e}"))?;
        let (prefix, retry_for) = (prefix.to_owned(), options.retry_for);
        let address = format!("{scheme}://{bucket}/{prefix}").trim_end_matches('/').to_owned();
        let requests = Requests { cloud, prefix, retry_for, is_unconditional: AtomicBool::new(false) };
        Ok(RemoteStore {
            requests: Arc::new(requests),
            parts_in_memory: PartSemaphore::new(),
            runtime: Some(runtime),
            address,
        })
    }

    /// Runs `future` on the store's thread.
    fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> mpsc::Receiver<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                // who waited may have given up
                let _ = sender.send(future.await);
            });
        }
        receiver
    }

    /// Waits for what `future` brings.
    fn wait<T: Send + 'static>(
        &self,
        name: &str,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        answer(name, &self.spawn(future))
    }

    fn put_small(&self, name: &str, body: &Body) -> Result<()> {
        let _permit = self.parts_in_memory.acquire();
        let content = Bytes::from(body.read(0, PART_BYTES as usize)?);
        let (requests, name_there) = (self.requests.clone(), name.to_owned());
        self.wait(name, async move { requests.put(&name_there, content).await })
    }
}

/// Receives the result of a future, which has panicked where there is none.
fn answer<T>(name: &str, receiver: &mpsc::Receiver<Result<T>>) -> Result<T> {
    receiver.recv().unwrap_or_else(|_| Err(Error::unavailable(name, "the thread of the store has failed")))
}

impl Requests {
    fn path(&self, name: &str) -> Path {
        if self.prefix.is_empty() { Path::from(name) } else { Path::from(format!("{}/{name}", self.prefix)) }
    }

    /// Repeats `request` as long as the store fails, for a bounded time.
    async fn patiently<T, F>(&self, name: &str, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let (start, mut pause) = (Instant::now(), PAUSE_MIN);
        loop {
            match request().await {
                Err(error) if error.is_transient() && start.elapsed() + pause < self.retry_for => {
                    tracing::debug!("{error}; asking again in {} ms", pause.as_millis());
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(Error::Unavailable { detail, .. }) if start.elapsed() > PAUSE_MIN => {
                    let seconds = start.elapsed().as_secs_f32();
                    return Err(Error::unavailable(name, format!("{detail} (asked for {seconds:.0} s)")));
                }
                result => return result,
            }
        }
    }

    async fn put(&self, name: &str, content: Bytes) -> Result<()> {
        self.patiently(name, || self.put_once(name, content.clone())).await
    }

    async fn put_once(&self, name: &str, content: Bytes) -> Result<()> {
        let bytes = content.len() as u64;
        if !self.is_unconditional.load(Ordering::Relaxed) {
            match self.send(name, content.clone(), PutMode::Create).await {
                Ok(()) => return Ok(()),
                Err(trouble) if trouble.is_taken() => {
                    return match self.is_there_once(name, bytes).await? {
                        true => Ok(()),
                        false => Err(Error::unavailable(name, "another put of it is in progress")),
                    };
                }
                Err(trouble) if trouble.is_unknown_request() => self.is_unconditional.store(true, Ordering::Relaxed),
                Err(trouble) => return Err(put_error(trouble, name)),
            }
        }
        if self.is_there_once(name, bytes).await? {
            return Ok(());
        }
        self.send(name, content, PutMode::Overwrite).await.map_err(|trouble| put_error(trouble, name))
    }

    async fn send(&self, name: &str, content: Bytes, mode: PutMode) -> std::result::Result<(), Trouble> {
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.cloud.put_opts(&self.path(name), PutPayload::from(content), options).await {
            Ok(_) => Ok(()),
            // the operator has said by AWS_CONDITIONAL_PUT that the store cannot
            Err(object_store::Error::NotImplemented { .. }) => {
                Err(Trouble::answer(hyper::StatusCode::NOT_IMPLEMENTED, None, ""))
            }
            Err(error) => Err(Trouble::of(&error)),
        }
    }

    async fn length_once(&self, name: &str) -> Result<Option<u64>> {
        match self.cloud.head(&self.path(name)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(error) => match Trouble::of(&error) {
                trouble if trouble.is_not_found() => Ok(None),
                trouble => Err(trouble.at(name)),
            },
        }
    }

    /// Returns whether the object is there with this length, or an error if it has another.
    async fn is_there_once(&self, name: &str, bytes: u64) -> Result<bool> {
        match self.length_once(name).await? {
            None => Ok(false),
            Some(found) if found == bytes => Ok(true),
            Some(found) => Err(Error::other_length(name, bytes, found)),
        }
    }

    async fn get_once(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let wanted = range.end;
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let content = match self.cloud.get_opts(&self.path(name), options).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        let found = match content {
            Ok(content) if content.len() as u64 == range.end - range.start => return Ok(content.into()),
            Ok(content) => range.start + content.len() as u64,
            Err(error) => match Trouble::of(&error) {
                trouble if trouble.is_out_of_range() => {
                    self.length_once(name).await?.ok_or_else(|| Error::not_found(name))?
                }
                // an answer that makes no sense, because there is nothing that it could have
                trouble @ Trouble::Strange(_) => match self.length_once(name).await? {
                    Some(found) if found < wanted => found,
                    _ => return Err(trouble.at(name)),
                },
                trouble => return Err(trouble.at(name)),
            },
        };
        Err(Error::shorter(name, found, wanted))
    }

    async fn delete_once(&self, name: &str) -> Result<()> {
        match self.cloud.delete(&self.path(name)).await {
            Ok(()) => Ok(()),
            Err(error) => match Trouble::of(&error) {
                trouble if trouble.is_not_found() => Ok(()),
                trouble => Err(trouble.at(name)),
            },
        }
    }

    /// Sends what is listed below `prefix`, from behind `last` on, and keeps in `last` how far it came.
    async fn list_from(
        &self,
        prefix: &str,
        last: &std::sync::Mutex<Option<Path>>,
        to: &tokio::sync::mpsc::Sender<(String, u64)>,
    ) -> Result<()> {
        let below = self.path(prefix.trim_end_matches('/'));
        let below = Some(&below).filter(|path| !path.as_ref().is_empty());
        let after = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let mut listed = match &after {
            Some(after) => self.cloud.list_with_offset(below, after),
            None => self.cloud.list(below),
        };
        while let Some(found) = listed.next().await {
            let found = found.map_err(|error| Trouble::of(&error).at(prefix)).map_err(|e| missing_bucket(e, prefix))?;
            let own = found.location.as_ref().strip_prefix(&self.prefix).map(|name| name.trim_start_matches('/'));
            if let Some(own) = own.filter(|own| name::is_name(own))
                && to.send((own.to_owned(), found.size)).await.is_err()
            {
                return Ok(());
            }
            *last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(found.location);
        }
        Ok(())
    }
}

/// Returns the error of a put. That the name is not found can only mean the bucket.
fn put_error(trouble: Trouble, name: &str) -> Error {
    if trouble.is_cut_short() {
        return Error::unavailable(name, trouble.to_string());
    }
    missing_bucket(trouble.at(name), name)
}

fn missing_bucket(error: Error, name: &str) -> Error {
    if error.is_not_found() { Error::refused(name, "there is no such bucket, or container") } else { error }
}

impl ObjectStore for RemoteStore {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        name::check(name)?;
        if body.bytes() <= PART_BYTES { self.put_small(name, body) } else { self.put_large(name, body) }
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        name::check(name)?;
        if range.is_empty() {
            // stores know no empty range
            let found = self.length(name)?.ok_or_else(|| Error::not_found(name))?;
            return if range.end <= found { Ok(Vec::new()) } else { Err(Error::shorter(name, found, range.end)) };
        }
        let (requests, there) = (self.requests.clone(), name.to_owned());
        self.wait(name, async move { requests.patiently(&there, || requests.get_once(&there, range.clone())).await })
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        name::check(name)?;
        let (requests, there) = (self.requests.clone(), name.to_owned());
        self.wait(name, async move { requests.patiently(&there, || requests.length_once(&there)).await })
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        name::check_prefix(prefix)?;
        let (sender, mut listed) = tokio::sync::mpsc::channel(LISTED_AHEAD);
        let (requests, there) = (self.requests.clone(), prefix.to_owned());
        let end = self.spawn(async move {
            let last = std::sync::Mutex::new(None);
            requests.patiently(&there, || requests.list_from(&there, &last, &sender)).await
        });
        while let Some((name, bytes)) = listed.blocking_recv() {
            visit(&name, bytes);
        }
        answer(prefix, &end)
    }

    fn delete(&self, name: &str) -> Result<()> {
        name::check(name)?;
        let (requests, there) = (self.requests.clone(), name.to_owned());
        self.wait(name, async move { requests.patiently(&there, || requests.delete_once(&there)).await })
    }

    fn address(&self) -> String {
        self.address.clone()
    }
}

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for RemoteStore {
    fn drop(&mut self) {
        // also where blocking is not allowed
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

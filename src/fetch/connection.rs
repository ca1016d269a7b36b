//! A connection that counts what comes over it, and breaks where too much comes before the head of an answer.
//!
//! A server may send interim answers (1xx) without end, and the library passes over them one by one. Here they are bytes
//! like any others: while a request waits for the head of its answer, no more than [`HEAD_BYTES_MAX`] may come. Bodies have
//! limits of their own, so what comes behind a head is not held against that. Over HTTP/2 several requests can share a
//! connection, and then nobody can say whose bytes these are: the bound holds for a request that is alone on its connection,
//! as all are with one connection a host.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that may come before a head is whole, it and all interim answers. The largest head has some 400 KiB, and as much of
/// the body may be read with it; over HTTP/2 that is the window of the connection.
pub(super) const HEAD_BYTES_MAX: u64 = 2 << 20;

/// Any connection to a server or a proxy.
pub(super) trait Stream: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Stream for T {}

/// A connection with its meter.
pub(super) struct Metered {
    stream: TokioIo<Box<dyn Stream>>,
    proxied: bool,
    meter: Meter,
}

/// What came over a connection so far, and how far it may come.
#[derive(Clone, Debug)]
pub(super) struct Meter(Arc<Readings>);

#[derive(Debug)]
struct Readings {
    received: AtomicU64,
    limit: AtomicU64,
    requests: AtomicUsize,
    is_broken: AtomicBool,
}

/// A request on a connection, from the wait for its head to the end of its body.
#[derive(Debug)]
pub(super) struct Watch(Meter);

/// Too much came before a head.
#[derive(Debug)]
struct Flood;

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} KiB and no answer in them", HEAD_BYTES_MAX >> 10)
    }
}

impl std::error::Error for Flood {}

impl Metered {
    /// `stream` with a meter; `proxied` says that it leads to a proxy, which is asked for whole URLs.
    pub(super) fn new(stream: impl Stream + 'static, proxied: bool) -> TokioIo<Metered> {
        TokioIo::new(Metered { stream: TokioIo::new(Box::new(stream)), proxied, meter: Meter::new() })
    }
}

impl Meter {
    /// That of a connection which is made for a request.
    fn new() -> Meter {
        Meter(Arc::new(Readings {
            received: AtomicU64::new(0),
            limit: AtomicU64::new(HEAD_BYTES_MAX),
            requests: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }))
    }

    /// That of the connection whose metadata are `connected`.
    pub(super) fn of(connected: &Connected) -> Option<Meter> {
        let mut extras = hyper::http::Extensions::new();
        connected.get_extras(&mut extras);
        extras.remove::<Meter>()
    }

    /// From here on a request waits for its head.
    pub(super) fn watch(&self) -> Watch {
        let is_alone = self.0.requests.fetch_add(1, Ordering::Relaxed) == 0;
        let limit = if is_alone { self.0.received.load(Ordering::Relaxed) + HEAD_BYTES_MAX } else { u64::MAX };
        self.0.limit.store(limit, Ordering::Relaxed);
        Watch(self.clone())
    }

    /// A head has come, or nobody waits for one.
    pub(super) fn lift(&self) {
        self.0.limit.store(u64::MAX, Ordering::Relaxed);
    }

    /// Whether too much came before a head.
    pub(super) fn is_broken(&self) -> bool {
        self.0.is_broken.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let received = self.0.received.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if received <= self.0.limit.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.0.is_broken.store(true, Ordering::Relaxed);
        Err(io::Error::other(Flood))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.meter.count(buffer.filled().len() - before))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Connection for Metered {
    fn connected(&self) -> Connected {
        self.stream.inner().connected().proxy(self.proxied).extra(self.meter.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n24_what_comes_before_a_head_is_bounded_and_what_comes_behind_it_is_not() {
        let meter = Meter::new();
        let max = HEAD_BYTES_MAX as usize;
        let watch = meter.watch();
        meter.count(max).unwrap();
        meter.lift();
        meter.count(10 * max).unwrap();
        drop(watch);
        // the next request on the same connection
        let watch = meter.watch();
        meter.count(max).unwrap();
        assert!(!meter.is_broken());
        assert!(meter.count(1).is_err() && meter.is_broken());
        drop(watch);
        // nobody may have asked for anything yet
        assert!(Meter::new().count(max + 1).is_err());
    }

    #[test]
    fn n24_a_request_does_not_pay_for_the_body_of_another_one_on_its_connection() {
        let meter = Meter::new();
        let (_body, _head) = (meter.watch(), meter.watch());
        meter.count(10 * HEAD_BYTES_MAX as usize).unwrap();
    }
}

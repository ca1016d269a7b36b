//! A connection whose answers can be made to drip: one byte at a time, from the first of the head or of the body on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// The part of an answer that comes one byte at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drip {
    /// All of the answer.
    Head,
    /// The body; the head comes at once.
    Body,
}

/// A handle that turns a connection into a dripping one, which it stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Tap(Arc<AtomicU8>);

const FLOWS: u8 = 0;
const DRIPS: u8 = 1;
const DRIPS_BEHIND_HEAD: u8 = 2;

impl Tap {
    pub(crate) fn turn(&self, drip: Drip) {
        let state = if drip == Drip::Head { DRIPS } else { DRIPS_BEHIND_HEAD };
        self.0.store(state, Ordering::Relaxed);
    }
}

/// A connection behind a tap.
pub(super) struct Dripping {
    stream: TcpStream,
    tap: Tap,
    every: Duration,
    next: Option<Pin<Box<Sleep>>>,
}

impl Dripping {
    pub(crate) fn new(stream: TcpStream, tap: Tap, every: Duration) -> Dripping {
        Dripping { stream, tap, every, next: None }
    }
}

impl AsyncRead for Dripping {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Dripping {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match this.tap.0.load(Ordering::Relaxed) {
            FLOWS => return Pin::new(&mut this.stream).poll_write(context, bytes),
            DRIPS_BEHIND_HEAD => {
                let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
                let written = Pin::new(&mut this.stream).poll_write(context, &bytes[..end.unwrap_or(bytes.len())]);
                if matches!(written, Poll::Ready(Ok(count)) if Some(count) == end) {
                    this.tap.0.store(DRIPS, Ordering::Relaxed);
                }
                return written;
            }
            _ => {}
        }
        let next = this.next.get_or_insert_with(|| Box::pin(tokio::time::sleep(this.every)));
        std::task::ready!(next.as_mut().poll(context));
        let written = Pin::new(&mut this.stream).poll_write(context, &bytes[..bytes.len().min(1)]);
        if written.is_ready() {
            this.next = None;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

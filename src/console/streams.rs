//! Streams of server-sent events: a bounded number of them, the oldest of which ends for a new one.
//!
//! A stream has a place among the connections for as long as it is one of them: then its connection may be closed for
//! another one, also where its reader takes nothing. It holds only the last state, and takes that when its reader has
//! taken what was before.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::{oneshot, watch};

use super::answer::Body;
use super::poller::Published;
use crate::server::connections::ConnectionHandle;

/// Streams at a time.
const STREAMS_MAX: usize = 16;
/// A browser that lost its stream asks for another one after this time.
const RETRY: &[u8] = b"retry: 3000\n\n";

/// The streams that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<Mutex<VecDeque<Open>>>);

#[derive(Debug)]
struct Open {
    /// Dropped when its time is over.
    keep: oneshot::Sender<()>,
    place: ConnectionHandle,
}

/// Progress of a stream.
struct Progress {
    published: watch::Receiver<Published>,
    /// Its place was given to another one.
    over: oneshot::Receiver<()>,
    point: u64,
    step: Step,
}

#[derive(PartialEq)]
enum Step {
    /// Nothing was sent.
    Begun,
    /// Everything reported up to now was sent.
    Goes,
    /// Nothing more is published.
    Ended,
}

impl Streams {
    /// Opens a stream of the states in `published` on the connection that has this `place`.
    pub(crate) fn open(&self, published: watch::Receiver<Published>, place: &ConnectionHandle) -> Body {
        let (keep, over) = oneshot::channel();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|stream| !stream.keep.is_closed());
        if open.len() >= STREAMS_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.place.may_go();
        }
        place.stay();
        open.push_back(Open { keep, place: place.clone() });
        let point = published.borrow().point.0;
        let progress = Progress { published, over, point, step: Step::Begun };
        let frames = stream::unfold(progress, |mut progress| async {
            let bytes = progress.next().await?;
            Some((Ok(Frame::data(bytes)), progress))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

impl Progress {
    /// Returns the next bytes to send, and `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        match self.step {
            Step::Ended => return None,
            Step::Begun => self.published.mark_unchanged(),
            Step::Goes => {
                let changed = tokio::select! {
                    changed = self.published.changed() => changed.is_ok(),
                    // another one has its place; a browser asks again
                    _ = &mut self.over => return None,
                };
                if !changed {
                    self.step = Step::Ended;
                    return Some(Bytes::from_static(b"event: end\ndata: {}\n\n"));
                }
            }
        }
        let mut bytes = BytesMut::new();
        if self.step == Step::Begun {
            bytes.extend_from_slice(RETRY);
            self.step = Step::Goes;
        }
        let published = self.published.borrow_and_update();
        event(&mut bytes, "state", &published.state);
        if published.point.0 > self.point {
            self.point = published.point.0;
            event(&mut bytes, "point", &published.point.1);
        }
        Some(bytes.freeze())
    }
}

/// An event with JSON, which has no line ends.
fn event(to: &mut BytesMut, name: &str, json: &Bytes) {
    if !json.is_empty() {
        to.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
        to.extend_from_slice(json);
        to.extend_from_slice(b"\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
    }

    async fn next(body: &mut Body) -> Option<String> {
        let frame = body.frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(frame.to_vec()).unwrap())
    }

    fn published(state: &'static str, point: u64) -> Published {
        Published { state: Bytes::from_static(state.as_bytes()), point: (point, Bytes::from_static(b"{}")) }
    }

    #[test]
    fn a_slow_reader_gets_what_was_told_last_and_the_end() {
        run(async {
            let (publish, states) = watch::channel(published("{\"n\":0}", 3));
            let streams = Streams::default();
            let mut body = streams.open(states, &ConnectionHandle::default());
            assert_eq!(next(&mut body).await.unwrap(), "retry: 3000\n\nevent: state\ndata: {\"n\":0}\n\n");
            for state in ["{\"n\":1}", "{\"n\":2}"] {
                publish.send_replace(published(state, 4));
            }
            let both = "event: state\ndata: {\"n\":2}\n\nevent: point\ndata: {}\n\n";
            assert_eq!(next(&mut body).await.unwrap(), both);
            drop(publish);
            assert_eq!(next(&mut body).await.unwrap(), "event: end\ndata: {}\n\n");
            assert_eq!(next(&mut body).await, None);
        });
    }

    #[test]
    fn the_oldest_stream_ends_for_a_new_one_and_closed_ones_take_no_place() {
        run(async {
            let (_tell, states) = watch::channel(published("{}", 0));
            let streams = Streams::default();
            for _ in 0..3 * STREAMS_MAX {
                drop(streams.open(states.clone(), &ConnectionHandle::default()));
            }
            let places: Vec<ConnectionHandle> = (0..=STREAMS_MAX).map(|_| ConnectionHandle::default()).collect();
            let mut open: Vec<Body> = places.iter().map(|place| streams.open(states.clone(), place)).collect();
            assert!(!places[0].stays() && places[1..].iter().all(ConnectionHandle::stays));
            assert!(next(&mut open[0]).await.is_some());
            assert_eq!(next(&mut open[0]).await, None);
            assert!(next(&mut open[1]).await.is_some());
            let waits = tokio::select! {
                biased;
                _ = next(&mut open[1]) => false,
                () = std::future::ready(()) => true,
            };
            assert!(waits);
        });
    }
}

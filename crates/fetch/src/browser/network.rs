//! Requests of a page, and the answers of the crawler: the one way between a page and the network.

/// Answers what pages ask for. The browser itself reaches nothing.
///
/// A page may ask for any URL with any method: the one who answers judges addresses, robots.txt, methods and limits.
/// The browser keeps to CORS: a preflight comes as a request with the method `OPTIONS`, and what its answer does not
/// allow is not asked for.
pub trait Network: Send + Sync {
    /// Takes a request in and returns at once; `reply` may be used later, from any thread.
    fn request(&self, asked: Asked, reply: Reply);
}

/// A request of a page.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Unique within its render, in the order in which the requests came.
    pub id: u64,
    /// `http` or `https`, without a fragment. What else a page may load (`data:`, `blob:`, `about:`) does not come
    /// here; all other schemes are refused before.
    pub url: String,
    /// Method, in capitals for the usual ones.
    pub method: String,
    /// Header fields as the browser would send them, in no order that means anything. `Cookie` and the fields that a
    /// connection adds are left out.
    pub headers: Vec<(String, String)>,
    /// Body that is sent along.
    pub body: Option<Vec<u8>>,
    /// Purpose of the answer.
    pub kind: ResourceKind,
    /// True if it is the page itself, rather than something in it. Also true where the page goes elsewhere by itself.
    pub is_main_document: bool,
    /// The URL whose answer redirected here.
    pub redirected_from: Option<String>,
}

/// Purposes that the answer to a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A page, in a frame or not.
    Document,
    /// A style sheet.
    Stylesheet,
    /// A script, also one that a worker imports.
    Script,
    /// A picture.
    Image,
    /// A font.
    Font,
    /// Sound, video, and their captions.
    Media,
    /// `fetch()`, `XMLHttpRequest`, `EventSource`.
    Fetch,
    /// A request that expects no answer: beacons, reports of violated policies.
    Ping,
    /// A resource that may be needed later.
    Prefetch,
    /// Manifests, favicons, preflights, the first script of a worker, and what has no name.
    Other,
}

/// An answer to a request of a page.
#[derive(Clone, Debug)]
pub struct Fulfilled {
    /// The status code; the browser follows a redirect, and its target comes as a separate request.
    pub status: u16,
    /// Fields as the server sent them. Those that describe a connection or the coding of the body are left out for the
    /// browser, since the body is decoded.
    pub headers: Vec<(String, String)>,
    /// The body, decoded of its content coding.
    pub body: Vec<u8>,
}

/// Reasons for which a request of a page gets no answer. The page sees a network error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The one who answers does not want it: robots.txt, scope, a limit, an address that is not public.
    Refused,
    /// Its host has no address.
    NameNotResolved,
    /// Nothing could be connected to.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// Anything else; also what a dropped [`Reply`] means.
    Failed,
}

/// The right to answer one request once. Dropped, it fails the request.
pub struct Reply {
    sink: Option<Sink>,
}

/// A function that takes an answer.
type Sink = Box<dyn FnOnce(Result<Fulfilled, Denied>) + Send>;

impl Reply {
    /// A reply that `sink` gets, in the thread that answers.
    pub(crate) fn new(sink: impl FnOnce(Result<Fulfilled, Denied>) + Send + 'static) -> Reply {
        Reply { sink: Some(Box::new(sink)) }
    }

    /// Answers with a response.
    pub fn fulfill(self, status: u16, headers: Vec<(String, String)>, body: Vec<u8>) {
        self.answer(Ok(Fulfilled { status, headers, body }));
    }

    /// Answers that there is none.
    pub fn fail(self, reason: Denied) {
        self.answer(Err(reason));
    }

    fn answer(mut self, answer: Result<Fulfilled, Denied>) {
        if let Some(sink) = self.sink.take() {
            sink(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            sink(Err(Denied::Failed));
        }
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    /// A reply whose answer is received here.
    fn channel() -> (Reply, Receiver<Result<Fulfilled, Denied>>) {
        let (to, from) = sync_channel(1);
        (Reply::new(move |answer| drop(to.send(answer))), from)
    }

    #[test]
    fn a_request_is_answered_once_and_fails_where_nobody_answers() {
        let (reply, answer) = channel();
        reply.fulfill(200, vec![("Content-Type".to_owned(), "text/plain".to_owned())], b"yes".to_vec());
        assert_eq!(answer.recv().unwrap().unwrap().body, b"yes");
        assert!(answer.recv().is_err());
        let (reply, answer) = channel();
        reply.fail(Denied::Refused);
        assert_eq!(answer.recv().unwrap().unwrap_err(), Denied::Refused);
        let (reply, answer) = channel();
        drop(reply);
        assert_eq!(answer.recv().unwrap().unwrap_err(), Denied::Failed);
    }
}

//! The network of a page: what it asks for goes to the engine, and the answer comes from there.
//!
//! Only GET is asked for: what else a page sends may change something at a server, which a crawler must not. Fields
//! that its scripts set go with it, but none that says who asks, by which connection, or for which part.
//!
//! Before a GET with such fields to another origin, the browser asks that origin for leave (a preflight of CORS). It is
//! answered here and never sent: a GET without such fields is made unasked, and changes as much or as little. Whether
//! the page may read the answer says the answer, which the browser judges.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kept::Kept;
use crate::browser::{Asked, Denied, Network, Reply, ResourceKind};
use crate::contract::{self, Answer, Ask, AskId, Processed, Refusal, ReplyTo, Resource};
use crate::outcome::Failure;
use crate::web::coding::BodyDecoder;
use crate::web::url::CanonicalUrl;

/// Requests of a page that are with the engine at the same time.
pub const OPEN_MAX: usize = 16;
/// Places that a page wanted to go to by itself, and that are taken for links.
const LEFT_FOR_MAX: usize = 32;
/// Fields that scripts of a page may set.
const FIELDS_MAX: usize = 16;
const FIELD_BYTES_MAX: usize = 4 << 10;
/// Fields that are never a page's, and beginnings of more.
const OWN_FIELDS: [&str; 26] = [
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "pragma",
    "priority",
    "purpose",
    "range",
    "te",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];
const OWN_BEGINNINGS: [&str; 5] = ["sec-", "proxy-", "signature", "x-forwarded-", "upgrade-"];

/// The page itself, as the browser gets it.
#[derive(Debug)]
pub(super) struct Document {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Document {
    /// The document of `processed`, which still has its body; no more than `decoded_max` bytes of it.
    pub(super) fn of(processed: &Processed, decoded_max: usize) -> Document {
        let response = &processed.response;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let own = response.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"set-cookie"));
        let body = match response.content_encoding() {
            None => response.body.clone(),
            coding => BodyDecoder::default().decode(coding.as_deref(), &response.body, decoded_max).bytes.to_vec(),
        };
        Document {
            status: response.status,
            headers: own.map(|(name, value)| (text(name), text(value))).collect(),
            body,
        }
    }
}

/// The network of one page.
#[derive(Debug)]
pub(super) struct PageNetwork {
    rendering: u64,
    url: CanonicalUrl,
    document: Arc<Document>,
    engine: ReplyTo,
    kept: Arc<Kept>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The page itself was given out.
    has_begun: bool,
    next: u64,
    open: HashMap<u64, Waiting>,
    queue: VecDeque<Queued>,
    /// URLs to which the page wanted to go by itself.
    left_for: Vec<String>,
    is_over: bool,
}

/// A request that waits to be sent: URL, fields, and who waits for it.
type Queued = (CanonicalUrl, Vec<(String, String)>, Waiting);

/// A request of the page that waits for an answer.
#[derive(Debug)]
struct Waiting {
    reply: Reply,
    /// URL and kind by which the answer is kept, where it may be.
    keep_as: Option<(CanonicalUrl, ResourceKind)>,
}

impl PageNetwork {
    pub(super) fn new(
        rendering: u64,
        attempt: u32,
        url: CanonicalUrl,
        document: Arc<Document>,
        engine: ReplyTo,
        kept: Arc<Kept>,
    ) -> PageNetwork {
        // an answer to an earlier attempt must not be taken for one to this
        let state = State { next: u64::from(attempt) << 32, ..State::default() };
        PageNetwork { rendering, url, document, engine, kept, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the URLs to which the page wanted to go by itself, and was not let.
    pub(super) fn left_for(&self) -> Vec<String> {
        std::mem::take(&mut self.state().left_for)
    }

    /// The engine has an answer.
    pub(super) fn answer(&self, number: u64, answer: Answer) {
        let (waiting, next) = {
            let mut state = self.state();
            let waiting = state.open.remove(&number);
            (waiting, self.next_of(&mut state))
        };
        next.into_iter().for_each(|ask| self.engine.send(Ok(contract::Reply::Asked(Box::new(ask)))));
        let Some(Waiting { reply, keep_as }) = waiting else { return };
        match answer {
            Answer::Got(resource) => {
                if let Some((url, kind)) = keep_as {
                    self.kept.put(self.url.registrable_domain(), &url, kind, &resource);
                }
                fulfill(reply, &resource);
            }
            Answer::Refused(refusal) => reply.fail(denied(refusal)),
        }
    }

    /// Nothing is asked for any more; who waits gets nothing.
    fn end(&self) {
        let ended = {
            let mut state = self.state();
            state.is_over = true;
            (std::mem::take(&mut state.open), std::mem::take(&mut state.queue))
        };
        drop(ended);
    }

    fn next_of(&self, state: &mut State) -> Option<Ask> {
        if state.open.len() >= OPEN_MAX {
            return None;
        }
        let (url, fields, waiting) = state.queue.pop_front()?;
        let number = state.next;
        state.next += 1;
        state.open.insert(number, waiting);
        Some(Ask { id: AskId { rendering: self.rendering, number }, url, fields })
    }

    /// Another page takes the place of this one, if it is let.
    fn goes_to(&self, url: &CanonicalUrl, reply: Reply) {
        let is_itself = url.as_str() == self.url.plain() || url.as_str() == self.url.as_str();
        let has_begun = {
            let mut state = self.state();
            let has_begun = std::mem::replace(&mut state.has_begun, true);
            if has_begun && !is_itself && state.left_for.len() < LEFT_FOR_MAX {
                state.left_for.push(url.as_str().to_owned());
            }
            has_begun
        };
        if has_begun && !is_itself {
            return reply.fail(Denied::Refused);
        }
        let Document { status, headers, body } = &*self.document;
        reply.fulfill(*status, headers.clone(), body.clone());
    }
}

impl Network for PageNetwork {
    fn request(&self, asked: Asked, reply: Reply) {
        let Ok(url) = CanonicalUrl::parse(&asked.url) else { return reply.fail(Denied::Refused) };
        if let Some(leave) = leave_of(&asked) {
            return reply.fulfill(204, leave, Vec::new());
        }
        if asked.method != "GET" || asked.body.is_some() {
            return reply.fail(Denied::Refused);
        }
        if asked.is_main_document {
            return self.goes_to(&url, reply);
        }
        if matches!(asked.kind, ResourceKind::Ping | ResourceKind::Prefetch) {
            return reply.fail(Denied::Refused);
        }
        let fields = fields_of(&asked);
        if let Some(resource) = self.kept.get(self.url.registrable_domain(), &url) {
            return fulfill(reply, &resource);
        }
        let has_own = fields.iter().any(|(name, _)| !matches!(name.as_str(), "accept" | "origin" | "referer"));
        let keep_as = (!has_own).then(|| (url.clone(), asked.kind));
        let ask = {
            let mut state = self.state();
            if state.is_over {
                return;
            }
            state.queue.push_back((url, fields, Waiting { reply, keep_as }));
            self.next_of(&mut state)
        };
        ask.into_iter().for_each(|ask| self.engine.send(Ok(contract::Reply::Asked(Box::new(ask)))));
    }
}

fn fulfill(reply: Reply, resource: &Resource) {
    reply.fulfill(resource.status, resource.headers.clone(), resource.body.clone());
}

/// The answer to a preflight for a GET, if `asked` is one. Scripts cannot set the fields by which it is known.
fn leave_of(asked: &Asked) -> Option<Vec<(String, String)>> {
    let field = |wanted: &str| {
        let found = asked.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone())
    };
    if asked.method != "OPTIONS" || field("access-control-request-method")? != "GET" {
        return None;
    }
    let leave = [
        ("Access-Control-Allow-Origin", field("origin")?),
        ("Access-Control-Allow-Methods", "GET".to_owned()),
        ("Access-Control-Allow-Headers", field("access-control-request-headers").unwrap_or_default()),
        ("Access-Control-Allow-Credentials", "true".to_owned()),
    ];
    Some(leave.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Fields of the head of a request that scripts of the page may have set.
fn fields_of(asked: &Asked) -> Vec<(String, String)> {
    let named = asked.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let is_own =
        |name: &str| OWN_FIELDS.contains(&name) || OWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let fits = |value: &str| value.len() <= FIELD_BYTES_MAX && value.bytes().all(|byte| byte >= b' ' && byte != 0x7f);
    named.filter(|(name, value)| !is_own(name) && fits(value)).take(FIELDS_MAX).collect()
}

fn denied(refusal: Refusal) -> Denied {
    match refusal {
        Refusal::Failed(Failure::NoSuchHost) => Denied::NameNotResolved,
        Refusal::Failed(Failure::Connect) => Denied::Unreachable,
        Refusal::Failed(Failure::Timeout) => Denied::TimedOut,
        Refusal::Failed(_) => Denied::Failed,
        _ => Denied::Refused,
    }
}

/// The engine and the number of a page.
type PageKey = (usize, u64);

/// The pages that are being rendered.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<HashMap<PageKey, Arc<PageNetwork>>>);

/// A page that is among them until this is dropped.
pub(super) struct Entered<'a> {
    pages: &'a Pages,
    key: PageKey,
}

impl Pages {
    /// The page of the engine with this number.
    pub(super) fn of(&self, engine: usize, rendering: u64) -> Option<Arc<PageNetwork>> {
        self.lock().get(&(engine, rendering)).cloned()
    }

    pub(super) fn enter(&self, key: PageKey, network: Arc<PageNetwork>) -> Entered<'_> {
        self.lock().insert(key, network);
        Entered { pages: self, key }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PageKey, Arc<PageNetwork>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let gone = self.pages.lock().remove(&self.key);
        gone.iter().for_each(|page| page.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, fields: &[(&str, &str)]) -> Asked {
        Asked {
            id: 0,
            url: "http://api.example/".to_owned(),
            method: method.to_owned(),
            headers: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: None,
            kind: ResourceKind::Other,
            is_main_document: false,
            redirected_from: None,
        }
    }

    #[test]
    fn leave_is_given_for_a_get_and_for_nothing_else() {
        let of = |method: &str, wanted: &str| {
            let fields = [
                ("Origin", "http://a.example"),
                ("Access-Control-Request-Method", wanted),
                ("Access-Control-Request-Headers", "x-a,x-b"),
            ];
            leave_of(&asked(method, &fields))
        };
        let leave = of("OPTIONS", "GET").unwrap();
        assert!(leave.contains(&("Access-Control-Allow-Origin".to_owned(), "http://a.example".to_owned())));
        assert!(leave.contains(&("Access-Control-Allow-Headers".to_owned(), "x-a,x-b".to_owned())));
        assert_eq!((of("OPTIONS", "POST"), of("OPTIONS", "DELETE"), of("GET", "GET")), (None, None, None));
        assert_eq!(leave_of(&asked("OPTIONS", &[("Origin", "http://a.example")])), None);
    }
}

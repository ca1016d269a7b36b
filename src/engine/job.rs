//! What passes between the engine and the network: requests and look-ups out, answers in.
//!
//! ```text
//!            FetchJob                 Fetched                  Processed
//! engine ─────────────► fetch ──────────────────► process ─────────────────► engine
//!        ◄───────────────────────── FetchFailed ◄──┘
//! ```
//! A page that is rendered goes to a browser between the two (`rendering`).
//!
//! A job carries everything that it needs, so that an executor holds no crawl state, and it comes back whole with its
//! answer, so that the engine keeps no table of what is in progress.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::login_plan::{LoginPlan, LoginStep, Submission};
use super::render_plan::{Found, RenderWish, Rendered, Resource};
use super::request_settings::RequestSettings;
use super::session_params::Evidence;
use super::texts::Likeness;
use crate::calendar::Past;
use crate::clock::Time;
use crate::container::{Condition, Referrer};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, HostId, Permit, Provenance, QueuedUrl};
use crate::outcome::{Cause, Failure, Reason};
use crate::web::cookies::CookieField;
use crate::web::headers;
use crate::web::html::LinkKind;
use crate::web::login::Form;
use crate::web::mime;
use crate::web::robots::RobotsRules;
use crate::web::scope::Scope;
use crate::web::sitemap::{self, Summary};
use crate::web::statements::Statements;
use crate::web::url::{CanonicalUrl, Keys};
use crate::web::warc::{Again, Header, HttpVersion, Records, Truncation};

/// A request to be made.
#[derive(Debug)]
pub struct FetchJob {
    /// The queue that the request is made for.
    pub host: HostId,
    /// What is asked for.
    pub target: Target,
    /// The URL of the request.
    pub url: CanonicalUrl,
    /// Vetted addresses of its host; empty where the executor has to ask the name servers itself (a redirect of a
    /// robots.txt to another host).
    pub addresses: Arc<[IpAddr]>,
    /// The scope by which links of the answer are judged.
    pub scope: Arc<Scope>,
    /// What the request is made with, where that is not what is usual.
    pub settings: Option<Arc<RequestSettings>>,
    /// The page that named this one. Anyone who builds the records, or tells the engine of a failure, reads its record.
    pub via: Referrer,
    /// What is sent as `Cookie`.
    pub cookie: Option<CookieField>,
    /// By which sessions of a login it is made.
    pub sessions: u32,
    /// What is asked only if it holds no more; a 304 says that it still holds.
    pub condition: Option<Condition>,
    /// What earlier visits said of it, where it is fetched again.
    pub past: Option<Box<Past>>,
    /// Whether the page is rendered.
    pub render: RenderWish,
    /// What the ids of the answer's records are made from, beside URL and time: of a page the crawl's id, so that they
    /// can be known later; of a robots.txt anything.
    pub id_seed: u128,
}

/// What a request is made for.
#[derive(Debug)]
pub enum Target {
    /// A page, which the rules of its origin permit.
    Page {
        /// The URL with its history.
        url: QueuedUrl,
        /// Proof that robots.txt was asked.
        permit: Permit,
    },
    /// The robots.txt of an origin.
    Robots {
        /// The origin that the rules will hold for, `http://host:port`.
        origin: Box<str>,
        /// Its fingerprint.
        key: Fingerprint,
        /// Redirects followed so far.
        redirects: u8,
        /// The URL that waits for it.
        provenance: Provenance,
        /// Whether it is asked for on behalf of others than the queue of its host.
        for_others: bool,
    },
    /// What a page asks for that is rendered.
    Resource {
        /// The number of the rendering that asked first.
        rendering: u64,
        /// Its fields of the head.
        fields: Vec<(String, String)>,
        /// How it was found: by the page, and as what that embeds.
        provenance: Provenance,
    },
    /// A step of a login.
    Login {
        /// Which login.
        plan: Arc<LoginPlan>,
        /// Which step.
        step: LoginStep,
        /// Redirects followed so far.
        redirects: u8,
        /// The URL that waits for it.
        provenance: Provenance,
    },
}

impl Target {
    /// Whether no queue asks for it, but a login or a page that is rendered.
    pub fn is_errand(&self) -> bool {
        matches!(self, Target::Resource { .. } | Target::Login { .. } | Target::Robots { for_others: true, .. })
    }

    /// What the answer is looked at for.
    pub fn purpose(&self) -> Purpose<'_> {
        match self {
            Target::Page { url, .. } => Purpose::Page { depth: url.depth, hops: &url.hops },
            Target::Robots { origin, provenance: Provenance { depth, hops, .. }, .. } => {
                Purpose::Robots { origin, depth: *depth, hops }
            }
            Target::Resource { provenance, .. } => Purpose::Page { depth: provenance.depth, hops: &provenance.hops },
            Target::Login { .. } => Purpose::Login,
        }
    }
}

impl FetchJob {
    /// Whether budgets have not counted its page yet: no visit and no answer came before.
    pub fn is_new(&self) -> bool {
        self.past.is_none() && !matches!(&self.target, Target::Page { url, .. } if url.is_counted())
    }

    /// Why its page is fetched, where its URL had been seen before.
    pub fn again(&self) -> Option<Again> {
        match &self.target {
            Target::Page { url, .. } if url.is_due_again() => Some(Again::Due),
            Target::Page { url, .. } if url.forced && self.is_new() => Some(Again::First),
            Target::Page { url, .. } if url.forced => Some(Again::Wanted),
            _ => None,
        }
    }

    /// Fields of the head that scripts of a page have set which asks for it.
    pub fn page_fields(&self) -> &[(String, String)] {
        match &self.target {
            Target::Resource { fields, .. } => fields,
            _ => &[],
        }
    }

    /// What is sent, where that is more than a question.
    pub fn submission(&self) -> Option<&Submission> {
        match &self.target {
            Target::Login { step: LoginStep::Submit(submission), .. } => Some(submission),
            _ => None,
        }
    }
}

/// What an answer is looked at for: as much of a [`Target`] as its findings depend on, and as a replay knows.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Links and redirects of a page.
    Page {
        /// Links between a seed and the page.
        depth: u16,
        /// How it was found: at the end of some paths a sitemap is expected.
        hops: &'a Hops,
    },
    /// The same of a page that was rendered, where `dom` stands for its body.
    Rendered {
        /// Links between a seed and the page.
        depth: u16,
        /// How it was found.
        hops: &'a Hops,
        /// The page as it was when the rendering ended.
        dom: &'a str,
        /// Links that the rendering found beside those in it.
        outlinks: &'a [String],
    },
    /// How a login goes.
    Login,
    /// Rules and sitemaps.
    Robots {
        /// The origin that the rules hold for, as a URL.
        origin: &'a str,
        /// The depth of the URL that waits for it.
        depth: u16,
        /// How it was found: as that URL was, and as its prerequisite.
        hops: &'a Hops,
    },
}

/// A name to be resolved.
#[derive(Debug)]
pub struct ResolveJob {
    /// The queue that waits for the answer.
    pub host: HostId,
    /// The host name.
    pub name: Box<str>,
}

/// An answer as it came from the network.
#[derive(Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Reason phrase, as sent or the customary one.
    pub reason: String,
    /// Protocol of the answer.
    pub version: HttpVersion,
    /// Names and values in the order in which they came.
    pub headers: Vec<Header>,
    /// The body as sent, transfer encoding removed.
    pub body: Vec<u8>,
    /// Why the body is not whole.
    pub truncated: Option<Truncation>,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The head of the request, as HTTP/1.1 text.
    pub request: Vec<u8>,
    /// When the request began.
    pub started: Time,
    /// From there to the last byte.
    pub duration: Duration,
}

impl Response {
    /// The first value of the header `name`.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<Cow<'a, str>> {
        headers::first(&self.headers, name)
    }

    /// The type that its Content-Type fields state together.
    pub fn content_type(&self) -> Option<String> {
        mime::content_type(&self.headers)
    }

    /// The content codings, in the order in which they were applied.
    pub fn content_encoding(&self) -> Option<String> {
        headers::list(&self.headers, "content-encoding")
    }

    /// Whether `Retry-After` in it speaks of the server's load: with a redirect or a page it speaks of something else.
    pub fn speaks_of_load(&self) -> bool {
        self.status == 429 || self.status >= 500
    }

    /// Whether the body ended before its time, so that it is worth another attempt.
    pub fn is_interrupted(&self) -> bool {
        self.truncated.is_some_and(Truncation::is_interruption)
    }
}

/// A job with its answer, on the way to processing.
#[derive(Debug)]
pub struct Fetched {
    /// What was asked.
    pub job: FetchJob,
    /// What came.
    pub response: Response,
}

/// A job that brought no answer.
#[derive(Debug)]
pub struct FetchFailed {
    /// What was asked.
    pub job: FetchJob,
    /// Why nothing came.
    pub failure: Failure,
    /// The same in more detail.
    pub cause: Cause,
    /// In the words of the library that noticed.
    pub detail: String,
    /// When the attempt began.
    pub started: Time,
    /// How long it took.
    pub duration: Duration,
}

/// Why a name has no address, and for how long that holds where the name servers said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Why.
    pub failure: Failure,
    /// The same in more detail.
    pub cause: Cause,
    /// How long it holds at most; `dns.negative_ttl` may be shorter.
    pub valid_for: Option<Duration>,
}

impl From<Failure> for Unresolved {
    fn from(failure: Failure) -> Self {
        Unresolved { failure, cause: failure.into(), valid_for: None }
    }
}

/// A link that is in scope.
#[derive(Debug)]
pub struct FoundLink {
    /// Where it leads, in the fetch form.
    pub url: Box<str>,
    /// Its fingerprints.
    pub keys: Keys,
    /// What kind of link it is.
    pub kind: LinkKind,
    /// When it was changed last by what names it, a sitemap or a feed, as far as that is believed.
    pub modified: Option<Time>,
}

/// What of an answer was not looked at, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsMet {
    /// The body was decoded in part only: it becomes larger than its limit, is damaged, or is of an unknown coding.
    pub decoded: bool,
    /// Links beyond the limits of their number, length or memory.
    pub links: u64,
    /// It redirects to what is no http or https URL, to one longer than any, or to a forbidden address.
    pub redirect: bool,
    /// Links that are not followed because too many pages of its origin say nearly the same: the engine's verdict.
    pub repeated: bool,
}

/// What processing found in an answer.
#[derive(Debug)]
pub struct Findings {
    /// Links in scope, each once; of a robots.txt the sitemaps that it names.
    pub links: Vec<FoundLink>,
    /// Links that are not followed, by reason.
    pub dropped: Vec<(Reason, u32)>,
    /// The first of those that are too deep.
    pub too_deep: Vec<FoundLink>,
    /// Where a 3xx leads; judged by the engine.
    pub redirect: Option<(CanonicalUrl, Keys)>,
    /// The rules of a robots.txt, without its sitemaps.
    pub rules: Option<RobotsRules>,
    /// What was in the page if it is a sitemap or a feed.
    pub sitemap: Option<Summary>,
    /// Which limits the answer met, for crawl.log.
    pub limits: LimitsMet,
    /// Whether the page is hardly more than its scripts.
    pub is_scripts: bool,
    /// Of a page of HTML: how much it shows.
    pub shown: Option<Found>,
    /// The page asks not to follow its links.
    pub is_nofollow: bool,
    /// A digest of what the page says, without what changes by itself; 0 where it says nothing, or nobody asked.
    pub text: u64,
    /// By what it is told whether other pages say nearly the same, where that is of interest.
    pub likeness: Option<Box<Likeness>>,
    /// What the page says for and against the parameters of its URL, where these may be session ids.
    pub evidence: Option<Box<Evidence>>,
    /// What the page itself states about its use, beside its header.
    pub statements: Statements,
    /// The URL that the page names as its canonical one, by its `Link` header or else by `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// What an answer to a step of a login has.
    pub login: Option<Box<LoginFindings>>,
    /// Whether the answer is what the site shows to those who are not logged in.
    pub is_logged_out: bool,
}

/// What was found in an answer to a step of a login.
#[derive(Debug)]
pub struct LoginFindings {
    /// The form, or why there is none.
    pub form: Result<Form, String>,
    /// Whether the page has the element by which a login that worked is known.
    pub has_success: bool,
}

impl Findings {
    /// Nothing was found.
    pub fn none() -> Self {
        Findings {
            links: Vec::new(),
            dropped: Vec::new(),
            too_deep: Vec::new(),
            redirect: None,
            rules: None,
            sitemap: None,
            limits: LimitsMet::default(),
            is_scripts: false,
            shown: None,
            is_nofollow: false,
            text: 0,
            likeness: None,
            evidence: None,
            statements: Statements::default(),
            canonical: None,
            login: None,
            is_logged_out: false,
        }
    }

    /// Whether the answer was a page, a sitemap or a feed.
    pub fn kind(&self) -> sitemap::Kind {
        self.sitemap.map_or(sitemap::Kind::Page, |summary| summary.format.kind())
    }
}

/// Places in bounded memory that an answer holds on its way, free again when this is dropped: when the engine is done
/// with the answer.
#[derive(Default)]
pub struct Room(Vec<Box<dyn Any + Send>>);

impl Room {
    /// Holds `place` too.
    pub fn hold(&mut self, place: impl Any + Send) {
        self.0.push(Box::new(place));
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} places", self.0.len())
    }
}

/// An answer with its findings and its records.
#[derive(Debug)]
pub struct Processed {
    /// What was asked.
    pub job: FetchJob,
    /// Fingerprints of the job's URL.
    pub keys: Keys,
    /// The answer without its body.
    pub response: Response,
    /// Media type without parameters.
    pub mime: String,
    /// What `Retry-After` asks for.
    pub retry_after: Option<Duration>,
    /// Links, redirect, rules.
    pub findings: Findings,
    /// The records for the archive.
    pub records: Records,
    /// Whether they state anything about the use of the answer.
    pub has_statements: bool,
    /// The memory that it has a part of.
    pub room: Room,
    /// Why the page is to be rendered before it is stored; then its body is still there, and no records are.
    pub to_render: Option<&'static str>,
    /// What a rendering has made of the page.
    pub rendered: Option<Box<Rendered>>,
    /// What a page gets that has asked for it.
    pub resource: Option<Arc<Resource>>,
}

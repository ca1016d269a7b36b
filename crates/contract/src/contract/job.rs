//! Messages between the engine and the network: requests and look-ups out, answers in.
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

use super::conversion::Conversion;
use super::evidence::Evidence;
use super::likeness::Likeness;
use super::login_plan::{LoginPlan, LoginStep, Submission};
use super::render_plan::{Found, RenderWish, Rendered, Resource};
use super::request_settings::RequestSettings;
use super::retries::Answered;
use crate::calendar::Past;
use crate::clock::Time;
use crate::container::{Condition, Referrer};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, HostId, Permit, Provenance, QueuedUrl};
use crate::outcome::{Cause, Failure, Reason};
use crate::warc::{Again, Header, HttpVersion, Records, Truncation};
use crate::web::cookies::CookieField;
use crate::web::headers;
use crate::web::html::LinkKind;
use crate::web::kind::{Judged, Kind};
use crate::web::login::Form;
use crate::web::mime;
use crate::web::robots::RobotsRules;
use crate::web::scope::Scope;
use crate::web::sitemap::{self, Summary};
use crate::web::statements::Statements;
use crate::web::url::{CanonicalUrl, Keys};

/// A request to be made.
#[derive(Debug)]
pub struct FetchJob {
    /// The queue that the request is made for.
    pub host: HostId,
    /// The thing that is asked for.
    pub target: Target,
    /// The URL of the request.
    pub url: CanonicalUrl,
    /// Vetted addresses of its host; empty where the executor has to ask the name servers itself (a redirect of a
    /// robots.txt to another host).
    pub addresses: Arc<[IpAddr]>,
    /// The scope by which links of the answer are judged.
    pub scope: Arc<Scope>,
    /// Settings of the request, where they are not the usual ones.
    pub settings: Option<Arc<RequestSettings>>,
    /// The page that named this one. Anyone who builds the records, or reports a failure to the engine, reads its
    /// record.
    pub via: Referrer,
    /// Value of `Cookie`.
    pub cookie: Option<CookieField>,
    /// Sum of the epochs of the login sessions by which it is made.
    pub sessions: u32,
    /// Condition of the request: the answer is only wanted if this holds no more; a 304 says that it still holds.
    pub condition: Option<Condition>,
    /// Results of earlier visits, where it is fetched again.
    pub past: Option<Box<Past>>,
    /// The wish to render the page, or not.
    pub render: RenderWish,
    /// Seed of the ids of the answer's records, in addition to URL and time: of a page the crawl's id, so that they can
    /// be known later; of a robots.txt anything.
    pub id_seed: u128,
}

/// The purpose of a request.
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
        /// True if it is asked for on behalf of others than the queue of its host.
        for_others: bool,
    },
    /// Something that a rendered page asks for.
    Resource {
        /// The number of the rendering that asked first.
        rendering: u64,
        /// Its fields of the head.
        fields: Vec<(String, String)>,
        /// The way on which it was found: through the page, as something that the page embeds.
        provenance: Provenance,
    },
    /// A step of a login.
    Login {
        /// The login.
        plan: Arc<LoginPlan>,
        /// The step.
        step: LoginStep,
        /// Redirects followed so far.
        redirects: u8,
        /// The URL that waits for it.
        provenance: Provenance,
    },
}

impl Target {
    /// True if no queue asks for it, but a login or a page that is rendered.
    pub fn is_prerequisite(&self) -> bool {
        matches!(self, Target::Resource { .. } | Target::Login { .. } | Target::Robots { for_others: true, .. })
    }

    /// Returns what the answer is looked at for.
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
    /// True if budgets have not counted its page yet: no visit and no answer came before.
    pub fn is_new(&self) -> bool {
        self.past.is_none() && !matches!(&self.target, Target::Page { url, .. } if url.is_counted())
    }

    /// Returns why its page is fetched, where its URL had been seen before.
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

    /// Message of a login that is sent, where the request is more than a question.
    pub fn submission(&self) -> Option<&Submission> {
        match &self.target {
            Target::Login { step: LoginStep::Submit(submission), .. } => Some(submission),
            _ => None,
        }
    }
}

/// The reason for which an answer is looked at: as much of a [`Target`] as its findings depend on, and as a replay
/// knows.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Links and redirects of a page.
    Page {
        /// Links between a seed and the page.
        depth: u16,
        /// The way on which it was found: at the end of some ways a sitemap is expected.
        hops: &'a Hops,
    },
    /// The same of a page that was rendered, where `dom` is in the place of its body.
    Rendered {
        /// Links between a seed and the page.
        depth: u16,
        /// The way on which it was found.
        hops: &'a Hops,
        /// The page as it was when the rendering ended.
        dom: &'a str,
        /// Links that the rendering found beside those in it.
        outlinks: &'a [String],
    },
    /// The course of a login.
    Login,
    /// Rules and sitemaps.
    Robots {
        /// The origin that the rules hold for, as a URL.
        origin: &'a str,
        /// The depth of the URL that waits for it.
        depth: u16,
        /// The way on which it was found: the way of that URL, and then as its prerequisite.
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
    /// Reason for which the body is not whole.
    pub truncated: Option<Truncation>,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The head of the request, as HTTP/1.1 text.
    pub request: Vec<u8>,
    /// Time at which the request began.
    pub started: Time,
    /// Time from there to the last byte.
    pub duration: Duration,
    /// Its kind, once that is known.
    pub judgement: Judgement,
}

/// Knowledge of what kind of answer one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judgement {
    /// Nobody has judged it yet.
    #[default]
    Open,
    /// It was judged when it came: content, or one of the other kinds.
    Known(Option<Kind>),
}

impl Response {
    /// Its kind, where it is known to be no content.
    pub fn kind(&self) -> Option<Kind> {
        match self.judgement {
            Judgement::Known(kind) => kind,
            Judgement::Open => None,
        }
    }

    /// The facts of it by which it is decided whether its URL is asked for again.
    pub fn answered(&self) -> Answered {
        Answered { status: self.status, is_interrupted: self.is_interrupted(), kind: self.kind() }
    }

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

    /// True if `Retry-After` in it speaks of the server's load: with a redirect or a page it speaks of something else.
    pub fn speaks_of_load(&self) -> bool {
        self.status == 429 || self.status >= 500
    }

    /// True if the body ended before its time, so that it is worth another attempt.
    pub fn is_interrupted(&self) -> bool {
        self.truncated.is_some_and(Truncation::is_interruption)
    }
}

/// A job with its answer, on the way to processing.
#[derive(Debug)]
pub struct Fetched {
    /// The request.
    pub job: FetchJob,
    /// The answer.
    pub response: Response,
}

/// A job that brought no answer.
#[derive(Debug)]
pub struct FetchFailed {
    /// The request.
    pub job: FetchJob,
    /// Reason for which nothing came.
    pub failure: Failure,
    /// The same in more detail.
    pub cause: Cause,
    /// Details in the words of the library that noticed.
    pub detail: String,
    /// Time at which the attempt began.
    pub started: Time,
    /// Time that it took.
    pub duration: Duration,
}

/// Reason for which a name has no address, and the time for which that holds where the name servers said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The reason.
    pub failure: Failure,
    /// The same in more detail.
    pub cause: Cause,
    /// Time that it holds at most; `dns.negative_ttl` may be shorter.
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
    /// Target of the link, in the fetch form.
    pub url: Box<str>,
    /// Its fingerprints.
    pub keys: Keys,
    /// The kind of link.
    pub kind: LinkKind,
    /// Time of its last change, as a sitemap or feed that names it says, as far as that is believed.
    pub modified: Option<Time>,
}

/// Limits at which something of an answer was not looked at.
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

/// Results of processing an answer.
#[derive(Debug)]
pub struct Findings {
    /// Links in scope, each once; of a robots.txt the sitemaps that it names.
    pub links: Vec<FoundLink>,
    /// Links that are not followed, by reason.
    pub dropped: Vec<(Reason, u32)>,
    /// The first of those that are too deep.
    pub too_deep: Vec<FoundLink>,
    /// Target of a 3xx; judged by the engine.
    pub redirect: Option<(CanonicalUrl, Keys)>,
    /// The rules of a robots.txt, without its sitemaps.
    pub rules: Option<RobotsRules>,
    /// Summary of the page if it is a sitemap or a feed.
    pub sitemap: Option<Summary>,
    /// Limits that the answer met, for crawl.log.
    pub limits: LimitsMet,
    /// True if the page is hardly more than its scripts.
    pub is_scripts: bool,
    /// Scripts, links and text that a page of HTML shows.
    pub shown: Option<Found>,
    /// The page asks not to follow its links.
    pub is_nofollow: bool,
    /// A digest of what the page says, without what changes by itself; 0 where it says nothing, or nobody asked.
    pub text: u64,
    /// Keys by which it is known whether other pages say nearly the same, where that is of interest.
    pub likeness: Option<Box<Likeness>>,
    /// Evidence of the page for and against the parameters of its URL, where these may be session ids.
    pub evidence: Option<Box<Evidence>>,
    /// The kind of the answer with its evidence, where it came just now and is no content.
    pub judged: Option<Box<Judged>>,
    /// Statements in the page itself about its use, apart from those in its header.
    pub statements: Statements,
    /// The URL that the page names as its canonical one, by its `Link` header or else by `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// Findings of an answer to a step of a login.
    pub login: Option<Box<LoginFindings>>,
    /// True if the answer is what the site shows to those who are not logged in.
    pub is_logged_out: bool,
}

/// Findings in an answer to a step of a login.
#[derive(Debug)]
pub struct LoginFindings {
    /// The form, or why there is none.
    pub form: Result<Form, String>,
    /// True if the page has the element by which a login that worked is known.
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
            judged: None,
            statements: Statements::default(),
            canonical: None,
            login: None,
            is_logged_out: false,
        }
    }

    /// The judgement of an answer in which this was found, and which was judged with it.
    pub fn judgement(&self) -> Judgement {
        Judgement::Known(self.judged.as_ref().map(|judged| judged.kind))
    }

    /// The kind of document that the answer was: a page, a sitemap or a feed.
    pub fn kind(&self) -> sitemap::Kind {
        self.sitemap.map_or(sitemap::Kind::Page, |summary| summary.format.kind())
    }
}

/// Permits for bounded memory that an answer holds, free again when this is dropped: when the engine is done
/// with the answer.
#[derive(Default)]
pub struct HeldPermits(Vec<Box<dyn Any + Send>>);

impl HeldPermits {
    /// Holds `permit` too.
    pub fn hold(&mut self, permit: impl Any + Send) {
        self.0.push(Box::new(permit));
    }
}

impl fmt::Debug for HeldPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} permits", self.0.len())
    }
}

/// An answer with its findings and its records.
#[derive(Debug)]
pub struct Processed {
    /// The request.
    pub job: FetchJob,
    /// Fingerprints of the job's URL.
    pub keys: Keys,
    /// The answer without its body.
    pub response: Response,
    /// Media type without parameters.
    pub mime: String,
    /// Time that `Retry-After` asks for.
    pub retry_after: Option<Duration>,
    /// Links, redirect, rules.
    pub findings: Findings,
    /// The records for the archive.
    pub records: Records,
    /// True if they state anything about the use of the answer.
    pub has_statements: bool,
    /// Permits for the memory that it has a part of.
    pub permits: HeldPermits,
    /// Reason for which the page is to be rendered before it is stored; then its body is still there, and no records
    /// are.
    pub to_render: Option<&'static str>,
    /// The result of rendering the page.
    pub rendered: Option<Box<Rendered>>,
    /// The outcome for a document of which a page was to be made.
    pub converted: Option<Conversion>,
    /// Answer for the page that has asked for it.
    pub resource: Option<Arc<Resource>>,
}

impl Processed {
    /// True if a page was made of the answer, by a browser or by the reader of a document, and is stored with it.
    pub fn has_made_page(&self) -> bool {
        let of_document = self.converted.is_some_and(|conversion| conversion.failure.is_none());
        of_document || self.rendered.as_ref().is_some_and(|rendered| rendered.has_page())
    }
}

//! A crawl replayed in the browser: archived pages as they were, at an origin of their own.
//!
//! Requests in, answers out: no sockets, no archive but the [`Captures`] that it is given. There are two origins.
//! [`Home`] has our own pages: search, calendar, and the frame around an archived page. [`Replay`] has archived pages,
//! so that these share no origin with anything else.
//!
//! | request to [`Replay`] | answer |
//! |---|---|
//! | `/TIME/URL` | the capture nearest to TIME (1 to 14 digits): pages are redirected to its own time |
//! | `/TIMEid_/URL` | its bytes as they are stored; nothing in them runs |
//! | `/TIMErd_/URL` | the page as a rendering left it; scripts do not run again |
//! | `/timegate/URL`, `/timemap/link/URL`, `/timemap/json/URL` | Memento (RFC 7089) |
//! | `/replay-start#/TIME/URL` | goes there: to an origin of its own, or with a worker |
//!
//! # Origins
//!
//! On this machine, each archived origin has an origin of its own (`site`), at which its pages have the paths that
//! they had. It stays at the time of the page that was opened: its other pages and parts are those nearest to it.
//! Browsers on other machines cannot resolve such names. There, pages are at `/TIME/URL`, and a worker leads what their
//! scripts ask for by an absolute path.
//!
//! # Nothing leaves
//!
//! Links and parts of HTML and CSS are rewritten, whether they are in the archive or not. A head script leads what
//! scripts ask for to the archive, and a worker what is left of it. Neither is what holds a page back: that is the
//! policy (`policy`) of each answer, the sandbox of the frame, and the policy of the home page, which lets the frame
//! go nowhere else.

mod address;
mod at_site;
mod captures;
mod fields;
mod find;
mod home;
mod memento;
mod message;
mod moment;
mod pages;
mod policy;
mod proxied;
mod range;
mod site;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use url::Url;

pub use captures::{ArchiveFault, Capture, CaptureId, Captures, Content, StartPage};
pub use home::{Home, LOOK, is_home_path, is_url, page_path};
pub use message::{Origins, Question, Reply};
pub use moment::parse as moment;
pub use pages::html_text;
pub use proxied::Proxied;

use crate::rewrite::{Options, Purpose, Source, Target, rewrite};
use crate::web::html::{Document, Stated};
use crate::web::mime;
use crate::web::url::CanonicalUrl;
use address::{Form, Place};
use captures::nearest;
use find::{Next, captures_of, lead};
use memento::{LINK_FORMAT, Links};
use moment::digits;
use pages::Alternative;
use policy::{Policy, hold};
use site::GO;

/// The path of the head script.
const HEAD_PATH: &str = "/replay-head.js";
/// The path of the script before a worker.
const INSIDE_PATH: &str = "/replay-inside.js";
/// The head script, before all elements of a page.
const HEAD: &str = "<script src=\"/replay-head.js\"></script>";
/// Destinations of requests whose answer becomes a document.
const DOCUMENTS: [&str; 6] = ["document", "iframe", "frame", "fencedframe", "embed", "object"];
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// The origin of archived pages.
pub struct Replay {
    captures: Arc<dyn Captures>,
}

/// An answer and what it may do in a browser.
struct Held {
    reply: Reply,
    policy: Policy,
}

/// A capture that is asked for.
struct Asked<'a> {
    /// Time as it was written.
    time: &'a str,
    form: Form,
    url: CanonicalUrl,
}

/// A request for a capture, read.
struct Wanted<'a> {
    question: &'a Question,
    /// Time as it was written.
    time: &'a str,
    form: Form,
    url: CanonicalUrl,
}

impl Replay {
    /// Shows these captures.
    pub fn new(captures: Arc<dyn Captures>) -> Replay {
        Replay { captures }
    }

    /// Answers a request.
    pub fn answer(&self, question: &Question) -> Reply {
        let held = self.choose(question).unwrap_or_else(|fault| own(Reply::page(500, pages::problem(&fault.0))));
        hold(held.reply, held.policy, question)
    }

    fn choose(&self, question: &Question) -> Result<Held, ArchiveFault> {
        if let Some(name) = &question.site {
            return self.at_site(question, name);
        }
        let place = address::read(&question.target);
        // no archived script may take the place of our worker
        if let Some(refusal) = refusal(question, place == Place::File("replay-worker.js")) {
            return Ok(refusal);
        }
        match place {
            Place::Capture { time, form, url } => match address::url(url) {
                Some(url) => self.capture(question, &Asked { time, form, url }),
                None => Ok(no_url()),
            },
            Place::TimeGate(url) => self.gate(question, url),
            Place::TimeMapLink(url) => self.map(question, url, |links| Reply::new(200, LINK_FORMAT, links.list())),
            Place::TimeMapJson(url) => {
                self.map(question, url, |links| Reply::new(200, "application/json", links.json()))
            }
            Place::File(name) => Ok(file(name, question)),
        }
    }

    /// Answers with all captures of a URL.
    fn map(
        &self,
        question: &Question,
        text: &str,
        write: impl FnOnce(&Links<'_>) -> Reply,
    ) -> Result<Held, ArchiveFault> {
        let Some(url) = address::url(text) else { return Ok(no_url()) };
        let captures = self.captures.captures(&url)?;
        if captures.is_empty() {
            return self.missing(question, &url);
        }
        Ok(own(write(&Links { origin: &question.origins.replay, url: &url, captures: &captures })))
    }

    /// Leads to the capture nearest to the time that the request names; without one to the newest.
    fn gate(&self, question: &Question, text: &str) -> Result<Held, ArchiveFault> {
        let Some(url) = address::url(text) else { return Ok(no_url()) };
        let captures = self.captures.captures(&url)?;
        let at = match question.field("accept-datetime") {
            None => captures.len().checked_sub(1),
            Some(date) => match moment::parse_http_date(date) {
                Some(time) => nearest(&captures, time),
                None => return Ok(own(Reply::page(400, pages::problem("Accept-Datetime is no date of HTTP.")))),
            },
        };
        let links = Links { origin: &question.origins.replay, url: &url, captures: &captures };
        let Some(at) = at else { return self.missing(question, &url) };
        let reply = Reply::found(links.memento(at)).with("vary", "accept-datetime");
        Ok(own(reply.with("link", links.field(Some(at)))))
    }

    fn capture(&self, question: &Question, asked: &Asked<'_>) -> Result<Held, ArchiveFault> {
        let Asked { time, form, ref url } = *asked;
        let Some(moment) = moment::parse(time) else { return Ok(no_url()) };
        if question.destination() == Some("document") && form != Form::Stored {
            let to = format!("{}{}", question.origins.home, address::path(time, form, url));
            return Ok(own(Reply::found(to)));
        }
        let Some((url, captures)) = captures_of(&*self.captures, question, url)? else {
            return self.missing(question, url);
        };
        let Some(at) = nearest(&captures, moment) else { return self.missing(question, &url) };
        let links = Links { origin: &question.origins.replay, url: &url, captures: &captures };
        let exact = digits(captures[at].time);
        let is_part = question.destination().is_some_and(|destination| !DOCUMENTS.contains(&destination));
        // pages of one origin stay together, whenever each of them was fetched
        let may_move = question.site.is_none() && !is_part && question.method != "POST";
        if exact != time && may_move {
            let to = format!("{}{}", question.origins.replay, address::path(&exact, form, &url));
            return Ok(own(Reply::found(to).with("link", links.field(Some(at)))));
        }
        let wanted = Wanted { question, time, form, url: url.clone() };
        let mut held = self.shown(&wanted, &captures, at)?;
        let reply = held.reply.with("memento-datetime", moment::http_date(captures[at].time));
        let reply = reply.with("link", links.field(Some(at)));
        held.reply = range::cut(reply, question.field("range"));
        Ok(held)
    }

    /// Shows a capture.
    fn shown(&self, wanted: &Wanted<'_>, captures: &[Capture], at: usize) -> Result<Held, ArchiveFault> {
        let capture = &captures[at];
        if wanted.form == Form::Rendered {
            return self.rendered(wanted, capture);
        }
        let content = self.captures.content(capture)?;
        if wanted.form == Form::Stored {
            return Ok(stored(wanted.question, capture, content));
        }
        if let Some(reply) = self.redirect(wanted, captures, at, &content)? {
            return Ok(own(reply));
        }
        let own_url = CanonicalUrl::parse(&capture.url).unwrap_or_else(|_| wanted.url.clone());
        let content_type = content.content_type.as_deref();
        let stated = Stated { content_type, path: own_url.path(), ..Stated::default() };
        let document = Document::of(&stated, &content.body);
        let is_document = wanted.question.destination().is_none_or(|to| DOCUMENTS.contains(&to));
        let runs = wanted.question.site.is_some() && is_script(wanted.question, content_type);
        let body = match document {
            _ if runs => wanted.script(&content.body, &own_url),
            Some(document) => {
                let source = Source { url: &own_url, content_type, document };
                wanted.rewritten(&content.body, &source, capture)
            }
            None => content.body,
        };
        let shown_type = match document {
            // what is not rewritten, and could name things to load, is shown as text
            Some(Document::Xml) if is_document => Some("text/plain; charset=utf-8".to_owned()),
            Some(Document::Html) if content_type.is_none() => Some("text/html".to_owned()),
            _ => content.content_type.filter(|value| is_plain(value)),
        };
        let mut reply =
            fields::keep(Reply { status: fields::status(capture.status), body, ..Reply::default() }, &content.fields);
        if let Some(shown_type) = shown_type {
            reply = reply.with("content-type", shown_type);
        }
        Ok(Held { reply, policy: Policy::Replayed })
    }

    /// Shows a page as a rendering left it; where none did, it leads to the page itself.
    fn rendered(&self, wanted: &Wanted<'_>, capture: &Capture) -> Result<Held, ArchiveFault> {
        let Some(dom) = self.captures.rendered(capture)? else {
            let path = address::path(wanted.time, Form::Replayed, &wanted.url);
            return Ok(own(Reply::found(format!("{}{path}", wanted.question.origins.replay))));
        };
        let url = CanonicalUrl::parse(&capture.url).unwrap_or_else(|_| wanted.url.clone());
        let source = Source { url: &url, content_type: Some(HTML), document: Document::Html };
        let body = wanted.rewritten(dom.as_bytes(), &source, capture);
        Ok(Held { reply: Reply::new(200, HTML, body), policy: Policy::Rendered })
    }

    /// Leads to the target of a redirect; nothing where the capture is none.
    fn redirect(
        &self,
        wanted: &Wanted<'_>,
        captures: &[Capture],
        at: usize,
        content: &Content,
    ) -> Result<Option<Reply>, ArchiveFault> {
        let capture = &captures[at];
        let Some(lead) = lead(&*self.captures, captures, at, content, capture.time)? else { return Ok(None) };
        let (to, time) = match lead.next {
            // a page at an origin of its own stays at its time
            Next::At(time) if wanted.question.site.is_none() => (&lead.target, digits(time)),
            Next::At(_) | Next::Missing => (&lead.target, wanted.time.to_owned()),
            Next::Page(at) => (&wanted.url, digits(captures[at].time)),
            Next::Itself => return Ok(None),
        };
        let fragment = lead.location.split_once('#').map(|(_, fragment)| fragment).filter(|text| is_plain(text));
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        let address = wanted.question.address(&time, Form::Replayed, to);
        let reply = Reply { status: capture.status, ..Reply::default() };
        let reply = fields::keep(reply, &content.fields);
        Ok(Some(reply.with("location", format!("{address}{fragment}"))))
    }

    /// Says that a URL is not in the archive, and names captures of URLs that are nearly the same.
    fn missing(&self, question: &Question, url: &CanonicalUrl) -> Result<Held, ArchiveFault> {
        let mut others = Vec::new();
        for other in similar(url) {
            if let Some(capture) = self.captures.captures(&other)?.pop() {
                others.push(Alternative { url: other, capture });
            }
        }
        let links = Links { origin: &question.origins.replay, url, captures: &[] };
        let sites = question.origins.sites.as_ref().filter(|_| question.site.is_some());
        let origin = sites.map_or_else(|| question.origins.replay.clone(), |sites| format!("http://{GO}.{sites}"));
        let page = pages::missing(url.as_str(), &others, &origin);
        let head_and_page = page.replacen("<meta", &format!("{HEAD}<meta"), 1);
        let reply = Reply::page(404, head_and_page).with("link", links.field(None));
        Ok(own(reply))
    }
}

impl Wanted<'_> {
    /// The reference from a page as it was rendered to another one, as short as it can be: sheets may tell links to
    /// other sites by the scheme in them.
    fn beside(&self, url: &CanonicalUrl) -> String {
        let address = |url| self.question.address(self.time, Form::Rendered, url);
        let (own, other) = (address(&self.url), address(url));
        let relative = Url::parse(&own).ok().zip(Url::parse(&other).ok()).and_then(|(own, other)| {
            let relative = own.make_relative(&other)?;
            own.join(&relative).is_ok_and(|joined| joined == other).then_some(relative)
        });
        relative.filter(|relative| !relative.is_empty()).unwrap_or(other)
    }

    /// A document with its links led into the archive, at the time that is asked for.
    fn rewritten(&self, body: &[u8], source: &Source<'_>, capture: &Capture) -> Vec<u8> {
        let mut lead = |target: &Target<'_>| match target.purpose {
            Purpose::Canonical => None,
            _ if self.form == Form::Rendered && target.is_relative && target.purpose.is_link() => {
                Some(self.beside(target.url))
            }
            _ => Some(self.question.address(self.time, Form::Replayed, target.url)),
        };
        let is_at_site = self.question.site.is_some();
        let head = format!("<script src=\"{HEAD_PATH}\" data-time=\"{}\"></script>", digits(capture.time));
        let first = if is_at_site { &head } else { HEAD };
        let options = Options {
            removes_crossorigin: true,
            keeps_relative: is_at_site,
            rewrites_scripts: is_at_site && self.form == Form::Replayed,
            first,
            ..Options::default()
        };
        rewrite(body, source, options, &mut lead).into_owned()
    }
}

/// True for an answer that a browser runs.
fn is_script(question: &Question, content_type: Option<&str>) -> bool {
    let runs = ["script", "worker", "sharedworker", "audioworklet", "paintworklet"];
    let is_run = question.destination().is_some_and(|to| runs.contains(&to));
    is_run || mime::essence(content_type).ends_with("javascript")
}

/// A capture as it is stored. A browser that makes a document of it shows it as text: it is not rewritten.
fn stored(question: &Question, capture: &Capture, content: Content) -> Held {
    let reply = Reply { status: fields::status(capture.status), body: content.sent, ..Reply::default() };
    let mut reply = fields::keep(reply, &content.fields).with("x-content-type-options", "nosniff");
    let is_document = question.destination().is_some_and(|destination| DOCUMENTS.contains(&destination));
    let own_type = content.content_type.filter(|value| is_plain(value));
    let is_still = |value: &String| {
        let essence = mime::essence(Some(value));
        !essence.contains("html") && !essence.contains("xml")
    };
    let shown_type = match own_type {
        Some(own_type) if !is_document || is_still(&own_type) => own_type,
        _ if is_document => "text/plain".to_owned(),
        _ => "application/octet-stream".to_owned(),
    };
    reply = reply.with("content-type", shown_type);
    if let Some(coding) = content.content_encoding.filter(|coding| is_plain(coding)) {
        reply = reply.with("content-encoding", coding);
    }
    Held { reply, policy: Policy::Stored }
}

fn own(reply: Reply) -> Held {
    Held { reply, policy: Policy::Own }
}

fn no_url() -> Held {
    own(Reply::page(404, pages::problem("This is not the URL of a page of the web.")))
}

/// Says why a request is not answered, whatever is at its path.
fn refusal(question: &Question, is_own_worker: bool) -> Option<Held> {
    let (status, why) = if !matches!(&*question.method, "GET" | "HEAD" | "POST") {
        (405, "Only GET and POST are answered here.")
    } else if question.field("service-worker").is_some() && !is_own_worker {
        (403, "Archived workers are not replayed.")
    } else {
        return None;
    };
    Some(own(Reply::page(status, pages::problem(why))))
}

/// A file of our own.
fn file(name: &str, question: &Question) -> Held {
    own(match name {
        "replay-worker.js" => Reply::new(200, JAVASCRIPT, include_str!("assets/worker.js")),
        // frames in a sandbox load it, too
        "replay-head.js" => {
            let reply = Reply::new(200, JAVASCRIPT, include_str!("assets/head.js"));
            let is_at_site = question.site.is_some();
            if is_at_site { reply } else { reply.with("cross-origin-resource-policy", "cross-origin") }
        }
        "replay-start.js" => {
            let go = question.origins.sites.as_ref().map(|sites| format!("http://{GO}.{sites}")).unwrap_or_default();
            Reply::new(200, JAVASCRIPT, include_str!("assets/start.js").replace("@GO@", &go))
        }
        "replay-inside.js" => Reply::new(200, JAVASCRIPT, include_str!("assets/inside.js")),
        "replay-start" => Reply::page(200, include_str!("assets/start.html").to_owned()),
        "" if question.destination() == Some("document") => Reply::found(format!("{}/", question.origins.home)),
        _ => Reply::page(404, pages::problem("No archived page is at this path.")),
    })
}

/// URLs that may stand for one that is missing.
fn similar(url: &CanonicalUrl) -> Vec<CanonicalUrl> {
    let plain = url.plain();
    let (without_query, _) = plain.split_once('?').unwrap_or((plain, ""));
    let other_scheme = match plain.strip_prefix("https://") {
        Some(rest) => format!("http://{rest}"),
        None => plain.replacen("http://", "https://", 1),
    };
    let origin = format!("{}/", url.origin());
    let mut texts = vec![plain.to_owned(), other_scheme, without_query.to_owned(), format!("{without_query}/"), origin];
    texts.dedup();
    texts.retain(|text| text != url.as_str());
    texts.iter().filter_map(|text| CanonicalUrl::parse(text).ok()).collect()
}

/// True for a text that can be the value of a field.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

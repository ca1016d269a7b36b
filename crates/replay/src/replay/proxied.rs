//! The archive in the place of the web: a browser asks for a URL, and gets its capture, unchanged.
//!
//! The browser has this as its proxy, so nothing has to be rewritten, and what is not in the archive is nowhere.
//! Status, body and fields are those of the server. Fields that bind the browser beyond this page have other names
//! (`fields::keep_unbound`). The body has no content coding.

use std::sync::Arc;

use crawler_web::clock::Time;

use crate::web::url::CanonicalUrl;

use super::captures::{ArchiveFault, Capture, Captures, Content, nearest};
use super::find::{Lead, Next, captures_of, lead};
use super::message::{Question, Reply};
use super::{fields, is_plain, moment, range};

/// Fields that every reply has.
const ALWAYS: [(&str, &str); 2] = [("cache-control", "no-store"), ("x-dns-prefetch-control", "off")];

/// The web as the archive has it.
pub struct Proxied {
    captures: Arc<dyn Captures>,
    time: Time,
}

/// A capture, and what it has.
struct Chosen {
    capture: Capture,
    content: Content,
    /// The URL that it leads to.
    target: Option<CanonicalUrl>,
}

impl Proxied {
    /// Shows these captures: the nearest to `time`, without it the newest.
    pub fn new(captures: Arc<dyn Captures>, time: Option<Time>) -> Proxied {
        Proxied { captures, time: time.unwrap_or(Time::MAX) }
    }

    /// Answers a request, whose target is a URL.
    pub fn answer(&self, question: &Question) -> Reply {
        let reply = self.choose(question).unwrap_or_else(|fault| said(500, fault.0));
        let reply = ALWAYS.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value));
        readable(reply, question)
    }

    fn choose(&self, question: &Question) -> Result<Reply, ArchiveFault> {
        let is_socket = question.field("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket"));
        if is_socket {
            return Ok(said(501, "Sockets are not in the archive."));
        }
        match &*question.method {
            "GET" | "HEAD" | "POST" => {}
            "OPTIONS" if question.field("access-control-request-method").is_some() => return Ok(permit(question)),
            _ => return Ok(said(405, "Only GET and POST are answered here.")),
        }
        let Ok(url) = CanonicalUrl::parse(&question.target) else {
            return Ok(said(404, "This is not the URL of a page of the web."));
        };
        let time = match question.field("accept-datetime").map(moment::parse_http_date) {
            None => self.time,
            Some(Some(time)) => time,
            Some(None) => return Ok(said(400, "Accept-Datetime is no date of HTTP.")),
        };
        let missing = || said(404, format!("{} is not in the archive.", url.as_str()));
        let Some((_, captures)) = captures_of(&*self.captures, question, &url)? else { return Ok(missing()) };
        let Some(at) = nearest(&captures, time) else { return Ok(missing()) };
        Ok(range::cut(shown(self.chosen(&captures, at, time)?), question.field("range")))
    }

    /// The capture at this place; if it leads to itself, the page behind it.
    fn chosen(&self, captures: &[Capture], at: usize, time: Time) -> Result<Chosen, ArchiveFault> {
        let capture = captures[at].clone();
        let content = self.captures.content(&capture)?;
        let lead = lead(&*self.captures, captures, at, &content, time)?;
        if let Some(Lead { next: Next::Page(page), .. }) = lead {
            let content = self.captures.content(&captures[page])?;
            return Ok(Chosen { capture: captures[page].clone(), content, target: None });
        }
        Ok(Chosen { capture, content, target: lead.map(|lead| lead.target) })
    }
}

/// A capture as its server sent it.
fn shown(chosen: Chosen) -> Reply {
    let Chosen { capture, content, target } = chosen;
    let reply = Reply { status: fields::status(capture.status), body: content.body, ..Reply::default() };
    let mut reply = fields::keep_unbound(reply, &content.fields);
    if let Some(content_type) = content.content_type.filter(|value| is_plain(value)) {
        reply = reply.with("content-type", content_type);
    }
    // one that is not written in ASCII
    if let Some(target) = target.filter(|_| reply.field("location").is_none()) {
        reply = reply.with("location", target.as_str());
    }
    reply.with("memento-datetime", moment::http_date(capture.time))
}

/// Lets every page read a reply. The crawler asked without an origin, so servers that permit the one which asks did not
/// say whom they permit.
fn readable(mut reply: Reply, question: &Question) -> Reply {
    let Some(origin) = question.field("origin") else { return reply };
    let (allow_origin, allow_credentials) = ("access-control-allow-origin", "access-control-allow-credentials");
    reply.fields.retain(|(name, _)| name != allow_origin && name != allow_credentials);
    reply.with(allow_origin, origin).with(allow_credentials, "true")
}

/// Permits the request that a page of another origin wants to make.
fn permit(question: &Question) -> Reply {
    let reply = Reply { status: 204, ..Reply::default() };
    ["method", "headers"].into_iter().fold(reply, |reply, part| {
        match question.field(&format!("access-control-request-{part}")) {
            Some(wanted) if part == "method" => reply.with("access-control-allow-methods", wanted),
            Some(wanted) => reply.with("access-control-allow-headers", wanted),
            None => reply,
        }
    })
}

/// A sentence of our own.
fn said(status: u16, sentence: impl Into<String>) -> Reply {
    let body = format!("{}\n", sentence.into());
    Reply::new(status, "text/plain; charset=utf-8", body).with("content-security-policy", "default-src 'none'")
}

//! Requests at origins that archived origins have of their own (`site`).

use super::address::{self, Form, Place};
use super::captures::{ArchiveFault, nearest};
use super::message::{Question, Reply};
use super::moment::{self, digits};
use super::site::GO;
use super::{Asked, HEAD_PATH, Held, INSIDE_PATH, Replay, Wanted, file, no_url, own, refusal};
use crate::rewrite::rewrite_script;
use crate::web::url::CanonicalUrl;

/// Loads the script before a worker, at its beginning; one that is a module cannot have it so.
const WORKER_HEAD: &str = "try{importScripts(\"/replay-inside.js\")}catch{}";

impl Replay {
    /// Answers at an origin that an archived origin has of its own.
    pub(super) fn at_site(&self, question: &Question, name: &str) -> Result<Held, ArchiveFault> {
        if question.method == "OPTIONS" {
            let asked = question.field("access-control-request-headers").unwrap_or_default();
            let reply = Reply { status: 204, ..Reply::default() }.with("access-control-allow-headers", asked);
            return Ok(own(reply.with("access-control-allow-methods", "GET, HEAD, POST")));
        }
        if let Some(refusal) = refusal(question, false) {
            return Ok(refusal);
        }
        if name == GO {
            return self.go(question);
        }
        if [HEAD_PATH, INSIDE_PATH].contains(&&*question.target) {
            return Ok(file(question.target.trim_start_matches('/'), question));
        }
        let Some(site) = question.site() else { return Ok(no_url()) };
        let Some(url) = site.url(&question.target) else { return Ok(no_url()) };
        self.capture(question, &Asked { time: site.time, form: Form::Replayed, url })
    }

    /// Leads to the own origin of a capture, at its time.
    fn go(&self, question: &Question) -> Result<Held, ArchiveFault> {
        if question.target == "/" {
            // the start page asks whether the name is resolved
            return Ok(own(Reply { status: 204, ..Reply::default() }));
        }
        let Place::Capture { time, form, url } = address::read(&question.target) else { return Ok(no_url()) };
        let (Some(url), Some(moment)) = (address::url(url), moment::parse(time)) else { return Ok(no_url()) };
        let captures = self.captures.captures(&url)?;
        let exact = nearest(&captures, moment).map(|at| digits(captures[at].time));
        Ok(own(Reply::found(question.address(exact.as_deref().unwrap_or(time), form, &url))))
    }
}

impl Wanted<'_> {
    /// A script for an origin of its own.
    pub(super) fn script(&self, body: &[u8], url: &CanonicalUrl) -> Vec<u8> {
        let mut lead = |module: &str| {
            let is_absolute = ["http://", "https://", "//"].iter().any(|start| module.starts_with(start));
            let target = url.join(module).ok().filter(|_| is_absolute)?;
            Some(self.question.address(self.time, Form::Replayed, &target))
        };
        let mut script = rewrite_script(body, &mut lead).into_owned();
        if matches!(self.question.destination(), Some("worker" | "sharedworker")) {
            script.splice(0..0, WORKER_HEAD.bytes());
        }
        script
    }
}

//! Logins, as answers show them: how a step of one went, and whether a page was shown to somebody who is logged in.
//!
//! A step of a login is not archived, so it has no records.

use std::borrow::Cow;

use super::Processor;
use crate::contract::{CookieUse, FetchJob, Findings, LoginFindings, LoginStep, Message, Processed, Response, Target};
use crate::warc::{Header, Records, payload_sha1};
use crate::web::cookies::redacted;
use crate::web::login::{Sign, SignEvidence, form, has_element};
use crate::web::secret::REDACTED;
use crate::web::url::CanonicalUrl;

/// True if two URLs are of one page, whatever is asked of it.
fn is_same_page(one: &CanonicalUrl, other: &CanonicalUrl) -> bool {
    one.path() == other.path() && one.origin() == other.origin()
}

/// The header as it is archived: where cookies are secret, without their values.
pub(super) fn archived<'a>(job: &FetchJob, headers: &'a [Header]) -> Cow<'a, [Header]> {
    let is_secret = job.settings.as_ref().is_some_and(|of| of.redacts && of.cookies == CookieUse::Secret);
    let sets = |(name, _): &Header| name.eq_ignore_ascii_case(b"set-cookie");
    if !is_secret || !headers.iter().any(sets) {
        return Cow::Borrowed(headers);
    }
    let archived = headers.iter().map(|header| match sets(header) {
        true => (header.0.clone(), redacted(&header.1, REDACTED).into()),
        false => header.clone(),
    });
    Cow::Owned(archived.collect())
}

impl Processor {
    /// A step of a login with what its answer says.
    pub(super) fn login_step(&mut self, job: FetchJob, mut response: Response, mut findings: Findings) -> Processed {
        if let Target::Login { plan, step, .. } = &job.target {
            let page = self.finder.text(&response);
            let form = match (&plan.message, step) {
                (Message::Form { selector, .. }, LoginStep::Form) => form(&page, selector),
                _ => Err("no form was wanted".to_owned()),
            };
            let selector = &plan.success.selector;
            let has_success = !selector.is_empty() && has_element(&page, selector);
            findings.login = Some(Box::new(LoginFindings { form, has_success }));
        }
        let records = Records::none(payload_sha1(&response.body), response.body.len() as u64);
        response.body = Vec::new();
        self.processed(job, response, findings, records)
    }

    /// Returns whether an answer is what its site shows to those who are not logged in.
    pub(super) fn is_logged_out(&mut self, job: &FetchJob, response: &Response, findings: &Findings) -> bool {
        let Some(settings) = job.settings.as_ref().filter(|settings| !settings.logins.is_empty()) else { return false };
        let redirect = findings.redirect.as_ref().map(|(target, _)| target.as_str());
        let told = |sign: &Sign, page: &str| {
            let has_element = !sign.selector.is_empty() && has_element(page, &sign.selector);
            sign.is_in(&SignEvidence { status: response.status, redirect, cookies: &[], has_element })
        };
        let page = match settings.logins.iter().any(|plan| !plan.lost.selector.is_empty()) {
            true => self.finder.text(response),
            false => String::new(),
        };
        // the page with the form looks so to everybody
        let plans = settings.logins.iter().filter(|plan| !is_same_page(&plan.url, &job.url));
        plans.into_iter().any(|plan| match plan.lost.is_empty() {
            true => response.status == 401 || redirect.is_some_and(|to| to.starts_with(plan.url.as_str())),
            false => told(&plan.lost, &page),
        })
    }
}

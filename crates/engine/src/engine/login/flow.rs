//! A login, request by request.
//!
//! ```text
//! [robots.txt] ─► page with the form ─► form ─► redirects ─► the sign of success
//!                                  JSON ─┘
//! ```
//! The steps are [prerequisites](crate::engine::prerequisites), which know how a request waits that is made for others.
//! What follows from the answer to each is said here.

use std::sync::Arc;
use std::time::Duration;

use super::{Patience, Sessions};
use crate::contract::{FetchJob, LoginFindings, LoginPlan, LoginStep, Message, Processed, Submission, Target};
use crate::engine::admission::Admission;
use crate::engine::prerequisites::{Login, LoginRequest, RulesRefusal};
use crate::frontier::{HostId, Provenance};
use crate::web::login::SignEvidence;
use crate::web::secret::Secret;
use crate::web::url::CanonicalUrl;

/// Redirects that are followed behind a form, and to it.
const REDIRECTS_MAX: u8 = 10;

/// Reason for which a login does not go on.
enum Failure {
    /// It will not work this way.
    Refused(String),
    /// It may work another time, when the server may have said.
    Unanswered { why: String, retry_after: Option<Duration> },
}

/// An answer to a step of a login, as far as the next step depends on it.
struct StepAnswer {
    /// Status of the answer.
    status: u16,
    /// URL to which it leads, if it is a redirect.
    redirect: Option<CanonicalUrl>,
    /// Time for which the server asked to be left alone, if it did.
    retry_after: Option<Duration>,
    /// The form and the signs in its page, if it was read.
    findings: Option<Box<LoginFindings>>,
}

impl Sessions {
    /// The first request of a login, on behalf of a page of `host`.
    pub(super) fn first_step(host: HostId, plan: Arc<LoginPlan>, provenance: Provenance) -> LoginRequest {
        let step = match &plan.message {
            Message::Form { .. } => LoginStep::Form,
            Message::Json(members) => LoginStep::Submit(json(members)),
        };
        let (url, via) = (plan.url.clone(), plan.url.as_str().to_owned());
        LoginRequest { login: Login { host, plan, provenance, redirects: 0 }, step, url, via }
    }

    /// A step was answered: returns the next one, where the login goes on.
    pub(crate) fn login_answered(&mut self, mut processed: Processed, admission: &Admission) -> Option<LoginRequest> {
        let findings = processed.findings.login.take();
        let redirect = processed.findings.redirect.take().map(|(target, _)| target);
        let FetchJob { host, url, target, .. } = processed.job;
        let Target::Login { plan, step, redirects, provenance } = target else { return None };
        let login = Login { host, plan, provenance, redirects };
        let status = processed.response.status;
        let via = url.as_str().to_owned();
        let is_form = matches!(step, LoginStep::Form);
        let cookies = self.cookies.names(&url);
        let told = SignEvidence {
            status,
            redirect: redirect.as_ref().map(CanonicalUrl::as_str),
            cookies: &cookies,
            has_element: findings.as_ref().is_some_and(|findings| findings.has_success),
        };
        // who opens the form with a cookie of before has not logged in by that
        let by_cookie_alone = is_form && status == 200;
        if login.plan.success.is_in(&told) && !by_cookie_alone {
            self.logins.succeeded(&login.plan);
            return None;
        }
        let answer = StepAnswer { status, redirect, retry_after: processed.retry_after, findings };
        match answer.next_step(&login, is_form, &url) {
            Ok((step, url)) => {
                let redirects = login.redirects + u8::from(!matches!(step, LoginStep::Submit(_)));
                Some(LoginRequest { login: Login { redirects, ..login }, step, url, via })
            }
            Err(failure) => {
                self.login_failed(&login.plan, failure, admission);
                None
            }
        }
    }

    /// A step cannot be taken, because of the rules of the origin where it goes.
    pub(crate) fn login_forbidden(&mut self, request: &LoginRequest, by: RulesRefusal, admission: &Admission) {
        let (plan, url) = (&request.login.plan, &request.url);
        match by {
            RulesRefusal::Forbidden => {
                let why = format!("robots.txt forbids {} (obey = false is for sites of your own)", url.as_str());
                self.login_failed(plan, Failure::Refused(why), admission);
            }
            RulesRefusal::NoRules => {
                self.login_unanswered(plan, format!("the robots.txt of {} cannot be had", url.origin()), admission);
            }
        }
    }

    /// A step cannot be taken, or was not answered, for a reason that may pass.
    pub(crate) fn login_unanswered(&mut self, plan: &Arc<LoginPlan>, why: String, admission: &Admission) {
        self.login_failed(plan, Failure::Unanswered { why, retry_after: None }, admission);
    }

    fn login_failed(&mut self, plan: &Arc<LoginPlan>, failure: Failure, admission: &Admission) {
        let (now, patience) = (admission.stores.sink.now, Patience::of(admission));
        match failure {
            Failure::Refused(why) => self.logins.refused(plan, &why, patience, now),
            Failure::Unanswered { why, retry_after } => self.logins.unreached(plan, &why, retry_after, patience, now),
        }
    }
}

impl StepAnswer {
    /// Returns the step and URL that follow from the answer to a request for `url` that is not the last.
    fn next_step(
        self,
        login: &Login,
        is_form: bool,
        url: &CanonicalUrl,
    ) -> std::result::Result<(LoginStep, CanonicalUrl), Failure> {
        let StepAnswer { status, redirect, retry_after, findings } = self;
        let home = login.plan.url.origin();
        if status >= 500 || status == 429 {
            let why = format!("{} answered {status}", url.as_str());
            return Err(Failure::Unanswered { why, retry_after });
        }
        if let Some(to) = redirect {
            if login.redirects >= REDIRECTS_MAX {
                return Err(Failure::Refused("more than ten redirects".to_owned()));
            }
            if to.origin() != home {
                return Err(Failure::Refused(format!("it leads to {}, another origin than its URL", to.as_str())));
            }
            return Ok((if is_form { LoginStep::Form } else { LoginStep::Follow }, to));
        }
        let (true, Message::Form { filled, .. }) = (is_form && status < 300, &login.plan.message) else {
            return Err(Failure::Refused(format!("{} answered {status} without the sign of success", url.as_str())));
        };
        let form = findings.map_or_else(|| Err("the page was not read".to_owned()), |findings| findings.form);
        let form = form.map_err(|why| Failure::Refused(format!("{}: {why}", url.as_str())))?;
        let no_url = || Failure::Refused("the form is sent to what is no URL".to_owned());
        let action = form.target(url).ok_or_else(no_url)?;
        if action.origin() != home {
            let why = format!("the form is sent to {}, another origin than the login's URL", action.as_str());
            return Err(Failure::Refused(why));
        }
        let body = form.body(filled.iter().map(|(name, value)| (name.as_str(), value.expose())));
        let content_type = "application/x-www-form-urlencoded";
        Ok((
            LoginStep::Submit(Submission { content_type, referrer: Some(url.clone()), body: Secret::new(body) }),
            action,
        ))
    }
}

fn json(members: &[(String, Secret)]) -> Submission {
    let object: serde_json::Map<String, serde_json::Value> =
        members.iter().map(|(name, value)| (name.clone(), value.expose().into())).collect();
    let body = Secret::new(serde_json::Value::Object(object).to_string());
    Submission { content_type: "application/json", referrer: None, body }
}

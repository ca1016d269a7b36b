//! A login, request by request.
//!
//! ```text
//! [robots.txt] ─► page with the form ─► form ─► redirects ─► the sign of success
//!                                  JSON ─┘
//! ```
//! The steps wait among the hops (`requests::hops`), which know how a request waits for its turn that is made for the
//! sake of others. A robots.txt is asked for where nobody knows it (`asked_rules`).

use std::sync::Arc;
use std::time::Duration;

use super::Patience;
use crate::container::{Referrer, Stored as StoredPage};
use crate::contract::{
    FetchFailed, FetchJob, LoginFindings, LoginPlan, LoginStep, Message, Processed, Submission, Target,
};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::asked_rules::{Known, Waiter};
use crate::engine::waiting::{Login, WaitingStep};
use crate::frontier::{HostId, Provenance};
use crate::web::login::SignEvidence;
use crate::web::robots::RobotsRules;
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

impl Engine {
    /// A login begins on behalf of a page of `host`.
    pub(super) fn begin_login(&mut self, host: HostId, plan: Arc<LoginPlan>, provenance: Provenance) {
        let step = match &plan.message {
            Message::Form { .. } => LoginStep::Form,
            Message::Json(members) => LoginStep::Submit(json(members)),
        };
        let (url, via) = (plan.url.clone(), plan.url.as_str().to_owned());
        let login = Login { host, plan, provenance, redirects: 0 };
        self.take_step(login, step, url, via);
    }

    /// The next request of a login is to go to `url`, if robots.txt has nothing against it.
    fn take_step(&mut self, login: Login, step: LoginStep, url: CanonicalUrl, via: String) {
        if !self.admission.settings.obeys_robots(url.host()) {
            return self.queue_step(login, step, url, via);
        }
        match self.rules_for(&url) {
            Known::Rules(rules) => self.step_by_rules(login, step, url, via, &rules),
            Known::Unavailable => self.without_rules(&login.plan, &url),
            Known::Nothing => {
                let (at, host, provenance) = (url.clone(), login.host, login.provenance.clone());
                let waiter = Waiter::Login(Box::new(WaitingStep { login, step, url, via }));
                self.ask_rules(&at, waiter, host, provenance);
            }
        }
    }

    /// The rules of the origin came, or cannot be had, where a step goes.
    pub(in crate::engine) fn login_rules(&mut self, waiting: WaitingStep, rules: Option<&Arc<RobotsRules>>) {
        let WaitingStep { login, step, url, via } = waiting;
        match rules {
            Some(rules) => self.step_by_rules(login, step, url, via, rules),
            None => self.without_rules(&login.plan, &url),
        }
    }

    fn without_rules(&mut self, plan: &Arc<LoginPlan>, url: &CanonicalUrl) {
        self.login_unanswered(plan, format!("the robots.txt of {} cannot be had", url.origin()));
    }

    fn step_by_rules(&mut self, login: Login, step: LoginStep, url: CanonicalUrl, via: String, rules: &RobotsRules) {
        match rules.allows(url.as_str()) {
            true => self.queue_step(login, step, url, via),
            false => {
                let why = format!("robots.txt forbids {} (obey = false is for sites of your own)", url.as_str());
                self.login_failed(&login.plan, Failure::Refused(why));
            }
        }
    }

    fn queue_step(&mut self, login: Login, step: LoginStep, url: CanonicalUrl, via: String) {
        let Login { host, plan, provenance, redirects } = login;
        let target = Target::Login { plan, step, redirects, provenance };
        self.add_hop(host, target, Referrer::Url(via), url, None);
    }

    /// A step was answered.
    pub(in crate::engine) fn login_answered(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        self.admission.books.log_answer(&processed, &StoredPage::nothing(0), Some("login"), worker)?;
        self.end_step(&processed.job.url, processed.response.duration);
        let findings = processed.findings.login.take();
        let redirect = processed.findings.redirect.take().map(|(target, _)| target);
        let FetchJob { host, url, target, .. } = processed.job;
        let Target::Login { plan, step, redirects, provenance } = target else { return Ok(()) };
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
            return Ok(());
        }
        let answer = StepAnswer { status, redirect, retry_after: processed.retry_after, findings };
        match self.next_step(&login, is_form, &url, answer) {
            Ok((step, to)) => {
                let redirects = login.redirects + u8::from(!matches!(step, LoginStep::Submit(_)));
                self.take_step(Login { redirects, ..login }, step, to, via);
            }
            Err(failure) => self.login_failed(&login.plan, failure),
        }
        Ok(())
    }

    /// Returns the step and URL that follow from the answer to a request for `url` that is not the last.
    fn next_step(
        &self,
        login: &Login,
        is_form: bool,
        url: &CanonicalUrl,
        answer: StepAnswer,
    ) -> std::result::Result<(LoginStep, CanonicalUrl), Failure> {
        let StepAnswer { status, redirect, retry_after, findings } = answer;
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

    /// A step was not answered.
    pub(in crate::engine) fn login_not_answered(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        self.admission.books.statistics.count_failure(failed.failure);
        self.admission.books.log_failure(&failed, failed.failure.code(), worker)?;
        self.end_step(&failed.job.url, failed.duration);
        let Target::Login { plan, .. } = failed.job.target else { return Ok(()) };
        self.login_unanswered(&plan, failed.cause.to_string());
        Ok(())
    }

    /// A step cannot be taken, for a reason that may pass.
    pub(in crate::engine) fn login_unanswered(&mut self, plan: &Arc<LoginPlan>, why: String) {
        self.login_failed(plan, Failure::Unanswered { why, retry_after: None });
    }

    fn login_failed(&mut self, plan: &Arc<LoginPlan>, failure: Failure) {
        let (now, give_up) =
            (self.admission.stores.arrival.now, self.admission.stores.arrival.frontier.pacing().gives_up_after());
        let patience = Patience { retries: self.admission.settings.retries, give_up };
        match failure {
            Failure::Refused(why) => self.logins.refused(plan, &why, patience, now),
            Failure::Unanswered { why, retry_after } => self.logins.unreached(plan, &why, retry_after, patience, now),
        }
    }

    /// Returns whether the URL of `processed` is to be asked for again. This is so if the answer is what a site shows
    /// to those who are not logged in: then a new login is due. It is also so if the page leads to itself to see
    /// whether a cookie comes back, which this answer has set, or another one that came in between.
    pub(in crate::engine) fn is_turned_away(&mut self, processed: &Processed, has_new_cookie: bool) -> bool {
        let Target::Page { url, .. } = &processed.job.target else { return false };
        if url.attempts >= self.admission.settings.retries {
            return false;
        }
        if let Some(settings) = processed.job.settings.as_ref().filter(|_| processed.findings.is_logged_out) {
            self.logins.lost(&settings.logins, processed.job.sessions);
            return true;
        }
        let leads_back = processed.findings.redirect.as_ref().is_some_and(|(_, keys)| keys.key == url.key);
        leads_back && (has_new_cookie || self.would_send_another_cookie(processed))
    }
}

fn json(members: &[(String, Secret)]) -> Submission {
    let object: serde_json::Map<String, serde_json::Value> =
        members.iter().map(|(name, value)| (name.clone(), value.expose().into())).collect();
    let body = Secret::new(serde_json::Value::Object(object).to_string());
    Submission { content_type: "application/json", referrer: None, body }
}

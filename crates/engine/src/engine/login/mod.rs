//! Sessions at sites: the cookies that their servers have set, and logins where a site asks for one: who is logged in,
//! and what a page waits for.
//!
//! [`Sessions`] makes no request. It says which one is the next of a login, and hears what came of it.
//!
//! - A page of a site with logins is asked for only while all of them hold. While one is in progress, it goes back to
//!   its queue, whose host is left alone for a moment. Until one may be tried again, the page waits by itself: its host
//!   goes on with pages that need no login.
//! - A login is a row of requests ([`flow`]): the page with its form, the form, redirects behind it. Each is a
//!   [prerequisite](super::prerequisites) of the page. They are counted and logged, and never archived: their bodies
//!   are secret.
//! - What is filled in goes to the origin of the login's URL and to no other; redirects elsewhere are not followed.
//! - An answer that has the sign of a lost session is not stored. Its URL is asked for again behind a new login; as
//!   often as one that failed, and then it is stored as it comes.
//! - A login that was refused twice is not tried a third time, lest it lock somebody out: the site's pages are given
//!   up.
//! - A login that cannot be reached is tried again, at growing intervals. After `politeness.give_up` its site's hosts
//!   count as hosts that never answered: the crawl may end without them, and their URLs stay queued.
//! - Nothing of this is in a checkpoint: a crawl that is started again logs in again.

mod flow;

use std::sync::Arc;
use std::time::Duration;

use super::admission::Admission;
use super::prerequisites::LoginRequest;
use super::settings::Settings;
use crate::clock::Time;
use crate::contract::{CookieUse, LoginPlan, Processed, RequestSettings, Target};
use crate::frontier::{BACKOFF_MAX, HostId, Provenance, QueuedUrl};
use crate::web::cookies::{CookieField, CookieJars};
use crate::web::url::CanonicalUrl;

/// A page that waits for a login is looked at again after this long.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Time before a login is tried again that was not answered; each time four times as long.
const UNREACHED_WAIT: Duration = Duration::from_secs(15);
/// But no longer than this.
const UNREACHED_WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Time before a login is tried again that was refused.
const REFUSED_WAIT: Duration = Duration::from_secs(30);
/// Times that a refused login is tried.
const REFUSED_MAX: u32 = 2;

/// Cookies and logins, by which sites know the crawl.
pub(super) struct Sessions {
    /// Cookies that servers have set.
    cookies: CookieJars,
    logins: Logins,
}

/// The logins of a crawl that were needed so far.
#[derive(Debug, Default)]
struct Logins(Vec<Session>);

#[derive(Debug)]
struct Session {
    plan: Arc<LoginPlan>,
    state: State,
    /// Number of times that it has been logged in.
    epoch: u32,
    refused: u32,
    unreached: Option<Unreached>,
}

/// A login that cannot be reached.
#[derive(Clone, Copy, Debug)]
struct Unreached {
    /// The first failure in a row.
    since: Time,
    /// Number of failures in a row.
    tries: u32,
    /// True if that has been so for too long.
    is_given_up: bool,
}

/// Limits at which a login is given up.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// Tries after the first, at least.
    retries: u8,
    /// Time for which it is tried at least, where it cannot be reached.
    give_up: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nobody is logged in; it may be tried from then on.
    Out(Time),
    UnderWay,
    In,
    /// It is not tried any more.
    Shut,
}

/// An answer to whether a page may be asked for.
pub(super) enum Entrance {
    /// It may, by the sessions of these epochs.
    Open(u32),
    /// A login begins with this request: its queue is looked at again then.
    Begin {
        first: Box<LoginRequest>,
        until: Time,
    },
    /// A login is in progress: its queue is looked at again then.
    Wait(Time),
    /// A login may be tried again then, and not before.
    Later(Time),
    /// The same, and it could not be reached for so long that the page's host is as good as one that never answered.
    Unreached(Time),
    Shut,
}

impl Patience {
    fn of(admission: &Admission) -> Patience {
        let give_up = admission.stores.sink.frontier.pacing().gives_up_after();
        Patience { retries: admission.settings.retries.usual, give_up }
    }
}

impl Logins {
    fn session(&mut self, plan: &Arc<LoginPlan>) -> &mut Session {
        let place = self.0.iter().position(|session| Arc::ptr_eq(&session.plan, plan) || session.plan == *plan);
        let place = place.unwrap_or_else(|| {
            let plan = plan.clone();
            self.0.push(Session { plan, state: State::Out(Time::ZERO), epoch: 0, refused: 0, unreached: None });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// A page was turned away that had been asked for by sessions of `epochs`: unless there are newer ones, they are
    /// lost.
    fn lost(&mut self, plans: &[Arc<LoginPlan>], epochs: u32) {
        if plans.iter().map(|plan| self.session(plan).epoch).sum::<u32>() != epochs {
            return;
        }
        for plan in plans {
            let session = self.session(plan);
            if session.state == State::In {
                session.state = State::Out(Time::ZERO);
                tracing::info!("the login at {} has ended; it is repeated", plan.url.as_str());
            }
        }
    }

    fn succeeded(&mut self, plan: &Arc<LoginPlan>) {
        let session = self.session(plan);
        session.epoch += 1;
        (session.state, session.refused, session.unreached) = (State::In, 0, None);
        tracing::info!("logged in at {}", plan.url.as_str());
    }

    /// A try was refused.
    fn refused(&mut self, plan: &Arc<LoginPlan>, why: &str, patience: Patience, now: Time) {
        let session = self.session(plan);
        (session.refused, session.unreached) = (session.refused + 1, None);
        let is_last = session.refused >= u32::from(patience.retries).clamp(1, REFUSED_MAX);
        session.state = if is_last { State::Shut } else { State::Out(now + REFUSED_WAIT) };
        match is_last {
            true => tell_failure(plan, why, "its pages are given up"),
            false => tell_failure(plan, why, &format!("tried again in {REFUSED_WAIT:?}")),
        }
    }

    /// A try brought no answer that says anything, but perhaps for how long to wait.
    fn unreached(
        &mut self,
        plan: &Arc<LoginPlan>,
        why: &str,
        retry_after: Option<Duration>,
        patience: Patience,
        now: Time,
    ) {
        let session = self.session(plan);
        let mut unreached = session.unreached.unwrap_or(Unreached { since: now, tries: 0, is_given_up: false });
        let wait = (UNREACHED_WAIT * 4_u32.pow(unreached.tries.min(8))).min(UNREACHED_WAIT_MAX);
        let wait = retry_after.map_or(wait, |asked| wait.max(asked.min(BACKOFF_MAX)));
        unreached.tries = unreached.tries.saturating_add(1);
        let is_too_often = unreached.tries > u32::from(patience.retries);
        let is_news = !unreached.is_given_up && is_too_often && now.since(unreached.since) >= patience.give_up;
        unreached.is_given_up |= is_news;
        (session.state, session.unreached) = (State::Out(now + wait), Some(unreached));
        let next = format!("tried again in {wait:?}");
        match is_news {
            true => tell_failure(plan, why, &format!("the crawl may end without its pages, which stay queued; {next}")),
            false => tell_failure(plan, why, &next),
        }
    }
}

fn tell_failure(plan: &LoginPlan, why: &str, next: &str) {
    tracing::warn!("the login at {} failed: {why}; {next}", plan.url.as_str());
}

impl Session {
    fn is_given_up(&self) -> bool {
        self.unreached.is_some_and(|unreached| unreached.is_given_up)
    }
}

impl Sessions {
    /// Nobody is logged in, but `cookies` are there.
    pub(crate) fn new(cookies: CookieJars) -> Sessions {
        Sessions { cookies, logins: Logins::default() }
    }

    /// Takes in cookies that the operator gives.
    pub(crate) fn fill(&mut self, settings: &Settings) {
        settings.sites.iter().for_each(|sites| self.cookies.fill(sites.cookies()));
    }

    /// Encodes the cookies for a checkpoint.
    pub(crate) fn cookies_to_bytes(&self) -> Vec<u8> {
        self.cookies.to_bytes()
    }

    /// Returns whether pages with `settings` may be asked for; where a login is needed first, it begins on behalf of
    /// `page`.
    pub(crate) fn enter(
        &mut self,
        settings: Option<&RequestSettings>,
        host: HostId,
        page: &QueuedUrl,
        now: Time,
    ) -> Entrance {
        let plans = settings.map_or(&[][..], |settings| &settings.logins);
        let mut epochs = 0;
        for plan in plans {
            let session = self.logins.session(plan);
            match session.state {
                State::In => epochs += session.epoch,
                State::UnderWay => return Entrance::Wait(now + LOOK_AGAIN),
                State::Shut => return Entrance::Shut,
                State::Out(from) if from > now && session.is_given_up() => return Entrance::Unreached(from),
                State::Out(from) if from > now => return Entrance::Later(from),
                State::Out(_) => {
                    session.state = State::UnderWay;
                    let provenance = Provenance { depth: page.depth, seed: page.seed, hops: page.hops.then('P') };
                    let first = Box::new(Sessions::first_step(host, plan.clone(), provenance));
                    return Entrance::Begin { first, until: now + LOOK_AGAIN };
                }
            }
        }
        Entrance::Open(epochs)
    }

    /// Keeps the cookies that an answer sets, where its site's are kept; says whether any is new.
    pub(crate) fn keep_cookies(&mut self, processed: &Processed, settings: &Settings) -> bool {
        let job = &processed.job;
        let is_login = matches!(job.target, Target::Login { .. });
        let of_site = settings.settings_of(job).map_or(CookieUse::Off, |settings| settings.cookies);
        if !is_login && of_site == CookieUse::Off {
            return false;
        }
        let set = processed.response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        self.cookies.keep(&job.url, set.map(|(_, value)| &**value), is_login || of_site == CookieUse::Secret)
    }

    /// Returns what a request sends as `Cookie`.
    pub(crate) fn cookie_for(
        &mut self,
        target: &Target,
        url: &CanonicalUrl,
        of: &RequestSettings,
    ) -> Option<CookieField> {
        let is_login = matches!(target, Target::Login { .. });
        let hears_secrets = is_login || of.cookies == CookieUse::Secret;
        (is_login || of.cookies != CookieUse::Off).then(|| self.cookies.header(url, hears_secrets)).flatten()
    }

    /// Returns whether the URL of `processed` is to be asked for again. This is so if the answer is what a site shows
    /// to those who are not logged in: then a new login is due. It is also so if the page leads to itself to see
    /// whether a cookie comes back, which this answer has set, or another one that came in between.
    pub(crate) fn turn_away(&mut self, processed: &Processed, has_new_cookie: bool, settings: &Settings) -> bool {
        let Target::Page { url, .. } = &processed.job.target else { return false };
        if url.attempts >= settings.retries.usual {
            return false;
        }
        if let Some(settings) = processed.job.settings.as_ref().filter(|_| processed.findings.is_logged_out) {
            self.logins.lost(&settings.logins, processed.job.sessions);
            return true;
        }
        let leads_back = processed.findings.redirect.as_ref().is_some_and(|(_, keys)| keys.key == url.key);
        leads_back && (has_new_cookie || self.would_send_another_cookie(processed, settings))
    }

    /// Returns whether the request of `processed`, made now, would send another cookie than it did.
    fn would_send_another_cookie(&mut self, processed: &Processed, settings: &Settings) -> bool {
        let job = &processed.job;
        let settings = settings.settings_of(job);
        settings.is_some_and(|settings| self.cookie_for(&job.target, &job.url, &settings) != job.cookie)
    }
}

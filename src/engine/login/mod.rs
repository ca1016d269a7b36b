//! Sites that ask for a login: who is logged in, and what a page of theirs waits for.
//!
//! - A page of a site with logins is asked for only while all of them hold. Until then it goes back to its queue, whose
//!   host is left alone for a moment.
//! - A login is a row of requests ([`flow`]): the page with its form, the form, redirects behind it. Each waits for its
//!   turn at the host where it goes, and for that host's robots.txt, as every other request. They are counted and
//!   logged, and never archived: their bodies are secret.
//! - What is filled in goes to the origin of the login's URL and to no other; redirects elsewhere are not followed.
//! - An answer that has the sign of a lost session is not stored. Its URL is asked for again behind a new login; as
//!   often as one that failed, and then it is stored as it comes.
//! - A login that was refused twice is not tried a third time, lest it lock somebody out: the site's pages are given
//!   up. One that brings no answer is tried as often as a page, at growing intervals.
//! - Nothing of this is in a checkpoint: a crawl that is started again logs in again.

mod flow;

use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::job::{Processed, Target};
use super::login_plan::LoginPlan;
use super::request_settings::{CookieUse, RequestSettings};
use super::route::queued;
use crate::clock::Time;
use crate::disk::Result;
use crate::frontier::{HostId, Provenance, QueuedUrl};
use crate::outcome::Reason;
use crate::web::cookies::CookieField;
use crate::web::url::CanonicalUrl;

/// A page that waits for a login is looked at again after so long.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Before a login is tried again that was not answered; each time four times as long.
const UNANSWERED_WAIT: Duration = Duration::from_secs(15);
/// But no longer than this.
const UNANSWERED_WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Before a login is tried again that was refused.
const REFUSED_WAIT: Duration = Duration::from_secs(30);
/// So often is one tried that is refused.
const REFUSED_MAX: u32 = 2;

/// The logins of a crawl that were needed so far.
#[derive(Debug, Default)]
pub(super) struct Logins(Vec<Session>);

#[derive(Debug)]
struct Session {
    plan: Arc<LoginPlan>,
    state: State,
    /// How often it has been logged in.
    epoch: u32,
    refused: u32,
    unanswered: u32,
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

/// Whether a page may be asked for.
pub(super) enum Entrance {
    /// It may, by the sessions of these epochs.
    Open(u32),
    Wait(Time),
    Shut,
}

impl Logins {
    fn session(&mut self, plan: &Arc<LoginPlan>) -> &mut Session {
        let place = self.0.iter().position(|session| Arc::ptr_eq(&session.plan, plan) || session.plan == *plan);
        let place = place.unwrap_or_else(|| {
            let plan = plan.clone();
            self.0.push(Session { plan, state: State::Out(Time::ZERO), epoch: 0, refused: 0, unanswered: 0 });
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
        (session.state, session.refused, session.unanswered) = (State::In, 0, 0);
        tracing::info!("logged in at {}", plan.url.as_str());
    }

    /// A try has failed: by an answer that refuses it, or without one.
    fn failed(&mut self, plan: &Arc<LoginPlan>, (why, is_refused): (&str, bool), retries: u8, now: Time) {
        let session = self.session(plan);
        *(if is_refused { &mut session.refused } else { &mut session.unanswered }) += 1;
        let is_last =
            session.refused >= u32::from(retries).clamp(1, REFUSED_MAX) || session.unanswered > u32::from(retries);
        let wait = match is_refused {
            true => REFUSED_WAIT,
            false => {
                (UNANSWERED_WAIT * 4_u32.pow(session.unanswered.saturating_sub(1).min(8))).min(UNANSWERED_WAIT_MAX)
            }
        };
        session.state = if is_last { State::Shut } else { State::Out(now + wait) };
        let next = if is_last { "its pages are given up".to_owned() } else { format!("tried again in {wait:?}") };
        tracing::warn!("the login at {} failed: {why}; {next}", plan.url.as_str());
    }
}

impl Engine {
    /// Whether pages with `settings` may be asked for; where a login is needed first, it begins on behalf of `page`.
    pub(super) fn enter(
        &mut self,
        settings: Option<&RequestSettings>,
        (host, page): (HostId, &QueuedUrl),
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
                State::Out(from) if from > now => return Entrance::Wait(from),
                State::Out(_) => {
                    session.state = State::UnderWay;
                    let plan = plan.clone();
                    let provenance = Provenance { depth: page.depth, seed: page.seed, hops: page.hops.then('P') };
                    self.begin_login(host, plan, provenance);
                    return Entrance::Wait(now + LOOK_AGAIN);
                }
            }
        }
        Entrance::Open(epochs)
    }

    /// A page of a site whose login failed for good.
    pub(super) fn turn_back(&mut self, host: HostId, (url, reason): (QueuedUrl, Reason), now: Time) -> Result<()> {
        let arrival = &mut self.stores.arrival;
        arrival.frontier.withdraw(host, now)?;
        arrival.dropped.push((url, reason));
        Ok(())
    }

    /// Keeps the cookies that an answer sets, where its site's are kept; says whether any is new.
    pub(super) fn keep_cookies(&mut self, processed: &Processed) -> bool {
        let job = &processed.job;
        let is_login = matches!(job.target, Target::Login { .. });
        let of_site = self.settings_of(job).map_or(CookieUse::Off, |settings| settings.cookies);
        if !is_login && of_site == CookieUse::Off {
            return false;
        }
        let set = processed.response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        self.cookies.keep(&job.url, set.map(|(_, value)| &**value), is_login || of_site == CookieUse::Secret)
    }

    /// The page that led here, if an answer that has set a new cookie leads back to it: it looks different now.
    pub(super) fn led_back(&self, processed: &Processed) -> Option<QueuedUrl> {
        let Target::Page { url, .. } = &processed.job.target else { return None };
        let (target, keys) = processed.findings.redirect.as_ref()?;
        let came_from = processed.job.via.url().and_then(|via| CanonicalUrl::parse(via).ok())?;
        let is_back = self.home.keys.keys(&came_from).key == keys.key && keys.key != url.key;
        // a page of another shard is asked for there
        let is_back = is_back && self.home.shard.owns(keys.domain);
        let hops = url.hops.then('R');
        let (priority, depth, seed, via) = (url.priority, url.depth, url.seed, url.via);
        let first = queued(target.as_str(), *keys);
        is_back.then_some(QueuedUrl { priority, depth, hops, seed, via, attempts: 1, ..first })
    }

    /// Asks once more for a page that is known.
    pub(super) fn ask_again(&mut self, url: QueuedUrl) -> Result<()> {
        let arrival = &mut self.stores.arrival;
        arrival.again += 1;
        arrival.frontier.push(url, arrival.now)
    }

    /// Whether the request of `processed`, made now, would send another cookie than it did.
    fn would_send_another_cookie(&mut self, processed: &Processed) -> bool {
        let job = &processed.job;
        let settings = self.settings_of(job);
        settings.is_some_and(|settings| self.cookie_for(&job.target, &job.url, &settings) != job.cookie)
    }

    /// What a request sends as `Cookie`.
    pub(super) fn cookie_for(
        &mut self,
        target: &Target,
        url: &CanonicalUrl,
        of: &RequestSettings,
    ) -> Option<CookieField> {
        let is_login = matches!(target, Target::Login { .. });
        let hears_secrets = is_login || of.cookies == CookieUse::Secret;
        (is_login || of.cookies != CookieUse::Off).then(|| self.cookies.header(url, hears_secrets)).flatten()
    }
}

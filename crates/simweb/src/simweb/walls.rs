//! Walls: answers that are no content, in the place of ordinary pages.
//!
//! [`SimOptions::walls`](super::SimOptions::walls) is their share of the ordinary pages. Seeds are never walls. There
//! are 13 kinds, as likely as one another: bot challenges, blocks of a firewall, rate limits, log-ins, consent walls,
//! paywalls, error pages with status 200, shells that a script fills, parked domains, the page of a new server,
//! requests for payment, pages for other countries, and age gates.
//!
//! A log-in, a consent wall, a paywall, an error page and an age gate are in the frame of their site, which has the
//! first two or three links that the page has. The two links of a parked page are advertisements, which nobody may
//! follow. The other kinds have no links, so that what only such a page would name is not reached. A wall has no
//! validators, does not change with the clock, and embeds nothing.
//!
//! Challenges, blocks and rate limits are refusals, which may pass: from
//! [`SimOptions::walls_end`](super::SimOptions::walls_end) on those pages have their content. The judge of politeness
//! takes no notice of them: their statuses do not speak of load, and a URL may be asked for as often as its host may.
//!
//! The texts are written for this web. They have the statuses, the header fields and the phrases by which such answers
//! are known: those that Cloudflare, AWS WAF, Akamai and Imperva document, `crawler-price` of pay per crawl, and
//! `isAccessibleForFree` of schema.org.

use super::answer::Fields;
use super::links::{Base, Link, Markup, links};
use super::plan::{Kind as PageKind, Plan, Purpose, Target};
use crate::clock::Time;

/// Kinds of walls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Challenge,
    Block,
    RateLimit,
    Login,
    Consent,
    Paywall,
    SoftNotFound,
    Shell,
    Parked,
    Placeholder,
    Payment,
    Geo,
    Age,
}

/// All of them, with their names.
pub(super) const KINDS: [(Kind, &str); 13] = [
    (Kind::Challenge, "challenge"),
    (Kind::Block, "block"),
    (Kind::RateLimit, "rate-limit"),
    (Kind::Login, "login"),
    (Kind::Consent, "consent"),
    (Kind::Paywall, "paywall"),
    (Kind::SoftNotFound, "soft-404"),
    (Kind::Shell, "shell"),
    (Kind::Parked, "parked"),
    (Kind::Placeholder, "placeholder"),
    (Kind::Payment, "payment"),
    (Kind::Geo, "geo"),
    (Kind::Age, "age"),
];

/// One wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wall {
    pub kind: Kind,
    /// Name of the kind.
    pub name: &'static str,
    /// Chooses the form of the answer, and is the number by which the answer refers to itself.
    pub number: u32,
}

/// Returns the wall in the place of a page, whether it has ended or not.
pub(super) fn drawn(plan: &Plan, host: u32, url: u32) -> Option<Wall> {
    let is_seed = || url == 0 && plan.seeds().binary_search(&host).is_ok();
    if plan.options.walls <= 0.0 || plan.kind(host, url) != PageKind::Page || is_seed() {
        return None;
    }
    let mut dice = plan.dice(Purpose::Walls, host, url);
    let is_wall = dice.f64() < plan.options.walls;
    let (kind, name) = KINDS[dice.usize(0..KINDS.len())];
    is_wall.then(|| Wall { kind, name, number: dice.u32(..) })
}

/// Returns the wall in the place of a page at `now`.
pub(super) fn at(plan: &Plan, host: u32, url: u32, now: Time) -> Option<Wall> {
    let has_ended = plan.options.walls_end.is_some_and(|end| now >= end);
    drawn(plan, host, url).filter(|wall| !(has_ended && is_refusal(wall.name)))
}

/// Returns whether walls of the kind of that name refuse a page that may be had later.
pub(super) fn is_refusal(name: &str) -> bool {
    matches!(name, "challenge" | "block" | "rate-limit")
}

/// Returns the URLs that a page links if it is a parked one. They answer 404.
pub(super) fn advertisements(base: &Base, url: u32, now: Time) -> Vec<String> {
    let is_parked = at(base.plan, base.host, url, now).is_some_and(|wall| wall.kind == Kind::Parked);
    let (name, port) = (&base.plan.host(base.host).name, base.port);
    let numbers = 1..if is_parked { 3 } else { 1 };
    numbers.map(|number| format!("http://{name}:{port}/sponsored/{url}/offer-{number}?feed=parked")).collect()
}

impl Wall {
    /// Returns whether it is a challenge in the form of AWS WAF. The other two are in the form of Cloudflare.
    pub(crate) fn is_of_aws(self) -> bool {
        self.kind == Kind::Challenge && self.number % 3 == 2
    }

    /// Status and header fields of the answer.
    pub(crate) fn status_and_fields(self) -> (u16, Fields) {
        match (self.kind, self.number % 3, self.number % 2) {
            (Kind::Challenge, 0, _) => (403, &[("server", "cloudflare"), ("cf-mitigated", "challenge")]),
            (Kind::Challenge, 1, _) => (200, &[("server", "cloudflare")]),
            (Kind::Challenge, ..) => (202, &[("x-amzn-waf-action", "challenge")]),
            (Kind::Block, ..) => (403, &[]),
            (Kind::RateLimit, ..) => (200, &[("server", "cloudflare")]),
            (Kind::Payment, ..) => (402, &[("crawler-price", "USD 0.01")]),
            (Kind::Geo, _, 0) => (451, &[]),
            (Kind::Geo, ..) => (403, &[]),
            _ => (200, &[]),
        }
    }

    /// The links that a crawl follows: some of the page's own in the frame of the site, or none.
    pub(crate) fn links(self, plan: &Plan, host: u32, url: u32) -> Vec<Link> {
        let count = match self.kind {
            Kind::Login | Kind::Consent | Kind::Paywall | Kind::SoftNotFound | Kind::Age => 2 + self.number % 2,
            _ => return Vec::new(),
        };
        let may_be_there = |link: &Link| link.markup.followed() && matches!(link.target, Target::Url(..));
        let own = links(plan, host, url).into_iter().filter(may_be_there).take(count as usize);
        own.map(|link| Link { markup: Markup::Anchor, ..link }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::simweb::changes::Changes;
    use crate::simweb::{PaperAnswer, PaperWeb, SimOptions};

    /// Marks of the answers of a kind: statuses, phrases and fields in each of its forms, and its links.
    struct Marks {
        forms: &'static [(u16, &'static str, &'static str)],
        links: std::ops::RangeInclusive<usize>,
    }

    fn marks(kind: Kind) -> Marks {
        let (forms, links): (&[_], _) = match kind {
            Kind::Challenge => (
                &[(403, "Just a moment...", "challenge"), (200, "Just a moment...", ""), (202, "AwsWaf", "challenge")],
                0..=0,
            ),
            Kind::Block => (&[(403, "Reference #18.", ""), (403, "Incapsula incident ID", "")], 0..=0),
            Kind::RateLimit => (&[(200, "You are being rate limited", "")], 0..=0),
            Kind::Login => (&[(200, "type=\"password\"", "")], 0..=3),
            Kind::Consent => (&[(200, "Accept all", "")], 0..=3),
            Kind::Paywall => (&[(200, "\"isAccessibleForFree\": false", "")], 0..=3),
            Kind::SoftNotFound => (&[(200, "<title>Page not found</title>", "")], 0..=3),
            Kind::Shell => (&[(200, "<div id=\"root\"></div>", "")], 0..=0),
            Kind::Parked => (&[(200, "is for sale", "")], 2..=2),
            Kind::Placeholder => (&[(200, "Welcome to nginx!", "")], 0..=0),
            Kind::Payment => (&[(402, "Payment required", "USD 0.01")], 0..=0),
            Kind::Geo => {
                (&[(451, "not available in your country", ""), (403, "not available in your country", "")], 0..=0)
            }
            Kind::Age => (&[(200, "Are you 18 or", "")], 0..=3),
        };
        Marks { forms, links }
    }

    fn ask(web: &PaperWeb, url: &str, now: Time) -> PaperAnswer {
        let (host, path) = url[7..].split_at(url[7..].find('/').unwrap());
        web.answer(host.split(':').next().unwrap(), path, now, now, &[]).unwrap()
    }

    fn options(walls: f64) -> SimOptions {
        SimOptions { hosts: 20, pages: 4_000, flaky_share: 0.0, walls, ..SimOptions::default() }
    }

    #[test]
    fn walls_have_the_marks_of_their_kind_and_all_forms_are_there() {
        let changes = Some(Changes::from(Time::ZERO));
        let web = PaperWeb::new(SimOptions { changes, ..options(0.3) }).unwrap();
        let (mut seen, mut framed) = (BTreeMap::<(&str, usize), usize>::new(), 0);
        for (url, page) in &web.expected().pages {
            let Some(name) = page.kind else { continue };
            let answer = ask(&web, url, Time::ZERO);
            let body = String::from_utf8(answer.body).unwrap();
            let (kind, _) = KINDS.into_iter().find(|(_, other)| *other == name).unwrap();
            let Marks { forms, links } = marks(kind);
            let is = |&(status, phrase, field): &(u16, &str, &str)| {
                let has_field = answer.headers.iter().any(|(_, value)| value == field) || field.is_empty();
                answer.status == status && body.contains(phrase) && has_field
            };
            let form = forms.iter().position(is).unwrap_or_else(|| panic!("{url}: {name} {}\n{body}", answer.status));
            *seen.entry((name, form)).or_default() += 1;
            framed += usize::from(links == (0..=3) && body.contains("<a "));
            assert!(links.contains(&body.matches("<a ").count()), "{url}: {name}\n{body}");
            assert!(!body.contains(" src="), "{url}: {name} embeds something");
            assert!(!answer.headers.iter().any(|(name, _)| matches!(*name, "etag" | "last-modified")));
            assert_eq!((answer.status, web.rate_of(url)), (page.status, None), "{url}");
        }
        let forms: usize = KINDS.iter().map(|(kind, _)| marks(*kind).forms.len()).sum();
        assert_eq!(seen.len(), forms, "{seen:?}");
        assert!(framed > 200, "{framed}");
    }

    #[test]
    fn other_pages_are_as_in_a_web_without_walls_and_refused_ones_become_so() {
        let end = Time::from_ms(1_000_000);
        let (free, plain) = (PaperWeb::new(options(0.0)).unwrap(), PaperWeb::new(options(0.0)).unwrap());
        let web = PaperWeb::new(SimOptions { walls_end: Some(end), ..options(0.2) }).unwrap();
        assert_eq!(free.expected(), &plain.expected_after_walls());
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for (url, page) in &web.expected().pages {
            let is_same = |now| web.body_at(url, now) == free.body_at(url, now);
            assert_eq!(is_same(Time::ZERO), page.kind.is_none(), "{url}");
            assert_eq!(is_same(end), page.kind.is_none() || page.is_refused(), "{url}");
            *kinds.entry(page.kind.unwrap_or("none")).or_default() += 1;
        }
        assert!(kinds.len() == KINDS.len() + 1 && kinds.values().all(|count| *count > 5), "{kinds:?}");
        eprintln!("{kinds:?} of {}, after {}", web.expected().pages.len(), web.expected_after_walls().pages.len());
    }
}

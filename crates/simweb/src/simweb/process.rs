//! Changes of pages by the clock: a Poisson process of a known rate, from the seed of the web.
//!
//! What a page is at a moment follows from seed, URL and moment alone. Time is cut into blocks in which a page changes
//! eight times on average; the changes of a block are drawn from its number. So the last change before any moment is
//! found without those before it. Changes come at whole seconds, as `Last-Modified` has them: a page that has changed
//! has another date.
//!
//! Rates are log-normal, with a part that all pages of a host share. Redirects, errors and walls do not change, nor do
//! links: the web stays the one that [`Expected`](super::Expected) has.

use std::time::Duration;

use super::changes::{Changes, PER_DAY_MAX, PER_DAY_MIN};
use super::plan::{Kind, Plan, Purpose};
use super::version::{Tagging, Version};
use super::walls;
use crate::clock::Time;

/// Changes of a page in a block, on average.
const BLOCK_CHANGES: f64 = 8.0;
const DAY_S: f64 = 86_400.0;

/// The process of one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process<'a> {
    plan: &'a Plan,
    changes: Changes,
    /// Host and number; duplicates have those of all of a host.
    page: (u32, u32),
    /// Changes a day.
    pub per_day: f64,
    is_cosmetic: bool,
    tagging: Tagging,
}

impl<'a> Process<'a> {
    /// Returns the process of a URL, if it has one.
    pub(crate) fn of(plan: &'a Plan, host: u32, url: u32) -> Option<Process<'a>> {
        let changes = plan.options.changes.filter(|_| walls::drawn(plan, host, url).is_none())?;
        let url = match plan.kind(host, url) {
            Kind::Redirect | Kind::NotFound | Kind::ServerError => return None,
            Kind::Duplicate => u32::MAX,
            _ => url,
        };
        let apart = normal(&mut plan.dice(Purpose::Rate, host, u32::MAX)) * changes.between_hosts.sqrt();
        // duplicates have their own dice, not the host's
        let mut dice = plan.dice_at(Purpose::Rate, host, url, 1);
        let apart = apart + normal(&mut dice) * (1.0 - changes.between_hosts).sqrt();
        let is_cosmetic = dice.f64() < changes.cosmetic_share;
        let tagging = match dice.f64() < changes.bare_share {
            true => Tagging::None,
            false => [Tagging::Etag, Tagging::Date, Tagging::Both][dice.usize(0..3)],
        };
        let per_day = (changes.per_day * (changes.ln_spread * apart).exp()).clamp(PER_DAY_MIN, PER_DAY_MAX);
        Some(Process { plan, changes, page: (host, url), per_day, is_cosmetic, tagging })
    }

    /// Returns the version of the page at `now`.
    pub(crate) fn version(&self, now: Time) -> Version {
        let second = now.since(self.changes.since).as_secs();
        let mut block = self.block_of(second);
        let changed = loop {
            let last = self.changes_in(block).filter(|&at| at <= second).max();
            if last.is_some() || block == 0 {
                break last;
            }
            block -= 1;
        };
        Version {
            changed: self.time(changed.unwrap_or(0)),
            is_first: changed.is_none(),
            is_cosmetic: self.is_cosmetic,
            tagging: self.tagging,
        }
    }

    /// Returns when it changes next after `now`, or `Time::MAX` if it never does.
    pub(crate) fn next_change(&self, now: Time) -> Time {
        let second = now.since(self.changes.since).as_secs();
        let first = self.block_of(second);
        // a block without a change is one of three thousand
        let next = (first..first + 64).find_map(|block| self.changes_in(block).filter(|&at| at > second).min());
        next.map_or(Time::MAX, |second| self.time(second))
    }

    fn time(&self, second: u64) -> Time {
        self.changes.since + Duration::from_secs(second)
    }

    fn block_s(&self) -> f64 {
        BLOCK_CHANGES * DAY_S / self.per_day
    }

    fn block_of(&self, second: u64) -> u64 {
        (second as f64 / self.block_s()) as u64
    }

    /// The changes of a block, in seconds, in no order.
    fn changes_in(&self, block: u64) -> impl Iterator<Item = u64> {
        let mut dice = self.plan.dice_at(Purpose::Change, self.page.0, self.page.1, block);
        let count = poisson(&mut dice);
        let (start, length) = (block as f64 * self.block_s(), self.block_s());
        (0..count).map(move |_| (start + dice.f64() * length).ceil() as u64)
    }
}

/// A draw from a Poisson distribution with the mean of a block: events of a unit rate within the mean.
fn poisson(dice: &mut fastrand::Rng) -> u32 {
    let least = (-BLOCK_CHANGES).exp();
    let (mut count, mut product) = (0, 1.0 - dice.f64());
    while product > least {
        count += 1;
        product *= 1.0 - dice.f64();
    }
    count
}

fn normal(dice: &mut fastrand::Rng) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - dice.f64()).ln()).sqrt(), std::f64::consts::TAU * dice.f64());
    radius * angle.cos()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use sha1::{Digest, Sha1};

    use super::*;
    use crate::simweb::page::Pages;
    use crate::simweb::{PaperWeb, SimOptions};
    use crate::web::html::{Document, Wording};

    const SINCE: Time = Time::from_ms(1_700_000_000_000);
    const DAY: Duration = Duration::from_secs(86_400);

    fn options(changes: Option<Changes>) -> SimOptions {
        SimOptions { hosts: 10, pages: 400, duplicate_share: 0.1, sitemap_share: 0.5, changes, ..SimOptions::default() }
    }

    fn plan(changes: Changes) -> Plan {
        Plan::new(options(Some(changes))).unwrap()
    }

    fn processes(plan: &Plan) -> impl Iterator<Item = Process<'_>> {
        (0..plan.len()).filter_map(|place| {
            let (host, url) = plan.at(place);
            Process::of(plan, host, url).filter(|_| plan.kind(host, url) != Kind::Duplicate)
        })
    }

    #[test]
    fn a_page_changes_as_often_as_its_rate_says_and_at_no_times_that_are_alike() {
        let plan = plan(Changes { ln_spread: 1.0, per_day: 1.0, ..Changes::from(SINCE) });
        let (mut counted, mut wanted, mut quiet, mut quiet_wanted) = (0.0, 0.0, 0.0, 0.0);
        for process in processes(&plan) {
            let (mut now, end, mut count) = (SINCE, SINCE + DAY * 50, 0);
            loop {
                let next = process.next_change(now);
                // gaps of a Poisson process are longer than half their mean with probability e^-1/2
                quiet += f64::from(u8::from(next.since(now) > DAY.div_f64(2.0 * process.per_day)));
                quiet_wanted += (-0.5_f64).exp();
                if next > end {
                    break;
                }
                assert_eq!(process.version(next).changed, next);
                let before = process.version(next - Duration::from_millis(1));
                assert_eq!((before.changed, before.is_first), (now, now == SINCE));
                (now, count) = (next, count + 1);
            }
            (counted, wanted) = (counted + f64::from(count), wanted + 50.0 * process.per_day);
        }
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 4.0 * wanted.sqrt();
        assert!(wanted > 5_000.0 && near(counted, wanted), "{counted} changes, not {wanted}");
        assert!(near(quiet, quiet_wanted), "{quiet} long gaps, not {quiet_wanted}");
    }

    #[test]
    fn the_last_change_and_the_next_one_hold_whenever_somebody_asks() {
        let plan = plan(Changes { per_day: 20.0, ..Changes::from(SINCE) });
        let mut random = fastrand::Rng::with_seed(5);
        for process in processes(&plan) {
            for _ in 0..20 {
                let now = SINCE + Duration::from_millis(random.u64(..40_000_000_000));
                let (version, next) = (process.version(now), process.next_change(now));
                assert!(version.changed <= now && now < next, "{version:?} {now:?} {next:?}");
                assert_eq!(process.version(next - Duration::from_millis(1)), version);
                assert_eq!(process.next_change(version.changed), next);
            }
        }
    }

    #[test]
    fn rates_spread_as_asked_and_pages_of_a_host_have_something_in_common() {
        let changes = Changes { ln_spread: 2.0, between_hosts: 1.0, ..Changes::from(SINCE) };
        let plan = plan(changes);
        let rates: HashSet<u64> = processes(&plan).map(|process| process.per_day.to_bits()).collect();
        assert_eq!(rates.len(), 10);
        let apart = Changes { between_hosts: 0.0, ..changes };
        let web = Plan::new(SimOptions { pages: 4_000, ..options(Some(apart)) }).unwrap();
        let logs: Vec<f64> = processes(&web).map(|process| (process.per_day / 0.05).ln() / 2.0).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        assert!(mean.abs() < 0.1 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
    }

    #[test]
    fn versions_of_a_page_differ_in_their_text_or_in_a_date_and_an_advertisement_only() {
        let plan = plan(Changes { per_day: 1.0, cosmetic_share: 0.5, ..Changes::from(SINCE) });
        let (pages, mut wording) = (Pages::new(&plan), Wording::default());
        let (mut texts, mut cosmetics) = (0, 0);
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            let Some(process) = Process::of(&plan, host, url) else { continue };
            let versions = [SINCE, process.next_change(SINCE)].map(|time| process.version(time));
            let bodies = versions.map(|version| pages.page(&plan, 80, host, url, Some(version)));
            assert_ne!(bodies[0], bodies[1]);
            let [old, new] = bodies.map(|body| wording.document(Document::Html, &body, None).unwrap().to_vec());
            assert_eq!(old == new, versions[0].is_cosmetic, "{host} {url}");
            (texts, cosmetics) = (texts + usize::from(old != new), cosmetics + usize::from(old == new));
        }
        assert!(texts > 100 && cosmetics > 100, "{texts} {cosmetics}");
    }

    #[test]
    fn the_first_versions_and_all_that_is_expected_are_those_of_a_web_that_does_not_change() {
        let fixed = PaperWeb::new(options(None)).unwrap();
        let none = Changes { cosmetic_share: 0.0, dated_sitemaps: false, ..Changes::from(SINCE) };
        let changing = PaperWeb::new(options(Some(none))).unwrap();
        assert_eq!(fixed.expected(), changing.expected());
        for url in fixed.expected().pages.keys() {
            assert_eq!(changing.digest_at(url, SINCE), fixed.digest_at(url, SINCE), "{url}");
            assert_eq!(fixed.rate_of(url), None);
        }
    }

    #[test]
    fn an_answer_says_which_version_it_is_and_a_condition_holds_until_the_next_change() {
        let web = PaperWeb::new(options(Some(Changes { per_day: 1.0, ..Changes::from(SINCE) })).smooth()).unwrap();
        let (mut bare, mut held) = (0, 0);
        for url in web.expected().pages.keys() {
            let Some(next) = web.next_change(url, SINCE).filter(|next| *next < SINCE + DAY * 300) else { continue };
            let (host, path) = url.strip_prefix("http://").unwrap().split_at(url[7..].find('/').unwrap());
            let name = host.split(':').next().unwrap();
            let ask = |now: Time, conditions: &[(&str, &[u8])]| web.answer(name, path, now, now, conditions).unwrap();
            let before = ask(next - Duration::from_secs(1), &[]);
            assert_eq!(before.status, 200, "{url}");
            let digest: [u8; 20] = Sha1::digest(&before.body).into();
            assert_eq!(Some(digest), web.digest_at(url, next - Duration::from_secs(1)));
            let value = |named: &str| before.headers.iter().find(|(name, _)| *name == named).map(|(_, value)| value);
            let pairs = [("if-none-match", value("etag")), ("if-modified-since", value("last-modified"))];
            let conditions: Vec<(&str, &[u8])> =
                pairs.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?.as_bytes()))).collect();
            if conditions.is_empty() {
                bare += 1;
                continue;
            }
            let same = ask(next - Duration::from_millis(1), &conditions);
            assert_eq!((same.status, same.body.len()), (304, 0), "{url}");
            let other = ask(next, &conditions);
            assert_eq!(other.status, 200, "{url}");
            assert_ne!(other.body, before.body, "{url}");
            held += 1;
        }
        assert!(bare > 20 && held > 100, "{bare} {held}");
    }
}

//! Warnings that the operator gets once in a run: a disk that fills, a clock that is set or was asleep, seeds with
//! passwords, a depth that was raised too late, hosts that rest where nothing else is left.
//!
//! That no contact is set is said before the crawl begins, and that a Crawl-delay is longer than what is kept to, where
//! the rules of robots.txt are learnt.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::CrawlRequest;
use crate::clock::Time;
use crate::config::Config;
use crate::outcome::Reason;
use crate::record::{Resting, Snapshot};
use crate::report::closing::shell_word;
use crate::text::figures::{count, size, span};
use crate::web::seeds::Seed;

/// A clock that differs by less is no news.
const CLOCK_DIFFERS: Duration = Duration::from_secs(60);
/// Free space below this many times the floor is reported.
const FLOORS: u64 = 2;

/// Remembers what was reported.
#[derive(Default)]
pub(super) struct Warnings {
    told_disk: bool,
    told_clock: bool,
    told_resting: bool,
}

impl Warnings {
    /// Looks at the disk, where free space is held against `disk_floor`, and at the clock, by the crawl's own time
    /// `now`.
    pub(super) fn look(&mut self, now: Time, disk_free: u64, disk_floor: u64) {
        for warning in self.news(now, system_time(), disk_free, disk_floor) {
            tracing::warn!("{warning}");
        }
    }

    /// Looks at the hosts that rest, where nothing else is left.
    pub(super) fn look_at_resting(&mut self, resting: Option<&Resting>) {
        if let Some(resting) = resting.filter(|resting| resting.is_all && !self.told_resting) {
            self.told_resting = true;
            tracing::warn!("{}", resting.line());
        }
    }

    /// Returns the warnings that were not given before.
    fn news(&mut self, now: Time, system: Time, free: u64, floor: u64) -> impl Iterator<Item = String> {
        let (disk, clock) = (of_disk(free, floor), of_clock(now, system));
        let once = |told: &mut bool, warning: Option<String>| {
            let news = warning.filter(|_| !*told);
            *told |= news.is_some();
            news
        };
        [once(&mut self.told_disk, disk), once(&mut self.told_clock, clock)].into_iter().flatten()
    }
}

/// Warns if the clock was set back since the shards of the crawl were written last.
pub(super) fn look_at_past(shards: &[Snapshot], now: Time) {
    let Some(updated) = shards.iter().map(|snapshot| snapshot.updated).max() else { return };
    let ahead = updated.since(now);
    if ahead > CLOCK_DIFFERS {
        tracing::warn!(
            "the clock is {} behind the last checkpoint of this crawl: it was set back, or is wrong now; hosts wait \
             until the times that were saved for them",
            span(ahead)
        );
    }
}

/// Seeds whose user and password are not used.
#[derive(Debug, Default)]
pub(super) struct SeedUsers {
    /// The first one's line.
    first: Option<usize>,
    others: u64,
}

impl SeedUsers {
    /// Takes note of a seed, if it is one of them.
    pub(super) fn note(&mut self, seed: &Seed) {
        match self.first {
            _ if !seed.names_user => {}
            None => self.first = Some(seed.line),
            Some(_) => self.others += 1,
        }
    }

    /// Warns of them, if there are any in the file of this name.
    pub(super) fn tell(&self, name: &str) {
        if let Some(warning) = self.warning(name) {
            tracing::warn!("{warning}");
        }
    }

    fn warning(&self, name: &str) -> Option<String> {
        let line = self.first?;
        let others = match self.others {
            0 => String::new(),
            others => format!(", and of {others} more"),
        };
        Some(format!(
            "{name}:{line}: the user or password of this seed{others} is ignored: the crawler never logs in, and sees \
             only public pages"
        ))
    }
}

/// Warns if links that were too deep by the settings of the last run are not any more: nothing finds them again.
pub(super) fn look_at_depth(shards: &[Snapshot], before: Option<&Config>, request: &CrawlRequest) {
    let Some(before) = before else { return };
    let dropped = shards.iter().filter_map(|snapshot| snapshot.statistics.dropped.get(&Reason::Depth)).sum();
    let (before, now) = (before.crawl.max_depth, request.config.crawl.max_depth);
    if let Some(warning) = of_depth(before, now, dropped, &request.dir) {
        tracing::warn!("{warning}");
    }
}

fn of_depth(before: Option<u16>, now: Option<u16>, dropped: u64, dir: &Path) -> Option<String> {
    let before = before.filter(|&before| now.is_none_or(|now| now > before) && dropped > 0)?;
    let now = now.map_or("unlimited".to_owned(), |now| now.to_string());
    Some(format!(
        "crawl.max_depth was {before} and is {now} now, but {} links were left out as too deep before, and are not \
         found again: stored pages are not parsed again. crawler export links --dir {} lists the links of all of them; \
         add those that you want as seeds, or start a new crawl with --fresh",
        count(dropped),
        shell_word(dir)
    ))
}

fn system_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn of_disk(free: u64, floor: u64) -> Option<String> {
    // the disk was not looked at yet, or is not to be
    if free == 0 || floor == 0 || free >= floor.saturating_mul(FLOORS) {
        return None;
    }
    let (free, floor) = (size(free), size(floor));
    Some(format!("the disk is filling up: {free} are free, and at crawl.disk_floor = {floor} the crawl stops"))
}

fn of_clock(crawl: Time, system: Time) -> Option<String> {
    let difference = crawl.since(system).max(system.since(crawl));
    if difference <= CLOCK_DIFFERS {
        return None;
    }
    let way = if system > crawl { "ahead of" } else { "behind" };
    Some(format!(
        "the machine's clock is {} {way} the crawl's: it was set, or the machine slept; delays are kept all the same, \
         and times in logs and archive follow the old clock until the crawl is restarted",
        span(difference)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::seeds::parse_seeds;

    #[test]
    fn a_filling_disk_is_told_before_it_stops_the_crawl() {
        let gib = 1 << 30;
        assert_eq!(of_disk(5 * gib, 2 * gib), None);
        let said = of_disk(3 * gib, 2 * gib).unwrap();
        assert!(said.contains("3.0 GiB are free") || said.contains("3 GiB are free"), "{said}");
        assert_eq!(of_disk(3 * gib, 0), None, "no floor, no word");
        assert_eq!(of_disk(0, 2 * gib), None, "not looked at yet");
    }

    #[test]
    fn n22_users_and_passwords_of_seeds_are_told_without_being_shown() {
        let (seeds, _) = parse_seeds(b"http://a.com/\nhttp://me:secret@b.com/\nhttp://me@c.com/\n");
        let of_users = |seeds: &[Seed]| {
            let mut users = SeedUsers::default();
            seeds.iter().for_each(|seed| users.note(seed));
            users.warning("seeds.txt")
        };
        let said = of_users(&seeds).unwrap();
        assert!(said.starts_with("seeds.txt:2: the user or password of this seed, and of 1 more is ignored"), "{said}");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(of_users(&seeds[..1]), None);
    }

    #[test]
    fn n22_a_larger_depth_tells_of_the_links_that_it_does_not_bring_back() {
        let of = |before, now, dropped| of_depth(before, now, dropped, Path::new("my crawl"));
        let said = of(Some(2), Some(5), 1_234).unwrap();
        assert!(said.starts_with("crawl.max_depth was 2 and is 5 now, but 1,234 links were left out"), "{said}");
        assert!(said.contains("crawler export links --dir 'my crawl'"), "{said}");
        assert!(of(Some(2), None, 1).unwrap().contains("is unlimited now"));
        for (before, now, dropped) in
            [(None, Some(2), 9), (Some(2), Some(2), 9), (Some(3), Some(2), 9), (Some(2), None, 0)]
        {
            assert_eq!(of(before, now, dropped), None);
        }
    }

    #[test]
    fn a_clock_that_was_set_is_told_whichever_way() {
        let now = Time::from_ms(1_700_000_000_000);
        assert_eq!(of_clock(now, now + Duration::from_secs(59)), None);
        assert_eq!(of_clock(now, now - Duration::from_secs(59)), None);
        assert!(of_clock(now, now + Duration::from_secs(3_600)).unwrap().contains("ahead of"));
        assert!(of_clock(now, now - Duration::from_secs(3_600)).unwrap().contains("behind"));
    }

    #[test]
    fn each_is_told_once_and_none_keeps_the_other_from_being_told() {
        let (hour, now) = (Duration::from_secs(3_600), Time::from_ms(1_700_000_000_000));
        let mut warnings = Warnings::default();
        let mut told = |system: Time, free: u64| warnings.news(now, system, free, 1 << 30).collect::<Vec<_>>();
        assert!(told(now, 5 << 30).is_empty());
        let first = told(now, 1 << 30);
        assert!(first.len() == 1 && first[0].starts_with("the disk is filling up"), "{first:?}");
        let second = told(now + hour, 1 << 29);
        assert!(second.len() == 1 && second[0].starts_with("the machine's clock is 1h 00m ahead of"), "{second:?}");
        assert!(told(now - hour, 0).is_empty() && told(now, 1 << 20).is_empty(), "each was told");
    }
}

//! robots.txt (RFC 9309), compiled for one agent.
//!
//! Of a whole file only what concerns our own agent is kept: its rules, longest first, its delay, and the sitemaps.
//! Grouping (`lines`) and matching (`pattern`) follow the RFC to the letter and take linear time; delays and
//! sitemaps are read by `texting_robots`.
//!
//! Statuses, redirects, caching and the size limit belong to the caller.

mod compact;
mod explain;
mod lines;
mod pattern;
#[cfg(test)]
mod rfc_tests;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use explain::{Decision, RobotsFile, RuleLine, StatedDelay};
pub use lines::SITEMAPS_MAX;
use pattern::Subject;

/// The longest delay: whoever asks for more gets this, never less than it would mean.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The rules of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsRules {
    /// Normalised patterns, one after the other, in the order of precedence.
    patterns: Vec<u8>,
    rules: Vec<Rule>,
    delay_ms: Option<u64>,
    sitemaps: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    /// Where its pattern ends.
    end: u32,
    is_allow: bool,
}

impl RobotsRules {
    /// The rules of a file for `agent_token` (`NAME` of the user agent `NAME/VERSION`; case does not matter). `bytes`
    /// is the body, cut to the size that is obeyed.
    pub fn parse(agent_token: &str, bytes: &[u8]) -> Self {
        let group = lines::group_of(agent_token, bytes);
        let mut patterns: Vec<(Vec<u8>, bool)> = group.rules;
        // longest first, Allow before Disallow: the first that matches decides
        patterns.sort_by(|(a, a_allow), (b, b_allow)| {
            b.len().cmp(&a.len()).then_with(|| a.cmp(b)).then(b_allow.cmp(a_allow))
        });
        patterns.dedup_by(|(later, _), (kept, _)| later == kept);
        patterns.sort_by_key(|(pattern, is_allow)| (std::cmp::Reverse(pattern.len()), !is_allow));
        let mut rules = RobotsRules {
            delay_ms: group.delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            sitemaps: group.sitemaps,
            ..RobotsRules::default()
        };
        for (pattern, is_allow) in patterns {
            rules.push(&pattern, is_allow);
        }
        rules.shrink();
        rules
    }

    /// Bytes of memory that it holds beside its own size.
    pub fn heap_bytes(&self) -> usize {
        let sitemaps: usize = self.sitemaps.iter().map(|url| size_of::<String>() + url.capacity()).sum();
        self.patterns.capacity() + self.rules.capacity() * size_of::<Rule>() + sitemaps
    }

    /// It stays in memory as long as its host is asked: room that was made for more is given back.
    fn shrink(&mut self) {
        self.patterns.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// Everything is allowed: no file, or one that says nothing to us.
    pub fn allow_all() -> Self {
        RobotsRules::default()
    }

    fn push(&mut self, pattern: &[u8], is_allow: bool) {
        // files are cut long before; what could not be addressed is left out
        if let Ok(end) = u32::try_from(self.patterns.len() + pattern.len()) {
            self.patterns.extend_from_slice(pattern);
            self.rules.push(Rule { end, is_allow });
        }
    }

    /// Whether a URL (absolute, or from its path on) may be fetched: the longest matching pattern decides, `Allow`
    /// where two are equally long.
    pub fn allows(&self, url: &str) -> bool {
        self.deciding(url).is_none_or(|(_, is_allow)| is_allow)
    }

    /// The normalised pattern that decides on a URL, and whether it allows it; none where no rule matches.
    pub fn deciding(&self, url: &str) -> Option<(&[u8], bool)> {
        if self.rules.is_empty() {
            return None;
        }
        let subject = Subject::of_url(url);
        if subject.is_robots_txt() {
            return None;
        }
        let mut start = 0;
        for rule in &self.rules {
            let pattern = &self.patterns[start..rule.end as usize];
            if subject.matches(pattern) {
                return Some((pattern, rule.is_allow));
            }
            start = rule.end as usize;
        }
        None
    }

    /// Whether another file says the same to our agent, sitemaps aside.
    pub fn agrees_with(&self, other: &RobotsRules) -> bool {
        (&self.patterns, &self.rules, self.delay_ms) == (&other.patterns, &other.rules, other.delay_ms)
    }

    /// The time that is asked for between two requests, the longest where several are stated.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay_ms.map(Duration::from_millis)
    }

    /// The sitemaps, as written, at most [`SITEMAPS_MAX`]. They concern all agents.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Takes the sitemaps out: once the file has been read they are of no use any more.
    pub fn take_sitemaps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sitemaps)
    }
}

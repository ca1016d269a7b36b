//! robots.txt (RFC 9309), compiled for one agent.
//!
//! Of a whole file only what concerns our own agent is kept: its rules, longest first, its delay, and the sitemaps.
//! Grouping (`lines`) and matching (`pattern`) follow the RFC to the letter and take linear time; delays and sitemaps
//! are read by `texting_robots`. What it asks of users of the content (`usage`) is kept separately. `tdmrep` reads the
//! file of the TDM Reservation Protocol, whose patterns are the same.
//!
//! Statuses, redirects and caching belong to the caller, and how many bytes are read.

mod compact;
mod explain;
mod lines;
mod pattern;
#[cfg(test)]
mod rfc_tests;
mod tdmrep;
#[cfg(test)]
mod tests;
mod usage;

use std::borrow::Cow;
use std::time::Duration;

pub use explain::{Decision, RobotsFile, RuleLine, StatedDelay};
pub use lines::SITEMAPS_MAX;
use pattern::Subject;
pub use tdmrep::{TDMREP_PATH, TdmRep};
pub use usage::UsageLines;

use super::coding::{self, Decoded, Ending};
use super::preferences::Preferences;

/// The longest delay: anyone who asks for more gets this, never less than it would mean.
pub(crate) const CRAWL_DELAY_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The rules of one robots.txt for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsRules {
    /// Normalised patterns, one after the other, in the order of precedence.
    patterns: Vec<u8>,
    rules: Vec<Rule>,
    delay_ms: Option<u64>,
    sitemaps: Vec<String>,
    /// Usage preferences, where any are stated.
    usage: Option<Box<UsageLines>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    /// The index at which its pattern ends.
    end: u32,
    is_allow: bool,
}

/// The lines that are read of a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines<'a> {
    /// The whole lines, one after the other.
    pub text: Cow<'a, [u8]>,
    /// True where these are all that came.
    pub is_whole: bool,
}

/// Returns the lines of `body` within the first `bytes_max` bytes, its coding undone. A file that ends early, `is_cut`
/// or too long, is read up to its last whole line: the start of a line may forbid, or permit, more than the line does.
///
/// `None` where nobody knows what the file says: its coding is damaged or another one than is stated, or its name is
/// unknown and what came is no text.
pub fn whole_lines<'a>(body: &'a [u8], coding: Option<&str>, is_cut: bool, bytes_max: usize) -> Option<Lines<'a>> {
    let Decoded { bytes: mut text, end } = coding::decode_file(coding, body, bytes_max);
    let is_readable = match end {
        Ending::Whole | Ending::Cap => !coding::has_unknown(coding) || is_text(&text),
        // what was cut on its way ends in the middle of its coding
        Ending::Damage => is_cut && !text.is_empty(),
    };
    if !is_readable {
        return None;
    }
    let is_whole = end == Ending::Whole;
    if !is_whole || is_cut {
        let end = text.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0);
        match &mut text {
            Cow::Borrowed(text) => *text = &text[..end],
            Cow::Owned(text) => text.truncate(end),
        }
    }
    Some(Lines { text, is_whole })
}

/// Returns whether no byte is one that only binary data have (WHATWG MIME Sniffing, 3).
fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

impl RobotsRules {
    /// The rules of a file for `agent_token` (`NAME` of the user agent `NAME/VERSION`; case does not matter). `bytes`
    /// is the body, cut to the size that is obeyed.
    pub fn parse(agent_token: &str, bytes: &[u8]) -> Self {
        let mut group = lines::group_of(agent_token, bytes);
        let usage = Some(UsageLines::parse(bytes)).filter(|usage| !usage.is_empty()).map(Box::new);
        RobotsRules { usage, ..RobotsRules::of(&mut group) }
    }

    /// The rules of `group`, in which each is left once, in the order of precedence.
    fn of(group: &mut lines::Group<'_>) -> Self {
        let rules = &mut group.rules;
        // longest first, Allow before Disallow: the first that matches decides
        rules.sort_by(|a, b| {
            let by_pattern = b.pattern.len().cmp(&a.pattern.len()).then_with(|| a.pattern.cmp(&b.pattern));
            by_pattern.then(b.is_allow.cmp(&a.is_allow))
        });
        rules.dedup_by(|later, kept| later.pattern == kept.pattern);
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.len()), !rule.is_allow));
        // files are cut long before; what could not be addressed is left out
        let mut end = 0_usize;
        rules.retain(|rule| {
            end += rule.pattern.len();
            u32::try_from(end).is_ok()
        });
        let mut compact = RobotsRules {
            delay_ms: group.delay.map(|stated| u64::try_from(stated.delay.as_millis()).unwrap_or(u64::MAX)),
            sitemaps: std::mem::take(&mut group.sitemaps),
            ..RobotsRules::default()
        };
        for rule in rules {
            compact.patterns.extend_from_slice(&rule.pattern);
            let end = u32::try_from(compact.patterns.len()).expect("longer ones were left out");
            compact.rules.push(Rule { end, is_allow: rule.is_allow });
        }
        compact.shrink();
        compact
    }

    /// Bytes of memory that it has in addition to its own size.
    pub fn heap_bytes(&self) -> usize {
        let sitemaps: usize = self.sitemaps.iter().map(|url| size_of::<String>() + url.capacity()).sum();
        let usage = self.usage.as_ref().map_or(0, |usage| size_of::<UsageLines>() + usage.heap_bytes());
        self.patterns.capacity() + self.rules.capacity() * size_of::<Rule>() + sitemaps + usage
    }

    /// Gives back room that was made for more: the rules stay in memory as long as their host is asked.
    fn shrink(&mut self) {
        self.patterns.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// The rules that follow from an answer to a request for robots.txt (RFC 9309, section 2.3.1), in which these were
    /// `found`: 2xx brings them, 4xx means that there are none. `None` where nothing follows: 5xx, and 429, which
    /// speaks of load; redirects; and a file that broke off or cannot be decoded, of which nobody knows what it says.
    pub fn of_answer(status: u16, found: Option<RobotsRules>) -> Option<RobotsRules> {
        match status {
            200..300 => found,
            429 => None,
            400..500 => Some(RobotsRules::allow_all()),
            _ => None,
        }
    }

    /// Everything is allowed: no file, or one that says nothing to us.
    pub fn allow_all() -> Self {
        RobotsRules::default()
    }

    /// True if a URL (absolute, or from its path on) may be fetched: the longest matching pattern decides, `Allow`
    /// where two are equally long.
    pub fn allows(&self, url: &str) -> bool {
        self.deciding(url).is_none_or(|(_, is_allow)| is_allow)
    }

    /// The normalised pattern that decides on a URL, and whether it allows it; none where no rule matches.
    pub fn deciding(&self, url: &str) -> Option<(&[u8], bool)> {
        self.decide(url).map(|(_, pattern, is_allow)| (pattern, is_allow))
    }

    /// The one judge: number and pattern of the rule that decides on a URL, and whether it allows it.
    fn decide(&self, url: &str) -> Option<(usize, &[u8], bool)> {
        if self.rules.is_empty() {
            return None;
        }
        let subject = Subject::of_url(url);
        if subject.is_robots_txt() {
            return None;
        }
        let mut start = 0;
        for (number, rule) in self.rules.iter().enumerate() {
            let pattern = &self.patterns[start..rule.end as usize];
            if subject.matches(pattern) {
                return Some((number, pattern, rule.is_allow));
            }
            start = rule.end as usize;
        }
        None
    }

    /// True if another file says the same to our agent, sitemaps aside.
    pub fn agrees_with(&self, other: &RobotsRules) -> bool {
        (&self.patterns, &self.rules, self.delay_ms) == (&other.patterns, &other.rules, other.delay_ms)
    }

    /// The time that is asked for between two requests, the longest where several are stated.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delay_ms.map(Duration::from_millis)
    }

    /// Preferences that the file states for anyone who uses the content of a URL.
    pub fn preferences(&self, url: &str) -> Preferences {
        self.usage.as_ref().map_or_else(Preferences::default, |usage| usage.of(url))
    }

    /// URLs of licences that the file names for its origin, separated by a comma and a blank.
    pub fn licenses(&self) -> &str {
        self.usage.as_ref().map_or("", |usage| usage.licenses())
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

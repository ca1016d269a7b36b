//! A robots.txt with its lines: which of them decides on a URL, and of which group it is.
//!
//! Decides as [`RobotsRules::allows`](super::RobotsRules::allows) does, from the same walk over the lines; a property
//! test holds the two together. It keeps what that leaves out (line numbers, texts, groups), so that people can be
//! answered; the crawl itself keeps the compact rules.

use std::cmp::Reverse;
use std::time::Duration;

use super::lines::{self, Line};
use super::pattern::Subject;

/// A line that states a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// From 1.
    pub number: u32,
    /// As it stands in the file, trimmed.
    pub text: String,
    /// Whether it is an `Allow`.
    pub is_allow: bool,
    /// The name in the `User-agent` line of its group, as written.
    pub group: String,
    /// The number of that line.
    pub group_number: u32,
    pattern: Vec<u8>,
}

/// A line that states a delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedDelay {
    /// From 1.
    pub number: u32,
    /// As it stands in the file, trimmed.
    pub text: String,
    /// What it means.
    pub delay: Duration,
}

/// What a file says of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The line that says so; none where no rule matches: that allows.
    pub line: Option<&'a RuleLine>,
}

/// A robots.txt as one agent reads it.
#[derive(Clone, Debug, Default)]
pub struct RobotsFile {
    rules: Vec<RuleLine>,
    delay: Option<StatedDelay>,
    sitemaps: Vec<String>,
    group: Option<String>,
}

/// What the groups of one agent say.
#[derive(Default)]
struct Group {
    rules: Vec<RuleLine>,
    delay: Option<StatedDelay>,
    /// Number and name of the latest `User-agent` line.
    header: Option<(u32, String)>,
    first_name: Option<String>,
}

impl RobotsFile {
    /// The file as `agent_token` reads it, [`RobotsRules::parse`](super::RobotsRules::parse) says how.
    pub fn parse(agent_token: &str, bytes: &[u8]) -> Self {
        let (mut ours, mut all) = (Group::default(), Group::default());
        let (mut is_named, mut sitemap_lines) = (false, Vec::new());
        lines::walk(agent_token, bytes, |placed| {
            is_named |= placed.is_ours;
            if let Line::Sitemap(url) = placed.line {
                sitemap_lines.push(url);
            }
            let name = if let Line::UserAgent(name) = placed.line { name } else { &[] };
            let (names_us, names_all) = (lines::names(name, agent_token), name.starts_with(b"*"));
            for (group, concerned, named) in
                [(&mut ours, placed.is_ours, names_us), (&mut all, placed.is_all, names_all)]
            {
                if named {
                    let name = String::from_utf8_lossy(name).into_owned();
                    group.first_name.get_or_insert_with(|| name.clone());
                    group.header = Some((placed.number, name));
                } else if concerned {
                    group.add(placed.number, placed.line, placed.text);
                }
            }
        });
        let sitemaps = lines::read_sitemaps(&sitemap_lines);
        let Group { rules, delay, first_name, .. } = if is_named { ours } else { all };
        RobotsFile { rules, delay, sitemaps, group: first_name }
    }

    /// Whether a URL (absolute, or from its path on) may be fetched, and the line that says so.
    pub fn decide(&self, url: &str) -> Decision<'_> {
        let subject = Subject::of_url(url);
        if subject.is_robots_txt() {
            return Decision { allowed: true, line: None };
        }
        // the longest, Allow before Disallow, the first of equal ones
        let matching = self.rules.iter().filter(|rule| subject.matches(&rule.pattern));
        let line = matching.min_by_key(|rule| (Reverse(rule.pattern.len()), !rule.is_allow));
        Decision { allowed: line.is_none_or(|line| line.is_allow), line }
    }

    /// The longest delay that is asked for, and where.
    pub fn delay(&self) -> Option<&StatedDelay> {
        self.delay.as_ref()
    }

    /// The sitemaps, as written.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// The name in the first `User-agent` line that makes a group ours: our agent's, or that of all. None where no group
    /// speaks to us.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }
}

impl Group {
    fn add(&mut self, number: u32, line: Line<'_>, text: &[u8]) {
        let text = || String::from_utf8_lossy(text.trim_ascii()).into_owned();
        let (group_number, group) = self.header.clone().unwrap_or_default();
        if let Some((pattern, is_allow)) = lines::rule_of(line) {
            self.rules.push(RuleLine { number, text: text(), is_allow, group, group_number, pattern });
        } else if let Some(delay) = lines::delay_of(line)
            && self.delay.as_ref().is_none_or(|stated| stated.delay < delay)
        {
            self.delay = Some(StatedDelay { number, text: text(), delay });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RobotsRules;
    use super::*;

    #[test]
    fn the_line_that_decides_is_named_with_its_group() {
        let text = b"# rules\r\nUser-agent: other\r\nDisallow: /\r\n\r\nUser-agent: x\r\nUser-agent: OurBot/2.1\r\n\
                     Disallow: /private/ # no\r\nAllow: /private/open\r\nCrawl-delay: 1\r\nCrawl-delay: 4\r\n\
                     Sitemap: http://a.example/map\r\n";
        let file = RobotsFile::parse("ourbot", text);
        let decision = file.decide("http://a.example/private/x");
        let line = decision.line.unwrap();
        assert!(!decision.allowed);
        assert_eq!((line.number, line.text.as_str()), (7, "Disallow: /private/ # no"));
        assert_eq!((line.group.as_str(), line.group_number), ("OurBot/2.1", 6));
        let decision = file.decide("/private/open/x");
        assert_eq!((decision.allowed, decision.line.map(|line| line.number)), (true, Some(8)));
        assert_eq!(file.decide("/else"), Decision { allowed: true, line: None });
        assert_eq!(file.delay().map(|delay| (delay.number, delay.delay.as_secs())), Some((10, 4)));
        assert_eq!(file.sitemaps(), ["http://a.example/map"]);
        assert_eq!(file.group(), Some("OurBot/2.1"));
        let all = RobotsFile::parse("stranger", text);
        assert_eq!((all.group(), all.decide("/private/").line), (None, None));
    }

    #[test]
    fn lines_are_counted_as_editors_do() {
        for (text, number) in [
            ("User-agent: *\n\n\nDisallow: /a", 4),
            ("User-agent: *\r\n\r\nDisallow: /a", 3),
            ("User-agent: *\rDisallow: /a", 2),
            ("\u{feff}User-agent: *\0Disallow: /a", 1),
            ("User-agent: *\n\rDisallow: /a", 3),
        ] {
            let file = RobotsFile::parse("x", text.as_bytes());
            assert_eq!(file.decide("/a").line.map(|line| line.number), Some(number), "{text:?}");
        }
    }

    #[test]
    fn it_decides_as_the_compact_rules_do_on_any_file() {
        let pieces = [
            "User-agent: ",
            "user-agent:",
            "*",
            "ourbot",
            "OURBOT/1.0",
            "other",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "\0",
            "Disallow: ",
            "Allow: ",
            "disalow ",
            "allow:",
            "/",
            "/a",
            "/a/b",
            "*",
            "$",
            "%61",
            "%2F",
            "?x=1",
            "#c",
            " ",
            "Crawl-delay: 3",
            "Request-rate: 1/10",
            "Sitemap: http://h/m",
            "\u{feff}",
            "é",
            "x",
        ];
        let urls = ["/", "/a", "/a/b", "/a/b?x=1", "/robots.txt", "http://h/é", "/x/a/b$", "/%61"];
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..20_000 {
            let text: String = (0..random.usize(..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let (file, rules) =
                (RobotsFile::parse("ourbot", text.as_bytes()), RobotsRules::parse("ourbot", text.as_bytes()));
            for url in urls {
                let decision = file.decide(url);
                assert_eq!(decision.allowed, rules.allows(url), "seed {seed}: {url} by {text:?}");
                let (pattern, found) = (decision.line.map(|line| line.pattern.as_slice()), rules.deciding(url));
                assert_eq!(pattern, found.map(|(pattern, _)| pattern), "seed {seed}: {url} by {text:?}");
            }
            assert_eq!(file.delay().map(|delay| delay.delay), rules.crawl_delay(), "seed {seed}: {text:?}");
            assert_eq!(file.sitemaps(), rules.sitemaps(), "seed {seed}: {text:?}");
        }
    }
}

//! A robots.txt with its lines: which of them decides on a URL, and of which group it is.
//!
//! The judge is [`RobotsRules`]; next to its rules are the lines that state them, which a crawl does not keep.

use std::time::Duration;

use super::RobotsRules;
use super::lines::{self, Delay, Stated};

/// A line that states a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// Number of the line, from 1.
    pub number: u32,
    /// The line as it is in the file, trimmed.
    pub text: String,
    /// True for an `Allow`.
    pub is_allow: bool,
    /// The name in the `User-agent` line of its group, as written.
    pub group: String,
    /// The number of that line.
    pub group_number: u32,
}

/// A line that states a delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedDelay {
    /// Number of the line, from 1.
    pub number: u32,
    /// The line as it is in the file, trimmed.
    pub text: String,
    /// The time that it means.
    pub delay: Duration,
}

/// The answer of a file about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// True if it may be fetched.
    pub allowed: bool,
    /// The line that says so; none where no rule matches: that allows.
    pub line: Option<&'a RuleLine>,
}

/// A robots.txt as one agent reads it.
#[derive(Clone, Debug, Default)]
pub struct RobotsFile {
    rules: RobotsRules,
    /// The line that states each of the rules.
    lines: Vec<RuleLine>,
    delay: Option<StatedDelay>,
    group: Option<String>,
}

impl RobotsFile {
    /// The file as `agent_token` reads it, [`RobotsRules::parse`] says how.
    pub fn parse(agent_token: &str, bytes: &[u8]) -> Self {
        let mut group = lines::group_of(agent_token, bytes);
        let rules = RobotsRules::of(&mut group);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
        let line = |stated: &Stated<'_>| RuleLine {
            number: stated.number,
            text: text(stated.text),
            is_allow: stated.is_allow,
            group: text(stated.header.1),
            group_number: stated.header.0,
        };
        RobotsFile {
            rules,
            lines: group.rules.iter().map(line).collect(),
            delay: group.delay.map(|Delay { delay, number, text: line }| StatedDelay {
                number,
                text: text(line),
                delay,
            }),
            group: group.name.map(text),
        }
    }

    /// Decides if a URL (absolute, or from its path on) may be fetched, and says by which line.
    pub fn decide(&self, url: &str) -> Decision<'_> {
        let deciding = self.rules.decide(url);
        let line = deciding.and_then(|(number, ..)| self.lines.get(number));
        Decision { allowed: deciding.is_none_or(|(_, _, is_allow)| is_allow), line }
    }

    /// The rules that a crawl keeps of it.
    pub fn rules(&self) -> &RobotsRules {
        &self.rules
    }

    /// The longest delay that is asked for, and where.
    pub fn delay(&self) -> Option<&StatedDelay> {
        self.delay.as_ref()
    }

    /// The sitemaps, as written.
    pub fn sitemaps(&self) -> &[String] {
        self.rules.sitemaps()
    }

    /// The name in the first `User-agent` line that makes a group ours: our agent's, or the one of all. None where no
    /// group speaks to us.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }
}

#[cfg(test)]
mod tests {
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
    fn n21_the_line_that_is_named_is_the_first_that_states_the_rule_which_decides() {
        let text = "User-agent: *\nDisallow: /a\nAllow: /b\nUser-agent: x\nDisallow: /\nUser-agent: *\nAllow: /a\n\
                    Disallow: /b\nDisallow: /%61/*c\nDisallow: /a/*c\nDisallow:\n";
        let file = RobotsFile::parse("ourbot", text.as_bytes());
        for (url, expected) in
            [("/a", Some((7, true))), ("/b", Some((3, true))), ("/a/bc", Some((9, false))), ("/c", None)]
        {
            let decision = file.decide(url);
            assert_eq!(decision.line.map(|line| (line.number, line.is_allow)), expected, "{url}");
            assert_eq!(decision.allowed, file.rules().allows(url), "{url}");
        }
        assert_eq!(file.decide("/a/bc").line.map(|line| line.group_number), Some(6));
    }

    /// The files of Google's parser (github.com/google/robotstxt, Apache 2.0), `ID_UTF8ByteOrderMarkIsSkipped`.
    #[test]
    fn n20_a_byte_order_mark_is_skipped_also_where_only_its_beginning_is_there() {
        for (mark, is_skipped) in [
            (&b""[..], true),
            (b"\xef", true),
            (b"\xef\xbb", true),
            (b"\xef\xbb\xbf", true),
            (b"\xef\x11\xbf", false),
            (b"\xbb\xbf", false),
        ] {
            let text = [mark, b"User-agent: foo\nDisallow: /a\n"].concat();
            let file = RobotsFile::parse("foo", &text);
            assert_eq!(file.decide("/a").allowed, !is_skipped, "{}", mark.escape_ascii());
        }
        let inside = b"User-agent: foo\n\xef\xbb\xbfDisallow: /a\n";
        assert!(RobotsFile::parse("foo", inside).decide("/a").allowed);
    }
}

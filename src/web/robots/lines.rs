//! The lines of a robots.txt: which of them form the group that our agent obeys.

use std::time::Duration;

use texting_robots::Robot;

use super::CRAWL_DELAY_MAX;
use super::pattern::normalise_pattern;

/// Sitemaps that are kept of a file.
pub const SITEMAPS_MAX: usize = 1000;

/// What the groups of one agent say together.
#[derive(Debug, Default)]
pub struct Group {
    /// Normalised patterns; true for `Allow`.
    pub rules: Vec<(Vec<u8>, bool)>,
    /// The longest delay.
    pub delay: Option<Duration>,
    /// The sitemaps of the whole file.
    pub sitemaps: Vec<String>,
    is_named: bool,
}

/// What a line is about.
enum Line<'a> {
    UserAgent(&'a [u8]),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    CrawlDelay(&'a [u8]),
    RequestRate(&'a [u8]),
    Sitemap(&'a [u8]),
}

/// Gathers the groups that name `agent_token`, or if none does, those of `*`.
///
/// A group is some `User-agent` lines and what follows up to the next one behind a rule. Other lines, blank ones
/// too, neither begin nor end a group; a delay concerns the agents named so far.
pub fn group_of(agent_token: &str, bytes: &[u8]) -> Group {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (mut ours, mut all) = (Group::default(), Group::default());
    let (mut is_ours, mut is_all, mut is_header) = (false, false, false);
    let mut sitemap_lines = Vec::new();
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r' | b'\0')).filter_map(parse_line) {
        let mut each = |act: &dyn Fn(&mut Group)| {
            if is_ours {
                act(&mut ours);
            }
            if is_all {
                act(&mut all);
            }
        };
        match line {
            Line::UserAgent(name) => {
                if !is_header {
                    (is_ours, is_all, is_header) = (false, false, true);
                }
                is_all |= name.starts_with(b"*");
                is_ours |= product_token(name).eq_ignore_ascii_case(agent_token.as_bytes());
                ours.is_named |= is_ours;
            }
            Line::Allow(path) => {
                is_header = false;
                each(&|group| group.add_rule(path, true));
            }
            Line::Disallow(path) => {
                is_header = false;
                each(&|group| group.add_rule(path, false));
            }
            Line::CrawlDelay(value) => each(&|group| group.add_delay(read_delay(value))),
            Line::RequestRate(value) => each(&|group| group.add_delay(read_rate(value))),
            Line::Sitemap(url) => sitemap_lines.push(url),
        }
    }
    let sitemaps = read_sitemaps(&sitemap_lines);
    Group { sitemaps, ..if ours.is_named { ours } else { all } }
}

impl Group {
    /// An empty path is no rule (RFC 9309, 2.2.2); one that does not begin with `/` is meant from the root on.
    fn add_rule(&mut self, path: &[u8], is_allow: bool) {
        match path.first() {
            None => {}
            Some(b'/' | b'*') => self.rules.push((normalise_pattern(path), is_allow)),
            Some(_) => self.rules.push((normalise_pattern(&[b"/", path].concat()), is_allow)),
        }
    }

    fn add_delay(&mut self, delay: Option<Duration>) {
        self.delay = self.delay.max(delay);
    }
}

/// A line without its comment, split at the `:`, or where it is missing at the first blank.
fn parse_line(line: &[u8]) -> Option<Line<'_>> {
    let line = line.split(|&byte| byte == b'#').next()?.trim_ascii();
    let at_colon = memchr::memchr(b':', line).and_then(|colon| field(&line[..colon], &line[colon + 1..]));
    at_colon.or_else(|| {
        let blank = line.iter().position(u8::is_ascii_whitespace)?;
        field(&line[..blank], &line[blank..])
    })
}

/// What a field says, where it concerns us. Common misspellings are understood.
fn field<'a>(key: &[u8], value: &'a [u8]) -> Option<Line<'a>> {
    let (key, value) = (key.trim_ascii(), value.trim_ascii());
    if key.len() > 16 {
        return None;
    }
    Some(match key.to_ascii_lowercase().as_slice() {
        b"user-agent" | b"useragent" | b"user agent" => Line::UserAgent(value),
        b"allow" => Line::Allow(value),
        b"disallow" | b"dissallow" | b"dissalow" | b"disalow" | b"diasllow" | b"disallaw" => Line::Disallow(value),
        b"crawl-delay" | b"crawldelay" | b"crawl delay" => Line::CrawlDelay(value),
        b"request-rate" | b"requestrate" | b"request rate" => Line::RequestRate(value),
        b"sitemap" | b"site-map" | b"site map" => Line::Sitemap(value),
        _ => return None,
    })
}

/// The name of an agent without version and comment: `ourbot` of `ourbot/1.0 (x)`.
fn product_token(name: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    &name[..name.iter().take_while(|byte| is_part(byte)).count()]
}

/// `texting_robots` on a file of the lines that it is asked about.
fn read(lines: &[u8]) -> Option<Robot> {
    Robot::new("*", &[b"User-agent: *\n", lines].concat()).ok()
}

/// A delay in seconds; none for what is no number, is negative or NaN. More than any delay is the longest one.
fn read_delay(value: &[u8]) -> Option<Duration> {
    let seconds = read(&[b"Crawl-delay: ", value].concat())?.delay?;
    let delay = Duration::try_from_secs_f32(seconds).unwrap_or(CRAWL_DELAY_MAX).min(CRAWL_DELAY_MAX);
    // a f32 knows 4.2 as 4.19999981
    u64::try_from(delay.as_micros().div_ceil(1000)).ok().map(Duration::from_millis)
}

/// The delay that `pages/seconds` means; the seconds may be minutes (`m`) or hours (`h`), and times of day may follow.
fn read_rate(value: &[u8]) -> Option<Duration> {
    let rate = std::str::from_utf8(value).ok()?.split_ascii_whitespace().next()?;
    let (pages, time) = rate.split_once('/')?;
    let (digits, unit_seconds) = match time.bytes().last()?.to_ascii_lowercase() {
        b's' => (&time[..time.len() - 1], 1),
        b'm' => (&time[..time.len() - 1], 60),
        b'h' => (&time[..time.len() - 1], 3600),
        _ => (time, 1),
    };
    let pages: u32 = pages.parse().ok().filter(|&pages| pages > 0)?;
    let seconds = digits.parse::<u64>().ok()?.saturating_mul(unit_seconds);
    Some(Duration::from_secs(seconds).min(CRAWL_DELAY_MAX) / pages)
}

fn read_sitemaps(urls: &[&[u8]]) -> Vec<String> {
    let mut lines = Vec::new();
    for url in urls.iter().take(SITEMAPS_MAX).filter(|url| !url.is_empty()) {
        lines.extend_from_slice(b"Sitemap: ");
        lines.extend_from_slice(url);
        lines.push(b'\n');
    }
    if lines.is_empty() { Vec::new() } else { read(&lines).map(|robot| robot.sitemaps).unwrap_or_default() }
}

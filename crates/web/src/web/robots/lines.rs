//! The lines of a robots.txt: which of them form the group that our agent obeys.

use std::time::Duration;

use texting_robots::Robot;

use super::CRAWL_DELAY_MAX;
use super::pattern::normalise_pattern;

/// Sitemaps that are kept of a file.
pub const SITEMAPS_MAX: usize = 1000;

/// Rules and other lines of the groups of one agent, taken together.
#[derive(Debug, Default)]
pub struct Group<'a> {
    pub rules: Vec<Stated<'a>>,
    /// The longest delay, where it is stated first.
    pub delay: Option<Delay<'a>>,
    /// The sitemaps of the whole file.
    pub sitemaps: Vec<String>,
    /// The name in its first `User-agent` line.
    pub name: Option<&'a [u8]>,
    /// Number and name of its latest one.
    header: (u32, &'a [u8]),
    is_named: bool,
}

/// A rule and where it is stated.
#[derive(Debug)]
pub struct Stated<'a> {
    /// Normalised.
    pub pattern: Vec<u8>,
    pub is_allow: bool,
    /// The number of its line and the line.
    pub number: u32,
    pub text: &'a [u8],
    /// The number of the `User-agent` line of its group, and the name there.
    pub header: (u32, &'a [u8]),
}

/// A delay and where it is stated.
#[derive(Clone, Copy, Debug)]
pub struct Delay<'a> {
    pub delay: Duration,
    pub number: u32,
    pub text: &'a [u8],
}

/// Kinds of line, with their values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Directive<'a> {
    UserAgent(&'a [u8]),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    CrawlDelay(&'a [u8]),
    RequestRate(&'a [u8]),
    Sitemap(&'a [u8]),
    /// Usage preferences.
    Usage(&'a [u8]),
    /// The URL of a licence (RSL), for all agents wherever it is.
    License(&'a [u8]),
}

/// A line in its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Number of the line as editors count: from 1, `\r\n` ends one line.
    pub number: u32,
    /// The line as it is in the file.
    pub text: &'a [u8],
    pub line: Directive<'a>,
    /// True if the group in progress is one of our agent; `is_all`, if it is one of `*`.
    pub is_ours: bool,
    pub is_all: bool,
}

/// Calls `each` with the lines that say something, and says of each in whose groups it is.
///
/// A group is some `User-agent` lines and what follows up to the next one behind a rule. Other lines, blank ones
/// too, neither begin nor end a group; a delay concerns the agents named so far.
pub fn walk<'a>(agent_token: &str, bytes: &'a [u8], mut each: impl FnMut(Placed<'a>)) {
    let bytes = without_mark(bytes);
    let (mut is_ours, mut is_all, mut is_header) = (false, false, false);
    let (mut number, mut rest) = (1_u32, bytes);
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | b'\0'));
        let text = &rest[..end.unwrap_or(rest.len())];
        if let Some(line) = parse_line(text) {
            match line {
                Directive::UserAgent(name) => {
                    if !is_header {
                        (is_ours, is_all, is_header) = (false, false, true);
                    }
                    is_all |= name.starts_with(b"*");
                    is_ours |= names(name, agent_token);
                }
                Directive::Allow(_) | Directive::Disallow(_) => is_header = false,
                _ => {}
            }
            each(Placed { number, text, line, is_ours, is_all });
        }
        let Some(end) = end else { return };
        let is_half = rest[end] == b'\0' || rest[end..].starts_with(b"\r\n");
        number = number.saturating_add(u32::from(!is_half));
        rest = &rest[end + 1..];
    }
}

/// Returns a file without its byte order mark, also where only the mark's beginning is there: an editor or a proxy may
/// have taken the rest for damage. Google's parser (github.com/google/robotstxt) skips it so.
fn without_mark(bytes: &[u8]) -> &[u8] {
    let mark = b"\xef\xbb\xbf";
    let same = bytes.iter().zip(mark).take_while(|(byte, wanted)| byte == wanted).count();
    &bytes[same..]
}

/// Gathers the groups that name `agent_token`, or if none does, the groups for `*`.
pub(crate) fn group_of<'a>(agent_token: &str, bytes: &'a [u8]) -> Group<'a> {
    let (mut ours, mut all) = (Group::default(), Group::default());
    let mut sitemap_lines = Vec::new();
    walk(agent_token, bytes, |placed| {
        ours.is_named |= placed.is_ours;
        if let Directive::Sitemap(url) = placed.line {
            sitemap_lines.push(url);
        }
        let name: &[u8] = if let Directive::UserAgent(name) = placed.line { name } else { &[] };
        let (names_us, names_all) = (names(name, agent_token), name.starts_with(b"*"));
        for (group, concerned, named) in [(&mut ours, placed.is_ours, names_us), (&mut all, placed.is_all, names_all)] {
            if named {
                group.name.get_or_insert(name);
                group.header = (placed.number, name);
            } else if concerned {
                group.add(&placed);
            }
        }
    });
    let sitemaps = read_sitemaps(&sitemap_lines);
    Group { sitemaps, ..if ours.is_named { ours } else { all } }
}

impl<'a> Group<'a> {
    fn add(&mut self, placed: &Placed<'a>) {
        let Placed { number, text, line, .. } = *placed;
        if let Some((pattern, is_allow)) = rule_of(line) {
            self.rules.push(Stated { pattern, is_allow, number, text, header: self.header });
        } else if let Some(delay) = delay_of(line)
            && self.delay.is_none_or(|stated| stated.delay < delay)
        {
            self.delay = Some(Delay { delay, number, text });
        }
    }
}

/// The normalised pattern of a rule; true for `Allow`. An empty path is no rule (RFC 9309, 2.2.2); one that does not
/// begin with `/` is meant from the root on.
fn rule_of(line: Directive<'_>) -> Option<(Vec<u8>, bool)> {
    let (path, is_allow) = match line {
        Directive::Allow(path) => (path, true),
        Directive::Disallow(path) => (path, false),
        _ => return None,
    };
    let pattern = match path.first()? {
        b'/' | b'*' => normalise_pattern(path),
        _ => normalise_pattern(&[b"/", path].concat()),
    };
    Some((pattern, is_allow))
}

/// The delay that a line asks for.
fn delay_of(line: Directive<'_>) -> Option<Duration> {
    match line {
        Directive::CrawlDelay(value) => read_delay(value),
        Directive::RequestRate(value) => read_rate(value),
        _ => None,
    }
}

/// A line without its comment, split at the `:`, or where it is missing at the first blank.
fn parse_line(line: &[u8]) -> Option<Directive<'_>> {
    let line = line.split(|&byte| byte == b'#').next()?.trim_ascii();
    let at_colon = memchr::memchr(b':', line).and_then(|colon| field(&line[..colon], &line[colon + 1..]));
    at_colon.or_else(|| {
        let blank = line.iter().position(u8::is_ascii_whitespace)?;
        field(&line[..blank], &line[blank..])
    })
}

/// Returns what a field says, where it concerns us. Common misspellings are understood.
fn field<'a>(key: &[u8], value: &'a [u8]) -> Option<Directive<'a>> {
    let (key, value) = (key.trim_ascii(), value.trim_ascii());
    if key.len() > 16 {
        return None;
    }
    Some(match key.to_ascii_lowercase().as_slice() {
        b"user-agent" | b"useragent" | b"user agent" => Directive::UserAgent(value),
        b"allow" => Directive::Allow(value),
        b"disallow" | b"dissallow" | b"dissalow" | b"disalow" | b"diasllow" | b"disallaw" => Directive::Disallow(value),
        b"crawl-delay" | b"crawldelay" | b"crawl delay" => Directive::CrawlDelay(value),
        b"request-rate" | b"requestrate" | b"request rate" => Directive::RequestRate(value),
        b"sitemap" | b"site-map" | b"site map" => Directive::Sitemap(value),
        b"content-signal" | b"content-usage" => Directive::Usage(value),
        b"license" => Directive::License(value),
        _ => return None,
    })
}

/// True if the name in a `User-agent` line is our agent's.
fn names(name: &[u8], agent_token: &str) -> bool {
    product_token(name).eq_ignore_ascii_case(agent_token.as_bytes())
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

//! A `Set-Cookie` line as browsers read it: RFC 6265 (5.1.1, 5.2, 5.3), and the prefixes of names of its successor.
//!
//! The store below reads dates in a few forms only, and knows neither public suffixes nor prefixes. It is handed a line
//! that leaves none of these open: a time of expiry is an age, a domain is one that may be set.
//!
//! Cookies are bytes. As text they are kept with a character for each byte, so that they go back as they came.

use std::time::Duration;

use crate::clock::Time;
use crate::web::sitemap::month_of;
use crate::web::url::CanonicalUrl;

/// More than any cookie is kept for.
const AGE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

/// The text with a character for each of `bytes`.
pub(super) fn text_of(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// The bytes of a text that [`text_of`] made.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
}

/// The attributes of a line that count: of each the last one that means something.
#[derive(Default)]
struct Attributes<'a> {
    age: Option<Duration>,
    expires: Option<Time>,
    domain: Option<&'a str>,
    path: Option<&'a str>,
    secure: bool,
    http_only: bool,
}

/// Reads the line that an answer from `from` had at `now`; `None` for a cookie that browsers do not keep.
pub(super) fn read(line: &[u8], from: &CanonicalUrl, now: Time) -> Option<String> {
    let line = text_of(line);
    let (pair, rest) = line.split_once(';').unwrap_or((&line, ""));
    let attributes = Attributes::of(rest);
    let name = pair.split_once('=')?.0.trim();
    let domain = attributes.domain_at(from)?;
    if !attributes.keeps_promise_of(name, domain.is_some(), from) {
        return None;
    }
    let mut read = pair.to_owned();
    let age = attributes.age.or_else(|| attributes.expires.map(|expires| expires.since(now)));
    let age = age.map(|age| age.min(AGE_MAX).as_secs().to_string());
    for (attribute, value) in [("Max-Age", age.as_deref()), ("Domain", domain.as_deref()), ("Path", attributes.path)] {
        value.into_iter().for_each(|value| read.push_str(&format!("; {attribute}={value}")));
    }
    read.push_str(if attributes.secure { "; Secure" } else { "" });
    read.push_str(if attributes.http_only { "; HttpOnly" } else { "" });
    Some(read)
}

impl<'a> Attributes<'a> {
    fn of(rest: &'a str) -> Attributes<'a> {
        let mut found = Attributes::default();
        for part in rest.split(';') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            match name.to_ascii_lowercase().as_str() {
                "expires" => found.expires = date(value).or(found.expires),
                "max-age" => found.age = age(value).or(found.age),
                "domain" => found.domain = Some(value.strip_prefix('.').unwrap_or(value)),
                "path" => found.path = Some(value).filter(|path| path.starts_with('/')),
                "secure" => found.secure = true,
                "httponly" => found.http_only = true,
                _ => {}
            }
        }
        found
    }

    /// The domain that the cookie is for, none for the host alone; `None` outside where it may not be set. One for all
    /// names of a registry is nobody's, but for a host of that very name.
    fn domain_at(&self, from: &CanonicalUrl) -> Option<Option<String>> {
        let domain = self.domain.unwrap_or_default().to_ascii_lowercase();
        if domain.is_empty() || domain == from.host() {
            let is_own = domain.is_empty() || is_suffix(&domain) || from.literal_address().is_some();
            return Some(Some(domain).filter(|_| !is_own));
        }
        (!is_suffix(&domain)).then_some(Some(domain))
    }

    /// Returns whether a cookie is what its name says that it is. Case does not matter, or servers that do not look at
    /// it would be deceived.
    fn keeps_promise_of(&self, name: &str, has_domain: bool, from: &CanonicalUrl) -> bool {
        let begins = |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let is_safe = self.secure && from.is_https();
        let is_of_host = is_safe && !has_domain && self.domain.is_none_or(str::is_empty) && self.path == Some("/");
        (!begins("__Secure-") || is_safe) && (!begins("__Host-") || is_of_host)
    }
}

/// Returns whether registries, or others who give names away, have names below `domain`.
fn is_suffix(domain: &str) -> bool {
    psl::domain_str(domain.trim_end_matches('.')).is_none()
}

fn age(value: &str) -> Option<Duration> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // all digits and still no u64: more than any age
    let seconds = if digits.len() < value.len() { 0 } else { digits.parse().unwrap_or(u64::MAX) };
    Some(Duration::from_secs(seconds))
}

/// A date by its parts, in whatever order and form they are written (RFC 6265, 5.1.1); the zone is not looked at. One
/// before 1970 is its beginning.
fn date(text: &str) -> Option<Time> {
    let is_delimiter = |c: char| matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~');
    let (mut clock, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if clock.is_none()
            && let Some(found) = clock_of(token)
        {
            clock = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2, 4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1_900,
        year @ 0..=69 => year + 2_000,
        year => year,
    };
    let first = Time::of_date(year, month?, day?).filter(|_| year >= 1_601)?;
    clock.map(|clock| first + clock)
}

/// The time of a day: three numbers of one or two digits; what follows them does not count.
fn clock_of(token: &str) -> Option<Duration> {
    let mut parts = token.splitn(3, ':');
    let whole = |part: &str| number(part, 1, 2).filter(|_| part.len() <= 2);
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let seconds = number(parts.next()?, 1, 2)?;
    (hours < 24 && minutes < 60 && seconds < 60).then(|| Duration::from_secs(hours * 3_600 + minutes * 60 + seconds))
}

/// The number that a token begins with, if it has from `least` to `most` digits.
fn number(token: &str, least: usize, most: usize) -> Option<u64> {
    let digits = token.bytes().take_while(u8::is_ascii_digit).count();
    if (least..=most).contains(&digits) { token[..digits].parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_ms(1_000_000_000_000);

    fn at(url: &str, line: &str) -> Option<String> {
        read(line.as_bytes(), &CanonicalUrl::parse(url).unwrap(), NOW)
    }

    #[test]
    fn dates_are_read_in_every_form_that_servers_write() {
        let moment = Time::of_day(2031, 2, 3) + Duration::from_secs(4 * 3_600 + 5 * 60 + 6);
        for text in [
            "Mon, 03 Feb 2031 04:05:06 GMT",
            "Mon, 03 Feb 2031 04:05:06 UTC",
            "Mon, 3 Feb 2031 4:05:06 GMT",
            "Mon, 03 Feb 2031 04:05:06 +0000",
            "Mon Feb 03 2031 04:05:06 GMT+0000 (Coordinated Universal Time)",
            "\"Mon, 03 Feb 2031 04:05:06 GMT\"",
            "Monday, 03 February 2031 04:05:06 GMT",
            "Monday, 03-Feb-31 04:05:06 GMT",
            "03-feb-2031 04:05:06",
            "Mon Feb  3 04:05:06 2031",
            "2031 3 FEB 04:05:06.000Z",
        ] {
            assert_eq!(date(text), Some(moment), "{text}");
        }
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 UTC"), Some(Time::ZERO));
        assert_eq!(date("Mon, 01-Jan-1601 00:00:01 GMT"), Some(Time::ZERO + Duration::from_secs(1)));
        for text in [
            "",
            "0",
            "-1",
            "tomorrow",
            "2031-02-03",
            "30 Feb 2031 04:05:06",
            "3 Feb 2031",
            "3 Feb 1600 00:00:00",
            "3 Feb 2031 24:00:00",
            "3 Feb 2031 00:60:00",
            "32 Feb 2031 00:00:00",
            "3 Foo 2031 00:00:00",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn an_expiry_is_an_age_and_the_age_goes_before_it() {
        let line = |attributes: &str| at("https://a.example/", &format!("a=1; {attributes}"));
        assert_eq!(line("expires=Sun, 9 Sep 2001 01:46:50 UTC; path=/x").as_deref(), Some("a=1; Max-Age=10; Path=/x"));
        assert_eq!(line("Expires=Thu, 01 Jan 1970 00:00:00 UTC").as_deref(), Some("a=1; Max-Age=0"));
        assert_eq!(line("Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT").as_deref(), Some("a=1; Max-Age=5"));
        assert_eq!(line("Max-Age=-5").as_deref(), Some("a=1; Max-Age=0"));
        assert_eq!(line("Max-Age=5s; Expires=never; Path=x; SameSite=Lax").as_deref(), Some("a=1"));
        let forever = format!("a=1; Max-Age={}", AGE_MAX.as_secs());
        assert_eq!(line("Max-Age=99999999999999999999999").as_deref(), Some(&*forever));
        assert_eq!(line("MAX-AGE=1; SECURE; httponly").as_deref(), Some("a=1; Max-Age=1; Secure; HttpOnly"));
    }

    #[test]
    fn a_domain_that_is_a_public_suffix_is_nobodys() {
        let set = |host: &str, domain: &str| at(&format!("https://{host}/"), &format!("a=1; Domain={domain}"));
        for (host, domain) in [
            ("a.com", "com"),
            ("a.co.uk", "co.uk"),
            ("a.co.uk", ".CO.UK"),
            ("me.github.io", "github.io"),
            ("a.test", "test"),
        ] {
            assert_eq!(set(host, domain), None, "{host} {domain}");
        }
        for (host, domain) in [
            ("github.io", "github.io"),
            ("localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("a.com", ""),
            ("a.com", "."),
        ] {
            assert_eq!(set(host, domain).as_deref(), Some("a=1"), "{host} {domain}: for the host alone");
        }
        assert_eq!(set("b.a.com", ".A.com").as_deref(), Some("a=1; Domain=a.com"));
        assert_eq!(set("a.com", "a.com").as_deref(), Some("a=1; Domain=a.com"));
    }

    #[test]
    fn names_with_a_prefix_keep_what_they_promise() {
        let is_kept = |url: &str, line: &str| at(url, line).is_some();
        assert!(is_kept("https://a.com/", "__Secure-a=1; Secure; Domain=a.com"));
        assert!(!is_kept("https://a.com/", "__secure-a=1") && !is_kept("http://a.com/", "__Secure-a=1; Secure"));
        assert!(is_kept("https://a.com/", "__Host-a=1; Secure; Path=/"));
        for attributes in ["Secure", "Path=/", "Secure; Path=/; Domain=a.com", "Secure; Path=/x"] {
            assert!(!is_kept("https://a.com/", &format!("__HOST-a=1; {attributes}")), "{attributes}");
        }
        assert!(!is_kept("http://a.com/", "__Host-a=1; Secure; Path=/"));
    }

    #[test]
    fn bytes_come_back_as_they_are() {
        let bytes: Vec<u8> = (1..=255).collect();
        assert_eq!(bytes_of(&text_of(&bytes)), bytes);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let from = CanonicalUrl::parse("https://a.example/").unwrap();
        let line = b"a=b; expires=Thu, 01 Jan 1970 00:00:00 UTC; max-age=1; domain=.example; path=/";
        for seed in 0..5_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut line = line.to_vec();
            for _ in 0..random.usize(1..8) {
                let at = random.usize(..line.len());
                line[at] = random.u8(..);
            }
            read(&line, &from, NOW);
        }
    }
}

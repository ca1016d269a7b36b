//! Inputs that servers and users send: pages, robots.txt, sitemaps, header fields, codings, URLs, seeds, configuration.

use std::time::Duration;

use super::input::choice;
use crate::clock::Time;
use crate::config::Config;
use crate::fingerprint::Fingerprinter;
use crate::warc::{Truncation, format_date, parse_date, parse_http_head};
use crate::web::address::{AddressGuard, Cidr};
use crate::web::html::{LinkScan, RobotsDirectives, canonical_header, is_html, link_header, x_robots_tag};
use crate::web::pattern::pattern;
use crate::web::retry_after::{RETRY_AFTER_MAX, retry_after};
use crate::web::robots::{RobotsFile, RobotsRules};
use crate::web::seeds::parse_seeds;
use crate::web::sitemap::{self, Body, Claim, Item};
use crate::web::surt::surt;
use crate::web::tags::Tags;
use crate::web::url::CanonicalUrl;
use crate::web::url::KeyMaker;
use crate::web::validators::Validators;
use crate::web::{charset, coding, headers, mime};

/// Small, so that the bound is met.
pub(super) const LINKS_MAX: usize = 100;
pub(super) const URL_BYTES_MAX: usize = 2_000;
const DECODED_MAX: usize = 1 << 20;
const TOKEN: &str = "crawler";

const CONTENT_TYPES: [Option<&str>; 8] = [
    None,
    Some("text/html"),
    Some("text/html; charset=utf-8"),
    Some("text/html; charset=shift_jis"),
    Some("application/xhtml+xml"),
    Some("text/html; charset=utf-16le"),
    Some("text/html;charset=iso-2022-jp"),
    Some("text/html; charset=replacement"),
];

pub(super) fn keys() -> KeyMaker {
    let names = ["utm_*", "sid", "PHPSESSID"].map(str::to_owned);
    KeyMaker::new(Fingerprinter::random(1), &names)
}

pub(super) fn page_url() -> CanonicalUrl {
    CanonicalUrl::parse("https://www.example.org/dir/page?x=1").expect("it is a URL")
}

/// The link scan. Links are within their bounds and canonical, and the tags before a cut do not depend on what is
/// behind.
pub(super) fn html(bytes: &[u8]) -> bool {
    let (first, body) = choice(bytes);
    let content_type = CONTENT_TYPES[usize::from(first) % CONTENT_TYPES.len()];
    let mut scan = LinkScan::new(LINKS_MAX, first & 64 != 0, URL_BYTES_MAX).with_agent(TOKEN);
    let links = scan.html(body, content_type, &page_url(), &keys(), RobotsDirectives::default());
    assert!(links.entries.len() <= LINKS_MAX);
    for link in &links.entries {
        let url = link.url.as_str();
        assert!(url.len() <= URL_BYTES_MAX);
        assert_eq!(CanonicalUrl::parse(url).expect("a link is a URL").as_str(), url);
    }
    if let Some(canonical) = &links.canonical {
        CanonicalUrl::parse(canonical).expect("a canonical URL is one");
    }
    is_html(content_type, body);
    let whole = tags(body);
    let cut = tags(&body[..body.len() / 2]);
    assert!(whole.starts_with(&cut), "tags before a cut depend on what is behind it");
    !links.entries.is_empty()
}

type TagText<'a> = (bool, &'a [u8], Vec<(&'a [u8], &'a [u8])>);

/// The tags that the document ends.
fn tags(html: &[u8]) -> Vec<TagText<'_>> {
    let (mut tags, mut found) = (Tags::new(html), Vec::new());
    while let Some(tag) = tags.next_tag() {
        let mut attributes = Vec::new();
        if tags.attributes(|attribute| attributes.push((attribute.name, attribute.value))) {
            found.push((tag.is_start, tag.name, attributes));
        }
    }
    found
}

/// Finding out an encoding, and decoding. A header field comes before the first line feed.
pub(super) fn encodings(bytes: &[u8]) -> bool {
    let at = memchr::memchr(b'\n', bytes);
    let (field, body) = bytes.split_at(at.unwrap_or(0));
    let field = String::from_utf8_lossy(field);
    for content_type in [None, Some(&*field)] {
        for encoding in [charset::of_html(body, content_type), charset::of_xml(body, content_type)] {
            let text = charset::to_utf8(body, encoding);
            // no encoding makes more than one character of U+FFFD, or of three bytes in UTF-8, of a byte
            assert!(text.len() <= 3 * body.len() + 3, "{} bytes in {}", text.len(), encoding.name());
        }
    }
    at.is_some()
}

/// robots.txt: compiled, written and read again, and explained all say the same.
pub(super) fn robots(bytes: &[u8]) -> bool {
    let rules = RobotsRules::parse(TOKEN, bytes);
    let file = RobotsFile::parse(TOKEN, bytes);
    let mut encoded = Vec::new();
    rules.encode(&mut encoded);
    let decoded = RobotsRules::decode(&encoded).expect("rules that were encoded are rules");
    assert!(rules.agrees_with(&decoded), "{rules:?} is read back as {decoded:?}");
    let line = bytes.split(|&byte| byte == b'\n').next_back().unwrap_or_default();
    let path = String::from_utf8_lossy(line.splitn(2, |&byte| byte == b':').last().unwrap_or_default());
    for url in ["/", "/a/b?c=d", "https://www.example.org/%7Ea/x", path.trim()] {
        let allowed = rules.allows(url);
        assert_eq!(allowed, decoded.allows(url), "{url}");
        assert_eq!(allowed, file.decide(url).allowed, "{url}");
    }
    assert!(rules.allows("/robots.txt"));
    file.group().is_some()
}

/// Sitemaps: XML, feeds, text, gzip.
pub(super) fn sitemap(bytes: &[u8]) -> bool {
    let (first, bytes) = choice(bytes);
    let content_type = [None, Some("text/plain"), Some("application/xml; charset=koi8-r")][usize::from(first) % 3];
    let content_encoding = [None, Some("gzip")][usize::from(first >> 4) % 2];
    let body = Body { content_type, content_encoding, bytes };
    let claim = [Claim::Named, Claim::Possible, Claim::Unlikely][usize::from(first >> 5) % 3];
    let Some(format) = sitemap::format(body, claim) else { return false };
    let mut urls = 0;
    let document = CanonicalUrl::parse("http://www.example.org/a/feed").expect("it is a URL");
    let summary = sitemap::read(format, body, &document, &mut |item| {
        if let Item::Url(_, url) = item {
            assert!(url.len() <= CanonicalUrl::LENGTH_MAX);
            urls += 1;
        }
    });
    assert_eq!(summary.urls + summary.beside, urls);
    assert!(urls <= 2 * sitemap::URLS_MAX);
    urls > 0
}

/// Content codings, one or two of them: what comes out is never more than was asked for.
pub(super) fn codings(bytes: &[u8]) -> bool {
    const NAMES: [&str; 8] = ["gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "identity", "gzip, gzip"];
    let (first, body) = choice(bytes);
    let name = NAMES[usize::from(first) % NAMES.len()];
    let decoded = coding::decode(Some(name), body, DECODED_MAX);
    assert!(decoded.bytes.len() <= DECODED_MAX);
    let capped = coding::decode(Some(name), body, 100);
    assert!(capped.bytes.len() <= 100);
    if !name.contains(',') {
        let common = capped.bytes.len().min(decoded.bytes.len());
        assert_eq!(capped.bytes[..common], decoded.bytes[..common], "{name}");
    }
    decoded.is_whole()
}

/// Single header fields, and the head of a stored answer.
pub(super) fn http_fields(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let now = Time::from_ms(1_800_000_000_000);
    let wait = retry_after(&text, now);
    assert!(wait.is_none_or(|wait| wait <= RETRY_AFTER_MAX));
    retry_after(&text, Time::from_ms(u64::MAX));
    x_robots_tag(text.lines(), TOKEN);
    link_header(&text);
    canonical_header(&text);
    charset::of_content_type(&text);
    is_html(Some(&text), bytes);
    let fields = [(b"content-type", bytes), (b"content-type", bytes)].map(|(name, value)| (&name[..], value));
    mime::essence(mime::content_type(&fields).as_deref());
    headers::refresh(&[(&b"refresh"[..], bytes)]);
    headers::location(&[(&b"location"[..], bytes)]);
    Truncation::parse(&text);
    if let Some(time) = parse_date(&text) {
        assert_eq!(parse_date(&format_date(time)), Some(time), "{text}");
    }
    let Some((_, headers, body)) = parse_http_head(bytes) else { return wait.is_some() };
    assert!(body <= bytes.len());
    if let Some(validators) = Validators::of(&headers) {
        for (name, value) in validators.headers() {
            assert!(!value.is_empty() && !value.iter().any(|&byte| byte < b' ' || byte == 0x7f), "{name}");
        }
    }
    for (name, value) in &headers {
        let value = String::from_utf8_lossy(value);
        if name.eq_ignore_ascii_case(b"retry-after") {
            retry_after(&value, now);
        }
    }
    true
}

/// URLs: the canonical form and the key form are fixed points, and every part of them can be asked for.
pub(super) fn url(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let (base, reference) = text.split_once('\n').unwrap_or(("https://www.example.org/a/b?c", &text));
    let base = CanonicalUrl::parse(base).unwrap_or_else(|_| page_url());
    let found = [CanonicalUrl::parse(reference), base.join(reference)];
    let keys = keys();
    for url in found.iter().flatten() {
        let again = CanonicalUrl::parse(url.as_str()).expect("a canonical URL is a URL");
        assert_eq!(&again, url);
        assert_eq!(again.origin(), url.origin());
        assert!(url.as_str().len() <= CanonicalUrl::LENGTH_MAX && url.as_str().contains(url.authority()));
        let form = keys.key_text(url);
        // escapes that are added may make it longer than a URL can be
        if let Ok(of_form) = CanonicalUrl::parse(&form) {
            assert_eq!(of_form.as_str(), form, "the key form of {url:?} is canonical");
            assert_eq!(keys.key_text(&of_form), form, "the key form of {url:?} is its own");
            assert_eq!(keys.keys(&of_form).key, keys.keys(url).key);
        } else {
            assert!(form.len() > CanonicalUrl::LENGTH_MAX, "the key form {form} of {url:?} is a URL");
        }
        let surt = surt(url);
        assert!(!surt.contains([' ', '\n', '\r']), "{surt}");
        pattern(url.as_str());
        // the dot at the end of an absolute name is not part of the domain
        assert!(url.host().trim_end_matches('.').ends_with(url.registrable_domain().trim_end_matches('.')));
        assert!(url.path().starts_with('/'));
        if let Some(address) = url.literal_address() {
            AddressGuard::new(&[]).permits(address);
        }
        RobotsRules::allow_all().allows(url.as_str());
    }
    found.iter().any(Result::is_ok)
}

/// Seed files: every line is a seed, a problem, or nothing.
pub(super) fn seeds(bytes: &[u8]) -> bool {
    let (seeds, problems) = parse_seeds(bytes);
    let lines = bytes.split(|&byte| byte == b'\n').count();
    assert!(seeds.len() + problems.first.len() + problems.more <= lines);
    assert!(problems.first.iter().all(|problem| !problem.to_string().contains(['\x1b', '\n', '\r'])), "{problems:?}");
    !seeds.is_empty()
}

/// Configuration files: what was understood comes back from its copy the same.
pub(super) fn config(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().for_each(|line| {
        if let Ok(block) = line.parse::<Cidr>() {
            assert_eq!(block.to_string().parse::<Cidr>(), Ok(block));
        }
        let duration: Option<Duration> = crate::config::parse_duration(line);
        assert!(duration.is_none_or(|duration| duration.as_millis() < u128::MAX));
        crate::config::parse_bytes(line);
    });
    let Ok(config) = Config::parse(&text, "config.toml") else { return false };
    assert!(config.check().is_ok());
    let written = serde_json::to_vec(&config).expect("a configuration is plain data");
    let read = serde_json::from_slice::<Config>(&written).map_err(|error| error.to_string());
    assert_eq!(read, Ok(config), "its copy gives it back as it was");
    true
}

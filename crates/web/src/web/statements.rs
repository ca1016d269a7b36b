//! Statements about a page's use: the robots directives that were in effect for it, usage preferences, licences, and
//! a price.
//!
//! They are recorded with the page, as fields of its metadata record, each where there is something to say:
//!
//! ```text
//! robotsDirectives: noindex, max-snippet:0
//! usagePreferences: search=n, ai-train=n
//! licenses: https://example.com/license.xml, https://creativecommons.org/licenses/by/4.0/
//! price: crawler-price USD 0.01
//! ```
//! Directives are those of `X-Robots-Tag` and of `<meta name=robots>` that are meant for all robots or for ours, in
//! lower case, each once; `index`, `follow` and `all` say nothing and are left out. Preferences ([`Preferences`]) are
//! those of the answer and of the robots.txt of its origin together, as they were when the page was fetched. So are
//! licences: `License` lines of robots.txt (RSL), links with `rel=license` of the header and the page, and `tdm-policy`
//! of both (TDMRep). The price is what the answer asks for (`web::price`).

use super::charset;
use super::directives::{RobotsDirectives, WITH_VALUE, said_by_x_robots_tag};
use super::headers;
use super::preferences::Preferences;
use super::price::price_of;
use super::references::push_value;
use super::tags::Tags;
use super::url::CanonicalUrl;

/// Field of a metadata record with the directives.
pub(crate) const DIRECTIVES_FIELD: &str = "robotsDirectives";
/// Field of a metadata record with the preferences.
pub(crate) const PREFERENCES_FIELD: &str = "usagePreferences";
/// Field of a metadata record with the licences.
pub(crate) const LICENSES_FIELD: &str = "licenses";
/// Field of a metadata record with the price.
pub(crate) const PRICE_FIELD: &str = "price";

/// Directives that allow only what is allowed without them.
const DEFAULTS: [&str; 3] = ["index", "follow", "all"];
/// Bytes of all directives of a page.
const DIRECTIVES_BYTES_MAX: usize = 256;
/// Bytes of all licences of a page.
const LICENSES_BYTES_MAX: usize = 2_048;
/// Bytes of a directive without a value.
const NAME_BYTES_MAX: usize = 32;

/// Directives, preferences, licences and a price that are stated about the use of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// Separated by a comma and a blank.
    directives: String,
    preferences: Preferences,
    /// URLs, likewise: none has a blank.
    licenses: String,
    price: String,
}

impl Statements {
    /// Reads the header fields of an answer: what they state to the robot with this token, or to all where there is
    /// none.
    pub fn of_header<B: AsRef<[u8]>>(fields: &[(B, B)], agent_token: &str) -> Self {
        let mut stated = Statements { preferences: Preferences::of_header(fields), ..Statements::default() };
        for value in headers::named(fields, "x-robots-tag") {
            let value = String::from_utf8_lossy(value);
            for list in said_by_x_robots_tag(std::iter::once(&*value), agent_token) {
                stated.add_part(list);
            }
        }
        stated
    }

    /// Adds what the meta elements of an HTML page state; its licences are left out.
    pub fn add_page(&mut self, body: &[u8], content_type: Option<&str>, agent_token: &str) {
        let html = charset::to_utf8(body, charset::of_html(body, content_type));
        let mut tags = Tags::new(html.as_bytes());
        while let Some(tag) = tags.next_tag() {
            if !tag.is_start || !tag.name.eq_ignore_ascii_case(b"meta") {
                continue;
            }
            let (mut name, mut content) = (String::new(), String::new());
            tags.attributes(|attribute| {
                let text = match attribute.name {
                    found if found.eq_ignore_ascii_case(b"name") => &mut name,
                    found if found.eq_ignore_ascii_case(b"content") => &mut content,
                    _ => return,
                };
                if text.is_empty() {
                    push_value(attribute.value, text);
                }
            });
            match name.trim() {
                name if name.eq_ignore_ascii_case("robots") => self.add_meta(&content, true),
                name if name.eq_ignore_ascii_case("tdm-reservation") => self.add_reservation(&content),
                name if !agent_token.is_empty() && name.eq_ignore_ascii_case(agent_token) => {
                    self.add_meta(&content, false);
                }
                _ => {}
            }
        }
    }

    /// Adds the content of a meta element with directives, for all robots or for ours alone. What is asked of users of
    /// the content is asked of all.
    pub(in crate::web) fn add_meta(&mut self, content: &str, is_for_all: bool) {
        content.split(',').for_each(|part| self.add_part(part));
        if is_for_all {
            self.preferences.add_directives(content);
        }
    }

    /// Adds the content of a meta element `tdm-reservation`.
    pub(in crate::web) fn add_reservation(&mut self, content: &str) {
        self.preferences.add_reservation(content);
    }

    /// Adds directives that no comma separates: one with a value, or names.
    fn add_part(&mut self, part: &str) {
        let part = part.trim();
        if let Some((name, value)) = part.split_once(':') {
            if let Some(name) = WITH_VALUE.iter().find(|known| known.eq_ignore_ascii_case(name.trim())) {
                let value: Vec<&str> = value.split_whitespace().collect();
                self.add_directive(&format!("{name}:{}", value.join(" ")));
            }
            return;
        }
        let is_name = |name: &&str| {
            name.len() <= NAME_BYTES_MAX
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        part.split_ascii_whitespace().filter(is_name).for_each(|name| self.add_directive(name));
    }

    fn add_directive(&mut self, directive: &str) {
        let directive = directive.to_ascii_lowercase();
        let fits = self.directives.len() + 2 + directive.len() <= DIRECTIVES_BYTES_MAX;
        let says_nothing = DEFAULTS.contains(&&*directive) || directive.contains(char::is_control);
        if !fits || says_nothing || self.directives().any(|known| known == directive) {
            return;
        }
        if !self.directives.is_empty() {
            self.directives.push_str(", ");
        }
        self.directives.push_str(&directive);
    }

    /// Adds what is stated elsewhere. Of two prices the one that is there already counts.
    pub fn add(&mut self, other: &Statements) {
        other.directives().for_each(|directive| self.add_directive(directive));
        self.add_preferences(other.preferences);
        self.add_licenses(&other.licenses);
        if self.price.is_empty() {
            self.price.clone_from(&other.price);
        }
    }

    /// Adds a licence, unless there are too many.
    pub fn add_license(&mut self, url: &CanonicalUrl) {
        self.add_licenses(url.as_str());
    }

    /// Adds licences, separated by a comma and a blank.
    pub fn add_licenses(&mut self, list: &str) {
        let is_url = |url: &&str| !url.is_empty() && !url.contains(|c: char| c.is_control() || c == ' ');
        for url in list.split(", ").map(str::trim).filter(is_url) {
            if self.licenses.len() + 2 + url.len() > LICENSES_BYTES_MAX || self.licenses().any(|known| known == url) {
                continue;
            }
            if !self.licenses.is_empty() {
                self.licenses.push_str(", ");
            }
            self.licenses.push_str(url);
        }
    }

    /// Adds the price that an answer asks for, or says that it has charged.
    pub fn add_price<B: AsRef<[u8]>>(&mut self, status: u16, fields: &[(B, B)], body: &[u8]) {
        if let Some(price) = price_of(status, fields, body) {
            self.price = price;
        }
    }

    /// Adds preferences that are stated elsewhere.
    pub fn add_preferences(&mut self, other: Preferences) {
        self.preferences = self.preferences.with(other);
    }

    /// True if nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.directives.is_empty() && self.preferences.is_empty() && self.licenses.is_empty() && self.price.is_empty()
    }

    /// The URLs of the licences.
    pub fn licenses(&self) -> impl Iterator<Item = &str> {
        self.licenses.split(", ").filter(|url| !url.is_empty())
    }

    /// The price, empty where none is asked.
    pub fn price(&self) -> &str {
        &self.price
    }

    /// The directives.
    pub fn directives(&self) -> impl Iterator<Item = &str> {
        self.directives.split(", ").filter(|directive| !directive.is_empty())
    }

    /// True if a directive of this name is set, whatever its value; `none` is `noindex` and `nofollow`.
    pub fn has_directive(&self, name: &str) -> bool {
        let is_of_none = RobotsDirectives::of_list("none").has(name);
        self.directives().any(|directive| {
            let found = directive.split_once(':').map_or(directive, |(found, _)| found);
            found.eq_ignore_ascii_case(name) || directive.eq_ignore_ascii_case(name) || is_of_none && found == "none"
        })
    }

    /// The preferences.
    pub fn preferences(&self) -> Preferences {
        self.preferences
    }

    /// The fields of a metadata record, where there is something to say.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let said = |name, text: String| (!text.is_empty()).then_some((name, text));
        let directives = said(DIRECTIVES_FIELD, self.directives.clone());
        let preferences = said(PREFERENCES_FIELD, self.preferences.to_string());
        let licenses = said(LICENSES_FIELD, self.licenses.clone());
        let price = said(PRICE_FIELD, self.price.clone());
        directives.into_iter().chain(preferences).chain(licenses).chain(price)
    }

    /// Reads the block of a metadata record.
    pub fn parse(fields: &[u8]) -> Self {
        let fields = String::from_utf8_lossy(fields);
        let mut stated = Statements::default();
        for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
            match name {
                DIRECTIVES_FIELD => value.split(',').for_each(|part| stated.add_directive(part.trim())),
                PREFERENCES_FIELD => stated.preferences.add_list(value),
                LICENSES_FIELD => stated.add_licenses(value),
                PRICE_FIELD => value.trim().clone_into(&mut stated.price),
                _ => {}
            }
        }
        stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::headers::Header;

    fn header(values: &[&str]) -> Statements {
        let field = |value: &&str| (Box::from(&b"X-Robots-Tag"[..]), Box::from(value.as_bytes()));
        let fields: Vec<Header> = values.iter().map(field).collect();
        Statements::of_header(&fields, "ourbot")
    }

    fn page(html: &str) -> Statements {
        let mut stated = Statements::default();
        stated.add_page(html.as_bytes(), Some("text/html"), "ourbot");
        stated
    }

    #[test]
    fn directives_for_all_robots_and_for_ours_are_kept_once() {
        for (values, directives) in [
            (&["NoIndex, nofollow", "noindex"][..], "noindex, nofollow"),
            (&["otherbot: noindex, ourbot: noai"], "noai"),
            (&["index, follow", "all"], ""),
            (&["max-snippet: 50, unavailable_after: 25  Jun 2010 15:00:00 PST"], {
                "max-snippet:50, unavailable_after:25 jun 2010 15:00:00 pst"
            }),
            (&["no=1, 25-Jun-10, \u{1}x, n\u{f6}"], ""),
        ] {
            assert_eq!(header(values).directives, directives, "{values:?}");
        }
        assert_eq!(page("<meta name=Robots content='noindex noarchive'>").directives, "noindex, noarchive");
        assert_eq!(page("<meta name=ourbot content=noai><meta name=otherbot content=noindex>").directives, "noai");
        assert!(
            header(&[&"x,".repeat(1_000), &(0..500).map(|n| format!("d{n},")).collect::<String>()]).directives.len()
                <= 256
        );
    }

    #[test]
    fn preferences_are_asked_of_all_and_not_of_one_robot() {
        assert_eq!(page("<meta name=ourbot content=noai>").preferences.to_string(), "");
        assert_eq!(page("<META name=Robots content='NoAI,&#110;oindex'>").preferences.to_string(), {
            "search=n, ai-input=n, ai-train=n"
        });
        assert_eq!(page("<meta content=1 name=tdm-reservation>").preferences.to_string(), "tdm=n");
        assert!(page("<!-- <meta name=robots content=noai> --><p>noai").is_empty());
    }

    #[test]
    fn a_directive_is_found_by_its_name_with_or_without_its_value() {
        let stated = header(&["none, max-snippet:0"]);
        for name in ["none", "noindex", "nofollow", "NoIndex", "max-snippet", "max-snippet:0"] {
            assert!(stated.has_directive(name), "{name}");
        }
        for name in ["noarchive", "max-snippet:1", "max", ""] {
            assert!(!stated.has_directive(name), "{name}");
        }
    }

    #[test]
    fn fields_of_a_record_are_read_back() {
        let mut stated = header(&["noindex, unavailable_after: 25 Jun 2010 15:00:00 PST"]);
        stated.add(&page("<meta name=robots content=noai>"));
        stated.add_licenses("https://a.example/l,1.xml, https://b.example/");
        stated.add_price(402, &[("crawler-price", "USD 0.01")], b"");
        let text: String = stated.fields().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        assert_eq!(Statements::parse(format!("via: http://a/\r\n{text}depth: 1\r\n").as_bytes()), stated);
        assert_eq!(stated.fields().count(), 4);
        assert_eq!(stated.licenses().collect::<Vec<_>>(), ["https://a.example/l,1.xml", "https://b.example/"]);
        assert_eq!(Statements::default().fields().count(), 0);
        assert!(Statements::parse(b"via: robotsDirectives: noindex\r\n").is_empty());
    }

    #[test]
    fn licences_are_kept_once_and_within_their_bound() {
        let mut stated = Statements::default();
        stated.add_licenses("https://a.example/x, https://a.example/x, , https://a.example/y z");
        assert_eq!(stated.licenses, "https://a.example/x");
        (0..500).for_each(|number| stated.add_licenses(&format!("https://a.example/{number}")));
        assert!(stated.licenses.len() <= LICENSES_BYTES_MAX && stated.licenses().count() > 50);
    }
}

//! The judgement: a gate that lets content pass at once, and a close look at the rest.

use std::cell::OnceCell;
use std::sync::OnceLock;

use scraper::Html;

use super::hosts::{Hosts, Likeness, is_missing_url};
use super::page::{self, Page};
use super::phrases::is_word;
use super::rules::{Condition, ENOUGH, Expression, HeadCondition, KindRule, Rule, RuleError, Rules, Signal};
use super::{Answer, Judged, Kind};
use crate::web::headers;
use crate::web::mime;

/// Bytes of text beyond which a page of success is content, whatever its markup has, unless its head or its title say
/// otherwise.
const TEXT_OF_CONTENT: usize = 850;
/// Bytes of text likewise where most of it may be menus.
const TEXT_WITH_MENUS: usize = 2_400;
/// Bytes of what is no menu in such a page, and of an entry of a menu.
const TEXT_BESIDE_MENUS: usize = 700;
const ENTRY_BYTES: usize = 12;
/// Bytes of a message in an answer that is no page.
const BYTES_OF_MESSAGE: usize = 600;
/// Bytes of a page in which its title begins.
const TITLE_WITHIN: usize = 8 << 10;
/// Bytes of a page in which it says that it is not free.
const RESTRICTED_WITHIN: usize = 64 << 10;
/// The property by which pages say of themselves that not all of them is free (schema.org).
const RESTRICTED: &[u8] = b"\"isAccessibleForFree\"";

/// Rules that answers are judged by.
#[derive(Debug)]
pub struct Kinds {
    own: Vec<KindRule>,
    /// Read at the first answer: most commands never judge any.
    rules: OnceLock<Rules>,
    hosts: Hosts,
}

impl Kinds {
    /// The rules of the table, and `own` ones behind them.
    pub fn new(own: &[KindRule]) -> Result<Kinds, RuleError> {
        Rules::check(own)?;
        Ok(Kinds { own: own.to_vec(), rules: OnceLock::new(), hosts: Hosts::default() })
    }

    /// The kind of an answer; none for content, and for what is an error by its status and nothing else. What it shows
    /// of its host is remembered.
    pub fn judge<B: AsRef<[u8]>>(&self, answer: &Answer<'_, B>) -> Option<Judged> {
        let rules = self.rules.get_or_init(|| Rules::with_table(&self.own));
        let content_type = headers::first(answer.headers, "content-type");
        let essence = mime::essence(content_type.as_deref());
        let page = || Page::read(answer.body, content_type.as_deref());
        let is_page = is_page(&essence);
        let is_missing = is_page && is_missing_url(answer.url) && (200..300).contains(&answer.status);
        if is_missing || is_page && is_gone(answer.status) {
            self.hosts.learn_gone(answer.url, answer.body.len(), page);
        }
        if is_missing {
            return Some(missing());
        }
        let may_be_other = may_be_other(rules, answer, &essence, content_type.as_deref());
        let has_text = is_page && answer.status == 200;
        let asks_for_text = || has_text && self.hosts.asks_for_text(answer.url, answer.body.len());
        if !(may_be_other || asks_for_text()) {
            return None;
        }
        let page = page();
        let like = if has_text { self.hosts.compare(answer.url, &page) } else { Likeness::default() };
        if !may_be_other && !like.is_of_gone {
            return None;
        }
        let close = Close { like, ..Close::new(rules, answer, content_type.as_deref(), &page) };
        // of several rules the first one whose signals weigh most
        let mut best: Option<(&Rule, i32)> = None;
        let doubts = close.weight_of(&rules.doubts);
        for rule in rules.rules.iter().filter(|rule| rule.links_max.is_none_or(|most| page.links <= most)) {
            let weight = close.weight(rule, if rule.links_max.is_some() { doubts } else { 0 });
            let is_most = best.is_none_or(|(_, most)| weight > most);
            if weight >= ENOUGH && is_most && !close.is_of_one_word(rule) {
                best = Some((rule, weight));
            }
        }
        let (rule, _) = best?;
        let met = rule.signals.iter().filter(|signal| signal.weight > 0 && close.holds(signal));
        let evidence = met.map(|signal| close.described(signal)).collect();
        Some(Judged { kind: rule.kind, by: rule.name.clone(), evidence })
    }
}

/// The judgement on the answer to a URL that cannot exist.
fn missing() -> Judged {
    let evidence = vec!["a URL that cannot exist was asked for".to_owned()];
    Judged { kind: Kind::SoftNotFound, by: "URL that cannot exist".to_owned(), evidence }
}

/// True for a status that says itself that there is nothing.
fn is_gone(status: u16) -> bool {
    matches!(status, 404 | 410)
}

fn is_page(essence: &str) -> bool {
    matches!(essence, "" | "text/html" | "application/xhtml+xml")
}

/// False for what is content by its head, its title and the length of its text.
fn may_be_other<B: AsRef<[u8]>>(
    rules: &Rules,
    answer: &Answer<'_, B>,
    essence: &str,
    content_type: Option<&str>,
) -> bool {
    match answer.status {
        200..=299 => {}
        // whatever page they come with
        status if is_gone(status) => return rules.telling_heads.iter().any(|condition| head_holds(answer, condition)),
        status => return status >= 300,
    }
    if rules.telling_heads.iter().any(|condition| head_holds(answer, condition)) {
        return true;
    }
    match essence {
        _ if is_page(essence) => {}
        "text/plain" | "application/json" | "application/problem+json" => {
            return answer.body.len() <= BYTES_OF_MESSAGE;
        }
        _ => return false,
    }
    let start = &answer.body[..answer.body.len().min(RESTRICTED_WITHIN)];
    answer.text_bytes.is_none_or(|bytes| bytes <= TEXT_OF_CONTENT || is_mostly_menus(bytes, start))
        || raw_title(answer.body).is_some_and(|title| rules.telling_titles.is_any_in(&title))
        || memchr::memmem::find(start, RESTRICTED).is_some()
        || has_telling_element(rules, answer.body, content_type)
}

/// True for a page with an element that a selector of the operator's rules asks for.
fn has_telling_element(rules: &Rules, body: &[u8], content_type: Option<&str>) -> bool {
    if rules.telling_selectors.is_empty() {
        return false;
    }
    let tree = page::tree(body, content_type);
    rules.telling_selectors.iter().any(|css| css.is_in(&tree))
}

/// An answer with its page, looked at closely.
struct Close<'a, B> {
    rules: &'a Rules,
    answer: &'a Answer<'a, B>,
    content_type: Option<&'a str>,
    page: &'a Page,
    like: Likeness,
    titles: Vec<Option<&'a str>>,
    headings: Vec<Option<&'a str>>,
    texts: Vec<Option<&'a str>>,
    /// Looked for where they can make a difference.
    markups: OnceCell<Vec<Option<&'a str>>>,
    /// Parsed where a selector asks for it.
    tree: OnceCell<Html>,
}

impl<'a, B: AsRef<[u8]>> Close<'a, B> {
    fn new(rules: &'a Rules, answer: &'a Answer<'a, B>, content_type: Option<&'a str>, page: &'a Page) -> Self {
        Close {
            rules,
            answer,
            content_type,
            page,
            like: Likeness::default(),
            titles: rules.titles.lists_in(&page.title),
            headings: rules.headings.lists_in(&page.heading),
            texts: rules.texts.lists_in(&page.text),
            markups: OnceCell::new(),
            tree: OnceCell::new(),
        }
    }

    /// The weight of the signals that are met, with that of the doubts, as far as it can be enough.
    fn weight(&self, rule: &Rule, doubts: i32) -> i32 {
        let (mut met, mut possible, mut asks_markup) = (doubts, 0, false);
        for signal in rule.signals.iter().filter(|signal| self.holds_without_markup(signal)) {
            if signal.markup.is_none() {
                met += signal.weight;
            } else {
                possible += signal.weight.max(0);
                asks_markup = true;
            }
        }
        if !asks_markup || met + possible < ENOUGH {
            return met;
        }
        doubts + self.weight_of(&rule.signals)
    }

    fn weight_of(&self, signals: &[Signal]) -> i32 {
        signals.iter().filter(|signal| self.holds(signal)).map(|signal| signal.weight).sum()
    }

    fn holds(&self, signal: &Signal) -> bool {
        self.holds_without_markup(signal) && signal.markup.is_none_or(|list| self.in_markup(list).is_some())
    }

    /// True if nothing but one word of the text, and how little there is of it, speaks for a rule.
    fn is_of_one_word(&self, rule: &Rule) -> bool {
        let mut word: Option<&str> = None;
        for signal in rule.signals.iter().filter(|signal| signal.weight > 0 && self.holds(signal)) {
            if signal.markup.is_some() {
                return false;
            }
            for condition in &signal.conditions {
                let phrase = match condition {
                    Condition::Status(_) if self.answer.status < 300 => None,
                    Condition::Text(list) => self.texts[*list],
                    condition if condition.is_of_size() => None,
                    _ => return false,
                };
                let Some(phrase) = phrase else { continue };
                let is_another = word.is_some_and(|word| !word.contains(phrase) && !phrase.contains(word));
                if is_another || !is_word(phrase) {
                    return false;
                }
                word = Some(phrase);
            }
        }
        true
    }

    fn in_markup(&self, list: usize) -> Option<&'a str> {
        let found = || self.rules.markups.lists_in(&page::markup(self.answer.body, self.content_type));
        self.markups.get_or_init(found)[list]
    }

    /// A signal that is met, in a few words.
    fn described(&self, signal: &Signal) -> String {
        let mut parts: Vec<String> = Vec::with_capacity(signal.conditions.len() + 1);
        for condition in &signal.conditions {
            let phrase = match condition {
                Condition::Title(list) => self.titles[*list],
                Condition::Heading(list) => self.headings[*list],
                Condition::Line { title, heading } => self.titles[*title].or(self.headings[*heading]),
                Condition::Text(list) => self.texts[*list],
                _ => None,
            };
            parts.push(phrase.map_or(condition.to_string(), |phrase| format!("{condition} {phrase:?}")));
        }
        parts.extend(signal.markup.and_then(|list| self.in_markup(list)).map(|phrase| format!("markup {phrase:?}")));
        parts.join(", ")
    }

    fn holds_without_markup(&self, signal: &Signal) -> bool {
        signal.conditions.iter().all(|condition| match condition {
            Condition::Head(condition) => head_holds(self.answer, condition),
            Condition::Status(statuses) => statuses.contains(&self.answer.status),
            Condition::Url(expression) => expression.is_match(self.answer.url),
            Condition::Title(list) => self.titles[*list].is_some(),
            Condition::Heading(list) => self.headings[*list].is_some(),
            Condition::Line { title, heading } => self.titles[*title].or(self.headings[*heading]).is_some(),
            Condition::Text(list) => self.texts[*list].is_some(),
            Condition::TextLike(expression) => expression.is_match(&self.page.text),
            Condition::Selector(css) => {
                css.is_in(self.tree.get_or_init(|| page::tree(self.answer.body, self.content_type)))
            }
            Condition::TextMax(most) => self.page.text_bytes <= *most,
            Condition::ProseMax(most) => self.page.prose_bytes <= *most,
            Condition::ProseMin(least) => self.page.prose_bytes >= *least,
            Condition::LinksMax(most) => self.page.links <= *most,
            Condition::ScriptsMin(least) => self.page.scripts >= *least,
            Condition::Password(has) => self.page.has_password == *has,
            Condition::TextOfGone(is) => self.like.is_of_gone == *is,
            Condition::TextOfMany(is) => self.like.is_of_many == *is,
        })
    }
}

fn head_holds<B: AsRef<[u8]>>(answer: &Answer<'_, B>, condition: &HeadCondition) -> bool {
    let is_match = |value: &Expression, found: &[u8]| value.is_match(&String::from_utf8_lossy(found));
    match condition {
        HeadCondition::Field { name, value } => {
            headers::named(answer.headers, name).any(|found| value.as_ref().is_none_or(|value| is_match(value, found)))
        }
        HeadCondition::Cookie(start) => {
            headers::named(answer.headers, "set-cookie").any(|cookie| cookie.starts_with(start.as_bytes()))
        }
    }
}

/// True for a page with so many anchors that most of its text is theirs.
fn is_mostly_menus(text_bytes: usize, start: &[u8]) -> bool {
    let menus = || memchr::memmem::find_iter(start, b"<a ").count() * ENTRY_BYTES;
    text_bytes <= TEXT_WITH_MENUS && text_bytes <= TEXT_BESIDE_MENUS + menus()
}

/// Returns the text between the tags of the first title, as it is written, where it begins early.
fn raw_title(body: &[u8]) -> Option<String> {
    let start = &body[..body.len().min(TITLE_WITHIN)];
    let open = memchr::memmem::find(start, b"<title").or_else(|| memchr::memmem::find(start, b"<TITLE"))?;
    let rest = &start[open..];
    let text = &rest[memchr::memchr(b'>', rest)? + 1..];
    let end = memchr::memchr(b'<', text).unwrap_or(text.len());
    Some(String::from_utf8_lossy(text[..end].trim_ascii()).into_owned())
}

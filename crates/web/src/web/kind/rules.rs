//! The rules: signals with weights, as they are written and as they are judged by.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use scraper::{Html, Selector};
use serde::{Deserialize, Serialize};

use super::Kind;
use super::phrases::Phrases;
#[cfg(test)]
use super::phrases::is_word;

/// The rules that everybody has.
const TABLE: &str = include_str!("kinds.toml");
/// The mark before the name of a list of the table.
const LIST: char = '@';
/// Weight of the signals of a rule that is enough.
pub(super) const ENOUGH: i32 = 10;
/// Weight from which on a field of a head has an answer looked at closely, however much text it has.
const STRONG: i32 = 5;
/// Memory that a compiled expression may take.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

/// A rule, as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KindRule {
    /// The kind of what it recognises.
    pub kind: String,
    /// The name of the rule.
    pub name: String,
    /// Links of a page, at most, where it is not for the head alone.
    #[serde(default)]
    pub links_max: Option<usize>,
    /// Its signals.
    pub signals: Vec<SignalRule>,
}

/// A signal, as it is written: what it is met by, all of it, and its weight.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignalRule {
    /// Points: 10 in all are enough.
    pub weight: i32,
    /// Name of a field of the head.
    pub header: Option<String>,
    /// Regular expression for its value.
    pub is: Option<String>,
    /// Beginning of the name of a cookie that is set.
    pub cookie: Option<String>,
    /// Statuses.
    pub status: Vec<u16>,
    /// Regular expression for the URL.
    pub url: Option<String>,
    /// Phrases, of which one is in the title.
    pub title: Vec<String>,
    /// Phrases, of which one is in the first heading.
    pub heading: Vec<String>,
    /// Phrases, of which one is in the title or in the first heading.
    pub line: Vec<String>,
    /// Phrases, of which one is in the text.
    pub text: Vec<String>,
    /// Phrases, of which one is in the markup.
    pub markup: Vec<String>,
    /// Regular expression for the text.
    pub text_like: Option<String>,
    /// Selector of CSS, for an element of the page.
    pub selector: Option<String>,
    /// Bytes of text, at most.
    pub text_max: Option<usize>,
    /// Bytes of text outside of anchors, at most.
    pub prose_max: Option<usize>,
    /// Bytes of text outside of anchors, at least.
    pub prose_min: Option<usize>,
    /// Links, at most.
    pub links_max: Option<usize>,
    /// Scripts, at least.
    pub scripts_min: Option<usize>,
    /// A field for a password.
    pub password: Option<bool>,
    /// The text that the host has where a page is gone.
    pub text_of_gone: Option<bool>,
    /// The text that many pages of the host have.
    pub text_of_many: Option<bool>,
}

/// Reasons why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// No kind has this name.
    #[error("rule {rule}: there is no kind {kind:?}; kinds are {}", kinds())]
    Kind {
        /// The name of the rule.
        rule: String,
        /// The word that it has for its kind.
        kind: String,
    },
    /// A signal that is met by every answer.
    #[error("rule {0}: a signal without a condition")]
    Bare(String),
    /// Signals that are never enough.
    #[error("rule {rule}: the weights of all its signals are {weights}, and {ENOUGH} are enough")]
    Weak {
        /// The name of the rule.
        rule: String,
        /// The sum of their weights.
        weights: i32,
    },
    /// An expression that is none.
    #[error("rule {rule}: {error}")]
    Expression {
        /// The name of the rule.
        rule: String,
        /// The fault in it.
        error: regex::Error,
    },
    /// A selector that is none.
    #[error("rule {rule}: {selector:?} is no selector")]
    Selector {
        /// The name of the rule.
        rule: String,
        /// The text that it has for one.
        selector: String,
    },
}

fn kinds() -> String {
    Kind::ALL.iter().map(|kind| kind.text()).collect::<Vec<_>>().join(", ")
}

/// Rules that are ready to judge by.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// Signals that weigh against every rule that is not for the head alone.
    pub(super) doubts: Vec<Signal>,
    /// Fields of heads that have an answer looked at closely.
    pub(super) telling_heads: Vec<HeadCondition>,
    /// Titles that have a page looked at closely, whatever its text.
    pub(super) telling_titles: Phrases,
    /// Selectors that have a page looked at closely, whatever its text: for them every page is parsed.
    pub(super) telling_selectors: Vec<Css>,
    pub(super) titles: Phrases,
    pub(super) headings: Phrases,
    pub(super) texts: Phrases,
    pub(super) markups: Phrases,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: Kind,
    pub(super) name: String,
    /// None if the rule is for the head alone.
    pub(super) links_max: Option<usize>,
    pub(super) signals: Vec<Signal>,
}

/// A signal: all of its conditions have to be met.
#[derive(Debug)]
pub(super) struct Signal {
    pub(super) weight: i32,
    pub(super) conditions: Vec<Condition>,
    /// The list of phrases for the markup, by itself: to look there costs most.
    pub(super) markup: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Condition {
    Head(HeadCondition),
    Status(Vec<u16>),
    Url(Expression),
    /// The number of a list of phrases, as for the two that follow.
    Title(usize),
    Heading(usize),
    /// A list of titles and the same one of headings.
    Line {
        title: usize,
        heading: usize,
    },
    Text(usize),
    TextLike(Expression),
    Selector(Css),
    TextMax(usize),
    ProseMax(usize),
    ProseMin(usize),
    LinksMax(usize),
    ScriptsMin(usize),
    Password(bool),
    TextOfGone(bool),
    TextOfMany(bool),
}

/// A condition that a field of the head meets.
#[derive(Clone, Debug)]
pub(super) enum HeadCondition {
    Field {
        name: String,
        value: Option<Expression>,
    },
    /// The beginning of the name of a cookie.
    Cookie(String),
}

/// A regular expression, compiled when it is asked for first.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    text: String,
    regex: OnceLock<Regex>,
}

impl Expression {
    fn new(text: &str) -> Expression {
        Expression { text: text.to_owned(), regex: OnceLock::new() }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let compiled = || compiled(&self.text).expect("the expressions of rules were compiled before");
        self.regex.get_or_init(compiled).is_match(text)
    }
}

impl fmt::Display for Expression {
    /// Writes the expression, cut where it is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARS: usize = 60;
        let end = self.text.char_indices().nth(CHARS).map_or(self.text.len(), |(at, _)| at);
        f.write_str(&self.text[..end])
    }
}

/// A selector of CSS, parsed when it is asked for first.
#[derive(Clone, Debug)]
pub(super) struct Css {
    text: String,
    selector: OnceLock<Selector>,
}

impl Css {
    pub(super) fn is_in(&self, page: &Html) -> bool {
        let parsed = || Selector::parse(&self.text).expect("the selectors of rules were parsed before");
        page.select(self.selector.get_or_init(parsed)).next().is_some()
    }
}

fn compiled(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).case_insensitive(true).size_limit(EXPRESSION_BYTES_MAX).build()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Phrases that several signals have, by a name.
    lists: BTreeMap<String, Vec<String>>,
    /// Signals that weigh against every rule that is not for the head alone.
    doubts: Vec<SignalRule>,
    kind: Vec<KindRule>,
}

impl Table {
    /// Reads the table, with the phrases of its lists in place of their names.
    fn read() -> Table {
        let mut table: Table = toml::from_str(TABLE).expect("the table of rules is read in a test");
        let Table { lists, doubts, kind } = &mut table;
        for signal in doubts.iter_mut().chain(kind.iter_mut().flat_map(|rule| &mut rule.signals)) {
            let SignalRule { title, heading, line, text, markup, .. } = signal;
            for phrases in [title, heading, line, text, markup] {
                let listed = |phrase: String| match phrase.strip_prefix(LIST) {
                    Some(name) => lists[name].clone(),
                    None => vec![phrase],
                };
                *phrases = std::mem::take(phrases).into_iter().flat_map(listed).collect();
            }
        }
        table
    }
}

impl Rules {
    fn empty() -> Rules {
        Rules {
            rules: Vec::new(),
            doubts: Vec::new(),
            telling_heads: Vec::new(),
            telling_titles: Phrases::of_words(),
            telling_selectors: Vec::new(),
            titles: Phrases::of_words(),
            headings: Phrases::of_words(),
            texts: Phrases::of_words(),
            markups: Phrases::default(),
        }
    }

    /// The rules of the table, and `own` ones behind them, which were checked before.
    pub(super) fn with_table(own: &[KindRule]) -> Rules {
        let table = Table::read();
        let mut rules = Rules::empty();
        rules.doubts = table.doubts.iter().map(|signal| rules.signal(signal)).collect();
        for rule in table.kind.iter().chain(own) {
            rules.add(rule).expect("the rules of the table are added in a test, and one's own were before");
        }
        rules
    }

    /// Refuses rules that cannot be used.
    pub(super) fn check(own: &[KindRule]) -> Result<(), RuleError> {
        let mut rules = Rules::empty();
        own.iter().try_for_each(|rule| {
            let failed = |error| RuleError::Expression { rule: rule.name.clone(), error };
            for text in rule.signals.iter().filter_map(|signal| signal.selector.as_ref()) {
                let failed = |_| RuleError::Selector { rule: rule.name.clone(), selector: text.clone() };
                Selector::parse(text).map_err(failed)?;
            }
            let mut expressions = rule.signals.iter().flat_map(SignalRule::expressions);
            expressions.try_for_each(|text| compiled(text).map(drop)).map_err(failed)?;
            rules.add(rule)
        })
    }

    fn add(&mut self, rule: &KindRule) -> Result<(), RuleError> {
        let unknown = || RuleError::Kind { rule: rule.name.clone(), kind: rule.kind.clone() };
        let kind = Kind::of_text(&rule.kind).ok_or_else(unknown)?;
        let weights = rule.signals.iter().map(|signal| signal.weight.max(0)).fold(0, i32::saturating_add);
        if weights < ENOUGH {
            return Err(RuleError::Weak { rule: rule.name.clone(), weights });
        }
        if rule.signals.iter().any(SignalRule::has_empty_phrase) {
            return Err(RuleError::Bare(rule.name.clone()));
        }
        let signals: Vec<Signal> = rule.signals.iter().map(|signal| self.signal(signal)).collect();
        if signals.iter().any(|signal| signal.conditions.is_empty() && signal.markup.is_none()) {
            return Err(RuleError::Bare(rule.name.clone()));
        }
        self.rules.push(Rule { kind, name: rule.name.clone(), links_max: rule.links_max, signals });
        Ok(())
    }

    fn signal(&mut self, signal: &SignalRule) -> Signal {
        let mut heads = Vec::new();
        if let Some(name) = &signal.header {
            heads.push(HeadCondition::Field { name: name.clone(), value: signal.is.as_deref().map(Expression::new) });
        }
        heads.extend(signal.cookie.clone().map(HeadCondition::Cookie));
        let selector = signal.selector.clone().map(|text| Css { text, selector: OnceLock::new() });
        if signal.weight >= STRONG {
            self.telling_heads.extend_from_slice(&heads);
            self.telling_selectors.extend(selector.clone());
        }
        if signal.weight > 0 {
            self.telling_titles.take(&signal.title);
        }
        let mut conditions: Vec<Condition> = heads.into_iter().map(Condition::Head).collect();
        if !signal.status.is_empty() {
            conditions.push(Condition::Status(signal.status.clone()));
        }
        conditions.extend(signal.text_max.map(Condition::TextMax));
        conditions.extend(signal.prose_max.map(Condition::ProseMax));
        conditions.extend(signal.prose_min.map(Condition::ProseMin));
        conditions.extend(signal.links_max.map(Condition::LinksMax));
        conditions.extend(signal.scripts_min.map(Condition::ScriptsMin));
        conditions.extend(signal.password.map(Condition::Password));
        conditions.extend(signal.text_of_gone.map(Condition::TextOfGone));
        conditions.extend(signal.text_of_many.map(Condition::TextOfMany));
        conditions.extend(self.titles.take(&signal.title).map(Condition::Title));
        conditions.extend(self.headings.take(&signal.heading).map(Condition::Heading));
        if let Some((title, heading)) = self.titles.take(&signal.line).zip(self.headings.take(&signal.line)) {
            conditions.push(Condition::Line { title, heading });
        }
        conditions.extend(self.texts.take(&signal.text).map(Condition::Text));
        conditions.extend(signal.url.as_deref().map(Expression::new).map(Condition::Url));
        conditions.extend(signal.text_like.as_deref().map(Expression::new).map(Condition::TextLike));
        conditions.extend(selector.map(Condition::Selector));
        Signal { weight: signal.weight, conditions, markup: self.markups.take(&signal.markup) }
    }
}

impl SignalRule {
    /// True for a phrase that every page has.
    fn has_empty_phrase(&self) -> bool {
        let lists = [&self.title, &self.heading, &self.line, &self.text, &self.markup];
        lists.into_iter().flatten().any(String::is_empty)
    }

    fn expressions(&self) -> impl Iterator<Item = &String> {
        [&self.is, &self.url, &self.text_like].into_iter().flatten()
    }
}

impl Condition {
    /// True for one that most small pages meet.
    pub(super) fn is_of_size(&self) -> bool {
        use Condition::{LinksMax, Password, ProseMax, ProseMin, ScriptsMin, TextMax};
        matches!(self, TextMax(_) | ProseMax(_) | ProseMin(_) | LinksMax(_) | ScriptsMin(_) | Password(false))
    }
}

impl fmt::Display for Condition {
    /// Writes the condition in a few words, without the phrase that meets it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Head(HeadCondition::Field { name, value: None }) => write!(f, "header {name}"),
            Condition::Head(HeadCondition::Field { name, value: Some(value) }) => write!(f, "header {name}: {value}"),
            Condition::Head(HeadCondition::Cookie(start)) => write!(f, "cookie {start}"),
            Condition::Status(statuses) => {
                write!(f, "status {}", statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "))
            }
            Condition::Url(expression) => write!(f, "URL {expression}"),
            Condition::Title(_) => f.write_str("title"),
            Condition::Heading(_) => f.write_str("heading"),
            Condition::Line { .. } => f.write_str("title or heading"),
            Condition::Text(_) => f.write_str("text"),
            Condition::TextLike(expression) => write!(f, "text like {expression}"),
            Condition::Selector(css) => write!(f, "element {}", css.text),
            Condition::TextMax(most) => write!(f, "at most {most} bytes of text"),
            Condition::ProseMax(most) => write!(f, "at most {most} bytes of text outside of links"),
            Condition::ProseMin(least) => write!(f, "at least {least} bytes of text outside of links"),
            Condition::LinksMax(most) => write!(f, "at most {most} links"),
            Condition::ScriptsMin(least) => write!(f, "at least {least} scripts"),
            Condition::Password(true) => f.write_str("a field for a password"),
            Condition::Password(false) => f.write_str("no field for a password"),
            Condition::TextOfGone(true) => f.write_str("what its host says where a page is gone"),
            Condition::TextOfGone(false) => f.write_str("not what its host says where a page is gone"),
            Condition::TextOfMany(true) => f.write_str("what many pages of its host say"),
            Condition::TextOfMany(false) => f.write_str("not what many pages of its host say"),
        }
    }
}

/// The phrases of the table for texts that are a word.
#[cfg(test)]
pub(super) fn words_of_table() -> Vec<String> {
    let signals = Table::read().kind.into_iter().flat_map(|rule| rule.signals);
    let phrases = signals.flat_map(|signal| signal.text);
    phrases.map(|phrase| phrase.trim_matches(['^', '$']).to_owned()).filter(|phrase| is_word(phrase)).collect()
}

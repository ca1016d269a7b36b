//! Fields: what is taken of a page, as it is written in TOML or on the command line.
//!
//! ```toml
//! heading = "h1"                                       # the text of the first one
//! author  = { css = "a[rel~=author]", attr = "href" }  # an attribute
//! tags    = { css = ".tag", all = true }               # all of them, a list
//! lead    = { css = "p.lead", html = true }            # as HTML
//! next    = { css = "a[rel=next]", attr = "href", absolute = true }  # resolved against the page
//! price   = { css = ".price", regex = '([0-9.]+)' }    # the first group of a match, in the value
//! id      = { regex = 'data-id="(\w+)"' }              # in the whole source of the page
//! server  = { header = "server" }                      # a field of the answer's head
//! lang    = { fact = "language" }                      # what is known of the page, or stated by it for programs
//! price   = { json-ld = "offers.price", type = "number" }  # within its JSON-LD; a number, or a date
//! ```

use std::ops::Range;

use regex::Regex;
use scraper::Selector;
use toml::de::{DeTable, DeValue};

use super::typed::Holds;
use crate::reading::Fact;
use crate::web::expression::bounded_regex;

/// Keys of a field's table.
const KEYS: &str = "css, attr, html, absolute, header, fact, json-ld, regex, type and all";
/// Begin of a field on the command line that is a path into JSON-LD.
const JSON_LD: &str = "json-ld:";

/// One field: where its values are, and what is taken of them.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub source: Source,
    /// Part that is taken of a value: the first group of each match, or the match where there is no group.
    pub regex: Option<Regex>,
    /// All that match, as a list, not the first alone.
    pub all: bool,
    /// Type as which the value is read.
    pub holds: Holds,
}

/// The place of the values of a field.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Elements of the page.
    Elements(Selector, Form),
    /// Fields of this name in the head of the answer.
    Header(String),
    /// The source of the page, in its encoding.
    Page,
    /// A fact of the page, which has its own type.
    Fact(Fact),
    /// Values in the JSON-LD of the page at a path of names.
    JsonLd(Vec<String>),
}

/// The part that is taken of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Html,
    /// The attribute of this name, in lower case; elements without it do not count.
    Attr(String),
    /// The same, as a URL: resolved against the page's base. What is no URL does not count.
    Url(String),
}

impl Field {
    /// A fact, under its own name.
    pub(crate) fn fact(fact: Fact) -> Field {
        Field::of(fact.name(), Source::Fact(fact))
    }

    /// The first value of `source` as it is.
    pub(crate) fn of(name: &str, source: Source) -> Field {
        Field { name: name.to_owned(), source, regex: None, all: false, holds: Holds::Text }
    }

    /// As it is written on the command line: `name=SELECTOR`, `name=/EXPRESSION/` for the source of the page,
    /// `name=json-ld:PATH`, or `name={...}`, a table as in a file.
    pub(crate) fn parse(text: &str) -> Result<Field, String> {
        let (name, what) = text.split_once('=').unwrap_or_default();
        if name.is_empty() || what.is_empty() {
            return Err("write name=SELECTOR, such as heading=h1, or name=/EXPRESSION/".to_owned());
        }
        if what.starts_with('{') {
            return Field::of_table(name, what);
        }
        if let Some(at) = what.strip_prefix(JSON_LD) {
            return Ok(Field::of(name, Source::JsonLd(path(at)?)));
        }
        let Some(regex) = what.strip_prefix('/').and_then(|what| what.strip_suffix('/')) else {
            return Ok(Field::text(name, selector(what)?));
        };
        Ok(Field { regex: Some(expression(regex)?), ..Field::of(name, Source::Page) })
    }

    /// As `table`, an inline table of TOML, says it.
    fn of_table(name: &str, table: &str) -> Result<Field, String> {
        let text = format!("field = {table}");
        let read = DeTable::parse(&text).map_err(|e| format!("{table} is no table: {}", e.message()))?;
        let mut values = read.get_ref().iter().map(|(_, value)| of_value(name, value.get_ref(), &value.span()));
        match (values.next(), values.next()) {
            (Some(field), None) => field.map_err(|wrong| wrong.problem),
            _ => Err(format!("{table} is no table of one line")),
        }
    }

    /// The text of the first element that is selected.
    fn text(name: &str, selector: Selector) -> Field {
        Field::of(name, Source::Elements(selector, Form::Text))
    }
}

/// The keys of a field's table, as they were written.
#[derive(Default)]
struct Keys {
    css: Option<Selector>,
    attr: Option<String>,
    header: Option<String>,
    fact: Option<Fact>,
    json_ld: Option<Vec<String>>,
    regex: Option<Regex>,
    holds: Holds,
    html: bool,
    absolute: bool,
    all: bool,
}

impl Keys {
    /// The field that they say, or why they say none.
    fn field(self, name: &str) -> Result<Field, String> {
        if let Some(fact) = self.fact {
            let others = [self.css.is_some(), self.header.is_some(), self.regex.is_some(), self.attr.is_some()];
            let is_typed = self.holds != Holds::Text || self.json_ld.is_some();
            if others.contains(&true) || self.html || self.absolute || self.all || is_typed {
                return Err("fact goes with no other key".to_owned());
            }
            return Ok(Field { name: name.to_owned(), ..Field::fact(fact) });
        }
        if self.all && self.holds != Holds::Text {
            return Err("type is for a field of one value and cannot be used with all".to_owned());
        }
        let form = match (self.attr, self.html, self.absolute) {
            (Some(_), true, _) => return Err("attr and html exclude each other".to_owned()),
            (None, _, true) => return Err("absolute needs attr, the attribute that is a URL".to_owned()),
            (Some(attr), false, true) => Form::Url(attr),
            (Some(attr), false, false) => Form::Attr(attr),
            (None, true, false) => Form::Html,
            (None, false, false) => Form::Text,
        };
        let source = match (self.css, self.header) {
            (Some(_), _) | (_, Some(_)) if self.json_ld.is_some() => {
                return Err("json-ld, css and header exclude each other".to_owned());
            }
            (Some(_), Some(_)) => return Err("css and header exclude each other".to_owned()),
            (Some(css), None) => Source::Elements(css, form),
            (None, _) if form != Form::Text => return Err("css, the selector, is missing".to_owned()),
            (None, Some(header)) => Source::Header(header),
            (None, None) if self.json_ld.is_some() => Source::JsonLd(self.json_ld.unwrap_or_default()),
            (None, None) if self.regex.is_some() => Source::Page,
            (None, None) => return Err("css, the selector, is missing (or header, regex, fact, json-ld)".to_owned()),
        };
        Ok(Field { name: name.to_owned(), source, regex: self.regex, all: self.all, holds: self.holds })
    }
}

/// A fault of a field, and its place in the file.
pub(crate) struct Wrong {
    pub at: Range<usize>,
    pub problem: String,
}

/// The field with the value `value`, which is at `at`.
pub(crate) fn of_value(name: &str, value: &DeValue<'_>, at: &Range<usize>) -> Result<Field, Wrong> {
    let wrong = |at: &Range<usize>, problem: String| Wrong { at: at.clone(), problem };
    if let Some(css) = value.as_str() {
        return Ok(Field::text(name, selector(css).map_err(|problem| wrong(at, problem))?));
    }
    let Some(table) = value.as_table() else {
        let problem = "write a selector, \"h1\", or a table, { css = \"a\", attr = \"href\", all = true }";
        return Err(wrong(at, problem.to_owned()));
    };
    let mut keys = Keys::default();
    for (key, value) in table {
        let (at, value, key) = (value.span(), value.get_ref(), key.get_ref().as_ref());
        let text = || value.as_str().ok_or_else(|| wrong(&at, format!("{key} must be a string")));
        let flag = || value.as_bool().ok_or_else(|| wrong(&at, format!("{key} must be true or false")));
        match key {
            "css" => keys.css = Some(selector(text()?).map_err(|problem| wrong(&at, problem))?),
            "attr" => keys.attr = Some(text()?.to_ascii_lowercase()),
            "header" => keys.header = Some(text()?.to_ascii_lowercase()),
            "fact" => keys.fact = Some(fact(text()?).map_err(|problem| wrong(&at, problem))?),
            "regex" => keys.regex = Some(expression(text()?).map_err(|problem| wrong(&at, problem))?),
            "json-ld" => keys.json_ld = Some(path(text()?).map_err(|problem| wrong(&at, problem))?),
            "type" => {
                let holds = Holds::parse(text()?);
                keys.holds = holds.ok_or_else(|| wrong(&at, "type must be text, number or date".to_owned()))?;
            }
            "html" => keys.html = flag()?,
            "absolute" => keys.absolute = flag()?,
            "all" => keys.all = flag()?,
            _ => return Err(wrong(&at, format!("{key} is not known; known keys: {KEYS}"))),
        }
    }
    keys.field(name).map_err(|problem| wrong(at, problem))
}

/// The names of a path such as `offers.price`.
fn path(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split('.').map(str::to_owned).collect();
    match names.iter().all(|name| !name.is_empty()) {
        true => Ok(names),
        false => Err(format!("{text:?} is no path into JSON-LD: write names with dots between them, offers.price")),
    }
}

/// The fact of this name.
pub(crate) fn fact(name: &str) -> Result<Fact, String> {
    let names = || Fact::ALL.map(Fact::name).join(", ");
    Fact::parse(name).ok_or_else(|| format!("{name:?} is no fact of a page; known: {}", names()))
}

fn expression(text: &str) -> Result<Regex, String> {
    bounded_regex(text).map_err(|e| format!("{text:?} is not a regular expression: {e}"))
}

/// The selector written as `css`.
pub(crate) fn selector(css: &str) -> Result<Selector, String> {
    Selector::parse(css).map_err(|e| {
        let why = e.to_string();
        // for some, the parser has no word but that its developer should hear of it
        let why = if why.starts_with("Unexpected") { String::new() } else { format!(": {why}") };
        format!("{css:?} is not a CSS selector{why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_the_command_line_is_a_selector_or_an_expression() {
        let field = Field::parse("price=.price > b[x='y=z']").unwrap();
        assert!(matches!(field.source, Source::Elements(_, Form::Text)) && field.name == "price");
        let field = Field::parse("id=/id=([0-9]+)/").unwrap();
        assert!(matches!(field.source, Source::Page) && field.regex.unwrap().as_str() == "id=([0-9]+)");
        let field = Field::parse("s={header=\"X-Robots\"}").unwrap();
        assert!(matches!(field.source, Source::Header(header) if header == "x-robots") && field.name == "s");
        let field = Field::parse("all={ css = 'a', attr = 'href', all = true }").unwrap();
        assert!(matches!(field.source, Source::Elements(_, Form::Attr(_))) && field.all);
        let field = Field::parse("price=json-ld:offers.price").unwrap();
        assert!(matches!(field.source, Source::JsonLd(path) if path == ["offers", "price"]));
        let field = Field::parse("price={ json-ld = 'offers.price', type = 'number' }").unwrap();
        assert_eq!(field.holds, Holds::Number);
        for wrong in [
            "a=json-ld:",
            "a=json-ld:b..c",
            "",
            "h1",
            "=h1",
            "a=",
            "a=p >",
            "a=/(/",
            "a={",
            "a={}",
            "a={x=1}",
            "a={css='p'}\nb='p'",
            "a=x{",
            "a=}",
        ] {
            let refused = Field::parse(wrong).map(drop).unwrap_err();
            assert!(!refused.contains("report"), "{wrong}: {refused}");
        }
    }
}

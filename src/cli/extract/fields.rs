//! The file of `--fields`: which fields are taken of a page, and how.
//!
//! ```toml
//! heading = "h1"                                       # the text of the first one
//! author  = { css = "a[rel~=author]", attr = "href" }  # an attribute
//! tags    = { css = ".tag", all = true }               # all of them, a list
//! lead    = { css = "p.lead", html = true }            # as HTML
//! ```

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use scraper::Selector;
use toml::de::{DeTable, DeValue};

use crate::cli::exit::UsageError;

/// Longest file of fields.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Keys of a field's table.
const KEYS: &str = "css, attr, html and all";

/// One field: elements of a page, and what is taken of them.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub name: String,
    pub selector: Selector,
    pub form: Form,
    /// All that match, as a list, not the first alone.
    pub all: bool,
}

/// What is taken of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Html,
    /// The attribute of this name, in lower case; elements without it do not count.
    Attr(String),
}

/// What is wrong with a field, and where in the file.
struct Wrong {
    at: Range<usize>,
    problem: String,
}

/// The fields of the file at `path`, in its order. None of them may have one of the names in `taken`.
pub(super) fn read(path: &Path, taken: &[&str]) -> anyhow::Result<Vec<Field>> {
    let name = path.display().to_string();
    let refuse = |e| UsageError::because(format!("cannot read the fields in {name}: {e}"));
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)).map_err(refuse)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(UsageError::because(format!("{name} is longer than 1 MiB: this is not a file of fields")));
    }
    parse(&text, &name, taken)
}

fn parse(text: &str, name: &str, taken: &[&str]) -> anyhow::Result<Vec<Field>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let refuse = |at: usize, problem: &str| {
        let line = 1 + text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count();
        UsageError::because(format!("{name}:{line}: {problem}"))
    };
    let table = DeTable::parse(text).map_err(|e| refuse(e.span().map_or(0, |span| span.start), e.message()))?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut fields = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let field: &str = key.get_ref();
        if taken.contains(&field) {
            let problem = format!("field {field:?}: a column has this name already; choose another");
            return Err(refuse(key.span().start, &problem));
        }
        let read = one(field, value.get_ref(), &value.span());
        fields.push(read.map_err(|wrong| refuse(wrong.at.start, &format!("field {field:?}: {}", wrong.problem)))?);
    }
    if fields.is_empty() {
        return Err(UsageError::because(format!("{name} has no field: write lines such as heading = \"h1\"")));
    }
    Ok(fields)
}

fn one(name: &str, value: &DeValue<'_>, at: &Range<usize>) -> Result<Field, Wrong> {
    let wrong = |at: &Range<usize>, problem: String| Wrong { at: at.clone(), problem };
    if let Some(css) = value.as_str() {
        let selector = selector(css).map_err(|problem| wrong(at, problem))?;
        return Ok(Field { name: name.to_owned(), selector, form: Form::Text, all: false });
    }
    let Some(table) = value.as_table() else {
        let problem = "write a selector, \"h1\", or a table, { css = \"a\", attr = \"href\", all = true }";
        return Err(wrong(at, problem.to_owned()));
    };
    let (mut css, mut form, mut all) = (None, Form::Text, false);
    for (key, value) in table {
        let (at, value, key) = (value.span(), value.get_ref(), key.get_ref().as_ref());
        let text = || value.as_str().ok_or_else(|| wrong(&at, format!("{key} must be a string")));
        let flag = || value.as_bool().ok_or_else(|| wrong(&at, format!("{key} must be true or false")));
        match key {
            "css" => css = Some(selector(text()?).map_err(|problem| wrong(&at, problem))?),
            "attr" if form == Form::Text => form = Form::Attr(text()?.to_ascii_lowercase()),
            "html" if form == Form::Text => form = if flag()? { Form::Html } else { Form::Text },
            "attr" | "html" => return Err(wrong(&at, "attr and html exclude each other".to_owned())),
            "all" => all = flag()?,
            _ => return Err(wrong(&at, format!("{key} is not known; known keys: {KEYS}"))),
        }
    }
    let selector = css.ok_or_else(|| wrong(at, "css, the selector, is missing".to_owned()))?;
    Ok(Field { name: name.to_owned(), selector, form, all })
}

/// The selector written as `css`.
pub(super) fn selector(css: &str) -> Result<Selector, String> {
    Selector::parse(css).map_err(|e| format!("{css:?} is not a CSS selector: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_the_order_of_the_file_with_their_forms() {
        let text = "\u{feff}z = 'h1'\n[a]\ncss = 'a'\nattr = 'HREF'\nall = true\n[m]\ncss = 'p'\nhtml = true\n";
        let fields = parse(text, "f.toml", &[]).unwrap();
        let forms: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.form.clone(), field.all)).collect();
        let href = Form::Attr("href".to_owned());
        assert_eq!(forms, [("z", Form::Text, false), ("a", href, true), ("m", Form::Html, false)]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_its_field() {
        for (text, line, words) in [
            ("a = 'h1'\nb = 'a[['", 2, ["field \"b\"", "a[["]),
            ("a = 'h1'\n\nb = { css = 'p >' }", 3, ["field \"b\"", "p >"]),
            ("a = 5", 1, ["field \"a\"", "selector"]),
            ("a = {}", 1, ["field \"a\"", "css, the selector, is missing"]),
            ("a = { css = 'p', atr = 'x' }", 1, ["atr", "attr"]),
            ("a = { css = 'p', attr = 'x', html = true }", 1, ["attr", "exclude"]),
            ("a = { css = 'p', all = 'yes' }", 1, ["all", "true or false"]),
            ("[a]\ncss = 1", 2, ["css", "string"]),
            ("url = 'p'", 1, ["\"url\"", "column"]),
            ("a = 'p'\na = 'p'", 2, ["duplicate", "key"]),
            ("a = ", 1, ["", ""]),
        ] {
            let error = parse(text, "f.toml", &["url"]).unwrap_err();
            assert!(error.is::<UsageError>());
            let error = error.to_string();
            assert!(error.starts_with(&format!("f.toml:{line}: ")), "{text}: {error}");
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
        assert!(parse("# nothing", "f.toml", &[]).unwrap_err().to_string().contains("has no field"));
    }
}

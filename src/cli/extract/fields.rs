//! The file of `--fields`: which fields are taken of a page, and how.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::de::DeTable;

use crate::cli::exit::UsageError;
use crate::fields::{Field, of_value};

/// Longest file of fields.
const FILE_BYTES_MAX: u64 = 1 << 20;

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
        let read = of_value(field, value.get_ref(), &value.span());
        fields.push(read.map_err(|wrong| refuse(wrong.at.start, &format!("field {field:?}: {}", wrong.problem)))?);
    }
    if fields.is_empty() {
        return Err(UsageError::because(format!("{name} has no field: write lines such as heading = \"h1\"")));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{Form, Source};

    #[test]
    fn fields_come_in_the_order_of_the_file_with_their_forms() {
        let text = "\u{feff}z = 'h1'\n[a]\ncss = 'a'\nattr = 'HREF'\nall = true\n[m]\ncss = 'p'\nhtml = true\n";
        let fields = parse(text, "f.toml", &[]).unwrap();
        let form = |field: &Field| match &field.source {
            Source::Elements(_, form) => form.clone(),
            other => panic!("{other:?}"),
        };
        let forms: Vec<_> = fields.iter().map(|field| (field.name.as_str(), form(field), field.all)).collect();
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
            ("a = { header = 'x', css = 'p' }", 1, ["css", "exclude"]),
            ("a = { header = 'x', attr = 'y' }", 1, ["css", "missing"]),
            ("a = { css = 'p', absolute = true }", 1, ["absolute", "attr"]),
            ("a = { fact = 'colour' }", 1, ["colour", "language"]),
            ("a = { fact = 'words', all = true }", 1, ["fact", "no other key"]),
            ("a = { css = 'p', type = 'price' }", 1, ["type", "number"]),
            ("a = { css = 'p', type = 'date', all = true }", 1, ["type", "all"]),
            ("a = { css = 'p', json-ld = 'x' }", 1, ["json-ld", "exclude"]),
            ("a = { json-ld = '' }", 1, ["path", "offers.price"]),
            ("a = 'p'\nb = { regex = '(' }", 2, ["field \"b\"", "regular expression"]),
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

//! Words: what the glossary says instead of, nobody says; and names have no private words.
//!
//! Prose is Markdown, the configuration, and comments and messages of Rust files: whole words, in any case. Code is
//! not: neither what stands between backticks or in a block of code, nor names in Rust, nor a literal without a blank,
//! which is a key or a name.
//!
//! Names are those of types, modules and functions in Rust: `SeatPlan`, `mod seat` and `fn seat_of` all have the word
//! "seat". Names of tests are sentences, and may have any word.

use crate::source::{self, Kind, Source};

const HEAD: &str = "| term | meaning | where | say it instead of |";

/// A term of the glossary, and what it is said instead of.
pub struct Term {
    pub term: String,
    pub instead_of: Vec<String>,
}

/// The terms of a glossary: the rows of its tables that begin with [`HEAD`].
pub fn terms(glossary: &str) -> Result<Vec<Term>, String> {
    let mut lines = glossary.lines().zip(1..);
    let mut terms = Vec::new();
    while lines.by_ref().any(|(line, _)| line == HEAD) {
        let rows = lines.by_ref().skip(1).take_while(|(line, _)| line.starts_with('|'));
        for (row, number) in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [term, _, _, words] = cells[..] else {
                return Err(format!("line {number} has {} cells and not four", cells.len()));
            };
            let words = words.split(',').map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty());
            terms.push(Term { term: term.to_owned(), instead_of: words.collect() });
        }
    }
    if terms.is_empty() { Err(format!("no table begins with {HEAD}")) } else { Ok(terms) }
}

/// Every use of a word that a term is said instead of.
pub fn replaced(sources: &[Source], terms: &[Term]) -> Vec<String> {
    sources.iter().flat_map(|source| replaced_in(source, terms)).collect()
}

fn replaced_in(source: &Source, terms: &[Term]) -> Vec<String> {
    let prose = prose(source).to_lowercase();
    let mut problems = Vec::new();
    for Term { term, instead_of } in terms {
        for word in instead_of {
            for at in whole(&prose, word) {
                let line = source::line_of(&prose, at);
                problems.push((line, format!("{}:{line}: say {term} instead of {word}", source.path)));
            }
        }
    }
    problems.sort();
    problems.into_iter().map(|(_, problem)| problem).collect()
}

/// Returns where `word` is in the text with no letter next to it.
fn whole<'a>(prose: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = prose.match_indices(word).map(|(at, _)| at);
    found.filter(move |&at| !prose[..at].ends_with(is_part) && !prose[at + word.len()..].starts_with(is_part))
}

/// The text that people read, with blanks for all else; lines keep their numbers.
fn prose(source: &Source) -> String {
    if !source.is_rust() {
        return without_code(&source.text);
    }
    let mut prose = String::new();
    for (kind, piece) in source::pieces(&source.text) {
        let is_read = kind == Kind::Comment || kind == Kind::Literal && piece.contains(' ');
        match is_read {
            true => prose.push_str(&without_code(piece)),
            false => prose.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
    }
    prose
}

/// `text` without what stands between backticks, in a line or in lines.
fn without_code(text: &str) -> String {
    let mut is_fenced = false;
    let mut prose = String::new();
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start_matches(['/', '!', ' ']).starts_with("```");
        is_fenced ^= is_fence;
        if is_fenced || is_fence {
            prose.push('\n');
            continue;
        }
        for (number, part) in line.split('`').enumerate() {
            prose.push_str(if number % 2 == 0 { part } else { " " });
        }
        if !prose.ends_with('\n') && line.ends_with('\n') {
            prose.push('\n');
        }
    }
    prose
}

/// A name that keeps a word which others have lost.
pub struct Kept {
    pub name: &'static str,
    pub reason: &'static str,
}

/// Names of types, modules and functions with a word of `gone`, and those of types and modules with one of
/// `gone_from_types`; and every exception in `kept` that no name needs.
pub fn private(sources: &[Source], gone: &[&str], gone_from_types: &[&str], kept: &[Kept]) -> Vec<String> {
    let mut unneeded: Vec<&Kept> = kept.iter().collect();
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let code = source::code(&source.text);
        for Item { is_function, name, at } in items(&code) {
            let parts = parts(name);
            let has = |words: &[&str]| parts.iter().find(|part| words.contains(&part.as_str())).cloned();
            let Some(word) = has(gone).or_else(|| has(gone_from_types).filter(|_| !is_function)) else { continue };
            match kept.iter().any(|kept| kept.name == name) {
                true => unneeded.retain(|kept| kept.name != name),
                false => {
                    let line = source::line_of(&code, at);
                    problems.push(format!("{}:{line}: {name} has the private word {word}", source.path));
                }
            }
        }
    }
    problems.extend(unneeded.iter().map(|kept| format!("no name is {}: {}", kept.name, kept.reason)));
    problems
}

/// A type, a module or a function that is no test.
struct Item<'a> {
    is_function: bool,
    name: &'a str,
    at: usize,
}

/// The items of a file, of which `code` is the code.
fn items(code: &str) -> impl Iterator<Item = Item<'_>> {
    ["struct", "enum", "union", "trait", "type", "mod", "fn"].into_iter().flat_map(move |keyword| {
        whole(code, keyword).filter_map(move |at| {
            let rest = code[at + keyword.len()..].strip_prefix(' ')?;
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_function = keyword == "fn";
            let is_item = end > 0 && !(is_function && is_test(&code[..at]));
            is_item.then_some(Item { is_function, name: &rest[..end], at })
        })
    })
}

/// Returns whether the function behind `before` has an attribute that makes it a test.
fn is_test(before: &str) -> bool {
    let start = before.rfind(['{', '}', ';']).map_or(0, |end| end + 1);
    before[start..].match_indices("#[").any(|(at, _)| {
        let attribute = before[start + at..].split(']').next().unwrap_or_default();
        attribute.split(['(', ' ']).next().is_some_and(|name| name.ends_with("test"))
    })
}

/// The words of a name, in small letters.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in name.split('_') {
        let mut before = ' ';
        for c in piece.chars() {
            if parts.is_empty() || before == ' ' || c.is_uppercase() && !before.is_uppercase() {
                parts.push(String::new());
            }
            parts.iter_mut().next_back().unwrap().extend(c.to_lowercase());
            before = c;
        }
    }
    parts
}

//! Words: what the glossary says instead of, nobody says.
//!
//! Read are Markdown, the configuration, and comments and messages of Rust files: whole words, in any case. Code is
//! not: neither what stands between backticks or in a block of code, nor names in Rust, nor a literal without a blank,
//! which is a key or a name.

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

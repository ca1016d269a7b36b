//! Signatures: a tuple among the parameters has no names for its parts.

use crate::source::{self, Source};

/// Functions outside of tests that take a tuple.
pub fn with_tuples(sources: &[Source]) -> Vec<String> {
    let rust = sources.iter().filter(|source| source.is_rust() && !is_of_tests(&source.path));
    rust.flat_map(with_tuples_in).collect()
}

/// True for a file that tests alone have: its name or its folder says so.
fn is_of_tests(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part.ends_with("tests.rs"))
}

fn with_tuples_in(source: &Source) -> Vec<String> {
    let (code, _) = source::without_tests(source::code(&source.text));
    let mut problems = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(parameters) = parameters(&code[at + 3 + name.len()..]).filter(|_| is_word && !name.is_empty()) else {
            continue;
        };
        if types(parameters).into_iter().any(is_tuple) {
            problems.push(format!("{}:{}: {name} takes a tuple", source.path, source::line_of(&code, at)));
        }
    }
    problems
}

/// The text between the parentheses of a signature, of which `rest` is what follows the name.
fn parameters(rest: &str) -> Option<&str> {
    let generics = rest.starts_with('<').then(|| outside(rest).find(|&(at, _)| at > 0).map(|(at, _)| at));
    let rest = generics.map_or(Some(rest), |end| rest.get(end?..))?;
    let end = rest.starts_with('(').then(|| outside(rest).find(|&(at, _)| at > 0).map_or(rest.len(), |(at, _)| at))?;
    rest.get(1..end - 1)
}

/// The characters of `text` that are in no brackets, with their places; opening brackets are among them.
fn outside(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut depth = 0;
    let mut before = ' ';
    text.char_indices().filter(move |&(_, c)| {
        let was_inside = depth > 0;
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            // of an arrow
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        before = c;
        !was_inside
    })
}

/// The types of parameters, without their references.
fn types(parameters: &str) -> Vec<&str> {
    let commas = outside(parameters).filter(|&(_, c)| c == ',').map(|(at, _)| at);
    let mut types = Vec::new();
    let mut start = 0;
    for end in commas.chain([parameters.len()]) {
        let parameter = &parameters[start..end];
        let colon = outside(parameter).map(|(at, _)| at).find(|&at| parameter[at..].starts_with(": "));
        types.extend(colon.map(|at| without_reference(parameter[at + 1..].trim())));
        start = (end + 1).min(parameters.len());
    }
    types
}

fn without_reference(text: &str) -> &str {
    let Some(inside) = text.strip_prefix('&') else { return text };
    let inside = inside.strip_prefix('\'').and_then(|named| named.split_once(' ')).map_or(inside, |(_, rest)| rest);
    inside.strip_prefix("mut ").unwrap_or(inside)
}

/// Returns whether a type has several parts in parentheses: those around one, as of `dyn`, only hold it together.
fn is_tuple(text: &str) -> bool {
    text.strip_prefix('(').is_some_and(|parts| outside(parts.trim_end_matches(')')).any(|(_, c)| c == ','))
}

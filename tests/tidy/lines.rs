//! Lines: no longer than 120 columns, and a word about each file at its top.

use crate::source::Source;

const COLUMNS_MAX: usize = 120;

/// Lines that are too long. In Markdown, tables, code and lines that cannot be broken are none.
pub fn long(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(long_in).collect()
}

fn long_in(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    let mut is_fenced = false;
    for (number, line) in (1..).zip(source.text.lines()) {
        let columns = line.chars().count();
        if !source.is_rust() {
            is_fenced ^= line.trim_start().starts_with("```");
            let is_prose = !is_fenced && !line.starts_with("    ") && !line.trim_start().starts_with('|');
            if !is_prose || !line.trim().contains(' ') {
                continue;
            }
        }
        if columns > COLUMNS_MAX {
            problems.push(format!("{}:{number}: {columns} columns, more than {COLUMNS_MAX}", source.path));
        }
    }
    problems
}

/// Rust files that do not begin with a comment on what they own.
pub fn without_comment(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|source| source.is_rust() && !source.text.starts_with("//! "));
    silent.map(|source| format!("{}: does not begin with //!", source.path)).collect()
}

//! Openings of doc comments: a noun or a verb, as rustdoc shows the first line alone in its lists.

use crate::source::{self, Source};

/// Words after which a reader still does not know whether a thing, a number or a deed is meant.
const RIDDLES: [&str; 7] = ["What", "Whether", "Where", "Which", "Who", "How", "Of"];

/// Doc comments that begin with one of [`RIDDLES`].
pub fn riddles(sources: &[Source]) -> Vec<String> {
    sources.iter().filter(|source| source.is_rust()).flat_map(riddles_in).collect()
}

fn riddles_in(source: &Source) -> Vec<String> {
    let mut problems = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(source::without_literals(&source.text).lines()) {
        let text = line.trim_start().strip_prefix("//").and_then(|rest| rest.strip_prefix(['/', '!']));
        let word = text.and_then(|text| text.split_whitespace().next());
        if let Some(word) = word.filter(|word| !is_inside && RIDDLES.contains(word)) {
            problems.push(format!("{}:{number}: begins with {word}, and not with a noun or a verb", source.path));
        }
        is_inside = text.is_some();
    }
    problems
}

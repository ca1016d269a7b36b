//! Types: one that has many methods, or methods in many files, is several types.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{self, Source};

/// Methods of a type.
const METHODS_MAX: usize = 60;
/// Files with inherent methods of a type.
const FILES_MAX: usize = 3;

/// The methods of a type, and the files that have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub methods: usize,
    pub files: usize,
}

impl Size {
    fn is_usual(self) -> bool {
        self.methods <= METHODS_MAX && self.files <= FILES_MAX
    }
}

/// Types outside of tests that are larger than they may be.
pub fn large(sources: &[Source]) -> Vec<String> {
    let of_type = sizes(sources).into_iter().filter(|(_, size)| !size.is_usual());
    of_type
        .map(|(of, size)| {
            format!("{}: {} has {size:?}; {METHODS_MAX} methods in {FILES_MAX} files are allowed", of.module, of.name)
        })
        .collect()
}

/// A type, by its name and the module that it is in: two modules may each have a `Plan`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Type {
    module: String,
    name: String,
}

fn sizes(sources: &[Source]) -> BTreeMap<Type, Size> {
    let mut methods: BTreeMap<Type, usize> = BTreeMap::new();
    let mut files: BTreeMap<Type, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust() && !is_of_tests(&source.path)) {
        let (code, _) = source::without_tests(source::code(&source.text));
        for (name, count) in methods_in(&code) {
            let of = || Type { module: module_of(&source.path), name: name.clone() };
            *methods.entry(of()).or_default() += count;
            files.entry(of()).or_default().insert(&source.path);
        }
    }
    let size = |of: &Type, methods| Size { methods, files: files.get(of).map_or(0, BTreeSet::len) };
    let sized = |(of, count)| {
        let size = size(&of, count);
        (of, size)
    };
    methods.into_iter().map(sized).collect()
}

/// The types that have inherent methods in `code`, with the number of these.
fn methods_in(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut current: Option<(String, usize)> = None;
    for line in code.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            found.extend(current.take());
            current = inherent(rest).map(|name| (name, 0));
        } else if line.starts_with('}') {
            found.extend(current.take());
        } else if let Some((_, count)) = &mut current {
            *count += usize::from(is_method(line));
        }
    }
    found.extend(current);
    found
}

/// The name of the type of an `impl`, of which `rest` is what follows the word; `None` for one of a trait.
fn inherent(rest: &str) -> Option<String> {
    let parameters = if rest.starts_with('<') { closed(rest)? } else { "" };
    let rest = rest[parameters.len()..].trim_start();
    if rest.contains(" for ") {
        return None;
    }
    let path: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
    path.rsplit("::").next().map(str::to_owned).filter(|name| !name.is_empty())
}

/// The part of `text` up to the end of the brackets that it begins with.
fn closed(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        let is_arrow = text[..at].ends_with('-');
        depth += i32::from(c == '<') - i32::from(c == '>' && !is_arrow);
        if depth == 0 {
            return text.get(..=at);
        }
    }
    None
}

/// True for the first line of a function that is right below its `impl`.
fn is_method(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else { return false };
    let line = line.split_once("fn ").filter(|(_, name)| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    line.is_some_and(|(before, _)| before.split_whitespace().all(is_modifier))
}

fn is_modifier(word: &str) -> bool {
    matches!(word, "pub" | "const" | "async" | "unsafe" | "extern") || word.starts_with("pub(") || word.ends_with(')')
}

/// The module right below its crate that a file is of.
fn module_of(path: &str) -> String {
    let below = path.split_once("src/").map_or(path, |(_, below)| below);
    below.split('/').next().unwrap_or(below).trim_end_matches(".rs").to_owned()
}

/// True for a file that only tests have, or that is in no crate's source: its name or its folder says so.
fn is_of_tests(path: &str) -> bool {
    !path.contains("src/") || path.split('/').any(|part| part == "tests" || part.ends_with("tests.rs"))
}

//! The tree as text: which files there are, and what of a Rust file is code, comment or literal.

use std::path::Path;

/// A file, by its path from the root of the repository.
pub struct Source {
    pub path: String,
    pub text: String,
}

impl Source {
    /// Makes a source for planted violations.
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// All files with one of the `endings` at or below one of `places`, sorted by path.
pub fn tree(places: &[&str], endings: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    places.iter().for_each(|place| collect(&root.join(place), &mut paths));
    let wanted = |path: &Path| {
        path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
    };
    paths.retain(|path| wanted(path));
    paths.sort();
    let read = |path: &std::path::PathBuf| Source {
        path: path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    paths.iter().map(read).collect()
}

fn collect(path: &Path, paths: &mut Vec<std::path::PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        entries.for_each(|entry| collect(&entry.unwrap().path(), paths));
    } else {
        paths.push(path.to_owned());
    }
}

/// Kinds of pieces of a Rust file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Code,
    Comment,
    Literal,
}

/// The pieces of a Rust file, in order; together they are the text.
pub fn pieces(text: &str) -> Vec<(Kind, &str)> {
    let (mut pieces, mut code_from, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let follows_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = comment(rest).map(|bytes| (Kind::Comment, bytes));
        let found = found.or_else(|| literal(rest, follows_word).map(|bytes| (Kind::Literal, bytes)));
        let Some((kind, bytes)) = found else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        pieces.push((Kind::Code, &text[code_from..at]));
        pieces.push((kind, &rest[..bytes]));
        at += bytes;
        code_from = at;
    }
    pieces.push((Kind::Code, &text[code_from..]));
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces
}

/// The length of the comment that `rest` begins with.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
}

/// The length of the string or character that `rest` begins with; a lifetime is none.
fn literal(rest: &str, follows_word: bool) -> Option<usize> {
    let raw = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(fenced) = raw.strip_prefix('r').filter(|_| !follows_word) {
        let fences = fenced.len() - fenced.trim_start_matches('#').len();
        let close = format!("\"{}", "#".repeat(fences));
        if let Some(content) = fenced[fences..].strip_prefix('"') {
            let head = rest.len() - content.len();
            return Some(head + content.find(&close)? + close.len());
        }
    }
    if rest.starts_with('"') {
        return closed(rest, '"');
    }
    let inside = rest.strip_prefix('\'')?;
    let is_character = inside.starts_with('\\') || inside.chars().nth(1) == Some('\'');
    is_character.then(|| closed(rest, '\'')).flatten()
}

/// The bytes up to the end of a literal between two of `quote`.
fn closed(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The code of a Rust file, with blanks in the place of comments and literals: lines keep their numbers.
pub fn code(text: &str) -> String {
    let blank = |(kind, piece): (Kind, &str)| if kind == Kind::Code { piece.to_owned() } else { blanked(piece) };
    pieces(text).into_iter().map(blank).collect()
}

/// The text of a Rust file, with blanks in the place of literals: lines keep their numbers.
pub fn without_literals(text: &str) -> String {
    let blank = |(kind, piece): (Kind, &str)| if kind == Kind::Literal { blanked(piece) } else { piece.to_owned() };
    pieces(text).into_iter().map(blank).collect()
}

/// `text` with its line ends alone.
fn blanked(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// `code` without the items that tests alone have, and the names of the modules among these that are files of their
/// own.
pub fn without_tests(mut code: String) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let mut files = Vec::new();
    while let Some(start) = code.find(MARK) {
        let end = start + item_bytes(&code[start..]);
        let item = &code[start..end];
        if let Some((_, name)) = item.trim_end_matches(';').rsplit_once("mod ").filter(|_| item.ends_with(';')) {
            files.push(name.trim().to_owned());
        }
        let blanks = blanked(item);
        code.replace_range(start..end, &blanks);
    }
    (code, files)
}

/// Returns the length of an item: to its `;`, or to the end of its braces.
fn item_bytes(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, ';' | '}') {
            return at + 1;
        }
    }
    code.len()
}

/// The number of the line at byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

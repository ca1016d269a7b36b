//! Names that modules use of one another: the paths in the code of `src`, followed to the file that has the item.
//!
//! A path is what begins with `crate`, `self` or `super`, in a `use` or elsewhere. It leads from module to module as
//! long as there are files of these names; where a module brings a name in by a `use` of its own, the path goes on from
//! there, so that a re-export counts for the file behind it. Code that only tests have is left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{self, Source};

/// Segments of a path below the crate; the crate itself has none.
pub type Module = Vec<String>;

/// A use: a file names something of a module.
pub struct Use {
    pub from: Module,
    pub to: Module,
    /// `path:line: what is written there`.
    pub place: String,
}

/// A path as written, with the name that it brings in where it is a `use`.
struct Written {
    segments: Vec<String>,
    name: Option<String>,
    line: usize,
}

struct File {
    path: String,
    written: Vec<Written>,
}

/// The modules of a crate.
pub struct Modules(BTreeMap<Module, File>);

impl Modules {
    /// Collects the modules of the Rust files in `sources` that are in `src`.
    pub fn of(sources: &[Source]) -> Modules {
        let (mut files, mut tests) = (BTreeMap::new(), BTreeSet::new());
        for source in sources.iter().filter(|source| source.is_rust()) {
            let Some(module) = module_of(&source.path) else { continue };
            let (code, test_files) = source::without_tests(source::code(&source.text));
            tests.extend(test_files.into_iter().map(|name| [&module[..], &[name]].concat()));
            files.insert(module, File { path: source.path.clone(), written: written(&code) });
        }
        let is_test = |module: &Module| tests.iter().any(|test: &Module| module.starts_with(test));
        // a file that is a module by #[path] has another name than its module
        files.retain(|module, _| !is_test(module) && !module.last().is_some_and(|name| name.ends_with("_tests")));
        Modules(files)
    }

    /// The modules right below the crate.
    pub fn top_level(&self) -> BTreeSet<&str> {
        self.0.keys().filter_map(|module| module.first()).map(String::as_str).collect()
    }

    /// All that names something else than itself.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (from, file) in &self.0 {
            for Written { segments, line, .. } in &file.written {
                if let Some(to) = self.resolve(from, segments, 0).filter(|to| to != from) {
                    let place = format!("{}:{line}: {}", file.path, segments.join("::"));
                    uses.push(Use { from: from.clone(), to, place });
                }
            }
        }
        uses
    }

    /// The module that has the item of a path written in `from`; nothing where that is another crate.
    fn resolve(&self, from: &Module, segments: &[String], depth: usize) -> Option<Module> {
        const DEPTH_MAX: usize = 8;
        let (mut at, mut rest) = match segments.first()?.as_str() {
            "crate" => (Module::new(), &segments[1..]),
            "self" => (from.clone(), &segments[1..]),
            "super" => (from.clone(), segments),
            child if self.0.contains_key(&[&from[..], &[child.to_owned()]].concat()) => (from.clone(), segments),
            _ => return None,
        };
        while let Some((next, after)) = rest.split_first() {
            let child = [&at[..], std::slice::from_ref(next)].concat();
            if next == "super" {
                at.pop();
            } else if self.0.contains_key(&child) {
                at = child;
            } else {
                let named = |written: &&Written| written.name.as_ref() == Some(next) && written.segments != segments;
                let brought_in =
                    self.0.get(&at).and_then(|file| file.written.iter().find(named)).filter(|_| depth < DEPTH_MAX);
                let behind = brought_in
                    .and_then(|written| self.resolve(&at, &[&written.segments[..], after].concat(), depth + 1));
                return behind.or(Some(at));
            }
            rest = after;
        }
        Some(at)
    }
}

/// The module of a file in `src`, or in that of a crate below, whose modules the library shows as its own; the
/// program's `main.rs` is none of the library's.
fn module_of(path: &str) -> Option<Module> {
    let below = path.strip_prefix("crates/").and_then(|path| path.split_once('/')).map(|(_, below)| below);
    let path = below.unwrap_or(path);
    if below.is_some() && path == "src/lib.rs" {
        return None;
    }
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut module: Module = inside.split('/').map(str::to_owned).collect();
    match module.last().map(String::as_str) {
        Some("main") if module.len() == 1 => return None,
        Some("lib") if module.len() == 1 => drop(module.pop()),
        Some("mod") => drop(module.pop()),
        _ => {}
    }
    Some(module)
}

fn written(code: &str) -> Vec<Written> {
    let mut all = Vec::new();
    let mut rest = code.to_owned();
    for (start, end) in statements(code) {
        let line = source::line_of(code, start);
        for (path, name) in leaves(&code[start..end]) {
            let mut segments: Vec<String> = path.split("::").map(|segment| segment.trim().to_owned()).collect();
            segments.pop_if(|last| last == "self");
            let name = name.or_else(|| segments.last().cloned());
            all.push(Written { segments, name, line });
        }
        rest.replace_range(start..end, &" ".repeat(end - start));
    }
    for root in ["crate::", "super::", "self::"] {
        for (start, _) in rest.match_indices(root) {
            if rest[..start].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let path = rest[start..].split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).next().unwrap_or("");
            let segments = path.trim_end_matches(':').split("::").map(str::to_owned).collect();
            all.push(Written { segments, name: None, line: source::line_of(code, start) });
        }
    }
    all
}

/// Returns the ranges of the trees of `use` statements, from behind the word to before the `;`.
fn statements(code: &str) -> Vec<(usize, usize)> {
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'');
    let starts = code.match_indices("use ").filter(|&(at, _)| begins(at)).map(|(at, word)| at + word.len());
    // `use<'a>` of a type has no such blank
    starts.filter_map(|start| Some((start, start + code[start..].find(';')?))).collect()
}

/// The paths of a tree of `use`, each with the name that `as` gives it.
fn leaves(tree: &str) -> Vec<(String, Option<String>)> {
    let tree = tree.trim();
    let Some((head, body)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
        return vec![(path.trim().to_owned(), name.map(|name| name.trim().to_owned()))];
    };
    let body = body.trim_end().strip_suffix('}').unwrap_or(body);
    let (mut branches, mut depth) = (vec![String::new()], 0);
    for c in body.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => branches.push(String::new()),
            c => branches.last_mut().unwrap().push(c),
        }
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| leaves(branch)).map(|(path, name)| (format!("{}{path}", head.trim()), name)).collect()
}

//! Layers: the rooms are the modules right below the crate, and the table of `src/lib.rs` lists them from the ground
//! up.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{Modules, Use};
use crate::source::Source;

/// The rooms in the order of the table: the rows of `src/lib.rs` that begin with a module's name.
pub fn table(sources: &[Source]) -> Vec<String> {
    let lib = sources.iter().find(|source| source.path == "src/lib.rs").map_or("", |source| &source.text);
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | "));
    let name = |row: &str| Some(row.strip_prefix("[`").or(row.strip_prefix('`'))?.split('`').next()?.to_owned());
    rows.filter_map(name).collect()
}

/// Rooms that are not in the table, rows that are no room, and every use of a room that stands below the one that uses
/// it.
pub fn upward(sources: &[Source]) -> Vec<String> {
    let (table, modules) = (table(sources), Modules::of(sources));
    let top = modules.top_level();
    let mut problems: Vec<String> = Vec::new();
    let unknown = top.iter().filter(|module| !table.iter().any(|row| row == *module));
    problems.extend(unknown.map(|module| format!("src/lib.rs: {module} is not in the table")));
    let empty = table.iter().filter(|row| !top.contains(row.as_str()));
    problems.extend(empty.map(|row| format!("src/lib.rs: there is no module {row}")));
    let level = |module: Option<&String>| table.iter().position(|row| Some(row) == module);
    for Use { from, to, place } in modules.uses() {
        if let (Some(own), Some(other)) = (level(from.first()), level(to.first()))
            && other > own
        {
            problems.push(format!("{place}: {} stands below {} in the table", table[other], table[own]));
        }
    }
    problems
}

/// Modules with the same parent that need one another, by the parent.
///
/// What a module has in its folder counts for it. Between a module and those below it nothing is asked: a parent puts
/// its parts together, and they use what it defines for all of them.
pub fn circles(sources: &[Source]) -> Vec<String> {
    let mut siblings: BTreeMap<Vec<String>, BTreeMap<(String, String), String>> = BTreeMap::new();
    for Use { from, to, place } in Modules::of(sources).uses() {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
            let level = siblings.entry(from[..common].to_vec()).or_default();
            level.entry((a.clone(), b.clone())).or_insert(place);
        }
    }
    siblings.iter().flat_map(|(parent, edges)| circles_of(&parent.join("::"), edges)).collect()
}

fn circles_of(parent: &str, edges: &BTreeMap<(String, String), String>) -> Vec<String> {
    let reached = |from: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = open.pop() {
            let next = edges.keys().filter(|(a, _)| *a == at).map(|(_, b)| b);
            open.extend(next.filter(|b| seen.insert((*b).clone())).cloned());
        }
        seen
    };
    let all: BTreeSet<&str> = edges.keys().map(|(a, _)| a.as_str()).collect();
    let reached: BTreeMap<&str, BTreeSet<String>> = all.into_iter().map(|name| (name, reached(name))).collect();
    let needs = |a: &str, b: &str| reached.get(a).is_some_and(|set| set.contains(b));
    let in_circle = edges.iter().filter(|((a, b), _)| needs(b, a));
    let mut problems = Vec::new();
    for ((a, b), place) in in_circle {
        problems.push(format!(
            "in {}: {a} needs {b}, which needs {a}: {place}",
            if parent.is_empty() { "the crate" } else { parent }
        ));
    }
    problems
}

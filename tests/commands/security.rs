//! docs/SECURITY.md against the source: the tests that it names are there, every test of a row is named, and the locked
//! dependencies are of versions in which the holes that it names are closed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SECURITY: &str = include_str!("../../docs/SECURITY.md");
const DENY: &str = include_str!("../../deny.toml");
const LOCK: &str = include_str!("../../Cargo.lock");

/// The first versions without a hole that is known.
const MINIMA: [(&str, [u64; 3], &str); 5] = [
    ("h2", [0, 4, 4], "RUSTSEC-2024-0332"),
    ("rustls", [0, 23, 5], "RUSTSEC-2024-0336"),
    ("idna", [1, 0, 0], "RUSTSEC-2024-0421"),
    ("hyper", [0, 14, 10], "RUSTSEC-2021-0079"),
    ("tracing-subscriber", [0, 3, 20], "RUSTSEC-2025-0055"),
];

/// The words of `text` that are names of tests of a row: `s`, a number, `_`, and more.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| is_name(word))
}

fn is_name(word: &str) -> bool {
    let Some((number, rest)) = word.strip_prefix('s').and_then(|rest| rest.split_once('_')) else { return false };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty()
}

/// Adds the functions below `dir` that have such names.
fn collect(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let functions = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
            found.extend(
                functions.filter_map(|line| line.split('(').next()).filter(|name| is_name(name)).map(str::to_owned),
            );
        }
    }
}

#[test]
fn the_document_and_the_source_name_the_same_tests_of_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut there = BTreeSet::new();
    ["src", "crates", "tests"].iter().for_each(|dir| collect(&root.join(dir), &mut there));
    let named: BTreeSet<String> = names(SECURITY).map(str::to_owned).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    let missing: Vec<_> = named.difference(&there).collect();
    assert!(unnamed.is_empty(), "docs/SECURITY.md does not name {unnamed:#?}");
    assert!(missing.is_empty(), "docs/SECURITY.md names what is not there: {missing:#?}");
    let rows: BTreeSet<&str> = there.iter().filter_map(|name| name.split('_').next()).collect();
    let tested = (1..=22).filter(|row| rows.contains(format!("s{row}").as_str())).count();
    assert_eq!(tested, 22, "only {rows:?} have tests");
}

/// The versions of the crate `name` that Cargo.lock has.
fn locked(name: &str) -> Vec<[u64; 3]> {
    let packages = LOCK.split("[[package]]").filter(|package| package.contains(&format!("\nname = \"{name}\"\n")));
    let version = |package: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
        let plain = line.trim_matches('"').split(['-', '+']).next().unwrap();
        let numbers: Vec<u64> = plain.split('.').map(|number| number.parse().unwrap()).collect();
        <[u64; 3]>::try_from(numbers).unwrap()
    };
    packages.map(version).collect()
}

#[test]
fn s22_locked_dependencies_are_of_versions_without_the_holes_that_are_known() {
    let prose = SECURITY.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, least, advisory) in MINIMA {
        let versions = locked(name);
        assert!(!versions.is_empty(), "{name} is not in Cargo.lock any more: take it out here and in docs/SECURITY.md");
        let [major, minor, patch] = least;
        for version in versions {
            assert!(version >= least, "{name} {version:?} has {advisory}");
            let [x, y, z] = version;
            let said = format!("{name} {x}.{y}.{z} ({advisory}: from {major}.{minor}.{patch}");
            assert!(prose.contains(&said), "docs/SECURITY.md does not say: {said}");
        }
        let ban = format!("{{ crate = \"{name}@<{major}.{minor}.{patch}\" }}");
        assert!(DENY.contains(&ban), "deny.toml does not have {ban}");
    }
}

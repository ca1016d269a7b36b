//! Plants mutants in a copy of the repository and builds its test programs, without those that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::find::Mutant;

/// The switch, as a module of the copy.
const SWITCH: &str = r#"//! Which mutant is awake, and which have been reached.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// Whether the mutant `number` is awake. The first time it is asked for, its number is appended to a file if one is named.
pub(crate) fn is(number: usize) -> bool {
    static AWAKE: OnceLock<usize> = OnceLock::new();
    if !REACHED[number].load(Ordering::Relaxed) && !REACHED[number].swap(true, Ordering::Relaxed) {
        tell(number);
    }
    *AWAKE.get_or_init(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)) == number
}

fn tell(number: usize) {
    let Some(path) = std::env::var_os("MUTANTS_REACHED") else { return };
    let file = std::fs::OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes())).expect("the file can be written");
}
"#;

/// Where the sources of each crate lie.
pub const CRATES: &[&str] = &[
    "src",
    "crates/analysis/src",
    "crates/archive/src",
    "crates/cluster/src",
    "crates/contract/src",
    "crates/core/src",
    "crates/documents/src",
    "crates/engine/src",
    "crates/feed/src",
    "crates/fetch/src",
    "crates/import/src",
    "crates/replay/src",
    "crates/search/src",
    "crates/server/src",
    "crates/simulator/src",
    "crates/simweb/src",
    "crates/sinks/src",
    "crates/store/src",
    "crates/web/src",
];

/// Copies what git tracks of `root` to `tree`, but for the folders `without`.
pub fn copy(root: &Path, tree: &Path, without: &[&str]) -> Result<(), String> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output();
    let listed = listed.map_err(|e| format!("git ls-files: {e}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let names: BTreeSet<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
    remove_others(tree, &names)?;
    for name in names.into_iter().filter(|name| !without.iter().any(|folder| name.starts_with(folder))) {
        let (from, to) = (root.join(name), tree.join(name));
        let parent = to.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        let bytes = std::fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        write(&to, &bytes)?;
    }
    Ok(())
}

/// Removes sources of `tree` that have been renamed since an earlier copy.
fn remove_others(tree: &Path, names: &BTreeSet<&str>) -> Result<(), String> {
    let mut there = Vec::new();
    for dir in ["src", "crates", "tests"].map(|name| tree.join(name)).into_iter().filter(|dir| dir.is_dir()) {
        list_sources(&dir, &mut there)?;
    }
    for path in there {
        let name = path.strip_prefix(tree).expect("the file is of the copy").to_string_lossy();
        if !names.contains(&*name) && !name.ends_with("src/mutant.rs") {
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes only what is new, so that the compiler's work on the rest holds.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Some `count` of `all` by `seed`, those of the lines `at` (`src/file.rs:17`) first, no two of which overlap, in the
/// order of their places and numbered from 1.
pub fn choose(mut all: Vec<Mutant>, count: usize, seed: u64, at: &[String]) -> Vec<Mutant> {
    fastrand::Rng::with_seed(seed).shuffle(&mut all);
    all.sort_by_key(|mutant| !at.contains(&format!("{}:{}", mutant.file.display(), mutant.line)));
    let mut chosen: Vec<Mutant> = Vec::new();
    for mutant in all {
        if chosen.len() == count {
            break;
        }
        let overlaps = |other: &Mutant| {
            other.file == mutant.file && other.bytes.start < mutant.bytes.end && mutant.bytes.start < other.bytes.end
        };
        if !chosen.iter().any(overlaps) {
            chosen.push(mutant);
        }
    }
    chosen.sort_by(|a, b| (&a.file, a.bytes.start).cmp(&(&b.file, b.bytes.start)));
    for (at, mutant) in chosen.iter_mut().enumerate() {
        mutant.number = at + 1;
    }
    chosen
}

/// Plants `chosen` in `tree` and builds its test programs; mutants that do not compile are taken out of `chosen`.
pub fn build(root: &Path, tree: &Path, target: &Path, chosen: &mut Vec<Mutant>) -> Result<Vec<PathBuf>, String> {
    loop {
        plant(root, tree, chosen)?;
        let output = Command::new("cargo")
            .args(["test", "--no-run", "--locked", "--message-format", "json"])
            .args(["--lib", "--test", "engine", "--test", "simulations"])
            .current_dir(tree)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .output()
            .map_err(|e| format!("cargo: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<serde_json::Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        if output.status.success() {
            let tests = messages.iter().filter(|message| message["profile"]["test"] == true);
            let named = tests.filter_map(|message| message["executable"].as_str());
            return Ok(named.map(PathBuf::from).collect());
        }
        let before = chosen.len();
        for (file, line) in messages.iter().flat_map(errors) {
            chosen.retain(|mutant| mutant.file != Path::new(&file) || !planted_at(tree, mutant, line));
        }
        println!("{} mutants do not compile", before - chosen.len());
        if chosen.len() == before {
            return Err(format!("the copy does not compile: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
}

/// Files and lines that an error of the compiler points to.
fn errors(message: &serde_json::Value) -> Vec<(String, usize)> {
    let inner = &message["message"];
    if inner["level"] != "error" {
        return Vec::new();
    }
    let mut places = Vec::new();
    for span in inner["spans"].as_array().into_iter().flatten() {
        let (Some(first), Some(last)) = (span["line_start"].as_u64(), span["line_end"].as_u64()) else { continue };
        let file = span["file_name"].as_str().unwrap_or_default();
        places.extend((first..=last).map(|line| (file.to_owned(), line as usize)));
    }
    places
}

/// Whether `mutant` was planted in that line of the copy.
fn planted_at(tree: &Path, mutant: &Mutant, line: usize) -> bool {
    let text = std::fs::read_to_string(tree.join(&mutant.file)).unwrap_or_default();
    let mark = format!("crate::mutant::is({})", mutant.number);
    let Some(start) = text.find(&mark) else { return false };
    let first = text[..start].matches('\n').count() + 1;
    let length = mutant.code.matches('\n').count() * 2
        + text[start..].find("/*end*/").map_or(0, |end| text[start..start + end].matches('\n').count());
    (first..=first + length).contains(&line)
}

fn plant(root: &Path, tree: &Path, chosen: &[Mutant]) -> Result<(), String> {
    let mut files: BTreeMap<&Path, Vec<&Mutant>> = BTreeMap::new();
    for mutant in chosen {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    // sources that stay the same are not written, so that nothing is built again
    copy(root, tree, &CRATES)?;
    let fresh = tree.with_file_name("fresh");
    let mut listed = Vec::new();
    CRATES.iter().try_for_each(|place| list_sources(&fresh.join(place), &mut listed))?;
    for path in listed {
        let name = path.strip_prefix(&fresh).expect("the file is of the copy");
        let mut text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for mutant in files.get(name).into_iter().flatten().rev() {
            text.replace_range(mutant.bytes.clone(), &planted(mutant, &text[mutant.bytes.clone()]));
        }
        if CRATES.iter().any(|place| name == Path::new(place).join("lib.rs")) {
            text.push_str("mod mutant;\n");
        }
        let to = tree.join(name);
        let parent = to.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        write(&to, text.as_bytes())?;
    }
    let count = chosen.iter().map(|mutant| mutant.number + 1).max().unwrap_or(1);
    let switch = SWITCH.replace("COUNT", &count.to_string());
    CRATES.iter().try_for_each(|place| write(&tree.join(place).join("mutant.rs"), switch.as_bytes()))
}

fn list_sources(dir: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            list_sources(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn planted(mutant: &Mutant, original: &str) -> String {
    let number = mutant.number;
    if mutant.statement {
        return format!("if !crate::mutant::is({number}) {{ {original} }}/*end*/");
    }
    format!("(if crate::mutant::is({number}) {{ {} }} else {{ {original} }})/*end*/", mutant.code)
}

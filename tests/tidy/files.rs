//! Files: only a few places make one or open one for writing, each of which follows no link. All others ask these.

use crate::source::{Source, code, line_of, without_tests};

/// Calls that make a file or write to one that is there, through a link too. `File::create_new` does neither.
const CALLS: [&str; 5] = ["File::create(", "fs::write(", "fs::copy(", "OpenOptions", "File::options("];
/// The places; the last two make files that were not there.
const HOMES: [&str; 5] = [
    "crates/core/src/disk/real.rs",
    "crates/core/src/disk/lock.rs",
    "crates/core/src/disk/aside.rs",
    "crates/fetch/src/signature/key.rs",
    "src/cli/init.rs",
];

/// Files that are made elsewhere.
pub fn made_elsewhere(sources: &[Source]) -> Vec<String> {
    let is_checked = |source: &&Source| {
        let is_code = source.path.starts_with("src/") || source.path.starts_with("crates/");
        let is_test = source.path.contains("tests") || source.path.contains("fuzzing");
        is_code && !is_test && !HOMES.contains(&source.path.as_str())
    };
    let mut problems = Vec::new();
    for source in sources.iter().filter(is_checked) {
        let (code, _) = without_tests(code(&source.text));
        for call in CALLS {
            let found = code.match_indices(call).map(|(at, _)| line_of(&code, at));
            problems.extend(found.map(|line| {
                format!("{}:{line}: {call} may follow a link: ask disk::Disk or disk::Aside", source.path)
            }));
        }
    }
    problems
}

//! The program of the simulator: what it prints, writes and refuses.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

fn simulator(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crawler-simulator")).args(line.split_whitespace()).output().unwrap()
}

/// Runs a line that succeeds, and returns what it prints.
fn printed(line: &str) -> String {
    let output = simulator(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a line that fails with this exit code, and returns the message.
fn refused(line: &str, code: i32) -> String {
    let output = simulator(line);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(code), &b""[..]), "{line}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn checksums_have_a_line_per_seed_and_repeat() {
    let dir = tempfile::tempdir().unwrap();
    let checksums = |name: &str| {
        let path = dir.path().join(name);
        let said = printed(&format!("0..2 --shards 2 --checksums {}", path.display()));
        assert!(said.starts_with("2 simulated crawls kept the crash contract: "), "{said}");
        std::fs::read_to_string(path).unwrap()
    };
    let first = checksums("first");
    let seeds: Vec<&str> = first.lines().filter_map(|line| Some(line.split_once(' ')?.0)).collect();
    assert_eq!(seeds, ["0", "1"]);
    assert_eq!(checksums("second"), first);
}

#[test]
fn crawls_on_several_machines_report_their_take_overs() {
    let said = printed("0..2 --shards 2 --nodes 2");
    assert!(said.contains(" take-overs, "), "{said}");
}

#[test]
fn the_first_case_that_breaks_the_contract_is_described() {
    let said = refused("3..4 --mistake loses-links", 1);
    assert!(said.starts_with("crawler-simulator: the crawl of seed 3 breaks the crash contract\n    "), "{said}");
    assert!(said.contains("\n  what led to it:\n    "), "{said}");
}

#[test]
fn mistakes_in_the_command_line_are_refused() {
    for (line, words) in [
        ("5", "5 is not a range of seeds; write 0..1000"),
        ("5..1", "0..1000"),
        ("--mistake none", "--mistake"),
        ("--shards 0", "--shards"),
        ("--nodes 2", "--nodes needs --shards 2 or more"),
        ("1000000..1000001 --shards 2 --nodes 2", "seeds below 1000000"),
    ] {
        let said = refused(line, 2);
        assert!(said.contains(words), "{line}: {words:?} is not in\n{said}");
    }
}

//! A process that is stopped for longer than its lease: this test program once more, as a node.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crawler::cluster::Ownership;
use rustix::process::{Pid, Signal, kill_process};

use super::server::Members;
use super::{claimed, head, made, node};

/// Set for the process that is the node.
const ENDPOINT: &str = "TEST_NODE_ETCD";

#[test]
fn a_process_that_was_stopped_beyond_its_lease_sends_nothing_and_is_refused() {
    let Some(members) = Members::start(1) else { return };
    made(&members, 1, None);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "etcd::process::the_node_of_the_test_above", "--nocapture", "--test-threads", "1"])
        .env(ENDPOINT, &members.endpoints()[0])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // the test program's own lines are among them
    let mut answer = || lines.find_map(|line| line.split_once("node: ").map(|(_, said)| said.to_owned())).unwrap();
    assert_eq!(answer(), "claimed");
    writeln!(words, "commit 1").unwrap();
    assert_eq!(answer(), "committed");
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    let other = node(members.endpoints(), "other");
    let new = claimed(&other, 0);
    assert_eq!(new.head.as_ref().unwrap().record.number, 1);
    other.commit(&new, &head(&new, 2)).unwrap();
    // it is asked as the first thing, when it knows nothing of all that
    writeln!(words, "holds\ncommit 2\nholds\nend").unwrap();
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    assert_eq!([answer(), answer(), answer()], ["false", "refused", "false"]);
    drop(words);
    child.wait().unwrap();
    assert_eq!(other.heads().heads[0].as_ref().unwrap().record.epoch, new.epoch);
}

#[test]
fn the_node_of_the_test_above() {
    let Ok(endpoint) = std::env::var(ENDPOINT) else { return };
    let node = node(vec![endpoint], "stopped");
    let mine = claimed(&node, 0);
    println!("node: claimed");
    for line in std::io::stdin().lines().map(Result::unwrap) {
        match line.split_once(' ') {
            Some((_, number)) => match node.commit(&mine, &head(&mine, number.parse().unwrap())) {
                Ok(_) => println!("node: committed"),
                Err(_) => println!("node: refused"),
            },
            None if line == "holds" => println!("node: {}", mine.holds()),
            None => return,
        }
    }
}

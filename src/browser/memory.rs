//! What the processes of a browser take: memory and time on processors, read from `/proc`.
//!
//! Memory is the proportional set size (PSS) of the kernel, which counts what processes share once. It costs the kernel
//! a walk over the pages of a process, so it is read again only when the cheap figure (what a process shares with
//! nobody) has moved. Where it may not be read, as of a sandboxed process of another user, the cheap figure counts.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Growth of the cheap figure, in bytes, after which the exact one is read again.
const GROWTH_BYTES: u64 = 16 << 20;
/// A tick of the kernel's times, as it tells them to programs (`USER_HZ`).
const TICK_MS: u64 = 10;

/// Processes of a browser.
#[derive(Debug)]
pub(super) struct Tree {
    root: u32,
    renderers: HashMap<u32, Option<Known>>,
    renderer_bytes: Vec<(u32, u64)>,
    others: u64,
    cpu: Duration,
}

/// What is known of a renderer.
#[derive(Clone, Copy, Debug)]
struct Known {
    private: u64,
    bytes: u64,
}

impl Tree {
    /// Those that descend from `root`.
    pub(super) fn new(root: u32) -> Tree {
        Tree { root, renderers: HashMap::new(), renderer_bytes: Vec::new(), others: 0, cpu: Duration::ZERO }
    }

    /// Looks again.
    pub(super) fn look(&mut self) {
        let members = descendants(self.root);
        let ticks: u64 = members.iter().map(|member| member.ticks).sum();
        // one that died takes its time along if its parent does not wait for it
        self.cpu = self.cpu.max(Duration::from_millis(ticks * TICK_MS));
        let mut renderers = HashMap::new();
        (self.renderer_bytes, self.others) = (Vec::new(), 0);
        for pid in members.iter().map(|member| member.pid) {
            let known = match self.renderers.get(&pid) {
                Some(None) => None,
                Some(Some(known)) => measured(pid, Some(*known)),
                None if is_renderer(pid) => measured(pid, None),
                None => None,
            };
            match known {
                Some(known) => self.renderer_bytes.push((pid, known.bytes)),
                None => self.others += resident(pid),
            }
            renderers.insert(pid, known);
        }
        self.renderers = renderers;
    }

    /// Bytes of each renderer.
    pub(super) fn renderers(&self) -> &[(u32, u64)] {
        &self.renderer_bytes
    }

    /// Bytes of all that are no renderers, with what they share with others.
    pub(super) fn others(&self) -> u64 {
        self.others
    }

    /// Time on processors of all of them, those that are gone included.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu
    }

    /// The arguments of all of them.
    pub(super) fn arguments(&self) -> Vec<String> {
        descendants(self.root).iter().flat_map(|member| command_line(member.pid)).collect()
    }
}

/// What a renderer takes, where `before` was known of it.
fn measured(pid: u32, before: Option<Known>) -> Option<Known> {
    let private = bytes_of(&format!("/proc/{pid}/status"), "RssAnon:")?;
    match before {
        Some(known) if private.abs_diff(known.private) < GROWTH_BYTES => Some(known),
        _ => Some(Known { private, bytes: pss(pid).unwrap_or(private) }),
    }
}

/// What a process holds that is in no file.
fn resident(pid: u32) -> u64 {
    let file = format!("/proc/{pid}/status");
    ["RssAnon:", "RssShmem:"].iter().filter_map(|name| bytes_of(&file, name)).sum()
}

/// Proportional set size of a process, in bytes.
fn pss(pid: u32) -> Option<u64> {
    bytes_of(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// What a file of the kernel says in the line that begins with `name`, in bytes.
fn bytes_of(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn is_renderer(pid: u32) -> bool {
    command_line(pid).iter().any(|argument| argument == "--type=renderer")
}

/// The arguments of a process; those of Chromium are one text with blanks in its own processes.
fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.split(['\0', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A process, its parent, and the ticks that it and those it waited for had.
#[derive(Clone, Copy, Debug)]
struct Member {
    pid: u32,
    parent: u32,
    ticks: u64,
}

/// `root` and all that descend from it, dead ones that nobody waited for aside.
fn descendants(root: u32) -> Vec<Member> {
    let all = processes();
    let mut found: Vec<Member> = all.iter().filter(|member| member.pid == root).copied().collect();
    let mut at = 0;
    while at < found.len() {
        let parent = found[at].pid;
        found.extend(all.iter().filter(|member| member.parent == parent));
        at += 1;
    }
    found
}

/// The processes that `parent` started and that live.
pub(super) fn children(parent: u32) -> Vec<u32> {
    processes().iter().filter(|member| member.parent == parent).map(|member| member.pid).collect()
}

fn processes() -> Vec<Member> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(member).collect()
}

fn member(pid: u32) -> Option<Member> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name before may have anything in it
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let (state, parent) = (words.next()?, words.next()?.parse().ok()?);
    let ticks = words.skip(9).take(4).filter_map(|word| word.parse::<u64>().ok()).sum();
    (state != "Z").then_some(Member { pid, parent, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_time_of_this_process_are_read() {
        let own = std::process::id();
        let member = member(own).unwrap();
        assert_eq!(member.pid, own);
        assert!(descendants(member.parent).iter().any(|member| member.pid == own));
        assert!(pss(own).unwrap() > 1 << 20);
        let mut tree = Tree::new(own);
        tree.look();
        assert!(tree.renderers().is_empty());
    }
}

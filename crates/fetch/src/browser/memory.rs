//! Resources that the processes of a browser take: memory and time on processors, read from `/proc`.
//!
//! Memory is the proportional set size (PSS) of the kernel, which counts what processes share once. It costs the kernel
//! a walk over the pages of a process, so it is read again only when the cheap figure (what is in no file) has moved,
//! or when somebody wants to know exactly; what the cheap figure has grown since is added. Where the exact one may not
//! be read, as of a sandboxed process of another user, the cheap figure counts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Growth of the cheap figure, in bytes, after which the exact one is read again.
const GROWTH_BYTES: u64 = 16 << 20;
/// A tick of the kernel's times, as programs see them (`USER_HZ`).
const TICK_MS: u64 = 10;

/// Processes of a browser.
#[derive(Debug)]
pub(super) struct Tree {
    root: u32,
    known: HashMap<u32, Known>,
    /// Renderers that do not count.
    passed_over: HashSet<u32>,
    cpu: Duration,
}

/// Figures of a process.
#[derive(Clone, Copy, Debug)]
struct Known {
    is_renderer: bool,
    /// The last exact figure, and the cheap one at that time.
    exact: u64,
    private_then: u64,
    /// The cheap one now.
    private: u64,
}

impl Known {
    fn bytes(&self) -> u64 {
        (self.exact + self.private).saturating_sub(self.private_then)
    }
}

impl Tree {
    /// Those that descend from `root`.
    pub(super) fn new(root: u32) -> Tree {
        Tree { root, known: HashMap::new(), passed_over: HashSet::new(), cpu: Duration::ZERO }
    }

    /// Looks again; at every process exactly, where that `is_exact`.
    pub(super) fn look(&mut self, is_exact: bool) {
        let members = descendants(self.root);
        let ticks: u64 = members.iter().map(|member| member.ticks).sum();
        // one that died takes its time along if its parent does not wait for it
        self.cpu = self.cpu.max(Duration::from_millis(ticks * TICK_MS));
        let before = std::mem::take(&mut self.known);
        for Member { pid, .. } in members {
            self.known.extend(measured(pid, before.get(&pid), is_exact).map(|known| (pid, known)));
        }
        self.passed_over.retain(|pid| self.known.contains_key(pid));
    }

    /// Looks exactly while all of them are stopped: reading a hundred processes takes so long that they would take more
    /// meanwhile.
    pub(super) fn look_stopped(&mut self) {
        descendants(self.root).iter().for_each(|member| send(member.pid, Signal::STOP));
        self.look(true);
        descendants(self.root).iter().for_each(|member| send(member.pid, Signal::CONT));
    }

    /// The renderers of this moment count no more: they are of pages that are over, or of none.
    pub(super) fn pass_over_renderers(&mut self) {
        self.passed_over.extend(self.known.iter().filter(|(_, known)| known.is_renderer).map(|(pid, _)| *pid));
    }

    /// Bytes of all renderers that count.
    pub(super) fn renderers(&self) -> u64 {
        let counted = self.known.iter().filter(|(pid, known)| known.is_renderer && !self.passed_over.contains(pid));
        counted.map(|(_, known)| known.bytes()).sum()
    }

    /// Bytes of all that are no renderers.
    pub(super) fn others(&self) -> u64 {
        self.known.values().filter(|known| !known.is_renderer).map(Known::bytes).sum()
    }

    /// The number of processes.
    pub(super) fn processes(&self) -> usize {
        self.known.len()
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

/// Measures a process, of which `before` was known earlier. `None` where it is gone.
fn measured(pid: u32, before: Option<&Known>, is_exact: bool) -> Option<Known> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let is_renderer = before.map_or_else(|| is_renderer(pid), |known| known.is_renderer);
    let anonymous = bytes_of(&status, "RssAnon:")?;
    // what a renderer shares is in the others already
    let shared = if is_renderer { 0 } else { bytes_of(&status, "RssShmem:").unwrap_or(0) };
    let private = anonymous + shared;
    Some(match before {
        Some(known) if !is_exact && private.abs_diff(known.private_then) < GROWTH_BYTES => Known { private, ..*known },
        _ => Known { is_renderer, exact: pss(pid).unwrap_or(private), private_then: private, private },
    })
}

/// Proportional set size of a process, in bytes.
fn pss(pid: u32) -> Option<u64> {
    bytes_of(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, "Pss:")
}

/// Returns the number in the line of a text of the kernel that begins with `name`, in bytes.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn is_renderer(pid: u32) -> bool {
    command_line(pid).iter().any(|argument| argument == "--type=renderer")
}

/// The arguments of a process; in Chromium's own processes they are one text with blanks.
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

/// Sends a signal to a process; to one that is gone it matters no more.
pub(super) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
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
        tree.look(true);
        assert!(tree.others() > 1 << 20);
        assert_eq!(tree.renderers(), 0);
        assert!(tree.processes() > 0);
    }
}

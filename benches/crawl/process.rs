//! A process that is watched: its CPU, whole and by thread, its peak memory and its time.

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Ticks a second in /proc, on every Linux that this runs on.
const TICKS: f64 = 100.0;
/// Time between two looks at its memory, whose peak the kernel keeps until it ends.
const LOOK: Duration = Duration::from_millis(20);

/// Resources that a process took.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub user_s: f64,
    pub system_s: f64,
    pub wall_s: f64,
    /// Most memory seen, in bytes.
    pub peak_rss: u64,
    /// CPU of its threads in seconds, by their names; threads of one kind, which differ in their numbers, together.
    pub threads: BTreeMap<String, f64>,
}

impl Measured {
    /// Prints the CPU a page of each kind of threads.
    pub fn tell_threads(&self, name: &str, pages: u64) {
        let mut kinds: Vec<_> = self.threads.iter().filter(|(_, seconds)| **seconds > 0.0).collect();
        kinds.sort_by(|a, b| b.1.total_cmp(a.1));
        for (kind, seconds) in kinds {
            // the engine is the first thread, which has the name of the program
            println!("{name}: {kind:<16} {:>7.1} us/page", seconds * 1e6 / pages.max(1) as f64);
        }
    }
}

/// CPU of the threads that were seen last, in seconds, by their ids.
#[derive(Debug, Default)]
struct Threads(BTreeMap<u32, (String, f64)>);

impl Threads {
    /// Looks at all threads of a process. A thread that has ended keeps what it had.
    fn look(&mut self, pid: u32) {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
        for task in tasks.flatten() {
            let number = task.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            let read = |file: &str| fs::read_to_string(task.path().join(file)).ok();
            // the first figure of schedstat is the time on a core, in nanoseconds
            let on_core = read("schedstat").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
            if let (Some(number), Some(name), Some(on_core)) = (number, read("comm"), on_core) {
                let kind = name.trim().trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
                self.0.insert(number, (kind.to_owned(), on_core / 1e9));
            }
        }
    }

    fn by_kind(self) -> BTreeMap<String, f64> {
        let mut kinds = BTreeMap::new();
        for (kind, seconds) in self.0.into_values() {
            *kinds.entry(kind).or_default() += seconds;
        }
        kinds
    }
}

/// Waits for a process that was started at `start`, and calls `look` now and then. Its pipes must be read elsewhere.
pub fn watch(mut child: Child, start: Instant, mut look: impl FnMut(u32)) -> Result<Measured> {
    let (pid, number) = (Pid::from_child(&child), child.id());
    let (mut measured, mut threads) = (Measured::default(), Threads::default());
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(pid), options).context("cannot wait for the process")?.is_none() {
        measured.peak_rss = peak_rss(number).unwrap_or(measured.peak_rss);
        threads.look(number);
        look(number);
        std::thread::sleep(LOOK);
    }
    measured.wall_s = start.elapsed().as_secs_f64();
    measured.threads = threads.by_kind();
    (measured.user_s, measured.system_s) = cpu(number).context("an ended child has figures until it is collected")?;
    let status = child.wait()?;
    // wget ends with 8 where a server answered with an error, 404 for instance
    if !status.success() && status.code() != Some(8) {
        bail!("the process ended with {status}");
    }
    Ok(measured)
}

/// User and system time of a process so far, in seconds.
pub fn cpu(pid: u32) -> Option<(f64, f64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name, which may have spaces, ends with the last parenthesis; field 3 comes after it
    let fields = stat.rsplit_once(") ")?.1;
    let ticks = |field: usize| fields.split(' ').nth(field - 3)?.parse::<f64>().ok();
    Some((ticks(14)? / TICKS, ticks(15)? / TICKS))
}

fn peak_rss(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

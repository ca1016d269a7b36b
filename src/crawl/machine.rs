//! The machine's memory, and what of memory and cores is short while a crawl runs.
//!
//! Read from /proc, as often as somebody asks; where it says nothing, nothing is short.

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::Pressure;

/// Threads that run or wait to run for this share of all cores' time could use more of it.
const CORES_FULL: f64 = 0.9;
/// Part of the memory, one in this number, that has to be available, or memory is short.
const MEMORY_LEFT: u64 = 16;

/// Memory of the machine, or of the container that this process runs in.
pub(super) fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let machine = meminfo(&text, "MemTotal:")?;
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = container.and_then(|text| text.trim().parse::<u64>().ok());
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// A line of /proc/meminfo in bytes.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Looks at this process from time to time.
#[derive(Debug)]
pub(super) struct Lookout {
    cores: usize,
    looked: Instant,
    /// Nanoseconds for which each thread ran, and for which it waited for a core while it could have run.
    threads: HashMap<String, (u64, u64)>,
}

impl Lookout {
    /// Makes the lookout, which looks from now on.
    pub(crate) fn new() -> Lookout {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Lookout { cores, looked: Instant::now(), threads: threads() }
    }

    /// Returns what was short since the last look.
    pub(crate) fn look(&mut self) -> Pressure {
        let elapsed = self.looked.elapsed();
        let before = std::mem::replace(&mut self.threads, threads());
        self.looked = Instant::now();
        let cores = cores_are_full(&before, &self.threads, elapsed, self.cores);
        let memory = fs::read_to_string("/proc/meminfo").is_ok_and(|text| memory_is_short(&text));
        Pressure { cores, memory }
    }
}

/// Returns whether all threads together could have used more than the cores, or one of them more than its own.
fn cores_are_full(
    before: &HashMap<String, (u64, u64)>,
    now: &HashMap<String, (u64, u64)>,
    elapsed: Duration,
    cores: usize,
) -> bool {
    let (mut all, mut largest) = (0, 0);
    for (thread, (ran, waited)) in now {
        let (ran_before, waited_before) = before.get(thread).copied().unwrap_or_default();
        let ran = ran.saturating_sub(ran_before);
        largest = ran.max(largest);
        all += ran + waited.saturating_sub(waited_before);
    }
    let elapsed_ns = elapsed.as_nanos() as f64;
    all as f64 >= elapsed_ns * cores as f64 * CORES_FULL || largest as f64 >= elapsed_ns * CORES_FULL
}

fn memory_is_short(meminfo_text: &str) -> bool {
    let of = |name| meminfo(meminfo_text, name);
    matches!((of("MemTotal:"), of("MemAvailable:")), (Some(all), Some(left)) if left < all / MEMORY_LEFT)
}

fn threads() -> HashMap<String, (u64, u64)> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return HashMap::new() };
    let times = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let times = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some((entry.file_name().into_string().ok()?, times))
    };
    entries.filter_map(|entry| times(entry.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_full_when_threads_run_or_wait_for_nearly_all_of_their_time() {
        let second = Duration::from_secs(1);
        let threads = |times: &[(u64, u64)]| -> HashMap<String, (u64, u64)> {
            let ns = |ms: u64| ms * 1_000_000;
            times.iter().enumerate().map(|(n, (ran, waited))| (n.to_string(), (ns(*ran), ns(*waited)))).collect()
        };
        let before = threads(&[(5_000, 100), (200, 0)]);
        for (now, full) in [
            (threads(&[(5_500, 100), (700, 100)]), false),
            (threads(&[(5_800, 200), (900, 200)]), true),
            // waits for others, who use the cores
            (threads(&[(5_300, 700), (500, 800)]), true),
            (threads(&[(5_950, 100), (200, 0)]), true),
            // a thread that began in between
            (threads(&[(5_100, 100), (300, 0), (800, 900)]), true),
        ] {
            assert_eq!(cores_are_full(&before, &now, second, 2), full, "{now:?}");
        }
        assert!(!cores_are_full(&before, &threads(&[(5_800, 200), (900, 200)]), second, 8));
    }

    #[test]
    fn memory_is_short_when_a_sixteenth_is_left() {
        let text = |left_kb| format!("MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   {left_kb} kB\n");
        assert!(memory_is_short(&text(999_999)) && !memory_is_short(&text(1_000_000)) && !memory_is_short(""));
    }

    #[test]
    fn this_machine_tells() {
        assert!(memory().is_some_and(|bytes| bytes > 1 << 20));
        let mut lookout = Lookout::new();
        assert!(!lookout.threads.is_empty());
        assert_eq!(lookout.look().memory, memory_is_short(&fs::read_to_string("/proc/meminfo").unwrap()));
    }
}

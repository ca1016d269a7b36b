//! Figures of the operating system about this process.

use std::path::Path;
use std::time::Instant;

/// A moment of this process.
pub struct Process {
    at: Instant,
    cpu: f64,
}

/// Resources that were spent since a moment.
pub struct Spent {
    pub seconds: f64,
    /// Seconds of CPU of all threads, kernel included.
    pub cpu: f64,
}

impl Process {
    pub fn now() -> Self {
        Process { at: Instant::now(), cpu: cpu_seconds() }
    }

    pub fn until_now(&self) -> Spent {
        Spent { seconds: self.at.elapsed().as_secs_f64(), cpu: cpu_seconds() - self.cpu }
    }

    pub fn peak_rss_mb() -> f64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb: f64 = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0.0);
        kb * 1024.0 / 1e6
    }

    /// Bytes that were handed to the operating system to write.
    pub fn written() -> u64 {
        let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar:"));
        line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
    }
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

pub fn directory_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("the directory is there");
    entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
}

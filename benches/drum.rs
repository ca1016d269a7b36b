//! `cargo bench --bench drum -- [OPERATIONS] [DIRECTORY] [front]`: check+updates with 70 bytes of context, half of them
//! of keys that came before, merged on a second thread; prints what they cost.
//!
//! OPERATIONS (default 2,000,000) may have a suffix k or M. With `front` the LRU and the Bloom filter stand before it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use crawler::disk::{Disk, Result};
use crawler::drum::{Admission, Dispatcher, DrumOptions, FrontOptions, MergeDone, MergeJob, Need, Store};
use crawler::drum::{Drum, DrumCounters, FrontCounters};
use crawler::fingerprint::Fingerprint;

type Aux = [u8; 70];
type Job = MergeJob<Fingerprint, (), Aux>;
type Done = MergeDone<Fingerprint, (), Aux>;

const CUT_EVERY: u64 = 10_000_000;
/// More bytes than this wait for a merge: the caller waits too.
const BACKLOG_MAX: u64 = 2 << 30;

fn main() {
    let mut operations = 2_000_000;
    let (mut dir, mut front) = (None, false);
    for argument in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match (parse_count(&argument), argument.as_str()) {
            (Some(count), _) => operations = count,
            (None, "front") => front = true,
            (None, path) => dir = Some(PathBuf::from(path)),
        }
    }
    let parent = dir.unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::tempdir_in(parent).expect("a directory to work in");
    let done = std::thread::scope(|scope| {
        let (jobs, jobs_in) = sync_channel::<Job>(1);
        let (results_out, results) = sync_channel(1);
        scope.spawn(move || jobs_in.into_iter().try_for_each(|job| results_out.send(job.run()).map_err(drop)));
        let merger = Merger { jobs, results, running: false };
        Run::new(dir.path(), front, merger)?.run(operations)
    });
    done.expect("the disk works").print(operations, dir.path());
}

fn parse_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The DRUM alone or with its front.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
enum Subject {
    Drum(Drum<Fingerprint, (), Aux>),
    Store(Store<(), Aux>),
}

/// Calls the same method of either.
macro_rules! either {
    ($subject:expr, $it:ident => $call:expr) => {
        match $subject {
            Subject::Drum($it) => $call,
            Subject::Store($it) => $call,
        }
    };
}

/// The thread that merges.
struct Merger {
    jobs: SyncSender<Job>,
    results: Receiver<Result<Done>>,
    running: bool,
}

#[derive(Default)]
struct Tally {
    unique: u64,
    duplicate: u64,
}

impl Dispatcher<Fingerprint, (), Aux> for Tally {
    fn unique_key_update(&mut self, _: Fingerprint, _: (), _: Option<Aux>) -> Result<()> {
        self.unique += 1;
        Ok(())
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, _: (), _: Option<Aux>) -> Result<()> {
        self.duplicate += 1;
        Ok(())
    }
}

struct Run {
    subject: Subject,
    merger: Merger,
    tally: Tally,
    pause_max: Duration,
    pending_bytes_max: u64,
}

struct Report {
    tally: Tally,
    elapsed: Duration,
    pause_max: Duration,
    pending_bytes_max: u64,
    keys: u64,
    drum: DrumCounters,
    front: Option<FrontCounters>,
}

impl Run {
    fn new(dir: &Path, front: bool, merger: Merger) -> Result<Self> {
        let disk = Disk::real();
        let options = DrumOptions { buckets: 128, ram_per_bucket: 256 << 10, merge_threshold: 8 << 20 };
        let subject = match front {
            true => Subject::Store(Store::open(disk, dir, options, FrontOptions::default(), None, &mut |_| {})?),
            false => Subject::Drum(Drum::open(disk, dir, options, None)?),
        };
        Ok(Run { subject, merger, tally: Tally::default(), pause_max: Duration::ZERO, pending_bytes_max: 0 })
    }

    fn run(mut self, operations: u64) -> Result<Report> {
        let start = Instant::now();
        let mut state = 12_345_u64;
        for number in 0..operations {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
            let id = if number % 2 == 1 { mix(state) % (number + 1) } else { number };
            let key = Fingerprint::from_bits(mix(id.wrapping_mul(2_654_435_761).wrapping_add(99)));
            let mut aux = [b'u'; 70];
            aux[..8].copy_from_slice(&id.to_le_bytes());
            self.ask(key, aux)?;
            if number % 1024 == 0 {
                let before = Instant::now();
                self.attend(Need::Threshold)?;
                self.pause_max = self.pause_max.max(before.elapsed());
                self.hold_back()?;
            }
            if number % CUT_EVERY == CUT_EVERY - 1 {
                self.cut()?;
            }
        }
        while either!(&self.subject, it => it.pending()) > 0 {
            self.attend(Need::All)?;
            self.wait()?;
        }
        self.cut()?;
        let (drum, front) = match &self.subject {
            Subject::Drum(drum) => (drum.counters(), None),
            Subject::Store(store) => (store.drum_counters(), Some(store.counters())),
        };
        Ok(Report {
            elapsed: start.elapsed(),
            keys: either!(&self.subject, it => it.keys()),
            tally: self.tally,
            pause_max: self.pause_max,
            pending_bytes_max: self.pending_bytes_max,
            drum,
            front,
        })
    }

    fn ask(&mut self, key: Fingerprint, aux: Aux) -> Result<()> {
        match &mut self.subject {
            Subject::Drum(drum) => drum.check_update(key, (), Some(aux))?,
            Subject::Store(store) => match store.admit(key, (), aux)? {
                Admission::Unique(_) => self.tally.unique += 1,
                Admission::Duplicate(_) => self.tally.duplicate += 1,
                Admission::Pending => {}
            },
        }
        Ok(())
    }

    /// Takes what the merge thread has done, dispatches some results, gives it more to do.
    fn attend(&mut self, need: Need) -> Result<()> {
        match self.merger.results.try_recv() {
            Ok(done) => self.finish(done)?,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => panic!("the merge thread is gone"),
        }
        either!(&mut self.subject, it => it.dispatch(&mut self.tally, 4096))?;
        if !self.merger.running
            && let Some(job) = either!(&mut self.subject, it => it.next_merge(need))?
        {
            self.merger.jobs.send(job).expect("the merge thread lives");
            self.merger.running = true;
        }
        Ok(())
    }

    fn finish(&mut self, done: Result<Done>) -> Result<()> {
        self.merger.running = false;
        let done = done?;
        either!(&mut self.subject, it => it.finish_merge(done));
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        if self.merger.running {
            let done = self.merger.results.recv().expect("the merge thread lives");
            self.finish(done)?;
        }
        Ok(())
    }

    /// A checkpoint that is taken for durable at once: what is superseded is deleted.
    fn cut(&mut self) -> Result<()> {
        either!(&mut self.subject, it => it.cut(&mut Vec::new()).and_then(|_| it.committed()))
    }

    fn hold_back(&mut self) -> Result<()> {
        let backlog = |subject: &Subject| match subject {
            Subject::Drum(drum) => drum.counters().pending_bytes,
            Subject::Store(store) => store.drum_counters().pending_bytes,
        };
        let bytes = backlog(&self.subject);
        self.pending_bytes_max = self.pending_bytes_max.max(bytes);
        while backlog(&self.subject) > BACKLOG_MAX {
            self.attend(Need::All)?;
            self.wait()?;
        }
        Ok(())
    }
}

impl Report {
    fn print(&self, operations: u64, dir: &Path) {
        let on_disk: u64 = std::fs::read_dir(dir)
            .expect("the directory is there")
            .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
            .sum();
        let seconds = self.elapsed.as_secs_f64();
        println!("operations        {operations}");
        println!("unique, duplicate {}, {}", self.tally.unique, self.tally.duplicate);
        println!("elapsed           {seconds:.2} s, {:.0} operations/s", operations as f64 / seconds);
        println!("CPU               {:.2} s", cpu_seconds());
        println!("peak RSS          {} MB", peak_rss_kb() / 1024);
        println!(
            "keys              {}, {:.3} bytes a key",
            self.keys,
            self.drum.repository_bytes as f64 / self.keys as f64
        );
        println!("bytes on disk     {on_disk} at the end, {} pending at most", self.pending_bytes_max);
        println!("merges            {}, longest pause {:.1} ms", self.drum.merges, self.pause_max.as_secs_f64() * 1e3);
        if let Some(front) = self.front {
            println!("front             {front:?}");
        }
    }
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

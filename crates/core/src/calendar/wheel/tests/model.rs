//! Random records, time, cuts, faults and crashes against a map from records to their times.

use super::*;
use crate::disk::Ledger;
use crate::disk::simulated::{Fault, Restart};

/// A cut that may become durable, with what waited then.
#[derive(Clone)]
struct Saved {
    state: Vec<u8>,
    ram: Vec<u8>,
    waiting: BTreeMap<u64, Time>,
}

struct World {
    random: fastrand::Rng,
    memory: SimulatedDisk,
    options: WheelOptions,
    now: Time,
    /// The latest moment that the wheel heard of: clocks are set back.
    latest: Time,
    wheel: Wheel,
    /// Records that were put and not taken.
    waiting: BTreeMap<u64, Time>,
    next: u64,
    durable: Option<Saved>,
    cuts: u64,
    ledger: Ledger,
    read: Option<SlotRead>,
    done: Option<SlotDone>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let options = WheelOptions {
            buffer_bytes: random.usize(1..800),
            memory_bytes: random.usize(1..6_000),
            read_bytes: random.usize(1..10_000),
            ready_bytes: random.usize(1..2_000),
        };
        let memory = SimulatedDisk::new(seed);
        let wheel = super::open(&memory, options, None).unwrap();
        World {
            random,
            memory,
            options,
            now: start(),
            latest: start(),
            wheel,
            waiting: BTreeMap::new(),
            next: 0,
            durable: None,
            cuts: 0,
            ledger: Ledger::new(0),
            read: None,
            done: None,
        }
    }

    fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            if self.random.u16(0..300) == 0 {
                let fault = if self.random.bool() { Fault::Error } else { Fault::Full };
                self.memory.fail_at(self.memory.changes() + self.random.u64(1..=20), fault);
            }
            let crash = self.random.u8(0..120) == 0;
            if crash || self.step().is_err() {
                self.crash();
            }
            self.compare();
        }
        self.heal();
        if self.wheel.failed || self.read.is_some() || self.done.is_some() {
            self.crash();
        }
        self.now = self.latest + DAY * 200;
        self.latest = self.now;
        self.drain().unwrap();
        // what was put while work waited for hours comes with the day of that moment
        self.now = self.now + DAY;
        self.latest = self.now;
        self.drain().unwrap();
        assert!(self.waiting.is_empty(), "{:?}", self.waiting);
        assert_eq!(self.wheel.next_due(self.now), None);
        let cut = self.wheel.cut(&mut Vec::new()).unwrap();
        assert_eq!(cut.state.files(Path::new(DIR)).count(), 0);
    }

    fn heal(&self) {
        self.memory.clear_faults();
        self.memory.make_room();
    }

    fn step(&mut self) -> Result<()> {
        match self.random.u8(..30) {
            0 => self.cut(),
            1..4 => {
                let is_due = self.wheel.next_due(self.now) == Some(self.now);
                let read = self.wheel.next_read(self.now)?;
                assert!(is_due || read.is_none());
                self.read = read.or(self.read.take());
                Ok(())
            }
            4..7 => {
                self.ledger.supersede(0, self.wheel.take_unneeded());
                self.ledger.take(&self.memory.disk(), usize::MAX).run()?;
                if let Some(read) = self.read.take() {
                    self.done = Some(read.run()?);
                }
                Ok(())
            }
            7..10 => self.done.take().map_or(Ok(()), |done| self.wheel.finish_read(done, self.now)),
            10..14 => {
                (0..self.random.u8(..20)).for_each(|_| self.pop());
                Ok(())
            }
            14 => self.advance(),
            15 if self.read.is_none() && self.done.is_none() && self.random.u8(..4) == 0 => self.drain(),
            _ => self.put(),
        }
    }

    fn put(&mut self) -> Result<()> {
        let due = some_due(&mut self.random, self.now);
        let mut record = self.next.to_le_bytes().to_vec();
        let longer = if self.random.u8(..50) == 0 { 5_000 } else { 40 };
        record.resize(8 + self.random.usize(..longer), self.next as u8);
        self.wheel.put(due, &record, self.now)?;
        self.waiting.insert(self.next, due);
        self.next += 1;
        Ok(())
    }

    fn pop(&mut self) {
        let Some((due, record)) = self.wheel.pop() else { return };
        let number = u64::from_le_bytes(record[..8].try_into().unwrap());
        assert_eq!(self.waiting.remove(&number), Some(due), "record {number} comes once");
        assert!(comes_at(due) <= self.latest, "record {number} comes too early");
        assert!(record[8..].iter().all(|&byte| byte == number as u8));
    }

    /// Time passes, mostly little of it; now and then somebody sets the clock back.
    fn advance(&mut self) -> Result<()> {
        let seconds = match self.random.u8(..20) {
            0..8 => 600,
            8..14 => 3 * 3_600,
            14..18 => 86_400,
            _ => 40 * 86_400,
        };
        let step = Duration::from_secs(self.random.u64(..seconds));
        self.now = if self.random.u8(..30) == 0 { self.now - step } else { self.now + step };
        self.latest = self.latest.max(self.now);
        Ok(())
    }

    /// All that can be had now comes, and nothing that is due stays.
    fn drain(&mut self) -> Result<()> {
        loop {
            let read = self.wheel.next_read(self.now)?;
            let is_last = read.is_none();
            if let Some(read) = read {
                self.wheel.finish_read(read.run()?, self.now)?;
            }
            while self.wheel.figures(self.now).ready > 0 {
                self.pop();
            }
            if is_last && self.wheel.next_due(self.now) != Some(self.now) {
                break;
            }
        }
        if self.now == self.latest {
            let next = self.wheel.next_due(self.now);
            assert_eq!(next.is_none(), self.waiting.is_empty());
            // what was overdue when it was put, or dealt, comes with the slot of that moment
            let first = self.waiting.values().min().map(|due| comes_at(*due).max(comes_at(self.now)));
            assert!(first >= next, "{next:?} is too late for {first:?}");
        }
        Ok(())
    }

    /// Takes a cut and makes it durable, or dies on the way.
    fn cut(&mut self) -> Result<()> {
        let mut ram = Vec::new();
        let cut = self.wheel.cut(&mut ram)?;
        self.cuts += 1;
        self.ledger.supersede(self.cuts, cut.superseded);
        let saved = Saved { state: postcard::to_stdvec(&cut.state).unwrap(), ram, waiting: self.waiting.clone() };
        for _ in 0..self.random.usize(..10) {
            self.put()?;
        }
        if let Some(done) = self.done.take() {
            self.wheel.finish_read(done, self.now)?;
        }
        self.pop();
        let disk = self.memory.disk();
        for path in cut.sync {
            disk.open(path, Mode::Write)?.sync()?;
        }
        cut.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
        let died = |when: &'static str| Err(Error::io("go on", Path::new(DIR), std::io::Error::other(when)));
        if self.random.u8(0..10) == 0 {
            return died("a death before the checkpoint");
        }
        self.durable = Some(saved);
        if self.random.u8(0..10) == 0 {
            return died("a death before the deletion");
        }
        self.ledger.durable(self.cuts);
        Ok(())
    }

    fn crash(&mut self) {
        (self.read, self.done) = (None, None);
        self.heal();
        self.ledger = Ledger::new(self.cuts);
        self.memory.restart(if self.random.bool() { Restart::PowerCut } else { Restart::Killed });
        let saved = self.durable.as_ref();
        self.waiting = saved.map(|saved| saved.waiting.clone()).unwrap_or_default();
        let state: WheelState = saved.map(|saved| postcard::from_bytes(&saved.state).unwrap()).unwrap_or_default();
        let ram = saved.map_or(WheelState::EMPTY_RAM, |saved| &saved.ram);
        if saved.is_some() {
            let mut found = BTreeMap::new();
            for_each(&self.memory.disk(), Path::new(DIR), &state, ram, &mut |due, record| {
                let number = u64::from_le_bytes(record[..8].try_into().unwrap());
                assert_eq!(found.insert(number, due), None, "record {number} is there once");
                Ok(())
            })
            .unwrap();
            assert_eq!(found, self.waiting);
        }
        self.wheel = super::open(&self.memory, self.options, saved.map(|_| SavedState::new(&state, ram))).unwrap();
        let noted: BTreeMap<PathBuf, u64> = state.files(Path::new(DIR)).collect();
        let files = self.memory.files().into_iter().map(|(path, content)| (path, content.len() as u64));
        assert_eq!(files.collect::<BTreeMap<_, _>>(), noted);
    }

    fn compare(&self) {
        let figures = self.wheel.figures(self.now);
        if !self.wheel.failed {
            assert_eq!(figures.records, self.waiting.len() as u64);
        }
        let slots = self.wheel.slots.values();
        assert_eq!(slots.map(Slot::buffered).sum::<usize>(), self.wheel.buffered);
        assert!(self.wheel.failed || self.wheel.buffered <= self.options.memory_bytes);
        let longest = frame::BUFFER_BYTES_MAX.min(self.options.buffer_bytes) + 5_100;
        let ready_max = self.options.ready_bytes + self.options.read_bytes.max(4 << 10).max(longest);
        assert!(self.wheel.ready.bytes() <= ready_max, "{} bytes are ready", self.wheel.ready.bytes());
    }
}

#[test]
fn a_wheel_gives_what_a_map_would_whatever_happens_to_it() {
    for seed in 0..250 {
        let run = std::panic::catch_unwind(|| World::new(seed).run(900));
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn the_disk_may_fail_at_any_change() {
    for nth in 0..400 {
        let seed = 3_000 + nth % 5;
        let run = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            let fault = if nth % 2 == 0 { Fault::Error } else { Fault::Stop };
            world.memory.fail_at(world.memory.changes() + 1 + nth, fault);
            world.run(400);
        });
        assert!(run.is_ok(), "seed {seed}, change {nth}");
    }
}

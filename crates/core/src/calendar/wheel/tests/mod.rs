//! Tests of the wheel as a whole.

mod damage;
mod model;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::place::MINUTES_MS;
use super::*;
use crate::disk::SavedState;
use crate::disk::simulated::SimulatedDisk;

const DIR: &str = "calendar";
const SLOT: Duration = Duration::from_millis(MINUTES_MS);
const HOUR: Duration = Duration::from_secs(3_600);

/// A moment within a slot of the finest level.
fn start() -> Time {
    Time::from_ms(1_700_000_000_000)
}

/// The end of the finest slot of a time: then what is due in it comes out.
fn comes_at(due: Time) -> Time {
    Place::of(Level::Minutes, due).end()
}

fn open(memory: &SimulatedDisk, options: WheelOptions, saved: Option<SavedState<'_, WheelState>>) -> Result<Wheel> {
    Wheel::open(memory.disk(), Path::new(DIR), options, saved)
}

/// Reads and takes everything that can be had at `now`.
fn drain(wheel: &mut Wheel, now: Time, mut each: impl FnMut(Time, &[u8])) -> Result<()> {
    loop {
        let read = wheel.next_read(now)?;
        let is_last = read.is_none();
        if let Some(read) = read {
            wheel.finish_read(read.run()?, now)?;
        }
        while let Some((due, record)) = wheel.pop() {
            each(due, &record);
        }
        if is_last && wheel.next_due(now).is_none_or(|next| next > now) {
            return Ok(());
        }
    }
}

/// A due time as crawls have them: hours to months, some at once.
fn some_due(random: &mut fastrand::Rng, now: Time) -> Time {
    match random.u8(..12) {
        0 => now - Duration::from_secs(random.u64(..100_000)),
        1 | 2 => now + Duration::from_secs(random.u64(..3_600)),
        3..6 => now + Duration::from_secs(random.u64(..2 * 86_400)),
        6..9 => now + Duration::from_secs(random.u64(..20 * 86_400)),
        _ => now + Duration::from_secs(random.u64(..100 * 86_400)),
    }
}

#[test]
fn a_record_comes_with_the_slot_that_has_its_time_when_the_wheel_is_asked_at_next_due() {
    let memory = SimulatedDisk::default();
    let options = WheelOptions { buffer_bytes: 2_000, memory_bytes: 20_000, ..WheelOptions::default() };
    let mut wheel = open(&memory, options, None).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let (mut waiting, mut now) = (BTreeMap::new(), start());
    for number in 0..6_000_u64 {
        let due = some_due(&mut random, now);
        wheel.put(due, &number.to_le_bytes(), now).unwrap();
        waiting.insert(number, comes_at(due).max(now));
    }
    let (mut wakes, again) = (0, Rc::new(RefCell::new(Vec::new())));
    while let Some(next) = wheel.next_due(now) {
        assert!(next >= now);
        (now, wakes) = (next, wakes + 1);
        drain(&mut wheel, now, |_, record| {
            let number = u64::from_le_bytes(record.try_into().unwrap());
            assert_eq!(waiting.remove(&number), Some(now), "{number} comes once, and in time");
            if number < 100 && now < start() + DAY * 100 {
                again.borrow_mut().push(number);
            }
        })
        .unwrap();
        for number in again.borrow_mut().drain(..) {
            let due = some_due(&mut random, now).max(now + SLOT);
            wheel.put(due, &number.to_le_bytes(), now).unwrap();
            waiting.insert(number, comes_at(due));
        }
    }
    assert!(waiting.is_empty());
    assert_eq!(wheel.figures(now).records, 0);
    assert!(wakes < 100 * 24 * 60, "it wakes for slots only: {wakes}");
}

#[test]
fn slots_are_read_from_beginning_to_end_and_each_level_once() {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, WheelOptions::default(), None).unwrap();
    let mut now = start();
    for number in 0..30_000_u64 {
        let due = now + Duration::from_secs(3_600 + number * 100);
        wheel.put(due, &[number as u8; 200], now).unwrap();
    }
    let reads = Arc::new(Mutex::new(BTreeMap::<PathBuf, Vec<(u64, usize)>>::new()));
    let seen = reads.clone();
    memory.observe_reads(move |path, at, _, there| {
        if at >= file::CONTENT_AT {
            seen.lock().unwrap().entry(path.to_owned()).or_default().push((at, there));
        }
    });
    let mut taken = 0;
    while let Some(next) = wheel.next_due(now) {
        now = next;
        drain(&mut wheel, now, |_, _| taken += 1).unwrap();
    }
    assert_eq!(taken, 30_000);
    for (path, reads) in reads.lock().unwrap().iter() {
        assert!(reads.is_sorted(), "{path:?} {reads:?}");
    }
    let figures = wheel.figures(now);
    assert!(figures.bytes_read < figures.bytes_written + figures.bytes_written / 20, "{figures:?}");
    // days, hours and minutes; records of the first two days and hours skip levels
    assert!(figures.bytes_written < 30_000 * 210 * 3, "{figures:?}");
    assert!(figures.dealt > 50_000 && figures.dealt < 60_000, "{figures:?}");
}

#[test]
fn a_crawl_that_is_too_slow_keeps_few_slots_and_takes_the_oldest_first() {
    let memory = SimulatedDisk::default();
    let options = WheelOptions { ready_bytes: 500, ..WheelOptions::default() };
    let mut wheel = open(&memory, options, None).unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    let (mut now, mut put, mut most, mut last) = (start(), 0, 0, Time::ZERO);
    for _ in 0..40 * 288 {
        now = now + 5 * SLOT;
        for _ in 0..2 {
            let due = if put % 5 == 0 { now } else { some_due(&mut random, now) };
            wheel.put(due, &due.max(now).ms().to_le_bytes().repeat(8), now).unwrap();
            put += 1;
        }
        if now > start() + DAY * 20 && random.bool() {
            wheel.pop();
        }
        while let Some(read) = wheel.next_read(now).unwrap() {
            let done = read.run().unwrap();
            wheel.finish_read(done, now).unwrap();
        }
        most = most.max(wheel.slots.len());
        assert!(wheel.next_due(now).is_none_or(|next| next > now), "nothing is left to do until somebody takes");
    }
    assert!(most < 300, "{most} slots");
    let (figures, now) = (wheel.figures(now), now + SLOT);
    assert!(figures.late > DAY * 20 && figures.due_now > 5_000 && figures.due_now <= figures.due_today, "{figures:?}");
    // somebody takes after all: by day while it is very late, by slot in the end
    drain(&mut wheel, now, |_, record| {
        let due = Time::from_ms(u64::from_le_bytes(record[..8].try_into().unwrap()));
        last = last.max(due);
        assert!(due + DAY * 2 > last, "{due:?} comes behind {last:?}");
    })
    .unwrap();
    assert_eq!(wheel.figures(now).due_now, 0);
}

#[test]
fn after_months_without_a_crawl_everything_comes_at_once() {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, WheelOptions::default(), None).unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    (0..5_000).for_each(|_| wheel.put(some_due(&mut random, start()), b"record", start()).unwrap());
    let (later, mut taken) = (start() + DAY * 200, 0);
    assert_eq!(wheel.next_due(later), Some(later));
    drain(&mut wheel, later, |_, _| taken += 1).unwrap();
    assert_eq!((taken, wheel.next_due(later)), (5_000, None));
    assert!(wheel.figures(later).dealt < 2_500, "what lies in days is given out as it is");
}

#[test]
fn what_came_due_while_no_crawl_ran_comes_at_once_and_nothing_else_does() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let memory = SimulatedDisk::default();
        let mut wheel = open(&memory, WheelOptions::default(), None).unwrap();
        let dues: Vec<Time> = (0..2_000).map(|_| some_due(&mut random, start())).collect();
        dues.iter().for_each(|due| wheel.put(*due, b"record", start()).unwrap());
        let later = start() + Duration::from_secs(random.u64(..[7_200, 200_000, 90 * 86_400][seed as usize % 3]));
        let mut taken = 0;
        drain(&mut wheel, later, |_, _| taken += 1).unwrap();
        let is_over = |due: &&Time| comes_at(**due) <= later;
        assert_eq!(taken, dues.iter().filter(is_over).count(), "seed {seed}");
    }
}

#[test]
fn figures_count_by_slot() {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, WheelOptions::default(), None).unwrap();
    let now = start();
    let put = |wheel: &mut Wheel, delay: Duration| wheel.put(now + delay, b"0123456789", now).unwrap();
    let delays = [Duration::ZERO, HOUR, HOUR * 3, HOUR * 20, HOUR * 30, DAY * 5, DAY * 80];
    delays.into_iter().for_each(|delay| put(&mut wheel, delay));
    let figures = wheel.figures(now);
    let counts = (figures.records, figures.due_now, figures.due_today, figures.ready, figures.put);
    assert_eq!(counts, (7, 0, 4, 0, 7));
    let then = comes_at(now);
    assert_eq!(wheel.figures(then).due_now, 1);
    assert!(wheel.next_read(then).unwrap().is_none(), "all is in memory");
    let figures = wheel.figures(then);
    assert_eq!((figures.records, figures.due_now, figures.ready, figures.late), (7, 1, 1, Duration::ZERO));
    assert_eq!(wheel.pop(), Some((now, b"0123456789"[..].into())));
    assert_eq!((wheel.figures(then).records, wheel.figures(then).taken), (6, 1));
    assert_eq!(wheel.figures(comes_at(now + HOUR) + HOUR).late, HOUR);
}

#[test]
fn a_record_that_is_too_long_is_refused_and_the_wheel_goes_on() {
    let memory = SimulatedDisk::default();
    let mut wheel = open(&memory, WheelOptions::default(), None).unwrap();
    let longest = vec![7; RECORD_BYTES_MAX];
    let error = wheel.put(start(), &[&longest[..], b"x"].concat(), start()).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    (0..3).for_each(|_| wheel.put(start() + DAY, &longest, start()).unwrap());
    let mut taken = 0;
    drain(&mut wheel, comes_at(start() + DAY), |_, record| taken += usize::from(record == longest)).unwrap();
    assert_eq!(taken, 3);
}

#[test]
fn what_a_clock_put_down_that_was_ahead_comes_at_once_and_is_cut_and_opened_again_before_it_came() {
    let memory = SimulatedDisk::default();
    let options = WheelOptions { buffer_bytes: 2_000, memory_bytes: 20_000, ..WheelOptions::default() };
    let (now, longest) = (start(), DAY * 30);
    for ahead in [DAY * 32, DAY * 400, DAY * 3_650] {
        let mut wheel = open(&memory, options, None).unwrap();
        let mut random = fastrand::Rng::with_seed(5);
        for number in 0..2_000_u64 {
            let due = now + ahead + Duration::from_secs(random.u64(..30 * 86_400));
            wheel.put(due, &number.to_le_bytes(), now + ahead).unwrap();
        }
        // by a right clock, before and after that
        wheel.put(now + DAY * 29, &2_000_u64.to_le_bytes(), now).unwrap();
        let mut left: std::collections::BTreeSet<u64> = (0..2_000).collect();
        for _ in 0..3 {
            let mut ram = Vec::new();
            let cut = wheel.cut(&mut ram).unwrap();
            wheel = open(&memory, options, Some(SavedState::new(&cut.state, &ram))).unwrap();
            wheel.bound_by(longest);
            assert!(left.is_empty() || wheel.has_ready() || wheel.next_due(now) == Some(now));
            if let Some(read) = wheel.next_read(now).unwrap() {
                wheel.finish_read(read.run().unwrap(), now).unwrap();
            }
            for _ in 0..10 {
                let Some((_, record)) = wheel.pop() else { break };
                assert!(left.remove(&u64::from_le_bytes(record[..].try_into().unwrap())), "it comes once");
            }
        }
        drain(&mut wheel, now, |_, record| {
            assert!(left.remove(&u64::from_le_bytes(record.try_into().unwrap())), "it comes once");
        })
        .unwrap();
        let figures = wheel.figures(now);
        assert_eq!((left.len(), figures.records, figures.due_now), (0, 1, 0), "{ahead:?}");
        let next = figures.next.unwrap();
        assert!(next > now + DAY * 27 && next < now + DAY * 30, "what the right clock put down comes in time");
    }
}

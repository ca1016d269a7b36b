//! Runs for each mutant the tests that reach it, the fastest and nearest first, until one fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::find::Mutant;
use crate::tests::{self, End, Place, Test};

/// Tests that run in one process: starting one costs more than a quick test.
const BATCH_TIME_MAX: Duration = Duration::from_millis(500);
const BATCH_MAX: usize = 32;

/// What became of a mutant.
enum Verdict {
    Killed(String),
    TimedOut,
    /// After so many tests; so many others were left out, because they would have taken too long.
    Survived {
        run: usize,
        left_out: usize,
    },
    NotReached,
}

/// Mutants of a room by verdict.
#[derive(Default)]
struct Figures {
    killed: usize,
    timed_out: usize,
    survived: usize,
    not_reached: usize,
}

/// Runs `mutants` in this order. One is given tests that take at most `time_max` without it, behind those that such a
/// run with `after` gave it.
pub fn all(
    places: &[Place],
    tests: &[Test],
    mutants: &[Mutant],
    (after, time_max): (Duration, Duration),
) -> Result<(), String> {
    let figures: Mutex<BTreeMap<&str, Figures>> = Mutex::default();
    tests::in_parallel(places, mutants, |place, at, mutant| {
        let began = Instant::now();
        let verdict = judged(place, tests, mutant, (after, time_max))?;
        let mut figures = figures.lock().expect("no worker panics");
        let room = figures.entry(&mutant.room).or_default();
        let (text, count) = match verdict {
            Verdict::Killed(by) => (format!("killed by {by}"), &mut room.killed),
            Verdict::TimedOut => ("killed by time".to_owned(), &mut room.timed_out),
            Verdict::Survived { run, left_out } => {
                (format!("SURVIVED {run} tests, {left_out} not run"), &mut room.survived)
            }
            Verdict::NotReached => ("NOT REACHED".to_owned(), &mut room.not_reached),
        };
        *count += 1;
        let (file, line, seconds) = (mutant.file.display(), mutant.line, began.elapsed().as_secs_f64());
        let (of, number, change) = (mutants.len(), mutant.number, change(&place.tree, mutant));
        println!("{}/{of} #{number} {file}:{line} {text}, {seconds:.1} s\n{change}", at + 1);
        Ok(())
    })?;
    println!("room: killed by a test, by time, survived, not reached");
    for (room, f) in figures.into_inner().expect("no worker panics") {
        println!("{room}: {}, {}, {}, {}", f.killed, f.timed_out, f.survived, f.not_reached);
    }
    Ok(())
}

/// The original code and what is there instead.
fn change(tree: &Path, mutant: &Mutant) -> String {
    let text = std::fs::read_to_string(tree.with_file_name("fresh").join(&mutant.file)).unwrap_or_default();
    let original = flat(text.get(mutant.bytes.clone()).unwrap_or_default());
    let instead = if mutant.statement { "(left out)".to_owned() } else { flat(&mutant.code) };
    format!("    {original}\n    -> {instead}")
}

fn flat(code: &str) -> String {
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn judged(
    place: &Place,
    tests: &[Test],
    mutant: &Mutant,
    (after, time_max): (Duration, Duration),
) -> Result<Verdict, String> {
    let mut reaching: Vec<&Test> = tests.iter().filter(|test| test.reached.contains(&mutant.number)).collect();
    if reaching.is_empty() {
        return Ok(Verdict::NotReached);
    }
    reaching.sort_by_key(|test| cost(mutant, test));
    let (ran, rest) = fitting(reaching, after);
    let (reaching, left_out) =
        fitting(if after.is_zero() { ran.into_iter().chain(rest).collect() } else { rest }, time_max);
    for batch in batches(&reaching) {
        match tests::run(place, batch, mutant.number, tests::patience(batch))? {
            End::Passed => {}
            End::Failed(name) => return Ok(Verdict::Killed(name)),
            End::TimedOut => return Ok(Verdict::TimedOut),
        }
    }
    Ok(Verdict::Survived { run: reaching.len(), left_out: left_out.len() })
}

/// Those of `tests` that take at most `time_max` together, the first in any case, and the others.
fn fitting(tests: Vec<&Test>, time_max: Duration) -> (Vec<&Test>, Vec<&Test>) {
    let mut total = Duration::ZERO;
    tests.into_iter().partition(|test| {
        let fits = total.is_zero() || total + test.time <= time_max;
        total += if fits { test.time } else { Duration::ZERO };
        fits
    })
}

/// Tests of the mutant's own module are the likeliest to notice it: with each name that a test's path shares with the
/// module's, it counts for a quarter of its time.
fn cost(mutant: &Mutant, test: &Test) -> Duration {
    let file = mutant.file.with_extension("");
    let module = file.iter().skip(1).map(|name| name.to_string_lossy());
    let shared = module.zip(test.name.split("::")).take_while(|(module, name)| module == name).count();
    test.time / 4u32.pow(shared as u32)
}

/// Neighbours of one program that together are quick.
fn batches<'a, 'b>(tests: &'b [&'a Test]) -> Vec<&'b [&'a Test]> {
    let mut batches = Vec::new();
    let mut rest = tests;
    while let Some(first) = rest.first() {
        let mut time = Duration::ZERO;
        let fits = |test: &&&Test| {
            time += test.time;
            time <= BATCH_TIME_MAX && test.program == first.program
        };
        let count = rest.iter().take(BATCH_MAX).take_while(fits).count().max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}

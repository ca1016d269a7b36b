//! Mutation testing: which small mistakes in the core would no test notice?
//!
//! `cargo mutants` builds the crate once for each mutant, which takes minutes each. This tool builds once: it copies
//! the repository, writes every chosen mutant beside the original code behind a test of the environment (`if
//! crate::mutant::is(17) { mutated } else { original }`), and runs the same test programs with `MUTANT=17`. (Untch,
//! Offutt, Harrold: Mutation Analysis Using Mutant Schemata, ISSTA 1993.) Every test of these rooms, of the simulator
//! and of `tests/engine` first runs by itself without a mutant, which says how long it takes and which mutants it
//! reaches; one that takes longer than 40 s is left out. Then each mutant runs only the tests that reach it, the
//! fastest and nearest first, until one fails.
//!
//! ```text
//! cargo run --release --manifest-path .ci/mutants/Cargo.toml -- [--rooms engine,frontier,drum,container]
//!           [--count 200] [--seed 1] [--only 17,23] [--tests frontier::] [--seconds 60] [--after 0]
//!           [--at crates/core/src/drum/sort.rs:17] [--jobs 1]
//! ```
//! A mutant is killed when a test fails, panics, or takes far longer than without it. It is given tests that take
//! `--seconds` together without it; a survivor's line says how many were not run, and
//! with `--after` only these are run. Mutants are run in an order by the seed,
//! so that a run that is stopped has judged a random sample too. `--tests` runs only tests whose names contain one
//! of the texts; `--at` takes the mutants of these lines first.

mod find;
mod plant;
mod run;
mod tests;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What the command line asks for.
struct Wanted {
    rooms: Vec<String>,
    count: usize,
    seed: u64,
    jobs: usize,
    at: Vec<String>,
    only: Vec<usize>,
    tests: Vec<String>,
    after: Duration,
    time_max: Duration,
}

impl Wanted {
    fn parse() -> Result<Self, String> {
        let rooms = ["engine", "frontier", "drum", "container"].map(str::to_owned).to_vec();
        let (at, only, tests, time_max) = (Vec::new(), Vec::new(), Vec::new(), Duration::from_secs(60));
        let mut wanted =
            Wanted { rooms, count: 200, seed: 1, jobs: 1, at, only, tests, after: Duration::ZERO, time_max };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name} needs a value"))?;
            let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{name} {text}: {e}"));
            match name.as_str() {
                "--rooms" => wanted.rooms = value.split(',').map(str::to_owned).collect(),
                "--count" => wanted.count = number(&value)? as usize,
                "--seed" => wanted.seed = number(&value)?,
                "--jobs" => wanted.jobs = number(&value)?.max(1) as usize,
                "--after" => wanted.after = Duration::from_secs(number(&value)?),
                "--seconds" => wanted.time_max = Duration::from_secs(number(&value)?),
                "--only" => {
                    let numbers: Result<Vec<u64>, String> = value.split(',').map(number).collect();
                    wanted.only = numbers?.into_iter().map(|number| number as usize).collect();
                }
                "--at" => wanted.at = value.split(',').map(str::to_owned).collect(),
                "--tests" => wanted.tests = value.split(',').map(str::to_owned).collect(),
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(wanted)
    }
}

fn main() -> ExitCode {
    match Wanted::parse().and_then(|wanted| work(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(wanted: &Wanted) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().map_err(|e| e.to_string())?;
    let dir = root.join("target/mutants");
    let tree = dir.join("tree");
    let place = |number: usize| tests::Place {
        tree: tree.clone(),
        tmp: dir.join(format!("tmp{number}")),
        output: dir.join(format!("output{number}")),
        reached: dir.join(format!("reached{number}")),
    };
    let places: Vec<tests::Place> = (1..=wanted.jobs).map(place).collect();
    let fresh = dir.join("fresh");
    plant::copy(&root, &fresh, &["target/"])?;
    let all = find::mutants(&fresh, &wanted.rooms)?;
    println!("{} mutants in {}, seed {}", all.len(), wanted.rooms.join(", "), wanted.seed);
    let mut chosen = plant::choose(all, wanted.count, wanted.seed, &wanted.at);
    let programs = plant::build(&root, &tree, &dir.join("build"), &mut chosen)?;
    println!("{} mutants planted", chosen.len());
    let rooms: Vec<String> = wanted.rooms.iter().map(|room| format!("{room}::")).collect();
    let tests = tests::recorded(&places, &programs, &dir.join("tests.tsv"), |program, name| {
        let is_of_a_room = rooms.iter().any(|room| name.starts_with(room));
        let is_of_the_library = program.file_name().is_some_and(|file| file.to_string_lossy().starts_with("crawler-"));
        let is_asked_for = wanted.tests.is_empty() || wanted.tests.iter().any(|text| name.contains(text.as_str()));
        (is_of_a_room || !is_of_the_library) && is_asked_for
    })?;
    let seconds = tests.iter().map(|test| test.time).sum::<Duration>().as_secs();
    println!("{} tests take {seconds} s by themselves", tests.len());
    fastrand::Rng::with_seed(wanted.seed).shuffle(&mut chosen);
    chosen.retain(|mutant| wanted.only.is_empty() || wanted.only.contains(&mutant.number));
    run::all(&places, &tests, &chosen, (wanted.after, wanted.time_max))
}

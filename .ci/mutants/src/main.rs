//! Mutation testing: which small mistakes in the core would no test notice?
//!
//! `cargo mutants` builds the crate once for each mutant, which takes minutes each. This tool builds once: it copies the
//! repository, writes every chosen mutant beside the original code behind a test of the environment
//! (`if crate::mutant::is(17) { mutated } else { original }`), and then runs the same test programs once for each
//! mutant with `MUTANT=17`. (Untch, Offutt, Harrold: Mutation Analysis Using Mutant Schemata, ISSTA 1993.)
//!
//! ```text
//! cargo run --release --manifest-path .ci/mutants/Cargo.toml -- [--rooms engine,frontier,drum,container]
//!           [--count 200] [--seed 1] [--only 17,23]
//! ```
//! A mutant is killed when a test fails, panics, or takes far longer than without it. Survivors are printed with file,
//! line, original and mutated code.

mod find;
mod plant;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the command line asks for.
struct Wanted {
    rooms: Vec<String>,
    count: usize,
    seed: u64,
    only: Vec<usize>,
}

impl Wanted {
    fn parse() -> Result<Self, String> {
        let rooms = ["engine", "frontier", "drum", "container"].map(str::to_owned).to_vec();
        let mut wanted = Wanted { rooms, count: 200, seed: 1, only: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name} needs a value"))?;
            let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{name} {text}: {e}"));
            match name.as_str() {
                "--rooms" => wanted.rooms = value.split(',').map(str::to_owned).collect(),
                "--count" => wanted.count = number(&value)? as usize,
                "--seed" => wanted.seed = number(&value)?,
                "--only" => {
                    let numbers: Result<Vec<u64>, String> = value.split(',').map(number).collect();
                    wanted.only = numbers?.into_iter().map(|number| number as usize).collect();
                }
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
    let place = root.join("target/mutants");
    let tree: PathBuf = place.join("tree");
    plant::copy(&root, &tree)?;
    let all = find::mutants(&tree, &wanted.rooms)?;
    println!("{} mutants in {}, seed {}", all.len(), wanted.rooms.join(", "), wanted.seed);
    let mut chosen = plant::choose(all, wanted.count, wanted.seed);
    let programs = plant::build(&root, &tree, &place.join("build"), &mut chosen)?;
    run::all(&tree, &programs, &chosen, &wanted.only)
}

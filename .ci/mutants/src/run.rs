//! Runs the test programs once for each mutant.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::find::Mutant;

/// A run with a mutant may take so many times as long as one without.
const PATIENCE_FACTOR: u32 = 6;
const PATIENCE_MIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    TimedOut,
}

/// Tests that are run together: a program and what it is asked for.
struct Stage {
    program: PathBuf,
    filters: Vec<String>,
    patience: Duration,
}

/// Runs everything and prints what survived.
pub fn all(tree: &Path, programs: &[PathBuf], chosen: &[Mutant], only: &[usize]) -> Result<(), String> {
    let rooms: std::collections::BTreeSet<&str> = chosen.iter().map(|mutant| mutant.room.as_str()).collect();
    let mut stages = std::collections::BTreeMap::new();
    for room in rooms {
        stages.insert(room, measured(tree, programs, room)?);
    }
    let mut survivors = Vec::new();
    let wanted: Vec<&Mutant> =
        chosen.iter().filter(|mutant| only.is_empty() || only.contains(&mutant.number)).collect();
    for (at, mutant) in wanted.iter().enumerate() {
        let began = Instant::now();
        let killer = killer(tree, &stages[mutant.room.as_str()], mutant)?;
        let verdict = killer.map_or("SURVIVED".to_owned(), |(stage, end)| format!("{end:?} in stage {stage}"));
        let (file, line, seconds) = (mutant.file.display(), mutant.line, began.elapsed().as_secs());
        println!("{}/{} #{} {file}:{line} {verdict}, {seconds} s", at + 1, wanted.len(), mutant.number);
        if killer.is_none() {
            survivors.push(*mutant);
        }
    }
    println!("\n{} of {} killed; survivors:", wanted.len() - survivors.len(), wanted.len());
    for mutant in survivors {
        let text = std::fs::read_to_string(tree.join("../fresh").join(&mutant.file)).unwrap_or_default();
        let (original, code) = (flat(&text[mutant.bytes.clone()]), flat(&mutant.code));
        let instead = if mutant.statement { "(left out)".to_owned() } else { code };
        println!("#{} {}:{}\n    {original}\n    -> {instead}", mutant.number, mutant.file.display(), mutant.line);
    }
    Ok(())
}

fn flat(code: &str) -> String {
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The stages for a room, each with its patience by a run without a mutant, which has to pass.
fn measured(tree: &Path, programs: &[PathBuf], room: &str) -> Result<Vec<Stage>, String> {
    let of = |name: &str| {
        let is = |path: &&PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
        programs.iter().find(is).cloned().ok_or(format!("no test program {name}"))
    };
    let filters = [vec![format!("{room}::")], vec!["simulator::".to_owned()], Vec::new()];
    let programs = [of("crawler-")?, of("crawler-")?, of("engine-")?];
    let mut stages = Vec::new();
    for (program, filters) in programs.into_iter().zip(filters) {
        let mut stage = Stage { program, filters, patience: Duration::from_secs(1_800) };
        let began = Instant::now();
        let end = run(tree, &stage, 0)?;
        if end != End::Passed {
            return Err(format!("without a mutant, {:?} of {:?} {end:?}", stage.filters, stage.program));
        }
        stage.patience = (began.elapsed() * PATIENCE_FACTOR).max(PATIENCE_MIN);
        println!("{room}: {:?} takes {:.1} s", stage.filters, began.elapsed().as_secs_f64());
        stages.push(stage);
    }
    Ok(stages)
}

fn killer(tree: &Path, stages: &[Stage], mutant: &Mutant) -> Result<Option<(usize, End)>, String> {
    for (at, stage) in stages.iter().enumerate() {
        let end = run(tree, stage, mutant.number)?;
        if end != End::Passed {
            return Ok(Some((at, end)));
        }
    }
    Ok(None)
}

fn run(tree: &Path, stage: &Stage, mutant: usize) -> Result<End, String> {
    let child = Command::new(&stage.program)
        .args(&stage.filters)
        .current_dir(tree)
        .env("MUTANT", mutant.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", stage.program.display()))?;
    wait(&mut child, stage.patience)
}

fn wait(child: &mut Child, patience: Duration) -> Result<End, String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(End::Passed),
            Some(_) => return Ok(End::Failed),
            None if began.elapsed() > patience => {
                let killed = child.kill().and_then(|()| child.wait());
                return killed.map(|_| End::TimedOut).map_err(|e| e.to_string());
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

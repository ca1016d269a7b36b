//! The tests, each with the time that it takes and the mutants that it reaches: one run of every test by itself.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run with a mutant may take so many times as long as one without.
const PATIENCE_FACTOR: u32 = 10;
const PATIENCE_MIN: Duration = Duration::from_secs(15);
const PATIENCE_UNMEASURED: Duration = Duration::from_secs(900);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How a run of tests ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All passed.
    Passed,
    /// The named one failed, or their process ended otherwise.
    Failed(String),
    /// They took far longer than without a mutant.
    TimedOut,
}

/// A test of one of the programs.
pub struct Test {
    /// Its program.
    pub program: PathBuf,
    /// Its name in there.
    pub name: String,
    /// What it takes without a mutant.
    pub time: Duration,
    /// Numbers of the mutants whose code it runs.
    pub reached: BTreeSet<usize>,
}

/// Where the tests run.
pub struct Place {
    /// The copy of the repository.
    pub tree: PathBuf,
    /// For their directories, emptied after runs that left some.
    pub tmp: PathBuf,
    /// What the last run printed.
    pub output: PathBuf,
}

/// Runs every test of `programs` whose name contains `filter` once. Those that fail without a mutant are left out.
pub fn recorded(place: &Place, programs: &[PathBuf], filter: &str) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    for program in programs {
        for name in names(program, &place.tree)?.into_iter().filter(|name| name.contains(filter)) {
            let mut test = Test { program: program.clone(), name, time: Duration::ZERO, reached: BTreeSet::new() };
            let log = place.tmp.with_file_name("reached");
            File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
            let began = Instant::now();
            match run(place, &[&test], 0, Some(&log), PATIENCE_UNMEASURED)? {
                End::Passed => {
                    test.time = began.elapsed();
                    let text = std::fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
                    test.reached = text.lines().filter_map(|line| line.parse().ok()).collect();
                    tests.push(test);
                }
                end => println!("left out, because without a mutant it ends so: {}: {end:?}", test.name),
            }
        }
    }
    Ok(tests)
}

fn names(program: &Path, tree: &Path) -> Result<Vec<String>, String> {
    let output = Command::new(program).args(["--list", "--format", "terse"]).current_dir(tree).output();
    let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// How long `tests` may take with a mutant.
pub fn patience(tests: &[&Test]) -> Duration {
    (tests.iter().map(|test| test.time).sum::<Duration>() * PATIENCE_FACTOR).max(PATIENCE_MIN)
}

/// Runs `tests`, which are of one program, one after the other with `mutant` awake.
pub fn run(
    place: &Place,
    tests: &[&Test],
    mutant: usize,
    log: Option<&Path>,
    patience: Duration,
) -> Result<End, String> {
    let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    std::fs::create_dir_all(&place.tmp).map_err(|e| format!("{}: {e}", place.tmp.display()))?;
    let mut command = Command::new(&tests[0].program);
    command.args(["--exact", "--test-threads", "1"]).args(tests.iter().map(|test| &test.name));
    command.current_dir(&place.tree).env("MUTANT", mutant.to_string()).env("TMPDIR", &place.tmp);
    if let Some(log) = log {
        command.env("MUTANTS_REACHED", log);
    }
    command.stdin(Stdio::null()).stdout(file(&place.output)?).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", tests[0].program.display()))?;
    let end = wait(&mut child, patience)?;
    if end == End::Passed {
        return Ok(end);
    }
    std::fs::remove_dir_all(&place.tmp).map_err(|e| format!("{}: {e}", place.tmp.display()))?;
    let end = if end == End::TimedOut { end } else { End::Failed(failed(&place.output)) };
    Ok(end)
}

/// The test that failed, by what was printed.
fn failed(output: &Path) -> String {
    let text = std::fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let name = |line: &str| Some(line.strip_prefix("test ")?.split(' ').next()?.to_owned());
    let failed = text.lines().find(|line| line.ends_with("FAILED") && line.starts_with("test ")).and_then(name);
    failed.or_else(|| text.lines().filter_map(name).last()).unwrap_or("an abort".to_owned())
}

fn wait(child: &mut Child, patience: Duration) -> Result<End, String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(End::Passed),
            Some(_) => return Ok(End::Failed(String::new())),
            None if began.elapsed() > patience => {
                let killed = child.kill().and_then(|()| child.wait());
                return killed.map(|_| End::TimedOut).map_err(|e| e.to_string());
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

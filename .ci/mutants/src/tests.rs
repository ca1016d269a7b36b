//! The tests, each with the time that it takes and the mutants that it reaches: one run of every test by itself.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A run with a mutant may take this many times as long as one without.
const PATIENCE_FACTOR: u32 = 10;
const PATIENCE_MIN: Duration = Duration::from_secs(15);
/// A test that takes longer is left out.
const TEST_TIME_MAX: Duration = Duration::from_secs(40);
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

/// Where the tests of one worker run.
#[derive(Clone)]
pub struct Place {
    /// The copy of the repository.
    pub tree: PathBuf,
    /// For their directories, emptied after runs that left some.
    pub tmp: PathBuf,
    /// What the last run printed.
    pub output: PathBuf,
    /// Mutants that the last run reached.
    pub reached: PathBuf,
}

/// The tests of `programs` that are `wanted`, each run once; one that fails without a mutant is left out. What is known
/// of these programs is kept in `known`, so that a run that was stopped goes on.
pub fn recorded(
    places: &[Place],
    programs: &[PathBuf],
    known: &Path,
    wanted: impl Fn(&Path, &str) -> bool,
) -> Result<Vec<Test>, String> {
    let mut head = String::new();
    for program in programs {
        let built = std::fs::metadata(program).and_then(|metadata| metadata.modified()).map_err(|e| e.to_string())?;
        head += &format!("{} {built:?} ", program.display());
    }
    let text = std::fs::read_to_string(known).unwrap_or_default();
    let text = if text.lines().next() == Some(&head) { text } else { format!("{head}\n") };
    std::fs::write(known, &text).map_err(|e| format!("{}: {e}", known.display()))?;
    let mut tests: Vec<Test> = text.lines().skip(1).filter_map(|line| Test::of_line(line, programs)).collect();
    let mut names_left = Vec::new();
    for program in programs {
        let is_new = |name: &String| !tests.iter().any(|test| test.program == *program && test.name == *name);
        let names = names(program, &places[0].tree)?.into_iter();
        names_left.extend(names.filter(|name| wanted(program, name)).filter(is_new).map(|name| (program, name)));
    }
    let log = Mutex::new(File::options().append(true).open(known).map_err(|e| e.to_string())?);
    let new = in_parallel(places, &names_left, |place, _, (program, name)| {
        let test = measured(place, program, name)?;
        let mut log = log.lock().expect("no worker panics");
        log.write_all(test.line().as_bytes()).map_err(|e| e.to_string())?;
        Ok(test)
    })?;
    tests.extend(new);
    tests.retain(|test| wanted(&test.program, &test.name));
    Ok(tests)
}

/// Does `work` with each of `items`, in their order, one at a time in each place.
pub fn in_parallel<'i, I: Sync, R: Send>(
    places: &[Place],
    items: &'i [I],
    work: impl Fn(&Place, usize, &'i I) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let next = AtomicUsize::new(0);
    let worker = |place: &Place| -> Result<Vec<R>, String> {
        let mut done = Vec::new();
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            done.push(work(place, at, item)?);
        }
        Ok(done)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = places.iter().map(|place| scope.spawn(|| worker(place))).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a worker panicked")??);
        }
        Ok(all)
    })
}

fn measured(place: &Place, program: &Path, name: &str) -> Result<Test, String> {
    let (program, name) = (program.to_owned(), name.to_owned());
    let mut test = Test { program, name, time: Duration::ZERO, reached: BTreeSet::new() };
    File::create(&place.reached).map_err(|e| format!("{}: {e}", place.reached.display()))?;
    let began = Instant::now();
    match run(place, &[&test], 0, TEST_TIME_MAX)? {
        End::Passed => {
            let text = std::fs::read_to_string(&place.reached).map_err(|e| e.to_string())?;
            test.reached = text.lines().filter_map(|line| line.parse().ok()).collect();
        }
        end => println!("left out, because without a mutant it ends so: {}: {end:?}", test.name),
    }
    test.time = began.elapsed();
    Ok(test)
}

impl Test {
    fn line(&self) -> String {
        let reached: Vec<String> = self.reached.iter().map(usize::to_string).collect();
        format!("{}\t{}\t{}\t{}\n", self.program.display(), self.name, self.time.as_millis(), reached.join(" "))
    }

    fn of_line(line: &str, programs: &[PathBuf]) -> Option<Self> {
        let mut cells = line.split('\t');
        let program =
            programs.iter().find(|program| Some(&*program.to_string_lossy()) == cells.clone().next())?.clone();
        let name = cells.nth(1)?.to_owned();
        let time = Duration::from_millis(cells.next()?.parse().ok()?);
        let reached = cells.next()?.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        Some(Test { program, name, time, reached })
    }
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
pub fn run(place: &Place, tests: &[&Test], mutant: usize, patience: Duration) -> Result<End, String> {
    let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    std::fs::create_dir_all(&place.tmp).map_err(|e| format!("{}: {e}", place.tmp.display()))?;
    let mut command = Command::new(&tests[0].program);
    command.args(["--exact", "--test-threads", "1"]).args(tests.iter().map(|test| &test.name));
    command.current_dir(&place.tree).env("MUTANT", mutant.to_string()).env("TMPDIR", &place.tmp);
    if mutant == 0 {
        command.env("MUTANTS_REACHED", &place.reached);
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
    failed.or_else(|| text.lines().filter_map(name).next_back()).unwrap_or("an abort".to_owned())
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

//! `cargo bench --bench frontier -- [URLS] [spread|giant] [DIRECTORY]`: queues URLs in the frontier, cuts, opens it
//! again from the cut and takes all of them out, with the options of a crawl but no delays; prints what that costs.
//!
//! URLS (default 1M) may have a suffix k or M. `spread` lays them over a million hosts, `giant` on one; without either
//! both are run, each in its own process, so that the peak of memory is its own. Partition jobs run on a second
//! thread, cuts are made durable by a third, one every two million URLs.

mod crew;
mod figures;
mod owner;
mod urls;

use std::path::{Path, PathBuf};

use crawler::disk::Result;

use crew::with_crew;
use figures::{Process, Spent, directory_bytes};
use owner::Owner;
use urls::Shape;

const HOSTS: u64 = 1_000_000;

#[derive(Default)]
struct Arguments {
    count: Option<u64>,
    shape: Option<Shape>,
    dir: Option<PathBuf>,
}

fn main() {
    let mut arguments = Arguments::default();
    for argument in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match (parse_count(&argument), argument.as_str()) {
            (Some(count), _) => arguments.count = Some(count),
            (None, "spread") => arguments.shape = Some(Shape::Spread { hosts: HOSTS }),
            (None, "giant") => arguments.shape = Some(Shape::Giant),
            (None, path) => arguments.dir = Some(PathBuf::from(path)),
        }
    }
    let urls = arguments.count.unwrap_or(1_000_000);
    let parent = arguments.dir.unwrap_or_else(std::env::temp_dir);
    match arguments.shape {
        Some(shape) => {
            let dir = tempfile::tempdir_in(parent).expect("a directory to work in");
            run(urls, shape, dir.path()).expect("the disk works");
        }
        None => {
            println!("{HEAD}");
            for shape in ["spread", "giant"] {
                let program = std::env::current_exe().expect("a running program has a path");
                let mut child = std::process::Command::new(program);
                let child = child.args([&urls.to_string(), shape]).arg(&parent).env(HEADLESS, "1");
                assert!(child.status().expect("the program starts").success(), "{shape} failed");
            }
        }
    }
}

/// Set for a process whose table has a head already.
const HEADLESS: &str = "FRONTIER_BENCH_HEADLESS";
const HEAD: &str = "\
| URLs | shape | in k/s | out k/s | CPU µs in | out | generator | disk B/URL | written B/URL | RSS MB | pause ms: \
16 calls | job | cut | reopen s | takes, merges, cuts |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

fn parse_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

/// The cost of a run.
struct Figures {
    generator: Spent,
    pushed: Spent,
    drained: Spent,
    reopened: Spent,
    disk_bytes: u64,
    written: u64,
}

fn run(urls: u64, shape: Shape, dir: &Path) -> Result<()> {
    let begin = Process::now();
    let mut text = String::new();
    (0..urls).for_each(|n| drop(std::hint::black_box(shape.url(n, &mut text))));
    let generator = begin.until_now();
    // The checkpoint has its own directory: what is measured are the files of the queue.
    let (queue, checkpoints) = (dir.join("queue"), dir.join("checkpoint"));
    std::fs::create_dir(&checkpoints).expect("an empty directory");
    with_crew(&checkpoints, |crew| {
        let mut owner = Owner::new(&queue, crew)?;
        let written = Process::written();
        let begin = Process::now();
        owner.push_all(shape, urls)?;
        let pushed = begin.until_now();
        owner.cut_and_wait()?;
        assert_eq!(owner.queued(), urls, "nothing is lost");
        let disk_bytes = directory_bytes(&queue) + owner.saved.as_ref().map_or(0, |(_, ram)| ram.len() as u64);
        let begin = Process::now();
        owner.reopen(&queue)?;
        let reopened = begin.until_now();
        assert_eq!(owner.queued(), urls, "nothing is lost");
        let begin = Process::now();
        owner.drain()?;
        let drained = begin.until_now();
        assert_eq!(owner.fetched, urls, "each URL comes out once");
        let written = Process::written() - written;
        print(&owner, urls, shape, &Figures { generator, pushed, drained, reopened, disk_bytes, written });
        Ok(())
    })
}

fn print(owner: &Owner, urls: u64, shape: Shape, figures: &Figures) {
    if std::env::var_os(HEADLESS).is_none() {
        println!("{HEAD}");
    }
    let each = |what: f64| what / urls as f64;
    let generator = each(figures.generator.cpu * 1e6);
    let ms = |pause: std::time::Duration| pause.as_secs_f64() * 1e3;
    println!(
        "| {} | {} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | \
         {:.0} | {:.1} | {:.1} | {:.1} | {:.2} | {}, {}, {} |",
        urls,
        if shape == Shape::Giant { "giant" } else { "spread" },
        urls as f64 / (figures.pushed.seconds - figures.generator.seconds).max(1e-9) / 1e3,
        urls as f64 / figures.drained.seconds / 1e3,
        each(figures.pushed.cpu * 1e6) - generator,
        each(figures.drained.cpu * 1e6),
        generator,
        each(figures.disk_bytes as f64),
        each(figures.written as f64),
        Process::peak_rss_mb(),
        ms(owner.pauses.row),
        ms(owner.pauses.job),
        ms(owner.pauses.cut),
        figures.reopened.seconds,
        owner.jobs[0],
        owner.jobs[1],
        owner.cuts,
    );
}

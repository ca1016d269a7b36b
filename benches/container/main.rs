//! `cargo bench --bench container -- [PAGES] [DIRECTORY] [cold]`: stores small pages (1 KiB of gzip members each) as a
//! crawl does, with cuts made durable by a second thread, then looks 10,000 of them up by their URLs; prints what both
//! cost.
//!
//! `cargo bench --bench container -- curve [PAGES] [DIRECTORY]`: the same with 100 k pages stored, 1 M and so on up to
//! PAGES.
//!
//! PAGES (default 200 k) may have a suffix k or M. With `cold`, the gets are made a second time after the kernel was
//! told to drop its caches, which root may do and everybody else on the machine feels.

#[path = "../drum/figures.rs"]
mod figures;
mod gets;
mod pages;
mod writer;

use std::path::{Path, PathBuf};

use crawler::disk::Result;

use figures::{Process, directory_bytes};
use gets::{GETS, Gets, drop_caches, get_all, least, numbers};
use pages::Pages;
use writer::{Tally, with_writer};

#[derive(Default)]
struct Arguments {
    pages: Option<u64>,
    dir: Option<PathBuf>,
    cold: bool,
    curve: bool,
}

fn main() {
    let mut arguments = Arguments::default();
    for argument in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match (parse_count(&argument), argument.as_str()) {
            (Some(pages), _) => arguments.pages = Some(pages),
            (None, "cold") => arguments.cold = true,
            (None, "curve") => arguments.curve = true,
            (None, path) => arguments.dir = Some(PathBuf::from(path)),
        }
    }
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::tempdir_in(parent).expect("a directory to work in");
    let pages = arguments.pages.unwrap_or(200_000).max(1);
    let done = match arguments.curve {
        true => curve(pages, dir.path()),
        false => once(pages, arguments.cold, dir.path()),
    };
    done.expect("the disk works");
}

fn parse_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

/// Stores everything, then reads.
fn once(count: u64, cold: bool, dir: &Path) -> Result<()> {
    let pages = Pages::new();
    let begin = Process::now();
    let tally = with_writer(dir, |mut writer| {
        writer.store(&pages, 0..count)?;
        Ok(writer.tally)
    })?;
    let spent = begin.until_now();
    let cpu = spent.cpu - tally.making_cpu;
    let wanted = numbers(count);
    get_all(&pages, &wanted, dir)?; // brings them into memory
    let warm = get_all(&pages, &wanted, dir)?;
    let cold = match cold && drop_caches() {
        true => Some(get_all(&pages, &wanted, dir)?),
        false => None,
    };
    print(&tally, spent.seconds, cpu, dir);
    print_gets("warm", &warm);
    let steps = least(&pages, &wanted, dir)?;
    println!(
        "least of a get    {:.1} µs: find {:.1}, read {:.1}, inflate and check {:.1}; a get is {:.2} times that",
        steps.find + steps.read + steps.inflate,
        steps.find,
        steps.read,
        steps.inflate,
        warm.seconds * 1e6 / GETS as f64 / (steps.find + steps.read + steps.inflate)
    );
    match &cold {
        Some(gets) => print_gets("cold", gets),
        None => println!("gets, cold        caches not dropped"),
    }
    println!(
        "container pages={count} seconds={:.3} cpu_seconds={cpu:.2} peak_rss_mb={:.0} disk_mb={:.0} value_bytes={:.0} \
         index_bytes={:.1} pause_ms={:.1} warm_seconds={:.4} warm_p99_us={:.1} cold_seconds={}",
        tally.seconds,
        Process::peak_rss_mb(),
        directory_bytes(dir) as f64 / 1e6,
        value_bytes(dir) as f64 / count as f64,
        index_bytes_a_page(&tally, dir),
        tally.pause_max.0.as_secs_f64() * 1e3,
        warm.seconds,
        warm.p99,
        cold.map_or("-".to_owned(), |gets| format!("{:.3}", gets.seconds))
    );
    Ok(())
}

fn print(tally: &Tally, elapsed: f64, cpu: f64, dir: &Path) {
    let count = tally.pages as f64;
    println!("pages             {}, {:.0} bytes of records each", tally.pages, value_bytes(dir) as f64 / count);
    println!(
        "puts              {:.2} s, {:.0} a second ({elapsed:.2} s with the making of the pages)",
        tally.seconds,
        count / tally.seconds
    );
    println!("CPU               {cpu:.2} s of both threads, {:.2} µs a put", cpu * 1e6 / count);
    println!("cuts              {}, the last one waited for", tally.cuts);
    let (pause, at) = tally.pause_max;
    println!("longest pause     {:.1} ms, at page {at}", pause.as_secs_f64() * 1e3);
    println!("index             {:.1} bytes a page besides its URL", index_bytes_a_page(tally, dir));
    println!("bytes on disk     {}", directory_bytes(dir));
    println!("peak RSS          {:.0} MB", Process::peak_rss_mb());
}

fn print_gets(name: &str, gets: &Gets) {
    println!(
        "gets, {name}        {:.3} s for {GETS}; median {:.1} µs, 99 % below {:.1} µs; {:.2} reads a get",
        gets.seconds, gets.p50, gets.p99, gets.reads
    );
}

/// key.dat and the address pages; address.dw is no larger than 16 MiB, however many pages there are.
fn index_bytes_a_page(tally: &Tally, dir: &Path) -> f64 {
    let names = ["key.dat", "address.idx", "address.ovf"];
    let bytes: u64 = names.iter().filter_map(|name| Some(dir.join(name).metadata().ok()?.len())).sum();
    (bytes - tally.url_bytes) as f64 / tally.pages as f64
}

fn value_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("the directory is there").flatten();
    let values = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("value-"));
    values.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Puts and gets of containers of growing size.
fn curve(count: u64, dir: &Path) -> Result<()> {
    let pages = Pages::new();
    println!(
        "{:>12} {:>12} {:>12} {:>14} {:>14} {:>12}",
        "pages", "puts/s", "pause ms", "gets s", "99 % µs", "index B"
    );
    with_writer(dir, |mut writer| {
        let mut stored = 0;
        for size in (0..).map(|power| 100_000 * 10_u64.pow(power)).take_while(|&size| size < count).chain([count]) {
            let before = writer.tally.seconds;
            writer.tally.pause_max = Default::default();
            writer.store(&pages, stored..size)?;
            let speed = (size - stored) as f64 / (writer.tally.seconds - before);
            stored = size;
            let wanted = numbers(size);
            get_all(&pages, &wanted, dir)?;
            let gets = get_all(&pages, &wanted, dir)?;
            println!(
                "{size:>12} {speed:>12.0} {:>12.1} {:>14.3} {:>14.1} {:>12.1}",
                writer.tally.pause_max.0.as_secs_f64() * 1e3,
                gets.seconds,
                gets.p99,
                index_bytes_a_page(&writer.tally, dir)
            );
        }
        Ok(())
    })
}

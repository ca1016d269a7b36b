//! Index and questions of the crate alone, without a command line and a server: `index DIR`, `ask QUESTIONS DIR`.
//! `ask` prints a line per question: milliseconds and the number of hits.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process;
use std::time::Instant;

use crawler_search::search::{Index, Query, Updater};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["index", dir] => index(Path::new(dir)),
        ["ask", questions, dir] => ask(questions, Path::new(dir)),
        _ => {
            eprintln!("index DIR, or ask QUESTIONS DIR");
            process::exit(2);
        }
    }
}

fn index(dir: &Path) {
    let mut updater = Updater::open(dir).unwrap().unwrap();
    let done = updater.update(u64::MAX, &mut |_| {}).unwrap();
    println!("{}", done.pages);
}

fn ask(questions: &str, dir: &Path) {
    let index = Index::open(dir).unwrap();
    for words in fs::read_to_string(questions).unwrap().lines() {
        let begin = Instant::now();
        let found = index.search(&Query { words: words.to_owned(), ..Query::default() }).unwrap();
        // as a server answers it
        let json = serde_json::to_string(&found).unwrap();
        println!("{}\t{}\t{}", begin.elapsed().as_secs_f64() * 1e3, found.total, json.len());
    }
}

//! Every target on its corpus, and on what a fixed number of mutations makes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::{TARGETS, Target};

/// Mutated inputs of a target in one run of the tests.
const ROUNDS: u64 = 400;
/// Fewer for those that do much with each input.
const ROUNDS_OF_STORES: u64 = 120;
const INPUT_BYTES_MAX: usize = 64 << 10;
/// All files of the corpus together.
const CORPUS_BYTES_MAX: usize = 300 << 10;

fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target.name)
}

fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder(target)).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// `CRAWLER_WRITE_CORPUS=1 cargo test --lib fuzzing` writes the examples of the program's own formats again.
fn write_corpus(target: &Target) {
    for (number, sample) in (target.samples)().into_iter().enumerate() {
        std::fs::create_dir_all(folder(target)).unwrap();
        std::fs::write(folder(target).join(format!("sample-{number}")), sample).unwrap();
    }
}

fn mutate(random: &mut fastrand::Rng, corpus: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    const WORDS: [&[u8]; 12] = [
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\x80",
        b"\x7f",
        b"<",
        b"-->",
        b"\"",
        b"%",
        b"\r\n",
        b"&#",
        b"\xef\xbb\xbf",
        b"]]>",
    ];
    let mut bytes = corpus[random.usize(..corpus.len())].1.clone();
    for _ in 0..1 << random.u32(..5) {
        let at = random.usize(..=bytes.len());
        let longest = 1 << random.u32(..10);
        let end = at + random.usize(..=(bytes.len() - at).min(longest));
        match random.u32(..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.u32(..8),
            1 if at < bytes.len() => bytes[at] = random.u8(..),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.usize(..=bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            4 => drop(bytes.splice(at..at, WORDS[random.usize(..WORDS.len())].iter().copied())),
            5 => {
                let word = WORDS[random.usize(..WORDS.len())];
                bytes.iter_mut().skip(at).zip(word).for_each(|(byte, &new)| *byte = new);
            }
            6 => {
                let other = &corpus[random.usize(..corpus.len())].1;
                let from = random.usize(..=other.len());
                let piece = other[from..(from + 200).min(other.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ if random.u32(..10) == 0 => bytes.truncate(at),
            _ if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            _ => {}
        }
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

/// Runs `targets`; says with which seed it reproduces an input that breaks one, and leaves it in the temporary
/// directory.
fn drive(is_wanted: impl Fn(&str) -> bool, rounds: u64) {
    if std::env::var_os("CRAWLER_WRITE_CORPUS").is_some() {
        TARGETS.iter().filter(|target| is_wanted(target.name)).for_each(write_corpus);
    }
    for target in TARGETS.iter().filter(|target| is_wanted(target.name)) {
        let corpus = corpus(target);
        assert!(!corpus.is_empty(), "{target:?} has no corpus");
        let accepted = corpus.iter().filter(|(_, bytes)| (target.run)(bytes)).count();
        assert!(accepted > 0, "{target:?} accepts no file of its corpus: CRAWLER_WRITE_CORPUS=1 rewrites the samples");
        let from = std::env::var("CRAWLER_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
        for seed in from..from + rounds {
            let bytes = mutate(&mut fastrand::Rng::with_seed(seed), &corpus);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))) {
                let path = std::env::temp_dir().join(format!("crawler-{}-{seed}", target.name));
                let written = std::fs::write(&path, &bytes).is_ok();
                eprintln!("{target:?} broke on seed {seed} (written: {written}, {})", path.display());
                std::panic::resume_unwind(panic);
            }
        }
    }
}

const PARSERS: [&str; 10] =
    ["html", "encodings", "robots", "sitemap", "codings", "http_fields", "url", "seeds", "cdxj", "values"];
const FILES: [&str; 6] = ["config", "extract", "main_content", "logs", "hold_log", "checkpoint"];

#[test]
fn no_bytes_of_servers_or_users_break_a_parser() {
    drive(|name| PARSERS.contains(&name), ROUNDS);
}

#[test]
fn no_bytes_in_small_files_break_their_readers() {
    drive(|name| FILES.contains(&name), ROUNDS_OF_STORES);
}

#[test]
fn no_bytes_in_files_of_a_store_break_it() {
    drive(|name| !PARSERS.contains(&name) && !FILES.contains(&name), ROUNDS_OF_STORES);
}

#[test]
fn the_corpus_stays_small() {
    let bytes: usize = TARGETS.iter().flat_map(corpus).map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= CORPUS_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn every_target_has_a_binary_and_a_name_of_its_own() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/Cargo.toml")).unwrap();
    for target in TARGETS {
        assert_eq!(TARGETS.iter().filter(|other| other.name == target.name).count(), 1, "{target:?}");
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{target:?} has no [[bin]]");
        let source = format!("fuzz/targets/{}.rs", target.name);
        let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(source)).unwrap();
        assert!(source.contains(&format!("run(\"{}\"", target.name)), "{target:?}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}

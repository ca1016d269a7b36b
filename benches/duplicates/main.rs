//! `cargo bench --bench duplicates [-- TEXTS WORDS MEMORY_MIB [PYTHON]]`: near-duplicates among texts of which it is
//! known how alike they are: precision, recall, CPU, memory; beside a simhash, and beside datasketch where a Python
//! that has it is named.
//!
//! WORDS is the length of an original, 0 for lengths from 50 to 2,000 words. Precision is the share of the found, those
//! behind the first of a group, that are as alike to that first as was asked for. Recall is the share of copies, by how
//! alike they are to their original, that are found in a group at all. Both are counted on the texts themselves.

mod texts;
#[path = "../crawl/thread.rs"]
mod thread;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use crawler::similar::{Finder, Signature, words as hashes};
use texts::{Name, draw, resemblance, text, words};
use thread::cpu_s;

const SEED: u64 = 26;
/// Least similarity that counts as near.
const LEAST: f64 = 0.8;
/// Lower ends of the bands that recall is reported for.
const BANDS: [f64; 9] = [0.0, 0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0];
/// Most texts that all pairs of simhashes are looked at for.
const PAIRS_MAX: usize = 50_000;
/// Groups texts with MinHash LSH of datasketch.
const PEER: &str = include_str!("peer.py");

/// Texts that were found, each with the text that represents it.
type Found = HashMap<u32, u32>;

struct Bench {
    names: Vec<Name>,
    length: usize,
    /// Similarity of each copy to its original. `None` for pages that are no copies.
    truth: Vec<Option<f32>>,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, usual: usize| args.get(at).map_or(Ok(usual), |word| word.parse());
    let (count, length, memory) = (number(0, 20_000)?, number(1, 0)?, number(2, 64)? << 20);
    println!("{count} texts drawn with seed {SEED}, {} MiB to sort in", memory >> 20);
    let mut bench = Bench { names: draw(count, SEED), length, truth: Vec::new() };
    let found = bench.ours(memory)?;
    println!("memory at most: {} MiB, of which the names of the texts are {} MiB", peak_mib(), (count * 8) >> 20);
    bench.judge();
    bench.report("crawler", &found);
    if count <= PAIRS_MAX {
        let (started, before) = (Instant::now(), cpu_s());
        let found = bench.simhashes();
        println!("simhash, all pairs: {:.1} s of CPU, {:.1} s", cpu_s() - before, started.elapsed().as_secs_f64());
        bench.report("simhash of 64 bits, distance 3 at most", &found);
    }
    match args.get(3) {
        Some(python) => bench.report("datasketch MinHashLSH, 128 permutations", &bench.peer(Path::new(python))?),
        None => println!("datasketch: name a Python that has it"),
    }
    Ok(())
}

impl Bench {
    fn words(&self, at: u32) -> Vec<u32> {
        words(self.names[at as usize], self.length, SEED)
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        0..self.names.len() as u32
    }

    fn ours(&self, memory: usize) -> Result<Found> {
        let mut finder = Finder::new(LEAST, memory)?;
        let (mut signing, mut pushing) = (0.0, 0.0);
        let started = Instant::now();
        let mut bytes = 0;
        for at in self.all() {
            let text = text(&self.words(at));
            bytes += text.len();
            let before = cpu_s();
            let signature = Signature::of(&text).context("a text without words")?;
            let signed = cpu_s();
            finder.push(&signature, &at.to_be_bytes())?;
            (signing, pushing) = (signing + signed - before, pushing + cpu_s() - signed);
        }
        println!(
            "signing: {signing:.1} s of CPU, {:.0} us a text, {:.0} MB/s; with drawing {:.1} s",
            signing / self.names.len() as f64 * 1e6,
            bytes as f64 / signing / 1e6,
            started.elapsed().as_secs_f64()
        );
        let (started, before, written) = (Instant::now(), cpu_s(), written()?);
        let (mut found, mut last) = (Found::new(), None);
        for member in finder.finish()? {
            let member = member?;
            let at = u32::from_be_bytes(member.label.as_slice().try_into()?);
            match last {
                Some((group, first)) if group == member.group => drop(found.insert(at, first)),
                _ => last = Some((member.group, at)),
            }
        }
        println!(
            "finding: {:.1} s of CPU ({pushing:.1} before), {:.1} s, {} MB written",
            cpu_s() - before,
            started.elapsed().as_secs_f64(),
            (self::written()? - written) / 1_000_000
        );
        Ok(found)
    }

    /// Counts how alike the copies are to their originals.
    fn judge(&mut self) {
        let originals: HashMap<u32, u32> = self
            .all()
            .filter(|at| self.names[*at as usize].member == 0)
            .map(|at| (self.names[at as usize].cluster, at))
            .collect();
        let alike = |at: u32| {
            let Name { cluster, member } = self.names[at as usize];
            (member > 0).then(|| resemblance(&self.words(originals[&cluster]), &self.words(at)) as f32)
        };
        self.truth = self.all().map(alike).collect();
    }

    fn report(&self, who: &str, found: &Found) {
        let alike = found.iter().map(|(at, first)| resemblance(&self.words(*first), &self.words(*at)));
        let alike: Vec<f64> = alike.collect();
        let share =
            |least: f64| 100.0 * alike.iter().filter(|alike| **alike >= least).count() as f64 / alike.len() as f64;
        println!(
            "{who}: {} found; precision {:.2} % at {LEAST}, {:.2} % at 0.75, {:.2} % at 0.7",
            found.len(),
            share(LEAST),
            share(0.75),
            share(0.7)
        );
        for (band, least) in BANDS.iter().enumerate() {
            let most = BANDS.get(band + 1).copied().unwrap_or(f64::INFINITY);
            let within = |at: &u32| {
                self.truth[*at as usize].is_some_and(|alike| f64::from(alike) >= *least && f64::from(alike) < most)
            };
            let (count, hit) = self
                .all()
                .filter(within)
                .fold((0, 0), |(count, hit), at| (count + 1, hit + usize::from(found.contains_key(&at))));
            if count > 0 {
                println!(
                    "  alike from {least:.2}: {hit} of {count} copies, {:.2} %",
                    100.0 * hit as f64 / count as f64
                );
            }
        }
    }

    /// Each text with the first one that has a simhash near to its own (Manku, Jain and Das Sarma, 2007).
    fn simhashes(&self) -> Found {
        let hashes: Vec<u64> = self.all().map(|at| simhash(&text(&self.words(at)))).collect();
        let near = |at: usize| hashes[..at].iter().position(|other| (other ^ hashes[at]).count_ones() <= 3);
        (0..hashes.len()).filter_map(|at| Some((at as u32, near(at)? as u32))).collect()
    }

    fn peer(&self, python: &Path) -> Result<Found> {
        let dir = tempfile::tempdir()?;
        let (script, file) = (dir.path().join("peer.py"), dir.path().join("texts"));
        fs::write(&script, PEER)?;
        let mut out = BufWriter::new(File::create(&file)?);
        self.all().try_for_each(|at| writeln!(out, "{}", text(&self.words(at))))?;
        drop(out);
        let output = Command::new(python).arg(&script).arg(&file).output().context("the Python cannot be started")?;
        ensure!(output.status.success(), "the peer failed: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        let (figures, pairs) = text.split_once('\n').context("the peer said nothing")?;
        println!("{figures}");
        let pair =
            |line: &str| line.split_once(' ').and_then(|(at, first)| Some((at.parse().ok()?, first.parse().ok()?)));
        Ok(pairs.lines().filter_map(pair).collect())
    }
}

/// The simhash of the shingles of a text, each of weight 1.
fn simhash(text: &str) -> u64 {
    let mut all = Vec::new();
    hashes(text, |word| all.push(word));
    let mut sums = [0_i32; 64];
    for shingle in all.windows(5) {
        let mut hash =
            shingle.iter().fold(0_u64, |hash, word| (hash.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash ^= hash >> 32;
        sums.iter_mut().enumerate().for_each(|(bit, sum)| *sum += if hash >> bit & 1 == 1 { 1 } else { -1 });
    }
    sums.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit)
}

fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// Bytes that this process has written to files.
fn written() -> Result<u64> {
    let io = fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: ")).context("no count of bytes written")?;
    Ok(line.parse()?)
}

//! `cargo bench --bench graph [-- HOSTS LINKS MEMORY_MIB [PYTHON]]`: a graph of hosts with its centralities, seconds of
//! CPU and memory; beside networkx on the same links where a Python that has it is named.
//!
//! The links are drawn by preferential attachment (Barabási and Albert, 1999), so that in-degrees follow a power law,
//! from a fixed seed.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use crawler::graph::{Builder, Rank};

#[path = "../crawl/thread.rs"]
mod thread;

use thread::cpu_s;

const SEED: u64 = 26;
/// Computes both measures with networkx from a file of links, and compares them with a file of ours.
const PEER: &str = include_str!("peer.py");

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |word| word.parse());
    let (hosts, links, memory) = (number(0, 100_000)?, number(1, 1_000_000)?, number(2, 64)? << 20);
    let dir = tempfile::tempdir()?;
    let drawn = draw(hosts, links);
    println!("{hosts} hosts, {links} links drawn with seed {SEED}, {} MiB to work with", memory >> 20);
    let (started, before) = (Instant::now(), cpu_s());
    let mut builder = Builder::new(memory);
    for host in 0..hosts {
        builder.host(&name(host), &name(host))?;
    }
    for &(from, to) in &drawn {
        builder.link(&name(from as usize), &name(to as usize))?;
    }
    let graph = builder.finish()?;
    let sorted = cpu_s() - before;
    println!("sorting: {sorted:.1} s of CPU, {:.1} s; {} edges", started.elapsed().as_secs_f64(), graph.edges.count());
    let (started, before) = (Instant::now(), cpu_s());
    let ranks: Vec<Rank> = graph.ranks()?.collect::<Result<_, _>>()?;
    println!("ranks: {:.1} s of CPU, {:.1} s", cpu_s() - before, started.elapsed().as_secs_f64());
    println!("memory at most: {} MiB, of which the links drawn are {} MiB", peak_mib(), (drawn.len() * 8) >> 20);
    match words.get(3) {
        Some(python) => compare(Path::new(python), dir.path(), &graph, &ranks),
        None => Ok(()),
    }
}

fn name(host: usize) -> String {
    format!("example.d{host}")
}

/// Links of which half lead to where an earlier one leads.
fn draw(hosts: usize, links: usize) -> Vec<(u32, u32)> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn: Vec<(u32, u32)> = Vec::with_capacity(links);
    for _ in 0..links {
        let popular = random.bool() && !drawn.is_empty();
        let to = if popular { drawn[random.usize(..drawn.len())].1 } else { random.u32(..hosts as u32) };
        drawn.push((random.u32(..hosts as u32), to));
    }
    drawn
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() >> 10
}

fn compare(python: &Path, dir: &Path, graph: &crawler::graph::Graph, ranks: &[Rank]) -> Result<()> {
    let mut edges = std::io::BufWriter::new(std::fs::File::create(dir.join("edges"))?);
    let names: Vec<String> = graph.names.each().map(|name| name.map(|name| name.name)).collect::<Result<_, _>>()?;
    for edge in graph.edges.each() {
        let (from, to) = edge?;
        writeln!(edges, "{} {}", names[from as usize], names[to as usize])?;
    }
    edges.flush()?;
    let mut own = std::io::BufWriter::new(std::fs::File::create(dir.join("ranks"))?);
    for Rank { name, harmonic, page_rank, in_degree, .. } in ranks {
        writeln!(own, "{name} {harmonic} {page_rank} {in_degree}")?;
    }
    own.flush()?;
    let mut peer = Command::new(python);
    let status = peer.args(["-c", PEER]).current_dir(dir).status().context("the Python that was named")?;
    ensure!(status.success(), "networkx did not end well");
    Ok(())
}

//! A graph of hosts with its centralities, seconds of CPU and memory; beside networkx on the same links where a Python
//! that has it is named.
//!
//!     cargo bench --bench graph [-- HOSTS LINKS MEMORY_MIB [PYTHON]]   links by preferential attachment
//!     cargo bench --bench graph -- copied HOSTS MEMORY_MIB [PYTHON]    links by the copying model, which has the
//!                                                                      exponents of the web: in 2.1, out 2.72
//!     cargo bench --bench graph -- FILE MEMORY_MIB [PYTHON]            links of a file with two host names a line, by
//!                                                                      registrable domain
//!
//! Links are drawn from a fixed seed. The in-degree in a graph of domains is the number of supporters of a domain: how
//! it orders domains is reported beside the orders of PageRank and harmonic centrality.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use crawler::graph::{Builder, Rank};

mod drawn;
mod order;
#[path = "../crawl/thread.rs"]
mod thread;

use drawn::Drawn;
use thread::cpu_s;

const SEED: u64 = 26;
/// Computes both measures with networkx from a file of links, and compares them with a file of ours.
const PEER: &str = include_str!("peer.py");

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |word| word.parse());
    let is_number = words.first().is_none_or(|word| word.parse::<usize>().is_ok());
    let (Drawn { names, links: drawn }, next) = match words.first().map(String::as_str) {
        Some("copied") => (drawn::copied(number(1, 100_000)?, SEED), 2),
        Some(path) if !is_number => (drawn::read(Path::new(path))?, 1),
        _ => (drawn::preferential(number(0, 100_000)?, number(1, 1_000_000)?, SEED), 2),
    };
    let memory = number(next, 64)? << 20;
    let dir = tempfile::tempdir()?;
    println!("{} hosts, {} links, seed {SEED}, {} MiB to work with", names.len(), drawn.len(), memory >> 20);
    let (started, before) = (Instant::now(), cpu_s());
    let mut builder = Builder::new(memory);
    for name in &names {
        builder.host(name, name)?;
    }
    for &(from, to) in &drawn {
        builder.link(&names[from as usize], &names[to as usize])?;
    }
    let graph = builder.finish()?;
    let sorted = cpu_s() - before;
    println!("sorting: {sorted:.1} s of CPU, {:.1} s; {} edges", started.elapsed().as_secs_f64(), graph.edges.count());
    let (started, before) = (Instant::now(), cpu_s());
    let ranks: Vec<Rank> = graph.ranks()?.collect::<Result<_, _>>()?;
    println!("ranks: {:.1} s of CPU, {:.1} s", cpu_s() - before, started.elapsed().as_secs_f64());
    println!("memory at most: {} MiB, of which the links drawn are {} MiB", peak_mib(), (drawn.len() * 8) >> 20);
    order::print(&ranks);
    match words.get(next + 1) {
        Some(python) => compare(Path::new(python), dir.path(), &graph, &ranks),
        None => Ok(()),
    }
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

//! Links between hosts: drawn by models whose degrees follow power laws, or read from a file.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result};
use crawler::web::url::CanonicalUrl;

/// Share of the links of the copying model that are drawn instead of copied: in-degrees then follow a power law of
/// exponent (2 - a) / (1 - a), which is 2.1 (Kumar et al. 2000, "Stochastic models for the Web graph").
const DRAWN_SHARE: f64 = 1.0 / 11.0;
/// The exponent of out-degrees, and the least of them; the mean is then 7.2 (Broder et al. 2000: 2.72).
const OUT_EXPONENT: f64 = 2.72;
const OUT_LEAST: f64 = 3.0;

/// Hosts, each with its name, and the links between them.
pub struct Drawn {
    pub names: Vec<String>,
    pub links: Vec<(u32, u32)>,
}

/// Draws a graph by preferential attachment (Barabási and Albert 1999): half of the links lead to where an earlier one
/// leads.
pub fn preferential(hosts: usize, links: usize, seed: u64) -> Drawn {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut drawn: Vec<(u32, u32)> = Vec::with_capacity(links);
    for _ in 0..links {
        let popular = random.bool() && !drawn.is_empty();
        let to = if popular { drawn[random.usize(..drawn.len())].1 } else { random.u32(..hosts as u32) };
        drawn.push((random.u32(..hosts as u32), to));
    }
    Drawn { names: numbered(hosts), links: drawn }
}

/// Draws a graph by the copying model: a new host takes most of its links from a host that was there before it.
pub fn copied(hosts: usize, seed: u64) -> Drawn {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut links: Vec<(u32, u32)> = Vec::new();
    // where the links of each host begin
    let mut begins = Vec::with_capacity(hosts + 1);
    for host in 0..hosts as u32 {
        begins.push(links.len());
        if host == 0 {
            continue;
        }
        let prototype = random.u32(..host) as usize;
        let theirs = begins[prototype]..begins[prototype + 1];
        let count = (OUT_LEAST * (1.0 - random.f64()).powf(-1.0 / (OUT_EXPONENT - 1.0))).min(hosts as f64 / 10.0);
        for nth in 0..count as usize {
            let is_drawn = theirs.is_empty() || random.f64() < DRAWN_SHARE;
            let to = if is_drawn { random.u32(..host) } else { links[theirs.start + nth % theirs.len()].1 };
            links.push((host, to));
        }
    }
    Drawn { names: numbered(hosts), links }
}

/// Reads a graph from a file with a pair of host names on each line, by their registrable domains.
pub fn read(path: &Path) -> Result<Drawn> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let (mut names, mut links) = (Vec::new(), Vec::new());
    let mut left_out = 0;
    for line in std::io::BufReader::new(file).lines() {
        let line = line?;
        let mut domains = line.split_whitespace().take(2).filter_map(domain);
        let (Some(from), Some(to)) = (domains.next(), domains.next()) else {
            left_out += 1;
            continue;
        };
        let mut number = |name: String| {
            *numbers.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        };
        links.push((number(from), number(to)));
    }
    if left_out > 0 {
        println!("{left_out} lines have no two host names");
    }
    Ok(Drawn { names, links })
}

/// The registrable domain of a host name, with its labels turned round as the graph has them.
fn domain(host: &str) -> Option<String> {
    let url = CanonicalUrl::parse(&format!("http://{host}/")).ok()?;
    let labels: Vec<&str> = url.registrable_domain().split('.').rev().collect();
    Some(labels.join("."))
}

fn numbered(hosts: usize) -> Vec<String> {
    (0..hosts).map(|host| format!("example.d{host}")).collect()
}

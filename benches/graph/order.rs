//! The order of domains by supporters, compared with the orders by centralities: rank correlation, and what both have
//! among the first hundred.

use crawler::graph::Rank;

const FIRST: usize = 100;

/// Prints both comparisons, by our own centralities.
pub fn print(ranks: &[Rank]) {
    let supporters: Vec<f64> = ranks.iter().map(|rank| rank.in_degree as f64).collect();
    print_beside("PageRank", &supporters, &ranks.iter().map(|rank| rank.page_rank).collect::<Vec<_>>());
    print_beside("harmonic centrality", &supporters, &ranks.iter().map(|rank| rank.harmonic).collect::<Vec<_>>());
    let alone = supporters.iter().filter(|&&count| count <= 1.0).count();
    println!("{:.1} % have one supporter or none", 100.0 * alone as f64 / ranks.len().max(1) as f64);
}

fn print_beside(what: &str, supporters: &[f64], values: &[f64]) {
    println!(
        "supporters beside {what}: Spearman {:.3}, {} of the top {FIRST}",
        correlation(&places(supporters), &places(values)),
        overlap(supporters, values)
    );
}

/// Places by value; equal values share the mean of theirs.
fn places(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut found = vec![0.0; values.len()];
    let mut at = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let place = at as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|&host| found[host] = place);
        at += equal.len();
    }
    found
}

/// Pearson's correlation of places, which is Spearman's.
fn correlation(first: &[f64], second: &[f64]) -> f64 {
    let mean = (first.len() as f64 - 1.0) / 2.0;
    let together: f64 = first.iter().zip(second).map(|(a, b)| (a - mean) * (b - mean)).sum();
    let spread = |places: &[f64]| places.iter().map(|place| (place - mean).powi(2)).sum::<f64>();
    together / (spread(first) * spread(second)).sqrt()
}

fn overlap(first: &[f64], second: &[f64]) -> usize {
    let top = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        order.truncate(FIRST);
        order
    };
    let second = top(second);
    top(first).iter().filter(|host| second.contains(host)).count()
}

//! `cargo bench --bench fingerprint`: how fast `Fingerprinter::of` reads URLs of 80 bytes, from the cache (10 thousand)
//! and from memory (a million), and of lengths that vary, beside CRC-32 and the standard library's SipHash on the same.
//!
//! `wall` is the best of the rounds in GB (10^9 bytes) a second; `CPU` is GB a CPU second over all rounds, which other
//! programs disturb less.

use std::hash::Hasher;
use std::hint::black_box;
use std::time::Instant;

use crawler::fingerprint::Fingerprinter;

const URL_BYTES: usize = 80;
const ROUNDS: u32 = 10;
/// Bytes that a hash reads in one round.
const ROUND_BYTES: usize = 400_000_000;

/// Hashes all these URLs.
type HashAll = Box<dyn Fn(&[&[u8]]) -> u64>;

fn main() {
    let fingerprinter = Fingerprinter::random(1);
    let hashes: [(&str, HashAll); 3] = [
        ("Fingerprinter::of", over_all(move |url| fingerprinter.of(url).bits())),
        ("crc32fast", over_all(|url| u64::from(crc32fast::hash(url)))),
        ("DefaultHasher", over_all(sip_hash)),
    ];
    let text = text_of_urls(1_000_000);
    let urls: Vec<&[u8]> = text.as_bytes().chunks(URL_BYTES).collect();
    compare("10,000 URLs of 80 bytes", &urls[..10_000], &hashes);
    compare("1,000,000 URLs of 80 bytes", &urls, &hashes);
    compare("a million or so of 40 to 119 bytes", &pieces(text.as_bytes()), &hashes);
}

fn compare(title: &str, urls: &[&[u8]], hashes: &[(&str, HashAll)]) {
    println!("{title}");
    let mut ours = None;
    for (name, hash) in hashes {
        let (wall, cpu) = measure(urls, hash);
        let ours = *ours.get_or_insert((wall, cpu));
        println!(
            "  {name:18} wall {wall:5.2} GB/s, CPU {cpu:5.2} GB/s; ours / it: {:.2} wall, {:.2} CPU",
            ours.0 / wall,
            ours.1 / cpu
        );
    }
}

/// One after the other, as the crawler does; inlined, so that the call is no part of the measure.
fn over_all(hash: impl Fn(&[u8]) -> u64 + 'static) -> HashAll {
    Box::new(move |urls| urls.iter().fold(0, |sum: u64, url| sum.wrapping_add(hash(url))))
}

fn sip_hash(url: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(url);
    hasher.finish()
}

/// GB a second of the best round, and GB a CPU second of all.
fn measure(urls: &[&[u8]], hash: &HashAll) -> (f64, f64) {
    let bytes: usize = urls.iter().map(|url| url.len()).sum();
    let passes = ROUND_BYTES.div_ceil(bytes);
    let gigabytes = (passes * bytes) as f64 / 1e9;
    let cpu_before = cpu_seconds();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..passes {
            black_box(hash(black_box(urls)));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    (gigabytes / best, gigabytes * f64::from(ROUNDS) / (cpu_seconds() - cpu_before))
}

/// `count` URLs of [`URL_BYTES`] bytes each, of several hosts and shapes, each different.
fn text_of_urls(count: usize) -> String {
    const WORDS: [&str; 8] = ["news", "archive", "products", "a", "wiki", "index", "category", "review-of-the-year"];
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = String::with_capacity(count * URL_BYTES);
    for number in 0..count {
        let start = text.len();
        let scheme = random.choice(["http", "https"]).expect("there are two");
        text += &format!("{scheme}://www{}.example.org/{number}", random.u16(..));
        while text.len() - start < URL_BYTES {
            text.push(random.choice(['/', '-', '?', '&', '=']).expect("there are five"));
            text += WORDS[random.usize(..WORDS.len())];
            text += &random.u32(..100).to_string();
        }
        text.truncate(start + URL_BYTES);
    }
    text
}

/// `text` in pieces of 40 to 119 bytes.
fn pieces(mut text: &[u8]) -> Vec<&[u8]> {
    let mut random = fastrand::Rng::with_seed(2);
    std::iter::from_fn(|| text.split_off(..random.usize(40..120))).collect()
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

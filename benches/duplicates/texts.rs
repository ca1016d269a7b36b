//! Texts of which it is known which are near copies of which.
//!
//! An original is drawn from words whose frequencies follow Zipf's law; a third of it, at most 60 words, is the
//! template of one of a few sites, which its texts have in common. Each other text of its cluster is the original with
//! an edit of one kind (words replaced, a passage put in, passages moved, the end cut off), of a strength drawn
//! evenly. Sizes of clusters have a heavy tail. How alike an edit is to its original is not designed but counted, on
//! shingles of five words.

use std::fmt::Write;

/// Words that texts are made of.
const VOCABULARY: f64 = 50_000.0;
/// Sites, each with its template.
const SITES: u64 = 40;
/// Largest cluster.
const CLUSTER_MAX: u64 = 300;

/// A text: a member of a cluster, the original being the first.
#[derive(Clone, Copy)]
pub struct Name {
    pub cluster: u32,
    pub member: u16,
}

/// All texts in the order in which they come; originals come before their copies.
pub fn draw(count: usize, seed: u64) -> Vec<Name> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut names = Vec::with_capacity(count);
    let mut cluster = 0;
    while names.len() < count {
        // three of four texts are alone
        let size = if random.u8(..4) > 0 { 1 } else { (2.0 * random.f64().powf(-0.7)) as u64 };
        let size = size.min(CLUSTER_MAX).min((count - names.len()) as u64);
        names.extend((0..size as u16).map(|member| Name { cluster, member }));
        cluster += 1;
    }
    // copies are far from their originals, which keep their order
    let mut keys: Vec<(u64, Name)> = Vec::with_capacity(count);
    let mut first = 0;
    for (at, name) in names.iter().enumerate() {
        if name.member == 0 {
            first = at as u64;
        }
        let key = if name.member == 0 { first } else { random.u64(first..count as u64) };
        keys.push((key, *name));
    }
    keys.sort_by_key(|(key, name)| (*key, name.cluster, name.member));
    keys.into_iter().map(|(_, name)| name).collect()
}

/// The words of a text; of `length` words before its edit, or 50 to 2,000 where that is 0.
pub fn words(name: Name, length: usize, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed ^ u64::from(name.cluster).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let length = if length > 0 { length } else { (50.0 * 40.0_f64.powf(random.f64())) as usize };
    let template = (length / 3).min(60);
    let mut of_site = fastrand::Rng::with_seed(seed.wrapping_add(1 + random.u64(..SITES)));
    let mut words: Vec<u32> = (0..template).map(|_| word(&mut of_site)).collect();
    words.extend((template..length).map(|_| word(&mut random)));
    if name.member > 0 {
        let mut random = fastrand::Rng::with_seed(random.u64(..) ^ u64::from(name.member));
        edit(&mut words, &mut random);
    }
    words
}

/// A word by Zipf's law: the logarithm of its rank is drawn evenly.
fn word(random: &mut fastrand::Rng) -> u32 {
    VOCABULARY.powf(random.f64()) as u32
}

fn edit(words: &mut Vec<u32>, random: &mut fastrand::Rng) {
    let strength = random.f64() * 0.5;
    let part = ((words.len() as f64 * strength) as usize).max(1);
    match random.u8(..4) {
        // each replaced word takes up to five shingles
        0 => (0..part.div_ceil(8)).for_each(|_| {
            let at = random.usize(..words.len());
            words[at] = word(random);
        }),
        1 => {
            let at = random.usize(..=words.len());
            let passage: Vec<u32> = (0..part).map(|_| word(random)).collect();
            words.splice(at..at, passage);
        }
        2 => (0..part.div_ceil(20)).for_each(|_| {
            let at = random.usize(..words.len());
            words.rotate_left(at);
        }),
        _ => words.truncate((words.len() - part).max(1)),
    }
}

/// The words as a text.
pub fn text(words: &[u32]) -> String {
    let mut text = String::with_capacity(words.len() * 7);
    for word in words {
        let _ = write!(text, "w{word} ");
    }
    text
}

/// The share of shingles of five words that two texts have in common.
pub fn resemblance(first: &[u32], second: &[u32]) -> f64 {
    let shingles = |words: &[u32]| {
        let mut shingles: Vec<[u32; 5]> = match words.len() {
            0..5 => vec![std::array::from_fn(|at| words.get(at).copied().unwrap_or(u32::MAX))],
            _ => words.windows(5).map(|five| std::array::from_fn(|at| five[at])).collect(),
        };
        shingles.sort_unstable();
        shingles.dedup();
        shingles
    };
    let (first, second) = (shingles(first), shingles(second));
    let common = first.iter().filter(|shingle| second.binary_search(shingle).is_ok()).count();
    common as f64 / (first.len() + second.len() - common) as f64
}

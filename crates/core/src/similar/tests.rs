//! Groups, checked against a comparison of all with all.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::*;

const MEMORY: usize = 1 << 20;

/// Texts of some words, many of which are others with words changed.
fn texts(random: &mut fastrand::Rng, count: usize) -> Vec<String> {
    let mut texts: Vec<Vec<String>> = Vec::new();
    for _ in 0..count {
        let mut text = match random.usize(..3) {
            0 if !texts.is_empty() => texts[random.usize(..texts.len())].clone(),
            _ => (0..random.usize(1..400)).map(|_| format!("w{}", random.u32(..3_000))).collect(),
        };
        for _ in 0..random.usize(..6) {
            let (at, word) = (random.usize(..text.len()), format!("w{}", random.u32(..3_000)));
            text[at] = word;
        }
        texts.push(text);
    }
    texts.into_iter().map(|text| text.join(" ")).collect()
}

fn groups_of(texts: &[String], least: f64) -> Vec<Member> {
    let mut finder = Finder::new(least, MEMORY).unwrap();
    for (number, text) in texts.iter().enumerate() {
        finder.push(&Signature::of(text).unwrap(), number.to_string().as_bytes()).unwrap();
    }
    finder.finish().unwrap().map(Result::unwrap).collect()
}

/// Computes the resemblance by its definition: shared shingles among all.
fn resemblance(first: &str, second: &str) -> f64 {
    let shingles = |text: &str| {
        let mut found = Vec::new();
        words(text, |word| found.push(word));
        found.windows(5.min(found.len())).map(<[u64]>::to_vec).collect::<HashSet<_>>()
    };
    let (first, second) = (shingles(first), shingles(second));
    first.intersection(&second).count() as f64 / first.union(&second).count() as f64
}

#[test]
fn estimates_are_near_the_resemblance() {
    let seed = fastrand::u64(..);
    let texts = texts(&mut fastrand::Rng::with_seed(seed), 120);
    let (mut sum, mut count) = (0.0, 0);
    for (first, second) in texts.iter().zip(&texts[1..]).chain(texts.iter().zip(&texts[7..])) {
        let (exact, by) = (resemblance(first, second), Signature::of(first).zip(Signature::of(second)).unwrap());
        let off = by.0.resemblance(&by.1) - exact;
        // six standard errors
        assert!(off.abs() <= 0.28, "seed {seed}: {exact} is estimated {off} off");
        sum += off;
        count += 1;
    }
    assert!((sum / f64::from(count)).abs() < 0.03, "seed {seed}: {sum} over {count}");
    assert_eq!(Signature::of(" .. "), None);
    assert_eq!(Signature::of("one two"), Signature::of("ONE, two!"));
}

#[test]
fn groups_are_those_of_a_comparison_of_all_with_all() {
    let seed = fastrand::u64(..);
    let texts = texts(&mut fastrand::Rng::with_seed(seed), 600);
    let signatures: Vec<_> = texts.iter().map(|text| Signature::of(text).unwrap()).collect();
    let least = 0.8;
    let members = groups_of(&texts, least);
    // what is promised of a group
    let mut groups: BTreeMap<u64, Vec<&Member>> = BTreeMap::new();
    members.iter().for_each(|member| groups.entry(member.group).or_default().push(member));
    let mut seen = BTreeSet::new();
    for members in groups.values() {
        let first = members[0];
        assert!(members.len() > 1 && first.resemblance == 1.0, "seed {seed}");
        for member in members {
            assert!(seen.insert(member.number) && member.number >= first.number, "seed {seed}");
            let by = signatures[first.number as usize].resemblance(&signatures[member.number as usize]);
            assert!((member.resemblance - by).abs() < 1e-9 && by >= least || member.number == first.number);
            assert_eq!(member.label, member.number.to_string().into_bytes());
        }
    }
    // what is alike by a margin to a text that is first of its group is in a group, but for the odd pair that no band
    // has in common
    let stands_for_itself = |number: &usize| {
        members.iter().any(|member| member.number as usize == *number && member.resemblance == 1.0)
            || !seen.contains(&(*number as u32))
    };
    let standing: Vec<usize> = (0..texts.len()).filter(stands_for_itself).collect();
    let (mut apart, mut pairs) = (0, 0);
    for second in 0..texts.len() {
        let mut earlier = standing.iter().take_while(|&&first| first < second);
        let alike = earlier.find(|&&first| signatures[first].resemblance(&signatures[second]) >= 0.85);
        pairs += usize::from(alike.is_some());
        apart += usize::from(alike.is_some() && !seen.contains(&(second as u32)));
    }
    assert!(pairs > 30 && apart * 100 <= pairs, "seed {seed}: {apart} of {pairs} are in no group");
}

#[test]
fn a_template_of_many_pages_is_one_group_and_the_rest_stays_alone() {
    let mut random = fastrand::Rng::with_seed(5);
    let template: String = (0..300).map(|_| format!("w{} ", random.u32(..3_000))).collect();
    let mut all: Vec<String> = (0..3_000).map(|page| format!("{template} page {page}")).collect();
    all.extend((0..2_000).map(|page| format!("own words of page {page} and no more than these {page}")));
    let members = groups_of(&all, 0.9);
    assert!(members.iter().all(|member| member.group == 0 && member.number < 3_000));
    assert!(members.len() >= 2_990, "{}", members.len());
    assert_eq!(groups_of(&[], 0.9), []);
    assert_eq!(groups_of(&all[..1], 0.9), []);
}

//! The known name that a misspelt one was likely meant to be.

/// The name of `known` with the smallest edit distance from `name`; none where a third of it would have to change.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(100).collect();
    let limit = (name.len() / 3).max(2);
    let ranked = known.map(|candidate| (distance(&name, candidate), candidate));
    ranked.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Insertions, deletions, substitutions and swaps of neighbours between `a` and `b`.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_edits() {
        let of = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!(of("delay_min", "delay_min"), 0);
        assert_eq!(of("dealy_min", "delay_min"), 1);
        assert_eq!(of("delay", "delay_min"), 4);
        assert_eq!(of("", "abc"), 3);
    }

    #[test]
    fn a_name_like_no_other_has_no_nearest() {
        let known = ["workers", "retries", "proxy"];
        assert_eq!(nearest("worker", known.into_iter()), Some("workers"));
        assert_eq!(nearest("colour_of_hat", known.into_iter()), None);
    }
}

//! Layout of the pages of a sample in their picture: linked ones near one another, all apart (Fruchterman and Reingold,
//! 1991). It begins from a spiral and takes a fixed number of steps, so the same sample gives the same picture.

use super::super::sample::Sample;

const STEPS: usize = 200;
/// Strength with which all pages are drawn to the middle.
const PULL: f64 = 0.9;

/// A point between 0 and 1 for each page.
pub(super) fn places(sample: &Sample) -> Vec<(f64, f64)> {
    let count = sample.pages.len();
    let spiral = |n: usize| {
        let (angle, radius) = (n as f64 * 2.399_963, ((n as f64 + 0.5) / count as f64).sqrt() / 2.0);
        (0.5 + radius * angle.cos(), 0.5 + radius * angle.sin())
    };
    let mut places: Vec<(f64, f64)> = (0..count).map(spiral).collect();
    let ideal = (1.0 / count.max(1) as f64).sqrt() * 0.7;
    for step in 0..STEPS {
        let mut moves = vec![(0.0, 0.0); count];
        for a in 0..count {
            for b in 0..a {
                let (x, y, distance) = between(places[a], places[b]);
                push(&mut moves, (a, b), (x, y), ideal * ideal / distance);
            }
        }
        for &(a, b) in &sample.edges {
            let (x, y, distance) = between(places[a], places[b]);
            push(&mut moves, (a, b), (x, y), -distance * distance / ideal / 4.0);
        }
        for (moved, place) in moves.iter_mut().zip(&places) {
            // what has no links does not drift away
            *moved = (moved.0 + (0.5 - place.0) * PULL, moved.1 + (0.5 - place.1) * PULL);
        }
        let reach = 0.08 * (1.0 - step as f64 / STEPS as f64);
        for (place, (x, y)) in places.iter_mut().zip(moves) {
            let length = x.hypot(y).max(1e-9);
            let shift = length.min(reach) / length;
            *place = (place.0 + x * shift, place.1 + y * shift);
        }
    }
    spread(&mut places);
    places
}

/// Brings points to between 0 and 1, the outermost ones to the edge.
fn spread(places: &mut [(f64, f64)]) {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let (left, right) = ends(&mut places.iter().map(|place| place.0));
    let (top, bottom) = ends(&mut places.iter().map(|place| place.1));
    let scaled = |value: f64, from: f64, to: f64| if to > from { (value - from) / (to - from) } else { 0.5 };
    for place in places {
        *place = (scaled(place.0, left, right), scaled(place.1, top, bottom));
    }
}

/// The direction from the one to the other, and how far they are apart.
fn between(a: (f64, f64), b: (f64, f64)) -> (f64, f64, f64) {
    let (x, y) = (a.0 - b.0, a.1 - b.1);
    let distance = x.hypot(y).max(1e-4);
    (x / distance, y / distance, distance)
}

/// Pushes two apart, or pulls them where the force is negative.
fn push(moves: &mut [(f64, f64)], (a, b): (usize, usize), (x, y): (f64, f64), force: f64) {
    moves[a] = (moves[a].0 + x * force, moves[a].1 + y * force);
    moves[b] = (moves[b].0 - x * force, moves[b].1 - y * force);
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::{Sample, Sampled};
    use super::*;

    #[test]
    fn linked_pages_stand_nearer_than_others_and_all_within_the_picture() {
        let page = |n: usize| Sampled { url: n.to_string(), depth: None };
        let mut sample = Sample { pages: (0..30).map(page).collect(), ..Sample::default() };
        for n in 0..15 {
            sample.edges.extend((0..n).map(|other| (n, other)));
        }
        let places = places(&sample);
        assert!(places.iter().all(|(x, y)| (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y)), "{places:?}");
        let apart = |from: usize| -> f64 {
            let pairs = (from..from + 15).flat_map(|a| (from..a).map(move |b| (a, b)));
            pairs.map(|(a, b)| between(places[a], places[b]).2).sum()
        };
        assert!(apart(0) < apart(15) / 2.0, "{} {}", apart(0), apart(15));
    }

    #[test]
    fn one_page_and_none_have_a_picture() {
        let one = Sample { pages: vec![Sampled { url: String::new(), depth: None }], ..Sample::default() };
        assert_eq!(places(&one), [(0.5, 0.5)]);
        assert!(places(&Sample::default()).is_empty());
    }
}

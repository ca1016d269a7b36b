//! Layout of the pages of a sample in their picture: linked ones near one another, all apart (Fruchterman and Reingold,
//! 1991). It begins from a spiral and takes a fixed number of steps, so the same sample gives the same picture.

use super::super::sample::Sample;

const STEPS: usize = 200;
/// Strength with which all pages are drawn to the middle.
const PULL: f64 = 0.9;

/// A point of the picture, or the way from one to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// Distance from the left edge.
    pub x: f64,
    /// Distance from the upper edge.
    pub y: f64,
}

/// A point between 0 and 1 for each page.
pub(super) fn places(sample: &Sample) -> Vec<Point> {
    let count = sample.pages.len();
    let spiral = |n: usize| {
        let (angle, radius) = (n as f64 * 2.399_963, ((n as f64 + 0.5) / count as f64).sqrt() / 2.0);
        Point { x: 0.5 + radius * angle.cos(), y: 0.5 + radius * angle.sin() }
    };
    let mut places: Vec<Point> = (0..count).map(spiral).collect();
    let ideal = (1.0 / count.max(1) as f64).sqrt() * 0.7;
    for step in 0..STEPS {
        let mut moves = vec![Point::default(); count];
        for a in 0..count {
            for b in 0..a {
                let (direction, distance) = between(places[a], places[b]);
                push(&mut moves, a, b, direction, ideal * ideal / distance);
            }
        }
        for &(a, b) in &sample.edges {
            let (direction, distance) = between(places[a], places[b]);
            push(&mut moves, a, b, direction, -distance * distance / ideal / 4.0);
        }
        for (moved, place) in moves.iter_mut().zip(&places) {
            // what has no links does not drift away
            *moved = Point { x: moved.x + (0.5 - place.x) * PULL, y: moved.y + (0.5 - place.y) * PULL };
        }
        let reach = 0.08 * (1.0 - step as f64 / STEPS as f64);
        for (place, Point { x, y }) in places.iter_mut().zip(moves) {
            let length = x.hypot(y).max(1e-9);
            let shift = length.min(reach) / length;
            *place = Point { x: place.x + x * shift, y: place.y + y * shift };
        }
    }
    spread(&mut places);
    places
}

/// Brings points to between 0 and 1, the outermost ones to the edge.
fn spread(places: &mut [Point]) {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
    };
    let (left, right) = ends(&mut places.iter().map(|place| place.x));
    let (top, bottom) = ends(&mut places.iter().map(|place| place.y));
    let scaled = |value: f64, from: f64, to: f64| if to > from { (value - from) / (to - from) } else { 0.5 };
    for place in places {
        *place = Point { x: scaled(place.x, left, right), y: scaled(place.y, top, bottom) };
    }
}

/// The direction from the one to the other, and how far they are apart.
fn between(a: Point, b: Point) -> (Point, f64) {
    let (x, y) = (a.x - b.x, a.y - b.y);
    let distance = x.hypot(y).max(1e-4);
    (Point { x: x / distance, y: y / distance }, distance)
}

/// Pushes two apart, or pulls them where the force is negative.
fn push(moves: &mut [Point], a: usize, b: usize, direction: Point, force: f64) {
    let Point { x, y } = direction;
    moves[a] = Point { x: moves[a].x + x * force, y: moves[a].y + y * force };
    moves[b] = Point { x: moves[b].x - x * force, y: moves[b].y - y * force };
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
        assert!(places.iter().all(|Point { x, y }| (0.0..=1.0).contains(x) && (0.0..=1.0).contains(y)), "{places:?}");
        let apart = |from: usize| -> f64 {
            let pairs = (from..from + 15).flat_map(|a| (from..a).map(move |b| (a, b)));
            pairs.map(|(a, b)| between(places[a], places[b]).1).sum()
        };
        assert!(apart(0) < apart(15) / 2.0, "{} {}", apart(0), apart(15));
    }

    #[test]
    fn one_page_and_none_have_a_picture() {
        let one = Sample { pages: vec![Sampled { url: String::new(), depth: None }], ..Sample::default() };
        assert_eq!(places(&one), [Point { x: 0.5, y: 0.5 }]);
        assert!(places(&Sample::default()).is_empty());
    }
}

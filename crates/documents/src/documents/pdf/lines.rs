//! Words as lines and paragraphs of a page, with the links that lie on them.

use std::collections::HashMap;
use std::ops::Range;

use hayro_interpret::kurbo::{Point, Rect};

use super::words::{Token, is_from_right};
use crate::documents::page::Page;

/// A line is a part of the paragraph above it up to this distance, in sizes of its type.
const LEADING_MAX: f64 = 1.7;
/// Type is a heading's from this size on, as a share of that of the text.
const HEADING: f64 = 1.2;
/// Characters of a heading.
const HEADING_MAX: usize = 200;

/// A link on a page.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub area: Rect,
    pub uri: String,
}

/// The size of the type of a document's text: the one that most characters have.
#[derive(Debug, Default)]
pub(super) struct BodySize {
    /// Characters by the size of their type, in half points.
    characters: HashMap<i64, usize>,
}

impl BodySize {
    /// Counts the words of a page.
    pub(super) fn count(&mut self, words: &[Token]) {
        for word in words {
            *self.characters.entry((word.size * 2.0).round() as i64).or_default() += word.text.len();
        }
    }

    fn points(&self) -> f64 {
        let most = self.characters.iter().max_by_key(|(size, characters)| (**characters, **size));
        most.map_or(0.0, |(size, _)| *size as f64 / 2.0)
    }
}

/// Writes the words of a page in the order in which they were drawn.
pub(super) fn write(words: &mut [Token], links: &[Link], body: &BodySize, page: &mut Page) {
    let lines = lines(words);
    let words = &*words;
    let marks = Marks::of(words, links);
    let mut rest = &lines[..];
    while !rest.is_empty() && !page.is_full() {
        let count = 1 + rest.windows(2).take_while(|pair| go_on(words, &pair[0], &pair[1])).count();
        let (paragraph, others) = rest.split_at(count);
        rest = others;
        let all = paragraph[0].start..paragraph[count - 1].end;
        let is_large = words[all.start].size >= body.points() * HEADING;
        let is_short = words[all.clone()].iter().map(|word| word.text.len() + 1).sum::<usize>() <= HEADING_MAX;
        page.open(if is_large && is_short { "h2" } else { "p" });
        for (number, line) in paragraph.iter().enumerate() {
            if number > 0 {
                page.text("\n");
            }
            write_line(words, line.clone(), links, &marks, page);
        }
        page.close();
    }
    // pictures that are links
    let unmarked = links.iter().enumerate().filter(|(number, _)| !marks.used[*number]);
    for (_, link) in unmarked {
        page.open_with("a", &[("href", &link.uri)]);
        page.close();
    }
}

type Line = Range<usize>;

/// Words that stand beside one another, in the order of reading.
fn lines(words: &mut [Token]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_same = at > 0 && {
            let last = &words[at - 1];
            last.turn == word.turn
                && (last.y - word.y).abs() < 0.5 * last.size.max(word.size)
                && (word.begin > last.begin || is_from_right(&word.text) && is_from_right(&last.text))
        };
        match lines.last_mut().filter(|_| is_same) {
            Some(line) => line.end = at + 1,
            None => lines.push(at..at + 1),
        }
    }
    lines.iter().for_each(|line| turn_around(&mut words[line.clone()]));
    lines
}

/// A line that is read from right to left begins there; what is read from left to right in it is read so.
fn turn_around(line: &mut [Token]) {
    let from_right = line.iter().filter(|word| is_from_right(&word.text)).count();
    let with_letters = line.iter().filter(|word| word.text.contains(char::is_alphabetic)).count();
    if from_right * 2 <= with_letters {
        return;
    }
    line.sort_by(|one, other| other.begin.total_cmp(&one.begin));
    for words in line.chunk_by_mut(|one, next| !is_from_right(&one.text) && !is_from_right(&next.text)) {
        words.reverse();
    }
}

/// The part of the width of a page that a line takes.
fn extent(words: &[Token], line: &Line) -> Range<f64> {
    let words = &words[line.clone()];
    let begin = words.iter().map(|word| word.begin).fold(f64::INFINITY, f64::min);
    begin..words.iter().map(|word| word.end).fold(f64::NEG_INFINITY, f64::max)
}

/// True if a line goes on in the next one.
fn go_on(words: &[Token], line: &Line, next: &Line) -> bool {
    let (first, below) = (&words[line.start], &words[next.start]);
    let size = first.size.max(below.size);
    let is_same_type = (first.size - below.size).abs() < 0.15 * size;
    let distance = below.y - first.y;
    let (above, under) = (extent(words, line), extent(words, next));
    let is_under = under.start < above.end && above.start < under.end;
    first.turn == below.turn && is_same_type && is_under && distance > 0.0 && distance < LEADING_MAX * size
}

fn write_line(words: &[Token], line: Line, links: &[Link], marks: &Marks, page: &mut Page) {
    let mut open = None;
    for at in line.clone() {
        let link = marks.of_words[at];
        if open != link && open.is_some() {
            page.close();
        }
        if at > line.start {
            page.text(" ");
        }
        if let Some(number) = link.filter(|_| open != link) {
            page.open_with("a", &[("href", &links[number].uri)]);
        }
        open = link;
        page.text(&words[at].text);
    }
    if open.is_some() {
        page.close();
    }
}

/// The links of the words of a page.
struct Marks {
    of_words: Vec<Option<usize>>,
    used: Vec<bool>,
}

impl Marks {
    fn of(words: &[Token], links: &[Link]) -> Marks {
        let mut marks = Marks { of_words: Vec::with_capacity(words.len()), used: vec![false; links.len()] };
        for word in words {
            // the type stands on its line: a third of its size above that is in its middle
            let middle =
                Point::new(word.place.x + 0.3 * word.size.min(word.end - word.begin), word.place.y - 0.3 * word.size);
            let link = links.iter().position(|link| link.area.contains(middle));
            if let Some(number) = link {
                marks.used[number] = true;
            }
            marks.of_words.push(link);
        }
        marks
    }
}

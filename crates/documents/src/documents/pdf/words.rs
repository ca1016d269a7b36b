//! Characters as words: those that touch, on one line, in the order of reading.

use std::collections::HashMap;

use hayro_interpret::kurbo::Point;

use super::glyphs::Character;

/// A wider gap than this share of the size of the type is between two words.
const GAP: f64 = 0.1;
/// The same between letters of Chinese and Japanese, which are written without blanks.
const WIDE_GAP: f64 = 0.3;
/// Bytes of a word that is drawn from right to left.
const TURNED_MAX: usize = 400;
/// Pieces of one word that were drawn apart.
const PIECES_MAX: usize = 200;

/// A word on a page; places as those of its characters.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub text: String,
    pub begin: f64,
    pub end: f64,
    pub y: f64,
    pub size: f64,
    pub turn: i32,
    /// The place of its first character on the page.
    pub place: Point,
    /// True if a blank was drawn behind it.
    is_ended: bool,
}

impl Token {
    fn of(character: &Character, text: String) -> Token {
        Token {
            text,
            begin: character.x,
            end: character.x + character.width,
            y: character.y,
            size: character.size,
            turn: character.turn,
            place: character.place,
            is_ended: false,
        }
    }

    /// True if a character touches its end.
    fn goes_on_with(&self, character: &Character) -> bool {
        let size = self.size.max(character.size);
        let distance = character.x - self.end;
        let gap = if is_wide(&self.text) && is_wide(&character.text) { WIDE_GAP } else { GAP };
        let is_on_line = self.turn == character.turn && (character.y - self.y).abs() < 0.4 * size;
        is_on_line && (-0.6 * size..gap * size).contains(&distance)
    }

    /// True if a character of a script that is written from right to left touches its beginning.
    fn is_begun_by(&self, character: &Character) -> bool {
        let size = self.size.max(character.size);
        let distance = (self.begin - character.x - character.width).abs();
        let is_on_line = self.turn == character.turn && (character.y - self.y).abs() < 0.4 * size;
        let is_turned = character.text.chars().all(is_right_to_left);
        is_turned && is_on_line && distance < GAP * size && self.text.len() < TURNED_MAX
    }

    /// Puts a character before the others, as it stands on the line.
    fn push_before(&mut self, character: &Character, text: &str) {
        self.text.insert_str(0, text);
        self.begin = character.x;
        self.place = character.place;
    }

    fn push(&mut self, character: &Character, text: &str) {
        self.text.push_str(text);
        self.end = character.x + character.width;
        // a small one above the line is an exponent
        if character.size >= self.size {
            (self.size, self.y) = (character.size, character.y);
        }
    }
}

/// The words of a page, in the order in which they were drawn.
pub(super) fn words(characters: &[Character]) -> Vec<Token> {
    let mut words = joined(drawn(characters));
    words.iter_mut().for_each(turn_around);
    words
}

/// Characters that follow one another and touch.
fn drawn(characters: &[Character]) -> Vec<Token> {
    let mut words: Vec<Token> = Vec::new();
    let mut is_open = false;
    let mut accent: Option<(char, &Character)> = None;
    for (at, character) in characters.iter().enumerate() {
        if character.is_blank() {
            if let Some(word) = words.last_mut().filter(|_| is_open) {
                word.is_ended = true;
            }
            is_open = false;
            continue;
        }
        let last = words.last_mut().filter(|_| is_open);
        if let Some(mark) = combining(&character.text) {
            let middle = character.x + character.width / 2.0;
            if let Some(word) = last
                && word.turn == character.turn
                && (character.y - word.y).abs() < 0.6 * character.size
                && (word.begin..word.end).contains(&middle)
            {
                word.text.push(mark);
                continue;
            }
            // `^` and the like are characters of their own, too
            let is_before_letter = characters.get(at + 1).is_some_and(|letter| is_over(character, letter));
            if is_before_letter || !character.text.is_ascii() {
                accent = Some((mark, character));
                continue;
            }
        }
        let mut text = character.text.clone();
        if let Some((mark, drawn)) = accent.take()
            && is_over(drawn, character)
        {
            text.push(mark);
        }
        match words.last_mut().filter(|_| is_open) {
            Some(word) if word.goes_on_with(character) => word.push(character, &text),
            Some(word) if word.is_begun_by(character) => word.push_before(character, &text),
            _ => words.push(Token::of(character, text)),
        }
        is_open = true;
    }
    words
}

/// True if an accent that is drawn by itself belongs to a letter.
fn is_over(accent: &Character, letter: &Character) -> bool {
    let middle = accent.x + accent.width / 2.0;
    let is_near = accent.turn == letter.turn && (accent.y - letter.y).abs() < 0.6 * letter.size;
    is_near && !letter.is_blank() && (letter.x..letter.x + letter.width).contains(&middle)
}

/// Joins pieces of one word that were drawn apart.
fn joined(words: Vec<Token>) -> Vec<Token> {
    let cell = |at: f64| (at / 4.0).floor() as i64;
    let mut begins: HashMap<(i64, i64, i32), Vec<usize>> = HashMap::new();
    for (at, word) in words.iter().enumerate() {
        begins.entry((cell(word.begin), cell(word.y), word.turn)).or_default().push(at);
    }
    let mut next: Vec<Option<usize>> = vec![None; words.len()];
    let mut follows = vec![false; words.len()];
    for (at, word) in words.iter().enumerate().filter(|(_, word)| !word.is_ended) {
        let (x, y) = (cell(word.end), cell(word.y));
        let cells = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy)));
        let near =
            cells.filter_map(|(x, y)| begins.get(&(x, y, word.turn))).flat_map(|list| list.iter().take(PIECES_MAX));
        let found = near.copied().find(|&other| {
            let piece = &words[other];
            other != at
                && !follows[other]
                && (piece.y - word.y).abs() < 0.2 * word.size.min(piece.size)
                && (piece.begin - word.end).abs() < GAP * word.size.max(piece.size)
                && piece.end > word.end
                && !leads_to(&next, other, at)
        });
        if let Some(other) = found {
            next[at] = Some(other);
            follows[other] = true;
        }
    }
    let mut whole = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate().filter(|(at, _)| !follows[*at]) {
        let mut word = word.clone();
        let mut piece = next[at];
        while let Some(at) = piece {
            word.text.push_str(&words[at].text);
            word.end = words[at].end;
            piece = next[at];
        }
        whole.push(word);
    }
    whole
}

/// True if the pieces behind `from` come to `to`, or are too many.
fn leads_to(next: &[Option<usize>], from: usize, to: usize) -> bool {
    let mut at = from;
    for _ in 0..PIECES_MAX {
        match next[at] {
            Some(piece) if piece == to => return true,
            Some(piece) => at = piece,
            None => return false,
        }
    }
    true
}

/// Words that are read from right to left are drawn from left to right; numbers in them are read as they are drawn.
fn turn_around(word: &mut Token) {
    if !is_from_right(&word.text) {
        return;
    }
    let mut letters: Vec<char> = word.text.chars().rev().map(mirrored).collect();
    for number in letters.chunk_by_mut(|one, next| one.is_numeric() && next.is_numeric()) {
        number.reverse();
    }
    word.text = letters.into_iter().collect();
}

/// True for a text that is read from right to left.
pub(super) fn is_from_right(text: &str) -> bool {
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    letters > 0 && text.chars().filter(|letter| is_right_to_left(*letter)).count() * 2 > letters
}

fn is_right_to_left(letter: char) -> bool {
    let is_of_script = matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}');
    is_of_script && !letter.is_numeric()
}

/// The character that looks like this one in a line that is read from right to left.
fn mirrored(letter: char) -> char {
    const PAIRS: [[char; 2]; 5] = [['(', ')'], ['[', ']'], ['{', '}'], ['<', '>'], ['«', '»']];
    let pair = PAIRS.iter().find(|pair| pair.contains(&letter));
    pair.map_or(letter, |[left, right]| if letter == *left { *right } else { *left })
}

/// True for letters of Chinese and Japanese.
fn is_wide(text: &str) -> bool {
    let is_wide = |character| {
        matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffee}')
    };
    text.chars().all(is_wide)
}

/// The combining character of an accent that is drawn by itself.
fn combining(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let (accent, None) = (characters.next()?, characters.next()) else { return None };
    Some(match accent {
        '´' => '\u{301}',
        '`' => '\u{300}',
        '^' | 'ˆ' => '\u{302}',
        '~' | '˜' => '\u{303}',
        '¨' => '\u{308}',
        'ˇ' => '\u{30c}',
        '¯' => '\u{304}',
        '˘' => '\u{306}',
        '˙' => '\u{307}',
        '˚' => '\u{30a}',
        '¸' => '\u{327}',
        '˛' => '\u{328}',
        '˝' => '\u{30b}',
        '\u{300}'..='\u{36f}' => accent,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters of a type of ten points, half as wide, from `x` on.
    fn characters(text: &str, x: f64, y: f64) -> Vec<Character> {
        let one = |(at, letter): (usize, char)| {
            let x = x + at as f64 * 5.0;
            Character { text: letter.into(), x, y, width: 5.0, size: 10.0, turn: 0, place: Point::new(x, y) }
        };
        text.chars().enumerate().map(one).collect()
    }

    fn texts(characters: &[Character]) -> Vec<String> {
        words(characters).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_parted_by_blanks_and_gaps() {
        let mut drawn = characters("two words", 0.0, 0.0);
        drawn.extend(characters("gap", 50.0, 0.0));
        drawn.extend(characters("below", 0.0, 12.0));
        assert_eq!(texts(&drawn), ["two", "words", "gap", "below"]);
    }

    #[test]
    fn pieces_that_were_drawn_apart_are_one_word() {
        let mut drawn = characters("be", 0.0, 0.0);
        drawn.extend(characters("elsewhere", 0.0, 50.0));
        drawn.extend(characters("gin", 10.0, 0.0));
        assert_eq!(texts(&drawn), ["begin", "elsewhere"]);
    }

    #[test]
    fn accents_join_their_letter_and_hebrew_is_turned_around() {
        let mut drawn = characters("c", 0.0, 0.0);
        drawn.extend(characters("¨", 5.0, 0.0));
        drawn.extend(characters("a", 5.0, 0.0));
        assert_eq!(texts(&drawn), ["ca\u{308}"]);
        assert_eq!(texts(&characters("םולש", 0.0, 0.0)), ["שלום"]);
        assert_eq!(texts(&characters("(ה1394םולש)", 0.0, 0.0)), ["(שלום1394ה)"]);
        assert_eq!(texts(&characters("١٣٩٤", 0.0, 0.0)), ["١٣٩٤"]);
        let mut drawn = characters("citt", 0.0, 0.0);
        drawn.extend(characters("`", 20.0, 0.0));
        drawn.extend(characters("a", 20.0, 0.0));
        assert_eq!(texts(&drawn), ["citta\u{300}"]);
        assert_eq!(texts(&characters("a`b", 0.0, 0.0)), ["a`b"]);
    }

    #[test]
    fn many_pieces_in_one_place_take_no_time() {
        let drawn: Vec<_> = (0..50_000).flat_map(|_| characters("a", 0.0, 0.0)).collect();
        assert!(!words(&drawn).is_empty());
    }
}

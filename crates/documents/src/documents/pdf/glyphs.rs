//! The characters of a page, and where they stand on it: the text as it is drawn.

use std::collections::{BTreeSet, HashMap};

use hayro_interpret::font::{Glyph, GlyphRun, PositionedGlyph};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::object::{Dict, String as PdfString};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use super::stated::text_of;

/// Characters of a page; those that a hostile one has beside are left out.
const CHARACTERS_MAX: usize = 1 << 20;
/// Marks within one another.
const MARKS_MAX: usize = 1 << 10;
/// Width of a character whose font states none, in thousandths of its size.
const USUAL_WIDTH: f32 = 500.0;
/// Distance from the page in points at which characters still count as on it.
const MARGIN: f64 = 3.0;

/// A character on a page. Lines may be turned: `x` and `y` are along its line and across.
#[derive(Clone, Debug)]
pub(super) struct Character {
    /// It, or several where one shape stands for them.
    pub text: String,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    /// Size of its font.
    pub size: f64,
    /// Degrees by which its line is turned.
    pub turn: i32,
    /// Its place on the page.
    pub place: Point,
}

impl Character {
    pub(super) fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }
}

/// Takes the characters of a page as they are drawn.
pub(super) struct Glyphs {
    pub characters: Vec<Character>,
    /// The page with a margin.
    area: Rect,
    /// Places at which characters were drawn: shadows and bold type are drawn twice.
    drawn: HashMap<(String, i64, i64), usize>,
    /// Texts that stand for what is drawn, until they were used.
    marks: Vec<Option<String>>,
}

impl Glyphs {
    /// None yet, of a page with this area.
    pub(super) fn new(area: Rect) -> Glyphs {
        let area = area.inflate(MARGIN, MARGIN);
        Glyphs { characters: Vec::new(), area, drawn: HashMap::new(), marks: Vec::new() }
    }

    /// True if the same character stands there already.
    fn is_repeated(&mut self, character: &Character) -> bool {
        let cell = |at: f64| (at / 2.0).round() as i64;
        let key = (character.text.clone(), cell(character.x), cell(character.y));
        let near = |a: f64, b: f64| (a - b).abs() < 0.1 * character.size;
        let before = self.drawn.insert(key, self.characters.len()).and_then(|at| self.characters.get(at));
        before.is_some_and(|other| {
            other.turn == character.turn && near(other.x, character.x) && near(other.y, character.y)
        })
    }

    /// The text of a glyph: what stands for it, what its font says, or its code where that is a letter.
    fn text(&mut self, glyph: &Glyph<'_>) -> String {
        if let Some(stated) = self.marks.iter_mut().rev().find_map(Option::as_mut) {
            return std::mem::take(stated);
        }
        let text = match glyph.as_unicode() {
            Some(BfString::Char(character)) => character.to_string(),
            Some(BfString::String(text)) => text,
            None => String::new(),
        };
        if text.chars().any(|character| !character.is_control() || character == '\t') {
            return text;
        }
        // bitmap fonts of TeX have no names
        let Glyph::Type3(_) = glyph else { return String::new() };
        let code = char::from_u32(glyph.char_code()).filter(|code| matches!(code, ' '..='~' | '¡'..='ÿ'));
        code.map_or_else(String::new, String::from)
    }

    fn take(&mut self, glyph: &PositionedGlyph<'_>, props: &DrawProps<'_>, is_even: bool) {
        let placed = (props.transform * glyph.transform()).as_coeffs();
        let (across, along) = (placed[2].hypot(placed[3]), placed[0].hypot(placed[1]));
        let place = Point::new(placed[4], placed[5]);
        if !(along.is_finite() && across.is_finite()) || along == 0.0 || !self.area.contains(place) {
            return;
        }
        let stated = match &**glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        // text that is stretched has no even scale; that of the page is
        let (page_along, page_across) = scale(&props.transform);
        let stretch = if is_even { along } else { across * page_along / page_across };
        let text = self.text(glyph);
        if text.is_empty() || self.characters.len() >= CHARACTERS_MAX {
            return;
        }
        let angle = placed[1].atan2(placed[0]);
        let (sine, cosine) = angle.sin_cos();
        let character = Character {
            text,
            x: place.x * cosine + place.y * sine,
            y: place.y * cosine - place.x * sine,
            width: f64::from(stated.unwrap_or(USUAL_WIDTH)) * stretch,
            size: across * 1_000.0,
            turn: (angle.to_degrees().round() as i32).rem_euclid(360),
            place,
        };
        if character.is_blank() || !self.is_repeated(&character) {
            self.characters.push(character);
        }
    }
}

impl<'a> Device<'a> for Glyphs {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let ratio = |glyph: &PositionedGlyph<'_>| {
            let (along, across) = scale(&glyph.transform());
            along / across
        };
        let Some(first) = run.glyphs().first().map(ratio) else { return };
        let is_even = run.glyphs().iter().all(|glyph| (ratio(glyph) / first - 1.0).abs() < 0.01);
        let begin = self.characters.len();
        for glyph in run.glyphs() {
            self.take(glyph, &props, is_even);
        }
        close_up(&mut self.characters[begin..]);
    }

    fn begin_marked_content(&mut self, _: &[u8], properties: Option<&Dict<'_>>) {
        let stated = properties.and_then(|found| found.get::<PdfString<'_>>(b"ActualText".as_slice()));
        if self.marks.len() < MARKS_MAX {
            self.marks.push(stated.map(|text| text_of(text.as_bytes())));
        }
    }

    fn end_marked_content(&mut self) {
        self.marks.pop();
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn pop_clip(&mut self) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn pop_transparency_group(&mut self) {}
}

/// Scales along a line and across.
fn scale(transform: &Affine) -> (f64, f64) {
    let [a, b, c, d, ..] = transform.as_coeffs();
    (a.hypot(b), c.hypot(d))
}

/// Letters that are spaced out evenly are no words of one letter: the space counts as theirs. Rows of dots are none.
fn close_up(run: &mut [Character]) {
    const LETTERS_MIN: usize = 3;
    let is_letter = |text: &&str| text.chars().all(|letter| letter.is_alphabetic() && letter < '\u{500}');
    let letters: BTreeSet<&str> = run.iter().map(|character| &*character.text).filter(is_letter).collect();
    if run.len() < 5 || letters.len() < LETTERS_MIN {
        return;
    }
    let space = |pair: &[Character]| (pair[1].x - pair[0].x - pair[0].width) / pair[0].size;
    let least = run.windows(2).map(space).fold(f64::INFINITY, f64::min);
    if (0.03..1.5).contains(&least) {
        run.iter_mut().for_each(|character| character.width += least * character.size);
    }
}

//! The wording of a page, which is what it says without what changes by itself: the text by which two versions of it
//! are compared.
//!
//! [`Wording`] writes the words of a document in order, in lower case and with one blank between two. It leaves out:
//!
//! - all but text: attributes, comments, scripts, styles; so tokens in forms, times of generation, names of builds;
//! - numbers and words with digits in them: counters, dates, session ids, hashes; and the words next to them, names of
//!   months and weekdays, "3 minutes ago" ([`fades`]);
//! - punctuation and white space;
//! - parts that frame the page or hold what rotates: navigation, footers, asides, advertisements, recommendations, by
//!   their elements, roles and class names ([`frames`]). Where hardly anything else is left, they are the page.
//!
//! What it costs: a page where only such things changed is taken for unchanged. The archive stores it all the same.
//!
//! One pass from tag to tag, in time linear in the document; a second one where a part that is left out is not closed,
//! or is nearly all there is.

mod frames;
mod listed;
#[cfg(test)]
mod tests;
mod words;

use super::Document;
use crate::web::charset;
use crate::web::markdown;
use crate::web::mime::MimeType;
use crate::web::references::push_value;
use crate::web::tags::Tags;
use frames::{Kind, kind_of};
use words::fades;

/// Divisor of the text that frames a page: where less than this part of it is left besides, the frames are the page.
const LEFT_MIN: usize = 8;
/// A word is looked at so far.
const WORD_BYTES_MAX: usize = 256;

/// Writes wordings, one after the other.
#[derive(Debug, Default)]
pub struct Wording {
    words: Words,
    decoded: String,
    /// True if the last document has more than what frames it.
    has_main: bool,
}

/// True if a body of this type is text without markup.
pub fn is_plain_text(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(MimeType::parse).map(|found| found.essence).unwrap_or_default();
    let is_json = essence == "application/json" || essence.ends_with("+json");
    is_json || essence.starts_with("text/") && !matches!(&*essence, "text/css" | "text/javascript" | "text/ecmascript")
}

impl Wording {
    /// Sets whether the text of documents is kept as it is written, too.
    pub fn keep_whole(&mut self, keep: bool) {
        self.words.keeps_whole = keep;
    }

    /// The text of the last document outside of its frames as it is written: with numbers, dates and punctuation. None
    /// where there is hardly any.
    pub fn whole(&self) -> Option<&[u8]> {
        (self.has_main && !self.words.text.is_empty()).then_some(&self.words.whole)
    }

    /// The wording of a document, which is without content coding; none of a kind that people do not read.
    pub fn document(&mut self, document: Document, body: &[u8], content_type: Option<&str>) -> Option<&[u8]> {
        let is_html = match document {
            Document::Html => true,
            Document::Markdown => {
                let page = markdown::to_html(body, content_type);
                return self.document(Document::Html, page.as_bytes(), Some(markdown::MADE));
            }
            Document::Json | Document::Text => return Some(self.plain(body, content_type)),
            Document::Xhtml | Document::Svg | Document::Xml => false,
            Document::Css | Document::Script | Document::Manifest => return None,
        };
        let markup = super::scan::utf8(body, document.encoding(body, content_type));
        let tags = || if is_html { Tags::new(&markup) } else { Tags::new_xhtml(&markup) };
        // in XML names mean something else, but for XHTML
        let knows_frames = document == Document::Html || document == Document::Xhtml;
        self.has_main = knows_frames && self.read(tags(), true);
        if !self.has_main {
            self.read(tags(), false);
        }
        Some(&self.words.text)
    }

    /// The wording of text without markup.
    pub fn plain(&mut self, body: &[u8], content_type: Option<&str>) -> &[u8] {
        self.words.clear();
        self.words.push(&super::scan::utf8(body, charset::of_text(content_type)));
        self.words.part();
        &self.words.text
    }

    /// Reads a document, without its frames; returns whether that leaves a text.
    fn read(&mut self, mut tags: Tags<'_>, without_frames: bool) -> bool {
        self.words.clear();
        let mut skipped: Option<Skipped<'_>> = None;
        let mut skipped_bytes = 0;
        loop {
            let is_kept = skipped.is_none();
            let (words, decoded) = (&mut self.words, &mut self.decoded);
            let tag = tags.next_tag_after(|text| match is_kept {
                true => push_text(text, words, decoded),
                false => skipped_bytes += text.len(),
            });
            let Some(tag) = tag else { break };
            self.words.part();
            if let Some(inner) = &mut skipped {
                if inner.ends_with(tag.name, tag.is_start) {
                    skipped = None;
                }
                continue;
            }
            if !tag.is_start {
                continue;
            }
            match kind_of(tag.name) {
                Kind::Text => {}
                Kind::Title => {
                    tags.attributes(|_| {});
                    push_text(tags.raw(), &mut self.words, &mut self.decoded);
                    self.words.part();
                }
                Kind::Unread => skipped = Some(Skipped::new(tag.name)),
                Kind::Frame if without_frames => skipped = Some(Skipped::new(tag.name)),
                Kind::Part if without_frames => {
                    let mut is_frame = false;
                    tags.attributes(|attribute| is_frame |= frames::is_frame(attribute));
                    if is_frame {
                        skipped = Some(Skipped::new(tag.name));
                    }
                }
                Kind::Frame | Kind::Part => {}
            }
        }
        self.words.part();
        skipped.is_none() && self.words.text.len() >= skipped_bytes / LEFT_MIN
    }
}

/// A part that is left out, until the end tag of its element.
struct Skipped<'a> {
    name: &'a [u8],
    open: usize,
}

impl<'a> Skipped<'a> {
    fn new(name: &'a [u8]) -> Self {
        Skipped { name, open: 1 }
    }

    fn ends_with(&mut self, name: &[u8], is_start: bool) -> bool {
        if self.name.eq_ignore_ascii_case(name) {
            self.open = if is_start { self.open + 1 } else { self.open - 1 };
        }
        self.open == 0
    }
}

/// Appends text as it is in markup.
fn push_text(text: &[u8], words: &mut Words, decoded: &mut String) {
    if memchr::memchr(b'&', text).is_none() {
        return words.push(text);
    }
    decoded.clear();
    push_value(text, decoded);
    words.push(decoded.as_bytes());
}

/// Words, as they come in.
#[derive(Debug, Default)]
struct Words {
    text: Vec<u8>,
    /// The text as it came in, where that is kept.
    whole: Vec<u8>,
    keeps_whole: bool,
    /// The index at which the word that is being written begins.
    start: usize,
    has_digit: bool,
}

impl Words {
    fn clear(&mut self) {
        self.text.clear();
        self.whole.clear();
        self.start = 0;
        self.has_digit = false;
    }

    /// Appends a piece of text, which may begin and end within a word.
    fn push(&mut self, piece: &[u8]) {
        if self.keeps_whole {
            self.whole.extend_from_slice(piece);
        }
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            if byte.is_ascii_alphabetic() {
                at += self.push_letters(&piece[at..]);
                continue;
            }
            at += 1;
            match byte {
                b'0'..=b'9' => self.has_digit = true,
                0x80.. => match separator_bytes(&piece[at - 1..]) {
                    0 => self.text.push(byte),
                    bytes => {
                        at += bytes - 1;
                        self.part();
                    }
                },
                // a word with an apostrophe in it is one
                b'\'' => {}
                _ => self.part(),
            }
            if self.text.len() - self.start > WORD_BYTES_MAX && byte < 0x80 {
                self.part();
            }
        }
    }

    /// Appends the letters of ASCII that a piece begins with, as many as a word may have; returns how many they are.
    fn push_letters(&mut self, piece: &[u8]) -> usize {
        let room = (WORD_BYTES_MAX + 1).saturating_sub(self.text.len() - self.start).max(1);
        let piece = &piece[..piece.len().min(room)];
        let count = piece.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(piece.len());
        self.text.extend(piece[..count].iter().map(|byte| byte | 0x20));
        if self.text.len() - self.start > WORD_BYTES_MAX {
            self.part();
        }
        count
    }

    /// The word ends here.
    fn part(&mut self) {
        let word = &self.text[self.start..];
        let is_out = match (word.is_empty(), self.has_digit) {
            (true, _) => true,
            (false, false) => fades(word),
            // scripts without blanks have whole sentences around a number, only that goes
            (false, true) => word.is_ascii(),
        };
        if is_out {
            self.text.truncate(self.start);
        } else {
            self.text.push(b' ');
            self.start = self.text.len();
        }
        self.has_digit = false;
    }
}

/// The length of the white space or punctuation beyond ASCII that `text` begins with; 0 where it is a letter.
fn separator_bytes(text: &[u8]) -> usize {
    match text {
        // U+00A0 to U+00BF but for the ordinals and the micro sign
        [0xc2, second, ..] if !matches!(second, 0xaa | 0xb5 | 0xba) => 2,
        // U+2000 to U+206F; U+FEFF
        [0xe2, 0x80 | 0x81, _, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        // U+3000 to U+303F
        [0xe3, 0x80, _, ..] => 3,
        _ => 0,
    }
}

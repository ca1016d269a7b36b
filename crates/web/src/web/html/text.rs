//! Text as readers see it: runs of blanks are one, blocks are parted, and the text of an anchor is known with its link.

use std::collections::HashMap;

use super::display::Display;
use super::{Link, LinkKind, Links};
use crate::fingerprint::Fingerprint;
use crate::web::references::push_value;
use crate::web::tags::Tag;

/// Bytes of an anchor's text; what is beyond is left out.
pub(crate) const ANCHOR_TEXT_MAX: usize = 1_024;

/// Text with runs of white space made one blank, and none at its ends; preformatted text can keep its own.
#[derive(Clone, Debug, Default)]
pub struct Squeezed {
    /// The text.
    pub text: String,
    /// The parting before the next word.
    parting: Parting,
}

/// The parting of two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Parting {
    #[default]
    Nothing,
    Blank,
    Line,
    Paragraph,
}

impl Parting {
    fn as_str(self) -> &'static str {
        match self {
            Parting::Nothing => "",
            Parting::Blank => " ",
            Parting::Line => "\n",
            Parting::Paragraph => "\n\n",
        }
    }
}

impl Squeezed {
    /// Appends a piece.
    pub fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            if c.is_whitespace() {
                self.part();
            } else {
                self.begin();
                self.text.push(c);
            }
        }
    }

    /// Appends a piece with its white space as it is.
    pub fn push_preformatted(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.begin();
            self.text.push_str(piece);
        }
    }

    /// Ends preformatted text: what follows is another line, however many line ends that has behind it.
    pub fn end_preformatted(&mut self) {
        self.text.truncate(self.text.trim_end().len());
        self.end_line();
    }

    /// Begins another word.
    pub fn part(&mut self) {
        self.part_by(Parting::Blank);
    }

    /// Begins another line.
    pub fn end_line(&mut self) {
        self.part_by(Parting::Line);
    }

    /// Begins another paragraph, behind an empty line.
    pub fn end_paragraph(&mut self) {
        self.part_by(Parting::Paragraph);
    }

    fn part_by(&mut self, parting: Parting) {
        if !self.text.is_empty() {
            self.parting = self.parting.max(parting);
        }
    }

    /// Writes what is before the next word; a line that has ended by itself ends once.
    fn begin(&mut self) {
        let parting = std::mem::take(&mut self.parting).as_str();
        let ended = parting.len().min(self.text.len() - self.text.trim_end_matches('\n').len());
        self.text.push_str(if parting.starts_with('\n') { &parting[ended..] } else { parting });
    }
}

/// The texts of a page's anchors, each with the number of its value among those that a scan gathers.
#[derive(Debug, Default)]
pub(super) struct AnchorTexts {
    found: Vec<(usize, String)>,
    open: Option<OpenAnchor>,
    scratch: String,
}

/// An anchor that has not ended.
#[derive(Debug, Default)]
struct OpenAnchor {
    value: usize,
    text: Squeezed,
    /// The alternative texts of the pictures in it, which take the place of a text that it has not.
    alternatives: Squeezed,
}

impl AnchorTexts {
    /// A piece of text.
    pub(super) fn push(&mut self, piece: &[u8]) {
        if let Some(OpenAnchor { text, .. }) = &mut self.open
            && text.text.len() < ANCHOR_TEXT_MAX
        {
            self.scratch.clear();
            push_value(piece, &mut self.scratch);
            text.push(&self.scratch);
        }
    }

    /// A tag: one that ends the anchor, or parts its words.
    pub(super) fn pass(&mut self, tag: &Tag<'_>) {
        let Some(OpenAnchor { text, .. }) = &mut self.open else { return };
        if tag.name.eq_ignore_ascii_case(b"a") {
            self.close();
        } else if Display::of_bytes(tag.name).parts_words() {
            text.part();
        }
    }

    /// The tag of an element begins, with this `alt`; `value` is the one that it names.
    pub(super) fn begin_tag(&mut self, tag: &Tag<'_>, alt: Option<&[u8]>, value: Option<usize>) {
        let is = |name: &str| tag.name.eq_ignore_ascii_case(name.as_bytes());
        let mut alternative = |texts: &mut Squeezed| {
            self.scratch.clear();
            push_value(alt.unwrap_or_default(), &mut self.scratch);
            texts.part();
            texts.push(&self.scratch);
        };
        match (value, &mut self.open) {
            (Some(value), _) if is("a") => self.open = Some(OpenAnchor { value, ..OpenAnchor::default() }),
            (Some(value), _) if is("area") => {
                let mut text = Squeezed::default();
                alternative(&mut text);
                self.keep(value, text.text);
            }
            (_, Some(open)) if is("img") && open.alternatives.text.len() < ANCHOR_TEXT_MAX => {
                alternative(&mut open.alternatives);
            }
            _ => {}
        }
    }

    /// The anchor ends.
    pub(super) fn close(&mut self) {
        if let Some(OpenAnchor { value, text, alternatives }) = self.open.take() {
            self.keep(value, if text.text.is_empty() { alternatives.text } else { text.text });
        }
    }

    fn keep(&mut self, value: usize, mut text: String) {
        if !text.is_empty() {
            text.truncate(text.floor_char_boundary(ANCHOR_TEXT_MAX));
            self.found.push((value, text));
        }
    }

    /// The text of each link: from the first anchor with its target that has any. `key` gives the target of a value.
    pub(super) fn of(&mut self, links: &Links, key: impl Fn(usize) -> Option<Fingerprint>) -> Vec<String> {
        // where a URL comes once for each kind, its text is the anchors'
        let is_anchor = |link: &&(usize, &Link)| link.1.kind == LinkKind::Anchor;
        let (anchors, others): (Vec<_>, Vec<_>) = links.entries.iter().enumerate().partition(|link| is_anchor(&link));
        let places: HashMap<Fingerprint, usize> =
            others.into_iter().chain(anchors).map(|(place, link)| (link.keys.key, place)).collect();
        let mut texts = vec![String::new(); links.entries.len()];
        for (value, text) in self.found.drain(..) {
            let place = key(value).and_then(|key| places.get(&key));
            if let Some(empty) = place.map(|&place| &mut texts[place]).filter(|text| text.is_empty()) {
                *empty = text;
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkScan;
    use super::*;
    use crate::fingerprint::Fingerprinter;
    use crate::web::html::RobotsDirectives;
    use crate::web::url::{CanonicalUrl, KeyMaker};

    fn texts(page: &str) -> Vec<(String, String)> {
        let mut scan = LinkScan::new(100, false, CanonicalUrl::LENGTH_MAX);
        let keys = KeyMaker::new(Fingerprinter::random(7), &[]);
        let base = CanonicalUrl::parse("https://a.example/").unwrap();
        let none = RobotsDirectives::default();
        let (links, texts) = scan.html_with_texts(page.as_bytes(), Some("text/html"), &base, &keys, none);
        assert_eq!(links, scan.html(page.as_bytes(), Some("text/html"), &base, &keys, none), "texts change the links");
        let urls = links.entries.iter().map(|link| link.url.as_str()["https://a.example/".len()..].to_owned());
        urls.zip(texts).collect()
    }

    fn text(page: &str) -> String {
        texts(page).remove(0).1
    }

    #[test]
    fn the_text_of_an_anchor_is_what_stands_in_it() {
        for (page, expected) in [
            ("<a href=x>One</a> no", "One"),
            ("no <a href=x>\n One <b>t</b>wo<br>three </a> no", "One two three"),
            ("<a href=x>a &lt; b &amp; c < d</a>", "a < b & c < d"),
            ("<a href=x>a<!-- no -->b<script>no</script>c</a>", "abc"),
            ("<a href=x><img src=y></a>", ""),
            ("<a href=x><img src=y alt=' One &amp;  two '><IMG ALT=three></a><img alt=no>", "One & two three"),
            ("<a href=x><img alt=no>One</a>", "One"),
            ("<map><area href=x alt=One></map>", "One"),
            ("<area href=x><img alt=no>", ""),
            ("<a href=x>One<a href=y>Two</a>", "One"),
            ("<A HREF=x>One</A>no", "One"),
            ("<a href=x>One", "One"),
            ("<a href=x></a><a name=y>no</a>", ""),
            ("<a href=x>\u{fc}\u{a0}\u{a0}\u{fc}</a>", "\u{fc} \u{fc}"),
        ] {
            assert_eq!(text(page), expected, "{page}");
        }
    }

    #[test]
    fn a_target_has_the_first_text_that_any_of_its_anchors_has() {
        let found = texts("<a href=x><img src=i></a><a href=y>Y</a><a href='x#f'>X</a><a href=/x>no</a>");
        let expected = [("x", "X"), ("i", ""), ("y", "Y")].map(|(url, text)| (url.to_owned(), text.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_url_that_is_named_in_several_ways_comes_once_for_each_where_that_is_wanted() {
        let mut scan = LinkScan::new(100, false, CanonicalUrl::LENGTH_MAX).with_each_kind();
        let keys = KeyMaker::new(Fingerprinter::random(7), &[]);
        let base = CanonicalUrl::parse("https://a.example/").unwrap();
        let page = b"<link rel=canonical href=/><link rel=next href=x><a href=x>X</a><a href=x>no</a><img src=x>";
        let (links, texts) = scan.html_with_texts(page, Some("text/html"), &base, &keys, RobotsDirectives::default());
        let found: Vec<_> = links.entries.iter().map(|link| link.kind).zip(&texts).collect();
        use LinkKind::{Anchor, Canonical, Embed, Other};
        let none = String::new();
        assert_eq!(found, [(Canonical, &none), (Other, &none), (Anchor, &"X".to_owned()), (Embed, &none)]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = text(&format!("<a href=x>a{}</a>", "\u{fc}".repeat(5_000)));
        assert_eq!(long.len(), ANCHOR_TEXT_MAX - 1);
        let pieces = text(&format!("<a href=x>{}</a>", "<i>word</i> ".repeat(100_000)));
        assert!(pieces.len() <= ANCHOR_TEXT_MAX);
    }
}

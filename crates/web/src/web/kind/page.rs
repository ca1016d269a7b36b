//! The parts of a page by which it is judged: title, first heading, text, numbers, and the markup without the text.

use std::borrow::Cow;

use scraper::Html;

use crate::web::charset;
use crate::web::references::push_value;
use crate::web::tags::{Tag, Tags};

/// Bytes of a page that are looked at.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Tags that are looked at: a wall has fewer.
const TAGS_MAX: usize = 1_000;
/// Bytes of its text that are kept.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Bytes of a title or a heading.
const LINE_BYTES_MAX: usize = 512;

/// A page as it is judged. Its lines are in small letters, with the straight apostrophe and single blanks.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The text of its title.
    pub title: String,
    /// The text of its first heading.
    pub heading: String,
    /// The beginning of its text, without title, scripts, styles and examples.
    pub text: String,
    /// Bytes of all of its text.
    pub text_bytes: usize,
    /// Bytes of its text outside of anchors: menus are not counted.
    pub prose_bytes: usize,
    /// The number of its anchors that lead to another page.
    pub links: usize,
    /// The number of its scripts.
    pub scripts: usize,
    /// True if it has a field for a password.
    pub has_password: bool,
}

impl Page {
    /// Reads the beginning of `body`.
    pub fn read(body: &[u8], content_type: Option<&str>) -> Page {
        let mut reader = Reader::default();
        reader.walk(Tags::new(decoded(body, content_type).as_bytes()));
        let Reader { mut page, title, heading, text, .. } = reader;
        (page.title, page.heading, page.text) = (title.plain(), heading.plain(), text.plain());
        page
    }
}

/// Returns the elements of the beginning of `body`.
pub(super) fn tree(body: &[u8], content_type: Option<&str>) -> Html {
    Html::parse_document(&decoded(body, content_type))
}

/// Returns the markup of the beginning of `body` without its text: tags with quoted attributes, and what is in scripts.
pub(super) fn markup(body: &[u8], content_type: Option<&str>) -> String {
    let html = decoded(body, content_type);
    let mut tags = Tags::new(html.as_bytes());
    let mut markup = String::with_capacity(html.len());
    for _ in 0..TAGS_MAX {
        let Some(tag) = tags.next_tag() else { break };
        markup.push_str(if tag.is_start { "<" } else { "</" });
        push_value(tag.name, &mut markup);
        tags.attributes(|attribute| {
            markup.push(' ');
            push_value(attribute.name, &mut markup);
            markup.push_str("=\"");
            push_value(attribute.value, &mut markup);
            markup.push('"');
        });
        markup.push('>');
        if tag.is_start && is(tag, b"script") {
            markup.push_str(&String::from_utf8_lossy(tags.raw()));
        }
    }
    markup
}

/// The beginning of `body` in UTF-8. What is valid UTF-8 is taken for it, whatever the page declares.
fn decoded<'a>(body: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    const ESCAPE: u8 = 0x1b;
    let body = &body[..body.len().min(BODY_BYTES_MAX)];
    let valid = match str::from_utf8(body) {
        Ok(text) => Some(text),
        // cut within a character
        Err(error) if error.error_len().is_none() => str::from_utf8(&body[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    // other encodings have bytes of ASCII alone: those that switch by escapes, and UTF-16
    let is_other = |text: &&str| memchr::memchr2(ESCAPE, 0, text.as_bytes()).is_some();
    match valid.filter(|text| !is_other(text)) {
        Some(text) => Cow::Borrowed(text),
        None => charset::to_utf8(body, charset::of_html(body, content_type)),
    }
}

fn is(tag: Tag<'_>, name: &[u8]) -> bool {
    tag.name.eq_ignore_ascii_case(name)
}

#[derive(Default)]
struct Reader {
    page: Page,
    title: Line,
    heading: Line,
    text: Line,
    is_in_heading: bool,
    is_in_link: bool,
    /// Open elements of examples, which are not what the page is.
    examples: usize,
    scratch: String,
}

impl Reader {
    fn walk(&mut self, mut tags: Tags<'_>) {
        for _ in 0..TAGS_MAX {
            let Some(tag) = tags.next_tag_after(|piece| self.take_text(piece)) else { return };
            self.text.part();
            self.heading.part();
            self.take_tag(tag, &mut tags);
        }
        // what is beyond counts as text: the page is long
        self.page.text_bytes = self.page.text_bytes.max(TEXT_BYTES_MAX);
    }

    fn take_text(&mut self, piece: &[u8]) {
        let piece_bytes = piece.trim_ascii().len();
        self.page.text_bytes += piece_bytes;
        if !self.is_in_link {
            self.page.prose_bytes += piece_bytes;
        }
        if piece_bytes == 0 {
            self.text.part();
        } else if self.examples == 0 {
            self.scratch.clear();
            push_value(piece, &mut self.scratch);
            self.text.push(&self.scratch, TEXT_BYTES_MAX);
            if self.is_in_heading {
                self.heading.push(&self.scratch, LINE_BYTES_MAX);
            }
        }
    }

    fn take_tag(&mut self, tag: Tag<'_>, tags: &mut Tags<'_>) {
        match tag.name.first().map(u8::to_ascii_lowercase) {
            Some(b'a') if tag.name.len() == 1 => {
                self.is_in_link = tag.is_start;
                let mut leads = false;
                tags.attributes(|attribute| {
                    leads |= attribute.name.eq_ignore_ascii_case(b"href") && leads_away(attribute.value)
                });
                self.page.links += usize::from(tag.is_start && leads);
            }
            Some(b'h') if is(tag, b"h1") || is(tag, b"h2") => {
                self.is_in_heading = tag.is_start && self.heading.text.is_empty();
            }
            Some(b'p' | b'c') if is(tag, b"pre") || is(tag, b"code") => {
                self.examples = if tag.is_start { self.examples + 1 } else { self.examples.saturating_sub(1) };
            }
            Some(b'i') if tag.is_start && is(tag, b"input") => {
                let has_password = &mut self.page.has_password;
                tags.attributes(|attribute| *has_password |= attribute.value.eq_ignore_ascii_case(b"password"));
            }
            Some(b's') if tag.is_start && is(tag, b"script") => self.page.scripts += 1,
            Some(b't') if tag.is_start && is(tag, b"title") => {
                tags.attributes(|_| {});
                if self.title.text.is_empty() && tags.is_of_page() {
                    self.scratch.clear();
                    push_value(tags.raw(), &mut self.scratch);
                    self.title.push(&self.scratch, LINE_BYTES_MAX);
                }
            }
            _ => {}
        }
    }
}

/// True if the target of an anchor is another page.
fn leads_away(target: &[u8]) -> bool {
    !target.starts_with(b"#") && !target.starts_with(b"mailto:")
}

/// Words with single blanks between them.
#[derive(Default)]
struct Line {
    text: String,
    /// True if another word begins.
    is_parted: bool,
}

impl Line {
    fn part(&mut self) {
        self.is_parted = true;
    }

    /// Appends a piece, unless the line has `bytes_max` already.
    fn push(&mut self, piece: &str, bytes_max: usize) {
        self.is_parted |= piece.starts_with(char::is_whitespace);
        // most pieces are ASCII, whose blanks are found faster
        let words: &mut dyn Iterator<Item = &str> = match piece.is_ascii() {
            true => &mut piece.split_ascii_whitespace(),
            false => &mut piece.split_whitespace(),
        };
        for word in words {
            if self.text.len() >= bytes_max {
                return;
            }
            if self.is_parted && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&word[..word.floor_char_boundary(bytes_max)]);
            self.is_parted = true;
        }
        self.is_parted = piece.ends_with(char::is_whitespace);
    }

    /// The line as phrases are written.
    fn plain(mut self) -> String {
        if self.text.is_ascii() {
            self.text.make_ascii_lowercase();
            return self.text;
        }
        self.text.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_without_its_examples_and_its_scripts() {
        let page = Page::read(
            "<TITLE> It\u{2019}s\n&lt;A&gt; </TITLE><script>no</script><h1>One <b>t</b>wo</h1><h2>no</h2>\
             <pre>an example</pre><a href=/x>Three</a><a href=#x>\u{a0}four</a><input type=Password>"
                .as_bytes(),
            None,
        );
        assert_eq!((&*page.title, &*page.heading), ("it's <a>", "one t wo"));
        assert_eq!(page.text, "one t wo no three four");
        assert_eq!((page.links, page.scripts, page.has_password), (1, 1, true));
        assert_eq!((page.text_bytes, page.prose_bytes), (29, 18));
        assert_eq!(Page::read(b"<title>gr\xfcn</title>", None).title, "gr\u{fc}n");
        assert_eq!(Page::read(&b"<p>a</p>".repeat(2_000), None).text_bytes, TEXT_BYTES_MAX);
    }

    #[test]
    fn markup_has_tags_and_scripts_in_one_form() {
        let page = b"<div id=root class='a &amp; b'>text</div>\n<script>var x = '<p>';</script>";
        let expected = "<div id=\"root\" class=\"a & b\"></div><script>var x = '<p>';</script>";
        assert_eq!(markup(page, None), expected);
    }
}

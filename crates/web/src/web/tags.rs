//! A walk from tag to tag through an HTML document, without building anything.
//!
//! Follows the tokenizer of the HTML standard (13.2.5) in everything that decides where a tag begins and ends: comments
//! with all their early ends, bogus comments, quoted and unquoted attributes, raw text elements, the escaped states of
//! scripts, CDATA in SVG and MathML. What it leaves out is what a link scan has no use for: text, and errors.
//!
//! Works on bytes of UTF-8 or any other encoding in which the bytes of `<>/="'` and blanks mean themselves. Takes time
//! linear in the input: it never goes back, whatever is left open.
//!
//! One approximation: which elements are foreign (SVG, MathML) is decided by counting their tags, not by a tree.

/// A tag whose attributes have not been read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// False for an end tag.
    pub is_start: bool,
    /// The name as written, upper or lower case.
    pub name: &'a [u8],
}

/// An attribute as written: no case folding, no character references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value without its quotes; empty where there is none.
    pub value: &'a [u8],
    /// Offset of the name in the document.
    pub start: usize,
    /// Offset behind the attribute, with the quote that ends its value.
    pub end: usize,
}

/// A walk over the tags of a document.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    html: &'a [u8],
    at: usize,
    open: Option<Tag<'a>>,
    raw: &'a [u8],
    /// Open SVG and MathML elements.
    foreign: usize,
    /// The number of them that a document of XML begins with.
    foreign_least: usize,
    /// Open `template` elements.
    templates: usize,
}

const BLANK: u8 = 1;
const SLASH: u8 = 2;
const CLOSE: u8 = 4;
const EQUALS: u8 = 8;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    class[b' ' as usize] = BLANK;
    class[b'\t' as usize] = BLANK;
    class[b'\n' as usize] = BLANK;
    class[b'\x0c' as usize] = BLANK;
    // the tokenizer sees a line feed in its place
    class[b'\r' as usize] = BLANK;
    class[b'/' as usize] = SLASH;
    class[b'>' as usize] = CLOSE;
    class[b'=' as usize] = EQUALS;
    class
};

#[cfg(test)]
thread_local! {
    /// Bytes that the walks of this thread have looked at, some of them more than once: what they cost.
    pub(in crate::web) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts the cost, in tests.
#[inline]
fn looked_at(bytes: usize) {
    #[cfg(test)]
    LOOKED_AT.set(LOOKED_AT.get() + bytes);
    #[cfg(not(test))]
    let _ = bytes;
}

fn is(byte: u8, classes: u8) -> bool {
    CLASS[usize::from(byte)] & classes != 0
}

impl<'a> Tags<'a> {
    /// The tags of an HTML document.
    pub fn new(html: &'a [u8]) -> Self {
        Tags { html, at: 0, open: None, raw: &[], foreign: 0, foreign_least: 0, templates: 0 }
    }

    /// The tags of an XHTML document: a `/>` closes any element, CDATA sections are everywhere.
    pub fn new_xhtml(html: &'a [u8]) -> Self {
        Tags { foreign: 1, foreign_least: 1, ..Tags::new(html) }
    }

    /// The next tag. Its attributes must be read or skipped before the next one; where the caller did neither, they are
    /// skipped here.
    pub fn next_tag(&mut self) -> Option<Tag<'a>> {
        self.next_tag_after(|_| {})
    }

    /// Returns what [`next_tag`](Self::next_tag) does; the text before the tag goes to `text` piece by piece, with its
    /// references as they are written. The content of raw text elements is no text here.
    pub fn next_tag_after(&mut self, mut text: impl FnMut(&'a [u8])) -> Option<Tag<'a>> {
        if self.open.is_some() && !self.attributes(|_| {}) {
            return None;
        }
        loop {
            let Some(open) = find(self.html, self.at, b'<') else {
                text(self.html.get(self.at..).unwrap_or_default());
                self.at = self.html.len();
                return None;
            };
            text(&self.html[self.at..open]);
            self.at = open + 1;
            let is_start = match self.html.get(self.at)? {
                b'!' => {
                    let start = self.at + 1;
                    self.skip_declaration()?;
                    let section = self.html[start..self.at].strip_prefix(b"[CDATA[").filter(|_| self.foreign > 0);
                    text(section.and_then(|section| section.strip_suffix(b"]]>")).unwrap_or_default());
                    continue;
                }
                b'?' => {
                    self.skip_past(b'>')?;
                    continue;
                }
                b'/' => {
                    self.at += 1;
                    false
                }
                byte if byte.is_ascii_alphabetic() => true,
                _ => {
                    text(b"<");
                    continue;
                }
            };
            if is_start || self.html.get(self.at)?.is_ascii_alphabetic() {
                let name = self.take_until(BLANK | SLASH | CLOSE);
                let tag = Tag { is_start, name };
                self.open = Some(tag);
                return Some(tag);
            }
            // `</>` is nothing, `</` and anything else a comment: both end at the next `>`
            self.skip_past(b'>')?;
        }
    }

    /// Reads the attributes of the tag that [`next_tag`](Self::next_tag) returned, and goes on to where the next tag
    /// can start. False if the document ends within the tag: then there is no such tag.
    pub fn attributes(&mut self, mut each: impl FnMut(Attribute<'a>)) -> bool {
        let Some(tag) = self.open.take() else { return true };
        let self_closing = self.walk(&mut each);
        match self_closing {
            Some(self_closing) => self.enter_content(tag, self_closing),
            None => self.at = self.html.len(),
        }
        self_closing.is_some()
    }

    /// The content of the element whose attributes were read last, if it is one of raw text: a style, a script,
    /// noframes.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The offset behind what was read: the name of a tag, or its attributes and the content that is raw text.
    pub fn position(&self) -> usize {
        self.at
    }

    /// True if the walk is in SVG, in MathML or in a document of XML.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign > 0
    }

    /// Returns whether the walk is in the page itself: neither in a drawing nor in a template, where `base`, `meta` and
    /// `title` are other elements or none yet.
    pub fn is_of_page(&self) -> bool {
        self.foreign <= self.foreign_least && self.templates == 0
    }

    /// Walks over attributes up to the end of the tag; returns whether it is self-closing, none at the document's end.
    fn walk(&mut self, each: &mut impl FnMut(Attribute<'a>)) -> Option<bool> {
        loop {
            self.skip_blanks();
            match self.html.get(self.at)? {
                b'>' => {
                    self.at += 1;
                    return Some(false);
                }
                b'/' => {
                    self.at += 1;
                    if *self.html.get(self.at)? == b'>' {
                        self.at += 1;
                        return Some(true);
                    }
                    continue;
                }
                _ => {}
            }
            // the first byte belongs to the name even if it is a `=`
            let start = self.at;
            self.at += 1;
            self.take_until(BLANK | SLASH | CLOSE | EQUALS);
            let (name, name_end) = (&self.html[start..self.at], self.at);
            self.skip_blanks();
            let has_value = *self.html.get(self.at)? == b'=';
            let value = if has_value { self.take_value()? } else { &[] };
            let end = if has_value { self.at } else { name_end };
            each(Attribute { name, value, start, end });
        }
    }

    fn take_value(&mut self) -> Option<&'a [u8]> {
        self.at += 1;
        self.skip_blanks();
        match *self.html.get(self.at)? {
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                let end = find(self.html, start, quote)?;
                self.at = end + 1;
                Some(&self.html[start..end])
            }
            _ => Some(self.take_until(BLANK | CLOSE)),
        }
    }

    fn take_until(&mut self, classes: u8) -> &'a [u8] {
        let rest = &self.html[self.at..];
        let length = rest.iter().position(|&byte| is(byte, classes)).unwrap_or(rest.len());
        looked_at(length + 1);
        self.at += length;
        &rest[..length]
    }

    fn skip_blanks(&mut self) {
        while self.html.get(self.at).is_some_and(|&byte| is(byte, BLANK)) {
            looked_at(1);
            self.at += 1;
        }
    }

    fn skip_past(&mut self, byte: u8) -> Option<()> {
        self.at = find(self.html, self.at, byte)? + 1;
        Some(())
    }

    /// Skips a comment, a doctype or a CDATA section from the `!` of its `<!` on.
    fn skip_declaration(&mut self) -> Option<()> {
        let rest = &self.html[self.at + 1..];
        if rest.starts_with(b"--") {
            self.at = comment_end(self.html, self.at + 3)?;
            return Some(());
        }
        if self.foreign > 0 && rest.starts_with(b"[CDATA[") {
            let end = memchr::memmem::find(rest, b"]]>");
            looked_at(end.unwrap_or(rest.len()));
            let end = end?;
            self.at += 1 + end + 3;
            return Some(());
        }
        self.skip_past(b'>')
    }

    /// Enters what follows the tag: for raw text elements, skips to their end tag.
    fn enter_content(&mut self, tag: Tag<'a>, self_closing: bool) {
        self.raw = &[];
        let content = Content::of(tag.name);
        let depth = match content {
            Content::Foreign => Some(&mut self.foreign).filter(|_| !(tag.is_start && self_closing)),
            // in HTML a slash closes nothing
            Content::Template => {
                let is_closed = tag.is_start && self_closing && self.foreign > 0;
                Some(&mut self.templates).filter(|_| !is_closed)
            }
            _ => None,
        };
        if let Some(depth) = depth {
            *depth = if tag.is_start { *depth + 1 } else { depth.saturating_sub(1) };
        }
        if !tag.is_start || self_closing && self.foreign > 0 {
            return;
        }
        let end = match content {
            Content::Markup | Content::Foreign | Content::Template => return,
            Content::Nothing => None,
            Content::Text => raw_text_end(self.html, self.at, tag.name),
            Content::Script => script_end(self.html, self.at),
        };
        let end = end.unwrap_or(self.html.len());
        self.raw = &self.html[self.at..end];
        self.at = end;
    }
}

/// Kinds of content between the start and the end tag of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Markup,
    Foreign,
    Template,
    Text,
    Script,
    /// No end tag ends it.
    Nothing,
}

impl Content {
    fn of(name: &[u8]) -> Content {
        let named = |wanted: &[u8]| name.eq_ignore_ascii_case(wanted);
        let by = |is_so: bool, content: Content| if is_so { content } else { Content::Markup };
        // the common elements are sorted out by their length
        match (name.len(), name.first().map(|byte| byte | 0x20)) {
            (3, Some(b's')) => by(named(b"svg"), Content::Foreign),
            (3, Some(b'x')) => by(named(b"xmp"), Content::Text),
            (4, Some(b'm')) => by(named(b"math"), Content::Foreign),
            (5, Some(b's' | b't')) => by(named(b"style") || named(b"title"), Content::Text),
            (6, Some(b's')) => by(named(b"script"), Content::Script),
            (6, Some(b'i')) => by(named(b"iframe"), Content::Text),
            (8, Some(b't')) if named(b"template") => Content::Template,
            (7 | 8, Some(b'n' | b't')) => {
                by(named(b"noembed") || named(b"noframes") || named(b"textarea"), Content::Text)
            }
            (9, Some(b'p')) => by(named(b"plaintext"), Content::Nothing),
            _ => Content::Markup,
        }
    }
}

fn find(html: &[u8], from: usize, byte: u8) -> Option<usize> {
    let rest = html.get(from..)?;
    let found = memchr::memchr(byte, rest);
    looked_at(found.map_or(rest.len(), |at| at + 1));
    found.map(|at| from + at)
}

/// The index behind the comment whose content starts at `start`, right after `<!--`.
fn comment_end(html: &[u8], start: usize) -> Option<usize> {
    let rest = &html[start..];
    if rest.starts_with(b">") {
        return Some(start + 1);
    }
    if rest.starts_with(b"->") {
        return Some(start + 2);
    }
    let is_end = |close: usize| {
        let before = &rest[..close];
        before.ends_with(b"--") || before.ends_with(b"--!")
    };
    let found = memchr::memchr_iter(b'>', rest).find(|&close| is_end(close));
    looked_at(found.unwrap_or(rest.len()));
    found.map(|close| start + close + 1)
}

/// The index of the `<` of the end tag of `name`.
fn raw_text_end(html: &[u8], start: usize, name: &[u8]) -> Option<usize> {
    let found = memchr::memchr_iter(b'<', &html[start..])
        .map(|open| start + open)
        .find(|&open| html.get(open + 1) == Some(&b'/') && is_name_at(html, open + 2, name));
    looked_at(found.unwrap_or(html.len()) - start);
    found
}

/// True if `name` is at `at` and ends there as the name of a tag does.
fn is_name_at(html: &[u8], at: usize, name: &[u8]) -> bool {
    let Some(found) = html.get(at..at + name.len()) else { return false };
    looked_at(name.len());
    found.eq_ignore_ascii_case(name) && html.get(at + name.len()).is_some_and(|&byte| is(byte, BLANK | SLASH | CLOSE))
}

/// The index of the `<` of the end tag of a script.
///
/// Within `<!-- -->` a script element may be nested in it ("double escaped"): its end tag is not the script's.
fn script_end(html: &[u8], start: usize) -> Option<usize> {
    const SCRIPT: &[u8] = b"script";
    let mut at = start;
    // where `-->` would end the escaped state: its dashes may be the ones of `<!--`
    let mut escaped_from = None;
    let mut is_nested = false;
    loop {
        let rest = html.get(at..)?;
        let found = match escaped_from {
            None => memchr::memchr(b'<', rest),
            Some(_) => memchr::memchr2(b'<', b'>', rest),
        };
        looked_at(found.map_or(rest.len(), |at| at + 1));
        at += found?;
        let rest = &html[at..];
        match escaped_from {
            Some(from) if rest[0] == b'>' && html[from..at].ends_with(b"--") => {
                (escaped_from, is_nested) = (None, false);
            }
            _ if rest[0] == b'>' => {}
            _ if rest[1..].starts_with(b"/") && is_name_at(html, at + 2, SCRIPT) => {
                if !is_nested {
                    return Some(at);
                }
                is_nested = false;
                at += 2 + SCRIPT.len();
            }
            None if rest[1..].starts_with(b"!--") => {
                escaped_from = Some(at + 2);
                at += 3;
            }
            Some(_) if !is_nested && is_name_at(html, at + 1, SCRIPT) => {
                is_nested = true;
                at += 1 + SCRIPT.len();
            }
            _ => {}
        }
        at += 1;
    }
}

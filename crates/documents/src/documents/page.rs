//! The page that a document becomes: HTML that is well-formed whatever the reader of the document writes.
//!
//! URLs in text become links. The page is bounded: what is beyond its limit is left out.

use linkify::{LinkFinder, LinkKind};

/// Elements within one another; those that are opened in deeper ones are left out, and their text is not.
const DEPTH_MAX: usize = 100;

/// Things that a document states of itself. What it does not state is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// Its title.
    pub title: String,
    /// Its authors, as one text.
    pub author: String,
    /// Its description or subject.
    pub description: String,
    /// Its keywords, with commas between them.
    pub keywords: String,
    /// Its language: a tag of BCP 47.
    pub language: String,
    /// The program that made it.
    pub generator: String,
    /// The time at which it was made, in ISO 8601.
    pub published: String,
    /// The time at which it was changed last, in ISO 8601.
    pub modified: String,
}

/// A page that is being written.
#[derive(Debug)]
pub struct Page {
    body: String,
    bytes_max: usize,
    /// Text that was not written yet, since a URL in it may go on.
    text: String,
    /// Elements that are open; nothing for one that is too deep.
    open: Vec<Option<&'static str>>,
    links: usize,
    finder: LinkFinder,
    is_cut: bool,
}

impl Page {
    /// An empty page. Its body may have `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Page {
        let mut finder = LinkFinder::new();
        finder.kinds(&[LinkKind::Url]).url_must_have_scheme(true);
        Page { body: String::new(), bytes_max, text: String::new(), open: Vec::new(), links: 0, finder, is_cut: false }
    }

    /// Opens an element, such as `p`.
    pub fn open(&mut self, element: &'static str) {
        self.open_with(element, &[]);
    }

    /// Opens an element with attributes.
    pub fn open_with(&mut self, element: &'static str, attributes: &[(&str, &str)]) {
        self.write_text();
        if self.open.len() >= DEPTH_MAX {
            return self.open.push(None);
        }
        self.open.push(Some(element));
        self.links += usize::from(element == "a");
        self.start(element, attributes);
    }

    /// Closes the element that was opened last.
    pub fn close(&mut self) {
        self.write_text();
        let Some(Some(element)) = self.open.pop() else { return };
        self.links -= usize::from(element == "a");
        // what is open is closed on a full page, too
        self.body.push_str(&format!("</{element}>"));
    }

    /// Writes an element that has no end, such as `br`.
    pub fn empty(&mut self, element: &'static str, attributes: &[(&str, &str)]) {
        self.write_text();
        self.start(element, attributes);
    }

    /// Writes text. It may come in pieces.
    pub fn text(&mut self, text: &str) {
        if self.body.len() + self.text.len() + text.len() > self.bytes_max {
            self.is_cut = true;
            return;
        }
        self.text.push_str(text);
    }

    /// Writes a whole element with text.
    pub fn element(&mut self, element: &'static str, text: &str) {
        self.open(element);
        self.text(text);
        self.close();
    }

    /// Returns the number of elements that are open: with it, [`Page::close_to`] closes what was opened since.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Closes elements until so many are open.
    pub fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.close();
        }
    }

    /// True if the page is full, and more of the document need not be read.
    pub fn is_full(&self) -> bool {
        self.is_cut
    }

    /// The whole page in HTML.
    pub fn finish(mut self, stated: &Stated) -> String {
        self.close_to(0);
        self.write_text();
        let mut page = String::with_capacity(self.body.len() + 1024);
        page.push_str("<!DOCTYPE html>\n<html");
        if !stated.language.is_empty() {
            attribute(&mut page, "lang", &stated.language);
        }
        page.push_str(">\n<head>\n<meta charset=\"utf-8\">\n<title>");
        escape(&mut page, stated.title.trim());
        page.push_str("</title>\n");
        let metas = [
            ("name", "author", &stated.author),
            ("name", "description", &stated.description),
            ("name", "keywords", &stated.keywords),
            ("name", "generator", &stated.generator),
            ("property", "article:published_time", &stated.published),
            ("property", "article:modified_time", &stated.modified),
        ];
        for (kind, name, content) in metas {
            if !content.trim().is_empty() {
                page.push_str("<meta");
                attribute(&mut page, kind, name);
                attribute(&mut page, "content", content.trim());
                page.push_str(">\n");
            }
        }
        page.push_str("</head>\n<body>\n");
        page.push_str(&self.body);
        page.push_str("\n</body>\n</html>\n");
        page
    }

    fn start(&mut self, element: &str, attributes: &[(&str, &str)]) {
        if self.body.len() > self.bytes_max {
            self.is_cut = true;
        }
        self.body.push('<');
        self.body.push_str(element);
        for (name, value) in attributes {
            attribute(&mut self.body, name, value);
        }
        self.body.push('>');
    }

    fn write_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.links > 0 {
            return escape(&mut self.body, &text);
        }
        for span in self.finder.spans(&text) {
            let is_link = span.kind().is_some();
            if is_link {
                self.body.push_str("<a");
                attribute(&mut self.body, "href", span.as_str());
                self.body.push('>');
            }
            escape(&mut self.body, span.as_str());
            if is_link {
                self.body.push_str("</a>");
            }
        }
    }
}

fn attribute(page: &mut String, name: &str, value: &str) {
    page.push(' ');
    page.push_str(name);
    page.push_str("=\"");
    escape(page, value);
    page.push('"');
}

/// Appends a text as HTML; characters that no page may have are left out.
fn escape(page: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\t' | '\n' | ' ' => page.push(character),
            _ if character.is_control() => {}
            _ => page.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_well_formed_whatever_is_written() {
        let mut page = Page::new(1_000);
        page.open("p");
        page.text("a <b> & \"c\"\u{0}, see https://a.exa");
        page.text("mple/x?y=1&z=2.");
        page.open_with("a", &[("href", "https://b.example/\"")]);
        page.text("https://b.example/");
        page.close();
        page.open("b");
        let stated = Stated { title: " T<".into(), language: "de".into(), author: "A & B".into(), ..Stated::default() };
        let html = page.finish(&stated);
        let body = "<p>a &lt;b&gt; &amp; &quot;c&quot;, see <a href=\"https://a.example/x?y=1&amp;z=2\">\
            https://a.example/x?y=1&amp;z=2</a>.<a href=\"https://b.example/&quot;\">https://b.example/</a><b></b></p>";
        assert!(html.contains(body), "{html}");
        assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"de\">"), "{html}");
        assert!(html.contains("<title>T&lt;</title>\n<meta name=\"author\" content=\"A &amp; B\">\n</head>"), "{html}");
    }

    #[test]
    fn a_page_ends_at_its_limit() {
        let mut page = Page::new(100);
        for _ in 0..50 {
            page.element("p", "0123456789");
        }
        assert!(page.is_full());
        let html = page.finish(&Stated::default());
        assert!(html.len() < 1_000, "{html}");
    }

    #[test]
    fn elements_that_are_too_deep_are_left_out() {
        let mut page = Page::new(100_000);
        for _ in 0..10_000 {
            page.open("div");
        }
        page.text("here");
        let html = page.finish(&Stated::default());
        assert_eq!(html.matches("<div>").count(), DEPTH_MAX);
        assert_eq!(html.matches("</div>").count(), DEPTH_MAX);
        assert!(html.contains("here"));
    }
}

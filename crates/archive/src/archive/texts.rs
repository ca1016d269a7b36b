//! The texts of a stored page, as a search engine wants them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::Result;
use super::page::{Answer, Page};
use crate::clock::Time;
use crate::reading::facts::code_of_tag;
use crate::reading::page::{headings_of, html_of, is_page_type, main_of, title_of};
use crate::reading::tree::{TIME_MAX, parse};
use crate::reading::{Fact, Facts, Form, rendered_lines};
use crate::web::format::Format;

/// Bytes of the text.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of its title, and of all its headings.
const TITLE_BYTES_MAX: usize = 4 << 10;
const HEADINGS_BYTES_MAX: usize = 64 << 10;

/// The texts of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTexts {
    /// Its title.
    pub title: String,
    /// Its headings, a line for each.
    pub headings: String,
    /// Its main content, or all visible text of a page without.
    pub text: String,
    /// ISO 639-3; empty where it is not known.
    pub language: &'static str,
    /// The id of the WARC record of the answer.
    pub record: String,
}

impl PageTexts {
    /// Reads the texts of `page`. One that has no tree within the limits, or breaks the parser, has none.
    pub fn read(page: &Page) -> Result<PageTexts> {
        let (exchange, answer) = page.exchange_and_answer()?;
        let of_answer = exchange.last().and_then(|stored| stored.record.field("WARC-Record-ID"));
        let record = of_answer.unwrap_or_default().to_owned();
        Ok(PageTexts { record, ..texts(page.rendered()?, &answer) })
    }
}

impl Page {
    /// Returns whether this version of a URL is a document, as other commands take it: HTML or Markdown with status
    /// 200, a 304 that confirms such a page, or a file such as a PDF of which the crawl has made one.
    pub fn is_document(&self) -> Result<bool> {
        let record = self.parts().2;
        if record.robots || !(record.status == 200 || record.is_confirmed()) {
            return Ok(false);
        }
        Ok(is_page_type(&record.mime) || Format::may_be(Some(&record.mime)) && self.is_rendered()?)
    }
}

fn texts(rendered: Option<String>, answer: &Answer) -> PageTexts {
    let read = || {
        let html = rendered.unwrap_or_else(|| html_of(&answer.body, answer.content_type().as_deref()));
        let content_language = answer.header("content-language").and_then(|value| std::str::from_utf8(value).ok());
        texts_of(&html, content_language)
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().unwrap_or_default()
}

fn texts_of(html: &str, content_language: Option<&str>) -> Option<PageTexts> {
    let tree = parse(html, TIME_MAX).ok()?;
    let text = main_of(html, None, Form::Text).unwrap_or_else(|| rendered_lines(&tree));
    let text = cut(text, TEXT_BYTES_MAX);
    let facts = Facts { tree: &tree, text: &text, base: None, content_language, url: None, fetched: Time::ZERO };
    let language = facts.get(Fact::Language).as_str().and_then(code_of_tag).unwrap_or_default();
    let title = cut(title_of(&tree).unwrap_or_default(), TITLE_BYTES_MAX);
    let headings = cut(headings_of(&tree).collect::<Vec<_>>().join("\n"), HEADINGS_BYTES_MAX);
    Some(PageTexts { title, headings, text, language, record: String::new() })
}

/// The beginning of a text.
fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_title_headings_main_text_and_language() {
        let text = "The crawler stores every page that it has seen, and goes on after a power cut without a loss. ";
        let html = format!("<title>T</title><nav>Menu</nav><main><h1>Head</h1><p>{}</p></main>", text.repeat(5));
        let texts = texts_of(&html, None).unwrap();
        assert_eq!((texts.title.as_str(), texts.headings.as_str(), texts.language), ("T", "Head", "eng"));
        assert!(texts.text.contains("power cut") && !texts.text.contains("Menu"), "{}", texts.text);
    }
}

//! Books: EPUB 2 and 3 (W3C, EPUB 3.3).

use std::collections::{HashMap, HashSet};

use super::archive::{Archive, resolve};
use super::stated;
use super::xml::{Element, Piece, Xml};
use crate::contract::ConversionFailure;
use crate::documents::page::{Page, Stated};

/// Elements that are written; the text of others is, without them.
const WRITTEN: [&str; 28] = [
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "caption",
    "tr",
    "td",
    "th",
    "blockquote",
    "pre",
    "div",
    "section",
    "article",
    "aside",
    "figure",
    "figcaption",
    "nav",
    "a",
];
/// Elements without an end.
const VOID: [&str; 5] = ["br", "hr", "img", "meta", "link"];
/// Elements that are left out with everything in them.
const LEFT_OUT: [&str; 9] = ["head", "script", "style", "template", "svg", "audio", "video", "object", "rp"];
/// Schemes of links that lead out of the book.
const SCHEMES: [&str; 4] = ["http://", "https://", "mailto:", "ftp://"];

/// Elements within one another that are written; those in deeper ones are not.
const OPEN_MAX: usize = 500;

/// The package document of a book.
#[derive(Debug, Default)]
struct Package {
    /// Files by identifier.
    files: HashMap<String, String>,
    /// Identifiers in reading order.
    spine: Vec<String>,
}

/// Reads a book.
pub(super) fn read(archive: &mut Archive<'_>, page: &mut Page) -> Result<Stated, ConversionFailure> {
    let container = archive.text("META-INF/container.xml")?;
    let name = attributes(&container, "rootfile", "full-path").next().ok_or(ConversionFailure::Damaged)?;
    let text = archive.text(&name)?;
    let mut stated = Stated::default();
    stated::read_book(&text, &mut stated);
    let package = Package::read(&name, &text);
    let encryption = archive.text_if_any("META-INF/encryption.xml")?;
    let encrypted: HashSet<String> =
        attributes(&encryption, "CipherReference", "URI").map(|uri| resolve("", &decoded(&uri))).collect();
    let (mut has_text, mut written) = (false, HashSet::new());
    for id in &package.spine {
        let Some(chapter) = package.files.get(id).filter(|_| !page.is_full()) else { continue };
        if encrypted.contains(chapter) {
            return Err(ConversionFailure::Encrypted);
        }
        if written.insert(chapter) {
            has_text |= write_chapter(&archive.text_if_any(chapter)?, page);
        }
    }
    if has_text || page.is_full() { Ok(stated) } else { Err(ConversionFailure::Damaged) }
}

impl Package {
    fn read(name: &str, text: &str) -> Package {
        let (mut xml, mut package) = (Xml::new(text), Package::default());
        while let Some(piece) = xml.next() {
            let Piece::Start(element) = piece else { continue };
            match element.name() {
                "item" => {
                    if let (Some(id), Some(file)) = (element.attribute("id"), element.attribute("href")) {
                        package.files.insert(id, resolve(name, &decoded(&file)));
                    }
                }
                "itemref" => package.spine.extend(element.attribute("idref")),
                _ => {}
            }
        }
        package
    }
}

/// The values of an attribute of all elements of a name.
fn attributes<'t>(text: &'t str, name: &'t str, attribute: &'t str) -> impl Iterator<Item = String> {
    let mut xml = Xml::new(text);
    std::iter::from_fn(move || xml.next()).filter_map(move |piece| match piece {
        Piece::Start(element) if element.name() == name => element.attribute(attribute),
        _ => None,
    })
}

/// A reference without `%20` and its like.
fn decoded(reference: &str) -> String {
    let mut bytes = Vec::with_capacity(reference.len());
    let mut rest = reference.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%').and_then(|hex| str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An element of a chapter that is open.
struct Open {
    name: String,
    /// Elements of the page that were open when it began.
    depth: usize,
}

/// Writes a chapter, and returns true if it has text.
fn write_chapter(text: &str, page: &mut Page) -> bool {
    let (mut xml, mut open, mut has_text) = (Xml::page(text, &VOID), Vec::<Open>::new(), false);
    page.open("section");
    let outer = page.depth();
    while let Some(piece) = xml.next() {
        match piece {
            Piece::Start(element) if LEFT_OUT.contains(&element.name()) => xml.skip(),
            Piece::Start(element) if VOID.contains(&element.name()) => write_void(&element, page),
            Piece::Start(_) if open.len() >= OPEN_MAX => {}
            Piece::Start(element) => {
                open.push(Open { name: element.name().to_owned(), depth: page.depth() });
                write_start(&element, page);
            }
            Piece::End(name) => {
                // an end that is for nothing ends nothing; what is open in an element ends with it
                if open.last().is_some_and(|last| last.name == name.name()) {
                    page.close_to(open.pop().map_or(outer, |last| last.depth));
                } else if WRITTEN.contains(&name.name())
                    && let Some(at) = open.iter().rposition(|other| other.name == name.name())
                {
                    page.close_to(open[at].depth);
                    open.truncate(at);
                }
            }
            Piece::Text(text) => {
                has_text |= !text.trim().is_empty();
                page.text(&text);
            }
        }
        if page.is_full() {
            break;
        }
    }
    page.close_to(outer);
    page.close();
    has_text
}

fn write_start(element: &Element<'_>, page: &mut Page) {
    let Some(name) = WRITTEN.into_iter().find(|known| *known == element.name()) else { return };
    if name != "a" {
        return page.open(name);
    }
    let url = element.attribute("href").unwrap_or_default();
    if SCHEMES.iter().any(|scheme| url.trim_start().starts_with(scheme)) {
        page.open_with("a", &[("href", url.trim())]);
    }
}

fn write_void(element: &Element<'_>, page: &mut Page) {
    match element.name() {
        "br" => page.empty("br", &[]),
        "hr" => page.empty("hr", &[]),
        "img" => {
            if let Some(alt) = element.attribute("alt").filter(|alt| !alt.trim().is_empty()) {
                page.empty("img", &[("alt", alt.trim())]);
            }
        }
        _ => {}
    }
}

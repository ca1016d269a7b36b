//! Things that documents state of themselves: Dublin Core in three dresses.

use super::xml::{Element, Piece, Xml};
use crate::documents::page::Stated;

/// Bytes of one statement.
const BYTES_MAX: usize = 4096;

/// Adds what the properties of an office document say.
pub(super) fn read(text: &str, stated: &mut Stated) {
    let (mut subject, mut editor) = (String::new(), String::new());
    let is_open_document = text.contains("document-meta");
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        let field = match element.name() {
            "title" => &mut stated.title,
            "initial-creator" => &mut stated.author,
            "creator" if is_open_document => &mut editor,
            "creator" => &mut stated.author,
            "description" => &mut stated.description,
            "subject" => &mut subject,
            "keywords" | "keyword" => &mut stated.keywords,
            "language" => &mut stated.language,
            "generator" | "Application" => &mut stated.generator,
            "created" | "creation-date" => &mut stated.published,
            "modified" | "date" => &mut stated.modified,
            _ => continue,
        };
        push(field, &xml.text());
    }
    or(&mut stated.author, editor);
    or(&mut stated.description, subject);
    check(stated);
}

/// Adds what the package document of a book says.
pub(super) fn read_book(text: &str, stated: &mut Stated) {
    let mut date = String::new();
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next() {
        let Piece::Start(element) = piece else { continue };
        if element.name() == "manifest" {
            break;
        }
        if let Some(content) = generator(&element) {
            push(&mut stated.generator, &content);
        }
        let event = element.attribute("event").unwrap_or_default();
        let field = match element.name() {
            "title" if stated.title.is_empty() => &mut stated.title,
            "creator" => &mut stated.author,
            "description" => &mut stated.description,
            "subject" => &mut stated.keywords,
            "language" if stated.language.is_empty() => &mut stated.language,
            "date" if event == "modification" => &mut stated.modified,
            "date" if event == "publication" => &mut stated.published,
            "date" => &mut date,
            "meta" if element.attribute("property").as_deref() == Some("dcterms:modified") => &mut stated.modified,
            _ => continue,
        };
        push(field, &xml.text());
    }
    or(&mut stated.published, date);
    check(stated);
}

fn generator(element: &Element<'_>) -> Option<String> {
    element.attribute("name").filter(|name| name == "generator").and_then(|_| element.attribute("content"))
}

fn push(field: &mut String, text: &str) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.is_empty() && field.len() + text.len() <= BYTES_MAX {
        field.push_str(if field.is_empty() { "" } else { ", " });
        field.push_str(&text);
    }
}

fn or(field: &mut String, other: String) {
    if field.is_empty() {
        *field = other;
    }
}

/// Takes out dates that are none: some programs write the year 0 or words.
fn check(stated: &mut Stated) {
    for date in [&mut stated.published, &mut stated.modified] {
        let is_year = date.get(..4).is_some_and(|year| year > "1000" && year.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_year || !date.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZ".contains(&byte)) {
            date.clear();
        }
    }
}

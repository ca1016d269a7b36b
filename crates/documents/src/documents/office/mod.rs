//! Files of office programs and books: ZIP files of XML.
//!
//! The content of a file says what it is, not its name. Texts, tables and slides of Office Open XML (ECMA-376) and of
//! OpenDocument (ISO/IEC 26300) are read, and EPUB. Everything is read in one pass, without recursion, within limits of
//! `archive` and `xml`, until the page is full.
//!
//! | module | what it has |
//! |---|---|
//! | `archive` | the ZIP file |
//! | `xml` | XML piece by piece |
//! | `flow` | paragraphs, lists and tables on the page |
//! | `grid`, `number_format` | sheets on the page, and their numbers |
//! | `parts` | how parts of Office Open XML refer to one another |
//! | `docx`, `docx_styles`, `sheets`, `slides` | Office Open XML |
//! | `open_document`, `open_sheets` | OpenDocument |
//! | `epub` | books |
//! | `stated` | title, authors, dates |

mod archive;
mod docx;
mod docx_styles;
mod epub;
mod flow;
mod grid;
mod number_format;
mod open_document;
mod open_sheets;
mod parts;
mod sheets;
mod slides;
mod stated;
#[cfg(test)]
mod tests;
mod xml;

use super::Document;
use super::page::{Page, Stated};
use crate::contract::ConversionFailure;
use archive::Archive;
use parts::{Part, Relations};
use xml::{Piece, Xml};

/// The start of encrypted files of Office Open XML, and of files of earlier programs.
const OLE_START: &[u8] = b"\xd0\xcf\x11\xe0";
/// Main parts of documents that do not say which part is theirs.
const MAIN_PARTS: [&str; 3] = ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"];

/// The reader of files of office programs.
#[derive(Debug)]
pub struct Office;

impl Document for Office {
    fn read(&self, bytes: &[u8], page: &mut Page) -> Result<Stated, ConversionFailure> {
        if bytes.starts_with(OLE_START) {
            return Err(ConversionFailure::Encrypted);
        }
        let mut archive = Archive::open(bytes)?;
        let kind = archive.text_if_any("mimetype")?;
        if archive.has("[Content_Types].xml") {
            read_open_xml(&mut archive, page)
        } else if kind.trim_start().starts_with("application/vnd.oasis.opendocument") || archive.has("content.xml") {
            open_document::read(&mut archive, page)
        } else if archive.has("META-INF/container.xml") {
            epub::read(&mut archive, page)
        } else {
            Err(ConversionFailure::Unsupported)
        }
    }
}

fn read_open_xml(archive: &mut Archive<'_>, page: &mut Page) -> Result<Stated, ConversionFailure> {
    let relations = Relations::of(archive, "")?;
    let known = MAIN_PARTS.into_iter().find(|name| archive.has(name));
    let name = relations.parts("officeDocument").next().or(known).ok_or(ConversionFailure::Unsupported)?;
    let main = Part { name: name.to_owned(), text: archive.text(name)? };
    match root(&main.text).as_deref() {
        Some("document") => docx::read(archive, &main, page)?,
        Some("workbook") => sheets::read(archive, &main, page)?,
        Some("presentation") => slides::read(archive, &main, page)?,
        Some(_) => return Err(ConversionFailure::Unsupported),
        // the binary files of spreadsheets are no XML
        None if name.ends_with(".bin") => return Err(ConversionFailure::Unsupported),
        None => return Err(ConversionFailure::Damaged),
    }
    let mut stated = Stated::default();
    for kind in ["core-properties", "extended-properties"] {
        if let Some(part) = relations.parts(kind).next() {
            stated::read(&archive.text_if_any(part)?, &mut stated);
        }
    }
    Ok(stated)
}

/// The name of the root element.
fn root(text: &str) -> Option<String> {
    let mut xml = Xml::new(text);
    while let Some(piece) = xml.next() {
        if let Piece::Start(element) = piece {
            return Some(element.name().to_owned());
        }
    }
    None
}

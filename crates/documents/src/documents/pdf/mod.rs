//! PDF: the text as it is drawn, with links, outline and what the file states of itself.
//!
//! hayro reads the file and draws its pages; here its characters become words (`words`), and those lines and paragraphs
//! (`lines`). Nothing is painted, and pictures are not decoded.
//!
//! ```text
//! page ─► glyphs ─► words ─► lines ─► HTML
//!            annotations ──────┘
//! ```

mod glyphs;
mod lines;
mod stated;
mod words;

use hayro_interpret::hayro_syntax::object::dict::keys;
use hayro_interpret::hayro_syntax::object::{Array, Dict, Rect as PdfRect};
use hayro_interpret::hayro_syntax::page::Page as PdfPage;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf as File};
use hayro_interpret::kurbo::Rect;
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, RectExt, TransformExt, interpret_page};

use super::Document;
use super::page::{Page, Stated};
use crate::contract::ConversionFailure;
use glyphs::Glyphs;
use lines::{BodySize, Link};

/// Links of a page.
const LINKS_MAX: usize = 5_000;

/// The reader of PDF.
#[derive(Debug)]
pub struct Pdf;

impl Document for Pdf {
    fn read(&self, bytes: &[u8], page: &mut Page) -> Result<Stated, ConversionFailure> {
        let file = File::new(bytes.to_vec()).map_err(|error| match error {
            LoadPdfError::Decryption(_) => ConversionFailure::Encrypted,
            LoadPdfError::Invalid => ConversionFailure::Damaged,
        })?;
        stated::write_outline(&file, page);
        page.close_to(0);
        let cache = InterpreterCache::new();
        let mut body = BodySize::default();
        for (number, pdf_page) in (1..).zip(file.pages().iter()) {
            if page.is_full() {
                break;
            }
            write_page(&file, number, pdf_page, &cache, &mut body, page);
        }
        Ok(stated::stated(&file))
    }
}

fn write_page<'a>(
    file: &'a File,
    number: usize,
    pdf_page: &'a PdfPage<'a>,
    cache: &InterpreterCache<'a>,
    body: &mut BodySize,
    page: &mut Page,
) {
    let transform = pdf_page.initial_transform(true).to_kurbo();
    // also what is cut off in print
    let area = transform.transform_rect_bbox(pdf_page.media_box().to_kurbo());
    let mut context = Context::new(transform, area, cache, file.xref(), InterpreterSettings::default());
    let mut glyphs = Glyphs::new(area);
    interpret_page(pdf_page, &mut context, &mut glyphs);
    let mut words = words::words(&glyphs.characters);
    body.count(&words);
    page.open_with("section", &[("id", &format!("page-{number}"))]);
    let to_page = |rect: PdfRect| transform.transform_rect_bbox(rect.to_kurbo());
    lines::write(&mut words, &links(pdf_page, to_page), body, page);
    page.close();
}

/// The links of a page to URLs; the smaller ones first, since one may lie on another.
fn links(pdf_page: &PdfPage<'_>, to_page: impl Fn(PdfRect) -> Rect) -> Vec<Link> {
    let Some(annotations) = pdf_page.raw().get::<Array<'_>>(keys::ANNOTS) else { return Vec::new() };
    let link = |annotation: Dict<'_>| {
        let uri = stated::uri_of(&annotation)?;
        Some(Link { area: to_page(annotation.get::<PdfRect>(keys::RECT)?), uri })
    };
    let mut links: Vec<Link> = annotations.iter::<Dict<'_>>().filter_map(link).take(LINKS_MAX).collect();
    links.sort_by(|one, other| one.area.area().total_cmp(&other.area.area()));
    links
}

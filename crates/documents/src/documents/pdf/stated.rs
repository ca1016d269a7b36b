//! Things that a PDF states of itself: its information, language and outline.

use std::collections::HashSet;

use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::dict::keys;
use hayro_interpret::hayro_syntax::object::{DateTime, Dict, Name, String as PdfString};

use crate::documents::page::{Page, Stated};

/// Entries of an outline.
const ENTRIES_MAX: usize = 10_000;
/// Levels of an outline.
const LEVELS_MAX: usize = 8;

/// Returns what a PDF states of itself.
pub(super) fn stated(pdf: &Pdf) -> Stated {
    let about = pdf.metadata();
    let text = |value: &Option<Box<[u8]>>| value.as_deref().map_or_else(String::new, text_of);
    let date = |value: &Option<DateTime>| value.as_ref().map_or_else(String::new, date_of);
    let language = root(pdf).and_then(|root| root.get::<PdfString<'_>>(keys::LANG));
    Stated {
        title: text(&about.title),
        author: text(&about.author),
        description: text(&about.subject),
        keywords: text(&about.keywords),
        language: language.map_or_else(String::new, |language| text_of(language.as_bytes())),
        generator: Some(text(&about.creator)).filter(|name| !name.is_empty()).unwrap_or(text(&about.producer)),
        published: date(&about.creation_date),
        modified: date(&about.modification_date),
    }
}

/// The catalog.
pub(super) fn root(pdf: &Pdf) -> Option<Dict<'_>> {
    pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())
}

/// Writes the outline as a list of lists.
pub(super) fn write_outline(pdf: &Pdf, page: &mut Page) {
    let first = root(pdf).and_then(|root| root.get::<Dict<'_>>(keys::OUTLINES)?.get::<Dict<'_>>(keys::FIRST));
    let Some(first) = first else { return };
    page.open("nav");
    page.open("ul");
    let mut seen = HashSet::new();
    // entries that come next, one for each level
    let mut rest: Vec<Option<Dict<'_>>> = vec![Some(first)];
    while let Some(level) = rest.last_mut() {
        let Some(entry) = level.take() else {
            rest.pop();
            page.close();
            page.close();
            continue;
        };
        let is_new = entry.obj_id().is_none_or(|id| seen.insert((id.obj_number, id.gen_number)));
        if !is_new || seen.len() > ENTRIES_MAX || page.is_full() {
            break;
        }
        *level = entry.get::<Dict<'_>>(keys::NEXT);
        page.open("li");
        if let Some(title) = entry.get::<PdfString<'_>>(keys::TITLE) {
            page.text(text_of(title.as_bytes()).trim());
        }
        match entry.get::<Dict<'_>>(keys::FIRST).filter(|_| rest.len() < LEVELS_MAX) {
            Some(first) => {
                page.open("ul");
                rest.push(Some(first));
            }
            None => page.close(),
        }
    }
}

/// A text string: UTF-16 or UTF-8 by its mark, else PDFDocEncoding, which is ISO 8859-1 but for few.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect()
    };
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => String::from_utf16_lossy(&units(rest, u16::from_be_bytes)),
        [0xff, 0xfe, rest @ ..] => String::from_utf16_lossy(&units(rest, u16::from_le_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| of_document_encoding(*byte)).collect(),
    };
    text.trim_matches(|character: char| character == '\0' || character.is_whitespace()).to_owned()
}

/// A character of PDFDocEncoding (ISO 32000-1, D.2).
fn of_document_encoding(byte: u8) -> char {
    const FROM_80: [char; 31] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ', 'ﬂ', 'Ł',
        'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž',
    ];
    const FROM_18: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    match byte {
        0x18..=0x1f => FROM_18[usize::from(byte - 0x18)],
        0x80..=0x9e => FROM_80[usize::from(byte - 0x80)],
        0xa0 => '€',
        _ => char::from(byte),
    }
}

/// A date in ISO 8601.
fn date_of(date: &DateTime) -> String {
    let DateTime { year, month, day, hour, minute, second, utc_offset_hour, utc_offset_minute } = date;
    if !(1..=12).contains(month) || !(1..=31).contains(day) {
        return String::new();
    }
    let sign = if *utc_offset_hour < 0 { '-' } else { '+' };
    let offset_hour = utc_offset_hour.unsigned_abs();
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{offset_hour:02}:{utc_offset_minute:02}"
    )
}

/// The URI that an annotation links to.
pub(super) fn uri_of(annotation: &Dict<'_>) -> Option<String> {
    let action = annotation.get::<Dict<'_>>(keys::A)?;
    let is_uri = action.get::<Name<'_>>(keys::S).is_some_and(|kind| kind.as_ref() == b"URI");
    let uri = action.get::<PdfString<'_>>(keys::URI).filter(|_| is_uri)?;
    // it should be ASCII, and is UTF-8 where it is not
    let uri = std::str::from_utf8(uri.as_bytes()).map_or_else(|_| text_of(uri.as_bytes()), |uri| uri.trim().to_owned());
    let has_no_scheme = uri.starts_with("www.");
    Some(if has_no_scheme { format!("http://{uri}") } else { uri }).filter(|uri| !uri.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_their_mark() {
        assert_eq!(text_of(b"\xfe\xff\0A\x20\xac"), "A€");
        assert_eq!(text_of(b"\xff\xfeA\0"), "A");
        assert_eq!(text_of(b"\xef\xbb\xbf\xc3\xa4"), "ä");
        assert_eq!(text_of(b" a\x92\xe4\0"), "a™ä");
    }

    #[test]
    fn dates_are_written_by_iso_8601() {
        let date = DateTime {
            year: 2024,
            month: 5,
            day: 1,
            hour: 12,
            minute: 0,
            second: 9,
            utc_offset_hour: -3,
            utc_offset_minute: 30,
        };
        assert_eq!(date_of(&date), "2024-05-01T12:00:09-03:30");
        assert_eq!(date_of(&DateTime { month: 0, ..date }), "");
    }
}

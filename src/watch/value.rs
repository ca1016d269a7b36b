//! Values that are watched.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::archive::{self, Page};
use crate::fields::{self, Field, Head, Limits, Origin};
use crate::reading::page::html_of;
use crate::reading::tree::{TIME_MAX, parse};

/// Bytes of a value that are kept, to be shown.
const KEPT_MAX: usize = 16 << 10;

/// A value. Two are the same if their numbers and beginnings are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watched {
    /// Its text, of a long one the beginning; empty where the page has no such value.
    pub text: String,
    /// A number made from the whole text.
    number: u64,
}

impl Watched {
    /// The value `text`.
    pub(super) fn of(text: &str) -> Watched {
        let number = u64::from_le_bytes(Sha256::digest(text)[..8].try_into().expect("a digest is longer"));
        let mut text = text.to_owned();
        text.truncate(text.floor_char_boundary(KEPT_MAX));
        Watched { text, number }
    }
}

/// The value of `field` in a page; none where the page breaks the limits of reading.
pub(super) fn of_page(page: &Page, field: &Field) -> archive::Result<Option<Watched>> {
    let answer = page.answer()?;
    let rendered = page.rendered()?;
    let read = || {
        let html = rendered.unwrap_or_else(|| html_of(&answer.body, answer.content_type().as_deref()));
        let tree = parse(&html, TIME_MAX).ok()?;
        let head = Head::of(answer.status, &answer.headers, &answer.payload_headers);
        let origin = Origin { url: page.url(), time: page.parts().2.time };
        let mut limits = Limits::new(TIME_MAX);
        let value = limits.cell(&fields::Page::new(&tree, &html, head, origin), field);
        (!limits.are_broken()).then(|| value.to_text())
    };
    Ok(catch_unwind(AssertUnwindSafe(read)).ok().flatten().map(|text| Watched::of(&text)))
}

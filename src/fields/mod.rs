//! Fields of pages: selectors, expressions, headers, facts and JSON-LD, and their values in a page.

mod field;
mod page;
mod typed;

pub(crate) use field::{Field, Form, Source, fact, of_value, selector};
pub(crate) use page::{Head, Limits, Origin, Page, VALUES_BYTES_MAX};

//! Files of office programs and books: ZIP files of XML.

use super::Document;
use super::page::{Page, Stated};
use crate::contract::ConversionFailure;

/// The reader of files of office programs.
#[derive(Debug)]
pub struct Office;

impl Document for Office {
    fn read(&self, _bytes: &[u8], _page: &mut Page) -> Result<Stated, ConversionFailure> {
        Err(ConversionFailure::Unsupported)
    }
}

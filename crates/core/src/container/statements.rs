//! Statements about the use of pages, as metadata records have them. The flag in key.dat says whether a record has any,
//! so that only those are read.

use super::keys::KeyRecord;
use super::reader::Reader;
use crate::disk::Result;
use crate::web::statements::Statements;

impl Reader {
    /// Reads the statements about the use of a page.
    pub fn statements(&self, record: &KeyRecord) -> Result<Statements> {
        if !record.has_statements {
            return Ok(Statements::default());
        }
        Ok(self.metadata(record)?.map(|metadata| Statements::parse(&metadata.block)).unwrap_or_default())
    }
}

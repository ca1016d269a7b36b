//! Statements about the use of pages, as metadata records have them.
//!
//! The flag in key.dat says whether a metadata record has statements, so that only those are read. Value files from
//! before there were any say nothing of it, not even that there is nothing to say: the warcinfo record of a file says
//! that its metadata records have statements where there are any ([`MARK`]).

use super::keys::KeyRecord;
use super::reader::Reader;
use super::values::MARK;
use crate::disk::{Error, Result};
use crate::warc::RecordReader;
use crate::web::statements::Statements;

/// Bytes of a warcinfo block.
const INFO_MAX: u64 = 16 << 20;

impl Reader {
    /// Reads the statements about the use of a page; `None` where its value file does not record that.
    pub fn statements(&self, record: &KeyRecord) -> Result<Option<Statements>> {
        if record.has_statements {
            return Ok(self.metadata(record)?.map(|metadata| Statements::parse(&metadata.block)));
        }
        Ok(self.has_mark(record)?.then(Statements::default))
    }

    /// Returns whether the value file of `record` has statements wherever a page has any. A damaged one does not say
    /// so.
    fn has_mark(&self, record: &KeyRecord) -> Result<bool> {
        if let Some(&known) = self.marks().get(&record.file) {
            return Ok(known);
        }
        let file = self.look_again(record, |record| self.value_file(record))?;
        let found = match RecordReader::new(&file, 0, INFO_MAX).next() {
            Ok(first) => first.is_some_and(|info| {
                let is_mark =
                    |line: &[u8]| line.strip_prefix(MARK.as_bytes()).is_some_and(|rest| rest.starts_with(b": "));
                info.kind() == "warcinfo" && info.block.split(|&byte| byte == b'\n').any(is_mark)
            }),
            Err(Error::Damaged { .. }) => false,
            Err(error) => return Err(error),
        };
        self.marks().insert(record.file, found);
        Ok(found)
    }
}

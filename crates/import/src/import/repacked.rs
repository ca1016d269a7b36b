//! A record that is compressed again, into a gzip member of its own.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::clock::Time;
use crate::container::imported::Importer;
use crate::warc::GZIP_HEAD;

/// The member in progress.
pub(super) struct Repacked<'a> {
    encoder: DeflateEncoder<Output<'a>>,
    sum: Crc,
}

struct Output<'a>(&'a mut Importer);

impl<'a> Repacked<'a> {
    /// Begins a record.
    pub(super) fn begin(importer: &'a mut Importer, now: Time) -> io::Result<Self> {
        importer.begin_record(now).map_err(io::Error::other)?;
        let mut output = Output(importer);
        output.write_all(&GZIP_HEAD)?;
        Ok(Repacked { encoder: DeflateEncoder::new(output, Compression::fast()), sum: Crc::new() })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.encoder.write_all(bytes)
    }

    /// Ends it as the standard has it.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write(b"\r\n\r\n")?;
        let mut output = self.encoder.finish()?;
        output.write_all(&self.sum.sum().to_le_bytes())?;
        output.write_all(&self.sum.amount().to_le_bytes())?;
        output.0.end_record();
        Ok(())
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

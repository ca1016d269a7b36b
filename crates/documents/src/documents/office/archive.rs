//! The ZIP file that a document is, within limits: what is read of it is bounded, whatever it says of itself.

use std::collections::HashMap;
use std::io::Read;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::contract::ConversionFailure;

/// Bytes that are decompressed of one document.
const BYTES_MAX: u64 = 64 << 20;
/// Files in one document.
const FILES_MAX: usize = 10_000;
/// Bytes in which the encoding of XML is stated.
const DECLARATION_BYTES: usize = 200;

/// The files of a document.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    zip: ZipSliceArchive<&'a [u8]>,
    /// Files by their names, as [`Archive::key`] writes them.
    files: HashMap<String, File>,
    bytes_left: u64,
}

/// A file, as the directory of the ZIP file has it.
#[derive(Debug)]
struct File {
    place: ZipArchiveEntryWayfinder,
    compression: CompressionMethod,
    is_encrypted: bool,
}

impl<'a> Archive<'a> {
    /// Opens a ZIP file.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Archive<'a>, ConversionFailure> {
        let zip = ZipArchive::from_slice(bytes).map_err(|_| ConversionFailure::Damaged)?;
        let mut files = HashMap::new();
        let mut entries = zip.entries();
        // a directory is read as far as it is whole
        while let Ok(Some(entry)) = entries.next_entry() {
            if files.len() >= FILES_MAX {
                return Err(ConversionFailure::TooLarge);
            }
            let file = File {
                place: entry.wayfinder(),
                compression: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
            };
            files.insert(Self::key(&String::from_utf8_lossy(entry.file_path().as_bytes())), file);
        }
        Ok(Archive { zip, files, bytes_left: BYTES_MAX })
    }

    /// True if there is such a file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(&Self::key(name))
    }

    /// The text of a file, which the document is nothing without.
    pub(super) fn text(&mut self, name: &str) -> Result<String, ConversionFailure> {
        let file = self.files.get(&Self::key(name)).ok_or(ConversionFailure::Damaged)?;
        if file.is_encrypted {
            return Err(ConversionFailure::Encrypted);
        }
        let entry = self.zip.get_entry(file.place).map_err(|_| ConversionFailure::Damaged)?;
        let compressed = entry.data();
        let mut content: Box<dyn Read + '_> = match file.compression {
            CompressionMethod::STORE => Box::new(compressed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(compressed)),
            _ => return Err(ConversionFailure::Unsupported),
        };
        let mut bytes = Vec::new();
        let read = content.by_ref().take(self.bytes_left + 1).read_to_end(&mut bytes);
        self.bytes_left = self.bytes_left.checked_sub(bytes.len() as u64).ok_or(ConversionFailure::TooLarge)?;
        // what came before the damage is read
        if read.is_err() && bytes.is_empty() {
            return Err(ConversionFailure::Damaged);
        }
        Ok(decode(&bytes))
    }

    /// The text of a file that a document may do without: empty if it is missing or damaged.
    pub(super) fn text_if_any(&mut self, name: &str) -> Result<String, ConversionFailure> {
        match self.text(name) {
            Err(ConversionFailure::Damaged | ConversionFailure::Unsupported) => Ok(String::new()),
            text => text,
        }
    }

    /// Names differ in case and in slashes from what refers to them.
    fn key(name: &str) -> String {
        name.trim_start_matches(['/', '\\']).replace('\\', "/").to_lowercase()
    }
}

/// The text of XML, by its byte order mark, its first characters or the encoding that it states.
fn decode(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let encoding = match start {
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => stated_encoding(start).filter(|encoding| encoding.is_ascii_compatible()).unwrap_or(UTF_8),
    };
    encoding.decode(bytes).0.into_owned()
}

fn stated_encoding(start: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(start);
    let declaration = start.trim_start_matches('\u{feff}').strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    Encoding::for_label(value.trim_start_matches(['"', '\'']).split(['"', '\'']).next()?.as_bytes())
}

/// The name of a file that another one refers to, in the folder of that one.
pub(super) fn resolve(from: &str, reference: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut path: Vec<&str> = if reference.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for step in reference.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(path.pop()),
            step => path.push(step),
        }
    }
    path.retain(|step| !step.is_empty());
    path.join("/")
}

//! A reader of WARC files of its own, so that nothing is judged by the code that wrote it.

use std::fs;
use std::io::{BufRead, Read};
use std::path::Path;

use data_encoding::BASE32;
use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};

/// A record of a value file.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of the file.
    pub file: String,
    pub fields: Vec<(String, String)>,
    pub block: Vec<u8>,
}

impl Record {
    /// The only value of the field `name`.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next();
        assert!(values.next().is_none(), "{name} comes twice in {:?}", self.fields);
        value.map(|(_, value)| value.as_str())
    }

    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap()
    }

    /// Status line, headers and body of an HTTP block.
    pub fn http(&self) -> (String, Vec<(String, String)>, &[u8]) {
        let end = self.block.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = std::str::from_utf8(&self.block[..end]).unwrap();
        let (first, lines) = head.split_once("\r\n").unwrap();
        (first.to_owned(), lines.split("\r\n").map(named).collect(), &self.block[end + 4..])
    }
}

/// The only value of the header `name`.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let values: Vec<_> = headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).collect();
    assert!(values.len() <= 1, "{values:?}");
    values.first().map(|(_, value)| value.as_str())
}

pub fn sha1_of(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

/// The records of all value files in `dir`, in order. Every member must be one whole record by its own fields.
pub fn records(dir: &Path) -> Vec<Record> {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("value-"));
    paths.sort();
    let mut records = Vec::new();
    for path in paths {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let mut rest = bytes.as_slice();
        while !rest.fill_buf().unwrap().is_empty() {
            let mut record = Vec::new();
            // a decoder of one member: it stops behind it
            GzDecoder::new(&mut rest).read_to_end(&mut record).unwrap();
            records.push(parse(&file, &record));
        }
    }
    records
}

fn parse(file: &str, bytes: &[u8]) -> Record {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let (version, lines) = head.split_once("\r\n").unwrap();
    assert_eq!(version, "WARC/1.1");
    assert!(lines.split("\r\n").all(|line| !line.starts_with([' ', '\t'])), "folded: {lines}");
    let fields: Vec<_> = lines.split("\r\n").map(named).collect();
    let record = Record { file: file.to_owned(), fields, block: bytes[end + 4..bytes.len() - 4].to_vec() };
    assert!(bytes.ends_with(b"\r\n\r\n"));
    assert_eq!(record.field("Content-Length").unwrap(), record.block.len().to_string());
    record
}

fn named(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap();
    (name.to_owned(), value.trim().to_owned())
}

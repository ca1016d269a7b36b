//! What a look-up costs, counted at the disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use super::tests::{checkpoint, key_of, open, options, pages};
use super::*;
use crate::disk::{Backend, DiskFile, Error, Mode, RawFile};

/// The machine's file system, with every read written down: by name, offset and length.
#[derive(Clone, Debug, Default)]
struct Counting(Arc<Mutex<Vec<(String, u64, usize)>>>);

#[derive(Debug)]
struct CountedFile {
    name: String,
    file: DiskFile,
    reads: Counting,
}

fn plain(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

impl Backend for Counting {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = Disk::real().open(path, mode).map_err(plain)?;
        Ok(Box::new(CountedFile { name, file, reads: self.clone() }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk::real().rename(from, to).map_err(plain)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk::real().remove(path).map_err(plain)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        Disk::real().create_dir_all(path).map_err(plain)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Disk::real().list(dir).map_err(plain)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Disk::real().sync_dir(dir).map_err(plain)
    }
    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        Disk::real().free_bytes(dir).map_err(plain)
    }
}

impl RawFile for CountedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.0.lock().unwrap().push((self.name.clone(), offset, buf.len()));
        self.file.read_at(buf, offset).map_err(plain)
    }
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset).map_err(plain)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len().map_err(plain)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len).map_err(plain)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync().map_err(plain)
    }
}

#[test]
fn a_get_reads_about_one_address_page_one_key_record_and_exactly_its_value() {
    let dir = tempfile::tempdir().unwrap();
    let (mut container, _) = open(dir.path(), options(300_000, Compression::Gzip), None);
    let mut pages = pages(Compression::Gzip);
    let urls: Vec<String> = (0..3_000).map(|number| format!("http://a.example/{number}")).collect();
    for url in &urls {
        pages.store(&mut container, url, "some body", false);
    }
    checkpoint(&mut container);
    let counting = Counting::default();
    let reader = Reader::open(Disk::new(Arc::new(counting.clone())), dir.path()).unwrap();
    counting.0.lock().unwrap().clear();
    let mut value_bytes = 0;
    for url in &urls {
        let record = reader.newest(key_of(url), url).unwrap().unwrap();
        assert_eq!(reader.response(&record).unwrap().body, b"some body");
        value_bytes += record.value_bytes as usize;
    }
    let mut reads: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let counted = counting.0.lock().unwrap();
    for (name, offset, length) in counted.iter() {
        let kind = match name.as_str() {
            // the head says which bucket a key is in; it is read every time, because a crawl may be splitting
            "address.idx" if *offset == 0 => "head",
            "address.idx" | "address.ovf" => "page",
            "key.dat" => "key",
            _ => "value",
        };
        let (count, bytes) = reads.entry(kind).or_default();
        *count += 1.0 / urls.len() as f64;
        *bytes += length;
    }
    let a_get = |kind: &str| reads[kind].0;
    assert!((a_get("head") - 1.0).abs() < 1e-6, "{reads:?}");
    assert!((1.0..=1.05).contains(&(a_get("page") + 1e-9)), "{reads:?}");
    assert!((1.0..=1.01).contains(&(a_get("key") + 1e-9)), "{reads:?}");
    assert!((a_get("value") - 1.0).abs() < 1e-6, "{reads:?}");
    assert_eq!(reads["value"].1, value_bytes, "no byte more than the record");
}

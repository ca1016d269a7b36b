//! The ZIP file of a WACZ, and the manifest of what is in it.
//!
//! Written from the beginning to the end without a look back: sizes and checksums are behind each file and in the
//! directory at the end, which has 64-bit fields where they are needed (ZIP64). Files that are compressed already are
//! stored as they are, so that readers seek in them.

use std::io::{self, Write};
use std::path::Path;

use data_encoding::HEXLOWER;
use flate2::Compression as Level;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::signature::{ArchiveKey, KeyError, SigningKey};
use crate::text::figures::iso_ms;

const VERSION: &str = "1.1.1";
const MANIFEST: &str = "datapackage.json";
const SOFTWARE: &str = concat!("crawler/", env!("CARGO_PKG_VERSION"));
/// The beginning of the text that the identity's key signs; no request has a signature over such a text.
const SIGNED: &str = "crawler-wacz ";

/// A WACZ that is being written.
pub(super) struct Package<'a> {
    zip: ZipArchiveWriter<&'a mut dyn Write>,
    resources: Vec<Resource>,
    created: Time,
    keys: Option<Keys>,
}

/// Keys that sign it: the one of the identity, and the one that readers verify.
pub(super) struct Keys {
    identity: SigningKey,
    archive: ArchiveKey,
}

impl Keys {
    /// The identity's key at `path`, and the other one beside it.
    pub(super) fn load(path: &Path) -> Result<Keys, KeyError> {
        Ok(Keys { identity: SigningKey::load(path)?, archive: ArchiveKey::beside(path)? })
    }

    /// The signatures of the manifest with this hash.
    fn sign(&self, hash: &str, software: &str, created: &str) -> [serde_json::Value; 2] {
        let signed = serde_json::json!({
            "hash": hash,
            "created": created,
            "software": software,
            "signature": self.archive.sign(hash),
            "publicKey": self.archive.public_key(),
        });
        let text = format!("{SIGNED}{hash} {}", self.archive.public_key());
        [signed, serde_json::json!({ "key": self.identity.jwk(), "signature": self.identity.sign(&text) })]
    }
}

/// A file of it, as the manifest has it.
#[derive(Clone, Serialize)]
struct Resource {
    name: String,
    path: String,
    hash: String,
    bytes: u64,
}

/// The page that a reader opens first: the first seed.
pub(super) struct MainPage {
    pub url: String,
    pub ts: String,
}

/// The manifest.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    profile: &'static str,
    #[serde(rename = "wacz_version")]
    wacz_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    software: &'static str,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    main_page_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    main_page_date: Option<String>,
    resources: &'a [Resource],
}

/// A file of a WACZ while it is written; knows its length and its hash.
pub(super) struct Digested<'a> {
    out: &'a mut dyn Write,
    sha256: Sha256,
    bytes: u64,
}

impl Digested<'_> {
    /// Bytes that were written.
    pub(super) fn position(&self) -> u64 {
        self.bytes
    }
}

impl Write for Digested<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.sha256.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A hash as the manifest writes it.
pub(super) fn sha256(bytes: &[u8]) -> String {
    shown(&Sha256::digest(bytes))
}

fn shown(digest: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(digest))
}

impl<'a> Package<'a> {
    /// A package into `out`.
    pub(super) fn new(out: &'a mut dyn Write, created: Time, keys: Option<Keys>) -> Self {
        Package { zip: ZipArchiveWriter::new(out), resources: Vec::new(), created, keys }
    }

    /// Adds a file as it is.
    pub(super) fn stored<T>(
        &mut self,
        path: &str,
        write: impl FnOnce(&mut Digested<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.file(path, CompressionMethod::STORE, write)
    }

    /// Adds a file, compressed.
    pub(super) fn deflated<T>(
        &mut self,
        path: &str,
        write: impl FnOnce(&mut Digested<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.file(path, CompressionMethod::DEFLATE, write)
    }

    /// Adds a file, and notes it for the manifest.
    fn file<T>(
        &mut self,
        path: &str,
        method: CompressionMethod,
        write: impl FnOnce(&mut Digested<'_>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let modified = UtcDateTime::from_unix(i64::try_from(self.created.ms() / 1_000)?);
        let new = self.zip.new_file(path).compression_method(method).last_modified(modified).unix_permissions(0o644);
        let (mut entry, config) = new.start().map_err(plain)?;
        let digested = |out: &mut dyn Write| {
            let mut file = Digested { out, sha256: Sha256::new(), bytes: 0 };
            let value = write(&mut file)?;
            anyhow::Ok((value, file.sha256.finalize(), file.bytes))
        };
        let ((value, hash, bytes), descriptor) = if method == CompressionMethod::STORE {
            let mut data = config.wrap(&mut entry);
            (digested(&mut data)?, data.finish().map_err(plain)?.1)
        } else {
            let mut data = config.wrap(DeflateEncoder::new(&mut entry, Level::default()));
            let written = digested(&mut data)?;
            let (encoder, descriptor) = data.finish().map_err(plain)?;
            encoder.finish()?;
            (written, descriptor)
        };
        entry.finish(descriptor).map_err(plain)?;
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        self.resources.push(Resource { name, path: path.to_owned(), hash: shown(&hash), bytes });
        Ok(value)
    }

    /// Writes the manifest, its hash, and the directory of the ZIP file.
    pub(super) fn finish(mut self, title: Option<&str>, main: Option<MainPage>) -> anyhow::Result<()> {
        let resources = std::mem::take(&mut self.resources);
        let (main_page_url, main_page_date) = main.map(|main| (main.url, main.ts)).unzip();
        let manifest = Manifest {
            profile: "data-package",
            wacz_version: VERSION,
            title,
            software: SOFTWARE,
            created: seconds(self.created),
            main_page_url,
            main_page_date,
            resources: &resources,
        };
        let manifest = serde_json::to_vec_pretty(&manifest)?;
        self.file(MANIFEST, CompressionMethod::DEFLATE, |out| Ok(out.write_all(&manifest)?))?;
        let hash = sha256(&manifest);
        let mut digest = serde_json::json!({ "path": MANIFEST, "hash": hash });
        if let Some(keys) = &self.keys {
            [digest["signedData"], digest["identity"]] = keys.sign(&hash, SOFTWARE, &seconds(self.created));
        }
        let digest = serde_json::to_vec_pretty(&digest)?;
        self.file("datapackage-digest.json", CompressionMethod::DEFLATE, |out| Ok(out.write_all(&digest)?))?;
        self.zip.finish().map_err(plain)?;
        Ok(())
    }
}

/// A fault of the output as what it is: a reader that went away is no fault.
fn plain(error: rawzip::Error) -> anyhow::Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => error.into(),
        kind => anyhow::anyhow!("cannot write the ZIP file: {kind}"),
    }
}

/// `2026-11-21T04:38:00Z`.
pub(super) fn seconds(time: Time) -> String {
    let mut text = iso_ms(time);
    text.truncate("2026-11-21T04:38:00".len());
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, SeekFrom};

    use rawzip::ZipArchive;

    use super::*;

    /// A file that is empty up to where a test begins to write.
    fn behind(offset: u64) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        file
    }

    #[test]
    fn files_beyond_four_gibibytes_are_in_the_directory() {
        let offset = 5 << 30;
        let mut file = behind(offset);
        let mut package = Package {
            zip: ZipArchiveWriter::builder().with_offset(offset).build(&mut file),
            resources: Vec::new(),
            created: Time::from_ms(1_700_000_000_000),
            keys: None,
        };
        package.stored("archive/a.warc.gz", |out| Ok(out.write_all(b"one")?)).unwrap();
        package.deflated("pages/pages.jsonl", |out| Ok(out.write_all(&[b'x'; 10_000])?)).unwrap();
        package.finish(None, None).unwrap();
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let zip = ZipArchive::from_file(file, &mut buffer).unwrap();
        let mut entries = zip.entries(&mut buffer);
        let mut found = Vec::new();
        while let Some(entry) = entries.next_entry().unwrap() {
            let path = String::from_utf8(entry.file_path().as_ref().to_vec()).unwrap();
            found.push((path, entry.local_header_offset() >= offset, entry.uncompressed_size_hint()));
        }
        let sizes: Vec<_> = found.iter().map(|(path, beyond, size)| (path.as_str(), *beyond, *size)).collect();
        assert_eq!(sizes[..2], [("archive/a.warc.gz", true, 3), ("pages/pages.jsonl", true, 10_000)]);
        assert_eq!(sizes.len(), 4);
    }
}

//! The manifest's parser under the fuzzer: any bytes, as they are and with a right header and checksum before them.

use super::manifest::{Manifest, Object, Part, ShippedFile, ShippedLinks, seal};
use super::{Claim, Names};
use crate::exchange::Head;
use crate::record::FileKind;

/// The name under which they are read.
fn name() -> String {
    Names::default().manifest(3, Claim { era: 1, epoch: 7 }, 42)
}

/// Reads `bytes` as a manifest, and as the packed and the plain content of one; true where that is one.
pub fn manifest(bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| Manifest::read(bytes, &Names::default(), 3, &name());
    let mut is_whole = read(bytes).is_ok();
    let length = (bytes.len() as u32).to_le_bytes();
    let packed = zstd::bulk::compress(bytes, 1).expect("memory is packed into memory");
    for content in [read(&seal(&length, &packed)), read(&seal(&(1_u32 << 20).to_le_bytes(), bytes))] {
        let Ok(manifest) = content else { continue };
        is_whole = true;
        assert_eq!(read(&manifest.to_bytes()).expect("it was read before"), manifest);
        for file in &manifest.files {
            assert!(!file.path.starts_with('/') && !file.path.split('/').any(|part| part == ".."), "{}", file.path);
            assert!(file.parts.iter().all(|part| part.offset + part.bytes <= manifest.object(part).bytes));
        }
    }
    is_whole
}

/// Manifests by the writer, whole and as plain content.
pub fn manifest_samples() -> Vec<Vec<u8>> {
    let plain = postcard::to_stdvec(&sample()).expect("plain data");
    vec![sample().to_bytes(), plain]
}

/// A manifest of all kinds of objects.
pub fn sample() -> Manifest {
    let claim = Claim { era: 1, epoch: 7 };
    let object = |name: &str, bytes| Object { name: format!("003/e1-7/{name}"), bytes };
    let part = |object, offset, bytes| Part { object, offset, bytes, crc: 9 };
    let file = |path: &str, kind, parts| ShippedFile { path: path.to_owned(), kind, lineage: 0, seam: 5, parts };
    Manifest {
        crawl: 77,
        shard: 3,
        shards: 4,
        claim,
        number: 42,
        head: Head { number: 42, ..Head::default() },
        objects: vec![object("n000042.pack", 100), object("n000042.links", 30)],
        files: vec![
            file("checkpoint.g000042", FileKind::Whole, vec![part(0, 0, 60)]),
            file("links/out.g000042", FileKind::Links, vec![part(1, 0, 30)]),
            file("pages/key.dat", FileKind::Grows, vec![part(0, 60, 30), part(0, 90, 10)]),
        ],
        links: vec![ShippedLinks { number: 42, claim, has_notes: true, revision: 0 }],
    }
}

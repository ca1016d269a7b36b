//! Bytes that lie in the parts of a crawl directory.

use std::path::Path;

use crate::record::StoreBytes;

/// Bytes of the files in `dir`, as far as they can be asked.
pub fn file_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let files = entries.filter_map(|entry| entry.ok()?.metadata().ok()).filter(std::fs::Metadata::is_file);
    files.map(|file| file.len()).sum()
}

/// Puts down what lies on disk in `dir` now: the engine does not count all of it.
pub fn measure(stores: &mut StoreBytes, dir: &Path) {
    let parts: [(&mut u64, &str); 5] = [
        (&mut stores.url_seen, "url-seen"),
        (&mut stores.robots, "robots"),
        (&mut stores.dns, "dns"),
        (&mut stores.frontier, "frontier"),
        (&mut stores.catalog, "catalog"),
    ];
    for (bytes, part) in parts {
        *bytes = file_bytes(&dir.join(part)).max(*bytes);
    }
}

//! Bytes that lie in the parts of a crawl directory.

use std::path::{Path, PathBuf};

use crate::record::StoreBytes;

/// Bytes of the files in `dir`, as far as they can be asked.
pub fn file_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let files = entries.filter_map(|entry| entry.ok()?.metadata().ok()).filter(std::fs::Metadata::is_file);
    files.map(|file| file.len()).sum()
}

/// As [`measure`], for a crawl whose shards lie in `dirs`, and whose `stores` are the sums of theirs.
pub fn measure_all(stores: &mut StoreBytes, dirs: &[PathBuf]) {
    let mut on_disk = StoreBytes::default();
    for dir in dirs {
        let mut of_shard = StoreBytes::default();
        measure(&mut of_shard, dir);
        on_disk += &of_shard;
    }
    let StoreBytes { url_seen, robots, dns, frontier, pages, index, catalog } = on_disk;
    let counted = StoreBytes {
        url_seen: url_seen.max(stores.url_seen),
        robots: robots.max(stores.robots),
        dns: dns.max(stores.dns),
        frontier: frontier.max(stores.frontier),
        pages: pages.max(stores.pages),
        index: index.max(stores.index),
        catalog: catalog.max(stores.catalog),
    };
    *stores = counted;
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

//! Bytes in the parts of a crawl directory.

use std::path::{Path, PathBuf};

use crate::record::StoreBytes;
use crate::record::layout::{self, StoreName};

/// Bytes of the files in `dir`, as far as they can be asked.
pub fn file_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let files = entries.filter_map(|entry| entry.ok()?.metadata().ok()).filter(std::fs::Metadata::is_file);
    files.map(|file| file.len()).sum()
}

/// As [`measure`], for a crawl whose shards are in `dirs`, and whose `stores` are the sums of theirs.
pub(crate) fn measure_all(stores: &mut StoreBytes, dirs: &[PathBuf]) {
    let mut on_disk = StoreBytes::default();
    dirs.iter().for_each(|dir| on_disk += &lying_in(dir));
    if let [first, _, ..] = dirs {
        // shards have it in common
        on_disk.catalog += first.parent().map_or(0, |crawl| file_bytes(&crawl.join(layout::CATALOG)));
    }
    stores.merge(&on_disk, u64::max);
}

/// Notes what is on disk in `dir` now: the engine does not count all of it.
pub fn measure(stores: &mut StoreBytes, dir: &Path) {
    stores.merge(&lying_in(dir), u64::max);
}

/// Bytes of the parts of `dir` that hold nothing but their own files.
fn lying_in(dir: &Path) -> StoreBytes {
    let of_store = |store: StoreName| Some((store, file_bytes(&store.dir(dir)))).filter(|(_, bytes)| *bytes > 0);
    StoreBytes {
        stores: StoreName::ALL.into_iter().filter_map(of_store).collect(),
        frontier: file_bytes(&dir.join(layout::FRONTIER)),
        calendar: file_bytes(&dir.join(layout::CALENDAR)),
        catalog: file_bytes(&dir.join(layout::CATALOG)),
        ..StoreBytes::default()
    }
}

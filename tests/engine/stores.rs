//! The contract of object stores, kept by a directory and by the simulated store.

use crawler::disk::simulated::SimulatedDisk;
use crawler::store::simulated::SimulatedStore;
use crawler::store::{FileStore, StoreOptions, open};

#[path = "../contract/mod.rs"]
mod contract;

use contract::check;

#[test]
fn a_directory_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}/store", dir.path().display());
    check(&*open(&url, &StoreOptions::default()).unwrap(), dir.path());
    check(&FileStore::new(SimulatedDisk::new(1).disk(), "/store"), dir.path());
    let slow = StoreOptions { bytes_per_second: Some(1 << 30), ..StoreOptions::default() };
    let url = format!("file://{}/slow", dir.path().display());
    check(&*open(&url, &slow).unwrap(), dir.path());
}

#[test]
fn the_simulated_store_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    check(&SimulatedStore::new(1).client(), dir.path());
}

//! Files that a sink writes: in a directory, or in an object store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Failure;
use super::settings::Settings;
use crate::disk::{self, Aside, Disk};
use crate::store::{self, Body, ObjectStore, StoreOptions};

/// Files by name. A name is that of a folder, `/`, and that of a file in it.
pub(super) trait Files: Send {
    /// The names of all files.
    fn names(&self) -> Result<Vec<String>, Failure>;

    /// Puts a file, durably and whole, in the place of one that has its name.
    fn put(&self, name: &str, content: Vec<u8>) -> Result<(), Failure>;

    /// Reads a file.
    fn get(&self, name: &str) -> Result<Bytes, Failure>;
}

/// The files at the place that the settings name. Nothing is asked of a store yet.
pub(super) fn open(settings: &Settings) -> Result<Box<dyn Files>, String> {
    let place = settings.url.expose();
    if !place.contains("://") {
        return Ok(Box::new(Directory { dir: PathBuf::from(place), disk: Disk::real() }));
    }
    if settings.ca_file.is_some() || !settings.user.is_empty() || !settings.secret.written().is_empty() {
        return Err("what an object store needs comes from the environment, not from other keys".to_owned());
    }
    // who delivers tries again
    let options = StoreOptions { retry_for: Duration::ZERO, ..StoreOptions::default() };
    let store = store::open(place, &options).map_err(|error| error.to_string())?;
    Ok(Box::new(Objects(store)))
}

/// A directory.
struct Directory {
    dir: PathBuf,
    disk: Disk,
}

impl Files for Directory {
    fn names(&self) -> Result<Vec<String>, Failure> {
        if !self.dir.exists() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for folder in self.disk.list_dirs(&self.dir)? {
            let files = self.disk.list(&self.dir.join(&folder))?;
            names.extend(files.into_iter().map(|file| format!("{folder}/{file}")));
        }
        Ok(names)
    }

    fn put(&self, name: &str, content: Vec<u8>) -> Result<(), Failure> {
        let place = self.dir.join(name);
        self.disk.create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
        self.disk.sync_dir(&self.dir)?;
        Ok(Aside::put(&place, &content)?)
    }

    fn get(&self, name: &str) -> Result<Bytes, Failure> {
        Ok(self.disk.read(self.dir.join(name))?.into())
    }
}

impl From<disk::Error> for Failure {
    fn from(error: disk::Error) -> Failure {
        Failure::again(error.to_string())
    }
}

/// An object store.
struct Objects(Arc<dyn ObjectStore>);

impl Files for Objects {
    fn names(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        self.0.list("", &mut |name, _| names.push(name.to_owned()))?;
        Ok(names)
    }

    /// A store keeps an object that has the name, so that one is deleted first.
    fn put(&self, name: &str, content: Vec<u8>) -> Result<(), Failure> {
        if self.0.length(name)?.is_some() {
            self.0.delete(name)?;
        }
        Ok(self.0.put(name, &Body::of(content))?)
    }

    fn get(&self, name: &str) -> Result<Bytes, Failure> {
        let not_found = || Failure::again(format!("{name}: no such object in the store"));
        let length = self.0.length(name)?.ok_or_else(not_found)?;
        Ok(self.0.get(name, 0..length)?.into())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        match error {
            store::Error::Refused { .. } | store::Error::Address { .. } => Failure::broken(error.to_string()),
            _ => Failure::again(error.to_string()),
        }
    }
}

//! A store in memory that fails on demand, and judges what is put and deleted.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::store::{Body, Error, ObjectStore, Result};

/// Objects in memory.
#[derive(Debug, Default)]
pub(in crate::ship) struct MemoryStore {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The number of changes after which one fails: behind it, or before.
    failing: Mutex<Option<(u32, bool)>>,
    /// Names that were used, and are not any more.
    deleted: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Names of objects that must not be deleted.
    protected: Mutex<HashSet<String>>,
    /// The object that the next listing misses.
    missed: Mutex<Option<String>>,
}

impl MemoryStore {
    /// The change behind the next `changes` fails; `late` says that it takes place all the same.
    pub(crate) fn fail_after(&self, changes: Option<(u32, bool)>) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = changes;
    }

    /// Sets the objects that must not be deleted from now on.
    pub(crate) fn protect(&self, names: HashSet<String>) {
        *self.protected.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The next listing has passed the place of this object before it was put.
    pub(crate) fn miss(&self, name: String) {
        *self.missed.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    /// Harms an object.
    pub(crate) fn change_object(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.objects.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name).expect("it is there"));
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<()> {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let (fails, late) = match &mut *failing {
            Some((0, late)) => (true, *late),
            Some((left, _)) => {
                *left -= 1;
                (false, true)
            }
            None => (false, true),
        };
        if fails {
            *failing = None;
        }
        if late {
            change(&mut self.objects.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match fails {
            true => Err(Error::Unavailable { name: name.to_owned(), detail: "no answer".to_owned() }),
            false => Ok(()),
        }
    }
}

impl ObjectStore for MemoryStore {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        let bytes = body.read(0, body.bytes() as usize)?;
        // an owner that is deposed may send once more what was swept already
        let deleted = self.deleted.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        assert!(deleted.is_none_or(|deleted| deleted == bytes), "{name} is used for other bytes once it was deleted");
        self.change(name, |objects| {
            if let Some(earlier) = objects.get(name) {
                assert!(*earlier == bytes, "{name} is put again with other bytes");
            }
            objects.insert(name.to_owned(), bytes);
        })
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let object = objects.get(name).ok_or_else(|| Error::NotFound { name: name.to_owned() })?;
        let found = object.get(range.start as usize..range.end as usize);
        found.map(<[u8]>::to_vec).ok_or_else(|| Error::Damaged {
            name: name.to_owned(),
            offset: range.start,
            expected: format!("bytes up to {}", range.end),
            found: object.len().to_string(),
        })
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.objects().get(name).map(|object| object.len() as u64))
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        let objects = self.objects();
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner).take();
        objects
            .iter()
            .filter(|(name, _)| name.starts_with(prefix) && Some(*name) != missed.as_ref())
            .for_each(|(name, object)| visit(name, object.len() as u64));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<()> {
        let is_protected = self.protected.lock().unwrap_or_else(PoisonError::into_inner).contains(name);
        assert!(!is_protected, "{name} is deleted while the head names it");
        self.change(name, |objects| {
            if let Some(bytes) = objects.remove(name) {
                self.deleted.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), bytes);
            }
        })
    }

    fn address(&self) -> String {
        "memory".to_owned()
    }
}

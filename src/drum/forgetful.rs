//! A disk in memory for tests that forgets at a crash what was not synced, and that can be full.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::disk::{Backend, Disk, Mode, RawFile};

#[derive(Clone, Debug, Default)]
pub(super) struct ForgetfulDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
    /// Removed, but their directory was not synced since.
    removed: Vec<(PathBuf, Content)>,
    /// Changes until every change fails.
    changes_left: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
    name_synced: bool,
}

#[derive(Debug)]
struct File {
    disk: ForgetfulDisk,
    content: Arc<Mutex<Content>>,
}

impl ForgetfulDisk {
    pub fn disk(&self) -> Disk {
        Disk::new(Arc::new(self.clone()))
    }

    /// A disk with these files, all synced.
    pub fn with_files(files: Vec<(PathBuf, Vec<u8>)>) -> Self {
        let content = |now: Vec<u8>| Arc::new(Mutex::new(Content { synced: now.clone(), now, name_synced: true }));
        let files = files.into_iter().map(|(path, now)| (path, content(now))).collect();
        ForgetfulDisk(Arc::new(Mutex::new(State { files, ..State::default() })))
    }

    /// After so many changes every change fails; `None` heals it.
    pub fn fail_after(&self, changes: Option<u64>) {
        self.0.lock().unwrap().changes_left = changes;
    }

    /// All files with their present content.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let state = self.0.lock().unwrap();
        state.files.iter().map(|(path, file)| (path.clone(), file.lock().unwrap().now.clone())).collect()
    }

    /// Puts `content` into the file at `path`.
    pub fn put(&self, path: &Path, content: Vec<u8>) {
        self.0.lock().unwrap().files[path].lock().unwrap().now = content;
    }

    /// The disk as a power cut may leave it.
    pub fn crash(&self, random: &mut fastrand::Rng) -> ForgetfulDisk {
        let state = self.0.lock().unwrap();
        let resurrect = random.bool();
        let there = state.files.iter().map(|(path, file)| (path.clone(), file.lock().unwrap().clone()));
        let mut files = BTreeMap::new();
        for (path, content) in state.removed.iter().filter(|_| resurrect).cloned().chain(there) {
            if content.name_synced || random.bool() {
                let now = content.torn(random);
                let content = Content { synced: now.clone(), now, name_synced: true };
                files.insert(path, Arc::new(Mutex::new(content)));
            }
        }
        ForgetfulDisk(Arc::new(Mutex::new(State { files, ..State::default() })))
    }

    fn change(&self) -> io::Result<()> {
        match &mut self.0.lock().unwrap().changes_left {
            Some(0) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Content {
    /// What was synced and not written since, then what is there now or was synced, cut anywhere, perhaps with zeros or
    /// rubbish at its end.
    fn torn(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let certain = self.synced.iter().zip(&self.now).take_while(|(synced, now)| synced == now).count();
        let mut content = if random.bool() { self.now.clone() } else { self.synced.clone() };
        content.truncate(random.usize(certain..=content.len()));
        let rubbish = random.usize(certain..=content.len());
        match random.u8(0..4) {
            0 => content[rubbish..].fill(0),
            1 => content[rubbish..].iter_mut().for_each(|byte| *byte = random.u8(..)),
            _ => {}
        }
        content
    }
}

impl Backend for ForgetfulDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let there = self.0.lock().unwrap().files.get(path).cloned();
        let content = match (there, mode) {
            (Some(_), Mode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(content), _) => content,
            (None, Mode::Read | Mode::Write) => return Err(io::ErrorKind::NotFound.into()),
            (None, Mode::Create | Mode::CreateNew) => {
                self.change()?;
                self.0.lock().unwrap().files.entry(path.to_owned()).or_default().clone()
            }
        };
        Ok(Box::new(File { disk: self.clone(), content }))
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        unreachable!("a DRUM renames nothing")
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        let mut state = self.0.lock().unwrap();
        let content = state.files.remove(path).ok_or(io::ErrorKind::NotFound)?;
        let content = content.lock().unwrap().clone();
        state.removed.push((path.to_owned(), content));
        Ok(())
    }

    fn create_dir_all(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.0.lock().unwrap();
        let here = state.files.keys().filter(|path| path.parent() == Some(dir));
        Ok(here.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.change()?;
        let mut state = self.0.lock().unwrap();
        state.removed.retain(|(path, _)| path.parent() != Some(dir));
        for (_, file) in state.files.iter().filter(|(path, _)| path.parent() == Some(dir)) {
            file.lock().unwrap().name_synced = true;
        }
        Ok(())
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

impl RawFile for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let rest = content.now.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.disk.change()?;
        let now = &mut self.content.lock().unwrap().now;
        let end = offset as usize + buf.len();
        if now.len() < end {
            now.resize(end, 0);
        }
        now[offset as usize..end].copy_from_slice(buf);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().now.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.change()?;
        self.content.lock().unwrap().now.resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.change()?;
        let mut content = self.content.lock().unwrap();
        content.synced = content.now.clone();
        Ok(())
    }
}

//! A consumer of the changes of a feed, and the cursor behind what has arrived there.

use std::path::{Path, PathBuf};

use super::cursor::Cursor;
use super::documents::{Documents, Step};
use super::error::{Error, Result};
use super::home::Home;
use crate::disk::DirectoryLock;

/// The name of the file with the cursor of a sink.
const CURSOR: &str = "cursor";

/// The directory of `sink` in the feed of the crawl in `dir`.
pub fn directory_of_sink(dir: &Path, sink: &str) -> Result<PathBuf> {
    Ok(Home::around(dir)?.of_sink(sink))
}

/// A consumer of changes.
pub trait Consumer {
    /// Its failures.
    type Error: From<Error>;

    /// Takes a step. Says whether all that it has taken has arrived.
    fn take(&mut self, step: Step) -> std::result::Result<bool, Self::Error>;

    /// Has all that it has taken arrive.
    fn flush(&mut self) -> std::result::Result<(), Self::Error>;
}

/// A consumer that gets all changes behind its cursor, which is kept, durably, once they have arrived.
pub struct Subscription<C> {
    consumer: C,
    file: Option<PathBuf>,
    cursor: Option<Cursor>,
    /// No other process delivers to the same sink.
    _lock: Option<DirectoryLock>,
}

impl<C: Consumer> Subscription<C> {
    /// One that begins at the start and keeps no cursor.
    pub fn new(consumer: C) -> Subscription<C> {
        Subscription { consumer, file: None, cursor: None, _lock: None }
    }

    /// Begins behind the cursor in `file`, if there is one, and keeps it there.
    pub fn keep_in(&mut self, file: PathBuf) -> Result<()> {
        self.cursor = Cursor::read(&file)?;
        self.file = Some(file);
        Ok(())
    }

    /// The same with the cursor of `sink` in the feed of the crawl in `dir`.
    ///
    /// # Errors
    /// If another process delivers to this sink, too.
    pub fn keep_in_feed(&mut self, dir: &Path, sink: &str) -> Result<()> {
        let home = Home::around(dir)?;
        let of_sink = home.of_sink(sink);
        home.disk().create_dir_all(&of_sink)?;
        self._lock = Some(DirectoryLock::acquire(&of_sink)?);
        self.keep_in(of_sink.join(CURSOR))
    }

    /// The consumer.
    pub fn consumer(&mut self) -> &mut C {
        &mut self.consumer
    }

    /// Delivers what has changed behind the cursor.
    ///
    /// # Errors
    /// Those of the consumer, and if the feed cannot be read or the cursor not be kept.
    pub fn deliver(&mut self, documents: &mut Documents) -> std::result::Result<(), C::Error> {
        let cursor = self.cursor.clone().unwrap_or_else(|| documents.start());
        let mut changes = documents.changes(&cursor)?;
        while let Some(step) = changes.next_step()? {
            if self.consumer.take(step)? {
                self.keep(changes.cursor())?;
            }
        }
        self.consumer.flush()?;
        Ok(self.keep(changes.cursor())?)
    }

    fn keep(&mut self, cursor: &Cursor) -> Result<()> {
        if self.cursor.as_ref() != Some(cursor) {
            self.file.iter().try_for_each(|file| cursor.write(file))?;
            self.cursor = Some(cursor.clone());
        }
        Ok(())
    }
}

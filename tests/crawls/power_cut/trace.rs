//! The calls of a process on the files of one directory, by the words of `strace`.
//!
//! Every call has two places in the trace: where it began and where it returned. A sync covers the writes that had
//! returned when it began; one that began earlier and returned later may be in the middle of the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file's content, whatever it is called.
pub type Inode = usize;

#[derive(Clone, Debug)]
pub enum Act {
    /// Bytes at a place in a file.
    Write { inode: Inode, at: u64, bytes: Vec<u8> },
    /// A new length.
    Cut { inode: Inode, length: u64 },
    /// A name for a file that was made.
    Name { path: PathBuf, inode: Inode },
    /// Another name for what was called `from`.
    Rename { from: PathBuf, to: PathBuf },
    /// A name that is gone.
    Unname { path: PathBuf },
    /// The content of a file is durable.
    SyncFile { inode: Inode },
    /// The names in a directory are durable.
    SyncNames { dir: PathBuf },
    /// A word of the program about itself.
    Said(String),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub began: usize,
    pub returned: usize,
    pub act: Act,
}

/// Reads a trace of `strace -f -y -xx`. Only what lies below `root` counts; lines that the program wrote to `diary` are
/// its words.
pub fn read(text: &str, root: &Path, diary: &Path) -> Vec<Event> {
    let mut reader =
        Reader { root, diary, names: HashMap::new(), positions: HashMap::new(), files: 0, events: Vec::new() };
    let mut unfinished: HashMap<&str, (usize, String)> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some((process, call)) = line.split_once(char::is_whitespace) else { continue };
        let call = call.trim_start();
        if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, (number, begun.to_owned()));
        } else if let Some(resumed) = call.strip_prefix("<... ") {
            let rest = resumed.split_once("resumed>").map_or("", |(_, rest)| rest);
            if let Some((began, begun)) = unfinished.remove(process) {
                reader.call(began, number, &format!("{begun}{rest}"));
            }
        } else {
            reader.call(number, number, call);
        }
    }
    // one that never returned may have reached the disk all the same
    let last = text.lines().count();
    for (began, call) in unfinished.into_values() {
        reader.call(began, last, &format!("{call}) = 0"));
    }
    reader.events.sort_by_key(|event| event.began);
    reader.events
}

struct Reader<'a> {
    root: &'a Path,
    diary: &'a Path,
    names: HashMap<PathBuf, Inode>,
    positions: HashMap<PathBuf, u64>,
    files: usize,
    events: Vec<Event>,
}

impl Reader<'_> {
    fn call(&mut self, began: usize, returned: usize, call: &str) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
        let arguments: Vec<&str> = arguments.split(", ").collect();
        let before = self.events.len();
        self.act(name, &arguments, result);
        for event in &mut self.events[before..] {
            (event.began, event.returned) = (began, returned);
        }
    }

    fn act(&mut self, name: &str, arguments: &[&str], result: &str) {
        let number = |at: usize| arguments.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        let string = |at: usize| arguments.get(at).map(|word| PathBuf::from(text(&unquoted(word)))).unwrap_or_default();
        match name {
            "openat" => self.opened(arguments.get(2).copied().unwrap_or_default(), described(result)),
            "pwrite64" => self.written(described(arguments[0]), Some(number(3)), unquoted(arguments[1])),
            "write" => self.written(described(arguments[0]), None, unquoted(arguments[1])),
            "ftruncate" => self.cut(described(arguments[0]), number(1), true),
            "fallocate" => self.cut(described(arguments[0]), number(2) + number(3), false),
            "fsync" | "fdatasync" => self.synced(described(arguments[0])),
            "rename" => self.renamed(string(0), string(1)),
            "renameat" | "renameat2" => self.renamed(string(1), string(3)),
            "unlink" => self.removed(string(0)),
            "unlinkat" => self.removed(string(1)),
            _ => {}
        }
    }

    fn push(&mut self, act: Act) {
        self.events.push(Event { began: 0, returned: 0, act });
    }

    fn opened(&mut self, flags: &str, path: Option<PathBuf>) {
        let Some(path) = path.filter(|path| path.starts_with(self.root)) else { return };
        self.positions.insert(path.clone(), 0);
        if !flags.contains("O_CREAT") && !flags.contains("O_TRUNC") {
            return;
        }
        match self.names.get(&path) {
            Some(&inode) if flags.contains("O_TRUNC") => self.push(Act::Cut { inode, length: 0 }),
            Some(_) => {}
            None => {
                let inode = self.files;
                self.files += 1;
                self.names.insert(path.clone(), inode);
                self.push(Act::Name { path, inode });
            }
        }
    }

    fn written(&mut self, path: Option<PathBuf>, at: Option<u64>, bytes: Vec<u8>) {
        let Some(path) = path else { return };
        if path == self.diary {
            return self.push(Act::Said(text(&bytes).trim().to_owned()));
        }
        let Some(&inode) = self.names.get(&path) else { return };
        let at = at.unwrap_or_else(|| {
            let position = self.positions.entry(path).or_default();
            let at = *position;
            *position += bytes.len() as u64;
            at
        });
        self.push(Act::Write { inode, at, bytes });
    }

    fn cut(&mut self, path: Option<PathBuf>, length: u64, shrinks: bool) {
        let Some(&inode) = path.and_then(|path| self.names.get(&path)) else { return };
        if shrinks {
            self.push(Act::Cut { inode, length });
        } else {
            // space that is reserved reads as zeros
            self.push(Act::Write { inode, at: length, bytes: Vec::new() });
        }
    }

    fn synced(&mut self, path: Option<PathBuf>) {
        let Some(path) = path.filter(|path| path.starts_with(self.root)) else { return };
        match self.names.get(&path) {
            Some(&inode) => self.push(Act::SyncFile { inode }),
            None => self.push(Act::SyncNames { dir: path }),
        }
    }

    fn renamed(&mut self, from: PathBuf, to: PathBuf) {
        if let Some(inode) = self.names.remove(&from) {
            self.names.insert(to.clone(), inode);
            self.push(Act::Rename { from, to });
        }
    }

    fn removed(&mut self, path: PathBuf) {
        if self.names.remove(&path).is_some() {
            self.push(Act::Unname { path });
        }
    }
}

/// The path of a descriptor, `7</path>`.
fn described(word: &str) -> Option<PathBuf> {
    let (_, path) = word.split_once('<')?;
    let path = path.trim_end().strip_suffix('>')?;
    Some(PathBuf::from(text(&unescaped(path))))
}

fn unquoted(word: &str) -> Vec<u8> {
    let inner = word.trim().strip_prefix('"').and_then(|word| word.strip_suffix('"'));
    unescaped(inner.unwrap_or_else(|| panic!("the trace cuts strings short; its -s is too small: {:.80}", word)))
}

fn unescaped(word: &str) -> Vec<u8> {
    let word = word.as_bytes();
    let mut bytes = Vec::with_capacity(word.len() / 4);
    let mut at = 0;
    while at < word.len() {
        let hex = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
        match word[at..] {
            [b'\\', b'x', high, low, ..] if hex(high).is_some() && hex(low).is_some() => {
                bytes.push(hex(high).unwrap_or(0) << 4 | hex(low).unwrap_or(0));
                at += 4;
            }
            _ => {
                bytes.push(word[at]);
                at += 1;
            }
        }
    }
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

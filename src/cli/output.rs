//! The target of what a command writes: standard output, or a file that appears when it is whole.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use super::exit::UsageError;
use crate::config::parse_bytes;
use crate::disk::sorter::MEMORY_MIN;
use crate::disk::{Aside, Error};
use crate::text::escape::{self, Escaped};

/// Memory for sorting what is written, as an option says it.
pub(super) fn memory(text: &str) -> Result<usize, String> {
    let bytes = parse_bytes(text).map(|bytes| bytes.as_usize());
    bytes.filter(|&bytes| bytes >= MEMORY_MIN).ok_or("write a size of at least 1MiB, such as 64MiB".to_owned())
}

/// An open output. A file takes its name in [`Output::finish`]; without that it is removed.
/// A terminal sees the codes of what it would obey.
pub(super) struct Output(BufWriter<Target>);

enum Target {
    Terminal(io::Stdout),
    Standard(io::Stdout),
    File(Aside),
}

impl Output {
    /// Opens `path`, or standard output for `-`. Refuses to show what is `binary` on a terminal, and to write into the
    /// crawl directory `crawl`.
    pub(super) fn open(path: &Path, crawl: &Path, binary: bool) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let out = io::stdout();
            return match out.is_terminal() {
                true if binary => Err(UsageError::because("the output is not text: use --output FILE or a pipe")),
                true => Ok(Output::to(Target::Terminal(out))),
                false => Ok(Output::to(Target::Standard(out))),
            };
        }
        if path.file_name().is_none() {
            return Err(UsageError::because(format!("{} does not name a file", shown(path))));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let (Ok(dir), Ok(crawl)) = (dir.canonicalize(), crawl.canonicalize())
            && dir.starts_with(crawl)
        {
            let path = shown(path);
            return Err(UsageError::because(format!("{path} is in the crawl directory; exports do not write there")));
        }
        if path.is_dir() {
            return Err(UsageError::because(format!("{} is a directory; name a file in it", shown(path))));
        }
        let aside = Aside::create(path).map_err(|error| refusal(path, dir, error))?;
        Ok(Output::to(Target::File(aside)))
    }

    fn to(target: Target) -> Self {
        Output(BufWriter::with_capacity(256 << 10, target))
    }

    fn file(&self) -> Option<&Aside> {
        match self.0.get_ref() {
            Target::Terminal(_) | Target::Standard(_) => None,
            Target::File(aside) => Some(aside),
        }
    }

    /// The name of the file, where it is one.
    pub(super) fn name(&self) -> Option<String> {
        Some(self.file()?.place().file_name()?.to_string_lossy().into_owned())
    }

    /// Returns the path of the file until it is whole; `None` for standard output.
    pub(super) fn aside(&self) -> Option<&Path> {
        Some(self.file()?.path())
    }

    /// Writes what is left and gives the file its name.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.flush()?;
        match self.0.into_inner().map_err(io::IntoInnerError::into_error)? {
            Target::Terminal(_) | Target::Standard(_) => Ok(()),
            Target::File(aside) => Ok(aside.into_place()?),
        }
    }
}

/// Returns why the output `path` cannot be made in `dir`, and what to do.
fn refusal(path: &Path, dir: &Path, error: Error) -> anyhow::Error {
    let Error::Io { source, .. } = &error else { return error.into() };
    let (path, dir) = (shown(path), shown(dir));
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => UsageError::because(format!(
            "cannot write {path}: no such directory: {dir}; make it (mkdir -p), or choose another --output"
        )),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            UsageError::because(format!("cannot write {path}: {source}; choose another --output"))
        }
        io::ErrorKind::InvalidInput => {
            UsageError::because(format!("cannot write {path}: {source}; - is standard output"))
        }
        _ => error.into(),
    }
}

fn shown(path: &Path) -> String {
    Escaped(&path.to_string_lossy()).to_string()
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.0.get_ref(), Target::Terminal(_)) {
            // a text comes in whole pieces
            self.0.write_all(escape::shown(bytes).as_bytes())?;
            return Ok(bytes.len());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Terminal(out) | Target::Standard(out) => out.write(bytes),
            Target::File(aside) => aside.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Terminal(out) | Target::Standard(out) => out.flush(),
            Target::File(aside) => aside.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        let crawl = dir.path().join("crawl");
        fs::create_dir(&crawl).unwrap();
        let mut output = Output::open(&path, &crawl, true).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a part is left behind");
        let mut output = Output::open(&path, &crawl, true).unwrap();
        assert_eq!(output.name().as_deref(), Some("out.txt"));
        output.write_all(b"whole").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_place_where_no_file_can_be_is_told_before_the_work() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("there")).unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (name, words) in
            [("nowhere/x", "no such directory"), ("file/x", "no such directory"), ("there", "is a directory")]
        {
            let Err(error) = Output::open(&dir.path().join(name), Path::new("crawl"), true) else {
                panic!("{name} was opened")
            };
            assert!(error.is::<UsageError>() && error.to_string().contains(words), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_crawl_directory_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pages")).unwrap();
        let value = dir.path().join("pages/value-00000.warc.gz");
        let Err(error) = Output::open(&value, dir.path(), true) else { panic!("it was opened") };
        assert!(error.is::<UsageError>() && error.to_string().contains("crawl directory"), "{error}");
        assert_eq!(fs::read_dir(dir.path().join("pages")).unwrap().count(), 0);
    }
}

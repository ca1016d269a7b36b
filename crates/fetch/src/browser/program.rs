//! The browser that is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which it is installed. The one without windows costs half of the others, so it comes first.
const NAMES: [&str; 7] = [
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// A browser that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where.
    pub path: PathBuf,
    /// Version that it prints, such as `Chromium 156.0.8078.79`.
    pub version: String,
}

/// The browser at `program` (a path, or a name on `PATH`), or the first one on `PATH`. It is run to get its version.
pub fn find(program: Option<&Path>) -> Option<Program> {
    match program {
        Some(program) if program.components().count() > 1 => ask(program.to_path_buf()),
        Some(name) => on_path(name),
        None => NAMES.iter().find_map(|name| on_path(Path::new(name))),
    }
}

/// The program `name` in the first directory of `PATH` that has one which works.
fn on_path(name: &Path) -> Option<Program> {
    std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| ask(dir.join(name)))
}

/// The program at `path`, if it is one and prints a version.
fn ask(path: PathBuf) -> Option<Program> {
    if !path.is_file() {
        return None;
    }
    let mut command = Command::new(&path);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let version = String::from_utf8_lossy(&output.stdout).split_whitespace().take(8).collect::<Vec<_>>().join(" ");
    let is_browser = version.chars().any(|c| c.is_ascii_digit());
    is_browser.then_some(Program { path, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_no_version_is_no_browser() {
        assert_eq!(find(Some(Path::new("/nowhere/chromium"))), None);
        assert_eq!(find(Some(Path::new("no-such-program"))), None);
        assert_eq!(find(Some(Path::new("/bin/false"))), None);
        assert_eq!(find(Some(Path::new("/tmp"))), None);
    }
}

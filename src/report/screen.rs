//! Standard error, shared by the live display and the log: a log line goes above the display, never through it.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::termios::{Winsize, tcgetwinsize};
use tracing_subscriber::fmt::MakeWriter;

use crate::text::escape::json_escaped;

/// Columns of a terminal that does not say, and the most that are used.
const COLUMNS: usize = 80;
const COLUMNS_MAX: usize = 250;
/// Rows of a terminal that does not say.
const ROWS: usize = 24;

/// A handle on the one place that progress and logs are written to.
#[derive(Clone)]
pub struct Screen(Arc<Mutex<Inner>>);

struct Inner {
    out: Box<dyn Write + Send>,
    /// Lines of the display above the cursor.
    live_lines: usize,
    terminal: bool,
    colour: bool,
    /// True if it is standard error, whose terminal can be asked for its size.
    stderr: bool,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen")
    }
}

impl Screen {
    /// Standard error. Colours where it is a terminal, unless `NO_COLOR` is set or the terminal is `dumb`.
    pub(crate) fn stderr() -> Self {
        let terminal = io::stderr().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let screen = Screen::new(Box::new(io::stderr()), terminal && !dumb, terminal && !plain && !dumb);
        screen.inner().stderr = true;
        screen
    }

    /// Any other place; `terminal` says whether it obeys cursor movements.
    pub(crate) fn new(out: Box<dyn Write + Send>, terminal: bool, colour: bool) -> Self {
        Screen(Arc::new(Mutex::new(Inner { out, live_lines: 0, terminal, colour, stderr: false })))
    }

    /// Columns of the terminal as it is now, as far as they are used; 80 where it does not say.
    pub(crate) fn columns(&self) -> usize {
        let columns = self.size().map(|size| usize::from(size.ws_col));
        columns.filter(|&columns| columns > 0).unwrap_or(COLUMNS).min(COLUMNS_MAX)
    }

    /// Rows of the terminal as it is now; 24 where it does not say.
    pub(crate) fn rows(&self) -> usize {
        self.size().map(|size| usize::from(size.ws_row)).filter(|&rows| rows > 0).unwrap_or(ROWS)
    }

    fn size(&self) -> Option<Winsize> {
        if self.inner().stderr { tcgetwinsize(io::stderr()).ok() } else { None }
    }

    /// Returns whether the display can be redrawn in place.
    pub(crate) fn is_terminal(&self) -> bool {
        self.inner().terminal
    }

    /// Returns whether colours are wanted.
    pub(crate) fn colour(&self) -> bool {
        self.inner().colour
    }

    /// Replaces the display by `lines`.
    pub(crate) fn redraw(&self, lines: &[String]) {
        let mut inner = self.inner();
        let mut text = inner.erasure();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        inner.put(text.as_bytes());
        inner.live_lines = lines.len();
    }

    /// Writes lines that stay, above the display; the next redraw brings the display back.
    pub(crate) fn print(&self, text: &str) {
        let mut inner = self.inner();
        let whole = inner.erasure() + text;
        inner.live_lines = 0;
        inner.put(whole.as_bytes());
    }

    /// Leaves the display as it is: what follows is written below it.
    pub(crate) fn keep(&self) {
        self.inner().live_lines = 0;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic while writing to a terminal leaves nothing that could be wrong.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Returns the codes that take the display away: up to its first line, clear to the end of the screen.
    fn erasure(&self) -> String {
        if self.live_lines == 0 { String::new() } else { format!("\x1b[{}A\r\x1b[J", self.live_lines) }
    }

    /// A terminal that is gone is no reason to stop a crawl.
    fn put(&mut self, bytes: &[u8]) {
        let _ = self.out.write_all(bytes);
        let _ = self.out.flush();
    }
}

/// One event of the log on its way to the screen; written as a whole when it is dropped.
#[derive(Debug)]
pub struct ScreenLine {
    screen: Screen,
    line: Vec<u8>,
}

impl Write for ScreenLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ScreenLine {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.screen.print(&String::from_utf8_lossy(&self.line));
        }
    }
}

impl<'a> MakeWriter<'a> for Screen {
    type Writer = ScreenLine;

    fn make_writer(&'a self) -> ScreenLine {
        ScreenLine { screen: self.clone(), line: Vec::new() }
    }
}

/// The screen for JSON: what a terminal would obey is written by its code, which means the same.
#[derive(Clone, Debug)]
pub struct JsonScreen(pub Screen);

impl<'a> MakeWriter<'a> for JsonScreen {
    type Writer = JsonLine;

    fn make_writer(&'a self) -> JsonLine {
        JsonLine(self.0.make_writer())
    }
}

/// One event in JSON on its way to the screen.
#[derive(Debug)]
pub struct JsonLine(ScreenLine);

impl Write for JsonLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for JsonLine {
    fn drop(&mut self) {
        let line = String::from_utf8_lossy(&self.0.line);
        let mut safe = json_escaped(line.trim_end_matches('\n'));
        safe.push('\n');
        self.0.line = safe.into_bytes();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A place to write to that can be read.
    #[derive(Clone, Default)]
    pub(in crate::report) struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        pub(in crate::report) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        pub(in crate::report) fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_in_json_has_nothing_that_a_terminal_obeys_and_means_the_same() {
        let paper = Paper::default();
        let screen = JsonScreen(Screen::new(Box::new(paper.clone()), true, false));
        let hostile = "a\u{9b}31m\u{202e}\u{7f}b";
        let json = serde_json::to_string(&hostile).unwrap();
        screen.make_writer().write_all(format!("{json}\n").as_bytes()).unwrap();
        let text = paper.take();
        assert!(!text.trim_end().chars().any(crate::text::escape::is_terminal_control), "{text:?}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }

    #[test]
    fn a_log_line_takes_the_display_away_and_the_next_redraw_brings_it_back() {
        let paper = Paper::default();
        let screen = Screen::new(Box::new(paper.clone()), true, false);
        screen.redraw(&["one".to_owned(), "two".to_owned()]);
        assert_eq!(paper.take(), "one\ntwo\n");
        screen.make_writer().write_all(b"log\n").unwrap();
        assert_eq!(paper.take(), "\x1b[2A\r\x1b[Jlog\n");
        screen.redraw(&["three".to_owned()]);
        assert_eq!(paper.take(), "three\n");
        screen.redraw(&["four".to_owned()]);
        assert_eq!(paper.take(), "\x1b[1A\r\x1b[Jfour\n");
    }
}

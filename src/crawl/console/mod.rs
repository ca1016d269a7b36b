//! The console of a crawl: what of a crawl directory, and of the process that works on it, a browser is shown.
//!
//! There are two of a kind. A crawl with `report.console` opens one for itself, whose questions and orders go to its
//! engines as from the control socket. `crawler console` opens one for a directory, and asks the process that works
//! there, if there is one, over the control socket. All else is read from the directory, without a lock, by the
//! console's own threads.

mod aged;
mod archive;
mod directories;
mod logs;
mod parts;
mod queue;
mod seeds;
mod source;
mod standing;
mod tree;
mod tree_index;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::control::ControlHandle;
use super::{CrawlError, CrawlRequest, serve};
use crate::console::{Console, ConsoleError, RecentWarnings};
use crate::disk::Disk;
use crate::record::layout;
use crate::report::closing::shell_word;
use source::CrawlSource;
use standing::CommandRoute;

/// The console that a crawl opens for itself, if the settings say so.
pub(super) struct OwnConsole {
    open: Option<Open>,
}

struct Open {
    console: Console,
    source: Arc<CrawlSource>,
    file: PathBuf,
}

impl OwnConsole {
    /// Opens it by the settings of `request`, unless they say `off`. Before [`OwnConsole::connect`] nobody answers for
    /// the crawl.
    pub(crate) fn open(request: &CrawlRequest, disk: &Disk) -> Result<OwnConsole, CrawlError> {
        let (address, file) = (&request.config.report.console, request.dir.join(layout::CONSOLE_ADDRESS));
        // what a killed process left behind
        disk.remove(&file)?;
        if address == "off" {
            return Ok(OwnConsole { open: None });
        }
        let route = CommandRoute::Own(Default::default());
        let source = Arc::new(CrawlSource::new(request.dir.clone(), route, request.warnings.clone()));
        let console = opened(&request.dir, address, source.clone())?;
        disk.replace(&file, format!("{}\n", console.address()).as_bytes())?;
        tell(&console, request);
        Ok(OwnConsole { open: Some(Open { console, source, file }) })
    }

    /// Sends questions and orders to the engines by `control_handle` from here on.
    pub(crate) fn connect(&self, control_handle: &ControlHandle) {
        if let Some(open) = &self.open {
            control_handle.has_console(open.console.url());
            open.source.route().connect(control_handle.clone());
        }
    }

    /// The engines have ended.
    pub(crate) fn disconnect(&self) {
        if let Some(open) = &self.open {
            open.source.route().disconnect();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // one that stays says where nobody listens any more, which its readers find out
        let _ = Disk::real().remove(&self.file);
    }
}

/// Opens a console at `address` for the crawl directory `dir`, whether a process works there or not. No crawl needs to
/// be there yet.
pub fn open(dir: &Path, address: &str, warnings: Option<RecentWarnings>) -> Result<Console, CrawlError> {
    let source = CrawlSource::new(dir.to_owned(), CommandRoute::Socket, warnings);
    opened(dir, address, Arc::new(source))
}

/// A console with the archive of `dir` beside it.
fn opened(dir: &Path, address: &str, source: Arc<CrawlSource>) -> Result<Console, CrawlError> {
    let listener = Console::listen(address)?;
    let failed = |error: std::io::Error| CrawlError::Internal(format!("archived pages cannot be served: {error}"));
    let archived = serve::beside(dir, listener.address()).map_err(failed)?;
    Ok(Console::open(listener, source, archived)?)
}

/// Says where it is: on a terminal with the token, for which elsewhere the control socket is asked. Logs are kept, and
/// are read by others.
fn tell(console: &Console, request: &CrawlRequest) {
    let at = console.address();
    match request.screen.is_terminal() {
        true => tracing::info!("console at {}", console.url()),
        false => tracing::info!(
            "console at http://{at}/; crawler ctl console --dir {} prints its address with the token for orders",
            shell_word(&request.dir)
        ),
    }
    if !at.ip().is_loopback() {
        tracing::warn!(
            "report.console: {at} is open to others: anyone who can connect sees this crawl and its archive, and the \
             token that gives control over it crosses the network unencrypted"
        );
    }
}

impl From<ConsoleError> for CrawlError {
    fn from(error: ConsoleError) -> Self {
        match error {
            ConsoleError::Listen { .. } => CrawlError::Usage(error.to_string()),
            _ => CrawlError::Internal(error.to_string()),
        }
    }
}

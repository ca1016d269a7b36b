//! The console as a whole: its server, its readers, and the poller that watches the source.
//!
//! The server waits for nothing but the network and the readers. A stream ends after an hour, and a browser opens
//! another.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::poller::Poller;
use super::readers::Readers;
use super::routes::Routes;
use super::source::Source;
use super::streams::Streams;
use crate::serve::ArchiveService;
use crate::serve::Token;
use crate::server::{Limits, Listener, Server};

/// Connections that may not be closed for others are fewer than all: streams, and questions with the readers. The grace
/// is for streams.
const LIMITS: Limits = Limits {
    connections_max: 128,
    head_max: Duration::from_secs(5),
    buffer_bytes: 32 << 10,
    connection_max: Duration::from_secs(3_600),
    grace: Duration::from_millis(500),
};

/// Reasons for which a console cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// Nothing can listen there.
    #[error("the console cannot listen at {address}: {source}{hint}")]
    Listen {
        /// Where.
        address: String,
        /// The error of the system.
        source: io::Error,
        /// Advice on what to do.
        hint: &'static str,
    },
    /// A thread, a runtime or random numbers.
    #[error("the console cannot be started: {0}")]
    Start(String),
}

/// Archived pages beside a console.
pub(crate) struct Archived {
    /// Our own pages about them: calendars, and the frame that shows one. The console's server has them.
    pub home: ArchiveService,
    /// Their server at another port: they share no origin with the console.
    pub server: Server,
}

/// An open console. It closes when it is dropped.
pub struct Console {
    token: Token,
    poller: Poller,
    server: Server,
    /// It closes with the console.
    _archived: Server,
}

impl Console {
    /// Listens at `address`.
    pub(crate) fn listen(address: &str) -> Result<Listener, ConsoleError> {
        let refused = |source: io::Error| {
            let is_taken = source.kind() == io::ErrorKind::AddrInUse;
            let hint = "; another console may be open there. Choose another port, or 127.0.0.1:0 for any free one";
            ConsoleError::Listen { address: address.to_owned(), source, hint: if is_taken { hint } else { "" } }
        };
        Listener::bind(address).map_err(refused)
    }

    /// Shows `source` and its archived pages to those who come.
    pub(crate) fn open(
        listener: Listener,
        source: Arc<dyn Source>,
        archived: Archived,
    ) -> Result<Console, ConsoleError> {
        let failed = |error: io::Error| ConsoleError::Start(error.to_string());
        let token = Token::new().map_err(|error| ConsoleError::Start(error.to_string()))?;
        let readers = Readers::start(&source).map_err(failed)?;
        let poller = Poller::start(source).map_err(failed)?;
        let routes = Routes {
            token: token.clone(),
            poller: poller.shared.clone(),
            readers,
            streams: Streams::default(),
            archive: archived.home,
            replay_port: archived.server.address().port(),
        };
        let server = listener.serve("console", LIMITS, routes).map_err(failed)?;
        Ok(Console { token, poller, server, _archived: archived.server })
    }

    /// Returns the address at which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the URL that a browser opens to see it and to give orders. It ends with the token, and is for the
    /// terminal alone.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/#token={}", self.address(), self.token.as_text())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // streams hear the end first
        self.poller.stop();
        self.server.close();
    }
}

//! The HTTP server of the crawler's own pages: the console, the metrics, the replay of an archive.

pub mod server;

//! Stored pages made to work in another place than the one they came from: in files, or below a server of the archive.
//!
//! Bytes in, bytes out: nothing here opens an archive, a file or a socket. [`rewrite`] changes documents; its caller
//! says where a URL leads. [`replay`] answers the requests of a browser that looks at an archive.

use crawler_web::web;

pub mod replay;
pub mod rewrite;

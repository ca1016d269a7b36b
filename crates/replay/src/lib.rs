//! Stored pages made to work in another place than the one they came from: in files, or below a server of the archive.
//!
//! Bytes in, bytes out: nothing here reads an archive or knows file names. The caller says where a URL leads.

use crawler_web::web;

pub mod rewrite;

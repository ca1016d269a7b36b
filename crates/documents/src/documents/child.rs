//! The process that reads documents: it takes one after the other from standard input, and writes pages to standard
//! output, until there is no more input.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::page::Page;
use super::wire::{self, Limits};
use super::{PAGE_BYTES_MAX, reader_of, sandbox};
use crate::contract::ConversionFailure;
use crate::web::format::Format;

/// The argument with which the crawler is started as a reader of documents.
pub const ARGUMENT: &str = "--read-documents";

/// Stack of the thread that reads: documents are nested.
const STACK_BYTES: usize = 32 << 20;

/// Reads documents until there are no more.
pub fn run() -> ExitCode {
    // a document that breaks its reader says so by the end of this process
    std::panic::set_hook(Box::new(|_| {}));
    let reading = thread::Builder::new().stack_size(STACK_BYTES).spawn(read_all);
    match reading.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read_all() -> io::Result<()> {
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    let limits = Limits::read(&mut from)?;
    // the first look at the clock opens a file
    sandbox::limit_time(Duration::from_secs(limits.seconds))?;
    sandbox::enter(limits.bytes)?;
    while let Some((format, document)) = wire::asked(&mut from)? {
        sandbox::limit_time(Duration::from_secs(limits.seconds))?;
        let page = page_of(format, &document);
        wire::answer(&mut to, page.as_deref().map_err(|failure| *failure))?;
    }
    Ok(())
}

/// The page of a document.
pub fn page_of(format: Format, document: &[u8]) -> Result<String, ConversionFailure> {
    let mut page = Page::new(PAGE_BYTES_MAX);
    let stated = reader_of(format).read(document, &mut page)?;
    Ok(page.finish(&stated))
}

//! All versions of a page: `cargo run --example versions -- crawl https://example.com/`. Prints when each was fetched
//! and how long its content is, the newest first.

use std::io::{self, Write};

use crawler::archive::{Archive, Result};

/// Prints the versions of `url` in the crawl in `dir`.
pub fn print(dir: &str, url: &str, out: &mut dyn Write) -> Result<()> {
    let archive = Archive::open(dir)?;
    let mut version = archive.get(url)?;
    while let Some(page) = version {
        let seconds = page.fetched().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        let answer = page.answer()?;
        let content_type = answer.content_type().unwrap_or_default();
        let _ = writeln!(out, "{seconds} {} {} bytes {content_type}", page.status(), answer.body.len());
        version = page.previous()?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (Some(dir), Some(url)) = (words.next(), words.next()) else {
        eprintln!("usage: versions DIR URL");
        return Ok(());
    };
    print(&dir, &url, &mut io::stdout())
}

//! The pages of a crawl: `cargo run --example pages -- crawl`. Prints status, bytes and URL of each HTML page, and
//! where the crawl found it.

use std::io::{self, Write};

use crawler::archive::{Archive, Result};

/// Prints the pages of the crawl in `dir`.
pub fn print(dir: &str, out: &mut dyn Write) -> Result<()> {
    let archive = Archive::open(dir)?;
    for page in archive.pages() {
        let page = page?;
        if page.is_robots() || page.media_type() != "text/html" {
            continue;
        }
        let history = page.history()?;
        let via = history.via.as_deref().unwrap_or("a seed");
        let _ = writeln!(out, "{} {} bytes {} from {via}", page.status(), page.body_bytes(), page.url());
    }
    Ok(())
}

fn main() -> Result<()> {
    let dir = std::env::args().nth(1).unwrap_or("./crawl".to_owned());
    print(&dir, &mut io::stdout())
}

//! Pages as a crawl stores them: `cargo run --example feed -- crawl feed.cursor`. Ends when the crawl has ended. If it
//! is run again, after an end or a kill, it continues where it was.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crawler::archive::{Cursor, Follower, Result};

/// Prints the pages that the crawl in `dir` stores behind the cursor in a file.
pub fn print(dir: &str, cursor: &str, out: &mut dyn Write) -> Result<()> {
    let mut follower = Follower::open(dir, &Cursor::read(cursor)?.unwrap_or_default())?;
    loop {
        // asked first: if the crawl has ended by now, the pages below are all there are
        let is_running = follower.is_running();
        while let Some(page) = follower.next_page()? {
            let _ = writeln!(out, "{} {} {}", page.place(), page.status(), page.url());
        }
        let _ = out.flush();
        // only now: pages that were not printed come again
        follower.cursor().write(cursor)?;
        if !is_running {
            return Ok(());
        }
        thread::sleep(Duration::from_secs(1));
    }
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let dir = words.next().unwrap_or("./crawl".to_owned());
    let cursor = words.next().unwrap_or("feed.cursor".to_owned());
    print(&dir, &cursor, &mut io::stdout())
}

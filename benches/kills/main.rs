//! The proof of the crash contract in large: 20,000 pages crawled by the real binary through 100 kills and more.
//!
//!     cargo bench --bench kills                  20,000 pages, 100 kills
//!     cargo bench --bench kills -- 5000 30       5,000 pages, 30 kills
//!     cargo bench --bench kills -- 20000 100 4   the same in four shards
//!
//! Prints kills, pages, pages that were asked for or stored twice, and whether the final set is the expected one; exits
//! with 1 if it is not, or if anything is in the archive twice. The moments of the kills come from the clock: what is
//! printed as seed repeats the web and the pauses, not the machine.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crawler::simweb::SimOptions;
use site::{RUSH, Site, kill, ms};

#[path = "../../tests/site/mod.rs"]
mod site;

const SEED: u64 = 7;
/// Every other kill comes this many milliseconds after a start: while it recovers, mostly.
const START_MS: std::ops::Range<u64> = 0..300;
/// The others come after a number of requests, or after this long.
const LIFE_MAX: Duration = ms(20_000);

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<usize>().ok());
    let pages = numbers.next().unwrap_or(20_000);
    let kills_wanted = numbers.next().unwrap_or(100);
    let shards = numbers.next().unwrap_or(1);
    let options = SimOptions {
        seed: SEED,
        hosts: pages.div_ceil(20),
        pages,
        latency: ms(4),
        server_error_share: 0.0,
        flaky_share: 0.0,
        ..SimOptions::default()
    };
    let politeness = format!("{RUSH}give_up = \"1s\"\n[crawl]\nshards = {shards}\ncheckpoint_interval = \"1s\"\n");
    let site = Site::new(options, &politeness);
    let mut rng = fastrand::Rng::with_seed(SEED);
    let (start, mut kills) = (Instant::now(), 0);
    while kills < kills_wanted {
        let mut child = site.crawl.start(&["--quiet"]);
        if kills % 2 == 0 {
            std::thread::sleep(Duration::from_millis(rng.u64(START_MS)));
        } else {
            // three quarters of the pages come before the last kill
            let wanted = site.log().len() + rng.usize(..=pages * 3 / kills_wanted);
            let begun = Instant::now();
            while site.log().len() < wanted && begun.elapsed() < LIFE_MAX && is_alive(&mut child) {
                std::thread::sleep(ms(2));
            }
        }
        if !is_alive(&mut child) {
            // it ended by itself: what came before is all the proof there is
            site::wait(child).expect(0, &[]);
            break;
        }
        kill(child);
        kills += 1;
    }
    let between = site.log().len();
    site.crawl.run(&["--quiet"]).expect(0, &[]);
    let right = tell(&site, kills, between, start.elapsed()) && is_sound(&site);
    std::process::exit(i32::from(!right));
}

/// Returns whether `crawler verify` finds no damage.
fn is_sound(site: &Site) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let verified = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output();
    let verified = verified.expect("the directory can be verified");
    println!("verify               {}", if verified.status.success() { "no damage" } else { "damage" });
    if !verified.status.success() {
        print!("{}", String::from_utf8_lossy(&verified.stdout));
    }
    verified.status.success()
}

fn is_alive(child: &mut Child) -> bool {
    child.try_wait().expect("a child can be asked").is_none()
}

/// Prints the figures; whether they are what they have to be.
fn tell(site: &Site, kills: usize, between: usize, took: Duration) -> bool {
    let expected = &site.web.expected().pages;
    let stored = site.crawl.stored();
    let missing = expected.iter().filter(|(url, page)| stored.get(*url) != Some(&page.status)).count();
    let surplus = stored.keys().filter(|url| !expected.contains_key(*url)).count();
    let requests = site.log();
    let pages = requests.iter().filter(|request| request.status < 500 && !request.path.starts_with("/robots.txt"));
    let asked_twice = repeated(pages.map(|request| request.url(site.web.http_port())));
    let stored_twice = repeated(versions(site));
    let mut text = format!("kills                {kills}, at random moments\n");
    let _ = writeln!(text, "elapsed              {:.0} s", took.as_secs_f64());
    let _ = writeln!(text, "requests             {}, {between} of them before the last kill", requests.len());
    let _ = writeln!(text, "pages                {}", stored.len());
    let _ = writeln!(text, "asked for twice      {asked_twice}");
    let _ = writeln!(text, "in the archive twice {stored_twice}");
    let _ = write!(text, "the set              {missing} missing, {surplus} too many of {} expected", expected.len());
    println!("{text}");
    missing == 0 && surplus == 0 && stored_twice == 0
}

/// Every version of every URL in the archive.
fn versions(site: &Site) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let listing = command.args(["list", "--all", "--json", "--dir"]).arg(site.crawl.path("crawl")).output();
    let listing = listing.expect("the archive can be listed").stdout;
    let url = |line: &str| {
        let entry: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        entry["url"].as_str().expect("an entry has a URL").to_owned()
    };
    String::from_utf8(listing).expect("a list is text").lines().map(url).collect()
}

fn repeated(urls: impl IntoIterator<Item = String>) -> usize {
    let mut times: HashMap<String, u32> = HashMap::new();
    urls.into_iter().for_each(|url| *times.entry(url).or_default() += 1);
    times.values().filter(|times| **times > 1).count()
}

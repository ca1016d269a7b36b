//! Documents per second into a sink, and the memory of its client: `SETTINGS.toml [NUMBER]`, a table of settings as
//! docs/SINKS.md has them, and the number of documents (10,000). They are stored, stored again in another version, read
//! back by their ids, and removed. `CRAWLER_SINK_SECRET` is the secret.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::process;
use std::time::Instant;

use crawler_feed::feed::{Change, Deletion, Document, Reason};
use crawler_sinks::sink::{Count, Delivery, Listing, Settings, open};
use crawler_web::web::secret::Secret;

/// Words of a text, of some 6 characters each: a page of 4 KB.
const WORDS: usize = 650;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (path, number) = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [path] => (path, 10_000),
        [path, number] => (path, number.parse().unwrap()),
        _ => {
            eprintln!("SETTINGS.toml [NUMBER]");
            process::exit(2);
        }
    };
    let settings: Settings = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let secret = std::env::var("CRAWLER_SINK_SECRET").ok().map(Secret::new);
    let pause = |wait, why: &str| {
        eprintln!("again in {wait:?}: {why}");
        std::thread::sleep(wait);
        true
    };
    let sink = open(&settings, secret.as_ref()).unwrap();
    let mut delivery = Delivery::new("bench", sink, settings.limits(), Box::new(pause));
    println!("{:?}, {number} documents, batches of {}", settings.kind, settings.batch);
    step("store", number, || {
        (0..number).for_each(|at| assert!(delivery.push(at, upsert(at, 1)).is_ok()));
        delivery.flush().unwrap();
    });
    step("store again", number, || {
        (0..number).for_each(|at| assert!(delivery.push(number + at, upsert(at, 2)).is_ok()));
        delivery.flush().unwrap();
    });
    step("read ids", number, || assert_eq!(Listing::new(delivery.sink()).count() as u64, number));
    step("remove", number, || {
        (0..number).for_each(|at| assert!(delivery.push(2 * number + at, delete(at)).is_ok()));
        delivery.flush().unwrap();
    });
    let counts = Count::ALL.map(|count| format!("{count:?} {}", delivery.counters().get(count)));
    println!("{}; most memory {} MiB", counts.join(", "), memory_max_kib() >> 10);
}

fn step(name: &str, number: u64, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    let seconds = begin.elapsed().as_secs_f64();
    println!("{name:12} {seconds:8.2} s  {:8.0} documents/s", number as f64 / seconds);
}

fn id(number: u64) -> String {
    format!("{:032x}", u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn upsert(number: u64, version: u64) -> Change {
    let mut random = fastrand::Rng::with_seed(number * 2 + version);
    // few words are most of a text, as in any language
    let word = |random: &mut fastrand::Rng| format!("word{} ", (20_000.0 * random.f64().powi(4)) as u32);
    let text: String = (0..WORDS).map(|_| word(&mut random)).collect();
    let url = format!("https://site{}.example/page/{number}", number % 100);
    Change::Upsert(Box::new(Document {
        id: id(number),
        urls: vec![url.clone()],
        url,
        title: format!("Page {number}"),
        text,
        language: "eng".into(),
        mime: "text/html".into(),
        kind: None,
        digest: format!("sha1:{number}v{version}"),
        captured: "2026-11-29T08:00:00Z".into(),
        record: format!("<urn:uuid:{number}>"),
    }))
}

fn delete(number: u64) -> Change {
    Change::Delete(Deletion { id: id(number), url: String::new(), reason: Reason::Gone, duplicate_of: None })
}

/// The most memory that this process has had.
fn memory_max_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

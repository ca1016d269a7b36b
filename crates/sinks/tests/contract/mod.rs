//! The promises of a sink, asked of any.

#![allow(dead_code, reason = "no test program needs all of it")]

pub mod http;

use crawler_feed::feed::{Change, Deletion, Document, Reason};
use crawler_sinks::sink::{Count, Delivery, Difference, Differences, Entry, Limits, Listing, Settings, Sink, open};
use crawler_web::web::secret::Secret;

/// The id of the document with this number.
pub fn id(number: u64) -> String {
    // the order of the ids is not the one in which they come
    format!("{:032x}", u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

pub fn document(number: u64, version: u64) -> Document {
    let url = format!("https://site{}.example/page/{number}", number % 7);
    Document {
        id: id(number),
        urls: vec![url.clone(), format!("{url}?v={version}")],
        url,
        title: format!("Title {number} \"quoted\" \\ 'one' ünïcode 漢字"),
        text: format!("version {version}\nline two\ttab {}", "word ".repeat(20)),
        language: "eng".into(),
        mime: "text/html".into(),
        kind: (number.is_multiple_of(5)).then(|| "wall".into()),
        digest: format!("sha1:{number}v{version}"),
        captured: "2026-11-29T08:00:00.250Z".into(),
        record: format!("<urn:uuid:{number}>"),
    }
}

pub fn upsert(number: u64, version: u64) -> Change {
    Change::Upsert(Box::new(document(number, version)))
}

pub fn delete(number: u64) -> Change {
    let url = format!("https://site{}.example/page/{number}", number % 7);
    Change::Delete(Deletion { id: id(number), url, reason: Reason::Gone, duplicate_of: None })
}

pub fn entry(number: u64, version: u64) -> Entry {
    let Document { id, digest, .. } = document(number, version);
    Entry { id, digest }
}

/// The sink of these settings.
pub fn opened(text: &str, secret: Option<&str>) -> Box<dyn Sink> {
    let settings: Settings = toml::from_str(text).unwrap();
    open(&settings, secret.map(Secret::new).as_ref()).unwrap()
}

/// Limits that tests are quick with.
pub fn limits() -> Limits {
    Limits { batch: 40, batch_bytes: 1 << 20, retries: Some(20), dead_letters: None, dead_letters_max: 10 }
}

/// A delivery that waits as long as it has to.
pub fn patient(sink: Box<dyn Sink>, limits: Limits) -> Delivery {
    let pause = |wait, why: &str| {
        println!("again in {wait:?}: {why}");
        std::thread::sleep(wait);
        true
    };
    Delivery::new("test", sink, limits, Box::new(pause))
}

pub fn listed(sink: &mut dyn Sink) -> Vec<Entry> {
    Listing::new(sink).collect::<Result<_, _>>().unwrap()
}

fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    entries
}

/// Documents are stored, replaced and removed, in whatever batches; the same again changes nothing; another process
/// finds all of it; differences are found and repaired.
pub fn holds(open: &dyn Fn() -> Box<dyn Sink>) {
    let mut sink = patient(open(), limits());
    assert_eq!(listed(sink.sink()), [], "it is not empty at first");
    let mut changes: Vec<Change> = (0..100).map(|number| upsert(number, 1)).collect();
    changes.extend((0..50).map(|number| upsert(number, 2)));
    // one that is there, one that never was, one that comes back
    changes.extend([delete(3), delete(1_000), delete(4), upsert(4, 3)]);
    let mut expected: Vec<Entry> =
        (0..50).map(|number| entry(number, 2)).chain((50..100).map(|n| entry(n, 1))).collect();
    expected[4] = entry(4, 3);
    expected.remove(3);
    let expected = sorted(expected);
    for round in 0..2 {
        for (number, change) in (0..).zip(&changes) {
            sink.push(number, change.clone()).unwrap();
        }
        sink.flush().unwrap();
        assert_eq!(listed(sink.sink()), expected, "round {round}");
    }
    // a page has no more than was asked for, and begins behind
    let page = sink.sink().ids(Some(&expected[9].id), 7).unwrap();
    assert_eq!(page, expected[10..17]);
    drop(sink);

    let mut sink = patient(open(), limits());
    assert_eq!(listed(sink.sink()), expected, "another process");
    let mut crawl = expected.clone();
    crawl[20].digest = "changed".into();
    let (extra, missing) = (crawl.remove(30), entry(2_000, 1));
    crawl.push(missing.clone());
    let crawl = sorted(crawl);
    let differences = Differences::new(crawl.iter().cloned().map(Ok::<_, String>), Listing::new(sink.sink()));
    let differences: Vec<_> = differences.collect::<Result<_, _>>().unwrap();
    assert_eq!(differences.len(), 3);
    let stale = expected[20].id.clone();
    let lookup = |difference: &Difference| match difference {
        Difference::Missing(id) => Change::Upsert(Box::new(Document { id: id.clone(), ..document(2_000, 1) })),
        Difference::Extra(id) => {
            assert_eq!(*id, extra.id);
            Change::Delete(Deletion { id: id.clone(), url: "u".into(), reason: Reason::Gone, duplicate_of: None })
        }
        Difference::Stale(id) => {
            assert_eq!(*id, stale);
            let digest = "changed".into();
            Change::Upsert(Box::new(Document { id: id.clone(), digest, ..document(1, 1) }))
        }
    };
    for (number, change) in (10_000..).zip(differences.iter().map(lookup)) {
        sink.push(number, change).unwrap();
    }
    sink.flush().unwrap();
    assert_eq!(listed(sink.sink()), crawl);
    let count = |count| sink.counters().get(count);
    assert_eq!((count(Count::Documents), count(Count::Deletions), count(Count::DeadLetters)), (2, 1, 0));
    assert!(count(Count::Bytes) > 0 && count(Count::Batches) == 1);
}

/// A document that the target refuses is in the file of dead letters, and those around it are stored.
pub fn refuses_one(sink: Box<dyn Sink>, bad: Document) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dead.jsonl");
    let mut delivery = patient(sink, Limits { dead_letters: Some(path.clone()), ..limits() });
    let before = listed(delivery.sink()).len();
    let bad_id = bad.id.clone();
    let mut changes: Vec<Change> = (5_000..5_030).map(|number| upsert(number, 1)).collect();
    changes.insert(17, Change::Upsert(Box::new(bad)));
    for (number, change) in (20_000..).zip(changes) {
        delivery.push(number, change).unwrap();
    }
    delivery.flush().unwrap();
    let listed = listed(delivery.sink());
    assert_eq!(listed.len(), before + 30);
    assert!(listed.iter().all(|entry| entry.id != bad_id));
    assert_eq!(delivery.counters().get(Count::DeadLetters), 1);
    let letter = std::fs::read_to_string(&path).unwrap();
    let letter: serde_json::Value = serde_json::from_str(&letter).unwrap();
    assert_eq!(letter["change"]["id"], *bad_id);
    letter
}

//! Deliveries into a sink whose every answer the test writes.

use std::sync::Mutex;

use super::super::{Entry, Postponed, Refused};
use super::*;
use crate::feed::{Deletion, Reason};

type Answer = Box<dyn FnMut(&[Change]) -> Result<Applied, Failure> + Send>;

/// A sink that keeps what it got.
struct Scripted {
    answer: Answer,
    batches: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Sink for Scripted {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let ids = batch.changes.iter().map(|change| change.id().to_owned()).collect();
        self.batches.lock().unwrap().push(ids);
        (self.answer)(batch.changes)
    }

    fn ids(&mut self, _: Option<&str>, _: usize) -> Result<Vec<Entry>, Failure> {
        Ok(Vec::new())
    }
}

struct Test {
    delivery: Delivery,
    batches: Arc<Mutex<Vec<Vec<String>>>>,
    waits: Arc<Mutex<Vec<Duration>>>,
    dir: tempfile::TempDir,
}

fn limits(batch: usize) -> Limits {
    Limits { batch, batch_bytes: 10_000, retries: Some(3), dead_letters: None, dead_letters_max: 2 }
}

fn begin(limits: Limits, answer: impl FnMut(&[Change]) -> Result<Applied, Failure> + Send + 'static) -> Test {
    let (batches, waits) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<Vec<_>>>::default());
    let sink = Scripted { answer: Box::new(answer), batches: batches.clone() };
    let noted = waits.clone();
    let pause = move |wait, _: &str| {
        noted.lock().unwrap().push(wait);
        true
    };
    let dir = tempfile::tempdir().unwrap();
    let dead_letters = Some(dir.path().join("dead"));
    let limits = Limits { dead_letters, ..limits };
    Test { delivery: Delivery::new("s", Box::new(sink), limits, Box::new(pause)), batches, waits, dir }
}

impl Test {
    fn batches(&self) -> Vec<String> {
        self.batches.lock().unwrap().iter().map(|ids| ids.concat()).collect()
    }

    fn push(&mut self, ids: &str) -> Result<(), Error> {
        for id in ids.chars() {
            self.delivery.push(u64::from(u32::from(id)), upsert(&id.to_string(), 0))?;
        }
        Ok(())
    }

    fn count(&self, count: Count) -> u64 {
        self.delivery.counters().get(count)
    }

    fn dead(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("dead")).unwrap_or_default();
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|text| format!("{}: {}", line(text)["change"]["id"], line(text)["why"])).collect()
    }
}

fn upsert(id: &str, bytes: usize) -> Change {
    Change::Upsert(Box::new(Document { id: id.into(), text: "x".repeat(bytes), ..Document::default() }))
}

#[test]
fn a_batch_is_full_by_number_or_bytes_and_its_last_change_of_a_document_counts() {
    let mut test = begin(limits(3), |_| Ok(Applied { bytes: 5, ..Applied::default() }));
    test.push("abac").unwrap();
    assert_eq!(test.batches(), ["abc"]);
    test.push("de").unwrap();
    assert!(!test.delivery.push(9, upsert("e", 1)).unwrap());
    let deletion = Deletion { id: "d".into(), url: "u".into(), reason: Reason::Gone, duplicate_of: None };
    test.delivery.push(9, Change::Delete(deletion)).unwrap();
    // it does not fit any more, and is too large for any batch
    assert!(test.delivery.push(9, upsert("f", 20_000)).unwrap());
    test.delivery.flush().unwrap();
    assert_eq!(test.batches(), ["abc", "de", "f"]);
    let counts = [Count::Documents, Count::Deletions, Count::Batches, Count::Retries, Count::DeadLetters, Count::Bytes];
    assert_eq!(counts.map(|count| test.count(count)), [5, 1, 3, 0, 0, 15]);
}

#[test]
fn a_batch_is_tried_again_until_its_tries_are_used_up() {
    let mut left = 3;
    let mut test = begin(limits(2), move |_| {
        left -= 1;
        match left {
            0.. => Err(Failure::Again { why: "busy".into(), wait: Some(Duration::from_secs(9)) }),
            _ => Ok(Applied::default()),
        }
    });
    test.push("ab").unwrap();
    assert_eq!((test.batches(), test.count(Count::Retries)), (vec!["ab".to_owned(); 4], 3));
    assert_eq!(*test.waits.lock().unwrap(), [Duration::from_secs(9); 3]);
    let mut test = begin(limits(2), |_| Err(Failure::again("busy")));
    let error = test.push("ab").unwrap_err();
    assert!(matches!(&error, Error::GaveUp { tries: 4, why, .. } if why == "busy"), "{error}");
    let mut test = begin(limits(2), |_| Err(Failure::broken("no such table")));
    assert!(matches!(test.push("ab"), Err(Error::Broken { .. })));
    assert_eq!(test.batches().len(), 1);
}

#[test]
fn changes_that_are_postponed_come_again_alone_and_those_that_are_refused_are_dead_letters() {
    let mut tries = 0;
    let mut test = begin(limits(4), move |_| {
        tries += 1;
        let refused = vec![Refused { at: 1, why: "too long".into() }];
        let postponed = Postponed { at: vec![0, 3], why: "full".into(), wait: None };
        Ok(match tries {
            1 => Applied { refused, postponed: Some(postponed), bytes: 1 },
            // one of them again, as often as there is progress
            2 => Applied { postponed: Some(Postponed { at: vec![1], ..postponed }), ..Applied::default() },
            _ => Applied::default(),
        })
    });
    test.push("abcd").unwrap();
    assert_eq!(test.batches(), ["abcd", "ad", "d"]);
    assert_eq!(test.dead(), ["\"b\": \"too long\""]);
    assert_eq!((test.count(Count::Documents), test.count(Count::DeadLetters)), (3, 1));
}

#[test]
fn a_batch_that_is_refused_is_halved_until_the_one_that_is_meant_is_alone() {
    let refuse = |changes: &[Change]| match changes.iter().any(|change| "bx".contains(change.id())) {
        true => Err(Failure::Refused { why: "no".into() }),
        false => Ok(Applied::default()),
    };
    let mut test = begin(limits(8), refuse);
    test.push("abcdefgh").unwrap();
    assert_eq!(test.batches(), ["abcdefgh", "abcd", "ab", "a", "b", "cd", "efgh"]);
    assert_eq!(test.dead(), ["\"b\": \"no\""]);
    // the second of this batch is one more than may be
    let error = test.push("xacdefgb").unwrap_err().to_string();
    assert!(error.contains("document b is refused: no") && error.contains("dead_letters_max = 2"), "{error}");
    assert_eq!((test.count(Count::DeadLetters), test.dead().len()), (2, 2));
}

#[test]
fn without_a_file_the_first_change_that_is_refused_ends_it() {
    let refuse = |_: &[Change]| Err(Failure::Refused { why: "no".into() });
    let pause = Box::new(|_, _: &str| true);
    let sink = Scripted { answer: Box::new(refuse), batches: Arc::default() };
    let mut delivery = Delivery::new("s", Box::new(sink), limits(1), pause);
    assert!(matches!(delivery.push(1, upsert("a", 0)), Err(Error::Refused { .. })));
}

#[test]
fn a_caller_that_stops_is_not_kept() {
    let sink = Scripted { answer: Box::new(|_| Err(Failure::again("away"))), batches: Arc::default() };
    let mut delivery = Delivery::new("s", Box::new(sink), limits(1), Box::new(|_, _| false));
    assert!(matches!(delivery.push(1, upsert("a", 0)), Err(Error::Stopped { .. })));
}

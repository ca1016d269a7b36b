//! The documents of a crawl beside those of a sink: two sorted streams, merged.
//!
//! Memory does not grow with their number. Changes that are applied meanwhile are seen or not: a difference may be one
//! that is about to go, and to repair it twice does no harm.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::Entry;

/// A difference of a sink from the crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The crawl has the document, the sink has not.
    Missing(String),
    /// The sink has a document that the crawl has not.
    Extra(String),
    /// The sink has another version.
    Stale(String),
}

impl Difference {
    /// The id of the document.
    pub fn id(&self) -> &str {
        let (Difference::Missing(id) | Difference::Extra(id) | Difference::Stale(id)) = self;
        id
    }
}

/// An error of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A side cannot be read.
    #[error("cannot read the ids of the {side}: {source}")]
    Read {
        /// The crawl or the sink.
        side: &'static str,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A side is not sorted: its differences would be wrong.
    #[error("the ids of the {side} are not in order: {id} is not behind {before}")]
    Order {
        /// The crawl or the sink.
        side: &'static str,
        /// An id.
        id: String,
        /// The id before it.
        before: String,
    },
}

/// The differences of a sink from a crawl, in the order of their ids. It ends behind an error.
pub struct Differences<A: Iterator, B: Iterator> {
    crawl: Side<A>,
    sink: Side<B>,
    has_failed: bool,
}

struct Side<I: Iterator> {
    name: &'static str,
    entries: Peekable<I>,
    before: Option<String>,
}

impl<A, B, E, F> Differences<A, B>
where
    A: Iterator<Item = Result<Entry, E>>,
    B: Iterator<Item = Result<Entry, F>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    F: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Compares two streams, each in the order of the bytes of its ids.
    pub fn new(crawl: A, sink: B) -> Differences<A, B> {
        let (crawl, sink) = (Side::new("crawl", crawl), Side::new("sink", sink));
        Differences { crawl, sink, has_failed: false }
    }

    fn step(&mut self) -> Result<Option<Difference>, VerifyError> {
        loop {
            let order = match (self.crawl.id(), self.sink.id()) {
                (None, None) => return Ok(None),
                // errors are taken from their side first
                (Some(None), _) | (Some(_), None) => Ordering::Less,
                (_, Some(None)) | (None, Some(_)) => Ordering::Greater,
                (Some(Some(crawl)), Some(Some(sink))) => crawl.cmp(sink),
            };
            match order {
                Ordering::Less => return Ok(self.crawl.take()?.map(|entry| Difference::Missing(entry.id))),
                Ordering::Greater => return Ok(self.sink.take()?.map(|entry| Difference::Extra(entry.id))),
                Ordering::Equal => {
                    let (crawl, sink) = (self.crawl.take()?, self.sink.take()?);
                    if crawl != sink {
                        return Ok(crawl.map(|entry| Difference::Stale(entry.id)));
                    }
                }
            }
        }
    }
}

impl<I, E> Side<I>
where
    I: Iterator<Item = Result<Entry, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn new(name: &'static str, entries: I) -> Side<I> {
        Side { name, entries: entries.peekable(), before: None }
    }

    /// The next id; nothing in it where the side cannot be read.
    fn id<'a>(&'a mut self) -> Option<Option<&'a str>>
    where
        E: 'a,
    {
        self.entries.peek().map(|entry| entry.as_ref().ok().map(|entry| &*entry.id))
    }

    fn take(&mut self) -> Result<Option<Entry>, VerifyError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let entry = entry.map_err(|e| VerifyError::Read { side: self.name, source: e.into() })?;
        if let Some(before) = self.before.replace(entry.id.clone()).filter(|before| *before >= entry.id) {
            return Err(VerifyError::Order { side: self.name, id: entry.id, before });
        }
        Ok(Some(entry))
    }
}

impl<A, B, E, F> Iterator for Differences<A, B>
where
    A: Iterator<Item = Result<Entry, E>>,
    B: Iterator<Item = Result<Entry, F>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    F: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = Result<Difference, VerifyError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let step = self.step();
        self.has_failed = step.is_err();
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(entries: &[(&str, &str)]) -> impl Iterator<Item = Result<Entry, String>> {
        let entries: Vec<_> = entries.iter().map(|(id, digest)| (id.to_string(), digest.to_string())).collect();
        entries.into_iter().map(|(id, digest)| if digest == "!" { Err("no".into()) } else { Ok(Entry { id, digest }) })
    }

    #[test]
    fn differences_are_those_of_two_maps() {
        use std::collections::BTreeMap;
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut map = || -> BTreeMap<String, String> {
                (0..random.usize(..12)).map(|_| (random.u8(..16).to_string(), random.u8(..2).to_string())).collect()
            };
            let (crawl, sink) = (map(), map());
            let entries = |map: &BTreeMap<String, String>| {
                let entry = |(id, digest): (&String, &String)| Entry { id: id.clone(), digest: digest.clone() };
                map.iter().map(entry).map(Ok::<_, String>).collect::<Vec<_>>()
            };
            let found = Differences::new(entries(&crawl).into_iter(), entries(&sink).into_iter());
            let found: Vec<_> = found.collect::<Result<_, _>>().unwrap();
            let ids: std::collections::BTreeSet<_> = crawl.keys().chain(sink.keys()).collect();
            let expected = ids.into_iter().filter_map(|id| match (crawl.get(id), sink.get(id)) {
                (Some(_), None) => Some(Difference::Missing(id.clone())),
                (None, Some(_)) => Some(Difference::Extra(id.clone())),
                (one, other) => (one != other).then(|| Difference::Stale(id.clone())),
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "seed {seed}");
        }
    }

    #[test]
    fn a_side_that_cannot_be_read_or_is_not_sorted_ends_the_comparison() {
        for (crawl, sink, words) in [
            (&[("a", "1"), ("c", "!")][..], &[("a", "1"), ("b", "1")][..], "of the crawl: no"),
            (&[("a", "1")], &[("a", "1"), ("b", "!")], "of the sink: no"),
            (&[("a", "1"), ("c", "1")], &[("a", "1"), ("b", "!")], "of the sink: no"),
            (&[("b", "1"), ("a", "1")], &[], "a is not behind b"),
            (&[("a", "1")], &[("a", "1"), ("a", "1")], "a is not behind a"),
        ] {
            let mut differences = Differences::new(side(crawl), side(sink));
            let error = differences.find_map(Result::err).expect("an error").to_string();
            assert!(error.contains(words), "{error}");
            assert!(differences.next().is_none());
        }
    }
}

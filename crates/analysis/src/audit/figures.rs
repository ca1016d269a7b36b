//! Figures of a crawl: how deep its pages are, how fast they came, how large they are.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// Depths that are counted separately.
pub(super) const DEPTH_MAX: usize = 20;
/// Types that are counted separately.
const TYPES_MAX: usize = 40;
const OTHERS: &str = "(others)";
/// Upper ends of the classes of times.
const TIMES_MS: [u64; 10] = [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, u64::MAX];
/// Upper ends of the classes of sizes.
const SIZES: [u64; 10] =
    [1 << 10, 10 << 10, 50 << 10, 100 << 10, 250 << 10, 500 << 10, 1 << 20, 5 << 20, 20 << 20, u64::MAX];

/// A class of a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Name of what is counted in it.
    pub name: String,
    /// The number of them.
    pub count: u64,
}

/// Answers, and pages among them, by what can be counted.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Answers, robots.txt files left out.
    pub answers: u64,
    /// HTML pages with status 200.
    pub pages: u64,
    /// Links; the links of a page to one target count once for each way to name it.
    pub links: u64,
    /// URLs that were asked for in vain.
    pub failed: u64,
    /// URLs that robots.txt excludes.
    pub forbidden: u64,
    statuses: BTreeMap<u16, u64>,
    types: BTreeMap<String, u64>,
    depths: [u64; DEPTH_MAX + 1],
    /// Pages by their clicks from a seed; those behind the last are further away, or no link leads to them.
    pub(super) clicks: [u64; DEPTH_MAX + 1],
    times: [u64; TIMES_MS.len()],
    sizes: [u64; SIZES.len()],
}

/// An answer, as far as it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted<'a> {
    pub status: u16,
    pub mime: &'a str,
    pub is_page: bool,
    pub depth: Option<u32>,
    pub duration: Option<Duration>,
    pub bytes: u64,
}

impl Figures {
    pub(super) fn count(&mut self, answer: Counted<'_>) {
        self.answers += 1;
        *self.statuses.entry(answer.status).or_default() += 1;
        let mime = if answer.mime.is_empty() { "(none)" } else { answer.mime };
        let known = self.types.contains_key(mime) || self.types.len() < TYPES_MAX;
        *self.types.entry(if known { mime } else { OTHERS }.to_owned()).or_default() += 1;
        if let Some(took) = answer.duration {
            self.times[class_of(&TIMES_MS, took.as_millis() as u64)] += 1;
        }
        if answer.is_page {
            self.pages += 1;
            self.sizes[class_of(&SIZES, answer.bytes)] += 1;
            if let Some(depth) = answer.depth {
                self.depths[(depth as usize).min(DEPTH_MAX)] += 1;
            }
        }
    }

    /// Answers by status.
    pub(crate) fn statuses(&self) -> Vec<Class> {
        self.statuses.iter().map(|(status, &count)| Class { name: status.to_string(), count }).collect()
    }

    /// Answers by type, the most frequent first.
    pub(crate) fn types(&self) -> Vec<Class> {
        let mut types: Vec<Class> =
            self.types.iter().map(|(name, &count)| Class { name: name.clone(), count }).collect();
        types.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        types
    }

    /// Pages by the depth at which the crawl found them, in which a sitemap's entries are as near as the links of a
    /// seed, up to the deepest one.
    pub(crate) fn depths(&self) -> Vec<Class> {
        distances(&self.depths, "20+")
    }

    /// Pages by the least number of links that a visitor follows from a seed.
    pub(crate) fn clicks(&self) -> Vec<Class> {
        distances(&self.clicks, "20+ or none").into_iter().filter(|class| class.count > 0).collect()
    }

    /// Answers by the time from the request to their end.
    pub(crate) fn times(&self) -> Vec<Class> {
        let name = |ms: u64| if ms < 1_000 { format!("{ms} ms") } else { format!("{} s", ms / 1_000) };
        classes(&TIMES_MS, &self.times, name)
    }

    /// Pages by the bytes of their bodies, as they were sent.
    pub(crate) fn sizes(&self) -> Vec<Class> {
        let name = |bytes: u64| match bytes {
            ..0x10_0000 => format!("{} KiB", bytes >> 10),
            _ => format!("{} MiB", bytes >> 20),
        };
        classes(&SIZES, &self.sizes, name)
    }
}

/// Classes of distances up to the furthest one; `last` names the class of all that are further.
fn distances(counts: &[u64; DEPTH_MAX + 1], last: &str) -> Vec<Class> {
    let furthest = counts.iter().rposition(|&count| count > 0).map_or(0, |furthest| furthest + 1);
    let name = |distance: usize| if distance == DEPTH_MAX { last.to_owned() } else { distance.to_string() };
    (0..furthest).map(|distance| Class { name: name(distance), count: counts[distance] }).collect()
}

fn class_of(ends: &[u64], value: u64) -> usize {
    ends.iter().position(|&end| value < end).unwrap_or(ends.len() - 1)
}

/// Classes by their upper ends, the last one by its lower end.
fn classes(ends: &[u64], counts: &[u64], name: impl Fn(u64) -> String) -> Vec<Class> {
    let class = |(place, (&end, &count)): (usize, (&u64, &u64))| Class {
        name: match end {
            u64::MAX => format!("\u{2265} {}", name(ends[place - 1])),
            end => format!("< {}", name(end)),
        },
        count,
    };
    ends.iter().zip(counts).enumerate().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_in_the_class_that_has_them() {
        let mut figures = Figures::default();
        let page = Counted {
            status: 200,
            mime: "text/html",
            is_page: true,
            depth: Some(1),
            duration: Some(Duration::from_millis(100)),
            bytes: 1 << 10,
        };
        figures.count(page);
        figures.count(Counted { depth: Some(99), duration: Some(Duration::MAX), bytes: u64::MAX, ..page });
        figures.count(Counted { status: 404, mime: "", is_page: false, ..page });
        assert_eq!((figures.answers, figures.pages), (3, 2));
        let full = |classes: Vec<Class>| -> Vec<(String, u64)> {
            classes.into_iter().filter(|class| class.count > 0).map(|class| (class.name, class.count)).collect()
        };
        let pairs = |pairs: &[(&str, u64)]| pairs.iter().map(|&(name, n)| (name.to_owned(), n)).collect::<Vec<_>>();
        assert_eq!(full(figures.statuses()), pairs(&[("200", 2), ("404", 1)]));
        assert_eq!(full(figures.types()), pairs(&[("text/html", 2), ("(none)", 1)]));
        assert_eq!(full(figures.depths()), pairs(&[("1", 1), ("20+", 1)]));
        assert_eq!(full(figures.times()), pairs(&[("< 200 ms", 2), ("\u{2265} 30 s", 1)]));
        assert_eq!(full(figures.sizes()), pairs(&[("< 10 KiB", 1), ("\u{2265} 20 MiB", 1)]));
        assert_eq!(figures.depths().len(), 21);
        assert_eq!(Figures::default().depths().len(), 0);
    }

    #[test]
    fn a_server_that_invents_types_is_not_counted_without_end() {
        let mut figures = Figures::default();
        for number in 0..1_000 {
            figures.count(Counted { mime: &format!("x/{number}"), ..Counted::default() });
        }
        assert_eq!(figures.types().len(), TYPES_MAX + 1);
        assert_eq!(figures.types()[0], Class { name: OTHERS.to_owned(), count: 960 });
    }
}

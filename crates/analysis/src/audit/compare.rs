//! Findings of an earlier audit, read from its JSON file piece by piece, and which of them are there still.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Findings, Kind};
use super::spool::{Lines, Spool};
use super::{Error, Result};
use crate::clock::Time;
use crate::disk;
use crate::text::figures::iso_ms;

/// A finding is written with this many places; one with more comes several times.
pub(super) const PLACES_MAX: usize = 1_000;

/// States of a finding compared with an earlier audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It was not.
    New,
    /// It was.
    Remaining,
    /// It was, and is not found any more.
    Fixed,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::New => "new",
            State::Remaining => "remaining",
            State::Fixed => "fixed",
        }
    }
}

/// A finding as it is in the file, as far as it is compared.
#[derive(Deserialize)]
struct Group {
    kind: String,
    subject: String,
    places: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    url: String,
    #[serde(default)]
    how: String,
    #[serde(default)]
    text: String,
}

/// An earlier audit.
pub(super) struct Earlier {
    /// Its findings, in order.
    pub findings: Spool,
    head: Head,
}

/// Head of an earlier audit: the crawl that it was made of, and its newest answer.
#[derive(Default)]
struct Head {
    crawl: String,
    newest: String,
}

impl Earlier {
    /// Returns whether it was made of the crawl of this id when that had fetched as much.
    pub(super) fn is_of(&self, crawl: &str, newest: Time) -> bool {
        self.head.crawl == crawl && self.head.newest == iso_ms(newest)
    }
}

/// The audit in the file at `path`.
pub(super) fn read(path: &Path, memory: usize) -> Result<Earlier> {
    let wrong = |why: String| Error::Earlier { path: path.to_owned(), why };
    let file = File::open(path).map_err(|e| wrong(e.to_string()))?;
    let mut findings = Findings::new(memory);
    let (mut fault, mut head) = (None, Head::default());
    let into = Into { findings: &mut findings, head: &mut head, fault: &mut fault };
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(256 << 10, file));
    let read = into.deserialize(&mut json).and_then(|()| json.end());
    if let Some(fault) = fault {
        return Err(Error::Disk(fault));
    }
    read.map_err(|e| wrong(e.to_string()))?;
    Ok(Earlier { findings: Spool::of(findings.into_sorter())?, head })
}

/// Sink for the findings of a file. The file is an object with a list of them, and a finding in it may be such a list,
/// too.
struct Into<'a> {
    findings: &'a mut Findings,
    head: &'a mut Head,
    fault: &'a mut Option<disk::Error>,
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON file of an audit")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut is_there = false;
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "findings" => {
                    is_there = true;
                    let Into { findings, head, fault } = &mut self;
                    map.next_value_seed(Into { findings, head, fault })?;
                }
                "crawl" => self.head.crawl = map.next_value()?,
                "newest" => self.head.newest = map.next_value()?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        if is_there { Ok(()) } else { Err(A::Error::custom("it has no findings")) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        while let Some(group) = list.next_element::<Group>()? {
            // a kind that is not known any more cannot be compared
            let Some(kind) = Kind::parse(&group.kind) else { continue };
            for Place { url, how, text } in group.places {
                let finding = Finding::of(kind, &group.subject, "").at(&url, &how, &text);
                if let Err(fault) = self.findings.push(&finding) {
                    *self.fault = Some(fault);
                    return Err(A::Error::custom("it cannot be sorted"));
                }
            }
        }
        Ok(())
    }
}

/// Tells findings that come in order whether they were there before.
pub(super) struct Comparison<'a> {
    earlier: Lines<'a>,
    /// The earlier finding that comes next, and whether it was met.
    next: Option<(Finding, bool)>,
}

impl<'a> Comparison<'a> {
    pub(super) fn with(earlier: &'a Spool) -> disk::Result<Comparison<'a>> {
        let mut comparison = Comparison { earlier: earlier.read(), next: None };
        comparison.advance()?;
        Ok(comparison)
    }

    fn advance(&mut self) -> disk::Result<()> {
        loop {
            let found = self.earlier.next()?.and_then(Finding::of_line);
            // one that shows twice in its place is one
            match (&self.next, found) {
                (Some((last, _)), Some(found)) if last.identity() == found.identity() => {}
                (_, found) => {
                    self.next = found.map(|found| (found, false));
                    return Ok(());
                }
            }
        }
    }

    /// Returns the state of `finding`. Earlier ones before it that were not met go to `fixed`.
    pub(super) fn of(
        &mut self,
        finding: &Finding,
        fixed: &mut dyn FnMut(&Finding) -> disk::Result<()>,
    ) -> disk::Result<State> {
        while let Some((next, is_met)) = self.next.as_mut().filter(|(next, _)| next.identity() <= finding.identity()) {
            if next.identity() == finding.identity() {
                *is_met = true;
                return Ok(State::Remaining);
            }
            if !*is_met {
                fixed(next)?;
            }
            self.advance()?;
        }
        Ok(State::New)
    }

    /// Hands the rest to `fixed`.
    pub(super) fn end(mut self, fixed: &mut dyn FnMut(&Finding) -> disk::Result<()>) -> disk::Result<()> {
        while let Some((next, is_met)) = &self.next {
            if !is_met {
                fixed(next)?;
            }
            self.advance()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, subject: &str, url: &str) -> Finding {
        Finding::of(kind, subject, "").at(url, "anchor", "")
    }

    fn spool(findings: &[Finding]) -> Spool {
        let mut sorted = Findings::new(0);
        findings.iter().for_each(|finding| sorted.push(finding).unwrap());
        Spool::of(sorted.into_sorter()).unwrap()
    }

    #[test]
    fn what_is_new_remaining_and_fixed_is_told_by_place() {
        let at = |n: u32| finding(Kind::Broken, &format!("https://a.example/{n}"), "https://a.example/");
        let other_words =
            finding(Kind::Broken, "https://a.example/2", "https://a.example/").at("https://a.example/", "embed", "");
        let earlier = spool(&[at(1), at(2), at(4), at(9), finding(Kind::TitleMissing, "x", "")]);
        let now = spool(&[at(2), other_words, at(3), at(4)]);
        let mut comparison = Comparison::with(&earlier).unwrap();
        let (mut lines, mut said, mut fixed) = (now.read(), Vec::new(), Vec::new());
        let mut take = |finding: &Finding| {
            fixed.push(finding.subject.clone());
            Ok(())
        };
        while let Some(line) = lines.next().unwrap() {
            let finding = Finding::of_line(line).unwrap();
            said.push((finding.subject.clone(), comparison.of(&finding, &mut take).unwrap().name()));
        }
        comparison.end(&mut take).unwrap();
        let names: Vec<_> = said.iter().map(|(subject, name)| format!("{} {name}", &subject[18..])).collect();
        assert_eq!(names, ["2 remaining", "2 remaining", "3 new", "4 remaining"]);
        assert_eq!(fixed, ["https://a.example/1", "https://a.example/9", "x"]);
    }

    #[test]
    fn what_is_no_file_of_an_audit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        for (text, words) in [("", "EOF"), ("{}", "no findings"), ("{\"findings\":[{}]}", "kind"), ("7", "audit")] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path, 0).err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("x.json"), "{text}: {error}");
        }
        let good = "{\"version\":1,\"findings\":[{\"kind\":\"broken\",\"subject\":\"s\",\"places\":[{\"url\":\"u\"}]},\
                    {\"kind\":\"gone\",\"subject\":\"s\",\"places\":[]}],\"figures\":{}}";
        std::fs::write(&path, good).unwrap();
        let earlier = read(&path, 0).unwrap();
        let mut lines = earlier.findings.read();
        assert!(lines.next().unwrap().is_some() && lines.next().unwrap().is_none());
    }
}

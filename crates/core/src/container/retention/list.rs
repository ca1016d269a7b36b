//! `forgotten.jsonl`: what an operator had removed, when and why, and what was taken back.
//!
//! A line for each act, in the order in which they came, below a first line with their number and checksum. The file is
//! replaced as a whole, so that either the old list or the new one is there after a crash. It is the record of a
//! removal that stays: nothing is ever taken out of it, and a list that is cut or changed by a single bit is not read
//! at all. It has no second copy, so a crawl whose list is damaged does not start, and nothing of its archive is shown.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::warc::format_date;
use crate::web::forgotten::Forgotten;

/// Its name, in the directory of the archive.
pub const FILE: &str = "forgotten.jsonl";

/// The first line of the file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// The number of lines behind it.
    acts: usize,
    /// The checksum of these, with their line ends.
    crc32: u32,
}

impl Head {
    fn of(lines: &[u8]) -> Head {
        Head { acts: lines.iter().filter(|&&byte| byte == b'\n').count(), crc32: crc32fast::hash(lines) }
    }
}

/// One act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// When, as WARC records have it.
    pub date: String,
    /// The URL, in the fetch form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Or what the URLs begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// True if it takes back what an earlier one did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Act {
    /// The act that `url` is to be forgotten.
    pub fn url(url: &str, now: Time, reason: &str) -> Act {
        Act { date: format_date(now), url: Some(url.to_owned()), prefix: None, undo: false, reason: reason.to_owned() }
    }

    /// The act that all URLs are to be forgotten that begin with `prefix`.
    pub fn prefix(prefix: &str, now: Time, reason: &str) -> Act {
        Act { url: None, prefix: Some(prefix.to_owned()), ..Act::url("", now, reason) }
    }

    /// The same, taken back.
    pub fn undo(self) -> Act {
        Act { undo: true, ..self }
    }

    fn is_of(&self, other: &Act) -> bool {
        (&self.url, &self.prefix) == (&other.url, &other.prefix)
    }
}

/// The list.
#[derive(Clone, Debug, Default)]
pub struct ForgottenList {
    acts: Vec<Act>,
    in_effect: Forgotten,
}

impl ForgottenList {
    /// The list of the archive in `dir`; an empty one where there is none.
    pub fn read(disk: &Disk, dir: &Path) -> Result<ForgottenList> {
        let content = match disk.read(path(dir)) {
            Ok(content) => content,
            Err(error) if error.is_not_found() => return Ok(ForgottenList::default()),
            Err(error) => return Err(error),
        };
        let damaged = |expected: &str, found: String| Error::damaged(&path(dir), 0, expected, found);
        let head_end = content.iter().position(|&byte| byte == b'\n').map_or(content.len(), |at| at + 1);
        let (head, lines) = content.split_at(head_end);
        let head: Head = serde_json::from_slice(head)
            .map_err(|error| damaged("a first line with the number of acts and their checksum", error.to_string()))?;
        let found = Head::of(lines);
        if found != head {
            let said = |head: &Head| format!("{} acts with checksum {}", head.acts, head.crc32);
            return Err(damaged(&said(&head), said(&found)));
        }
        let act =
            |line| serde_json::from_slice(line).map_err(|error| damaged("an act in each line", error.to_string()));
        let acts = lines.split_inclusive(|&byte| byte == b'\n').map(act).collect::<Result<_>>()?;
        let mut list = ForgottenList { acts, ..ForgottenList::default() };
        list.settle();
        Ok(list)
    }

    /// Adds `acts`, and makes the list of the archive in `dir` durable. One that changes nothing is left out; says how
    /// many do.
    pub fn add(&mut self, disk: &Disk, dir: &Path, acts: &[Act]) -> Result<usize> {
        let before = self.acts.len();
        for act in acts {
            let last = self.acts.iter().rev().find(|earlier| earlier.is_of(act));
            if last.map_or(act.undo, |last| last.undo == act.undo) {
                continue;
            }
            self.acts.push(act.clone());
        }
        if self.acts.len() == before {
            return Ok(0);
        }
        self.write(disk, dir)?;
        self.settle();
        Ok(self.acts.len() - before)
    }

    /// Makes the list of the archive in `dir` durable.
    pub fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        let mut lines = Vec::new();
        self.acts.iter().for_each(|act| put_line(&mut lines, act));
        let mut content = Vec::new();
        put_line(&mut content, &Head::of(&lines));
        content.extend(lines);
        disk.replace(&path(dir), &content)
    }

    fn settle(&mut self) {
        self.in_effect = Forgotten::default();
        let mut later = HashSet::new();
        for act in self.acts.iter().rev() {
            if !later.insert((&act.url, &act.prefix)) || act.undo {
                continue;
            }
            act.url.iter().for_each(|url| self.in_effect.add_url(url));
            act.prefix.iter().for_each(|prefix| self.in_effect.add_prefix(prefix));
        }
    }

    /// The URLs that are forgotten now.
    pub fn in_effect(&self) -> &Forgotten {
        &self.in_effect
    }

    /// True if `url` is forgotten now.
    pub fn covers(&self, url: &str) -> bool {
        self.in_effect.covers(url)
    }

    /// All acts in their order.
    pub fn acts(&self) -> &[Act] {
        &self.acts
    }

    /// The act by which `url` is forgotten now.
    pub fn act_of(&self, url: &str) -> Option<&Act> {
        let is_it = |act: &&Act| {
            act.url.as_deref() == Some(url)
                || act.prefix.as_ref().is_some_and(|prefix| url.starts_with(prefix.as_str()))
        };
        let in_effect = |act: &&Act| {
            !act.undo && self.acts.iter().rev().find(|later| later.is_of(act)).is_some_and(|last| !last.undo)
        };
        self.acts.iter().filter(is_it).rfind(in_effect)
    }
}

fn put_line(out: &mut Vec<u8>, line: &impl Serialize) {
    out.extend(serde_json::to_vec(line).expect("a line consists of plain data"));
    out.push(b'\n');
}

/// The path of the list of the archive in `dir`.
pub fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_in_effect_until_it_is_taken_back_and_stays_in_the_list() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (url, prefix, now) = ("http://a.example/x", "http://b.example/", Time::from_ms(1_000));
        let mut list = ForgottenList::read(&disk, dir.path()).unwrap();
        assert!(list.in_effect().is_empty());
        let acts = [Act::url(url, now, "a court order"), Act::prefix(prefix, now, "")];
        assert_eq!(list.add(&disk, dir.path(), &acts).unwrap(), 2);
        assert_eq!(list.add(&disk, dir.path(), &acts).unwrap(), 0, "they are in effect already");
        assert_eq!(list.add(&disk, dir.path(), &[Act::url("http://c.example/", now, "").undo()]).unwrap(), 0);
        let mut list = ForgottenList::read(&disk, dir.path()).unwrap();
        assert!(list.covers(url) && list.covers("http://b.example/any") && !list.covers("http://c.example/"));
        assert_eq!(list.act_of(url).unwrap().reason, "a court order");
        assert_eq!(list.add(&disk, dir.path(), &[Act::url(url, now, "an appeal").undo()]).unwrap(), 1);
        let list = ForgottenList::read(&disk, dir.path()).unwrap();
        assert!(!list.covers(url) && list.covers("http://b.example/any") && list.act_of(url).is_none());
        assert_eq!(list.acts().len(), 3);
    }

    #[test]
    fn a_list_that_is_cut_or_changed_anywhere_is_damage_and_not_a_shorter_list() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let acts = ["http://a.example/x", "http://b.example/y"].map(|url| Act::url(url, Time::from_ms(1_000), "why"));
        ForgottenList::default().add(&disk, dir.path(), &acts).unwrap();
        let whole = std::fs::read(path(dir.path())).unwrap();
        let is_damaged = |content: &[u8], how: &str| {
            std::fs::write(path(dir.path()), content).unwrap();
            let read = ForgottenList::read(&disk, dir.path());
            assert!(matches!(read, Err(Error::Damaged { .. })), "{how}: {read:?}");
        };
        for at in 0..whole.len() {
            is_damaged(&whole[..at], &format!("cut at {at}"));
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                is_damaged(&flipped, &format!("bit {bit} of byte {at} flipped"));
            }
        }
        // as it was before it had a checksum
        let acts = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        is_damaged(&whole[acts..], "without its first line");
        std::fs::write(path(dir.path()), &whole).unwrap();
        assert_eq!(ForgottenList::read(&disk, dir.path()).unwrap().acts().len(), 2);
    }
}

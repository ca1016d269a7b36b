//! The rules in bytes, for the robots store.
//!
//! ```text
//! version | delay: 0 or ms + 1 | number of rules | rules: length * 2 + is_allow, pattern | number of sitemaps |
//! sitemaps: length, text | number of usage lines | usage lines: length, path, what is stated | licences: length, text
//!                                    (all numbers as LEB128; nothing behind the last one)
//! ```
//! What is stated is one byte, two bits for each use: 0 nothing, 1 refused, 2 allowed.

use super::{RobotsRules, Rule, UsageLines};
use crate::varint;
use crate::web::preferences::Preferences;

const VERSION: u8 = 2;

impl RobotsRules {
    /// Appends all of it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_with(&self.sitemaps, out);
    }

    /// Appends the rules and the delay without the sitemaps: these are of use once, when the file has been fetched.
    pub fn encode_rules(&self, out: &mut Vec<u8>) {
        self.encode_with(&[], out);
    }

    fn encode_with(&self, sitemaps: &[String], out: &mut Vec<u8>) {
        out.push(VERSION);
        varint::push(self.delay_ms.map_or(0, |ms| ms.saturating_add(1)), out);
        varint::push(self.rules.len() as u64, out);
        let mut start = 0;
        for rule in &self.rules {
            let pattern = &self.patterns[start..rule.end as usize];
            varint::push((pattern.len() as u64) << 1 | u64::from(rule.is_allow), out);
            out.extend_from_slice(pattern);
            start = rule.end as usize;
        }
        varint::push(sitemaps.len() as u64, out);
        for sitemap in sitemaps {
            varint::push(sitemap.len() as u64, out);
            out.extend_from_slice(sitemap.as_bytes());
        }
        varint::push(self.usage.as_ref().map_or(0, |usage| usage.len() as u64), out);
        for (path, stated) in self.usage.iter().flat_map(|usage| usage.iter()) {
            varint::push(path.len() as u64, out);
            out.extend_from_slice(path);
            out.push(stated.bits());
        }
        varint::push(self.licenses().len() as u64, out);
        out.extend_from_slice(self.licenses().as_bytes());
    }

    /// Reads what [`encode`](Self::encode) or [`encode_rules`](Self::encode_rules) wrote; none if it is anything else.
    /// Takes no more memory than a small multiple of the input.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        if input.take(1)?[0] != VERSION {
            return None;
        }
        let delay_ms = input.number()?.checked_sub(1);
        let mut rules = RobotsRules { delay_ms, ..RobotsRules::default() };
        for _ in 0..input.number()? {
            let head = input.number()?;
            let pattern = input.take(head >> 1)?;
            rules.patterns.extend_from_slice(pattern);
            let end = u32::try_from(rules.patterns.len()).ok()?;
            rules.rules.push(Rule { end, is_allow: head & 1 == 1 });
        }
        for _ in 0..input.number()? {
            let length = input.number()?;
            let text = std::str::from_utf8(input.take(length)?).ok()?;
            rules.sitemaps.push(text.to_owned());
        }
        let mut usage = UsageLines::default();
        for _ in 0..input.number()? {
            let length = input.number()?;
            let path = input.take(length)?;
            usage.push(path, Preferences::from_bits(input.take(1)?[0])?);
        }
        let length = input.number()?;
        usage.set_licenses(std::str::from_utf8(input.take(length)?).ok()?);
        rules.usage = (!usage.is_empty()).then(|| usage.into());
        rules.shrink();
        input.0.is_empty().then_some(rules)
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut at = 0;
        let number = varint::read(self.0, &mut at);
        self.0 = &self.0[at..];
        number
    }
}

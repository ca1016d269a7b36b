//! The robots.txt files of a pass, host by host.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::ahead::Ahead;
use super::entry::Entry;
use super::error::Result;
use crate::clock::Time;
use crate::disk::sorter::Sorted;
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Bytes before the file in a line: those of the host, then the time.
const ORDER_BYTES: usize = 16;

#[derive(Serialize, Deserialize)]
struct File {
    origin: String,
    rules: Vec<u8>,
}

/// The files, asked for in the order of the URLs.
pub(super) struct RobotsFiles {
    lines: Ahead,
    host: Option<u64>,
    /// The newest file of each origin of the host.
    by_origin: HashMap<String, RobotsRules>,
}

impl RobotsFiles {
    /// The line of a file for the sorter.
    pub fn line(host: u64, fetched: Time, origin: &str, rules: &RobotsRules) -> Vec<u8> {
        let mut line = host.to_be_bytes().to_vec();
        line.extend(fetched.ms().to_be_bytes());
        let mut bytes = Vec::new();
        rules.encode_rules(&mut bytes);
        let file = File { origin: origin.to_owned(), rules: bytes };
        postcard::to_extend(&file, line).expect("a file of rules has nothing that cannot be written")
    }

    pub fn new(lines: Sorted) -> Result<RobotsFiles> {
        Ok(RobotsFiles { lines: Ahead::sorted(lines)?, host: None, by_origin: HashMap::new() })
    }

    /// The newest rules for a URL, if a file of its origin came in this pass.
    pub fn of(&mut self, entry: &Entry) -> Result<Option<&RobotsRules>> {
        if self.host != Some(entry.key.host) {
            self.host = Some(entry.key.host);
            self.read(entry.key.host)?;
        }
        if self.by_origin.is_empty() {
            return Ok(None);
        }
        let origin = CanonicalUrl::parse(&entry.url).map(|url| url.origin()).unwrap_or_default();
        Ok(self.by_origin.get(&origin))
    }

    fn read(&mut self, host: u64) -> Result<()> {
        self.by_origin.clear();
        let host = host.to_be_bytes();
        while self.lines.next().is_some_and(|line| line[..host.len()] < host[..]) {
            self.lines.take()?;
        }
        while let Some(line) = self.lines.take_of(&host)? {
            let file: Option<File> = postcard::from_bytes(&line[ORDER_BYTES..]).ok();
            self.by_origin.extend(file.and_then(|file| Some((file.origin, RobotsRules::decode(&file.rules)?))));
        }
        Ok(())
    }
}

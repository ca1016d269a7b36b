//! The key record that an exchange should have: what a verification compares, and a rebuild writes.

use super::walk::Exchange;
use crate::container::keys::KeyRecord;
use crate::container::replayed::stated_length;
use crate::fingerprint::Fingerprint;
use crate::warc::{PAYLOAD_IN_FIELD, WAS_REVISIT_FIELD, parse_date};
use crate::web::kind::Judged;
use crate::web::mime;
use crate::web::statements::Statements;
use crate::web::url::{CanonicalUrl, KeyMaker};

impl Exchange {
    /// Its key record; `None` where its answer does not say enough. What a revisit refers to, and with it the length of
    /// its payload, only those know who have the records before it.
    pub(in crate::container) fn key_record(&self, maker: Option<&KeyMaker>) -> Option<KeyRecord> {
        let answer = &self.answer;
        let url = answer.field("WARC-Target-URI")?;
        let (status, headers) = answer.head()?;
        let has_statements = self.metadata.as_ref().is_some_and(|record| !Statements::parse(&record.kept).is_empty());
        let metadata = self.metadata.as_ref().map(|record| String::from_utf8_lossy(&record.kept));
        let has_line = |is_wanted: &dyn Fn(&str) -> bool| {
            metadata.as_ref().is_some_and(|fields| fields.lines().any(|line| is_wanted(line.trim())))
        };
        let robots = has_line(&|line| line == "purpose: robots.txt");
        let names_archive = has_line(&|line| line.split_once(": ").is_some_and(|(name, _)| name == PAYLOAD_IN_FIELD));
        let was_revisit = has_line(&|line| line.split_once(": ").is_some_and(|(name, _)| name == WAS_REVISIT_FIELD));
        let is_external = answer.kind() == "revisit" && names_archive;
        let payload_bytes = if is_external { stated_length(&headers)? } else { answer.payload_bytes };
        let key = match maker {
            Some(maker) => maker.keys(&CanonicalUrl::parse(url).ok()?).key,
            None => Fingerprint::from_bits(0),
        };
        Some(KeyRecord {
            offset: 0,
            key,
            file: self.file,
            generation: self.generation,
            value_offset: answer.offset,
            value_bytes: answer.length,
            time: parse_date(answer.field("WARC-Date")?)?,
            status,
            kind: self.metadata.as_ref().and_then(|record| Judged::parse(&record.kept)).map(|judged| judged.kind),
            robots,
            of_rendering: has_line(&|line| line == "purpose: rendering"),
            is_rendered: self.renditions.iter().any(|record| record.kind() == "conversion"),
            payload_sha1: answer.payload_digest().unwrap_or(answer.payload_sha1),
            payload_bytes,
            // the field of a revisit says that its payload is elsewhere
            truncated: answer.kind() == "response" && answer.field("WARC-Truncated").is_some(),
            has_statements,
            is_external,
            payload_at: None,
            was_revisit: answer.kind() == "response" && was_revisit,
            is_removed: false,
            moved_to: None,
            previous: None,
            mime: mime::stated(mime::content_type(&headers).as_deref()).to_owned(),
            url: url.to_owned(),
        })
    }
}

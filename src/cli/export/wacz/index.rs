//! The index of a WACZ: sorted CDXJ lines in gzip members of many lines each, and an index of these.
//!
//! Readers load the small `index.idx`, find the member that may have a URL, and read that one alone.

use std::io::Write;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::package::{Digested, Package, sha256};
use crate::disk::sorter::Sorted;

/// Lines of a member.
const MEMBER_LINES: usize = 3_000;
const FILE: &str = "index.cdx.gz";

/// The fields of a member in a line of the small index.
#[derive(Serialize)]
struct Member {
    offset: u64,
    length: u64,
    digest: String,
}

/// Writes both files. The small one has a line for each member, and is held in memory till then: some 150 bytes for
/// 3,000 lines.
pub(super) fn write(mut lines: Sorted, package: &mut Package<'_>) -> anyhow::Result<()> {
    let mut small = format!("!meta 0 {}\n", serde_json::json!({ "format": "cdxj-gzip-1.0", "filename": FILE }));
    package.stored(&format!("indexes/{FILE}"), |out| {
        let (mut content, mut count) = (Vec::new(), 0);
        while let Some(line) = lines.next()? {
            content.extend_from_slice(line);
            count += 1;
            if count == MEMBER_LINES {
                member(&content, &mut small, out)?;
                content.clear();
                count = 0;
            }
        }
        if count > 0 || out.position() == 0 {
            member(&content, &mut small, out)?;
        }
        Ok(())
    })?;
    package.deflated("indexes/index.idx", |out| Ok(out.write_all(small.as_bytes())?))
}

fn member(content: &[u8], small: &mut String, out: &mut Digested<'_>) -> anyhow::Result<()> {
    let mut member = GzEncoder::new(Vec::new(), Level::default());
    member.write_all(content)?;
    let bytes = member.finish()?;
    let first = content.split(|&byte| byte == b'{').next().unwrap_or_default().trim_ascii_end();
    if !first.is_empty() {
        let about = Member { offset: out.position(), length: bytes.len() as u64, digest: sha256(&bytes) };
        small.push_str(&format!("{} {}\n", String::from_utf8_lossy(first), serde_json::to_string(&about)?));
    }
    Ok(out.write_all(&bytes)?)
}

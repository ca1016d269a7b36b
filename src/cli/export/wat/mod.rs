//! `crawler export wat`: what records say of themselves and what pages name, as JSON, in the form of Common Crawl's WAT
//! files.
//!
//! Names and structure follow the extractor that makes them (webarchive-commons): numbers are texts, and a field that
//! comes several times is a list. What a page names is found by a parser of the HTML standard, so that comments,
//! scripts and templates name nothing; see [`html`].

mod html;

use clap::Args;
use data_encoding::BASE32;
use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};

use super::Common;
use super::derived::{Derivation, Made, Page, fields};
use crate::cli::OpenArchive;
use crate::cli::exit::Exit;
use crate::container::StoredRecord;
use crate::text::escape::json_line;
use crate::warc::Encoder;
use crate::web::headers;

#[derive(Debug, Args)]
#[command(after_help = "\
A WARC file with a metadata record (application/json) for each record of the selected exchanges: where it lies in the \
archive (Container), its WARC header (Envelope), and of what it holds (Payload-Metadata) the HTTP header and, of HTML \
pages, title, base, meta elements, links, scripts and all that names a URL, as it is written in the page.

Examples:
  crawler export wat --output crawl.warc.wat.gz
  crawler export wat | zcat | grep '^{' | jq '.Envelope[\"Payload-Metadata\"]'")]
pub(super) struct WatArgs {
    #[command(flatten)]
    common: Common,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
}

impl WatArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        self.derivation().run(open_archive)
    }

    fn derivation(&self) -> Derivation<'_> {
        let Self { common, all } = self;
        Derivation { common, all: *all, suffix: ".warc.wat.gz", wants: |_, _, _| Ok(true), make: metadata }
    }
}

/// The records of a page.
fn metadata(page: &Page, encoder: &mut Encoder) -> Made {
    let mut made = Made::default();
    for stored in &page.exchange {
        let text = match json_line(&described(page, stored, &mut made.warning)) {
            Ok(text) => text,
            Err(error) => {
                made.warning = Some(error.to_string());
                continue;
            }
        };
        encoder.again(&fields("metadata", "application/json", stored), text.as_bytes(), &[], false, &mut made.bytes);
    }
    made
}

/// Describes a record as JSON. The reason for which its page has no tree goes into `warning`.
fn described(page: &Page, stored: &StoredRecord, warning: &mut Option<String>) -> Value {
    let record = &stored.record;
    let whole = record.to_bytes();
    // the block is between the header and the two line ends behind it
    let head_bytes = whole.len() - record.block.len() - 4;
    let mut container = json!({
        "Filename": page.place.file,
        "Offset": record.offset.to_string(),
        "Compressed": stored.stored.starts_with(&[0x1f, 0x8b]),
    });
    if let Some(gzip) = gzip(&stored.stored, whole.len()) {
        container["Gzip-Metadata"] = gzip;
    }
    let named = record.fields.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut payload = json!({
        "Actual-Content-Length": record.block.len().to_string(),
        "Block-Digest": digest(&record.block),
        "Trailing-Slop-Length": "4",
    });
    of_block(page, stored, &mut payload, warning);
    json!({
        "Container": container,
        "Envelope": {
            "Format": "WARC/1.1",
            "WARC-Header-Length": head_bytes.to_string(),
            "WARC-Header-Metadata": listed(named),
            "Payload-Metadata": payload,
        },
    })
}

/// Describes a gzip member whose content has `inflated` bytes; `None` where it is no gzip.
fn gzip(member: &[u8], inflated: usize) -> Option<Value> {
    let footer: [u8; 8] = *member.last_chunk()?;
    let is_gzip = member.starts_with(&[0x1f, 0x8b]);
    let crc = i32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]);
    is_gzip.then(|| {
        json!({
            "Header-Length": "10",
            "Footer-Length": "8",
            "Deflate-Length": member.len().to_string(),
            "Inflated-Length": inflated.to_string(),
            "Inflated-CRC": crc.to_string(),
        })
    })
}

fn digest(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

/// Fields by their names; the values of a name that comes several times as a list.
fn listed(fields: impl Iterator<Item = (String, String)>) -> Value {
    let mut map = Map::new();
    for (name, value) in fields {
        match map.get_mut(&name) {
            None => {
                map.insert(name, Value::String(value));
            }
            Some(Value::Array(values)) => values.push(Value::String(value)),
            Some(first) => *first = Value::Array(vec![first.take(), Value::String(value)]),
        }
    }
    Value::Object(map)
}

/// Describes the block of a record in `payload`.
fn of_block(page: &Page, stored: &StoredRecord, payload: &mut Value, warning: &mut Option<String>) {
    let record = &stored.record;
    match record.kind() {
        "metadata" => {
            let text = String::from_utf8_lossy(&record.block);
            let pairs = text.lines().filter_map(|line| line.split_once(':'));
            let list: Vec<_> = pairs.map(|(name, value)| json!({ "Name": name, "Value": value.trim() })).collect();
            payload["Actual-Content-Type"] = json!("application/metadata-fields");
            payload["WARC-Metadata-Metadata"] = json!({ "Metadata-Records": list });
        }
        "request" => {
            payload["Actual-Content-Type"] = json!("application/http; msgtype=request");
            let Some((line, mut http)) = message(&record.block) else { return };
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            let mut part = || parts.next().unwrap_or_default();
            http["Request-Message"] = json!({ "Method": part(), "Path": part(), "Version": part() });
            payload["HTTP-Request-Metadata"] = http;
        }
        // what a browser made of the answer, and pictures of it
        "conversion" | "resource" => payload["Actual-Content-Type"] = json!(record.field("Content-Type")),
        _ => {
            payload["Actual-Content-Type"] = json!("application/http; msgtype=response");
            let Some((line, mut http)) = message(&record.block) else { return };
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            let mut part = || parts.next().unwrap_or_default();
            http["Response-Message"] = json!({ "Version": part(), "Status": part(), "Reason": part() });
            if record.kind() == "response" {
                match html::metadata(&page.response) {
                    Ok(Some(html)) => http["HTML-Metadata"] = html,
                    Ok(None) => {}
                    Err(given_up) => *warning = Some(format!("what the page names: {given_up}")),
                }
            }
            payload["HTTP-Response-Metadata"] = http;
        }
    }
}

/// The first line of an HTTP message, and what is said of the rest.
fn message(block: &[u8]) -> Option<(String, Value)> {
    let end = memchr::memmem::find(block, b"\r\n\r\n")?;
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => headers::isomorphic(bytes),
    };
    let mut lines = block[..end].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = text(lines.next()?);
    let named = lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((text(&line[..colon]), text(line[colon + 1..].trim_ascii())))
    });
    let (headers, entity) = (listed(named), &block[end + 4..]);
    let http = json!({
        "Headers": headers,
        "Headers-Length": (end + 4).to_string(),
        "Entity-Length": entity.len().to_string(),
        "Entity-Digest": digest(entity),
        "Entity-Trailing-Slop-Length": "0",
    });
    Some((first, http))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::Archive;
    use crate::cli::archive::Response;
    use crate::cli::archive::tests::FakeArchive;
    use crate::cli::export::tests::records;
    use crate::clock::Time;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: WatArgs,
    }

    #[test]
    fn each_record_of_an_exchange_is_described_and_numbers_are_texts() {
        let mut archive = FakeArchive::default();
        let header = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let headers = vec![header("Content-Type", "text/html"), header("Vary", "a"), header("Vary", "b")];
        let body = b"<title>T</title><a href=x>y</a>".to_vec();
        let response = Response { status: 200, headers, decoded: body.clone(), body, ..Response::default() };
        archive.store("https://a.example/", "text/html", response);
        let (mut out, args) = (Vec::new(), Cli::parse_from(["wat"]).args);
        args.derivation().write(&archive, "x.warc.wat.gz", Time::ZERO, &mut out, &mut Vec::new()).unwrap().unwrap();
        let (found, stored) = (records(&out), archive.exchange(&archive.stored[0].0).unwrap());
        assert_eq!((found.len(), found[0].kind()), (4, "warcinfo"));
        for (record, source) in found[1..].iter().zip(&stored) {
            assert!(record.is_intact() && record.kind() == "metadata");
            assert_eq!(record.field("WARC-Refers-To"), source.record.field("WARC-Record-ID"));
            let said: Value = serde_json::from_slice(&record.block).unwrap();
            let (container, envelope) = (&said["Container"], &said["Envelope"]);
            assert_eq!(container["Gzip-Metadata"]["Deflate-Length"], source.stored.len().to_string());
            assert_eq!(envelope["WARC-Header-Metadata"]["WARC-Type"], source.record.kind());
            let payload = &envelope["Payload-Metadata"];
            assert_eq!(payload["Block-Digest"], source.record.field("WARC-Block-Digest").unwrap());
        }
        let said: Value = serde_json::from_slice(&found[3].block).unwrap();
        let http = &said["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"];
        assert_eq!(http["Response-Message"], json!({ "Status": "200", "Version": "HTTP/1.1", "Reason": "OK" }));
        assert_eq!(http["Headers"]["Vary"], json!(["a", "b"]));
        assert_eq!(http["Entity-Length"], "31");
        assert_eq!(http["HTML-Metadata"]["Head"]["Title"], "T");
        assert_eq!(http["HTML-Metadata"]["Links"], json!([{ "path": "A@/href", "url": "x", "text": "y" }]));
    }
}

//! Readers of an archive's content that the commands use, for fuzzing: trees of pages, lines of an index.

use std::time::Duration;

use scraper::Selector;

use super::archive::{Entry, RecordLocation, Response};
use super::export::{CdxjAnswer, cdxj_line};
use super::page::{decode, text_of};
use crate::clock::Time;
use crate::reading::tree::parse;

const SELECTORS: [&str; 4] = ["a", "p, h1", "table td > b", "*"];

/// The tree of a page with a Content-Type (the first line), and the texts that a selector finds.
pub(crate) fn extract(selector: u8, bytes: &[u8]) -> bool {
    let (content_type, body) = bytes.split_at(memchr::memchr(b'\n', bytes).unwrap_or(0));
    let headers = vec![(b"Content-Type".to_vec(), content_type.to_vec())];
    let text = decode(&Response { headers, decoded: body.to_vec(), ..Response::default() });
    let Ok(page) = parse(&text, Duration::from_secs(5)) else { return false };
    let selector = Selector::parse(SELECTORS[usize::from(selector) % SELECTORS.len()]).expect("it is a selector");
    let mut found = false;
    for element in page.select(&selector).take(50) {
        found = true;
        assert!(text_of(element).len() <= 3 * text.len());
        element.html();
    }
    found
}

/// A line of the index about an archive's entry with any URL, type, file name and time by `number`: one line, three
/// columns, JSON.
pub(crate) fn cdxj([url, mime, file]: [String; 3], number: u64) -> bool {
    let entry = Entry {
        url,
        status: 200,
        kind: None,
        time: Time::from_ms(number * 1_000_000_007),
        mime,
        bytes: 1,
        digest_sha1: [7; 20],
        robots: false,
        payload: None,
        external: false,
        previous: None,
        handle: 0,
    };
    let place = RecordLocation { file: file.clone(), offset: 1, bytes: 2 };
    let Ok(line) = cdxj_line(CdxjAnswer { place, is_revisit: entry.is_revisit() }, &entry) else { return false };
    let content = line.strip_suffix('\n').expect("a line ends");
    assert!(!content.contains(['\n', '\r', '\x1b']), "{content:?}");
    let mut columns = content.splitn(3, ' ');
    let (key, time) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
    assert!(!key.is_empty() && time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit()), "{content}");
    let fields: serde_json::Value =
        serde_json::from_str(columns.next().unwrap_or_default()).expect("the third column is JSON");
    assert_eq!(fields["url"], entry.url.as_str());
    assert_eq!(fields["filename"], file.as_str());
    true
}

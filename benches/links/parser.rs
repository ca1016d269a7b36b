//! The links of the scan beside those of the URL parser alone: each target of an anchor has to be found, as the parser
//! spells it.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use crawler::web::html::{LinkScan, Links, RobotsDirectives};
use crawler::web::references::push_value;
use crawler::web::tags::Tags;
use crawler::web::url::{CanonicalUrl, KeyMaker};

/// Comparisons that were made.
#[derive(Debug, Default)]
pub struct Compared {
    pub pages: usize,
    pub links: usize,
    /// Targets that are no URL, by the parser.
    pub no_urls: usize,
}

impl Compared {
    /// Compares the links of a page in UTF-8 that names no base of its own; others are passed over.
    pub fn page(&mut self, path: &Path, url: &CanonicalUrl, scan: &mut LinkScan, keys: &KeyMaker) -> Result<()> {
        let body = std::fs::read(path)?;
        if std::str::from_utf8(&body).is_err() {
            return Ok(());
        }
        let Some(targets) = targets(&body) else { return Ok(()) };
        let links = scan.html(&body, Some("text/html; charset=utf-8"), url, keys, RobotsDirectives::default());
        self.pages += 1;
        self.links += targets.len();
        self.targets(&targets, &links, url, keys)
    }

    fn targets(&mut self, targets: &[String], links: &Links, page: &CanonicalUrl, keys: &KeyMaker) -> Result<()> {
        let found: HashMap<_, _> = links.entries.iter().map(|link| (link.keys.key, &link.url)).collect();
        // of several spellings of one URL, the scan gives the first
        let mut named = HashMap::new();
        for target in targets {
            let Ok(parsed) = page.join(target) else {
                self.no_urls += 1;
                continue;
            };
            let key = keys.keys(&parsed).key;
            let first = named.entry(key).or_insert(parsed);
            ensure!(found.get(&key) == Some(&&*first), "{target:?} on {page}: {first}, found {:?}", found.get(&key));
        }
        Ok(())
    }
}

/// The targets of a page's anchors, as written; none where it has a base of its own.
fn targets(body: &[u8]) -> Option<Vec<String>> {
    let (mut tags, mut targets) = (Tags::new(body), Vec::new());
    while let Some(tag) = tags.next_tag() {
        if tag.name.eq_ignore_ascii_case(b"base") {
            return None;
        }
        let is_anchor = tag.is_start && tag.name.eq_ignore_ascii_case(b"a");
        let mut target = None;
        tags.attributes(|attribute| {
            if is_anchor && target.is_none() && attribute.name.eq_ignore_ascii_case(b"href") {
                let mut text = String::new();
                push_value(attribute.value, &mut text);
                target = Some(text);
            }
        });
        targets.extend(target);
    }
    Some(targets)
}

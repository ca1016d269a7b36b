//! URLs that an operator may mean besides one that is to be forgotten: other spellings of its page, and pages beside
//! it.
//!
//! Two URLs with the same key form are the same page for a crawl, and the archive has it in the spelling that was met
//! first, or in several. People who ask for a removal know none of that, so all of them go. What is another page by the
//! crawl's rules stays, and is named in the answer: the same URL with the other scheme, and the target of a redirect.
//!
//! Two URLs with the same key form are the same page for a crawl, and the archive has it in the spelling that was met
//! first, or in several. People who ask for a removal know none of that, so all of them go. What is another page by the
//! crawl's rules stays, and is named: the same URL with the other scheme, and where a redirect leads.

use std::path::Path;

use super::{CrawlError, retention};
use crate::checkpoint::Identity;
use crate::dirs::CrawlDirs;
use crate::dirs::{Archives, Found};
use crate::disk::{Disk, Result};
use crate::web::url::CanonicalUrl;

/// The URLs of the same page, and other pages that may be meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Related {
    /// Other spellings of the same page.
    pub spellings: Vec<String>,
    /// Other pages of the archive, with what they are.
    pub beside: Vec<(String, &'static str)>,
}

/// The archive of a crawl, asked for URLs.
pub(crate) struct Relatives {
    archives: Archives,
    /// URLs that are forgotten now.
    forgotten: Vec<String>,
}

impl Relatives {
    /// Opens the archive of the crawl in `dir`.
    pub(crate) fn open(dir: &Path) -> std::result::Result<Relatives, CrawlError> {
        let disk = Disk::real();
        let dirs = CrawlDirs::open(&disk, dir)?;
        let keys = match dirs.keys() {
            Some(keys) => keys.clone(),
            None => Identity::read_copy(&disk, dir)?.key_maker(),
        };
        let list = retention::forgotten(dir)?;
        let urls = list.acts().iter().filter_map(|act| act.url.clone());
        let forgotten = urls.filter(|url| list.covers(url)).collect();
        Ok(Relatives { archives: Archives::new(disk, dirs, keys), forgotten })
    }

    /// Returns the relatives of `url`: in the archive, and among what is forgotten already.
    pub(crate) fn of(&self, url: &CanonicalUrl) -> Result<Related> {
        let keys = self.archives.keys();
        let (key_text, key) = (keys.key_text(url), keys.keys(url).key);
        let is_same = |other: &String| CanonicalUrl::parse(other).is_ok_and(|other| keys.key_text(&other) == key_text);
        let mut spellings: Vec<String> = self.forgotten.iter().filter(|url| is_same(url)).cloned().collect();
        // the key form represents the spellings that were not met yet
        spellings.extend(keys.plain_spelling(url));
        for place in 0..self.archives.dirs().shards().len() {
            if let Some(reader) = self.archives.reader(place)? {
                spellings.extend(reader.spellings(key)?.into_iter().filter(is_same));
            }
        }
        spellings.sort();
        spellings.dedup();
        spellings.retain(|spelling| spelling != url.as_str());
        Ok(Related { beside: self.beside(url)?, spellings })
    }

    fn beside(&self, url: &CanonicalUrl) -> Result<Vec<(String, &'static str)>> {
        let mut beside = Vec::new();
        let mut note = |other: Option<CanonicalUrl>, what: &'static str| -> Result<()> {
            if let Some(other) = other.filter(|other| other.as_str() != url.as_str())
                && let Some((_, record)) = self.archives.newest(&other)?
                && !beside.iter().any(|(there, _)| *there == record.url)
            {
                beside.push((record.url, what));
            }
            Ok(())
        };
        let text = url.as_str();
        let other_scheme = match text.strip_prefix("http://") {
            Some(rest) => format!("https://{rest}"),
            None => text.replacen("https://", "http://", 1),
        };
        note(CanonicalUrl::parse(&other_scheme).ok(), "the same with the other scheme")?;
        if let Some(found) = self.archives.newest(url)? {
            note(self.target(url, &found)?, "where it redirects to")?;
        }
        Ok(beside)
    }

    /// Returns the target of a redirect.
    fn target(&self, url: &CanonicalUrl, (place, record): &Found) -> Result<Option<CanonicalUrl>> {
        let Some(reader) = self.archives.reader(*place)?.filter(|_| (300..400).contains(&record.status)) else {
            return Ok(None);
        };
        let headers = reader.response(record)?.headers;
        let location = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        Ok(location.and_then(|(_, value)| url.join(&String::from_utf8_lossy(value.as_ref())).ok()))
    }
}

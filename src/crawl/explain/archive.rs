//! The archive's part of an explanation of a URL: its versions, how it was found, its redirects, its origin's
//! robots.txt.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Found, Hop, Version};
use crate::container::{KeyRecord, Reader};
use crate::contract::listed::format_of;
use crate::dirs::Archives;
use crate::disk::{Error, Result};
use crate::frontier::Hops;
use crate::outcome::HostFault;
use crate::web::coding::{self, Ending};
use crate::web::headers;
use crate::web::html::{LinkScan, RobotsDirectives, is_html, x_robots_tag};
use crate::web::mime;
use crate::web::sitemap::{Body, Format};
use crate::web::url::CanonicalUrl;

/// Versions of a URL that are shown.
pub(super) const VERSIONS_MAX: usize = 1_000;
/// Hops of a chain of redirects that are followed either way.
const HOPS_MAX: usize = 32;
/// Redirects of a robots.txt that the crawl follows.
const ROBOTS_HOPS_MAX: usize = 5;

/// The archive of a crawl, of all its shards, which may be empty yet.
pub(super) struct Archive {
    archives: Archives,
}

/// A record with the archive that has it.
struct Record<'a> {
    record: KeyRecord,
    reader: &'a Reader,
    place: usize,
}

/// The newest robots.txt of an origin.
pub(super) struct ArchivedRobots {
    /// The answer at the end of its redirects, or the last one that is there.
    pub version: Version,
    /// The file, its content coding removed; none where the status brings none.
    pub text: Option<Vec<u8>>,
    /// The reason for which nothing follows from it.
    pub fault: Option<HostFault>,
}

impl Archive {
    pub(super) fn new(archives: Archives) -> Self {
        Archive { archives }
    }

    /// The archive of a shard, if there is one.
    fn reader(&self, place: usize) -> Result<Option<&Reader>> {
        match self.archives.reader(place) {
            Err(error) if error.is_not_found() => Ok(None),
            opened => opened,
        }
    }

    /// The newest version of `url`, in its own spelling or else in the one that was fetched.
    fn newest(&self, url: &CanonicalUrl) -> Result<Option<Record<'_>>> {
        let found = match self.archives.newest(url) {
            Err(error) if error.is_not_found() => None,
            found => found?,
        };
        let Some((place, record)) = found else { return Ok(None) };
        Ok(self.reader(place)?.map(|reader| Record { record, reader, place }))
    }

    /// The spelling in which `url` was fetched, where that is another one.
    pub(super) fn other_spelling(&self, url: &CanonicalUrl) -> Result<Option<String>> {
        Ok(self.newest(url)?.map(|found| found.record.url).filter(|fetched| fetched != url.as_str()))
    }

    /// Returns by which means the newest version of `url` says that its links are not to be followed, as `agent` reads
    /// it. At most `decoded_max` bytes of it are looked at.
    pub(super) fn nofollow(&self, url: &CanonicalUrl, agent: &str, decoded_max: usize) -> Result<Option<&'static str>> {
        let Some(Record { record, reader, .. }) = self.newest(url)? else { return Ok(None) };
        if !(200..300).contains(&record.status) {
            return Ok(None);
        }
        let response = reader.response(&record)?;
        let tags: Vec<_> = headers::named(&response.headers, "x-robots-tag").map(String::from_utf8_lossy).collect();
        if x_robots_tag(tags.iter().map(|value| &**value), agent).nofollow {
            return Ok(Some("its X-Robots-Tag header says nofollow"));
        }
        let (content_type, coding) =
            (mime::content_type(&response.headers), headers::list(&response.headers, "content-encoding"));
        let body =
            coding::decode(coding.as_deref(), &response.body, coding::within_ratio(response.body.len(), decoded_max));
        if !is_html(content_type.as_deref(), &body.bytes) {
            return Ok(None);
        }
        let mut scan = LinkScan::new(1, false, CanonicalUrl::LENGTH_MAX).with_agent(agent);
        let said =
            scan.html(&body.bytes, content_type.as_deref(), url, self.archives.keys(), RobotsDirectives::default());
        Ok(said.nofollow_page.then_some("its robots meta element says nofollow"))
    }

    /// Says of the newest version of `url` that nothing was found in it because its content coding cannot be undone.
    pub(super) fn undecodable(&self, url: &CanonicalUrl) -> Result<Option<&'static str>> {
        let Some(Record { record, reader, .. }) = self.newest(url)? else { return Ok(None) };
        if !(200..300).contains(&record.status) {
            return Ok(None);
        }
        let response = reader.response(&record)?;
        let coding = headers::list(&response.headers, "content-encoding");
        let decoded = coding::decode(coding.as_deref(), &response.body, 1);
        let is_nothing = decoded.end == Ending::Damage && decoded.bytes.is_empty();
        Ok(is_nothing.then_some("its content coding cannot be undone"))
    }

    /// As what the crawl reads the newest version of `url`, found by `hops`, if it is a sitemap or a feed.
    pub(super) fn listing(&self, url: &CanonicalUrl, hops: &Hops, reads_robots: bool) -> Result<Option<&'static str>> {
        let Some(Record { record, reader, .. }) = self.newest(url)? else { return Ok(None) };
        if !(200..300).contains(&record.status) {
            return Ok(None);
        }
        let response = reader.response(&record)?;
        let content_type = mime::content_type(&response.headers);
        let content_encoding = headers::list(&response.headers, "content-encoding");
        let body = Body {
            content_type: content_type.as_deref(),
            content_encoding: content_encoding.as_deref(),
            bytes: &response.body,
        };
        Ok(format_of(hops, reads_robots, body).map(Format::name))
    }

    /// The versions of `url`, the newest first, and whether there are more than are shown.
    pub(super) fn versions(&self, url: &CanonicalUrl) -> Result<(Vec<Version>, bool)> {
        let mut versions = Vec::new();
        let mut next = self.newest(url)?;
        while let Some(found) = next {
            if versions.len() == VERSIONS_MAX {
                return Ok((versions, true));
            }
            versions.push(self.version(&found)?);
            let older = found.reader.previous(&found.record)?;
            // a chain that does not lead back has its own end
            let older = older.filter(|older| older.offset < found.record.offset);
            next = older.map(|record| Record { record, ..found });
        }
        Ok((versions, false))
    }

    /// Statements about the use of the newest version of `url`, as they were recorded with it.
    pub(super) fn stated(&self, url: &CanonicalUrl) -> Result<BTreeMap<&'static str, String>> {
        let Some(Record { record, reader, .. }) = self.newest(url)? else { return Ok(BTreeMap::new()) };
        Ok(reader.statements(&record)?.fields().collect())
    }

    fn version(&self, Record { record, reader, place }: &Record<'_>) -> Result<Version> {
        let name = reader.value_name(record)?;
        let file = self.archives.dirs().name(*place).map_or(name.clone(), |shard| format!("{shard}/pages/{name}"));
        Ok(Version {
            time: record.time,
            status: record.status,
            mime: record.mime.clone(),
            bytes: record.payload_bytes,
            file,
            offset: record.value_offset,
            revisit: !record.is_response(),
            record: record.offset,
            truncated: record.truncated,
            rendered: record.is_rendered,
            judged: reader.judged(record)?,
        })
    }

    /// Returns how the newest version of `url` was found, as its metadata record says.
    pub(super) fn found(&self, url: &CanonicalUrl) -> Result<Option<Found>> {
        let Some(Record { record, reader, .. }) = self.newest(url)? else { return Ok(None) };
        let exchange = reader.exchange(&record)?;
        let Some(metadata) = exchange.iter().find(|stored| stored.record.kind() == "metadata") else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&metadata.record.block);
        let field = |name: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(": "));
            fields.find(|(found, _)| *found == name).map(|(_, value)| value.trim().to_owned())
        };
        let number = |name: &str| field(name).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
        Ok(Some(Found {
            hops: field("hopsFromSeed").unwrap_or_default(),
            depth: u16::try_from(number("depth")).unwrap_or(u16::MAX),
            via: field("via"),
            seed_number: number("seed"),
            seed: None,
            attempts: u8::try_from(number("attempt")).unwrap_or(u8::MAX),
        }))
    }

    /// The page that needs what was `found` because others embed it: the nearest one on the way back that is no
    /// requisite itself, or the last one that the archive has.
    pub(super) fn embedded_by(&self, found: &Found) -> Result<Option<String>> {
        let mut page = found.via.clone();
        for _ in 0..HOPS_MAX {
            let Some(url) = page.as_deref().and_then(|page| CanonicalUrl::parse(page).ok()) else { break };
            match self.found(&url)? {
                Some(above) if Hops::parse(&above.hops).embeds() > 0 && above.via.is_some() => page = above.via,
                _ => break,
            }
        }
        Ok(page)
    }

    /// The URL of the page that a queued URL was found on, by its referrer.
    pub(super) fn via(&self, via: u64) -> Result<Option<String>> {
        let Some((place, offset)) = self.archives.dirs().referrer(via) else { return Ok(None) };
        let Some(reader) = self.reader(place)? else { return Ok(None) };
        match reader.record_at(offset) {
            Ok(record) => Ok(Some(record.url)),
            // beyond what is there since a kill, or another record since the index was rebuilt
            Err(Error::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the URL to which the answer of a record of `url` redirects.
    fn location(url: &CanonicalUrl, Record { record, reader, .. }: &Record<'_>) -> Result<Option<CanonicalUrl>> {
        if !(300..400).contains(&record.status) || record.status == 304 {
            return Ok(None);
        }
        let response = reader.response(record)?;
        Ok(headers::location(&response.headers).and_then(|location| url.join(&location).ok()))
    }

    /// The URLs that `url` leads to, one redirect after the other.
    pub(super) fn redirects_to(&self, url: &CanonicalUrl) -> Result<Vec<Hop>> {
        let (mut hops, mut seen) = (Vec::new(), BTreeSet::from([url.clone()]));
        let (mut at, mut record) = (url.clone(), self.newest(url)?);
        while hops.len() < HOPS_MAX
            && let Some(found) = &record
            && let Some(target) = Archive::location(&at, found)?
        {
            record = self.newest(&target)?;
            hops.push(Hop { url: target.to_string(), status: record.as_ref().map(|found| found.record.status) });
            if !seen.insert(target.clone()) {
                break;
            }
            at = target;
        }
        Ok(hops)
    }

    /// The URLs that redirected to one that was found as `found` says, the nearest first.
    pub(super) fn redirected_from(&self, found: &Found) -> Result<Vec<Hop>> {
        let mut hops: Vec<Hop> = Vec::new();
        let mut found = Some(found.clone());
        while hops.len() < HOPS_MAX
            && let Some(Found { hops: letters, via: Some(via), .. }) = &found
            && letters.ends_with('R')
            && let Ok(url) = CanonicalUrl::parse(via)
            && hops.iter().all(|hop| hop.url != url.as_str())
        {
            let status = self.newest(&url)?.map(|found| found.record.status);
            hops.push(Hop { url: url.to_string(), status });
            found = self.found(&url)?;
        }
        Ok(hops)
    }

    /// The newest robots.txt of the origin of `url`, its redirects followed as the crawl does.
    pub(super) fn robots(&self, url: &CanonicalUrl, bytes_max: usize) -> Result<Option<ArchivedRobots>> {
        let mut at = url.join("/robots.txt").expect("an origin makes a URL");
        // rules belong to the origin itself, not to one that differs in a dot
        let own = self.newest(&at)?.filter(|found| found.record.url == at.as_str());
        let Some(mut found) = own else { return Ok(None) };
        for _ in 0..ROBOTS_HOPS_MAX {
            let Some(target) = Archive::location(&at, &found)? else { break };
            let Some(next) = self.newest(&target)? else { break };
            (at, found) = (target, next);
        }
        let (version, status) = (self.version(&found)?, found.record.status);
        let (text, fault) = match status {
            200..300 => {
                let response = found.reader.response(&found.record)?;
                match response.robots_lines(found.record.truncated, bytes_max) {
                    Some(lines) => (Some(lines.text.into_owned()), None),
                    None => (None, Some(HostFault::of_robots(status, response.is_interrupted()))),
                }
            }
            429 | 500.. => (None, Some(HostFault::of_robots(status, false))),
            _ => (None, None),
        };
        Ok(Some(ArchivedRobots { version, text, fault }))
    }
}

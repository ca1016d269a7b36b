//! The sitemaps of hosts: their places, and what they list.
//!
//! A host with a sitemap lists its root and the pages that nothing else names. robots.txt names one file: the sitemap
//! itself, or an index that names a gzipped one.

use std::fmt::Write;

use super::answer::gzip;
use super::host_names::typed_name;
use super::names::address;
use super::plan::{Kind, Plan, Sitemap, Target};
use super::process::Process;
use super::version::{Tagging, Version};
use crate::clock::Time;
use crate::text::figures::iso_ms;

/// A file of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Plain,
    Index,
    Gzipped,
}

impl File {
    fn path(self) -> &'static str {
        match self {
            File::Plain => "/sitemap.xml",
            File::Index => "/sitemap-index.xml",
            File::Gzipped => "/sitemap-1.xml.gz",
        }
    }
}

/// The files of a host; the first one is named by its robots.txt.
pub(super) fn files(plan: &Plan, host: u32) -> &'static [File] {
    match plan.host(host).sitemap {
        None => &[],
        Some(Sitemap::Plain) => &[File::Plain],
        Some(Sitemap::Indexed) => &[File::Index, File::Gzipped],
    }
}

/// The file of a host at a path.
pub(super) fn at(plan: &Plan, host: u32, path: &str) -> Option<File> {
    files(plan, host).iter().copied().find(|file| file.path() == path)
}

/// Returns the URL of a file.
pub(super) fn url(plan: &Plan, port: u16, host: u32, file: File) -> String {
    format!("http://{}:{port}{}", plan.host(host).name, file.path())
}

/// Returns the URL of the sitemap that the robots.txt of a host names, if it names one.
pub(super) fn named(plan: &Plan, port: u16, host: u32) -> Option<String> {
    files(plan, host).first().map(|&file| url(plan, port, host, file))
}

/// The URLs of a host that its sitemap lists.
pub(super) fn listed(plan: &Plan, host: u32) -> Vec<u32> {
    if plan.host(host).sitemap.is_none() {
        return Vec::new();
    }
    (0..plan.host(host).len()).filter(|&url| url == 0 || plan.kind(host, url) == Kind::Listed).collect()
}

/// The newest change of these pages, where sitemaps have it.
pub(super) fn newest(plan: &Plan, host: u32, urls: &[u32], now: Time) -> Option<Time> {
    let changes = plan.options.changes.filter(|changes| changes.dated_sitemaps)?;
    let changed = |&url: &u32| Process::of(plan, host, url).map(|process| process.version(now).changed);
    Some(urls.iter().filter_map(changed).max().unwrap_or(changes.since))
}

/// Returns the version that the files of a host have, where they change: each of them changes with the newest page.
pub(super) fn version(plan: &Plan, host: u32, now: Time) -> Option<Version> {
    let changed = newest(plan, host, &listed(plan, host), now)?;
    Some(Version { changed, is_first: false, is_cosmetic: false, tagging: Tagging::Both })
}

/// The date that a file has beside a page, or an index beside the only file that it names.
fn dated(plan: &Plan, host: u32, urls: &[u32], now: Time) -> String {
    newest(plan, host, urls, now).map_or_else(|| "2024-02-29".to_owned(), iso_ms)
}

/// Media type and body of a file at `now`.
pub(super) fn content(plan: &Plan, port: u16, host: u32, file: File, now: Time) -> (&'static str, Vec<u8>) {
    let listed = listed(plan, host);
    let (root, entry, urls) = match file {
        File::Index => {
            let named = (url(plan, port, host, File::Gzipped), dated(plan, host, &listed, now));
            ("sitemapindex", "sitemap", vec![named])
        }
        File::Plain | File::Gzipped => {
            let line = |&url| (address(plan, port, Target::Url(host, url)), dated(plan, host, &[url], now));
            ("urlset", "url", listed.iter().map(line).collect())
        }
    };
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for (url, date) in urls {
        let loc = typed_name(&url).replace('&', "&amp;");
        writeln!(xml, "<{entry}><loc>{loc}</loc><lastmod>{date}</lastmod></{entry}>").expect("a string grows");
    }
    writeln!(xml, "</{root}>").expect("a string grows");
    match file {
        File::Gzipped => ("application/gzip", gzip(xml.as_bytes())),
        File::Plain | File::Index => ("application/xml", xml.into_bytes()),
    }
}

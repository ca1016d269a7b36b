//! The verdict on a crawl of a synthetic web: what is in its archive, and what it asked the servers for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

use crate::cli::archive::{Archive, Damage};
use crate::cli::exit::Exit;
use crate::cli::selection::Selection;
use crate::simweb::{Expected, Limits, Request, judge};
use crate::text::escape::Escaped;
use crate::text::figures::count;

/// URLs and offences of a kind that are named.
const NAMED: usize = 5;

/// The differences from a right crawl, each kind by name.
#[derive(Debug)]
pub(super) struct Verdict {
    expected: usize,
    stored: usize,
    /// Pages that are not in the archive, or with another status.
    missing: Vec<String>,
    /// Pages in the archive that the web does not lead to.
    surplus: Vec<String>,
    /// URLs that were requested although robots.txt or nofollow keeps robots out.
    forbidden: Vec<String>,
    /// Requests that came too soon, or several at once to one host.
    impolite: Vec<String>,
    /// Entries of the archive that cannot be read.
    damaged: bool,
}

impl Verdict {
    /// Compares `archive` and the servers' `log` with what is `expected` and promised.
    pub(crate) fn of(
        archive: &dyn Archive,
        expected: &Expected,
        log: &[Request],
        port: u16,
        limits: &Limits,
    ) -> anyhow::Result<Verdict> {
        let (mut stored, mut damage) = (BTreeMap::new(), Damage::default());
        Selection::default().each(archive, false, &mut damage, &mut io::stderr(), |entry, _, _| {
            stored.insert(entry.url, entry.status);
            Ok(())
        })?;
        let missing = expected.pages.iter().filter(|(url, page)| stored.get(*url) != Some(&page.status));
        let requested: BTreeSet<String> = log.iter().map(|request| request.url(port)).collect();
        let is_forbidden = |url: &&String| expected.disallowed.contains(*url) || expected.never.contains(*url);
        Ok(Verdict {
            expected: expected.pages.len(),
            stored: stored.len(),
            missing: missing.map(|(url, _)| url.clone()).collect(),
            surplus: stored.keys().filter(|url| !expected.may_store(url)).cloned().collect(),
            forbidden: requested.iter().filter(is_forbidden).cloned().collect(),
            impolite: judge(log, limits).iter().map(ToString::to_string).collect(),
            damaged: damage.or(Exit::Done, &mut io::stderr()).is_err(),
        })
    }

    /// True if nothing differs.
    pub(crate) fn is_right(&self) -> bool {
        !self.damaged && self.kinds().iter().all(|(_, found)| found.is_empty())
    }

    fn kinds(&self) -> [(&'static str, &Vec<String>); 4] {
        [
            ("missing, or with another status", &self.missing),
            ("in the archive, but not expected", &self.surplus),
            ("requested, but excluded by robots.txt", &self.forbidden),
            ("requests that came too soon", &self.impolite),
        ]
    }
}

/// A table, what differs by name, and a sentence.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, number: usize| {
            writeln!(f, "    {name:<38} {:>6}", count(number as u64))
        };
        row(f, "pages expected", self.expected)?;
        row(f, "pages in the archive", self.stored)?;
        for (name, found) in self.kinds() {
            row(f, name, found.len())?;
            for what in found.iter().take(NAMED) {
                writeln!(f, "      {}", Escaped(what))?;
            }
        }
        if self.is_right() {
            writeln!(f, "\nThe result is right: every page was found, and nothing else was requested.")
        } else {
            writeln!(
                f,
                "\nThe result is NOT right. This is a fault of the crawler; please report it with the lines above."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::archive::tests::FakeArchive;
    use crate::simweb::{SimOptions, SimWeb};

    #[test]
    fn n30_each_difference_is_counted_and_named_and_none_is_a_right_result() {
        let web =
            SimWeb::start(SimOptions { hosts: 3, pages: 30, robots_share: 0.8, ..SimOptions::default().smooth() })
                .unwrap();
        let (expected, port) = (web.expected(), web.http_port());
        let verdict = |archive: &FakeArchive, log: &[Request]| {
            Verdict::of(archive, expected, log, port, &Limits::default()).unwrap()
        };
        let mut archive = FakeArchive::default();
        for (url, page) in &expected.pages {
            archive.page(url, page.status, "text/html", b"");
        }
        let right = verdict(&archive, &[]);
        assert!(right.is_right() && right.to_string().contains("The result is right"), "{right}");

        let (first, _) = expected.pages.first_key_value().unwrap();
        archive.page(first, 418, "text/html", b"");
        archive.page("http://elsewhere.test/\x1b[2J", 200, "text/html", b"");
        let wrong = verdict(&archive, &[]);
        assert_eq!((wrong.missing.len(), wrong.surplus.len()), (1, 1));
        let text = wrong.to_string();
        assert!(text.contains(first.as_str()) && text.contains("NOT right") && !text.contains('\x1b'), "{text}");
        assert!(!wrong.is_right());

        let nothing = verdict(&FakeArchive::default(), &[]);
        assert_eq!((nothing.missing.len(), nothing.stored), (expected.pages.len(), 0));
    }

    #[test]
    fn n30_requests_that_were_not_allowed_or_came_too_soon_are_held_against_the_crawl() {
        let web =
            SimWeb::start(SimOptions { hosts: 3, pages: 60, robots_share: 0.8, ..SimOptions::default().smooth() })
                .unwrap();
        let expected = web.expected();
        let url = expected.disallowed.first().unwrap();
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let request = |path: &str, started_us: u64| -> Request {
            serde_json::from_value(serde_json::json!({
                "host": host.split(':').next().unwrap(), "path": path, "method": "GET", "status": 200,
                "address": "127.0.0.1", "connection": 0, "user_agent": "", "started_us": started_us,
                "finished_us": started_us + 1
            }))
            .unwrap()
        };
        let log = [request("/robots.txt", 0), request(&format!("/{path}"), 10)];
        let limits = Limits { delay_min: std::time::Duration::from_millis(100), ..Limits::default() };
        let verdict = Verdict::of(&FakeArchive::default(), expected, &log, web.http_port(), &limits).unwrap();
        assert_eq!(&verdict.forbidden, std::slice::from_ref(url));
        assert_eq!(verdict.impolite.len(), 1, "the request for the page came too soon: {verdict}");
    }
}

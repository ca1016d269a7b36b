//! External links: what they are, and what a check of them has brought.
//!
//! An external link leads to a URL that the crawl did not ask for because it is outside of its scope. `list` writes
//! these URLs, each once, in the order of their keys. They are fetched by a separate crawl, with robots.txt, delays and
//! logs; `Checked::read` reads what that crawl knows. There is one `Verdict` for each URL: that on the end of its
//! redirects.
//!
//! A server answers strangers less than visitors. So only what means a missing page or a faulty server makes a link
//! broken: 404, 410, 5xx, no such name, no connection, no TLS. Other errors (401, 403, 429 and so on) are counted, and
//! so are servers that were too slow, URLs that robots.txt forbids, and URLs of which nothing is known: those that were
//! not asked for, redirects in a circle (which may want a cookie), and faults that may be on this side.

use std::fmt;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::gather::UNDATED;
use super::line::{fields, key, line};
use super::link::{How, Link};
use super::node::{Answered, Node};
use super::redirects::{Next, RedirectPath, follow};
use super::spool::{Lines, Spool, SpoolWriter};
use super::{Result, logs};
use crate::archive::{self, Archive};
use crate::checkpoint::Identity;
use crate::dirs::CrawlDirs;
use crate::disk::sorter::Sorter;
use crate::disk::{self, Disk};
use crate::outcome::{Cause, Failure, Reason};
use crate::text::figures::{count, counted};
use crate::web::headers;
use crate::web::url::CanonicalUrl;

/// Redirects in a row that a check follows.
pub const REDIRECTS_MAX: usize = 10;
/// Judgement of an external link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It leads to an answer.
    Sound,
    /// It does not, because of this.
    Broken(String),
    /// The server refuses it to a crawler, or wants a login.
    Refused,
    /// robots.txt forbids to ask.
    Forbidden,
    /// No answer in time.
    TimedOut,
    /// Nothing is known: it was not asked for, or the obstacle was not the server.
    Unchecked,
}

/// External URLs by what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExternalCounts {
    /// All that links lead to.
    pub urls: u64,
    /// Those that lead to an answer.
    pub sound: u64,
    /// Those that do not.
    pub broken: u64,
    /// Answered with 401, 403, 429 and so on.
    pub refused: u64,
    /// Links not asked for, as robots.txt wants it.
    pub forbidden: u64,
    /// Links without an answer in time.
    pub timed_out: u64,
    /// Those of which nothing is known.
    pub unchecked: u64,
    /// Reason for which the check ended before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

impl ExternalCounts {
    /// URLs of which the server's answer is known, or that there is none.
    pub(crate) fn checked(&self) -> u64 {
        self.sound + self.broken + self.refused + self.timed_out
    }

    pub(super) fn count(&mut self, verdict: &Verdict) {
        self.urls += 1;
        *match verdict {
            Verdict::Sound => &mut self.sound,
            Verdict::Broken(_) => &mut self.broken,
            Verdict::Refused => &mut self.refused,
            Verdict::Forbidden => &mut self.forbidden,
            Verdict::TimedOut => &mut self.timed_out,
            Verdict::Unchecked => &mut self.unchecked,
        } += 1;
    }
}

impl fmt::Display for ExternalCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |number: u64, words: &str| (number > 0).then(|| format!("{} {words}", count(number)));
        let parts = [
            of(self.sound, "sound"),
            of(self.broken, "broken"),
            of(self.refused, "refused by their servers"),
            of(self.timed_out, "timed out"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        write!(f, "external links: {} of {} checked", count(self.checked()), counted(self.urls, "URL"))?;
        if !parts.is_empty() {
            write!(f, " ({})", parts.join(", "))?;
        }
        if let Some(forbidden) = of(self.forbidden, "excluded by robots.txt") {
            write!(f, ", {forbidden}")?;
        }
        if let Some(unchecked) = of(self.unchecked, "not checked") {
            write!(f, ", {unchecked}")?;
        }
        self.stopped.as_ref().map_or(Ok(()), |why| write!(f, "; the check was not finished: {why}"))
    }
}

/// Writes the URLs of external links to `out`, one a line, and says how many they are; what is external, `is_outside`
/// says. What comes back are their keys.
pub(super) fn list(
    links: &Spool,
    nodes: &Spool,
    is_outside: &dyn Fn(&CanonicalUrl) -> bool,
    out: &mut dyn Write,
) -> Result<(Spool, u64)> {
    let (mut links, mut nodes, mut keys, mut urls) = (links.read(), nodes.read(), SpoolWriter::new()?, 0);
    while let Some(target) = links.key()? {
        let is_known = nodes.next_of(&target)?.is_some();
        let mut named = None;
        while links.peek()?.is_some_and(|line| key(line) == target) {
            let link = links.next()?.and_then(Link::of_line).filter(|_| !is_known && named.is_none());
            named = named.or_else(|| link.filter(|link| is_checked(link.how)).map(|link| link.url));
        }
        let url = named.and_then(|url| CanonicalUrl::parse(&url).ok()).filter(is_outside);
        if let Some(url) = url {
            keys.push(&target)?;
            writeln!(out, "{}", url.as_str())?;
            urls += 1;
        }
    }
    Ok((keys.finish()?, urls))
}

/// Returns whether links of this kind are checked: those that a visitor, a browser or a search engine follows. Links of
/// sitemaps are not: these cannot speak for other sites.
pub(super) fn is_checked(how: How) -> bool {
    !matches!(how, How::Listed | How::Sitemap)
}

/// Results of a check.
pub(super) struct Checked {
    /// Verdicts by key.
    verdicts: Spool,
}

impl Checked {
    /// Reads the results of the crawl in `dir`, which may have stored nothing. Answers that cannot be read are passed
    /// to `faulty`.
    pub(super) fn read(dir: &Path, memory: usize, faulty: &mut dyn FnMut(archive::Error)) -> Result<Checked> {
        let disk = Disk::real();
        let mut nodes = Sorter::new(memory / 2);
        match Archive::open_on(&disk, dir) {
            Ok(archive) => answers(&archive, &mut nodes, faulty)?,
            Err(archive::Error::NothingStored(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let dirs = CrawlDirs::open(&disk, dir)?;
        let keys = Identity::read_copy(&disk, dir)?.key_maker();
        logs::read(&disk, &dirs, &keys, &mut nodes)?;
        Ok(Checked { verdicts: verdicts(&Spool::of(nodes)?, memory / 2)? })
    }

    /// Lines of [`Verdict`]s.
    pub(super) fn verdicts(&self) -> &Spool {
        &self.verdicts
    }
}

impl Verdict {
    fn line(&self, key: &str) -> Vec<u8> {
        let (mark, detail) = match self {
            Verdict::Sound => ("s", ""),
            Verdict::Broken(why) => ("b", why.as_str()),
            Verdict::Refused => ("r", ""),
            Verdict::Forbidden => ("f", ""),
            Verdict::TimedOut => ("t", ""),
            Verdict::Unchecked => ("u", ""),
        };
        line([key, mark, detail])
    }

    fn of_line(bytes: &[u8]) -> Verdict {
        let [_, mark, detail] = fields(bytes);
        match mark {
            "s" => Verdict::Sound,
            "b" => Verdict::Broken(detail.to_owned()),
            "r" => Verdict::Refused,
            "f" => Verdict::Forbidden,
            "t" => Verdict::TimedOut,
            _ => Verdict::Unchecked,
        }
    }

    /// Returns the verdict on the URL of this key. The keys have to rise from call to call.
    pub(super) fn of(verdicts: &mut Lines<'_>, key: &[u8]) -> disk::Result<Verdict> {
        let line = verdicts.next_of(key)?;
        Ok(line.map_or(Verdict::Unchecked, |line| Verdict::of_line(&line)))
    }

    /// Returns the verdict on what is known of a URL.
    fn of_node(node: &Node) -> Verdict {
        match node {
            Node::Answered(known) => match known.status {
                404 | 410 | 500..=599 => Verdict::Broken(node.fault().unwrap_or_default()),
                400.. => Verdict::Refused,
                _ => Verdict::Sound,
            },
            Node::Forbidden(_) => Verdict::Forbidden,
            Node::Failed(why) => {
                let given_up = format!("{}: ", Reason::HostGivenUp);
                let cause = why.strip_prefix(&given_up).unwrap_or(why);
                match Cause::ALL.iter().copied().find(|known| known.text() == cause) {
                    Some(Cause::Timeout | Cause::TooSlow | Cause::ConnectTimeout) => Verdict::TimedOut,
                    // these may be a fault on this side
                    None | Some(Cause::TlsName | Cause::NotByProxy) => Verdict::Unchecked,
                    Some(found) => match found.failure() {
                        Failure::NoSuchHost
                        | Failure::Connect
                        | Failure::Tls
                        | Failure::Disconnected
                        | Failure::Protocol => Verdict::Broken(cause.to_owned()),
                        _ => Verdict::Unchecked,
                    },
                }
            }
        }
    }

    /// The same on the URL from which redirects lead there.
    fn behind_redirects(self, end: &str) -> Verdict {
        match self {
            Verdict::Broken(why) => Verdict::Broken(format!("redirects to {end}: {why}")),
            verdict => verdict,
        }
    }
}

/// Adds lines of what was answered. Bodies are not looked at.
fn answers(archive: &Archive, nodes: &mut Sorter, faulty: &mut dyn FnMut(archive::Error)) -> Result<()> {
    let keys = archive.archives().keys();
    let key = |url: &CanonicalUrl| keys.plain_spelling(url).unwrap_or_else(|| url.as_str().to_owned());
    for page in archive.pages() {
        let page = match page {
            Ok(page) if page.is_robots() => continue,
            Ok(page) => page,
            Err(error) => {
                faulty(error);
                continue;
            }
        };
        let Ok(url) = CanonicalUrl::parse(page.url()) else { continue };
        let mut known = Answered { status: page.status(), ..Answered::default() };
        if (300..400).contains(&known.status) {
            match page.answer() {
                Ok(answer) => {
                    let target = headers::location(&answer.headers).and_then(|value| url.join(&value).ok());
                    known.redirect = target.map_or_else(String::new, |target| key(&target));
                }
                Err(error) => {
                    faulty(error);
                    continue;
                }
            }
        }
        nodes.push(&Node::Answered(known).line(&key(&url), UNDATED))?;
    }
    Ok(())
}

/// The verdict on each URL of `nodes`, redirects followed.
fn verdicts(nodes: &Spool, memory: usize) -> disk::Result<Spool> {
    follow(nodes, memory, &judge)
}

fn judge(path: &RedirectPath<'_>) -> Next {
    let verdict = match path.node {
        // it may be one that wants a cookie
        _ if path.is_circle() => Verdict::Unchecked,
        _ if path.stops.len() > REDIRECTS_MAX => Verdict::Broken(format!("more than {REDIRECTS_MAX} redirects")),
        None => Verdict::Unchecked,
        Some(node) => match node.redirect() {
            Some(target) => return Next::On(target.to_owned()),
            None if path.stops.is_empty() => Verdict::of_node(node),
            None => Verdict::of_node(node).behind_redirects(path.at),
        },
    };
    Next::End(verdict.line(path.start()))
}

#[cfg(test)]
mod tests {
    use super::super::spool::Spool;
    use super::*;
    use crate::outcome::HostFault;

    fn answered(status: u16, redirect: &str) -> Node {
        Node::Answered(Answered { status, redirect: redirect.to_owned(), ..Answered::default() })
    }

    #[test]
    fn what_a_missing_page_or_a_dead_server_says_is_broken_and_what_a_stranger_is_told_is_not() {
        let failed = |words: &str| Node::Failed(words.to_owned());
        let gone = |fault: HostFault| failed(&format!("host given up: {fault}"));
        let broken = |why: &str| Verdict::Broken(why.to_owned());
        for (node, verdict) in [
            (answered(200, ""), Verdict::Sound),
            (answered(304, ""), Verdict::Sound),
            (answered(404, ""), broken("404 Not Found")),
            (answered(410, ""), broken("410 Gone")),
            (answered(503, ""), broken("503 Service Unavailable")),
            (answered(403, ""), Verdict::Refused),
            (answered(429, ""), Verdict::Refused),
            (answered(999, ""), Verdict::Refused),
            (Node::Forbidden("Disallow: /".to_owned()), Verdict::Forbidden),
            (failed("no such host"), broken("no such host")),
            (failed("no connection"), broken("no connection")),
            (failed("timed out"), Verdict::TimedOut),
            (failed("DNS failed"), Verdict::Unchecked),
            (failed("private address"), Verdict::Unchecked),
            (failed("proxy failed"), Verdict::Unchecked),
            (failed("host given up"), Verdict::Unchecked),
            (gone(HostFault::Host(Cause::ConnectionRefused)), broken("connection refused")),
            (gone(HostFault::Host(Cause::CertificateExpired)), broken("certificate expired")),
            (gone(HostFault::Host(Cause::ConnectTimeout)), Verdict::TimedOut),
            (gone(HostFault::Host(Cause::ServFail)), Verdict::Unchecked),
            (gone(HostFault::RobotsStatus(500)), Verdict::Unchecked),
        ] {
            assert_eq!(Verdict::of_node(&node), verdict, "{node:?}");
            assert_eq!(Verdict::of_line(&verdict.line("k")), verdict);
        }
    }

    #[test]
    fn the_end_of_redirects_counts() {
        let mut sorter = Sorter::new(0);
        let mut add = |key: &str, status: u16, to: &str| {
            sorter.push(&answered(status, to).line(key, UNDATED)).unwrap();
        };
        for (key, to) in [("a", "b"), ("b", "gone"), ("c", "fine"), ("l", "m"), ("m", "l"), ("s", "s"), ("u", "never")]
        {
            add(key, 301, to);
        }
        add("gone", 404, "");
        add("fine", 200, "");
        (0..12).for_each(|n| add(&format!("z{n:02}"), 302, &format!("z{:02}", n + 1)));
        add("z12", 200, "");
        let verdicts = verdicts(&Spool::of(sorter).unwrap(), 1 << 20).unwrap();
        let mut lines = verdicts.read();
        let mut of = |key: &str| Verdict::of(&mut lines, key.as_bytes()).unwrap();
        let broken = |why: &str| Verdict::Broken(why.to_owned());
        assert_eq!(of("a"), broken("redirects to gone: 404 Not Found"));
        assert_eq!(of("b"), broken("redirects to gone: 404 Not Found"));
        assert_eq!((of("c"), of("fine")), (Verdict::Sound, Verdict::Sound));
        assert_eq!(of("gone"), broken("404 Not Found"));
        assert_eq!((of("l"), of("m"), of("s")), (Verdict::Unchecked, Verdict::Unchecked, Verdict::Unchecked));
        assert_eq!((of("u"), of("v")), (Verdict::Unchecked, Verdict::Unchecked));
        assert_eq!((of("z00"), of("z01")), (broken("more than 10 redirects"), broken("more than 10 redirects")));
        assert_eq!(of("z02"), Verdict::Sound);
    }
}

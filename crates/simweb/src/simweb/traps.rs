//! Hosts that have no end: mazes, calendars, session ids, wildcard sub-domains, sitemaps without number, paths that
//! repeat, and answers that drip.
//!
//! They hang on the roots of ordinary hosts, and lead to nothing but themselves. All they answer is a function of the
//! seed and the URL, so nothing is remembered, and what a crawler meets does not depend on when it comes. A trap has a
//! separate registrable domain, and all of them one address that no ordinary host has.

use std::fmt::Write;
use std::time::Duration;

use super::answer::SimResponse;
use super::conduct::Fate;
use super::drip::Drip;
use super::lots::lots;
use super::options::SimOptions;
use super::trap_kinds::{TrapKind, domain};

/// Links of a page of a maze.
const FAN: usize = 8;
/// URLs of a sitemap without end.
const LISTED: usize = 200;
/// Pages of a host that drips.
const DRIPPING: usize = 20;

/// The kind of a trap.
pub(super) fn kind(options: &SimOptions, trap: u32) -> TrapKind {
    let kinds = if options.trap_kinds.is_empty() { &TrapKind::ALL[..] } else { &options.trap_kinds[..] };
    kinds[trap as usize % kinds.len()]
}

/// The trap that has a host of that name, in lower case.
pub(super) fn trap_named(options: &SimOptions, name: &str) -> Option<u32> {
    let (below, rest) = name.strip_suffix(".example")?.rsplit_once('.')?;
    let digits = rest.strip_prefix("trap")?;
    let trap: u32 = digits.parse().ok()?;
    let exists = (trap as usize) < options.traps && trap.to_string() == digits;
    let lives = below == "www" || (kind(options, trap) == TrapKind::Wildcard && !below.is_empty());
    (exists && lives).then_some(trap)
}

/// Answers a request for `path` at the host `name` of a trap.
pub(super) fn answer(options: &SimOptions, port: u16, trap: u32, name: &str, path: &str) -> SimResponse {
    let mut place = TrapUrl { port, trap, name, path, lots: lots(options.seed, name, path) };
    let kind = kind(options, trap);
    if kind == TrapKind::Silent {
        return SimResponse { fate: Fate::Hangs, ..SimResponse::default() };
    }
    let answer = if path == "/robots.txt" { place.robots(kind) } else { place.page(kind) };
    let latency = if answer.drip.is_some() { Duration::ZERO } else { options.latency };
    SimResponse { latency, ..answer }
}

/// One URL of a trap.
struct TrapUrl<'a> {
    port: u16,
    trap: u32,
    name: &'a str,
    path: &'a str,
    lots: fastrand::Rng,
}

impl TrapUrl<'_> {
    fn robots(&mut self, kind: TrapKind) -> SimResponse {
        let mut text = "User-agent: *\nDisallow:\n".to_owned();
        if kind == TrapKind::Sitemaps {
            let (name, port, word) = (self.name, self.port, self.word());
            text.push_str(&format!("Sitemap: http://{name}:{port}/index-{word}.xml\n"));
        }
        // of three hosts that drip, one does so with everything, one with heads, one with bodies
        let drips = kind == TrapKind::Drip && self.drip_kind() == 0;
        SimResponse { drip: drips.then_some(Drip::Head), ..ok("text/plain", text) }
    }

    fn drip_kind(&self) -> u32 {
        self.trap / TrapKind::ALL.len() as u32 % 3
    }

    fn page(&mut self, kind: TrapKind) -> SimResponse {
        let links: Vec<String> = match kind {
            TrapKind::Maze => (0..FAN).map(|_| format!("/{}/{}-{}", self.word(), self.word(), self.word())).collect(),
            TrapKind::Calendar => self.calendar(),
            TrapKind::SessionQuery => self.shop(|item, id| format!("/shop/{item}?sid={:016x}", id as u64)),
            TrapKind::SessionPath => self.shop(|item, id| format!("/s/{id:032x}/{item}")),
            TrapKind::Wildcard => (0..FAN)
                .map(|_| format!("http://{}-{}.{}:{}/", self.word(), self.word(), domain(self.trap), self.port))
                .collect(),
            TrapKind::Sitemaps => match self.sitemap() {
                Some(xml) => return ok("application/xml", xml),
                None => vec!["/".to_owned()],
            },
            TrapKind::Repeating => ["about/", "contact/", "./more/about/"].map(str::to_owned).into(),
            TrapKind::Drip if self.path == "/" => (0..DRIPPING).map(|n| format!("/drop-{n}")).collect(),
            TrapKind::Silent => Vec::new(),
            TrapKind::SameText => return self.same_text(),
            TrapKind::Drip => {
                let drip = if self.drip_kind() == 2 { Drip::Body } else { Drip::Head };
                return SimResponse { drip: Some(drip), ..ok("text/html", "drop ".repeat(1_000)) };
            }
        };
        let mut html = format!("<!DOCTYPE html>\n<title>{}</title>\n", self.word());
        for link in links {
            let word = self.word();
            writeln!(html, "<p>{} <a href=\"{link}\">{word}</a></p>", self.word()).expect("a string grows");
        }
        ok("text/html; charset=utf-8", html)
    }

    /// A page that says what all pages of its trap say, with links that no other page has.
    fn same_text(&mut self) -> SimResponse {
        let mut lots = fastrand::Rng::with_seed(self.trap.into());
        let mut html = "<!DOCTYPE html>\n<title>Nothing here</title>\n<p>".to_owned();
        for _ in 0..100 {
            html.extend((0..6).map(|_| lots.lowercase()).chain([' ']));
        }
        write!(html, "</p>\n<p>seen {} times</p>\n", self.lots.u16(..)).expect("a string grows");
        for _ in 0..FAN {
            writeln!(html, "<p><a href=\"/{}/{}\">more</a></p>", self.word(), self.word()).expect("a string grows");
        }
        ok("text/html; charset=utf-8", html)
    }

    fn calendar(&self) -> Vec<String> {
        let mut parts = self.path.split('/').skip(2).map(|part| part.parse::<u64>().unwrap_or(1).min(1 << 40));
        let mut part = |otherwise| parts.next().unwrap_or(otherwise);
        let (year, month, day) = (part(2_026), part(1), part(1));
        let date = |year: u64, month: u64, day: u64| {
            let (month, year) = if month > 12 { (1, year + 1) } else { (month, year) };
            format!("/cal/{year}/{month}/{day}")
        };
        let tomorrow = if day >= 28 { date(year, month + 1, 1) } else { date(year, month, day + 1) };
        vec![tomorrow, date(year, month + 1, 1), date(year + 1, month, day)]
    }

    fn shop(&mut self, link: impl Fn(&str, u128) -> String) -> Vec<String> {
        ["apples", "pears", "plums", "basket"].map(|item| link(item, self.lots.u128(..))).into()
    }

    fn sitemap(&mut self) -> Option<String> {
        let (root, entry, paths) = if self.path.starts_with("/index-") {
            let paths = (0..FAN).map(|n| format!("/{}-{}.xml", if n % 2 == 0 { "index" } else { "map" }, self.word()));
            ("sitemapindex", "sitemap", paths.collect::<Vec<_>>())
        } else if self.path.starts_with("/map-") {
            ("urlset", "url", (0..LISTED).map(|_| format!("/page-{}", self.word())).collect())
        } else {
            return None;
        };
        let mut xml = format!("<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        for path in paths {
            writeln!(xml, "<{entry}><loc>http://{}:{}{path}</loc></{entry}>", self.name, self.port)
                .expect("a string grows");
        }
        writeln!(xml, "</{root}>").expect("a string grows");
        Some(xml)
    }

    /// A word that has not been there before, as far as 26^9 words reach.
    fn word(&mut self) -> String {
        (0..9).map(|_| self.lots.lowercase()).collect()
    }
}

fn ok(content_type: &'static str, body: String) -> SimResponse {
    SimResponse { status: 200, content_type, body: body.into_bytes(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::simweb::trap_kinds::host_name;

    fn options() -> SimOptions {
        SimOptions { traps: 16, ..SimOptions::default() }
    }

    #[test]
    fn a_name_leads_to_its_trap_and_others_lead_nowhere() {
        let options = options();
        for trap in 0..16 {
            assert_eq!(trap_named(&options, &host_name(trap)), Some(trap));
            let below = trap_named(&options, &format!("never-seen.{}", domain(trap)));
            assert_eq!(below.is_some(), kind(&options, trap) == TrapKind::Wildcard);
        }
        for name in ["www.trap16.example", "www.trap01.example", "trap1.example", "www.trapx.example", "x.test"] {
            assert_eq!(trap_named(&options, name), None, "{name}");
        }
    }

    #[test]
    fn traps_answer_alike_whenever_they_are_asked_and_a_maze_never_repeats() {
        let options = options();
        let body = |path: &str| String::from_utf8(answer(&options, 80, 0, "www.trap0.example", path).body).unwrap();
        let (mut seen, mut path) = (HashSet::new(), "/".to_owned());
        for _ in 0..1_000 {
            let page = body(&path);
            assert_eq!(page, body(&path));
            for link in page.split("href=\"").skip(1) {
                path = link.split('"').next().unwrap().to_owned();
                assert!(seen.insert(path.clone()) && !path.contains(|c: char| c.is_ascii_digit()));
            }
        }
    }
}

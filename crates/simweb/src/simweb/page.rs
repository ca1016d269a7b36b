//! The bodies of pages, written again for every request.
//!
//! A body depends on the seed, the URL, the port (absolute links name it) and, where pages change by the clock, on the
//! version, and on nothing else. Links are the same in all versions. Its text is cut
//! from one pool of made-up words, so that it compresses about as well as prose and costs little more than a copy.

use std::fmt::Write;

use super::links::{Base, Link, Markup, directory, links};
use super::names::{self, path};
use super::plan::{Kind as PageKind, Plan, Purpose, Target};
use super::requisites::{Kind, Requisite};
use super::version::Version;
use crate::text::figures::iso_ms;

/// Size of the pool of words. A page is cut from it in many pieces, so pages share words but no paragraphs.
const POOL_BYTES: usize = 64 << 10;
/// One page in this many names a base.
const BASE_EVERY: u8 = 12;
const ADVERT_BYTES: usize = 60;
const SYLLABLES: [&str; 24] = [
    "ar", "be", "con", "da", "el", "fi", "gro", "hu", "in", "ka", "lo", "mer", "na", "or", "pe", "qui", "ra", "sto",
    "ti", "un", "ve", "wa", "yo", "zen",
];

/// Writes pages of one web.
#[derive(Debug)]
pub(super) struct Pages {
    pool: String,
}

impl Pages {
    /// Fills the pool.
    pub(crate) fn new(plan: &Plan) -> Pages {
        let mut dice = plan.dice(Purpose::Words, 0, 0);
        let words: Vec<String> = (0..2_000)
            .map(|_| (0..dice.usize(1..5)).map(|_| SYLLABLES[dice.usize(0..SYLLABLES.len())]).collect())
            .collect();
        let mut pool = String::with_capacity(POOL_BYTES + 32);
        while pool.len() < POOL_BYTES {
            // Frequent words are drawn more often, as in prose.
            let rank = (dice.f64() * dice.f64() * words.len() as f64) as usize;
            pool.push_str(&words[rank]);
            pool.push_str(if dice.u8(0..12) == 0 { ". " } else { " " });
        }
        Pages { pool }
    }

    /// The identity body of a page, in a version of it where pages have several.
    pub(crate) fn page(&self, plan: &Plan, port: u16, host: u32, url: u32, version: Option<Version>) -> Vec<u8> {
        let duplicate = plan.kind(host, url) == PageKind::Duplicate;
        let number = if duplicate { u32::MAX } else { url };
        let mut dice = plan.dice(Purpose::Body, host, number);
        let own = path(plan, host, url);
        let based = !duplicate && dice.u8(0..BASE_EVERY) == 0;
        // Against the root, relative links come out wrong for a crawler that does not know of bases; against a deep
        // base, dots that climb too high do no harm, and that must be so as well.
        let directory = match based {
            false => directory(&own),
            true if url.is_multiple_of(4) => "/base/of/all/",
            true => "/",
        };
        let base = Base { plan, port, host, directory };
        let links = if duplicate {
            vec![Link { target: Target::Url(host, 0), markup: Markup::Anchor, spelling: 10 }]
        } else {
            links(plan, host, url)
        };
        let bytes = plan.options.page_bytes / 2 + dice.usize(0..=plan.options.page_bytes);
        let mut changing = version.map(|now| plan.dice_at(Purpose::Version, host, number, now.changed.ms()));
        if let (Some(Version { is_first: false, is_cosmetic: false, .. }), Some(changing)) = (version, &changing) {
            dice = changing.clone();
        }
        let mut html = String::with_capacity(bytes + 160 * (links.len() + 4));
        self.head(&mut html, &base, based, !duplicate && names_nofollow(plan, host, url), &mut dice);
        let between = bytes.saturating_sub(html.len()) / (links.len() + 1);
        let between = between.saturating_sub(60);
        for link in &links {
            html.push_str("<p>");
            self.text(&mut html, between, &mut dice);
            write_link(&mut html, &base, link);
            html.push_str("</p>\n");
        }
        html.push_str("<p>");
        let rest = bytes.saturating_sub(html.len() + 20);
        self.text(&mut html, rest, &mut dice);
        html.push_str("</p>\n");
        if let (Some(Version { changed, is_cosmetic: true, .. }), Some(changing)) = (version, &mut changing) {
            write!(html, "<p>Updated on {}</p>\n<div class=\"advert\">", iso_ms(changed)).expect("a string grows");
            self.text(&mut html, ADVERT_BYTES, changing);
            html.push_str("</div>\n");
        }
        html.push_str("</body>\n</html>\n");
        html.into_bytes()
    }

    fn head(&self, html: &mut String, base: &Base, based: bool, nofollow: bool, dice: &mut fastrand::Rng) {
        html.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
        self.text(html, 30, dice);
        html.push_str("</title>\n");
        if based {
            let name = &base.plan.host(base.host).name;
            writeln!(html, "<base href=\"http://{name}:{}{}\">", base.port, base.directory).expect("a string grows");
        }
        if nofollow {
            html.push_str("<meta name=\"robots\" content=\"nofollow\">\n");
        }
        html.push_str("</head>\n<body>\n");
    }

    /// About `bytes` of words from somewhere in the pool.
    pub(crate) fn text(&self, html: &mut String, mut bytes: usize, dice: &mut fastrand::Rng) {
        while bytes > 0 {
            let start = dice.usize(0..self.pool.len() - 1);
            let piece = bytes.min(1_024).min(self.pool.len() - start);
            html.push_str(&self.pool[start..start + piece]);
            bytes -= piece;
        }
    }
}

/// Returns whether a sealed page says so in its head. The others say so in a header.
pub(super) fn names_nofollow(plan: &Plan, host: u32, url: u32) -> bool {
    plan.kind(host, url) == PageKind::Sealed && url.is_multiple_of(2)
}

/// Returns the target of a redirect, in one of the forms that Location has.
pub(super) fn location(plan: &Plan, port: u16, host: u32, url: u32) -> String {
    let target = plan.redirect_target(host, url);
    let own = names::path(plan, host, url);
    let base = Base { plan, port, host, directory: directory(&own) };
    let mut dice = plan.dice(Purpose::SimResponse, host, url);
    match dice.u8(0..4) {
        0 => base.spell(target, 2),
        1 => base.spell(target, 10),
        2 => base.spell(target, 12),
        _ => base.plain(target),
    }
}

/// Writes a link in its markup.
pub(super) fn write_link(html: &mut String, base: &Base, link: &Link) {
    let plain = || attribute(&base.plain(link.target));
    let spelt = || quoted(&base.spell(link.target, link.spelling), link.spelling);
    let written = match link.markup {
        Markup::Anchor => write!(html, "<a class=x href={} title=\"more\">more</a>", spelt()),
        Markup::Area => write!(html, "<map><area shape=rect HREF={} alt=\"\"></map>", spelt()),
        Markup::Frame => write!(html, "<iframe\n src={} width=10></iframe>", spelt()),
        Markup::Image => write!(html, "<img alt=\"a > b\" src={} >", spelt()),
        Markup::Candidates => write!(html, "<img srcset=\"{} 2x\" alt=''>", plain()),
        Markup::Refresh => write!(html, "<meta http-equiv=\"refresh\" content=\"900; url={}\">", plain()),
        Markup::Embedded => match link.target {
            Target::Requisite(Requisite { kind: Kind::Sheet, .. }) => {
                write!(html, "<link rel=stylesheet href=\"{}\">", plain())
            }
            Target::Requisite(Requisite { kind: Kind::Frame, .. }) => {
                write!(html, "<iframe src=\"{}\"></iframe>", plain())
            }
            _ => write!(html, "<img src=\"{}\" alt=''>", plain()),
        },
        Markup::Nofollow => write!(html, "<a href={} rel=\"external nofollow\">more</a>", spelt()),
        Markup::Comment => write!(html, "<!-- <a href=\"{}\">more</a> -->", plain()),
        Markup::Script => write!(html, "<script>var more = '<a href=\"{}\">';</script>", base.plain(link.target)),
    };
    written.expect("a string grows");
}

/// The value in double quotes, in single quotes or, where it may, in none.
fn quoted(value: &str, spelling: u8) -> String {
    let value = attribute(value);
    match spelling >> 4 {
        0..3 if !value.contains(|c: char| c.is_ascii_whitespace()) => format!("{value} "),
        3..6 => format!("'{value}'"),
        _ => format!("\"{value}\""),
    }
}

/// No URL here holds a quote or an angle bracket; ampersands are written as references.
pub(super) fn attribute(value: &str) -> String {
    value.replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simweb::SimOptions;

    fn web(options: SimOptions) -> (Plan, Pages) {
        let plan = Plan::new(options).unwrap();
        let pages = Pages::new(&plan);
        (plan, pages)
    }

    #[test]
    fn bodies_have_the_size_asked_for_and_compress_like_prose() {
        let (plan, pages) = web(SimOptions { hosts: 5, pages: 300, page_bytes: 20_000, ..Default::default() });
        let bodies: Vec<Vec<u8>> =
            (0..plan.len()).map(|n| plan.at(n)).map(|(host, url)| pages.page(&plan, 80, host, url, None)).collect();
        let mean = bodies.iter().map(Vec::len).sum::<usize>() / bodies.len();
        assert!((17_000..23_000).contains(&mean), "{mean}");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut gzip, &bodies[0]).unwrap();
        let ratio = bodies[0].len() as f64 / gzip.finish().unwrap().len() as f64;
        assert!((2.0..6.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn duplicates_of_a_host_have_one_body() {
        let (plan, pages) = web(SimOptions { hosts: 1, pages: 300, duplicate_share: 0.3, ..Default::default() });
        let mut bodies: Vec<_> = (0..300)
            .filter(|&url| plan.kind(0, url) == PageKind::Duplicate)
            .map(|url| pages.page(&plan, 80, 0, url, None))
            .collect();
        assert!(bodies.len() > 50);
        bodies.dedup();
        assert_eq!(bodies.len(), 1);
    }
}

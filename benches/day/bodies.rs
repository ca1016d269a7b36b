//! The pool of bodies: HTML of the sizes that pages of the web have, in gzip, with the links of a page in it.
//!
//! **Sizes.** Web Almanac 2024, chapter Markup, "Distribution of the transfer size of HTML document", desktop: 6, 14,
//! 33, 73 and 148 kB at the percentiles 10, 25, 50, 75 and 90 (<https://almanac.httparchive.org/en/2024/markup>). These
//! are bytes on the line "including compression", and [`Sizes::Sent`] reads them so: its decoded pages are some four
//! times as large, 240 kB on average, which is what the crawl of 2025 reports as its mean (242 KB). [`Sizes::Decoded`]
//! takes the same figures for bytes before compression. Between the percentiles sizes are interpolated on a logarithmic
//! scale. The ends are not from the source: 1 kB at 0 and 400 kB at 100.
//!
//! **Content.** A third is text, the rest markup, scripts and styles. There is a link for each [`LINK_BYTES`] of HTML
//! beside the menu, which links all pages of the host; one in eight leads to another host. These numbers are ours, and
//! so is the coding: all bodies are in gzip, while of the desktop pages of the source 53 % were, 36 % in Brotli, and
//! 11 % plain. Pages embed nothing, as the crawl of 2025 was of HTML only.
//!
//! A body is used for many pages. Its gzip head gets another time stamp for each, so that no payload comes twice and
//! every page is stored.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::ValueEnum;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::hosts::Host;
use super::options::Options;

/// Bodies of the pool.
const BODIES: usize = 256;
/// Bytes of HTML for each link beside the menu.
const LINK_BYTES: usize = 1_500;
/// One in so many links leads to another host.
const FOREIGN: u32 = 8;
/// Percentiles, and the bytes there.
const PERCENTILES: [(f64, f64); 7] = [
    (0.0, 1_000.0),
    (0.10, 6_000.0),
    (0.25, 14_000.0),
    (0.50, 33_000.0),
    (0.75, 73_000.0),
    (0.90, 148_000.0),
    (1.0, 400_000.0),
];
/// Bytes of the page by which the ratio of the compression is found.
const SAMPLE_BYTES: usize = 200_000;

/// Meaning of the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sizes {
    /// Bytes on the line, in gzip.
    Sent,
    /// Bytes of the HTML.
    Decoded,
}

/// The web that the links of the bodies lead into.
#[derive(Clone, Debug)]
pub struct Linked {
    pub hosts: u32,
    pub pages_per_host: u32,
    pub scheme: &'static str,
    pub port: u16,
    /// True if URLs have addresses for hosts.
    pub by_address: bool,
}

impl Linked {
    /// The web of `options` at a port.
    pub fn of(options: &Options, port: u16) -> Self {
        let Options { hosts, pages_per_host, by_address, .. } = *options;
        Linked { hosts, pages_per_host, scheme: options.scheme.name(), port, by_address }
    }

    /// Returns the URL of a page.
    pub fn url(&self, host: Host, page: u32) -> String {
        let name = if self.by_address { host.address().to_string() } else { host.name() };
        format!("{}://{name}:{}{}", self.scheme, self.port, path(page))
    }
}

/// The path of a page of a host.
pub fn path(page: u32) -> String {
    if page == 0 { "/".to_owned() } else { format!("/articles/{page}.html") }
}

/// The page of a host at a path.
pub fn page_at(path: &str) -> Option<u32> {
    if path == "/" { Some(0) } else { path.strip_prefix("/articles/")?.strip_suffix(".html")?.parse().ok() }
}

/// The bodies, and their mean sizes.
pub struct Bodies {
    bodies: Vec<Vec<u8>>,
    pub sent_mean: f64,
    pub decoded_mean: f64,
}

impl Bodies {
    /// Makes all bodies, of sizes at even distances in the distribution.
    pub fn make(sizes: Sizes, linked: &Linked) -> Bodies {
        let mut writer = Writer::new(linked);
        let ratio = match sizes {
            Sizes::Sent => SAMPLE_BYTES as f64 / gzip(writer.page(SAMPLE_BYTES).as_bytes()).len() as f64,
            Sizes::Decoded => 1.0,
        };
        let mut decoded = 0;
        let bodies: Vec<_> = (0..BODIES)
            .map(|number| {
                let html = writer.page((quantile((number as f64 + 0.5) / BODIES as f64) * ratio) as usize);
                decoded += html.len();
                gzip(html.as_bytes())
            })
            .collect();
        let sent: usize = bodies.iter().map(Vec::len).sum();
        Bodies { bodies, sent_mean: sent as f64 / BODIES as f64, decoded_mean: decoded as f64 / BODIES as f64 }
    }

    /// Returns the body of a page by its number in the whole web, which no other page has.
    pub fn of(&self, number: u32) -> Vec<u8> {
        let which = fastrand::Rng::with_seed(number.into()).usize(..self.bodies.len());
        let mut body = self.bodies[which].clone();
        // MTIME of the gzip head (RFC 1952)
        body[4..8].copy_from_slice(&(number + 1).to_le_bytes());
        body
    }
}

/// The size below which `share` of the pages are.
fn quantile(share: f64) -> f64 {
    let after = PERCENTILES.partition_point(|&(at, _)| at < share).clamp(1, PERCENTILES.len() - 1);
    let ((from, low), (to, high)) = (PERCENTILES[after - 1], PERCENTILES[after]);
    low * (high / low).powf((share - from) / (to - from))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

/// Writes pages.
struct Writer<'a> {
    linked: &'a Linked,
    rng: fastrand::Rng,
    words: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(linked: &'a Linked) -> Self {
        let mut rng = fastrand::Rng::with_seed(25);
        let words = (0..6_000).map(|_| (0..rng.usize(2..11)).map(|_| rng.lowercase()).collect()).collect();
        Writer { linked, rng, words }
    }

    /// A page of about that many bytes.
    fn page(&mut self, bytes: usize) -> String {
        let mut html =
            format!("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}", self.text(8));
        html.push_str("</title><meta name=\"viewport\" content=\"width=device-width\"></head><body><nav><ul>");
        for page in 0..self.linked.pages_per_host {
            let _ = write!(html, "<li class=\"menu__item\"><a href=\"{}\">{}</a></li>", path(page), self.text(2));
        }
        html.push_str("</ul></nav><main>\n");
        let mut linked = html.len();
        while html.len() < bytes {
            match self.rng.u32(..10) {
                0..=5 => self.card(&mut html),
                6..=7 => self.script(&mut html),
                _ => self.style(&mut html),
            }
            while linked + LINK_BYTES < html.len() {
                linked += LINK_BYTES;
                self.link(&mut html);
            }
        }
        html.push_str("</main></body></html>\n");
        html
    }

    fn card(&mut self, html: &mut String) {
        let (id, text) = (self.rng.u32(..), self.text(45));
        let _ = writeln!(
            html,
            "<div class=\"grid__item grid__item--wide card\" data-component=\"card\" data-id=\"{id}\"><div \
             class=\"card__body card__body--padded\"><p class=\"card__text\" itemprop=\"description\">{text}</p></div>\
             </div>"
        );
    }

    fn script(&mut self, html: &mut String) {
        html.push_str("<script type=\"application/json\">{\"items\":[");
        for _ in 0..4 {
            let (id, words) = (self.rng.u32(..), self.text(2));
            let _ = write!(html, "{{\"id\":{id},\"available\":true,\"variant\":null,\"title\":\"{words}\"}},");
        }
        html.push_str("null]}</script>\n");
    }

    fn style(&mut self, html: &mut String) {
        html.push_str("<style>");
        for _ in 0..4 {
            let (name, width) = (self.text(1), self.rng.u32(..999));
            let _ = write!(html, ".{name}{{display:flex;margin:0 auto;padding:0;width:{width}px;color:#333}}");
        }
        html.push_str("</style>\n");
    }

    fn link(&mut self, html: &mut String) {
        let page = self.rng.u32(..self.linked.pages_per_host);
        let href = if self.rng.u32(..FOREIGN) == 0 {
            self.linked.url(Host(self.rng.u32(..self.linked.hosts)), page)
        } else {
            path(page)
        };
        let _ = writeln!(html, "<h3 class=\"card__title\"><a class=\"link\" href=\"{href}\">{}</a></h3>", self.text(5));
    }

    /// Words as often as words are: the nth of them 1/n times.
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            let nth = ((self.words.len() as f64).powf(self.rng.f64()) - 1.0) as usize;
            text.push_str(&self.words[nth]);
            text.push(' ');
        }
        text.pop();
        text
    }
}

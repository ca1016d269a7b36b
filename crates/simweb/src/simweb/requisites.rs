//! Requisites that pages embed from elsewhere: style sheets that import others, pictures, fonts, frames. They are on
//! hosts of other domains, which have no pages that a crawl of the web's own domains wants.
//!
//! Each of them is at a level, the number of embeds between a page and it less one, and is named at that level only.
//! So how far it is from a page does not depend on which page is fetched first, and a crawl with a bound has one right
//! result. Sheets that import sheets, and frames in frames, go beyond any usual bound. A frame links to a page of its
//! host, and the robots.txt of each host names a sitemap: neither is needed by anybody.

use super::answer::{SimResponse, plain};
use super::options::SimOptions;

/// Hosts that have them.
const HOSTS: u32 = 5;
/// Different ones of a kind on a host at a level.
const NUMBERS: u32 = 6;
/// Sheets that import one another.
const LEVELS: u8 = 5;
/// Path below which a robots.txt forbids a picture.
const PRIVATE: &str = "/private/";

/// Kinds of requisites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Sheet,
    Picture,
    Font,
    Frame,
    /// A picture that has moved to another host.
    Moved,
    /// A picture that robots.txt forbids.
    Private,
    /// The page that a frame links to.
    Page,
    /// The sitemap that robots.txt names.
    Sitemap,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Requisite {
    pub kind: Kind,
    host: u32,
    level: u8,
    number: u32,
}

/// Ways in which one requisite names another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Embeds,
    Redirects,
    Links,
}

/// The host of that name, in lower case, if the web has requisites.
pub(super) fn host_named(options: &SimOptions, name: &str) -> Option<u32> {
    let digits = name.strip_prefix("www.assets")?.strip_suffix(".example")?;
    let host = digits.parse().ok().filter(|host| *host < HOSTS)?;
    (options.requisite_share > 0.0 && format!("{host}") == digits).then_some(host)
}

/// Returns the requisites that a page embeds. Most of them are embedded by others too.
pub(super) fn of_page(options: &SimOptions, mut dice: fastrand::Rng) -> Vec<Requisite> {
    if dice.f64() >= options.requisite_share {
        return Vec::new();
    }
    let kinds = [(Kind::Sheet, 1), (Kind::Picture, 1), (Kind::Moved, 3), (Kind::Frame, 3), (Kind::Private, 5)];
    let mut named = Vec::new();
    for (kind, one_in) in kinds {
        let at = Requisite { kind, host: dice.u32(0..HOSTS), level: 0, number: dice.u32(0..NUMBERS) };
        if dice.u8(0..one_in) == 0 {
            named.push(at);
        }
    }
    named
}

impl Requisite {
    /// The sitemap of the host of this one.
    pub(crate) fn sitemap(self) -> Requisite {
        Requisite { kind: Kind::Sitemap, level: 0, number: 0, ..self }
    }

    /// Embeds in a row that lead to it from a page.
    pub(crate) fn embeds(self) -> usize {
        usize::from(self.level) + 1
    }

    /// Returns whether robots.txt lets the requisite be fetched.
    pub(crate) fn is_allowed(self) -> bool {
        self.kind != Kind::Private
    }

    /// Returns the requisites that this one names.
    pub(crate) fn names(self) -> Vec<(Naming, Requisite)> {
        let Requisite { host, level, number, .. } = self;
        let next = (host + 1) % HOSTS;
        let below = |kind, host| (Naming::Embeds, Requisite { kind, host, level: level + 1, number });
        match self.kind {
            Kind::Sheet => {
                let import = (level + 1 < LEVELS).then(|| below(Kind::Sheet, next));
                [below(Kind::Font, next), below(Kind::Picture, host)].into_iter().chain(import).collect()
            }
            Kind::Frame => {
                let frame = (level + 1 < LEVELS).then(|| below(Kind::Frame, next));
                let page = (Naming::Links, Requisite { kind: Kind::Page, level: 0, ..self });
                [below(Kind::Picture, next), page].into_iter().chain(frame).collect()
            }
            // of a number that no page embeds
            Kind::Moved => {
                let there = Requisite { kind: Kind::Picture, host: next, number: number + NUMBERS, ..self };
                vec![(Naming::Redirects, there)]
            }
            _ => Vec::new(),
        }
    }

    /// Its URL.
    pub(crate) fn url(self, port: u16) -> String {
        format!("http://www.assets{}.example:{port}{}", self.host, self.path())
    }

    /// The path of its URL.
    pub(crate) fn path(self) -> String {
        let Requisite { level, number, .. } = self;
        match self.kind {
            Kind::Sheet => format!("/{level}/sheet-{number}.css"),
            Kind::Picture => format!("/{level}/picture-{number}.png"),
            Kind::Font => format!("/{level}/font-{number}.woff2"),
            Kind::Frame => format!("/{level}/frame-{number}.html"),
            Kind::Moved => format!("/{level}/moved-{number}.png"),
            Kind::Private => format!("{PRIVATE}picture-{number}.png"),
            Kind::Page => format!("/page-{number}.html"),
            Kind::Sitemap => "/sitemap.xml".to_owned(),
        }
    }

    /// The one of `host` with that path.
    fn at(host: u32, path: &str) -> Option<Requisite> {
        let digit = path[1..].split('/').next().and_then(|first| first.parse().ok());
        let level: u8 = digit.filter(|level| *level <= LEVELS).unwrap_or(0);
        let number = path.rsplit('-').next()?.split('.').next()?.parse().unwrap_or(0);
        let kinds = [
            Kind::Sheet,
            Kind::Picture,
            Kind::Font,
            Kind::Frame,
            Kind::Moved,
            Kind::Private,
            Kind::Page,
            Kind::Sitemap,
        ];
        let all = kinds.map(|kind| Requisite { kind, host, level, number });
        all.into_iter().find(|one| one.number < 2 * NUMBERS && one.path() == path)
    }

    /// Returns its answer.
    pub(crate) fn answer(self, port: u16) -> SimResponse {
        let named = self.names();
        let url = |wanted: Naming, kind: Kind| {
            let mut found = named.iter().filter(|(naming, there)| (*naming, there.kind) == (wanted, kind));
            found.next().map(|(_, there)| there.url(port))
        };
        let embedded = |kind| url(Naming::Embeds, kind);
        let (content_type, body) = match self.kind {
            Kind::Sheet => {
                let import =
                    embedded(Kind::Sheet).map_or(String::new(), |sheet| format!("@import \"{sheet}\" screen;\n"));
                let (font, picture) = (embedded(Kind::Font), embedded(Kind::Picture));
                let (font, picture) = (font.unwrap_or_default(), picture.unwrap_or_default());
                let css = format!(
                    "/* url(http://comment.invalid/) */\n{import}@font-face {{ font-family: words; src: url({font}) \
                     format(\"woff2\"); }}\nbody {{ background: url('{picture}') no-repeat; }}\n"
                );
                ("text/css", css)
            }
            Kind::Frame => {
                let (picture, page) = (embedded(Kind::Picture), url(Naming::Links, Kind::Page));
                let (picture, page) = (picture.unwrap_or_default(), page.unwrap_or_default());
                let frame =
                    embedded(Kind::Frame).map_or(String::new(), |frame| format!("<iframe src=\"{frame}\"></iframe>"));
                let html = format!(
                    "<!DOCTYPE html>\n<title>frame</title>\n<img src=\"{picture}\"><a href=\"{page}\">more</a>{frame}\n"
                );
                ("text/html; charset=utf-8", html)
            }
            Kind::Page => ("text/html; charset=utf-8", "<!DOCTYPE html>\n<title>page</title>\n".to_owned()),
            Kind::Sitemap => {
                let empty = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"></urlset>\n";
                ("application/xml", empty.to_owned())
            }
            Kind::Moved => {
                let there = named.first().map(|(_, there)| there.url(port));
                return SimResponse { location: there, ..plain(302, "It has moved.\n".to_owned()) };
            }
            Kind::Picture | Kind::Private => ("image/png", format!("\u{89}PNG picture {self:?}")),
            Kind::Font => ("font/woff2", format!("wOF2 font {self:?}")),
        };
        SimResponse { status: 200, content_type, body: body.into_bytes(), ..Default::default() }
    }
}

/// Answers a request for `path` at `host`.
pub(super) fn answer(port: u16, host: u32, path: &str) -> SimResponse {
    if path == "/robots.txt" {
        let sitemap = Requisite { kind: Kind::Sitemap, host, level: 0, number: 0 }.url(port);
        return plain(200, format!("User-agent: *\nDisallow: {PRIVATE}\nSitemap: {sitemap}\n"));
    }
    match Requisite::at(host, path) {
        Some(found) => found.answer(port),
        None => plain(404, "There is no such thing.\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn whatever_is_named_is_answered_at_its_url_and_lies_at_one_level_however_it_is_reached() {
        let options = SimOptions { requisite_share: 0.5, ..SimOptions::default() };
        let mut levels: BTreeMap<Requisite, u8> = BTreeMap::new();
        let pages = (0..1_000).flat_map(|seed| of_page(&options, fastrand::Rng::with_seed(seed)));
        let mut open: Vec<(Requisite, u8)> = pages.map(|found| (found, 0)).collect();
        while let Some((found, level)) = open.pop() {
            assert_eq!(*levels.entry(found).or_insert(level), level, "{found:?}");
            assert_eq!(Requisite::at(found.host, &found.path()), Some(found));
            let answer = answer(80, found.host, &found.path());
            assert!(matches!(answer.status, 200 | 302), "{found:?}");
            let text = String::from_utf8_lossy(&answer.body).into_owned() + answer.location.as_deref().unwrap_or("");
            for (naming, there) in found.names() {
                assert!(text.contains(&there.url(80)), "{found:?} does not name {there:?}");
                if naming != Naming::Links {
                    open.push((there, level + u8::from(naming == Naming::Embeds)));
                }
            }
        }
        assert!(levels.len() > 50 && levels.values().any(|level| *level == LEVELS), "{}", levels.len());
    }

    #[test]
    fn a_web_without_requisites_has_no_hosts_for_them() {
        let options = SimOptions { requisite_share: 0.1, ..SimOptions::default() };
        assert_eq!(host_named(&options, "www.assets4.example"), Some(4));
        for name in ["www.assets5.example", "www.assets04.example", "assets1.example", "www.assets1.test"] {
            assert_eq!(host_named(&options, name), None, "{name}");
        }
        assert_eq!(host_named(&SimOptions::default(), "www.assets4.example"), None);
    }
}

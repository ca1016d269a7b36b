//! Statements of an HTML page about itself, read in one pass over its tags and without a tree: title, description, main
//! heading, canonical URLs, translations, images without alternative text.
//!
//! What scripts would not run for is passed over: `template`, and `noscript` for headings and images. An image that is
//! hidden from readers (`role=presentation`, `role=none`, `aria-hidden=true`) needs no text.

use crate::web::html::display::Display;
use crate::web::html::text::Squeezed;
use crate::web::references::push_value;
use crate::web::tags::{Tag, Tags};

/// Bytes of a text; what is beyond is left out.
const TEXT_BYTES_MAX: usize = 1_024;
/// Bytes of markup that are looked at for a text.
const RAW_BYTES_MAX: usize = 16 << 10;
/// Canonical URLs of a page that are looked at.
const CANONICALS_MAX: usize = 16;
/// Translations of a page.
const ALTERNATES_MAX: usize = 1_000;
/// Images of a page that lack a text.
const IMAGES_MAX: usize = 10_000;
/// A URL of an image in its page, as `data:`, is shown by its beginning.
const SOURCE_BYTES_MAX: usize = 2_048;

/// Statements of a page about itself. URLs are as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The first title that is none of a drawing.
    pub title: Option<String>,
    /// `<meta name=description>`, the first one.
    pub description: Option<String>,
    /// The text of the first `h1`, with the alternative texts of its images.
    pub h1: Option<String>,
    /// `<base href>`, the first one.
    pub base: Option<String>,
    /// `<link rel=canonical>` of the head: elsewhere search engines take none.
    pub canonicals: Vec<String>,
    /// `<link rel=alternate hreflang>`: code and URL.
    pub alternates: Vec<(String, String)>,
    /// The page asks browsers to use https for what is named by http.
    pub upgrades: bool,
    /// Images, buttons that are images, and areas of images, without an alt attribute.
    pub without_alt: Vec<String>,
}

/// The attributes that are looked at.
#[derive(Clone, Debug, Default)]
struct Values {
    http_equiv: Option<String>,
    name: Option<String>,
    content: Option<String>,
    rel: Option<String>,
    href: Option<String>,
    hreflang: Option<String>,
    src: Option<String>,
    data_src: Option<String>,
    alt: Option<String>,
    kind: Option<String>,
    role: Option<String>,
    aria_hidden: Option<String>,
}

impl Values {
    fn read(tags: &mut Tags<'_>) -> Option<Values> {
        let mut values = Values::default();
        let is_whole = tags.attributes(|attribute| {
            let mut named = [0; 12];
            let Some(lower) = named.get_mut(..attribute.name.len()) else { return };
            lower.copy_from_slice(attribute.name);
            lower.make_ascii_lowercase();
            let value = match &*lower {
                b"http-equiv" => &mut values.http_equiv,
                b"name" => &mut values.name,
                b"content" => &mut values.content,
                b"rel" => &mut values.rel,
                b"href" => &mut values.href,
                b"hreflang" => &mut values.hreflang,
                b"src" => &mut values.src,
                b"data-src" => &mut values.data_src,
                b"alt" => &mut values.alt,
                b"type" => &mut values.kind,
                b"role" => &mut values.role,
                b"aria-hidden" => &mut values.aria_hidden,
                _ => return,
            };
            value.get_or_insert_with(|| plain(attribute.value));
        });
        is_whole.then_some(values)
    }

    fn rel_has(&self, word: &str) -> bool {
        let rel = self.rel.as_deref().unwrap_or_default();
        rel.split_ascii_whitespace().any(|found| found.eq_ignore_ascii_case(word))
    }

    fn is_image(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("image"))
    }

    fn is_hidden(&self) -> bool {
        let is = |value: &Option<String>, wanted: &str| {
            value.as_deref().is_some_and(|value| value.trim().eq_ignore_ascii_case(wanted))
        };
        is(&self.role, "presentation") || is(&self.role, "none") || is(&self.aria_hidden, "true")
    }
}

/// The place of a tag.
#[derive(Clone, Copy)]
struct Place {
    /// Browsers see it: it is in no `noscript`.
    is_seen: bool,
    is_in_head: bool,
}

/// Elements of a head; another one begins the body.
const OF_HEAD: [&str; 12] =
    ["html", "head", "title", "base", "basefont", "bgsound", "link", "meta", "style", "script", "noscript", "template"];

fn stays_in_head(tag: &Tag<'_>) -> bool {
    let is = |name: &str| tag.name.eq_ignore_ascii_case(name.as_bytes());
    if tag.is_start { OF_HEAD.iter().any(|name| is(name)) } else { !is("head") }
}

/// Returns whether a Content-Security-Policy asks browsers to use https for what is named by http.
pub(super) fn upgrades(policy: &str) -> bool {
    let mut directives = policy.split([';', ',']);
    directives.any(|directive| directive.trim().eq_ignore_ascii_case("upgrade-insecure-requests"))
}

/// A value with its references read.
fn plain(value: &[u8]) -> String {
    let mut text = String::new();
    push_value(&value[..value.len().min(RAW_BYTES_MAX)], &mut text);
    text
}

/// A text in one line, of bounded length.
fn squeezed(text: &str) -> String {
    let mut line = Squeezed::default();
    line.push(text);
    cut(line.text)
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

impl Facts {
    /// Those of a page in UTF-8.
    pub(super) fn of(html: &[u8], is_xhtml: bool) -> Facts {
        let mut tags = if is_xhtml { Tags::new_xhtml(html) } else { Tags::new(html) };
        let (mut facts, mut unscripted) = (Facts::default(), 0_usize);
        let mut heading: Option<Squeezed> = None;
        let mut is_in_head = true;
        while let Some(tag) = tags.next_tag_after(|piece| add_text(&mut heading, piece)) {
            if tag.name.eq_ignore_ascii_case(b"noscript") {
                unscripted = if tag.is_start { unscripted + 1 } else { unscripted.saturating_sub(1) };
            }
            if let Some(text) = &mut heading {
                let is_end = tag.name.len() == 2 && tag.name[0].eq_ignore_ascii_case(&b'h') && tag.name[1] == b'1';
                if is_end {
                    facts.h1.get_or_insert_with(|| cut(std::mem::take(&mut text.text)));
                    heading = None;
                } else if Display::of_bytes(tag.name).parts_words() {
                    text.part();
                }
            }
            is_in_head = is_in_head && stays_in_head(&tag);
            let place = Place { is_seen: unscripted == 0, is_in_head };
            if tag.is_start && !facts.take(&tag, &mut tags, place, &mut heading) {
                break;
            }
        }
        if let Some(text) = heading {
            facts.h1.get_or_insert(cut(text.text));
        }
        facts
    }

    /// Takes what a start tag says; false where the document ends within it.
    fn take(&mut self, tag: &Tag<'_>, tags: &mut Tags<'_>, place: Place, heading: &mut Option<Squeezed>) -> bool {
        let mut name = [0; 5];
        let Some(lower) = name.get_mut(..tag.name.len()) else { return true };
        lower.copy_from_slice(tag.name);
        lower.make_ascii_lowercase();
        if !tags.is_of_page() {
            return true;
        }
        match &*lower {
            b"title" if self.title.is_none() => {
                if !tags.attributes(|_| {}) {
                    return false;
                }
                self.title = Some(squeezed(&plain(tags.raw())));
            }
            b"h1" if place.is_seen && self.h1.is_none() => *heading = Some(Squeezed::default()),
            b"meta" | b"link" | b"base" | b"img" | b"input" | b"area" => {
                let Some(values) = Values::read(tags) else { return false };
                match &*lower {
                    b"meta" => self.take_meta(values),
                    b"link" => self.take_link(values, place),
                    b"base" => self.base = self.base.take().or(values.href),
                    b"img" if place.is_seen => self.take_image(values, heading),
                    b"input" if place.is_seen && values.is_image() => self.take_picture(&values, &values.src),
                    b"area" if place.is_seen && values.href.is_some() => self.take_picture(&values, &values.href),
                    _ => {}
                }
            }
            _ => {}
        }
        true
    }

    fn take_meta(&mut self, values: Values) {
        let policy = values.http_equiv.filter(|name| name.trim().eq_ignore_ascii_case("content-security-policy"));
        self.upgrades |= policy.and(values.content.as_deref()).is_some_and(upgrades);
        let is_description = values.name.is_some_and(|name| name.trim().eq_ignore_ascii_case("description"));
        if is_description && self.description.is_none() {
            self.description = Some(squeezed(&values.content.unwrap_or_default()));
        }
    }

    fn take_link(&mut self, values: Values, place: Place) {
        let (canonical, alternate) = (place.is_in_head && values.rel_has("canonical"), values.rel_has("alternate"));
        let Some(href) = values.href.filter(|href| !href.trim().is_empty()) else { return };
        if canonical && self.canonicals.len() < CANONICALS_MAX {
            self.canonicals.push(href.clone());
        }
        if let Some(code) = values.hreflang.filter(|_| alternate && self.alternates.len() < ALTERNATES_MAX) {
            self.alternates.push((cut(code), href));
        }
    }

    fn take_image(&mut self, values: Values, heading: &mut Option<Squeezed>) {
        if let (Some(text), Some(alt)) = (heading, &values.alt) {
            text.part();
            text.push(alt);
            text.part();
        }
        let source = if values.src.is_some() { &values.src } else { &values.data_src };
        self.take_picture(&values, source);
    }

    /// Takes something that needs a text in its place, which is seen at `source`.
    fn take_picture(&mut self, values: &Values, source: &Option<String>) {
        if values.alt.is_none() && !values.is_hidden() && self.without_alt.len() < IMAGES_MAX {
            let mut source = source.clone().unwrap_or_default();
            source.truncate(source.floor_char_boundary(SOURCE_BYTES_MAX));
            self.without_alt.push(source);
        }
    }
}

fn add_text(heading: &mut Option<Squeezed>, piece: &[u8]) {
    if let Some(text) = heading.as_mut().filter(|text| text.text.len() < TEXT_BYTES_MAX) {
        text.push(&plain(piece));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Facts {
        Facts::of(page.as_bytes(), false)
    }

    #[test]
    fn a_page_says_what_it_is() {
        let facts =
            of("<!doctype html><title> A &amp;\n b</title><base href=/x/><meta NAME=Description content=' d '>\
             <link rel='canonical' href=c><link rel=alternate hreflang=de href=/de>\
             <h1>One <i>t</i>wo<br>three<img src=i alt=four></h1><h1>no</h1><img src=a><img src=b alt=''>\
             <img alt src=c><img src=d role=presentation><img data-src=e>");
        let expected = Facts {
            title: Some("A & b".to_owned()),
            description: Some("d".to_owned()),
            h1: Some("One two three four".to_owned()),
            base: Some("/x/".to_owned()),
            canonicals: vec!["c".to_owned()],
            alternates: vec![("de".to_owned(), "/de".to_owned())],
            upgrades: false,
            without_alt: vec!["a".to_owned(), "e".to_owned()],
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn a_policy_that_upgrades_requests_is_seen() {
        let meta = |policy: &str| of(&format!("<meta http-equiv=Content-Security-Policy content='{policy}'>")).upgrades;
        assert!(meta("default-src *; Upgrade-Insecure-Requests"));
        assert!(!meta("default-src *; report-uri /upgrade-insecure-requests") && !meta(""));
        assert!(!of("<meta name=content-security-policy content=upgrade-insecure-requests>").upgrades);
    }

    #[test]
    fn a_canonical_url_counts_in_the_head() {
        let head = "<link rel=canonical href=a><script></script><noscript><link rel=canonical href=b></noscript>";
        assert_eq!(of(head).canonicals, ["a", "b"]);
        assert_eq!(of(&format!("<html><head>{head}</head><link rel=canonical href=c>")).canonicals, ["a", "b"]);
        assert_eq!(of(&format!("{head}<p><link rel=canonical href=c>")).canonicals, ["a", "b"]);
    }

    #[test]
    fn what_stands_for_an_image_needs_a_text() {
        let page = "<input type=Image src=a><input type=image src=b alt=go><input src=c><map><area href=d>\
                    <area href=e alt=e><area></map><template><area href=f></template>";
        assert_eq!(of(page).without_alt, ["a", "d"]);
    }

    #[test]
    fn what_is_empty_is_there_and_empty() {
        let facts = of("<title></title><meta name=description><h1> </h1>");
        let empty = Some(String::new());
        assert_eq!((facts.title, facts.description, facts.h1), (empty.clone(), empty.clone(), empty));
        assert_eq!(of("<p>nothing"), Facts::default());
    }

    #[test]
    fn what_nobody_sees_does_not_count() {
        let page = "<svg><title>no</title></svg><template><h1>no</h1><img src=x></template><noscript><img src=y>\
                    </noscript><!-- <h1>no</h1> --><script>'<img src=z>'</script><h1>yes";
        let facts = of(page);
        assert_eq!((facts.title, facts.h1.as_deref(), facts.without_alt.len()), (None, Some("yes"), 0));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let facts = of(&format!("<title>a{0}</title><h1>a{0}</h1>", "ü".repeat(9_000)));
        assert_eq!([facts.title.unwrap().len(), facts.h1.unwrap().len()], [TEXT_BYTES_MAX - 1; 2]);
    }
}

//! The walk over the tags of a document, and what each of them names.
//!
//! Markup within markup, of `srcdoc` and `noframes`, is walked over likewise, one level deep: more of the kind within
//! it is passed over.

use super::LinkKind;
use super::element::{Common, Element, Name, Values, link_kind};
use super::found::Found;
use super::text::AnchorTexts;
use crate::fingerprint::Fingerprint;
use crate::web::json::JsonLinks;
use crate::web::tags::{Attribute, Tag, Tags};
use crate::web::{json, mime, script};

/// Rules of the walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) respect_nofollow: bool,
    /// Besides `robots`, the name that `<meta>`s give us.
    pub(super) agent_token: String,
    /// Strings in scripts that look like file names are taken for URLs.
    pub(super) script_files: bool,
    /// Strings of answers in JSON that are links.
    pub(super) json_links: JsonLinks,
    /// URLs in text without markup are links.
    pub(super) text_links: bool,
    /// A URL counts once for each kind of link.
    pub(super) each_kind: bool,
    /// Links beside the content are distinguished.
    pub(super) tells_aside: bool,
}

impl Rules {
    /// The fingerprint by which a link of this kind is known as seen.
    pub(super) fn seen_as(&self, key: Fingerprint, kind: LinkKind) -> Fingerprint {
        match self.each_kind {
            false => key,
            true => Fingerprint::from_bits(key.bits() ^ (kind as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        }
    }
}

/// State by which the walk knows if it is beside the content of its page. Elements that are left open count until the
/// content begins: the outcome is an order, and no more.
#[derive(Default)]
struct Beside {
    open: usize,
}

impl Beside {
    fn pass(&mut self, tag: &Tag<'_>) {
        let is = |names: &[&[u8]]| names.iter().any(|name| tag.name.eq_ignore_ascii_case(name));
        match tag.name.len() {
            3 | 5 | 6 if is(&[b"nav", b"aside", b"header", b"footer"]) => {
                self.open = if tag.is_start { self.open + 1 } else { self.open.saturating_sub(1) };
            }
            4 | 7 if tag.is_start && is(&[b"main", b"article"]) => self.open = 0,
            _ => {}
        }
    }

    /// The kind of an anchor at this place.
    fn anchor(&self) -> LinkKind {
        if self.open > 0 { LinkKind::Aside } else { LinkKind::Anchor }
    }
}

/// True if browsers run a script with these attributes: one of another type has data.
fn is_run(values: &Values<'_>) -> bool {
    let kind = values.get(Name::Type).map(<[u8]>::trim_ascii).filter(|kind| !kind.is_empty());
    let is_code = |kind: &str| kind == "module" || mime::is_javascript(kind);
    kind.is_none_or(|kind| is_code(&String::from_utf8_lossy(kind).to_ascii_lowercase()))
}

impl Found {
    /// Gathers what the tags of a page name, and what it says of itself.
    pub(super) fn gather(&mut self, tags: Tags<'_>, rules: &Rules) {
        let mut texts = self.texts.take();
        let mut text_bytes = 0;
        self.walk(tags, rules, false, &mut texts, &mut |piece: &[u8], texts: &mut Option<AnchorTexts>| {
            text_bytes += piece.trim_ascii().len();
            texts.iter_mut().for_each(|texts| texts.push(piece));
        });
        self.text_bytes = text_bytes;
        texts.iter_mut().for_each(AnchorTexts::close);
        self.texts = texts;
    }

    /// Gathers the links of markup within a page.
    fn gather_inner(&mut self, markup: &[u8], rules: &Rules) {
        self.walk(Tags::new(markup), rules, true, &mut None, &mut |_, _| {});
    }

    fn walk(
        &mut self,
        mut tags: Tags<'_>,
        rules: &Rules,
        is_inner: bool,
        texts: &mut Option<AnchorTexts>,
        text: &mut impl FnMut(&[u8], &mut Option<AnchorTexts>),
    ) {
        let mut beside = Beside::default();
        while let Some(tag) = tags.next_tag_after(|piece| text(piece, texts)) {
            if rules.tells_aside {
                beside.pass(&tag);
            }
            if let Some(texts) = texts {
                texts.pass(&tag);
            }
            if !tag.is_start {
                continue;
            }
            let before = self.values.len();
            let Some(element) = Element::of(tag.name) else {
                if !tags.attributes(|attribute| self.take_common(attribute)) {
                    return self.truncate(before);
                }
                continue;
            };
            let mut values = Values::default();
            let is_of_page = tags.is_of_page();
            let is_whole = tags.attributes(|attribute| {
                if !values.take(attribute) {
                    self.take_common(attribute);
                }
            });
            if !is_whole {
                return self.truncate(before);
            }
            let number = self.values.len();
            self.take(element, &values, rules, is_inner || !is_of_page, beside.anchor());
            if !is_inner {
                self.anchors += usize::from(element == Element::Anchor);
                self.scripts += usize::from(element == Element::Script && is_run(&values));
                if let Some(texts) = texts {
                    texts.begin_tag(&tag, values.get(Name::Alt), (self.values.len() > number).then_some(number));
                }
            }
            match element {
                Element::Style => self.take_style(&values, &tags),
                Element::Script => self.take_script(&values, tags.raw(), rules),
                Element::Fallback if !is_inner => self.gather_inner(tags.raw(), rules),
                Element::Iframe if !is_inner => self.take_srcdoc(&values, rules),
                _ => {}
            }
        }
    }

    /// An attribute that means the same in all elements.
    fn take_common(&mut self, attribute: Attribute<'_>) {
        match Common::of(attribute.name) {
            Some(Common::Css) => self.add_style(attribute.value),
            Some(Common::Background) => self.add(Some(attribute.value), LinkKind::Embed),
            None if self.lazy_names.contain(attribute.name) => self.add_lazy(attribute.name, attribute.value),
            None => {}
        }
    }

    /// Takes the URLs that the attributes of an element name.
    fn take(&mut self, element: Element, values: &Values<'_>, rules: &Rules, is_inner: bool, anchor: LinkKind) {
        if !is_inner && matches!(element, Element::Anchor | Element::Link) && values.rel_has("license") {
            self.add_license(values.get(Name::Href));
        }
        let is_nofollow = || rules.respect_nofollow && values.rel_has("nofollow");
        let reference = values.get(Name::Href).or(values.get(Name::XlinkHref));
        match element {
            Element::Anchor if !is_nofollow() => self.add(reference, anchor),
            Element::Link if !is_nofollow() => self.take_link(values),
            Element::Anchor | Element::Link => {}
            Element::Base if !is_inner => self.set_base(values.get(Name::Href)),
            Element::Meta if !is_inner => self.take_meta(values, rules),
            Element::Base | Element::Meta | Element::Style | Element::Fallback => {}
            Element::Source => self.take_source(values),
            Element::Script => self.add(values.get(Name::Src).or(reference), LinkKind::Embed),
            Element::Iframe => {
                self.add(values.get(Name::Src), LinkKind::Embed);
                self.add(values.get(Name::Longdesc), LinkKind::Other);
            }
            Element::Input if values.is(Name::Type, "image") => self.add(values.get(Name::Src), LinkKind::Embed),
            Element::Input => {}
            Element::Object => self.add(values.get(Name::Data), LinkKind::Embed),
            Element::Applet => self.take_applet(values),
            Element::Param => self.take_param(values),
            Element::Quote => self.add(values.get(Name::Cite), LinkKind::Other),
            Element::SvgReference => self.add(reference.or(values.get(Name::Src)), LinkKind::Embed),
        }
    }

    fn take_link(&mut self, values: &Values<'_>) {
        let Some(kind) = link_kind(values) else { return };
        self.has_icon |= values.rel_has("icon");
        self.add(values.get(Name::Href), kind);
        self.add_srcset(values.get(Name::Imagesrcset));
    }

    fn take_source(&mut self, values: &Values<'_>) {
        self.add(values.get(Name::Src), LinkKind::Embed);
        self.add_srcset(values.get(Name::Srcset));
        for name in [Name::Poster, Name::Lowsrc, Name::Dynsrc] {
            self.add(values.get(name), LinkKind::Embed);
        }
        self.add(values.get(Name::Longdesc), LinkKind::Other);
    }

    fn take_meta(&mut self, values: &Values<'_>, rules: &Rules) {
        let Some(content) = values.get(Name::Content) else { return };
        let token = &rules.agent_token;
        let is_for_all = values.is(Name::Name, "robots");
        if is_for_all || !token.is_empty() && values.is(Name::Name, token) {
            self.decoded(content, |found, text| {
                found.directives.add(text);
                found.statements.add_meta(text, is_for_all);
            });
        } else if values.is(Name::Name, "tdm-reservation") {
            self.decoded(content, |found, text| found.statements.add_reservation(text));
        } else if values.is(Name::Name, "tdm-policy") {
            self.add_license(Some(content));
        } else if values.is(Name::HttpEquiv, "refresh") {
            self.add_refresh(content);
        }
    }

    /// The archives of an applet, or its class where it has none, below its code base.
    fn take_applet(&mut self, values: &Values<'_>) {
        let text = |name| values.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        let base = text(Name::Codebase).unwrap_or_default();
        let base = if base.is_empty() || base.ends_with('/') { base } else { base + "/" };
        let is_relative = |file: &str| !file.starts_with('/') && !file.contains(':');
        let mut add = |file: &str| {
            let url = if is_relative(file) { format!("{base}{file}") } else { file.to_owned() };
            self.add(Some(url.as_bytes()), LinkKind::Embed);
        };
        let archives = text(Name::Archive).unwrap_or_default();
        archives.split(',').map(str::trim).filter(|file| !file.is_empty()).for_each(&mut add);
        if let Some(class) = text(Name::Code).filter(|_| archives.trim().is_empty()) {
            let class = class.trim();
            let name = class.strip_suffix(".class").unwrap_or(class);
            add(&format!("{}.class", name.replace('.', "/")));
        }
    }

    fn take_param(&mut self, values: &Values<'_>) {
        if values.are_of_url() {
            self.add(values.get(Name::Value), LinkKind::Embed);
        }
    }

    /// The content of a `<style>` in CSS. In XML it is text like any other, with references and CDATA sections.
    fn take_style(&mut self, values: &Values<'_>, tags: &Tags<'_>) {
        let sheet = tags.raw();
        if !values.are_of_css() || sheet.is_empty() {
            return;
        }
        let trimmed = sheet.trim_ascii();
        match trimmed.strip_prefix(b"<![CDATA[") {
            Some(section) if tags.is_foreign() => self.add_css(&String::from_utf8_lossy(section)),
            _ if tags.is_foreign() => self.add_style(trimmed),
            _ => self.add_css(&String::from_utf8_lossy(sheet)),
        }
    }

    /// The content of a `<script>` that says what it names without being run.
    fn take_script(&mut self, values: &Values<'_>, content: &[u8], rules: &Rules) {
        let (is_module, is_map) = (values.is(Name::Type, "module"), values.is(Name::Type, "importmap"));
        let is_data = values.is(Name::Type, "application/ld+json");
        let is_searched = rules.script_files && !is_map && !is_data;
        if content.is_empty() || !(is_module || is_map || is_data || is_searched) {
            return;
        }
        let content = String::from_utf8_lossy(content);
        match () {
            () if is_map => json::import_map(&content, &mut |url| self.add_text(url, LinkKind::Embed)),
            () if is_data => json::linked_data(&content, &mut |url| self.add_text(url, LinkKind::Other)),
            () => self.add_script(&content, is_module, rules),
        }
    }

    /// Adds what a script names: what a module imports, and what looks like a file, with the source map.
    pub(super) fn add_script(&mut self, content: &str, is_module: bool, rules: &Rules) {
        if is_module {
            script::imports(content, &mut |url| self.add_text(url, LinkKind::Embed));
        }
        if rules.script_files {
            script::file_names(content, &mut |name| self.add_text(name, LinkKind::Embed));
            if let Some(map) = script::source_map(content) {
                self.add_text(map, LinkKind::Embed);
            }
        }
    }

    fn take_srcdoc(&mut self, values: &Values<'_>, rules: &Rules) {
        let Some(document) = values.get(Name::Srcdoc) else { return };
        let mut text = String::new();
        crate::web::references::push_value(document, &mut text);
        self.gather_inner(text.as_bytes(), rules);
    }
}

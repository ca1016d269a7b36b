//! Evidence of a page for and against the parameters of its URL: the reader of the page takes it, the engine learns
//! from it.

use crate::fingerprint::Fingerprint;
use crate::web::parameter::{Parameter, parameters};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Digests of the main content of a page whose URL has parameters.
#[derive(Clone, Copy, Debug)]
pub struct ContentDigests {
    /// To the letter.
    pub text: u64,
    /// Without what changes by itself.
    pub words: u64,
}

/// A link of such a page.
#[derive(Clone, Copy, Debug)]
pub struct PageLink<'a> {
    /// Target of the link, in the fetch form.
    pub url: &'a str,
    /// The fingerprint of the origin there.
    pub origin: Fingerprint,
    /// True if the page embeds it.
    pub is_embed: bool,
}

/// Evidence of a page for and against the parameters of its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// A digest of the words of the page without what changes by itself.
    pub words: u64,
    /// The parameters of its URL; at least one.
    pub parameters: Vec<ParameterEvidence>,
}

/// A parameter as a page has met it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterEvidence {
    /// Its keys.
    pub keys: ParameterKeys,
    /// A digest of what the page shows: its text, and what it embeds.
    pub shown: u64,
    /// A digest of its values in the page's links; 0 where they have no other one than the page's URL.
    pub handed: u64,
}

/// Keys of a parameter of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterKeys {
    /// Key of the origin and the name.
    pub rule: u64,
    /// Key of the name and the URL without the parameter.
    pub base: u64,
}

impl ParameterKeys {
    /// The keys of `parameter` of a URL of `origin`.
    pub fn of(parameter: &Parameter<'_>, origin: Fingerprint, keys: &KeyMaker) -> Self {
        let rule = keys.pair(origin, keys.of(parameter.name)).bits().max(1);
        let base = keys.digest(format!("{} {}", parameter.name, parameter.base()).as_bytes()).max(1);
        ParameterKeys { rule, base }
    }
}

impl Evidence {
    /// Takes the evidence of the page at `url`, which names `links`; `None` where `url` has no parameter.
    pub fn of(url: &CanonicalUrl, said: ContentDigests, links: &[PageLink<'_>], keys: &KeyMaker) -> Option<Evidence> {
        let origin = keys.keys(url).origin;
        let embeds: Vec<&str> = links.iter().filter(|link| link.is_embed).map(|link| link.url).collect();
        let own: Vec<&str> = links.iter().filter(|link| link.origin == origin).map(|link| link.url).collect();
        let met = |parameter: &Parameter<'_>| ParameterEvidence {
            keys: ParameterKeys::of(parameter, origin, keys),
            shown: shown(parameter, said.text, &embeds, keys),
            handed: handed(parameter, &own, keys),
        };
        let parameters: Vec<ParameterEvidence> = parameters(url.as_str()).iter().map(met).collect();
        (!parameters.is_empty()).then_some(Evidence { words: said.words, parameters })
    }
}

/// A digest of the text of a page and of what it embeds, which may carry the parameter `own` too.
fn shown(own: &Parameter<'_>, text: u64, embeds: &[&str], keys: &KeyMaker) -> u64 {
    let without = |url: &&str| {
        let same = parameters(url).into_iter().find(|parameter| parameter.name == own.name);
        same.map_or_else(|| (*url).to_owned(), |parameter| parameter.base())
    };
    let mut pictures: Vec<String> = embeds.iter().map(without).collect();
    pictures.sort_unstable();
    pictures.dedup();
    keys.digest(format!("{text} {}", pictures.join(" ")).as_bytes())
}

/// A digest of the values that `links` have of the parameter `own`; 0 where it has all of them itself.
fn handed(own: &Parameter<'_>, links: &[&str], keys: &KeyMaker) -> u64 {
    let mut values = Vec::new();
    for link in links.iter().filter(|link| link.contains(own.name)) {
        let same = parameters(link).into_iter().filter(|parameter| parameter.name == own.name);
        values.extend(same.map(|parameter| parameter.value));
    }
    values.sort_unstable();
    values.dedup();
    if values.iter().all(|value| *value == own.value) { 0 } else { keys.digest(values.join(" ").as_bytes()).max(1) }
}

//! The scope of a crawl, the URLs that belong to it: the mode, the operator's patterns, trap rules and limits.
//!
//! Everything that must not mark a URL as seen is decided here, before URL-seen is asked. Otherwise a URL that is met
//! first too deep, or in too long a chain of redirects, could not be admitted later by a shorter way.
//!
//! What a page embeds, its *requisites*, is let in wherever it is ([`Requisites::Page`]): a page without its style
//! sheets and pictures is not the page that people saw. The distance from the page is counted in embeds: the page's
//! sheet is 1, what that sheet names is 2. An embed is no link, so it is as deep as what embeds it; beyond the bound it
//! is judged as a link would be, so that frames within frames have an end.
//!
//! A [`Scope`] never changes; it is shared, and a seed that redirects elsewhere gives a new one that has all of the old
//! one and costs little more.

mod explain;
mod sites;
mod traps;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::expression::bounded_regex;
use super::forgotten::Forgotten;
use super::site::SiteMatch;
use super::url::CanonicalUrl;
use crate::outcome::Reason;

use explain::Exception;
pub use explain::{Judgement, Rule};
use sites::Sites;

/// The part of the web that a seed takes into scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeMode {
    /// Everything under its registrable domain.
    #[default]
    Domain,
    /// Everything.
    Any,
    /// Everything on its host.
    Host,
    /// Everything that starts with the seed's URL up to and including the last `/` of its path.
    Prefix,
}

/// Places where a page's embeds are let in: style sheets, pictures, fonts, scripts, frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requisites {
    /// Anywhere.
    #[default]
    Page,
    /// Places where pages may be: an embed is judged like a link.
    Scope,
}

/// Settings that a [`Scope`] is made of.
#[derive(Clone, Debug)]
pub struct ScopeOptions {
    /// The part of the web that a seed takes into scope.
    pub mode: ScopeMode,
    /// Regular expressions; a URL that one of them matches anywhere is in scope whatever the mode says.
    pub include: Vec<String>,
    /// Regular expressions; a URL that one of them matches anywhere is out of scope whatever else says.
    pub exclude: Vec<String>,
    /// Longest URL in bytes.
    pub max_url_length: usize,
    /// Most segments in a path.
    pub max_path_segments: usize,
    /// The most times that the same segment may be in a path, in a row or not: with 2, `/a/b/a/b` passes and
    /// `/a/b/a/b/a` is taken for a trap. The same holds for the name of a query parameter that has one of its values
    /// twice: with 2, `?p=1&p=2&p=3` passes, and `?p=1&p=2&p=1` does not.
    pub max_repeated_segments: usize,
    /// Most redirects in a row.
    pub max_redirects: usize,
    /// Most links between a seed and a URL.
    pub max_depth: Option<u16>,
    /// Rules for some sites in addition; of each setting the first table counts that holds for a URL and has it.
    pub sites: Vec<SiteScope>,
    /// Places where a page's embeds are let in.
    pub requisites: Requisites,
    /// Most embeds in a row: with 3 a page's sheet, a sheet that it imports, and the font that this one names.
    pub requisite_hops: u8,
}

impl Default for ScopeOptions {
    fn default() -> Self {
        ScopeOptions {
            mode: ScopeMode::Domain,
            include: Vec::new(),
            exclude: Vec::new(),
            max_url_length: 2048,
            max_path_segments: 20,
            max_repeated_segments: 3,
            max_redirects: 10,
            max_depth: None,
            sites: Vec::new(),
            requisites: Requisites::default(),
            requisite_hops: 5,
        }
    }
}

impl ScopeOptions {
    /// True if links may be too deep, of all sites or of some.
    pub fn limits_depth(&self) -> bool {
        self.max_depth.is_some() || self.sites.iter().any(|site| site.max_depth.flatten().is_some())
    }
}

/// Settings for the URLs of one site only.
#[derive(Clone, Debug, Default)]
pub struct SiteScope {
    /// The URLs that it holds for.
    pub matches: Vec<SiteMatch>,
    /// Regular expressions that take in URLs of the site in addition to the general ones.
    pub include: Option<Vec<String>>,
    /// Regular expressions that leave out URLs of the site in addition to the general ones.
    pub exclude: Option<Vec<String>>,
    /// Most links between a seed and a URL of the site, in place of what holds for all.
    pub max_depth: Option<Option<u16>>,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{regex}` in scope.{list} is not usable: {why}")]
pub struct ScopeError {
    /// `include` or `exclude`.
    pub list: &'static str,
    /// The pattern.
    pub regex: String,
    /// Description of what is wrong with it.
    pub why: String,
}

/// The rules of a scope without its seeds, their patterns compiled: what an operator may change while a crawl runs.
#[derive(Clone, Debug)]
pub struct ScopeRules(Arc<Limits>);

impl ScopeRules {
    /// Compiles the patterns of `options`.
    pub fn compile(options: &ScopeOptions) -> Result<ScopeRules, ScopeError> {
        Ok(ScopeRules(Arc::new(Limits {
            include: compile("include", &options.include)?,
            exclude: compile("exclude", &options.exclude)?,
            sites: Sites::compile(&options.sites)?,
            forgotten: Arc::default(),
            options: options.clone(),
        })))
    }

    /// True if a pattern or a removal leaves `url`, in the fetch form, out, whatever else lets it in.
    pub fn excludes(&self, url: &str) -> bool {
        let by_site = || self.0.sites.of(url).exclude.iter().any(|regex| regex.is_match(url));
        self.0.forgotten.covers(url) || self.0.exclude.iter().any(|regex| regex.is_match(url)) || by_site()
    }

    /// True if links may be too deep, of all sites or of some.
    pub fn limit_depth(&self) -> bool {
        self.0.options.limits_depth()
    }

    /// These rules, which leave out what is `forgotten` too.
    pub fn forgetting(&self, forgotten: Arc<Forgotten>) -> ScopeRules {
        ScopeRules(Arc::new(Limits { forgotten, ..(*self.0).clone() }))
    }
}

/// Judges URLs before they are marked as seen.
#[derive(Clone, Debug)]
pub struct Scope {
    limits: Arc<Limits>,
    seeds: SeedSet,
}

/// A scope to which more seeds may be added.
#[derive(Debug)]
pub struct GrowingScope {
    limits: Arc<Limits>,
    names: BTreeSet<Box<str>>,
}

impl GrowingScope {
    /// Takes in what `seed` does.
    pub fn add(&mut self, seed: &CanonicalUrl) {
        self.take_in(territory(self.limits.options.mode, seed));
    }

    /// Takes in what a redirected seed does: `joined` is what [`Scope::joined_by`] said then.
    pub fn add_joined(&mut self, joined: &CanonicalUrl) {
        self.take_in(joined_territory(self.limits.options.mode, joined));
    }

    fn take_in(&mut self, name: &str) {
        if self.limits.options.mode != ScopeMode::Any && !self.names.contains(name) {
            self.names.insert(name.into());
        }
    }

    /// The scope of all that were added.
    pub fn finish(self) -> Scope {
        let seeds = SeedSet::new(self.limits.options.mode, self.names);
        Scope { limits: self.limits, seeds }
    }
}

#[derive(Clone, Debug)]
struct Limits {
    options: ScopeOptions,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    sites: Sites,
    /// The URLs that an operator had removed.
    forgotten: Arc<Forgotten>,
}

impl Scope {
    /// The scope of a crawl from `seeds`.
    pub fn new<'a>(options: &ScopeOptions, seeds: impl Iterator<Item = &'a CanonicalUrl>) -> Result<Scope, ScopeError> {
        let mut scope = Scope::begin(options)?;
        seeds.for_each(|seed| scope.add(seed));
        Ok(scope.finish())
    }

    /// A scope that seeds are added to one by one.
    pub fn begin(options: &ScopeOptions) -> Result<GrowingScope, ScopeError> {
        let ScopeRules(limits) = ScopeRules::compile(options)?;
        Ok(GrowingScope { limits, names: BTreeSet::new() })
    }

    /// Its rules.
    pub fn rules(&self) -> ScopeRules {
        ScopeRules(Arc::clone(&self.limits))
    }

    /// This scope with other rules. What the seeds take in stays as it is, so the mode of `rules` has to be the one
    /// that this scope has.
    pub fn with_rules(&self, rules: &ScopeRules) -> Scope {
        debug_assert_eq!(rules.0.options.mode, self.limits.options.mode, "the seeds were taken in by this mode");
        Scope { limits: Arc::clone(&rules.0), seeds: self.seeds.clone() }
    }

    /// This scope with one more seed.
    pub fn with_seed(&self, seed: &CanonicalUrl) -> Scope {
        self.with_territory(seed, territory(self.limits.options.mode, seed))
    }

    /// Returns what joins the scope when the seed `from` redirects to `target`, as a URL for [`Scope::with_joined`].
    ///
    /// A seed in prefix mode names a part of a site, and the site that it moves to may be any. Within its registrable
    /// domain, as from http to https and to `www.`, the directory of the target takes its place; elsewhere only what
    /// begins with the target, lest a redirect to somebody's page open all of a large site.
    pub fn joined_by(&self, from: &CanonicalUrl, target: &CanonicalUrl) -> CanonicalUrl {
        let mode = self.limits.options.mode;
        let joined = match mode {
            ScopeMode::Prefix if from.registrable_domain() == target.registrable_domain() => territory(mode, target),
            ScopeMode::Prefix => &target.plain()[..target.authority().len() + target.path().len()],
            _ => return target.clone(),
        };
        CanonicalUrl::parse(joined).unwrap_or_else(|_| target.clone())
    }

    /// This scope with what a redirected seed took in.
    pub fn with_joined(&self, joined: &CanonicalUrl) -> Scope {
        self.with_territory(joined, joined_territory(self.limits.options.mode, joined))
    }

    fn with_territory(&self, at: &CanonicalUrl, name: &str) -> Scope {
        let mode = self.limits.options.mode;
        if mode == ScopeMode::Any || self.seeds.find(mode, at).is_some() {
            return self.clone();
        }
        Scope { limits: Arc::clone(&self.limits), seeds: self.seeds.with(mode, name) }
    }

    /// Checks that a URL that was found at `depth`, after `redirects` redirects in a row, belongs to the crawl.
    ///
    /// Depth is judged last: its reason says that the URL would have been fetched from nearer by.
    pub fn judge(&self, url: &CanonicalUrl, depth: u16, redirects: usize) -> Result<(), Reason> {
        self.decide(url, Exception::None, depth, redirects).verdict
    }

    /// The same of a URL to which `embeds` embeds in a row led, 0 for a link: with a path of at most
    /// `scope.requisite_hops` embeds it may be anywhere. What embeds it has to be in scope, or a requisite itself.
    pub fn judge_embedded(
        &self,
        url: &CanonicalUrl,
        embeds: usize,
        depth: u16,
        redirects: usize,
    ) -> Result<(), Reason> {
        self.explain_embedded(url, embeds, depth, redirects).verdict
    }

    /// True if a URL at the end of `embeds` embeds in a row is a requisite of a page, and no page of the crawl itself.
    pub fn is_requisite(&self, embeds: usize) -> bool {
        let options = &self.limits.options;
        options.requisites == Requisites::Page && (1..=usize::from(options.requisite_hops)).contains(&embeds)
    }

    /// Returns the depth of a URL that something at `depth` names and to which `embeds` embeds in a row lead, 0 for a
    /// link.
    pub fn depth_below(&self, depth: u16, embeds: usize) -> u16 {
        if self.is_requisite(embeds) { depth } else { depth.saturating_add(1) }
    }

    /// True if `url` is a page of the crawl by its name alone: what it embeds is fetched then.
    pub fn takes_in(&self, url: &CanonicalUrl) -> bool {
        self.taking_in(url, Exception::None).is_ok()
    }

    /// True if pages of the crawl may be at `origin`, a URL without a path, whatever patterns say.
    pub fn has_pages_at(&self, origin: &CanonicalUrl) -> bool {
        match self.limits.options.mode {
            ScopeMode::Any => true,
            // any seed's directory there
            ScopeMode::Prefix => self.seeds.layers.iter().any(|layer| {
                let first = layer.range::<str, _>((Bound::Included(origin.as_str()), Bound::Unbounded)).next();
                first.is_some_and(|prefix| prefix.starts_with(origin.as_str()))
            }),
            mode => self.seeds.find(mode, origin).is_some(),
        }
    }

    /// Checks that a sitemap may be fetched that `named_by`, or the robots.txt of its origin, names at `depth`. It need
    /// not be where pages of the crawl are if it is of the same registrable domain. Where its entries, one deeper than
    /// itself, would be too deep, it is so too.
    pub fn judge_sitemap(
        &self,
        url: &CanonicalUrl,
        named_by: &CanonicalUrl,
        depth: u16,
        redirects: usize,
    ) -> Result<(), Reason> {
        self.explain_sitemap(url, named_by, depth, redirects).verdict
    }

    /// Checks that a URL may be fetched that `from`, behind a sitemap, redirects to: as a page, or as a sitemap that
    /// has moved. The URL that redirects was a sitemap if it is out of scope itself: nothing else lets such a URL in.
    pub fn judge_moved(
        &self,
        url: &CanonicalUrl,
        from: &CanonicalUrl,
        depth: u16,
        redirects: usize,
    ) -> Result<(), Reason> {
        self.explain_moved(url, from, depth, redirects).verdict
    }
}

fn compile(list: &'static str, patterns: &[String]) -> Result<Vec<Regex>, ScopeError> {
    let one = |pattern: &String| {
        bounded_regex(pattern).map_err(|error| ScopeError { list, regex: pattern.clone(), why: error.to_string() })
    };
    patterns.iter().map(one).collect()
}

/// Returns the part of the web that a seed takes into scope, as a text: a domain, a host, or the start of URLs.
fn territory(mode: ScopeMode, seed: &CanonicalUrl) -> &str {
    match mode {
        ScopeMode::Any => "",
        ScopeMode::Domain => seed.registrable_domain(),
        ScopeMode::Host => seed.host(),
        ScopeMode::Prefix => {
            let directory = seed.path().rfind('/').map_or(0, |slash| slash + 1);
            &seed.plain()[..seed.authority().len() + directory]
        }
    }
}

/// Returns what a URL that joined the scope takes in: in prefix mode what begins with it.
fn joined_territory(mode: ScopeMode, joined: &CanonicalUrl) -> &str {
    if mode == ScopeMode::Prefix { joined.plain() } else { territory(mode, joined) }
}

/// Territories of the seeds: sets in layers that are shared between scopes.
///
/// Adding makes a layer of one and folds layers of like size together, as a counter carries: a lookup asks at most
/// log2(n) layers, and n additions copy n log2(n) names altogether.
#[derive(Clone, Debug)]
struct SeedSet {
    layers: Vec<Arc<BTreeSet<Box<str>>>>,
}

impl SeedSet {
    fn new(mode: ScopeMode, names: BTreeSet<Box<str>>) -> Self {
        SeedSet { layers: vec![Arc::new(without_nested(mode, names))] }
    }

    fn with(&self, mode: ScopeMode, name: &str) -> Self {
        let mut layers = self.layers.clone();
        let mut top = BTreeSet::from([Box::from(name)]);
        while layers.last().is_some_and(|below| below.len() <= top.len()) {
            if let Some(below) = layers.pop() {
                top.extend(below.iter().cloned());
            }
        }
        layers.push(Arc::new(without_nested(mode, top)));
        SeedSet { layers }
    }

    /// The name that takes `url` in.
    fn find(&self, mode: ScopeMode, url: &CanonicalUrl) -> Option<&str> {
        if mode != ScopeMode::Prefix {
            let name = territory(mode, url);
            return self.layers.iter().find_map(|layer| layer.get(name)).map(|name| &**name);
        }
        // no prefix of a layer starts with another one, so only the greatest that is not above the URL can fit
        self.layers.iter().find_map(|layer| {
            let below = layer.range::<str, _>((Bound::Unbounded, Bound::Included(url.as_str()))).next_back();
            below.map(|prefix| &**prefix).filter(|prefix| url.as_str().starts_with(*prefix))
        })
    }
}

/// Returns `names`, in prefix mode without those that start with another one.
fn without_nested(mode: ScopeMode, names: BTreeSet<Box<str>>) -> BTreeSet<Box<str>> {
    if mode != ScopeMode::Prefix {
        return names;
    }
    let mut last: Option<Box<str>> = None;
    let mut is_nested = |name: &str| {
        let is_nested = last.as_deref().is_some_and(|last| name.starts_with(last));
        if !is_nested {
            last = Some(name.into());
        }
        is_nested
    };
    names.into_iter().filter(|name| !is_nested(name)).collect()
}

#[cfg(test)]
mod tests;

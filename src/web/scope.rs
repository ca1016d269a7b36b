//! Which URLs belong to the crawl: the mode, the operator's patterns, trap rules and limits.
//!
//! Everything that must not mark a URL as seen is decided here, before URL-seen is asked. Otherwise a URL that is met
//! first too deep, or in too long a chain of redirects, could not be admitted later by a shorter way.
//!
//! What a page embeds, its *requisites*, is let in wherever it lies ([`Requisites::Page`]): a page without its style
//! sheets and pictures is not the page that people saw. How far from the page is counted in embeds: the page's sheet
//! is 1, what that sheet names is 2. An embed is no link, so it is as deep as what embeds it; beyond the bound it is
//! judged as a link would be, so that frames within frames have an end.
//!
//! A [`Scope`] never changes; it is shared, and a seed that redirects elsewhere gives a new one that holds what the
//! old one holds and costs little beside it.

mod explain;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::url::CanonicalUrl;
use crate::outcome::Reason;

use explain::Exception;
pub use explain::{Judgement, Rule};

/// Bound of a compiled pattern in bytes: matching takes linear time anyhow, this keeps its memory small.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// What a seed takes into scope.
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

/// Where what pages embed may lie: style sheets, pictures, fonts, scripts, frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requisites {
    /// Anywhere.
    #[default]
    Page,
    /// Where pages may lie: an embed is judged like a link.
    Scope,
}

/// What a [`Scope`] is made of.
#[derive(Clone, Debug)]
pub struct ScopeOptions {
    /// What a seed takes into scope.
    pub mode: ScopeMode,
    /// Regular expressions; a URL that one of them matches anywhere is in scope whatever the mode says.
    pub include: Vec<String>,
    /// Regular expressions; a URL that one of them matches anywhere is out of scope whatever else says.
    pub exclude: Vec<String>,
    /// Longest URL in bytes.
    pub max_url_length: usize,
    /// Most segments in a path.
    pub max_path_segments: usize,
    /// How often the same segment may stand in a path, in a row or not: with 2, `/a/b/a/b` passes and `/a/b/a/b/a` is
    /// taken for a trap.
    pub max_repeated_segments: usize,
    /// Most redirects in a row.
    pub max_redirects: usize,
    /// Most links between a seed and a URL.
    pub max_depth: Option<u16>,
    /// Where what pages embed may lie.
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
            requisites: Requisites::default(),
            requisite_hops: 5,
        }
    }
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{regex}` in scope.{list} is not usable: {why}")]
pub struct ScopeError {
    /// `include` or `exclude`.
    pub list: &'static str,
    /// The pattern.
    pub regex: String,
    /// What is wrong with it.
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
            options: options.clone(),
        })))
    }

    /// Whether a pattern leaves `url`, in the fetch form, out whatever else says.
    pub fn excludes(&self, url: &str) -> bool {
        self.0.exclude.iter().any(|regex| regex.is_match(url))
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
        let mode = self.limits.options.mode;
        let name = territory(mode, seed);
        if mode != ScopeMode::Any && !self.names.contains(name) {
            self.names.insert(name.into());
        }
    }

    /// The scope of all that were added.
    pub fn finish(self) -> Scope {
        let seeds = SeedSet::new(self.limits.options.mode, self.names);
        Scope { limits: self.limits, seeds }
    }
}

#[derive(Debug)]
struct Limits {
    options: ScopeOptions,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
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

    /// This scope with one more seed: where a seed was redirected to.
    pub fn with_seed(&self, seed: &CanonicalUrl) -> Scope {
        let mode = self.limits.options.mode;
        if mode == ScopeMode::Any || self.seeds.find(mode, seed).is_some() {
            return self.clone();
        }
        Scope { limits: Arc::clone(&self.limits), seeds: self.seeds.with(mode, territory(mode, seed)) }
    }

    /// Whether a URL that was found at `depth`, after `redirects` redirects in a row, belongs to the crawl.
    ///
    /// Depth is judged last: its reason says that the URL would have been fetched from nearer by.
    pub fn judge(&self, url: &CanonicalUrl, depth: u16, redirects: usize) -> Result<(), Reason> {
        self.decide(url, Exception::None, depth, redirects).verdict
    }

    /// The same of a URL to which `embeds` embeds in a row led, 0 for a link: with a path of at most
    /// `scope.requisite_hops` embeds it may lie anywhere. What embeds it has to be in scope, or a requisite itself.
    pub fn judge_embedded(
        &self,
        url: &CanonicalUrl,
        embeds: usize,
        depth: u16,
        redirects: usize,
    ) -> Result<(), Reason> {
        self.explain_embedded(url, embeds, depth, redirects).verdict
    }

    /// Whether a URL at the end of `embeds` embeds in a row is a requisite of a page, and no page of the crawl's own.
    pub fn is_requisite(&self, embeds: usize) -> bool {
        let options = &self.limits.options;
        options.requisites == Requisites::Page && (1..=usize::from(options.requisite_hops)).contains(&embeds)
    }

    /// How deep a URL is that something at `depth` names and to which `embeds` embeds in a row lead, 0 for a link.
    pub fn depth_below(&self, depth: u16, embeds: usize) -> u16 {
        if self.is_requisite(embeds) { depth } else { depth.saturating_add(1) }
    }

    /// Whether `url` is a page of the crawl by what it is called: what it embeds is fetched then.
    pub fn takes_in(&self, url: &CanonicalUrl) -> bool {
        self.taking_in(url, Exception::None).is_ok()
    }

    /// Whether pages of the crawl may lie at `origin`, a URL without a path, whatever patterns say.
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

    /// Whether a sitemap may be fetched that `named_by`, or the robots.txt of its origin, names at `depth`. It need not
    /// be where pages of the crawl are if it is of the same registrable domain. Where its entries, one deeper than
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

    /// Whether a URL may be fetched that `from`, behind a sitemap, redirects to: as a page, or as a sitemap that has
    /// moved. The URL that redirects was a sitemap if it is out of scope itself: nothing else lets such a URL in.
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
        RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build().map_err(|error| ScopeError {
            list,
            regex: pattern.clone(),
            why: error.to_string(),
        })
    };
    patterns.iter().map(one).collect()
}

/// What a seed takes into scope, as a text: a domain, a host, or the start of URLs.
fn territory(mode: ScopeMode, seed: &CanonicalUrl) -> &str {
    match mode {
        ScopeMode::Any => "",
        ScopeMode::Domain => seed.registrable_domain(),
        ScopeMode::Host => seed.host(),
        ScopeMode::Prefix => {
            let directory = seed.path().rfind('/').map_or(0, |slash| slash + 1);
            &seed.as_str()[..seed.authority().len() + directory]
        }
    }
}

/// So few segments of a path are compared each with each; more of them are sorted.
const SEGMENTS_COMPARED: usize = 16;

/// A path of more segments than allowed, or one segment of it more often than allowed.
fn is_trap(path: &str, segments_max: usize, repeated_max: usize) -> bool {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if memchr::memchr_iter(b'/', path.as_bytes()).count() >= segments_max.max(1) {
        return !path.is_empty();
    }
    let number = memchr::memchr_iter(b'/', path.as_bytes()).count() + 1;
    if number <= repeated_max {
        return false;
    }
    if number <= SEGMENTS_COMPARED {
        let times = |wanted: &str| path.split('/').filter(|segment| *segment == wanted).count();
        return path.split('/').any(|segment| times(segment) > repeated_max);
    }
    let mut segments: Vec<&str> = path.split('/').collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).any(|same| same.len() > repeated_max)
}

/// What the seeds take into scope: sets in layers that are shared between scopes.
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

/// In prefix mode: `names` without those that start with another one.
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
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn scope(mode: ScopeMode, seeds: &[&str]) -> Scope {
        let seeds: Vec<CanonicalUrl> = seeds.iter().map(|seed| url(seed)).collect();
        Scope::new(&ScopeOptions { mode, max_repeated_segments: 2, ..ScopeOptions::default() }, seeds.iter()).unwrap()
    }

    fn judge(scope: &Scope, text: &str) -> Result<(), Reason> {
        scope.judge(&url(text), 0, 0)
    }

    #[test]
    fn a_domain_holds_its_subdomains_but_no_neighbours() {
        let scope = scope(ScopeMode::Domain, &["http://www.example.co.uk/x"]);
        for inside in ["https://example.co.uk/", "http://deep.sub.example.co.uk:8080/"] {
            assert_eq!(judge(&scope, inside), Ok(()), "{inside}");
        }
        for outside in ["http://other.co.uk/", "http://notexample.co.uk/", "http://example.co.uk.evil.com/"] {
            assert_eq!(judge(&scope, outside), Err(Reason::Scope), "{outside}");
        }
    }

    #[test]
    fn a_host_holds_all_its_ports_and_nothing_else() {
        let scope = scope(ScopeMode::Host, &["http://www.example.com/", "http://127.0.0.1:8080/"]);
        for inside in ["https://www.example.com/x", "http://www.example.com:81/", "http://127.0.0.1:9/"] {
            assert_eq!(judge(&scope, inside), Ok(()), "{inside}");
        }
        assert_eq!(judge(&scope, "http://example.com/"), Err(Reason::Scope));
    }

    #[test]
    fn a_prefix_ends_at_the_last_slash_of_the_seeds_path() {
        let scope = scope(
            ScopeMode::Prefix,
            &["http://h/docs/index.html?a=/b/", "http://h/docs/deep/", "http://h/doc", "http://g/a/"],
        );
        assert_eq!(judge(&scope, "http://h/docs/x/y?z"), Ok(()));
        assert_eq!(judge(&scope, "http://h/other"), Ok(()), "the seed /doc lies in /");
        assert_eq!(judge(&scope, "http://g/a/b"), Ok(()));
        for outside in ["http://g/a", "http://g/b/", "https://h/docs/", "http://h:8080/docs/"] {
            assert_eq!(judge(&scope, outside), Err(Reason::Scope), "{outside}");
        }
    }

    #[test]
    fn the_right_one_of_many_prefixes_is_found() {
        let seeds: Vec<String> = (0..200).map(|number| format!("http://h/{number}/x")).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let scope = scope(ScopeMode::Prefix, &seeds);
        for number in 0..200 {
            assert_eq!(judge(&scope, &format!("http://h/{number}/zzz")), Ok(()));
            assert_eq!(judge(&scope, &format!("http://h/{number}.")), Err(Reason::Scope));
        }
    }

    #[test]
    fn patterns_add_to_the_scope_and_take_away_from_it() {
        let options = ScopeOptions {
            include: vec![r"^https?://cdn\.".into()],
            exclude: vec![r"\.iso$".into(), "logout".into()],
            ..ScopeOptions::default()
        };
        let scope = Scope::new(&options, [url("http://example.com/")].iter()).unwrap();
        assert_eq!(judge(&scope, "http://cdn.net/x"), Ok(()));
        assert_eq!(judge(&scope, "http://cdn.net/x.iso"), Err(Reason::Scope));
        assert_eq!(judge(&scope, "http://example.com/x?do=logout"), Err(Reason::Scope));
        assert_eq!(judge(&scope, "http://example.com/x.iso.txt"), Ok(()));
    }

    #[test]
    fn a_pattern_that_is_broken_or_too_large_is_named() {
        for (pattern, why) in [("(", "unclosed group"), (r"\w{1000}{1000}", "size limit"), (r"(a)\1", "backreference")]
        {
            let options = ScopeOptions { exclude: vec!["fine".into(), pattern.into()], ..ScopeOptions::default() };
            let error = Scope::new(&options, std::iter::empty()).unwrap_err();
            assert_eq!((error.list, error.regex.as_str()), ("exclude", pattern));
            assert!(error.why.contains(why), "{}", error.why);
        }
    }

    #[test]
    fn traps_are_recognised_by_their_paths() {
        let scope = scope(ScopeMode::Any, &[]);
        for trap in [
            "http://h/a/b/a/b/a/b/",
            "http://h/a/a/a",
            "http://h/a/x/a/y/a/z",
            "http://h////",
            &format!("http://h/{}", (0..21).map(|number| number.to_string()).collect::<Vec<_>>().join("/")),
        ] {
            assert_eq!(judge(&scope, trap), Err(Reason::Trap), "{trap}");
        }
        for fine in [
            "http://h/",
            "http://h/a/b/a/b",
            "http://h/2011/11/11/",
            "http://h/x?path=/a/a/a/a/a",
            &format!("http://h/{}/", (0..20).map(|number| number.to_string()).collect::<Vec<_>>().join("/")),
        ] {
            assert_eq!(judge(&scope, fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn length_redirects_and_depth_have_limits() {
        let options =
            ScopeOptions { max_depth: Some(3), max_redirects: 2, max_url_length: 30, ..ScopeOptions::default() };
        let scope = Scope::new(&options, [url("http://h/")].iter()).unwrap();
        assert_eq!(scope.judge(&url("http://h/"), 3, 2), Ok(()));
        assert_eq!(scope.judge(&url("http://h/"), 4, 2), Err(Reason::Depth));
        assert_eq!(scope.judge(&url("http://h/"), 3, 3), Err(Reason::Redirects));
        assert_eq!(scope.judge(&url("http://h/67890123456789012345678901"), 0, 0), Err(Reason::TooLong));
        assert_eq!(scope.judge(&url("http://g/"), 9, 9), Err(Reason::Scope));
    }

    #[test]
    fn a_sitemap_of_the_same_domain_passes_but_for_exclusions_traps_lengths_and_depth() {
        let options = ScopeOptions {
            mode: ScopeMode::Prefix,
            exclude: vec!["secret".into()],
            max_depth: Some(2),
            max_redirects: 1,
            max_repeated_segments: 2,
            ..ScopeOptions::default()
        };
        let scope = Scope::new(&options, [url("http://www.example.com/docs/")].iter()).unwrap();
        let judge = |text: &str, depth, redirects| {
            scope.judge_sitemap(&url(text), &url("http://www.example.com/docs/x"), depth, redirects)
        };
        assert_eq!(judge("http://maps.example.com/s.xml", 1, 1), Ok(()));
        assert_eq!(scope.judge(&url("http://maps.example.com/s.xml"), 1, 1), Err(Reason::Scope));
        assert_eq!(judge("http://maps.example.com/s.xml", 2, 0), Err(Reason::Depth));
        assert_eq!(judge("http://maps.example.com/s.xml", 0, 2), Err(Reason::Redirects));
        let moved = |text: &str, from: &str| scope.judge_moved(&url(text), &url(from), 1, 1);
        assert_eq!(moved("http://maps.example.com/t.xml", "http://maps.example.com/s.xml"), Ok(()));
        assert_eq!(
            moved("http://maps.example.com/t", "http://www.example.com/docs/x"),
            Err(Reason::Scope),
            "a page moves out"
        );
        assert_eq!(judge("http://example.org/s.xml", 0, 0), Err(Reason::Scope));
        assert_eq!(judge("http://www.example.com/secret.xml", 0, 0), Err(Reason::Scope));
        assert_eq!(judge("http://www.example.com/a/a/a/s.xml", 0, 0), Err(Reason::Trap));
        assert_eq!(judge(&format!("http://www.example.com/{}", "s".repeat(3_000)), 0, 0), Err(Reason::TooLong));
    }

    #[test]
    fn an_embed_lies_anywhere_is_as_deep_as_its_page_and_beyond_the_bound_is_a_link() {
        let options = ScopeOptions { max_depth: Some(2), requisite_hops: 3, ..ScopeOptions::default() };
        let seed = url("http://a.example/");
        let page = Scope::new(&options, [&seed].into_iter()).unwrap();
        let only_scope =
            Scope::new(&ScopeOptions { requisites: Requisites::Scope, ..options }, [&seed].into_iter()).unwrap();
        let far = url("http://cdn.example.org/x.css");
        for (embeds, is_requisite) in [(0, false), (1, true), (2, true), (3, true), (4, false), (9, false)] {
            assert_eq!(page.is_requisite(embeds), is_requisite);
            assert!(!only_scope.is_requisite(embeds));
            assert_eq!(page.judge_embedded(&far, embeds, 2, 0).is_ok(), is_requisite, "{embeds}");
            assert_eq!(only_scope.judge_embedded(&far, embeds, 2, 0), Err(Reason::Scope));
            assert_eq!(page.depth_below(2, embeds), if is_requisite { 2 } else { 3 });
            assert_eq!(only_scope.depth_below(2, embeds), 3);
        }
        assert!(page.takes_in(&seed) && !page.takes_in(&far));
    }

    #[test]
    fn an_origin_has_pages_of_the_crawl_where_a_seed_takes_in_some_of_it() {
        for mode in [ScopeMode::Domain, ScopeMode::Host, ScopeMode::Prefix, ScopeMode::Any] {
            let scope = scope(mode, &["http://www.a.example/docs/x", "http://b.example/"])
                .with_seed(&url("http://c.example/d/"));
            for origin in ["http://www.a.example/", "http://b.example/", "http://c.example/"] {
                assert!(scope.has_pages_at(&url(origin)), "{mode} {origin}");
            }
            assert_eq!(scope.has_pages_at(&url("http://cdn.example.org/")), mode == ScopeMode::Any);
            assert_eq!(
                scope.has_pages_at(&url("http://maps.a.example/")),
                matches!(mode, ScopeMode::Any | ScopeMode::Domain)
            );
        }
    }

    #[test]
    fn a_redirected_seed_takes_its_target_into_a_new_scope() {
        for mode in [ScopeMode::Domain, ScopeMode::Host, ScopeMode::Prefix] {
            let mut scope = scope(mode, &["http://seed.com/"]);
            let before = scope.clone();
            for number in 0..100 {
                scope = scope.with_seed(&url(&format!("http://target{number}.org/a/")));
                scope = scope.with_seed(&url(&format!("http://target{number}.org/a/")));
            }
            assert!(scope.seeds.layers.len() <= 8);
            for number in 0..100 {
                let target = format!("http://target{number}.org/a/b");
                assert_eq!(judge(&scope, &target), Ok(()), "{mode:?}");
                assert_eq!(judge(&before, &target), Err(Reason::Scope), "{mode:?}");
            }
            assert_eq!(judge(&scope, "http://seed.com/x"), Ok(()));
        }
    }
}

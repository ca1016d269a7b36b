//! The rule of the scope that decides on a URL: the seed, the pattern, or the limit. The crawl asks for the verdict,
//! people for the rule, and both the one judge that is here.

use std::fmt;

use regex::Regex;

use super::sites::OfUrl;
use super::traps::{Trap, trap};
use super::{Requisites, Scope, ScopeMode, territory};
use crate::outcome::Reason;
use crate::web::url::CanonicalUrl;

/// Rules that can decide on a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule<'a> {
    /// Longer than allowed.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// `scope.max_url_length`.
        max: usize,
    },
    /// A pattern of `scope.exclude` matches.
    Excluded(&'a str),
    /// A pattern of `exclude` of a `[[site]]` matches.
    SiteExcluded(&'a str),
    /// The operator had it removed from the archive.
    Forgotten,
    /// The mode takes everything in.
    Anything,
    /// A seed takes it in: its domain, host, or the start of URLs.
    Seed(ScopeMode, &'a str),
    /// A pattern of `scope.include` matches.
    Included(&'a str),
    /// A pattern of `include` of a `[[site]]` matches.
    SiteIncluded(&'a str),
    /// A sitemap of the registrable domain of what names it.
    Near(&'a str),
    /// A URL that a page needs that embeds it.
    Requisite {
        /// Embeds in a row that lead to it.
        embeds: usize,
        /// `scope.requisite_hops`.
        max: u8,
    },
    /// An embed further from the page than allowed that nothing else takes in.
    EmbedsTooFar {
        /// Embeds in a row that lead to it.
        embeds: usize,
        /// `scope.requisite_hops`.
        max: u8,
    },
    /// No seed and no pattern takes it in.
    Nothing(ScopeMode),
    /// More path segments than allowed.
    Segments {
        /// `scope.max_path_segments`.
        max: usize,
    },
    /// A path segment comes too often.
    Repeated {
        /// `scope.max_repeated_segments`.
        max: usize,
    },
    /// A query parameter comes too often.
    RepeatedParameter {
        /// `scope.max_repeated_segments`.
        max: usize,
    },
    /// More redirects in a row than allowed.
    Redirects {
        /// The number of redirects.
        count: usize,
        /// `scope.max_redirects`.
        max: usize,
    },
    /// Deeper than allowed.
    Depth {
        /// Links from a seed.
        depth: u16,
        /// `crawl.max_depth`.
        max: u16,
    },
    /// Deeper than a `[[site]]` allows.
    SiteDepth {
        /// Links from a seed.
        depth: u16,
        /// `max_depth` of the site.
        max: u16,
    },
}

/// The scope's word on a URL, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// Result of [`Scope::judge`].
    pub verdict: Result<(), Reason>,
    /// The rule that decides.
    pub rule: Rule<'a>,
}

/// Grounds to let a URL in that no seed and no pattern takes in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exception<'a> {
    /// Nothing.
    None,
    /// A sitemap that this URL names.
    Sitemap(&'a CanonicalUrl),
    /// An embed, at the end of this many in a row.
    Embedded(usize),
}

impl Scope {
    /// Judges as [`Scope::judge`] does, and says by which rule.
    pub fn explain<'a>(&'a self, url: &'a CanonicalUrl, depth: u16, redirects: usize) -> Judgement<'a> {
        self.decide(url, Exception::None, depth, redirects)
    }

    /// Judges as [`Scope::judge_embedded`] does, and says by which rule.
    pub fn explain_embedded<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        embeds: usize,
        depth: u16,
        redirects: usize,
    ) -> Judgement<'a> {
        let exception = if embeds > 0 { Exception::Embedded(embeds) } else { Exception::None };
        self.decide(url, exception, depth, redirects)
    }

    /// Judges as [`Scope::judge_sitemap`] does, and says by which rule.
    pub fn explain_sitemap<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        named_by: &CanonicalUrl,
        depth: u16,
        redirects: usize,
    ) -> Judgement<'a> {
        self.decide(url, Exception::Sitemap(named_by), depth.saturating_add(1), redirects)
    }

    /// Judges as [`Scope::judge_moved`] does, and says by which rule.
    pub fn explain_moved<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        from: &CanonicalUrl,
        depth: u16,
        redirects: usize,
    ) -> Judgement<'a> {
        let as_page = self.decide(url, Exception::None, depth, redirects);
        let was_none = || self.decide(from, Exception::None, depth, 0).verdict == Err(Reason::Scope);
        if as_page.verdict == Err(Reason::Scope) && was_none() {
            return self.explain_sitemap(url, from, depth, redirects);
        }
        as_page
    }

    /// The one judge.
    pub(super) fn decide<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        exception: Exception<'_>,
        depth: u16,
        redirects: usize,
    ) -> Judgement<'a> {
        let options = &self.limits.options;
        let refused = |reason, rule| Judgement { verdict: Err(reason), rule };
        let bytes = url.plain().len();
        if bytes > options.max_url_length {
            return refused(Reason::TooLong, Rule::TooLong { bytes, max: options.max_url_length });
        }
        let site = self.limits.sites.of(url.plain());
        let rule = match self.taking_in_at(url, site, exception) {
            Ok(rule) => rule,
            Err(rule) => return refused(Reason::Scope, rule),
        };
        let (segments, repeated) = (options.max_path_segments, options.max_repeated_segments);
        if let Some(trap) = trap(url, segments, repeated) {
            let rule = match trap {
                Trap::Segments => Rule::Segments { max: segments },
                Trap::RepeatedSegment => Rule::Repeated { max: repeated },
                Trap::RepeatedParameter => Rule::RepeatedParameter { max: repeated },
            };
            return refused(Reason::Trap, rule);
        }
        if redirects > options.max_redirects {
            return refused(Reason::Redirects, Rule::Redirects { count: redirects, max: options.max_redirects });
        }
        match (site.max_depth, options.max_depth) {
            (Some(Some(max)), _) if depth > max => refused(Reason::Depth, Rule::SiteDepth { depth, max }),
            (None, Some(max)) if depth > max => refused(Reason::Depth, Rule::Depth { depth, max }),
            _ => Judgement { verdict: Ok(()), rule },
        }
    }

    /// The rule that takes a URL in, or the one that keeps it out.
    pub(super) fn taking_in<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        exception: Exception<'_>,
    ) -> Result<Rule<'a>, Rule<'a>> {
        self.taking_in_at(url, self.limits.sites.of(url.plain()), exception)
    }

    fn taking_in_at<'a>(
        &'a self,
        url: &'a CanonicalUrl,
        site: OfUrl<'a>,
        exception: Exception<'_>,
    ) -> Result<Rule<'a>, Rule<'a>> {
        let limits = &self.limits;
        let matching = |list: &'a [Regex]| list.iter().find(|regex| regex.is_match(url.plain())).map(Regex::as_str);
        if let Some(pattern) = matching(&limits.exclude) {
            return Err(Rule::Excluded(pattern));
        }
        if let Some(pattern) = matching(site.exclude) {
            return Err(Rule::SiteExcluded(pattern));
        }
        if limits.forgotten.covers(url.as_str()) {
            return Err(Rule::Forgotten);
        }
        let mode = limits.options.mode;
        if mode == ScopeMode::Any {
            return Ok(Rule::Anything);
        }
        if let Some(territory) = self.seeds.find(mode, url) {
            return Ok(Rule::Seed(mode, territory));
        }
        let domain = url.registrable_domain();
        let is_near = matches!(exception, Exception::Sitemap(named_by) if named_by.registrable_domain() == domain);
        if is_near {
            return Ok(Rule::Near(domain));
        }
        if let Some(pattern) = matching(&limits.include) {
            return Ok(Rule::Included(pattern));
        }
        if let Some(pattern) = matching(site.include) {
            return Ok(Rule::SiteIncluded(pattern));
        }
        let max = limits.options.requisite_hops;
        match exception {
            Exception::Embedded(embeds) if self.is_requisite(embeds) => Ok(Rule::Requisite { embeds, max }),
            Exception::Embedded(embeds) if limits.options.requisites == Requisites::Page => {
                Err(Rule::EmbedsTooFar { embeds, max })
            }
            _ => Err(Rule::Nothing(mode)),
        }
    }
}

impl ScopeMode {
    /// True if `seed` alone takes `url` in: a scope of many seeds takes in what any of them does.
    pub fn takes_in(self, seed: &CanonicalUrl, url: &CanonicalUrl) -> bool {
        match self {
            ScopeMode::Any => true,
            ScopeMode::Prefix => url.as_str().starts_with(territory(self, seed)),
            _ => territory(self, seed) == territory(self, url),
        }
    }

    /// The same of what joined the scope when a seed was redirected.
    pub fn takes_in_joined(self, joined: &CanonicalUrl, url: &CanonicalUrl) -> bool {
        match self {
            ScopeMode::Prefix => url.as_str().starts_with(joined.plain()),
            _ => self.takes_in(joined, url),
        }
    }
}

impl fmt::Display for ScopeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScopeMode::Domain => "domain",
            ScopeMode::Any => "any",
            ScopeMode::Host => "host",
            ScopeMode::Prefix => "prefix",
        })
    }
}

impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::TooLong { bytes, max } => write!(f, "{bytes} bytes are more than scope.max_url_length = {max}"),
            Rule::Excluded(pattern) => write!(f, "scope.exclude: {pattern}"),
            Rule::SiteExcluded(pattern) => write!(f, "exclude of a [[site]]: {pattern}"),
            Rule::Forgotten => f.write_str("crawler forget"),
            Rule::Anything => f.write_str("scope.mode = \"any\""),
            Rule::Seed(mode, territory) => write!(f, "scope.mode = \"{mode}\", seed: {territory}"),
            Rule::Included(pattern) => write!(f, "scope.include: {pattern}"),
            Rule::SiteIncluded(pattern) => write!(f, "include of a [[site]]: {pattern}"),
            Rule::Near(domain) => write!(f, "a sitemap of the domain of what names it: {domain}"),
            Rule::Requisite { embeds, max } => {
                write!(f, "scope.requisites = \"page\": a page embeds it, hop {embeds} of {max}")
            }
            Rule::EmbedsTooFar { embeds, max } => {
                write!(f, "{embeds} embeds in a row are more than scope.requisite_hops = {max}")
            }
            Rule::Nothing(mode) => {
                write!(f, "no seed takes it in by scope.mode = \"{mode}\", no scope.include matches")
            }
            Rule::Segments { max } => write!(f, "more path segments than scope.max_path_segments = {max}"),
            Rule::Repeated { max } => write!(f, "a path segment more often than scope.max_repeated_segments = {max}"),
            Rule::RepeatedParameter { max } => {
                write!(f, "a query parameter more often than scope.max_repeated_segments = {max}, with one value twice")
            }
            Rule::Redirects { count, max } => {
                write!(f, "{count} redirects in a row are more than scope.max_redirects = {max}")
            }
            Rule::Depth { depth, max } => write!(f, "depth {depth} is more than crawl.max_depth = {max}"),
            Rule::SiteDepth { depth, max } => write!(f, "depth {depth} is more than max_depth = {max} of a [[site]]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ScopeOptions;
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn scope(mode: ScopeMode, seeds: &[&str]) -> Scope {
        let options = ScopeOptions {
            mode,
            include: vec!["^http://cdn\\.".to_owned()],
            exclude: vec!["logout".to_owned(), "\\.iso$".to_owned()],
            max_url_length: 60,
            max_path_segments: 6,
            max_repeated_segments: 2,
            max_redirects: 3,
            max_depth: Some(4),
            ..ScopeOptions::default()
        };
        let seeds: Vec<CanonicalUrl> = seeds.iter().map(|seed| url(seed)).collect();
        Scope::new(&options, seeds.iter()).unwrap()
    }

    #[test]
    fn every_rule_is_named() {
        let scope = scope(ScopeMode::Domain, &["http://www.a.example/x"]);
        let said = |text: &str, depth, redirects| scope.explain(&url(text), depth, redirects).rule.to_string();
        assert_eq!(said("http://b.a.example/", 0, 0), "scope.mode = \"domain\", seed: a.example");
        assert_eq!(said("http://a.example/logout", 0, 0), "scope.exclude: logout");
        assert_eq!(said("http://cdn.b.example/", 0, 0), "scope.include: ^http://cdn\\.");
        assert!(said("http://b.example/", 0, 0).starts_with("no seed takes it in"));
        assert!(said("http://a.example/a/a/a", 0, 0).contains("max_repeated_segments = 2"));
        assert!(said("http://a.example/1/2/3/4/5/6/7", 0, 0).contains("max_path_segments = 6"));
        assert!(said("http://a.example/", 5, 0).contains("depth 5 is more than crawl.max_depth = 4"));
        assert!(said("http://a.example/", 0, 4).contains("4 redirects"));
        assert!(said(&format!("http://a.example/{}", "x".repeat(60)), 0, 0).contains("77 bytes"));
    }

    #[test]
    fn n21_a_sitemap_near_what_names_it_is_told_as_such() {
        let scope = scope(ScopeMode::Host, &["http://www.a.example/x"]);
        let (map, robots) = (url("http://maps.a.example/s.xml"), url("http://www.a.example/robots.txt"));
        let judgement = scope.explain_sitemap(&map, &robots, 0, 0);
        assert_eq!(judgement.verdict, Ok(()));
        assert_eq!(judgement.rule.to_string(), "a sitemap of the domain of what names it: a.example");
        assert_eq!(scope.explain(&map, 0, 0).verdict, Err(Reason::Scope));
        let own = url("http://www.a.example/s.xml");
        assert!(matches!(scope.explain_sitemap(&own, &robots, 0, 0).rule, Rule::Seed(..)));
        assert_eq!(scope.explain_sitemap(&map, &robots, 4, 0).rule, Rule::Depth { depth: 5, max: 4 });
    }

    #[test]
    fn a_requisite_is_told_with_its_hops_and_keeps_every_other_limit() {
        let scope = scope(ScopeMode::Host, &["http://www.a.example/x"]);
        let said = |text: &str, embeds| {
            let target = url(text);
            let judgement = scope.explain_embedded(&target, embeds, 4, 0);
            (judgement.verdict, judgement.rule.to_string())
        };
        let page = "scope.requisites = \"page\": a page embeds it, hop 5 of 5";
        assert_eq!(said("http://far.example/font", 5), (Ok(()), page.to_owned()));
        let (verdict, rule) = said("http://far.example/font", 6);
        assert_eq!(verdict, Err(Reason::Scope));
        assert_eq!(rule, "6 embeds in a row are more than scope.requisite_hops = 5");
        assert!(said("http://far.example/", 0).1.starts_with("no seed takes it in"));
        assert!(said("http://www.a.example/pic", 9).1.contains("seed: www.a.example"), "in scope by itself");
        assert_eq!(said("http://far.example/logout", 1), (Err(Reason::Scope), "scope.exclude: logout".to_owned()));
        assert_eq!(said("http://far.example/a/a/a", 1).0, Err(Reason::Trap));
        assert_eq!(said(&format!("http://far.example/{}", "x".repeat(60)), 1).0, Err(Reason::TooLong));
        assert_eq!(scope.judge_embedded(&url("http://far.example/"), 1, 4, 4), Err(Reason::Redirects));
    }

    #[test]
    fn a_scope_of_many_seeds_takes_in_what_any_of_them_does() {
        let hosts = ["http://a.example", "http://www.a.example", "http://cdn.x", "http://b.example:81"];
        let seeds = ["http://a.example/a/x", "http://b.example/", "http://q.example/"];
        for mode in [ScopeMode::Domain, ScopeMode::Any, ScopeMode::Host, ScopeMode::Prefix] {
            let scope = scope(mode, &seeds[..2]).with_seed(&url(seeds[2]));
            for text in hosts.iter().flat_map(|host| ["/", "/a/", "/a/b?c", "/b"].map(|path| format!("{host}{path}"))) {
                let found = url(&text);
                let taken = seeds.into_iter().any(|seed| mode.takes_in(&url(seed), &found));
                let is_taken = matches!(scope.explain(&found, 0, 0).rule, Rule::Anything | Rule::Seed(..));
                assert_eq!(taken, is_taken, "{mode} {found}");
            }
        }
    }
}

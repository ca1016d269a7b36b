//! The page with the results of a search. All that is from pages is text in it, never markup.

use std::fmt::Write;

use url::form_urlencoded::{Serializer, parse};

use crate::answers::{Answers, Problem, SearchFor, Searched};
use crate::replay::{html_text, is_url, page_path};
use crate::search::{Facet, Facets, Hit, Snippet};
use crate::web::url::CanonicalUrl;
use crate::web::warc_date::parse_date;

/// Hits of a page.
const HITS: usize = 10;

/// A search as the page asks for it.
struct Asked {
    words: String,
    offset: usize,
    /// True for near duplicates, too.
    all: bool,
}

/// The page, but for its head.
pub(super) struct Results {
    pub status: u16,
    /// The words that were asked for.
    pub words: String,
    pub body: String,
}

/// The query of a target that asks for words; nothing where it asks for a URL, or for something else.
pub(super) fn asked(target: &str) -> Option<&str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (path == "/search" && !is_url(&Asked::read(query).words)).then_some(query)
}

/// Searches for what the query of a URL asks for.
pub(super) fn results(archive: &dyn Answers, query: &str) -> Results {
    let asked = Asked::read(query);
    let (words, all) = (asked.words.clone(), asked.all);
    let question = SearchFor { query: words.clone(), limit: HITS, offset: asked.offset, fold: !all, facets: true };
    let answer = archive.search(&question);
    let status = answer.as_ref().map_or_else(Problem::status, |_| 200);
    let mut body = "<main id=main tabindex=-1 class=results><h1>Search</h1>".to_owned();
    match answer {
        Ok(searched) => asked.write(&searched, &mut body),
        Err(problem) => _ = write!(body, "<p class=problem>{}", html_text(&problem.to_string())),
    }
    Results { status, words, body: body + "</main>" }
}

impl Asked {
    fn read(query: &str) -> Asked {
        let of = |name: &str| {
            let value = parse(query.as_bytes()).find(|(key, _)| key == name);
            value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        Asked { words: of("q"), offset: of("from").parse().unwrap_or_default(), all: of("all") == "1" }
    }

    /// The address of this search with other words, or another place.
    fn address(&self, words: &str, offset: usize, all: bool) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("q", words);
        if offset > 0 {
            query.append_pair("from", &offset.to_string());
        }
        if all {
            query.append_pair("all", "1");
        }
        html_text(&format!("/search?{}", query.finish()))
    }

    fn write(&self, searched: &Searched, body: &mut String) {
        let found = &searched.found;
        let pages = if found.total == 1 { "page" } else { "pages" };
        let _ = write!(body, "<p class=note>{} {pages}", found.total);
        if found.folded > 0 {
            let to = self.address(&self.words, 0, true);
            let _ = write!(body, ", {} of them nearly the same: <a href=\"{to}\">show all</a>", found.folded);
        }
        if !searched.complete {
            let _ = write!(body, ". The index is being made: {} pages are in it", searched.indexed);
        }
        body.push_str("<div class=found><ol class=hits>");
        found.hits.iter().for_each(|hit| write_hit(hit, body));
        body.push_str("</ol>");
        self.write_facets(&found.facets, body);
        body.push_str("</div><nav aria-label=Pages>");
        if self.offset > 0 {
            let to = self.address(&self.words, self.offset.saturating_sub(HITS), self.all);
            let _ = write!(body, "<a rel=prev href=\"{to}\">Previous</a>");
        }
        if found.hits.len() == HITS && found.total > (self.offset + HITS) as u64 {
            let to = self.address(&self.words, self.offset + HITS, self.all);
            let _ = write!(body, "<a rel=next href=\"{to}\">Next</a>");
        }
        body.push_str("</nav>");
    }

    /// Links that narrow the search.
    fn write_facets(&self, facets: &Facets, body: &mut String) {
        body.push_str("<aside aria-label=\"Narrow the search\">");
        let by = |field: &'static str| move |value: &str| format!("{field}:{value}");
        self.write_facet("Hosts", &facets.hosts, by("site"), body);
        self.write_facet("Types", &facets.types, by("type"), body);
        self.write_facet("Languages", &facets.languages, by("lang"), body);
        self.write_facet("Kinds", &facets.kinds, by("kind"), body);
        self.write_facet("Years", &facets.years, |year| format!("after:{year}-01-01 before:{year}-12-31"), body);
        body.push_str("</aside>");
    }

    fn write_facet(&self, name: &str, values: &[Facet], condition: impl Fn(&str) -> String, body: &mut String) {
        let shown: Vec<&Facet> = values.iter().filter(|facet| !facet.value.is_empty()).take(HITS).collect();
        if shown.is_empty() {
            return;
        }
        let _ = write!(body, "<h2>{name}</h2><ul>");
        for Facet { value, count } in shown {
            let to = self.address(&format!("{} {}", self.words, condition(value)), 0, self.all);
            let _ = write!(body, "<li><a href=\"{to}\">{}</a> <small>{count}</small>", html_text(value));
        }
        body.push_str("</ul>");
    }
}

fn write_hit(hit: &Hit, body: &mut String) {
    let title = if hit.title.is_empty() { &hit.url } else { &hit.title };
    let url = CanonicalUrl::parse(&hit.url).ok();
    let path = url.zip(parse_date(&hit.captured)).map(|(url, time)| page_path(time, &url));
    let _ = write!(
        body,
        "<li><h2><a href=\"{}\">{}</a></h2><p class=url>{}<p>",
        html_text(&path.unwrap_or_default()),
        html_text(title),
        html_text(&hit.url)
    );
    write_snippet(&hit.snippet, body);
    let mut captures = Serializer::new(String::new());
    let captures = captures.append_pair("url", &hit.url).finish();
    let _ = write!(
        body,
        "<p class=note>{} <span>{}</span> <span>{}</span> <a href=\"/calendar?{}\">All captures</a>",
        html_text(hit.captured.get(..10).unwrap_or(&hit.captured)),
        html_text(&hit.media_type),
        html_text(&hit.language),
        html_text(&captures)
    );
}

fn write_snippet(snippet: &Snippet, body: &mut String) {
    let mut at = 0;
    for mark in &snippet.marks {
        let (before, marked) = (snippet.text.get(at..mark.start), snippet.text.get(mark.clone()));
        let (Some(before), Some(marked)) = (before, marked) else { continue };
        let _ = write!(body, "{}<mark>{}</mark>", html_text(before), html_text(marked));
        at = mark.end;
    }
    body.push_str(&html_text(snippet.text.get(at..).unwrap_or_default()));
}

//! Questions as people write them.
//!
//! `words "a phrase" -not this OR that title:word site:example.com after:2026-11-01`: words beside each other must
//! all be there, `OR` joins its two sides, `-` leaves out. Parentheses and wildcards mean nothing, like all that
//! is no letter or digit: so no question is nested.

use super::error::{Error, Result};
use super::words::Words;
use crate::clock::Time;
use crate::reading::facts::code_of_tag;
use crate::web::kind::KindChoice;
use crate::web::warc_date::{since, until};

/// Words of a question.
pub const WORDS_MAX: usize = 32;
/// Hits of one answer.
pub const LIMIT_MAX: usize = 1_000;
/// Hits that can be reached: the sum of limit and offset.
pub const HITS_MAX: usize = 10_000;
/// Bytes of a question.
const BYTES_MAX: usize = 4 << 10;

/// A question.
#[derive(Clone, Debug)]
pub struct Query {
    /// The words, as they were typed.
    pub words: String,
    /// Conditions beside those in the words.
    pub filter: Filter,
    /// Hits that are wanted.
    pub limit: usize,
    /// Hits that are left out before them.
    pub offset: usize,
    /// Leave out hits whose text is nearly the same as the text of a better one.
    pub fold: bool,
    /// Count the pages by host, media type, language, kind, year and month.
    pub facets: bool,
}

impl Default for Query {
    fn default() -> Self {
        Query { words: String::new(), filter: Filter::default(), limit: 10, offset: 0, fold: true, facets: false }
    }
}

/// Conditions; a page has to fit one value of each list that is not empty.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Hosts or the domains above them.
    pub site: Vec<String>,
    /// The first moment of the capture.
    pub after: Option<Time>,
    /// The last moment of the capture.
    pub before: Option<Time>,
    /// Languages by a tag such as `de`, or a name of ISO 639-3 such as `deu`.
    pub language: Vec<String>,
    /// Media types: `text/html`, or `image/*`.
    pub media_type: Vec<String>,
    /// Kinds of answers; where it is empty, pages that are what was asked for.
    pub kind: Vec<KindChoice>,
}

/// The part of a page that words are looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    Title,
    Url,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// A word or words that follow each other.
    Words(Place, String),
    Site(String),
    Language(&'static str),
    MediaType(String),
}

/// Conditions of which one must be met, or of which none may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub any: Vec<Atom>,
    pub is_excluded: bool,
}

/// A question that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub clauses: Vec<Clause>,
    pub after: Option<Time>,
    pub before: Option<Time>,
    pub kinds: Vec<KindChoice>,
    /// True if something was asked for that no page can have, such as `???`.
    pub is_void: bool,
}

impl Parsed {
    /// True if it has words that hits are sorted by.
    pub fn has_words(&self) -> bool {
        let is_words = |atom: &Atom| matches!(atom, Atom::Words(..));
        self.clauses.iter().any(|clause| !clause.is_excluded && clause.any.iter().any(is_words))
    }
}

/// A condition as it was typed.
#[derive(Debug, PartialEq)]
struct Typed<'q> {
    is_excluded: bool,
    field: Option<&'q str>,
    text: &'q str,
}

/// Names of fields that may stand before a colon.
const FIELDS: [&str; 10] = ["site", "after", "since", "before", "until", "lang", "type", "kind", "title", "url"];

/// Reads a question.
pub(super) fn parse(query: &Query) -> Result<Parsed> {
    let Query { words, filter, limit, offset, .. } = query;
    if *limit > LIMIT_MAX || limit.saturating_add(*offset) > HITS_MAX {
        let text = format!("ask for at most {LIMIT_MAX} hits at once, and for none behind the first {HITS_MAX}");
        return Err(Error::Query(text));
    }
    if words.len() > BYTES_MAX {
        return Err(Error::Query(format!("a question has at most {BYTES_MAX} bytes")));
    }
    let mut parsed =
        Parsed { after: filter.after, before: filter.before, kinds: filter.kind.clone(), ..Parsed::default() };
    let language = |tag: &String| known_language(tag).map(Atom::Language);
    parsed.demand(filter.site.iter().map(|site| Ok(site_atom(site))))?;
    parsed.demand(filter.language.iter().map(language))?;
    parsed.demand(filter.media_type.iter().map(|media_type| Ok(Atom::MediaType(media_type.to_ascii_lowercase()))))?;
    let (mut is_joined, mut is_empty) = (false, true);
    for typed in typed(words) {
        is_empty = false;
        if matches!(typed, Typed { is_excluded: false, field: None, text: "OR" | "|" }) {
            is_joined = true;
            continue;
        }
        parsed.take(&typed, std::mem::take(&mut is_joined))?;
    }
    let is_open = parsed.after.is_some() || parsed.before.is_some() || !parsed.kinds.is_empty();
    parsed.is_void = !is_empty && parsed.clauses.is_empty() && !is_open;
    Ok(parsed)
}

impl Parsed {
    /// Takes the values of a filter, of which a page has to fit one.
    fn demand(&mut self, any: impl Iterator<Item = Result<Atom>>) -> Result<()> {
        let any = any.collect::<Result<Vec<_>>>()?;
        if any.len() > LIMIT_MAX {
            return Err(Error::Query(format!("a filter has at most {LIMIT_MAX} values")));
        }
        if !any.is_empty() {
            self.clauses.push(Clause { any, is_excluded: false });
        }
        Ok(())
    }

    /// Takes a condition; one that `is_joined` widens the one before it.
    fn take(&mut self, typed: &Typed<'_>, is_joined: bool) -> Result<()> {
        let Typed { is_excluded, field, text } = typed;
        let wrong = |why: &str| Error::Query(format!("{}:{text}: {why}", field.unwrap_or_default()));
        let atom = match *field {
            Some("site") => site_atom(text),
            Some("lang") => Atom::Language(known_language(text)?),
            Some("type") => Atom::MediaType(text.to_ascii_lowercase()),
            Some("title") => Atom::Words(Place::Title, (*text).to_owned()),
            Some("url") => Atom::Words(Place::Url, (*text).to_owned()),
            Some(_) if *is_excluded => return Err(wrong("it cannot be left out; write it without the -")),
            Some("after" | "since") => {
                let time = since(text).map_err(|why| wrong(&why))?;
                self.after = self.after.max(Some(time));
                return Ok(());
            }
            Some("before" | "until") => {
                let time = until(text).map_err(|why| wrong(&why))?;
                self.before = Some(self.before.map_or(time, |before| before.min(time)));
                return Ok(());
            }
            Some(_) => {
                self.kinds.push(KindChoice::parse(text).map_err(|why| wrong(&why))?);
                return Ok(());
            }
            None => Atom::Words(Place::Anywhere, (*text).to_owned()),
        };
        if matches!(&atom, Atom::Words(_, text) if Words::of(text).next().is_none()) {
            return Ok(());
        }
        match self.clauses.last_mut().filter(|last| is_joined && !last.is_excluded && !is_excluded) {
            Some(last) => last.any.push(atom),
            None => self.clauses.push(Clause { any: vec![atom], is_excluded: *is_excluded }),
        }
        self.check_length()
    }

    fn check_length(&self) -> Result<()> {
        // three are those of the filters
        if self.clauses.len() > WORDS_MAX + 3 || self.words() > WORDS_MAX {
            return Err(Error::Query(format!("a question has at most {WORDS_MAX} words")));
        }
        Ok(())
    }

    fn words(&self) -> usize {
        let words = |atom: &Atom| match atom {
            Atom::Words(_, text) => Words::of(text).count(),
            _ => 0,
        };
        self.clauses.iter().flat_map(|clause| &clause.any).map(words).sum()
    }
}

/// The site of a filter: a host, or a URL of it.
fn site_atom(text: &str) -> Atom {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    Atom::Site(host.trim_start_matches("*.").trim_matches('.').to_lowercase())
}

fn known_language(tag: &str) -> Result<&'static str> {
    code_of_tag(tag).ok_or_else(|| {
        Error::Query(format!("no page is known to be in the language {tag}: write a name such as eng or de"))
    })
}

/// The conditions of a text, in their order.
fn typed(mut text: &str) -> impl Iterator<Item = Typed<'_>> {
    std::iter::from_fn(move || {
        text = text.trim_start();
        if text.is_empty() {
            return None;
        }
        let bare = text.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with(char::is_whitespace));
        let (is_excluded, mut rest) = (bare.is_some(), bare.unwrap_or(text));
        let field = FIELDS.into_iter().find(|name| {
            rest.split_at_checked(name.len()).is_some_and(|(begin, rest)| {
                begin.eq_ignore_ascii_case(name) && rest.starts_with(':') && !rest[1..].starts_with(char::is_whitespace)
            })
        });
        rest = field.map_or(rest, |name| &rest[name.len() + 1..]);
        let (found, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => {
                let end = rest.find(|letter: char| letter.is_whitespace() || letter == '"').unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        text = behind;
        Some(Typed { is_excluded, field, text: found })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Parsed> {
        parse(&Query { words: words.to_owned(), ..Query::default() })
    }

    fn anywhere(text: &str) -> Atom {
        Atom::Words(Place::Anywhere, text.to_owned())
    }

    #[test]
    fn words_phrases_and_fields_are_read_as_they_are_typed() {
        let clauses =
            parsed("one \"two  three\" -four OR five six|seven a OR b OR title:c -site:x.example").unwrap().clauses;
        let clause = |any: Vec<Atom>, is_excluded| Clause { any, is_excluded };
        let expected = [
            clause(vec![anywhere("one")], false),
            clause(vec![anywhere("two  three")], false),
            clause(vec![anywhere("four")], true),
            clause(vec![anywhere("five")], false),
            clause(vec![anywhere("six|seven")], false),
            clause(vec![anywhere("a"), anywhere("b"), Atom::Words(Place::Title, "c".to_owned())], false),
            clause(vec![Atom::Site("x.example".to_owned())], true),
        ];
        assert_eq!(clauses, expected);
    }

    #[test]
    fn filters_in_words_narrow_those_beside_them() {
        let found = parsed("after:2026-11-01 before:2026-11-30 since:2026-11-02 kind:login lang:de").unwrap();
        assert_eq!((found.after, found.before), (since("2026-11-02").ok(), until("2026-11-30").ok()));
        assert_eq!(found.kinds, [KindChoice::parse("login").unwrap()]);
        assert_eq!(found.clauses[0].any, [Atom::Language("deu")]);
        for (words, why) in [
            ("after:monday", "2026-11-21"),
            ("kind:x", "content"),
            ("lang:x", "eng"),
            ("-before:2026-11-01", "without the -"),
        ] {
            assert!(parsed(words).unwrap_err().to_string().contains(why), "{words}");
        }
        assert_eq!(site_atom("https://WWW.a.example/x"), Atom::Site("www.a.example".to_owned()));
    }

    #[test]
    fn what_has_no_words_finds_nothing_and_nothing_at_all_finds_everything() {
        assert!(parsed("??? ((( *").unwrap().is_void);
        assert!(!parsed(" ").unwrap().is_void);
        assert!(!parsed("?? site:a.example").unwrap().is_void);
        assert_eq!(parsed("\"open").unwrap().clauses[0].any, [anywhere("open")]);
        assert!(parsed("-").unwrap().is_void);
    }

    #[test]
    fn questions_that_cost_too_much_are_refused() {
        assert!(parsed(&"a ".repeat(WORDS_MAX)).is_ok());
        assert!(parsed(&"a ".repeat(WORDS_MAX + 1)).is_err());
        assert!(parsed(&"a.".repeat(WORDS_MAX + 1)).is_err());
        assert!(parsed(&"(".repeat(1 << 20)).is_err());
        assert!(parse(&Query { limit: 10, offset: HITS_MAX, ..Query::default() }).is_err());
        assert!(parse(&Query { limit: 10, offset: usize::MAX, ..Query::default() }).is_err());
    }
}

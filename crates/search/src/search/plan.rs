//! Questions as tantivy takes them.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, InvertedIndexRangeQuery, Occur, PhraseQuery,
    Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::analyzer::terms;
use super::fields::Fields;
use super::query::{Atom, Clause, Parsed, Place};
use super::words::Lexeme;
use crate::container::retention::list::ForgottenList;
use crate::web::kind::Kind;

/// Weights of a word by where it is.
const TITLE: f32 = 3.0;
const HEADINGS: f32 = 1.5;
const TEXT: f32 = 1.0;
const ADDRESS: f32 = 0.5;
/// The greatest character: behind every text that goes on.
const LAST: char = char::MAX;

/// A question as it is asked.
pub(super) struct Plan {
    pub query: BooleanQuery,
    pub marked: Marked,
}

/// Terms that excerpts are chosen by.
#[derive(Clone, Debug, Default)]
pub(super) struct Marked {
    terms: HashSet<String>,
    /// Single letters of a script without blanks: terms that begin with one.
    beginnings: HashSet<char>,
}

impl Marked {
    /// These terms.
    #[cfg(test)]
    pub fn of_terms(terms: &[&str]) -> Marked {
        Marked { terms: terms.iter().map(|term| (*term).to_owned()).collect(), ..Marked::default() }
    }

    /// True if a term of a text is one of them.
    pub fn has(&self, term: &str) -> bool {
        self.terms.contains(term) || term.chars().next().is_some_and(|first| self.beginnings.contains(&first))
    }
}

/// Makes the plan of a question to an index of pages in `languages`. Nothing that `hidden` finds is answered.
pub(super) fn plan(parsed: &Parsed, fields: &Fields, languages: &[String], hidden: Option<BooleanQuery>) -> Plan {
    let mut planner = Planner { fields, languages: languages_of(parsed, languages), marked: Marked::default() };
    let mut parts: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    if parsed.clauses.iter().all(|clause| clause.is_excluded) {
        parts.push((Occur::Must, unscored(Box::new(AllQuery))));
    }
    if parsed.is_void {
        parts.push((Occur::Must, Box::new(EmptyQuery)));
    }
    for clause in &parsed.clauses {
        let any = clause.any.iter().map(|atom| planner.atom(atom, clause)).collect();
        let occur = if clause.is_excluded { Occur::MustNot } else { Occur::Must };
        parts.push((occur, Box::new(BooleanQuery::union(any))));
    }
    let hidden = hidden.map(|hidden| (Occur::MustNot, Box::new(hidden) as Box<dyn Query>));
    let times = times(parsed, fields).map(|times| (Occur::Must, unscored(times)));
    parts.extend([times, kinds(parsed, fields), hidden].into_iter().flatten());
    Plan { query: BooleanQuery::new(parts), marked: planner.marked }
}

/// Finds the pages that are forgotten now.
pub(super) fn forgotten(list: &ForgottenList, fields: &Fields) -> BooleanQuery {
    let (urls, prefixes): (Vec<_>, Vec<_>) = list.acts().iter().partition(|act| act.url.is_some());
    let is_in_effect = |url: &&String| list.covers(url);
    let urls: BTreeSet<_> = urls.into_iter().filter_map(|act| act.url.as_ref()).filter(is_in_effect).collect();
    let prefixes: BTreeSet<_> =
        prefixes.into_iter().filter_map(|act| act.prefix.as_ref()).filter(is_in_effect).collect();
    let urls = urls.into_iter().map(|url| Term::from_field_text(fields.url, url));
    let mut any: Vec<Box<dyn Query>> = vec![Box::new(TermSetQuery::new(urls))];
    any.extend(prefixes.into_iter().map(|prefix| beginning(fields.url, prefix)));
    BooleanQuery::union(any)
}

/// The languages whose stems are looked for: all of the index, or those that the question names.
fn languages_of<'a>(parsed: &'a Parsed, languages: &'a [String]) -> Vec<&'a str> {
    let named = |clause: &'a Clause| {
        let name = |atom: &'a Atom| match atom {
            Atom::Language(name) => Some(*name),
            _ => None,
        };
        let names: Option<Vec<_>> = clause.any.iter().map(name).collect();
        names.filter(|_| !clause.is_excluded)
    };
    let of_question = parsed.clauses.iter().find_map(named);
    of_question.unwrap_or_else(|| languages.iter().map(String::as_str).collect())
}

struct Planner<'a> {
    fields: &'a Fields,
    languages: Vec<&'a str>,
    marked: Marked,
}

impl Planner<'_> {
    fn atom(&mut self, atom: &Atom, clause: &Clause) -> Box<dyn Query> {
        match atom {
            Atom::Words(place, text) => self.words(*place, text, !clause.is_excluded),
            Atom::Site(site) => unscored(term(self.fields.site, site)),
            Atom::Language(name) => unscored(term(self.fields.language, name)),
            Atom::MediaType(name) => match name.strip_suffix('*').or(name.ends_with('/').then_some(name)) {
                Some(begin) => unscored(beginning(self.fields.media_type, begin)),
                None => unscored(term(self.fields.media_type, name)),
            },
        }
    }

    /// Words that follow each other, in the stems of each language.
    fn words(&mut self, place: Place, text: &str, is_marked: bool) -> Box<dyn Query> {
        let Fields { title, headings, text: body, address, .. } = *self.fields;
        let plain = asked(terms("", text));
        let forms: BTreeSet<Vec<String>> =
            self.languages.iter().map(|language| asked(terms(language, text))).chain([plain.clone()]).collect();
        if is_marked && place != Place::Url {
            self.mark(&forms);
        }
        let places: &[(Field, f32)] = match place {
            Place::Anywhere => &[(title, TITLE), (headings, HEADINGS), (body, TEXT)],
            Place::Title => &[(title, TITLE)],
            Place::Url => &[],
        };
        let mut any = Vec::new();
        for (field, weight) in places {
            any.extend(forms.iter().map(|form| boosted(sequence(*field, form), *weight)));
        }
        if place != Place::Title {
            any.push(boosted(sequence(address, &plain), ADDRESS));
        }
        Box::new(BooleanQuery::union(any))
    }

    fn mark(&mut self, forms: &BTreeSet<Vec<String>>) {
        for form in forms {
            match single_letter(form) {
                Some(letter) => _ = self.marked.beginnings.insert(letter),
                None => self.marked.terms.extend(form.iter().cloned()),
            }
        }
    }
}

/// The terms of a question: a run of letters without blanks has pairs alone.
fn asked(words: impl Iterator<Item = Lexeme>) -> Vec<String> {
    let mut asked: Vec<Lexeme> = Vec::new();
    for word in words {
        let is_end_of_run = |last: &Lexeme| word.is_unspaced && last.is_unspaced && last.place.end == word.place.end;
        if !asked.last().is_some_and(is_end_of_run) {
            asked.push(word);
        }
    }
    asked.into_iter().map(|word| word.folded).collect()
}

/// The letter of a question that is a single one of a script without blanks.
fn single_letter(form: &[String]) -> Option<char> {
    let [term] = form else { return None };
    let mut words = super::words::Words::of(term);
    let is_single = words.next().is_some_and(|word| word.is_unspaced) && words.next().is_none();
    term.chars().next().filter(|_| is_single && term.chars().count() == 1)
}

/// Terms that follow each other in a field.
fn sequence(field: Field, form: &[String]) -> Box<dyn Query> {
    match form {
        [] => Box::new(EmptyQuery),
        [letter] if single_letter(form).is_some() => beginning(field, letter),
        [one] => term(field, one),
        several => {
            let terms = several.iter().map(|word| Term::from_field_text(field, word)).collect();
            Box::new(PhraseQuery::new(terms))
        }
    }
}

fn term(field: Field, text: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

/// Terms that begin with `begin`.
fn beginning(field: Field, begin: &str) -> Box<dyn Query> {
    let last = format!("{begin}{LAST}");
    let (from, to) = (Term::from_field_text(field, begin), Term::from_field_text(field, &last));
    Box::new(InvertedIndexRangeQuery::new(Bound::Included(from), Bound::Included(to)))
}

fn boosted(query: Box<dyn Query>, weight: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(query, weight))
}

/// A condition that does not count for the order of the hits.
fn unscored(query: Box<dyn Query>) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn times(parsed: &Parsed, fields: &Fields) -> Option<Box<dyn Query>> {
    let bound = |time: Option<crate::clock::Time>| {
        time.map_or(Bound::Unbounded, |time| Bound::Included(Term::from_field_u64(fields.captured, time.ms())))
    };
    let is_bounded = parsed.after.is_some() || parsed.before.is_some();
    is_bounded.then(|| Box::new(RangeQuery::new(bound(parsed.after), bound(parsed.before))) as Box<dyn Query>)
}

/// The kinds that are wanted; without any, pages that are what was asked for. Most pages are: where they are wanted,
/// the others are left out, which are few to read.
fn kinds(parsed: &Parsed, fields: &Fields) -> Option<(Occur, Box<dyn Query>)> {
    let wants = |kind: Option<Kind>| match parsed.kinds.as_slice() {
        [] => kind.is_none(),
        kinds => kinds.iter().any(|choice| choice.has(kind, kind.is_none())),
    };
    let wants_content = wants(None);
    let others = Kind::ALL.iter().copied().filter(|kind| wants(Some(*kind)) != wants_content).map(Kind::text);
    let terms: Vec<_> = others.map(|kind| Term::from_field_text(fields.kind, kind)).collect();
    match (wants_content, terms.is_empty()) {
        (true, true) => None,
        (true, false) => Some((Occur::MustNot, Box::new(TermSetQuery::new(terms)))),
        (false, _) => Some((Occur::Must, unscored(Box::new(TermSetQuery::new(terms))))),
    }
}

//! Dates of a page: when it was published, and when it was changed last.
//!
//! Each is taken from the best source that has one ([`Source`]): the URL, what the page states for programs, then what
//! it shows near its heading, then the rest of it. A date that is later than the fetch, or earlier than 1995, is none.
//! The order of the sources and the words for them were found with half of the pages of htmldate's test set.
//!
//! - `date`: forms of dates
//! - `words`: months, and names of what has a date
//! - `shown`: the elements of a page and its text
//! - `hidden`: what a page does not show, for one that has no other date

mod date;
mod hidden;
mod shown;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use jiff::civil;
use scraper::ElementRef;
use serde_json::{Map, Value};
use url::Url;

use super::Facts;
use crate::clock::Time;
use date::{Date, Order};
use words::{Says, is_one_of};

/// Earliest year of a page.
const YEAR_MIN: i16 = 1995;
/// The time by which the first zone is ahead of UTC: there it is the next day already.
const AHEAD_MAX: Duration = Duration::from_secs(14 * 3_600);

/// Parts of the types of JSON-LD whose date is not the date of the page.
const OTHER_TYPES: [&str; 7] = ["comment", "review", "answer", "image", "video", "person", "organization"];
/// Properties of JSON-LD that lead to such parts.
const OTHER_PROPERTIES: [&str; 8] =
    ["comment", "review", "image", "author", "publisher", "isPartOf", "mentions", "video"];

/// Sources of a date, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The path of its URL, or of its canonical one: the day at the place where it was published, while other sources
    /// give the day in UTC.
    Path,
    /// JSON-LD.
    JsonLd,
    /// A meta element.
    Meta,
    /// A property in microdata.
    Property,
    /// Near the heading.
    Near(shown::Mark),
    /// A meta element that does not say what its date is of.
    MetaDated,
    /// JSON-LD of parts of the page, and times at which something was made.
    JsonLdOther,
    /// Elsewhere on the page.
    Far(shown::Place, shown::Mark),
    /// The path of its picture's URL.
    Picture,
    /// The last change, for a page that does not say when it was published.
    Modified,
    /// A sentence.
    Prose,
    /// Scripts, comments and the URLs of pictures, where nothing else has a date.
    Hidden(shown::Mark),
}

impl Source {
    /// True if the time of a date from this source is believed of the same day from another one.
    fn gives_time(self) -> bool {
        self <= Source::Near(shown::Mark::Time)
    }
}

/// The dates of a page.
#[derive(Debug, Default)]
pub(super) struct Dates {
    published: Best,
    modified: Best,
}

/// The date from the best source.
#[derive(Debug, Default)]
struct Best(Option<(Source, Date)>);

impl Best {
    fn offer(&mut self, source: Source, date: Date) {
        let Some((best, known)) = self.0 else {
            self.0 = Some((source, date));
            return;
        };
        let give_time = best.gives_time() && source.gives_time();
        let with_time = |date: Date, other| if give_time { date.or_with_time(other) } else { date };
        self.0 = Some(if best <= source { (best, with_time(known, date)) } else { (source, with_time(date, known)) });
    }

    fn value(&self) -> Value {
        self.0.map_or(Value::Null, |(_, date)| Value::from(date.to_string()))
    }
}

impl Dates {
    /// The dates of a page, in one walk over its tree.
    pub(super) fn of(page: &Facts<'_>) -> Dates {
        let limits = Limits::of(page);
        let mut dates = Dates::default();
        if let Some(url) = page.url {
            dates.publish(Source::Path, limits.believed(Date::of_path(url.path())));
        }
        dates.json_ld(&page.json_ld(), &limits);
        shown::walk(page, &limits, &mut dates);
        if dates.published.0.is_none() {
            hidden::walk(page, &limits, &mut dates);
        }
        dates
    }

    /// The date on which it was published.
    pub(super) fn published(&self) -> Value {
        self.published.value()
    }

    /// The date of its last change.
    pub(super) fn modified(&self) -> Value {
        self.modified.value()
    }

    fn publish(&mut self, source: Source, date: Option<Date>) {
        if let Some(date) = date {
            self.published.offer(source, date);
        }
    }

    fn modify(&mut self, source: Source, date: Option<Date>) {
        if let Some(date) = date {
            self.modified.offer(source, date);
            self.published.offer(Source::Modified, date);
        }
    }

    fn offer(&mut self, says: Says, source: Source, date: Option<Date>) {
        match says {
            Says::Modified => self.modify(source, date),
            Says::Published => self.publish(source, date),
            Says::Dated => self.publish(source.max(Source::MetaDated), date),
        }
    }

    fn json_ld(&mut self, blocks: &[Value], limits: &Limits) {
        let mut pending: Vec<&Value> = blocks.iter().rev().collect();
        while let Some(value) = pending.pop() {
            match value {
                Value::Array(values) => pending.extend(values.iter().rev()),
                Value::Object(object) => {
                    self.thing(object, limits);
                    let is_part = |name: &str| !OTHER_PROPERTIES.contains(&name);
                    pending.extend(object.iter().filter(|(name, _)| is_part(name)).map(|(_, value)| value));
                }
                _ => {}
            }
        }
    }

    /// One thing in JSON-LD.
    fn thing(&mut self, object: &Map<String, Value>, limits: &Limits) {
        let get = |name: &str| limits.value(object.get(name)?.as_str()?);
        let kind = match object.get("@type") {
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
            kind => kind.and_then(Value::as_str),
        };
        let is_other = is_one_of(&OTHER_TYPES, kind.unwrap_or_default());
        let source = if is_other { Source::JsonLdOther } else { Source::JsonLd };
        self.publish(source, get("datePublished"));
        self.publish(Source::JsonLdOther, get("dateCreated").or_else(|| get("uploadDate")));
        self.modify(source, get("dateModified"));
    }

    /// One meta element.
    fn meta(&mut self, element: ElementRef<'_>, limits: &Limits) {
        let content = element.attr("content").unwrap_or_default();
        for name in ["name", "property", "itemprop", "http-equiv"].iter().filter_map(|key| element.attr(key)) {
            if let Some(says) = Says::of_name(name) {
                self.offer(says, Source::Meta, limits.value(content));
            } else if name.eq_ignore_ascii_case("og:url") {
                self.path(content, Source::Path, limits);
            } else if name.eq_ignore_ascii_case("og:image") {
                self.path(content, Source::Picture, limits);
            }
        }
    }

    /// The path of a URL that the page states.
    fn path(&mut self, url: &str, source: Source, limits: &Limits) {
        let date = Url::parse(url).ok().and_then(|url| Date::of_path(url.path()));
        self.publish(source, limits.believed(date));
    }
}

/// The dates of a page that are believed, and the way in which they are read.
struct Limits {
    order: Order,
    latest: civil::Date,
}

impl Limits {
    fn of(page: &Facts<'_>) -> Limits {
        let language = page.stated_language().unwrap_or_default().to_ascii_lowercase();
        let is_american = matches!(language.as_str(), "en" | "en-us");
        let order = if is_american { Order::MonthFirst } else { Order::DayFirst };
        Limits { order, latest: day_of(page.fetched + AHEAD_MAX).unwrap_or(civil::Date::MAX) }
    }

    fn believed(&self, date: Option<Date>) -> Option<Date> {
        date.filter(|date| date.day.year() >= YEAR_MIN && date.day <= self.latest)
    }

    /// The date that the value of an attribute is.
    fn value(&self, text: &str) -> Option<Date> {
        self.believed(Date::of_value(text, self.order))
    }
}

/// The day of a moment in UTC.
fn day_of(time: Time) -> Option<civil::Date> {
    let (year, month, day, ..) = time.civil();
    civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

//! Dates that a page has and does not show: in scripts, in comments, in the URLs of its pictures. A last resort.

use scraper::Node;
use url::Url;

use super::super::Facts;
use super::date::{Date, places};
use super::shown::Mark;
use super::words::Says;
use super::{Dates, Limits, Source};

/// Bytes of scripts and comments of a page that are read.
const BYTES_MAX: usize = 1 << 20;
/// Bytes in front of a date that say what it is of.
const LABEL_BYTES: usize = 30;

/// Offers the first date of each kind to `dates`.
pub(super) fn walk(page: &Facts<'_>, limits: &Limits, dates: &mut Dates) {
    let mut left = BYTES_MAX;
    for node in page.tree.tree.root().descendants() {
        let text: &str = match node.value() {
            Node::Text(text) => text,
            Node::Comment(text) => text,
            Node::Element(element) if element.name() == "img" => {
                let base = page.base.or(page.url);
                let url = element.attr("src").and_then(|src| match base {
                    Some(base) => base.join(src).ok(),
                    None => Url::parse(src).ok(),
                });
                let date = url.and_then(|url| Date::of_path(url.path()));
                dates.publish(Source::Hidden(Mark::Line), limits.believed(date));
                continue;
            }
            _ => continue,
        };
        let Some(rest) = left.checked_sub(text.len()) else { break };
        left = rest;
        of_text(text, limits, dates);
    }
}

/// Offers dates with a word for a publication in front of them, and others that have a time.
fn of_text(text: &str, limits: &Limits, dates: &mut Dates) {
    for place in places(text, limits.order) {
        let label = &text[text.floor_char_boundary(place.start.saturating_sub(LABEL_BYTES))..place.start];
        let mark = match Says::of_label(label) {
            Some(Says::Published) => Mark::Labelled,
            _ if place.date.has_time() => Mark::NamedWeakly,
            _ => continue,
        };
        dates.publish(Source::Hidden(mark), limits.believed(Some(place.date)));
    }
}

//! Paths of URLs, and the way back from a path to its number.
//!
//! A path is written as a WHATWG parser writes it, with upper-case escapes and nothing escaped that need not be, so
//! that a URL has one form to fetch, whatever a crawler takes for the same URL. The last number in a path is the
//! number of the URL, which makes the way back a comparison instead of a table.

use super::conduct::Robots;
use super::host_names::gone_name;
use super::plan::{Kind, Plan, Purpose, Target};
use super::{farm_kinds, trap_kinds};

/// Words of paths and titles.
const TOPICS: [&str; 12] = [
    "harbour", "granite", "meadow", "lantern", "copper", "orchard", "signal", "willow", "archive", "cobalt", "thicket",
    "quarry",
];

/// A path as people type it: with spaces and accents.
pub(super) fn typed_path(path: &str) -> String {
    path.replace("%20", " ").replace("%C3%A9", "é")
}

/// The path and query of a URL.
pub(super) fn path(plan: &Plan, host: u32, url: u32) -> String {
    if url == 0 {
        return "/".to_owned();
    }
    let robots = plan.host(host).robots;
    match (plan.kind(host, url), robots) {
        (Kind::Excluded, Robots::Some(0)) => return format!("/private/{url}.html"),
        (Kind::Excluded, Robots::Some(1)) => return format!("/doc/{url}.print"),
        (Kind::Excluded, Robots::Some(2)) => return format!("/cgi/{url}?run=yes"),
        (Kind::Excluded, _) => return format!("/tags/{url}"),
        (Kind::Hidden, _) => return format!("/hidden/{url}.html"),
        (Kind::Listed, _) => return format!("/listed/{url}.html"),
        (Kind::Redirect, _) => return format!("/go/{url}"),
        _ => {}
    }
    let mut dice = plan.dice(Purpose::Path, host, url);
    let (way, topic, other) = (dice.u8(0..10), TOPICS[dice.usize(0..6)], TOPICS[dice.usize(6..12)]);
    match way {
        0 => format!("/p/{url}"),
        1 | 2 => format!("/articles/20{}/{topic}-{other}-{url}.html", dice.u8(10..26)),
        3 => format!("/show?id={url}&lang=en"),
        4 => format!("/caf%C3%A9/{topic}/{url}"),
        5 => format!("/{topic}%20{other}/{url}.html"),
        6 => format!("/{topic}/{other}/{url}/"),
        7 => format!("/~{topic}/{url}.htm"),
        8 if robots == Robots::Some(2) => format!("/cgi/open/{url}"),
        8 => format!("/list?page={url}"),
        _ => format!("/wiki/{topic}_({other},{url})"),
    }
}

/// The URL of a host that has this path and query.
pub(super) fn url_at(plan: &Plan, host: u32, path_asked: &str) -> Option<u32> {
    if path_asked == "/" {
        return Some(0);
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let end = path_asked.rfind(is_digit)? + 1;
    let start = path_asked[..end].rfind(|c| !is_digit(c)).map_or(0, |last| last + 1);
    let url = path_asked.get(start..end)?.parse().ok()?;
    (url < plan.host(host).len() && path(plan, host, url) == path_asked).then_some(url)
}

/// The whole URL, as it is fetched.
pub(super) fn address(plan: &Plan, port: u16, target: Target) -> String {
    match target {
        Target::Url(host, url) => format!("http://{}:{port}{}", plan.host(host).name, path(plan, host, url)),
        Target::Gone(gone) => format!("http://{}:{port}/", gone_name(gone)),
        Target::Trap(trap) => format!("http://{}:{port}/", trap_kinds::host_name(trap)),
        Target::Farm(number) => format!("http://{}:{port}/", farm_kinds::host_name(number)),
        Target::Requisite(requisite) => requisite.url(port),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::simweb::SimOptions;

    fn plan() -> Plan {
        Plan::new(SimOptions { hosts: 40, pages: 4_000, robots_share: 0.6, ..Default::default() }).unwrap()
    }

    #[test]
    fn a_parser_leaves_every_url_as_it_is() {
        let plan = plan();
        let mut seen = HashSet::new();
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            let address = address(&plan, 8_080, Target::Url(host, url));
            assert_eq!(url::Url::parse(&address).unwrap().as_str(), address);
            assert!(seen.insert(address));
        }
    }

    #[test]
    fn a_path_leads_back_to_its_url_and_nothing_else_does() {
        let plan = plan();
        for place in 0..plan.len() {
            let (host, url) = plan.at(place);
            assert_eq!(url_at(&plan, host, &path(&plan, host, url)), Some(url));
        }
        for path in ["", "/p", "/p/99999999", "/p/99999999999999999999999", "/hidden/é1", "/../1"] {
            assert_eq!(url_at(&plan, 0, path), None, "{path}");
        }
    }
}

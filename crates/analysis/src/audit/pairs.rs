//! Translations name one another: a page that names another one as its translation has to be named by it.
//!
//! Lines are `here, there, has`: the page `here` names the page `there`; and `here, there, wants, ...`: the page
//! `there` names the page `here`, which therefore has to name it in turn. The lines of a pair are next to each other.

use super::finding::{Finding, Findings, Kind};
use super::line::fields;
use super::node::Node;
use super::spool::Spool;
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Finds the translations among `nodes` that do not link back. What was not fetched, or is no page, is not judged.
pub(super) fn find(pairs: Sorter, nodes: &Spool, findings: &mut Findings) -> Result<()> {
    let (mut lines, mut nodes) = (pairs.finish()?, nodes.read());
    let mut here: Option<(String, bool)> = None;
    // the last pair, and whether it is settled
    let mut last = (String::new(), String::new());
    let mut is_settled = false;
    while let Some(line) = lines.next()? {
        let [page, other, mark, from, to, code] = fields(line);
        if (page, other) != (last.0.as_str(), last.1.as_str()) {
            last = (page.to_owned(), other.to_owned());
            is_settled = false;
        }
        if mark == "has" || is_settled {
            is_settled = true;
            continue;
        }
        is_settled = true;
        if here.as_ref().is_none_or(|(known, _)| known != page) {
            let is_page = Node::of(&mut nodes, page.as_bytes())?.is_some_and(|node| node.is_page());
            here = Some((page.to_owned(), is_page));
        }
        if here.as_ref().is_some_and(|(_, is_page)| *is_page) {
            findings.push(&Finding::of(Kind::HreflangReturn, from, "").at(to, "alternate", code))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::line::line;
    use super::super::node::Answered;
    use super::*;
    use crate::clock::Time;

    #[test]
    fn a_translation_that_names_its_page_in_turn_is_right_and_others_are_told_once() {
        let (mut pairs, mut nodes) = (Sorter::new(0), Sorter::new(0));
        for (key, status) in [("a", 200), ("b", 200), ("c", 200), ("d", 404)] {
            let known = Answered { status, is_html: true, ..Answered::default() };
            nodes.push(&Node::Answered(known).line(key, Time::ZERO)).unwrap();
        }
        for (from, to, code) in [
            ("a", "b", "de"),
            ("b", "a", "en"),
            ("a", "c", "fr"),
            ("a", "c", "x-default"),
            ("a", "d", "it"),
            ("a", "e", "es"),
        ] {
            pairs.push(&line([from, to, "has"])).unwrap();
            pairs.push(&line([to, from, "wants", from, to, code])).unwrap();
        }
        let mut findings = Findings::new(0);
        find(pairs, &Spool::of(nodes).unwrap(), &mut findings).unwrap();
        let spool = Spool::of(findings.into_sorter()).unwrap();
        let mut lines = spool.read();
        let finding = Finding::of_line(lines.next().unwrap().unwrap()).unwrap();
        assert_eq!((finding.subject.as_str(), finding.item.url.as_str(), finding.item.text.as_str()), ("a", "c", "fr"));
        assert!(lines.next().unwrap().is_none());
    }
}

//! Clicks from a seed to each page: the least number of links that a visitor follows.
//!
//! The depth that a crawl notes is how it came to a page, by a sitemap too; a visitor has no sitemap. A pass over all
//! links is a click for all pages at once, so nothing is looked up at random and memory stays small. Redirects cost no
//! click: a link leads to where its redirects end.

use super::figures::{DEPTH_MAX, Figures};
use super::line::{fields, line};
use super::link::{How, Link};
use super::node::Node;
use super::redirects::{HOPS_MAX, Next, RedirectPath, follow};
use super::spool::{Lines, Spool, SpoolWriter};
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Counts the pages by their clicks.
pub(super) fn count(links: &Spool, nodes: &Spool, memory: usize, figures: &mut Figures) -> Result<()> {
    let ends = follow(nodes, memory, &judge)?;
    let edges = edges(links, &ends, memory)?;
    let mut reached = SpoolWriter::new()?.finish()?;
    let mut at = seeds(nodes, &ends, memory)?;
    let mut left = figures.pages;
    for clicks in 0..DEPTH_MAX {
        let found = pages_of(&at, nodes)?;
        figures.clicks[clicks] = found;
        left = left.saturating_sub(found);
        if left == 0 || at.read().peek()?.is_none() {
            break;
        }
        reached = both(&reached, &at)?;
        at = new_targets(&at, &edges, &reached, memory)?;
    }
    figures.clicks[DEPTH_MAX] = left;
    Ok(())
}

fn judge(path: &RedirectPath<'_>) -> Next {
    match path.node.and_then(Node::redirect) {
        Some(target) if !path.is_circle() && path.stops.len() < HOPS_MAX => Next::On(target.to_owned()),
        None if !path.stops.is_empty() => Next::End(line([path.start(), path.at])),
        _ => Next::Nothing,
    }
}

/// The key that the URL of this one leads to in the end; the keys have to rise from call to call.
fn end_of(ends: &mut Lines<'_>, key: &str) -> Result<String> {
    let found = ends.next_of(key.as_bytes())?.map(|line| fields::<2>(&line)[1].to_owned());
    Ok(found.unwrap_or_else(|| key.to_owned()))
}

/// Lines of a page and where one of its links leads.
fn edges(links: &Spool, ends: &Spool, memory: usize) -> Result<Spool> {
    let mut sorter = Sorter::new(memory);
    let (mut links, mut ends) = (links.read(), ends.read());
    let (mut last, mut end) = (String::new(), String::new());
    while let Some(bytes) = links.next()? {
        let Some(link) = Link::of_line(bytes).filter(|link| matches!(link.how, How::Anchor | How::Refresh)) else {
            continue;
        };
        if link.target != last {
            end = end_of(&mut ends, &link.target)?;
            last = link.target;
        }
        if link.source != end {
            sorter.push(&line([&link.source, &end]))?;
        }
    }
    Spool::of(sorter)
}

/// The keys of the pages that seeds lead to.
fn seeds(nodes: &Spool, ends: &Spool, memory: usize) -> Result<Spool> {
    let mut sorter = Sorter::new(memory);
    let (mut nodes, mut ends) = (nodes.read(), ends.read());
    while let Some(bytes) = nodes.next()? {
        if let Some((key, Node::Answered(known))) = Node::of_line(bytes)
            && known.depth == Some(0)
        {
            sorter.push(end_of(&mut ends, key)?.as_bytes())?;
        }
    }
    Spool::of(sorter)
}

/// Those of `keys` that are pages.
fn pages_of(keys: &Spool, nodes: &Spool) -> Result<u64> {
    let (mut keys, mut nodes, mut found) = (keys.read(), nodes.read(), 0);
    while let Some(key) = keys.next()? {
        found += u64::from(Node::of(&mut nodes, key)?.is_some_and(|node| node.is_page()));
    }
    Ok(found)
}

/// The keys of both.
fn both(one: &Spool, other: &Spool) -> Result<Spool> {
    let (mut one, mut other, mut out) = (one.read(), other.read(), SpoolWriter::new()?);
    loop {
        let from_one = match (one.peek()?, other.peek()?) {
            (None, None) => return out.finish(),
            (Some(key), Some(next)) => key <= next,
            (key, _) => key.is_some(),
        };
        let lines = if from_one { &mut one } else { &mut other };
        if let Some(key) = lines.next()? {
            out.push(key)?;
        }
    }
}

/// The keys of what the pages `at` lead to and that is not `reached`.
fn new_targets(at: &Spool, edges: &Spool, reached: &Spool, memory: usize) -> Result<Spool> {
    let mut found = Sorter::new(memory);
    let (mut at, mut edges) = (at.read(), edges.read());
    while let Some(key) = at.next()? {
        while let Some(edge) = edges.next_of(key)? {
            found.push(fields::<2>(&edge)[1].as_bytes())?;
        }
    }
    let found = Spool::of(found)?;
    let (mut found, mut reached, mut out) = (found.read(), reached.read(), SpoolWriter::new()?);
    while let Some(target) = found.next()? {
        if reached.next_of(target)?.is_none() {
            out.push(target)?;
        }
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::super::figures::Counted;
    use super::super::node::Answered;
    use super::*;
    use crate::clock::Time;

    #[test]
    fn pages_are_counted_by_the_least_clicks_and_those_of_sitemaps_alone_apart() {
        let (mut nodes, mut links, mut figures) = (Sorter::new(0), Sorter::new(0), Figures::default());
        for (key, depth, redirect) in
            [("s", 0, "a"), ("a", 1, ""), ("b", 1, ""), ("c", 2, ""), ("m", 1, ""), ("r", 1, "c")]
        {
            let status = if redirect.is_empty() { 200 } else { 301 };
            let (url, redirect, depth) = (key.to_owned(), redirect.to_owned(), Some(depth));
            let is_page = status == 200;
            let known = Answered { url, status, is_html: is_page, depth, redirect, ..Answered::default() };
            nodes.push(&Node::Answered(known).line(key, Time::ZERO)).unwrap();
            figures.count(Counted { status, is_page, depth, ..Counted::default() });
        }
        let mut link = |source: &str, target: &str, how| {
            let (source, target, url) = (source.to_owned(), target.to_owned(), target.to_owned());
            let (nofollow, leaves, text) = (false, false, String::new());
            links.push(&Link { target, how, source, nofollow, leaves, text, url }.line()).unwrap();
        };
        link("s", "a", How::Redirect);
        link("a", "b", How::Anchor);
        link("b", "a", How::Anchor);
        link("b", "r", How::Anchor);
        link("b", "nobody", How::Anchor);
        link("a", "c", How::Embed);
        link("map", "m", How::Listed);
        let (nodes, links) = (Spool::of(nodes).unwrap(), Spool::of(links).unwrap());
        count(&links, &nodes, 1 << 20, &mut figures).unwrap();
        let found = figures.clicks().into_iter().map(|class| format!("{} {}", class.name, class.count));
        assert_eq!(found.collect::<Vec<_>>(), ["0 1", "1 1", "2 1", "20+ or none 1"]);
        let depths = figures.depths().into_iter().map(|class| format!("{} {}", class.name, class.count));
        assert_eq!(depths.collect::<Vec<_>>(), ["0 0", "1 3", "2 1"], "as the crawl came to them");
    }
}

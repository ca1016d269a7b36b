//! Redirects that lead to redirects, and those that lead back.
//!
//! All are followed at once, a hop with each pass over the file of URLs: what is on its way is sorted by where it
//! stands. So nothing is looked up at random, and the passes are as many as the longest chain has hops.

use super::line::{fields, line};
use super::node::Node;
use super::spool::Spool;
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Hops that are followed; what is longer is told as so long.
const HOPS_MAX: usize = 20;
/// Between the URLs of a way.
const ARROW: &str = " \u{2192} ";

/// Where a redirect leads that does not lead to a page at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub is_loop: bool,
    /// Its way, in words.
    pub detail: String,
}

impl Chain {
    /// That of a line.
    pub(super) fn of_line(bytes: &[u8]) -> Chain {
        let [_, mark, detail] = fields(bytes);
        Chain { is_loop: mark == "loop", detail: detail.to_owned() }
    }
}

/// The chains and loops among `nodes`, by the key of where they begin.
pub(super) fn find(nodes: &Spool, memory: usize) -> Result<Spool> {
    let mut found = Sorter::new(memory / 2);
    let mut on_the_way = Sorter::new(memory / 4);
    let mut is_any = false;
    let mut lines = nodes.read();
    let mut last = Vec::new();
    while let Some(bytes) = lines.next()? {
        let Some((key, node)) = Node::of_line(bytes).filter(|(key, _)| key.as_bytes() != last) else { continue };
        last = key.as_bytes().to_vec();
        if let Some(target) = node.redirect() {
            on_the_way.push(&line([target, key]))?;
            is_any = true;
        }
    }
    while is_any {
        let before = Spool::of(std::mem::replace(&mut on_the_way, Sorter::new(memory / 4)))?;
        is_any = step(nodes, &before, &mut on_the_way, &mut found)?;
    }
    Spool::of(found)
}

/// One hop of all that is on its way. Says whether some goes on. A line is where it stands, and the way to there.
fn step(nodes: &Spool, before: &Spool, on_the_way: &mut Sorter, found: &mut Sorter) -> Result<bool> {
    let (mut ways, mut nodes, mut is_any) = (before.read(), nodes.read(), false);
    let mut at: Option<(Vec<u8>, Option<Node>)> = None;
    while let Some(bytes) = ways.next()? {
        let [key, way] = fields(bytes);
        if at.as_ref().is_none_or(|(known, _)| known != key.as_bytes()) {
            at = Some((key.as_bytes().to_vec(), Node::of(&mut nodes, key.as_bytes())?));
        }
        let node = at.as_ref().and_then(|(_, node)| node.as_ref());
        let stops: Vec<&str> = way.split(' ').collect();
        let start = stops.first().copied().unwrap_or_default();
        let whole = || format!("{}{ARROW}{key}", stops.join(ARROW));
        if stops.contains(&key) {
            found.push(&line([start, "loop", &whole()]))?;
            continue;
        }
        match node.and_then(Node::redirect) {
            Some(target) if stops.len() < HOPS_MAX => {
                on_the_way.push(&line([target, &format!("{way} {key}")]))?;
                is_any = true;
            }
            Some(_) => found.push(&line([start, "chain", &format!("{} and on", whole())]))?,
            None if stops.len() > 1 => {
                found.push(&line([start, "chain", &format!("{} hops: {}", stops.len(), whole())]))?
            }
            None => {}
        }
    }
    Ok(is_any)
}

#[cfg(test)]
mod tests {
    use super::super::node::Answered;
    use super::*;
    use crate::clock::Time;

    #[test]
    fn chains_and_loops_are_found_from_each_of_their_redirects() {
        let mut sorter = Sorter::new(0);
        let mut add = |key: &str, to: &str| {
            let known = Answered { status: 301, redirect: to.to_owned(), ..Answered::default() };
            sorter.push(&Node::Answered(known).line(key, Time::ZERO)).unwrap();
        };
        for (key, to) in [("a", "b"), ("b", "c"), ("c", "d"), ("l", "m"), ("m", "l"), ("s", "s"), ("x", "l"), ("d", "")]
        {
            add(key, to);
        }
        (0..40).for_each(|n| add(&format!("z{n:02}"), &format!("z{:02}", n + 1)));
        let chains = find(&Spool::of(sorter).unwrap(), 1 << 20).unwrap();
        let mut lines = chains.read();
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let [start, mark, detail] = fields(line);
            found.push((start.to_owned(), mark.to_owned(), detail.to_owned()));
        }
        let first: Vec<_> = found.iter().map(|(start, mark, detail)| format!("{start} {mark} {detail}")).collect();
        let expected = [
            "a chain 3 hops: a \u{2192} b \u{2192} c \u{2192} d",
            "b chain 2 hops: b \u{2192} c \u{2192} d",
            "l loop l \u{2192} m \u{2192} l",
            "m loop m \u{2192} l \u{2192} m",
            "s loop s \u{2192} s",
            "x loop x \u{2192} l \u{2192} m \u{2192} l",
        ];
        assert_eq!(first[..6], expected);
        assert_eq!(found.len(), 6 + 39, "one hop is no chain");
        assert!(first[6].starts_with("z00 chain z00") && first[6].ends_with("and on"), "{}", first[6]);
    }
}

//! Redirects that lead to redirects, and those that lead back.

use super::line::{fields, line};
use super::node::Node;
use super::redirects::{HOPS_MAX, Next, RedirectPath, follow};
use super::spool::Spool;
use crate::disk::Result;

/// Arrow between the URLs of a way.
const ARROW: &str = " \u{2192} ";

/// The way of a redirect that does not lead to a page at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub is_loop: bool,
    /// Its way, in words.
    pub detail: String,
}

impl Chain {
    /// Reads the chain from a line.
    pub(super) fn of_line(bytes: &[u8]) -> Chain {
        let [_, mark, detail] = fields(bytes);
        Chain { is_loop: mark == "loop", detail: detail.to_owned() }
    }
}

/// The chains and loops among `nodes`, by the key of where they begin.
pub(super) fn find(nodes: &Spool, memory: usize) -> Result<Spool> {
    follow(nodes, memory, &judge)
}

fn judge(path: &RedirectPath<'_>) -> Next {
    let hops = path.stops.len();
    let end = |mark, detail: &str| Next::End(line([path.start(), mark, detail]));
    let whole = || format!("{}{ARROW}{}", path.stops.join(ARROW), path.at);
    match path.node.and_then(Node::redirect) {
        _ if path.is_circle() => end("loop", &whole()),
        Some(target) if hops < HOPS_MAX => Next::On(target.to_owned()),
        Some(_) => end("chain", &format!("{} and on", whole())),
        None if hops > 1 => end("chain", &format!("{hops} hops: {}", whole())),
        None => Next::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Answered;
    use super::*;
    use crate::clock::Time;
    use crate::disk::sorter::Sorter;

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

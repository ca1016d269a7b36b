//! A page as a tree, parsed within limits.
//!
//! A tree of hostile HTML can cost time that grows with the square of its depth, and a hundred times the memory of its
//! bytes. So a page is given up when its tree has too many nodes, or takes too many steps to build or to walk: counts
//! that are the same on every machine. The clock is the last resort.

use std::time::{Duration, Instant};

use ego_tree::iter::Edge;
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{Html, HtmlTreeSink};

use super::sink::{Counting, Nodes};

/// Time that commands give the tree of one page, should the limits of its size not hold it.
pub const TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes between two looks at the counts and the clock.
const PARSE_STEP: usize = 16 << 10;
/// Nodes of a tree: some 300 bytes each.
const NODES_MAX: usize = 1_000_000;
/// Steps of the builder, and of a walk over what is below each element: a second or two of them. Pages take some 20 and
/// 30 for each node.
const STEPS_MAX: u64 = 200_000_000;

/// Why a page has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It has more than `NODES_MAX` nodes.
    Nodes,
    /// It has more nodes than this, too many for its main content to be looked for.
    MainNodes(usize),
    /// Its elements are nested so that its tree takes more than `STEPS_MAX` steps to build or to walk.
    Steps,
    /// It took longer than it may.
    Time(Duration),
}

impl std::fmt::Display for GivenUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GivenUp::Nodes => write!(f, "it has more than {NODES_MAX} nodes"),
            GivenUp::MainNodes(nodes) => write!(f, "it has more than {nodes} nodes"),
            GivenUp::Steps => f.write_str("its elements are nested too deeply"),
            GivenUp::Time(time_max) => write!(f, "it takes longer than {time_max:?} to parse"),
        }
    }
}

/// The tree of a page, within the limits.
pub fn parse(text: &str, time_max: Duration) -> Result<Html, GivenUp> {
    let page = fed(HtmlTreeSink::new(Html::new_document()), text, time_max)?;
    if depths(&page) > STEPS_MAX { Err(GivenUp::Steps) } else { Ok(page) }
}

/// Feeds a page to `sink`, piece by piece so that it can be given up, and returns what that makes of it.
pub(super) fn fed<S: Nodes>(sink: S, text: &str, time_max: Duration) -> Result<S::Output, GivenUp> {
    let started = Instant::now();
    let mut parser = parse_document(Counting::new(sink), ParseOpts::default());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(PARSE_STEP);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (step, after) = rest.split_at(end);
        parser.process(StrTendril::from(step));
        rest = after;
        let sink = &parser.tokenizer.sink.sink;
        if sink.nodes() > NODES_MAX {
            return Err(GivenUp::Nodes);
        }
        if sink.steps() > STEPS_MAX {
            return Err(GivenUp::Steps);
        }
        if started.elapsed() >= time_max {
            return Err(GivenUp::Time(time_max));
        }
    }
    Ok(parser.finish())
}

/// The depths of all nodes, added up: the steps that it takes to walk over what is below each node, or to look at what
/// is above each.
fn depths(page: &Html) -> u64 {
    let (mut depth, mut sum) = (0, 0);
    for edge in page.tree.root().traverse() {
        match edge {
            Edge::Open(_) => {
                sum += depth;
                depth += 1;
            }
            Edge::Close(_) => depth -= 1,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_too_many_nodes_has_no_tree() {
        assert!(parse(&"<a>".repeat(1_000), Duration::MAX).is_ok());
        let page = parse(&"<br>".repeat(NODES_MAX + 2 * PARSE_STEP), Duration::MAX);
        assert_eq!(page.unwrap_err(), GivenUp::Nodes);
    }

    #[test]
    fn nested_lists_are_given_up_by_a_count_that_is_the_same_everywhere() {
        for nested in ["<ul><li>", "<p><table><tr><td>", "<div><p>", "<b><div>", "<dl><dd><dt>"] {
            let page = parse(&nested.repeat((4 << 20) / nested.len()), Duration::MAX);
            assert!(matches!(page, Err(GivenUp::Steps | GivenUp::Nodes)), "{nested}");
        }
    }
}

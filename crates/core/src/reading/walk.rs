//! A walk over the tree in which main content is looked for, and what it counts.

use dom_query::{Document, Element, NodeData, NodeRef};

/// A walk over the nodes of a page: each when it opens, and when it closes.
pub(super) fn edges(page: &Document) -> impl Iterator<Item = (NodeRef<'_>, bool)> {
    let mut next = Some((page.root(), true));
    std::iter::from_fn(move || {
        let (node, opens) = next?;
        let child = if opens { Some(node.first_child().map_or((node, false), |child| (child, true))) } else { None };
        let sibling = || node.next_sibling().map(|sibling| (sibling, true));
        next = child.or_else(sibling).or_else(|| node.parent().map(|parent| (parent, false)));
        Some((node, opens))
    })
}

/// The characters of a text, blanks left out.
pub(super) fn chars(node: &NodeRef<'_>) -> usize {
    node.query_or(0, |node| match &node.data {
        NodeData::Text { contents } => contents.chars().filter(|c| !c.is_whitespace()).count(),
        _ => 0,
    })
}

/// Returns whether the text in an element is none that is read.
pub(super) fn is_unseen(element: &Element) -> bool {
    matches!(element.name.local.as_ref(), "script" | "style" | "noscript" | "template" | "head")
}

pub(super) fn is_heading(element: &Element) -> bool {
    matches!(element.name.local.as_ref(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

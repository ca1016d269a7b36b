//! The end of a main content: headings that nothing is below, and notes, are left out.
//!
//! Authors set in bold or italics what is not the text itself: whom to thank, what else to read, where to subscribe. At
//! the end such a paragraph is a note if it is short, or if it has a link.

use dom_query::NodeRef;

use super::walk::is_heading;

/// Headings and notes at the end that are left out.
const LAST_MAX: usize = 5;
/// Characters of a note that has a link.
const NOTE_CHARS: usize = 300;
/// Characters of a note that has none.
const LABEL_CHARS: usize = 60;

/// Takes out the headings and notes at the end of a text.
pub(super) fn leave_out(text: &NodeRef<'_>) {
    for _ in 0..LAST_MAX {
        let Some(last) = last_block(text).filter(|last| is_heading_node(last) || is_note(last)) else { return };
        last.remove_from_parent();
    }
}

/// The heading at the end of a text, or else the innermost paragraph or division there.
fn last_block<'a>(text: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut last = *text;
    let mut block = None;
    while let Some(inner) = last_child(&last) {
        if is_heading_node(&inner) {
            return Some(inner);
        }
        if inner.has_name("p") || inner.has_name("div") {
            block = Some(inner);
        }
        last = inner;
    }
    block
}

/// The last child that is not blank.
fn last_child<'a>(node: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let mut child = node.last_child();
    while let Some(blank) = child.filter(is_blank) {
        child = blank.prev_sibling();
    }
    child
}

fn is_note(block: &NodeRef<'_>) -> bool {
    let chars = block.text().chars().filter(|c| !c.is_whitespace()).count();
    let has_link = || block.descendants_it().any(|node| node.has_name("a"));
    chars < NOTE_CHARS && is_emphasised(block) && (chars < LABEL_CHARS || has_link())
}

/// Returns whether all the text of a block is in bold or italics.
fn is_emphasised(block: &NodeRef<'_>) -> bool {
    let is_emphasis = |node: NodeRef<'_>| ["b", "em", "i", "strong"].iter().any(|name| node.has_name(name));
    let is_plain =
        |text: &NodeRef<'_>| !text.ancestors_it(None).take_while(|node| node.id != block.id).any(is_emphasis);
    !block.descendants_it().any(|node| node.is_text() && !is_blank(&node) && is_plain(&node))
}

fn is_blank(node: &NodeRef<'_>) -> bool {
    node.text().trim().is_empty()
}

fn is_heading_node(node: &NodeRef<'_>) -> bool {
    node.element_ref().is_some_and(|element| is_heading(&element))
}

//! The tree builder's sink, with a count of what the builder does: the cost of a tree as a number that is the same on
//! every machine.
//!
//! html5ever walks its stack of open elements for many a tag, so nested elements cost time that grows with the square
//! of their depth. Each step of such a walk asks the sink for an element's name, or whether two are the same: those are
//! counted here. All else is the sink's own: scraper's, or dom_query's.

use std::borrow::Cow;
use std::cell::Cell;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName};
use scraper::HtmlTreeSink;

/// A sink that knows how many nodes it has.
pub(super) trait Nodes: TreeSink {
    fn nodes(&self) -> usize;
}

impl Nodes for HtmlTreeSink {
    fn nodes(&self) -> usize {
        self.0.borrow().tree.values().len()
    }
}

impl Nodes for dom_query::Document {
    fn nodes(&self) -> usize {
        self.tree.len()
    }
}

/// A sink that counts.
pub(super) struct Counting<S> {
    sink: S,
    steps: Cell<u64>,
}

impl<S: Nodes> Counting<S> {
    pub(super) fn new(sink: S) -> Self {
        Counting { sink, steps: Cell::new(0) }
    }

    /// Steps of the builder up to now.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Nodes of the tree up to now.
    pub(super) fn nodes(&self) -> usize {
        self.sink.nodes()
    }

    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }
}

impl<S: Nodes> TreeSink for Counting<S> {
    type Handle = S::Handle;
    type Output = S::Output;
    type ElemName<'a>
        = S::ElemName<'a>
    where
        Self: 'a;

    fn finish(self) -> S::Output {
        self.sink.finish()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> S::Handle {
        self.sink.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a S::Handle) -> Self::ElemName<'a> {
        self.step();
        self.sink.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> S::Handle {
        self.sink.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> S::Handle {
        self.sink.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> S::Handle {
        self.sink.create_pi(target, data)
    }

    fn append(&self, parent: &S::Handle, child: NodeOrText<S::Handle>) {
        self.sink.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &S::Handle, before: &S::Handle, child: NodeOrText<S::Handle>) {
        self.sink.append_based_on_parent_node(element, before, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.sink.append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, target: &S::Handle) -> S::Handle {
        self.sink.get_template_contents(target)
    }

    fn same_node(&self, one: &S::Handle, other: &S::Handle) -> bool {
        self.step();
        self.sink.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.sink.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &S::Handle, node: NodeOrText<S::Handle>) {
        self.sink.append_before_sibling(sibling, node);
    }

    fn add_attrs_if_missing(&self, target: &S::Handle, attrs: Vec<Attribute>) {
        self.sink.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &S::Handle) {
        self.sink.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &S::Handle, parent: &S::Handle) {
        self.sink.reparent_children(node, parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &S::Handle) -> bool {
        self.sink.is_mathml_annotation_xml_integration_point(handle)
    }
}

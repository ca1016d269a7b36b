//! The tree builder's sink, with a count of what the builder does: the cost of a tree as a number that is the same on
//! every machine.
//!
//! html5ever walks its stack of open elements for many a tag, so nested elements cost time that grows with the square
//! of their depth. Each step of such a walk asks the sink for an element's name, or whether two are the same: those are
//! counted here. All else is scraper's own sink.

use std::borrow::Cow;
use std::cell::Cell;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName};
use scraper::{Html, HtmlTreeSink};

type Handle = <HtmlTreeSink as TreeSink>::Handle;

/// A sink that counts.
pub(super) struct Counting {
    sink: HtmlTreeSink,
    steps: Cell<u64>,
}

impl Counting {
    pub(super) fn new() -> Self {
        Counting { sink: HtmlTreeSink::new(Html::new_document()), steps: Cell::new(0) }
    }

    /// Steps of the builder up to now.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Nodes of the tree up to now.
    pub(super) fn nodes(&self) -> usize {
        self.sink.0.borrow().tree.values().len()
    }

    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }
}

impl TreeSink for Counting {
    type Handle = Handle;
    type Output = Html;
    type ElemName<'a> = <HtmlTreeSink as TreeSink>::ElemName<'a>;

    fn finish(self) -> Html {
        self.sink.finish()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        self.sink.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> Self::ElemName<'a> {
        self.step();
        self.sink.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.sink.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.sink.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.sink.create_pi(target, data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.sink.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, before: &Handle, child: NodeOrText<Handle>) {
        self.sink.append_based_on_parent_node(element, before, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.sink.append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        self.sink.get_template_contents(target)
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.step();
        self.sink.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.sink.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Handle, node: NodeOrText<Handle>) {
        self.sink.append_before_sibling(sibling, node);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.sink.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.sink.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Handle, parent: &Handle) {
        self.sink.reparent_children(node, parent);
    }
}

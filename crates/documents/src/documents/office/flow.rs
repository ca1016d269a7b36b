//! Text that flows: paragraphs, headings and items of lists one after the other, in tables and sections.
//!
//! Office programs have no lists, only paragraphs with a level; here they become lists within one another. Elements
//! without text are left out.

use crate::documents::page::Page;

/// Levels of lists.
const LEVEL_MAX: usize = 8;

/// Blocks of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A paragraph, which ends lists.
    Paragraph,
    /// A further paragraph of an item.
    Continued,
    /// A heading of this level: 1 and more.
    Heading(u8),
    /// An item of a list.
    Item {
        /// Lists that it is in, besides its own.
        level: usize,
        /// True if its list is numbered.
        is_ordered: bool,
    },
}

/// A list that is open.
#[derive(Debug)]
struct List {
    is_ordered: bool,
    /// Elements that were open when it began.
    depth: usize,
}

/// An element around blocks.
#[derive(Debug)]
struct Container {
    /// Lists that are open around it.
    lists: usize,
    /// Elements that were open when it began.
    depth: usize,
}

/// Text that is written to a page.
#[derive(Debug)]
pub(super) struct Flow<'p> {
    page: &'p mut Page,
    /// The block that begins with the next text.
    next: Option<Block>,
    /// Elements that were open when the block began that is open.
    block: Option<usize>,
    lists: Vec<List>,
    containers: Vec<Container>,
    link: Option<String>,
    is_link_open: bool,
    has_text: bool,
}

impl<'p> Flow<'p> {
    /// A flow of text that goes to `page`.
    pub(super) fn new(page: &'p mut Page) -> Flow<'p> {
        Flow {
            page,
            next: None,
            block: None,
            lists: Vec::new(),
            containers: Vec::new(),
            link: None,
            is_link_open: false,
            has_text: false,
        }
    }

    /// Begins a block, which is written with its first text.
    pub(super) fn start(&mut self, block: Block) {
        self.end();
        self.next = Some(block);
    }

    /// Ends the block.
    pub(super) fn end(&mut self) {
        self.next = None;
        self.is_link_open = false;
        if let Some(depth) = self.block.take() {
            self.page.close_to(depth);
        }
    }

    /// Text of the block.
    pub(super) fn text(&mut self, text: &str) {
        let is_blank = text.trim().is_empty();
        if is_blank && self.block.is_none() {
            return;
        }
        self.begin();
        if !is_blank {
            self.has_text = true;
            self.begin_link();
        }
        self.page.text(text);
    }

    /// The end of a line, not of the block.
    pub(super) fn line_break(&mut self) {
        if self.block.is_some() {
            self.page.empty("br", &[]);
        }
    }

    /// A picture, if it has an alternative text.
    pub(super) fn picture(&mut self, alt: &str) {
        if !alt.trim().is_empty() {
            self.begin();
            self.begin_link();
            self.page.empty("img", &[("alt", alt.trim())]);
        }
    }

    /// Sets the URL that text leads to from here on. One inside of the document is none.
    pub(super) fn link(&mut self, url: Option<String>) {
        if std::mem::take(&mut self.is_link_open) {
            self.page.close();
        }
        self.link = url.filter(|url| !url.trim().is_empty() && !url.starts_with('#'));
    }

    /// Opens an element around blocks.
    pub(super) fn open(&mut self, element: &'static str) {
        self.end_lists();
        self.containers.push(Container { lists: self.lists.len(), depth: self.page.depth() });
        self.page.open(element);
    }

    /// Closes the element around blocks that was opened last.
    pub(super) fn close(&mut self) {
        self.end_lists();
        if let Some(container) = self.containers.pop() {
            self.page.close_to(container.depth);
        }
    }

    /// The number of elements around blocks that are open.
    pub(super) fn opened(&self) -> usize {
        self.containers.len()
    }

    /// Closes elements around blocks until so many are open, and everything in them.
    pub(super) fn close_to(&mut self, opened: usize) {
        while self.containers.len() > opened {
            self.close();
        }
        self.end_lists();
        self.link = None;
    }

    /// True if there was text.
    pub(super) fn has_text(&self) -> bool {
        self.has_text
    }

    /// True if more need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.page.is_full()
    }

    fn begin(&mut self) {
        if self.block.is_some() {
            return;
        }
        let next = self.next.take().unwrap_or(Block::Paragraph);
        match next {
            Block::Item { level, is_ordered } => self.begin_item(level.min(LEVEL_MAX), is_ordered),
            Block::Paragraph => self.close_lists(self.floor()),
            Block::Heading(_) => self.close_lists(self.floor()),
            Block::Continued => {}
        }
        self.block = Some(self.page.depth());
        match next {
            Block::Item { .. } => {}
            Block::Heading(level) => {
                self.page.open(["h1", "h2", "h3", "h4", "h5", "h6"][usize::from(level.clamp(1, 6)) - 1])
            }
            Block::Paragraph | Block::Continued => self.page.open("p"),
        }
    }

    fn begin_link(&mut self) {
        if let Some(url) = self.link.as_deref().filter(|_| !self.is_link_open) {
            self.page.open_with("a", &[("href", url)]);
            self.is_link_open = true;
        }
    }

    fn begin_item(&mut self, level: usize, is_ordered: bool) {
        let wanted = self.floor() + level + 1;
        self.close_lists(wanted);
        if self.lists.len() == wanted && self.lists.last().is_some_and(|list| list.is_ordered != is_ordered) {
            self.close_lists(wanted - 1);
        }
        if let Some(list) = self.lists.last().filter(|_| self.lists.len() == wanted) {
            self.page.close_to(list.depth + 1);
            return self.page.open("li");
        }
        while self.lists.len() < wanted {
            self.lists.push(List { is_ordered, depth: self.page.depth() });
            self.page.open(if is_ordered { "ol" } else { "ul" });
            self.page.open("li");
        }
    }

    /// Lists that are open around the innermost container.
    fn floor(&self) -> usize {
        self.containers.last().map_or(0, |container| container.lists)
    }

    fn end_lists(&mut self) {
        self.end();
        self.close_lists(self.floor());
    }

    fn close_lists(&mut self, kept: usize) {
        if let Some(list) = self.lists.get(kept) {
            self.page.close_to(list.depth);
            self.lists.truncate(kept);
        }
    }
}

/// A URL as the document means it: relative ones begin in the folder that its files are in.
pub(super) fn outside(url: String) -> String {
    url.strip_prefix("../").map(str::to_owned).unwrap_or(url)
}

//! References of CSS: the URLs that a sheet, a `<style>` or a `style` attribute names, by CSS Syntax Level 3.
//!
//! What counts: `url()` with and without quotes wherever its token is, the string of `@import`, and the strings of
//! `image-set()`. What does not: `@namespace`, and the conditions of `@supports`, `@container` and `@document`, which
//! name URLs without fetching them; comments, and with them source maps; tokens that the standard calls bad.
//!
//! `cssparser` makes the tokens: the parser of Firefox, and part of the tree already, since `scraper` reads selectors
//! with it. Its parser skips a block unless it is entered by a call, which would put the depth of a sheet on the
//! stack; so a new parser is begun behind each opening instead, and the blocks that are open are kept here. A sheet
//! takes time linear in its length; one that opens more than 4,096 blocks within one another is read up to there.
//!
//! Most `style` attributes and some sheets name nothing: [`may_name`] finds that by a search for three bytes.

#[cfg(test)]
mod tests;

use std::ops::Range;

use cssparser::{CowRcStr, Parser, Token};

/// Blocks that may be open at the same time.
const DEPTH_MAX: usize = 4_096;

/// True if `css` can name a URL: it has a `url(`, an `image-set(`, an `@import`, or an escape, in which any of them can
/// be written.
pub fn may_name(css: &[u8]) -> bool {
    memchr::memchr3_iter(b'(', b'@', b'\\', css).any(|at| {
        let ends = |name: &[u8]| at.checked_sub(name.len()).is_some_and(|from| is(&css[from..at], name));
        match css[at] {
            b'(' => ends(b"url") || ends(b"image-set"),
            b'@' => css.get(at + 1..at + 7).is_some_and(|name| is(name, b"import")),
            _ => true,
        }
    })
}

fn is(found: &[u8], name: &[u8]) -> bool {
    found.eq_ignore_ascii_case(name)
}

/// The place of a URL in a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bytes of its token: a string with its quotes, or an unquoted `url(...)` as a whole.
    pub range: Range<usize>,
    /// True for an unquoted `url(...)`.
    pub is_unquoted: bool,
    /// True for the sheet that an `@import` names.
    pub is_sheet: bool,
}

/// Hands each URL that `css` names to `found`, with its escapes undone, in the order of the text.
pub fn urls(css: &str, found: &mut dyn FnMut(&str)) {
    places(css, &mut |url, _| found(url));
}

/// Hands each URL that `css` names to `found`, with its escapes undone and its place, in the order of the text.
pub fn places(css: &str, found: &mut dyn FnMut(&str, Place)) {
    if !may_name(css.as_bytes()) {
        return;
    }
    let (mut walk, mut from) = (Walk::default(), 0);
    loop {
        let mut parser = Parser::new(&css[from..]);
        from += loop {
            parser.skip_whitespace();
            let start = parser.position().byte_index();
            let Ok(token) = parser.next() else { return };
            if walk.open.len() > DEPTH_MAX {
                return;
            }
            let is_unquoted = matches!(token, Token::UnquotedUrl(_));
            let is_sheet = walk.rule == Rule::Import;
            let step = walk.take(token);
            let end = parser.position().byte_index();
            match step {
                Step::Named(url) => found(&url, Place { range: from + start..from + end, is_unquoted, is_sheet }),
                Step::Opened => break end,
                Step::Passed => {}
            }
        };
    }
}

/// Kinds of block that can be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Curly,
    Square,
    Parenthesis,
    /// `url(` whose string is still to come.
    Url,
    /// `image-set(`: its strings are URLs.
    ImageSet,
}

/// The part of an at-rule that the walk is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rule {
    /// None that matters.
    #[default]
    Other,
    /// Right behind `@import`.
    Import,
    /// Before the `;` or the block of a rule: what is named there is not fetched.
    Condition,
}

/// The meaning of a token.
enum Step<'i> {
    /// It names a URL.
    Named(CowRcStr<'i>),
    /// It opens a block.
    Opened,
    Passed,
}

#[derive(Debug, Default)]
struct Walk {
    open: Vec<Block>,
    rule: Rule,
    /// Blocks that were open where the rule began.
    depth: usize,
}

impl Walk {
    /// Takes a token.
    fn take<'i>(&mut self, token: &Token<'i>) -> Step<'i> {
        match token {
            Token::UnquotedUrl(url) => return self.name(url),
            Token::QuotedString(text) if self.is_url() => return self.name(text),
            Token::QuotedString(_) => self.pass(),
            Token::AtKeyword(name) => self.begin(name),
            Token::Semicolon => self.end_at(self.open.len()),
            Token::Function(name) => return self.enter(Block::of(name)),
            Token::ParenthesisBlock => return self.enter(Block::Parenthesis),
            Token::SquareBracketBlock => return self.enter(Block::Square),
            Token::CurlyBracketBlock => {
                self.end_at(self.open.len());
                return self.enter(Block::Curly);
            }
            Token::CloseParenthesis => {
                self.leave(|block| matches!(block, Block::Parenthesis | Block::Url | Block::ImageSet));
            }
            Token::CloseSquareBracket => self.leave(|block| block == Block::Square),
            Token::CloseCurlyBracket => self.leave(|block| block == Block::Curly),
            _ => self.pass(),
        }
        Step::Passed
    }

    /// True if a string is a URL where the walk is.
    fn is_url(&self) -> bool {
        let is_import = self.rule == Rule::Import && self.open.len() == self.depth;
        is_import || matches!(self.open.last(), Some(Block::Url | Block::ImageSet))
    }

    fn name<'i>(&mut self, url: &CowRcStr<'i>) -> Step<'i> {
        let is_named = self.rule != Rule::Condition;
        if self.rule == Rule::Import {
            self.rule = Rule::Condition;
        }
        if let Some(block @ Block::Url) = self.open.last_mut() {
            *block = Block::Parenthesis;
        }
        if is_named { Step::Named(url.clone()) } else { Step::Passed }
    }

    /// A token in whose place a URL may be awaited: then there comes none.
    fn pass(&mut self) {
        if self.rule == Rule::Import && self.open.len() == self.depth {
            self.rule = Rule::Condition;
        }
        if let Some(block @ Block::Url) = self.open.last_mut() {
            *block = Block::Parenthesis;
        }
    }

    fn begin(&mut self, name: &str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let names_only = ["namespace", "supports", "container", "document", "-moz-document"];
        self.rule = match () {
            () if is("import") => Rule::Import,
            () if names_only.into_iter().any(is) => Rule::Condition,
            () => Rule::Other,
        };
        self.depth = self.open.len();
    }

    /// Ends the rule where its `;` or its block is on the level of its name.
    fn end_at(&mut self, depth: usize) {
        if depth <= self.depth {
            self.rule = Rule::Other;
        }
    }

    fn enter<'i>(&mut self, block: Block) -> Step<'i> {
        if self.rule == Rule::Import && block != Block::Url && self.open.len() == self.depth {
            self.rule = Rule::Condition;
        }
        self.open.push(block);
        Step::Opened
    }

    /// A bracket that closes nothing is an error that means nothing.
    fn leave(&mut self, closes: impl Fn(Block) -> bool) {
        if self.open.last().is_some_and(|&block| closes(block)) {
            self.open.pop();
            if self.open.len() < self.depth {
                self.rule = Rule::Other;
            }
        }
    }
}

impl Block {
    fn of(function: &str) -> Block {
        let is = |name: &str| function.eq_ignore_ascii_case(name);
        match () {
            () if is("url") => Block::Url,
            () if is("image-set") || is("-webkit-image-set") => Block::ImageSet,
            () => Block::Parenthesis,
        }
    }
}

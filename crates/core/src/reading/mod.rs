//! Pages as people read them: a page as a tree within limits, and its main content without navigation, banners and
//! other boilerplate, as text or as Markdown.
//!
//! Pure, but for the clock that is the last resort against a hostile page: bytes in, text out.
//!
//! - [`tree`]: the tree of a page, given up when it costs too much
//! - [`main_content`](mod@main_content): what a page is about; `parts` knows what elements say that they are,
//!   `selection` takes those that it is in, `endings` leaves out what is no text at its end, and `markdown` writes it
//! - [`compared`]: the text by which versions of it are compared
//! - [`page`]: its title, headings, and the text that it is about
//! - [`rendered`]: its text as a browser shows it
//! - [`facts`]: what a page states for programs, and its language

pub mod compared;
mod endings;
pub mod facts;
pub mod main_content;
mod markdown;
pub mod page;
mod parts;
pub mod rendered;
mod selection;
#[cfg(test)]
mod selection_tests;
mod sink;
pub mod tree;
mod walk;

pub use facts::{Fact, Facts};
pub use main_content::{Form, MainContents, main_content, main_contents, main_text};
pub use rendered::{rendered_lines, rendered_with_alternatives};
pub use tree::GivenUp;

//! Jobs of rendering.

use super::job::Processed;

/// A page to be rendered, or to be stored as it was served after all.
#[derive(Debug)]
pub struct RenderJob {
    /// Its number, by which what it asks for is known.
    pub number: u64,
    /// Work that is done with it.
    pub work: RenderWork,
    /// The page with its body, and without records.
    pub processed: Box<Processed>,
}

/// Work that is done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderWork {
    /// A browser renders it.
    Render,
    /// It is processed as it was served.
    AsServed,
}

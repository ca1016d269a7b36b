//! Results of rendering pages.

use serde::{Deserialize, Serialize};

use crate::text::figures::count;

/// Pages that were rendered, and what they asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderFigures {
    /// Pages that were rendered.
    pub pages: u64,
    /// Those of `pages` that showed more links or text than without rendering.
    pub showed_more: u64,
    /// Pages whose rendering failed: they are stored as they came.
    pub failed: u64,
    /// Answers that pages got from servers.
    pub resources: u64,
    /// Requests of pages that were refused, or not answered.
    pub refused: u64,
    /// Pages that are rendered at this moment, or wait for a browser.
    #[serde(default)]
    pub under_way: u64,
}

impl RenderFigures {
    /// True where there is nothing to report.
    pub fn are_none(&self) -> bool {
        *self == RenderFigures::default()
    }

    /// Returns the figures in words.
    pub fn line(&self) -> String {
        let RenderFigures { pages, showed_more, failed, resources, refused, .. } = self;
        format!(
            "{} pages, {} showed more, {} failed; {} requests of theirs answered, {} refused",
            count(*pages),
            count(*showed_more),
            count(*failed),
            count(*resources),
            count(*refused)
        )
    }

    /// A rendering has ended.
    pub fn count(&mut self, has_failed: bool, showed_more: bool) {
        self.pages += u64::from(!has_failed);
        self.failed += u64::from(has_failed);
        self.showed_more += u64::from(showed_more);
    }
}

impl std::ops::AddAssign<&RenderFigures> for RenderFigures {
    fn add_assign(&mut self, more: &RenderFigures) {
        self.pages += more.pages;
        self.showed_more += more.showed_more;
        self.failed += more.failed;
        self.resources += more.resources;
        self.refused += more.refused;
        self.under_way += more.under_way;
    }
}

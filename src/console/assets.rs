//! The page and what it loads, compiled in.

use sha1::{Digest, Sha1};

use crate::replay::LOOK;

/// A file of the page.
pub(super) struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its `Content-Type`.
    pub mime: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const DRAWING: &str = "image/svg+xml";

/// The page itself.
pub(super) const PAGE: Asset = Asset { name: "index.html", mime: HTML, bytes: include_bytes!("assets/index.html") };

/// Files that the page loads.
const ASSETS: &[Asset] = &[
    Asset { name: "look.css", mime: CSS, bytes: LOOK.as_bytes() },
    Asset { name: "console.css", mime: CSS, bytes: include_bytes!("assets/console.css") },
    Asset { name: "tables.css", mime: CSS, bytes: include_bytes!("assets/tables.css") },
    Asset { name: "icon.svg", mime: DRAWING, bytes: include_bytes!("assets/icon.svg") },
    Asset { name: "api.js", mime: SCRIPT, bytes: include_bytes!("assets/api.js") },
    Asset { name: "chart.js", mime: SCRIPT, bytes: include_bytes!("assets/chart.js") },
    Asset { name: "charts.js", mime: SCRIPT, bytes: include_bytes!("assets/charts.js") },
    Asset { name: "controls.js", mime: SCRIPT, bytes: include_bytes!("assets/controls.js") },
    Asset { name: "dom.js", mime: SCRIPT, bytes: include_bytes!("assets/dom.js") },
    Asset { name: "explain.js", mime: SCRIPT, bytes: include_bytes!("assets/explain.js") },
    Asset { name: "figures.js", mime: SCRIPT, bytes: include_bytes!("assets/figures.js") },
    Asset { name: "format.js", mime: SCRIPT, bytes: include_bytes!("assets/format.js") },
    Asset { name: "freshness.js", mime: SCRIPT, bytes: include_bytes!("assets/freshness.js") },
    Asset { name: "main.js", mime: SCRIPT, bytes: include_bytes!("assets/main.js") },
    Asset { name: "overview.js", mime: SCRIPT, bytes: include_bytes!("assets/overview.js") },
    Asset { name: "rendering.js", mime: SCRIPT, bytes: include_bytes!("assets/rendering.js") },
    Asset { name: "stream.js", mime: SCRIPT, bytes: include_bytes!("assets/stream.js") },
    Asset { name: "table.js", mime: SCRIPT, bytes: include_bytes!("assets/table.js") },
    Asset { name: "tables.js", mime: SCRIPT, bytes: include_bytes!("assets/tables.js") },
    Asset { name: "tabs.js", mime: SCRIPT, bytes: include_bytes!("assets/tabs.js") },
    Asset { name: "theme.js", mime: SCRIPT, bytes: include_bytes!("assets/theme.js") },
    Asset { name: "tree.js", mime: SCRIPT, bytes: include_bytes!("assets/tree.js") },
];

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// An entity tag that changes with the content.
    pub(crate) fn tag(&self) -> String {
        format!("\"{}\"", data_encoding::BASE64URL_NOPAD.encode(&Sha1::digest(self.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_type_and_a_tag_of_its_own() {
        let all: Vec<&Asset> = ASSETS.iter().chain([&PAGE]).collect();
        let mut tags: Vec<String> = all.iter().map(|asset| asset.tag()).collect();
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), all.len());
        for asset in all {
            let kind = asset.name.rsplit_once('.').unwrap().1;
            let expected = [("html", HTML), ("css", CSS), ("js", SCRIPT), ("svg", DRAWING)]
                .into_iter()
                .find(|(end, _)| *end == kind);
            assert_eq!(expected.unwrap().1, asset.mime, "{}", asset.name);
        }
    }
}

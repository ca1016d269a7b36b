//! The files of the page that the console serves, compiled into the binary: plain HTML, CSS and ES modules, as they lie
//! in `assets/`.
//!
//! The page needs nothing from elsewhere and runs no code but these files: it works under a policy that permits only
//! `'self'`. They are changed by an editor, not by a build.

/// A file of the page.
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All files. The first one is the page itself.
pub const ASSETS: [Asset; 19] = [
    asset("index.html", "text/html; charset=utf-8", include_bytes!("assets/index.html")),
    asset("console.css", "text/css; charset=utf-8", include_bytes!("assets/console.css")),
    asset("tables.css", "text/css; charset=utf-8", include_bytes!("assets/tables.css")),
    asset("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")),
    asset("api.js", SCRIPT, include_bytes!("assets/api.js")),
    asset("chart.js", SCRIPT, include_bytes!("assets/chart.js")),
    asset("charts.js", SCRIPT, include_bytes!("assets/charts.js")),
    asset("controls.js", SCRIPT, include_bytes!("assets/controls.js")),
    asset("dom.js", SCRIPT, include_bytes!("assets/dom.js")),
    asset("explain.js", SCRIPT, include_bytes!("assets/explain.js")),
    asset("format.js", SCRIPT, include_bytes!("assets/format.js")),
    asset("main.js", SCRIPT, include_bytes!("assets/main.js")),
    asset("overview.js", SCRIPT, include_bytes!("assets/overview.js")),
    asset("stream.js", SCRIPT, include_bytes!("assets/stream.js")),
    asset("table.js", SCRIPT, include_bytes!("assets/table.js")),
    asset("tables.js", SCRIPT, include_bytes!("assets/tables.js")),
    asset("tabs.js", SCRIPT, include_bytes!("assets/tabs.js")),
    asset("theme.js", SCRIPT, include_bytes!("assets/theme.js")),
    asset("tree.js", SCRIPT, include_bytes!("assets/tree.js")),
];

const fn asset(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    Asset { name, media_type, bytes }
}

/// The file of this `name`.
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

//! Options of browsers, and limits for what a page may do and cost.

use std::path::PathBuf;
use std::time::Duration;

use crate::contract::Consent;

/// The way in which the processes of the browser are run.
#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// The program; none for the first one that [`super::find`] finds on `PATH`.
    pub program: Option<PathBuf>,
    /// Browsers at the same time, and so pages.
    pub processes: usize,
    /// Pages after which a browser is replaced by a new one.
    pub pages_max: u32,
    /// Time for a process to start and answer.
    pub start_timeout: Duration,
    /// Directory of its temporary profiles.
    pub temporary_dir: PathBuf,
    /// Run it without a sandbox where it cannot have one. To set it is to trust every page.
    pub allow_unsandboxed: bool,
}

impl Default for BrowserOptions {
    fn default() -> Self {
        BrowserOptions {
            program: None,
            processes: 2,
            pages_max: 200,
            start_timeout: Duration::from_secs(30),
            temporary_dir: std::env::temp_dir(),
            allow_unsandboxed: false,
        }
    }
}

/// Actions on a page, and its limits. [`RefusedKind`](super::RefusedKind) has what is refused to every page.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Value of `navigator.userAgent` for scripts. Empty for the browser's own.
    pub user_agent: String,
    /// Value of `navigator.languages` for scripts, as in the field `Accept-Language`. Empty for the browser's own.
    pub accept_language: String,
    /// Size that the page takes for its window.
    pub viewport: Viewport,
    /// Time from the moment when the page has come, pictures aside. A page that is not quiet by then is taken as it is.
    /// The browser's own time to open it is not in it: no page pays for a machine that has much to do.
    pub deadline: Duration,
    /// The rule by which a page counts as quiet.
    pub quiet: Quiet,
    /// Bytes of memory of the processes of a page ([`super::Rendered::peak_memory`]). Where they take more, the browser
    /// is killed.
    pub memory_max: u64,
    /// Requests that are answered; then the page is taken as it is.
    pub requests_max: u32,
    /// Bytes of all answers' bodies, decoded; then the page is taken as it is.
    pub bytes_max: u64,
    /// Times that the page may go elsewhere by itself: redirects, refreshes, scripts.
    pub navigations_max: u32,
    /// Bytes of the serialised DOM; it is cut there.
    pub dom_max: usize,
    /// Links that are collected.
    pub links_max: usize,
    /// Steps to the end of a page that grows there; 0 does not scroll.
    pub scrolls_max: u32,
    /// Answer to banners that ask for consent, given when the page is quiet for the first time.
    pub consent: Consent,
    /// CSS selectors of what is clicked when the page is quiet, each until it is gone or changes nothing.
    pub click: Vec<String>,
    /// Clicks, all selectors together.
    pub clicks_max: u32,
    /// A picture of the page.
    pub screenshot: Option<Screenshot>,
    /// The page as PDF.
    pub pdf: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions {
            user_agent: String::new(),
            accept_language: String::new(),
            viewport: Viewport { width: 1280, height: 1024 },
            deadline: Duration::from_secs(30),
            quiet: Quiet { network: Duration::from_millis(500), dom: Duration::from_millis(250) },
            memory_max: 512 << 20,
            requests_max: 1_000,
            bytes_max: 64 << 20,
            navigations_max: 10,
            dom_max: 16 << 20,
            links_max: 10_000,
            scrolls_max: 0,
            consent: Consent::Off,
            click: Vec::new(),
            clicks_max: 20,
            screenshot: None,
            pdf: false,
        }
    }
}

/// Size of a window in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// A page is quiet when it has loaded, and for these times nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// No request was open.
    pub network: Duration,
    /// The DOM did not change.
    pub dom: Duration,
}

/// A picture of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screenshot {
    /// Encoding of the picture.
    pub format: PictureFormat,
    /// The whole page, up to 16,384 pixels of height, rather than the window.
    pub is_full: bool,
}

/// Encodings of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// `image/png`.
    Png,
    /// `image/webp`.
    Webp,
}

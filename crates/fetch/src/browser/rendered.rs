//! The result of a page.

use std::time::Duration;

/// A page that was rendered.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The DOM as HTML, in UTF-8, with the open shadow roots as `<template shadowrootmode="open">`. What is in frames
    /// is not in it: a frame is a separate document.
    pub dom: String,
    /// True if the DOM was cut at [`super::RenderOptions::dom_max`].
    pub dom_cut: bool,
    /// URL of the page in the end, after redirects and `history.pushState`, with its fragment.
    pub url: String,
    /// Targets of links, as absolute URLs without duplicates, from the DOM with its shadow roots and its frames,
    /// whatever their scheme; sources of frames too.
    pub links: Vec<String>,
    /// Characters of its text, frames aside: without title, scripts, styles, templates and
    /// `noscript`; runs of blanks count as one.
    pub text_length: usize,
    /// Reason for which the wait for it ended.
    pub ended: Ended,
    /// The picture that was asked for.
    pub screenshot: Option<Vec<u8>>,
    /// The PDF that was asked for.
    pub pdf: Option<Vec<u8>>,
    /// Actions that it tried and was not allowed.
    pub refused: Vec<Refused>,
    /// Time on processors of the browser while it was rendered.
    pub cpu: Duration,
    /// Time that it took, without the wait for a free browser.
    pub duration: Duration,
    /// The most memory that its browser took for it, in bytes: all renderers, by their proportional set sizes where
    /// they can be read, else by what is not shared, and what the other processes took more than before. Looked at a
    /// few times a second.
    pub peak_memory: u64,
}

/// Reasons for which the wait for a page ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ended {
    /// It was quiet.
    #[default]
    Quiet,
    /// Its time was over.
    Deadline,
    /// It asked for more than [`super::RenderOptions::requests_max`].
    Requests,
    /// It got more than [`super::RenderOptions::bytes_max`].
    Bytes,
}

/// Something that a page tried and was not let, each kind and address once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refused {
    /// Kind of what was refused.
    pub what: RefusedKind,
    /// URL to which it would have gone, cut at 1,024 bytes. Empty where it has no address.
    pub url: String,
}

/// Kinds of actions that are refused to every page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefusedKind {
    /// A WebSocket.
    WebSocket,
    /// A WebTransport session.
    WebTransport,
    /// A file to be kept.
    Download,
    /// A window or a tab.
    Popup,
    /// `alert`, `confirm`, `prompt`, and the question before a page is left.
    Dialog,
    /// A scheme that is not the web's: `file:`, `chrome:`, `ftp:`.
    Scheme,
    /// A service worker.
    ServiceWorker,
    /// More workers than a page may have.
    Worker,
    /// A navigation beyond [`super::RenderOptions::navigations_max`].
    Navigation,
    /// A frame of one origin more than the frames of a page may have.
    Frame,
}

/// Reasons for which a page could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderFailure {
    /// There is no browser.
    #[error("no browser is installed: install Chromium, or name the program")]
    NotFound,
    /// The browser did not start.
    #[error("the browser did not start: {0}")]
    Start(String),
    /// The browser cannot have a sandbox here, and nobody allowed to go without.
    #[error("the browser cannot have a sandbox: {0}")]
    Unsandboxed(String),
    /// The browser, or the process of the page, ended. The page may be innocent: the kernel ends processes where a
    /// machine has no memory left.
    #[error("the browser crashed")]
    Crashed,
    /// The page took more memory than it may.
    #[error("the page takes more memory than it may")]
    Memory,
    /// The page had more processes than it may.
    #[error("the page has more processes than it may")]
    Processes,
    /// The page did not even answer when its time was over, nor after its scripts had been ended.
    #[error("the page hangs")]
    Hung,
    /// The main document did not come: its request was denied, or it is a download or has no content.
    #[error("the page did not load: {0}")]
    Document(String),
    /// The browser said what this module does not understand.
    #[error("the browser broke its protocol: {0}")]
    Protocol(String),
    /// The browsers are being closed.
    #[error("the browsers are closed")]
    Closed,
}

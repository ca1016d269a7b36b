//! Our own pages: search, calendar, and the frame around an archived page.

use std::sync::Arc;

use super::address::{self, Place};
use super::captures::{ArchiveFault, Captures};
use super::message::{Question, Reply};
use super::policy::{Policy, hold};
use super::{CSS, JAVASCRIPT, pages};

/// The look of our own pages, here and elsewhere.
pub const LOOK: &str = include_str!("assets/look.css");
/// Hosts on the start page.
const HOSTS_MAX: usize = 500;
/// The path of all captures of a URL.
const CALENDAR: &str = "/calendar";
/// Files that only these pages have.
const FILES: [File; 2] = [
    File { path: "/assets/home.css", mime: CSS, text: include_str!("assets/home.css") },
    File { path: "/assets/home.js", mime: JAVASCRIPT, text: include_str!("assets/home.js") },
];

/// The origin of our own pages.
pub struct Home {
    captures: Arc<dyn Captures>,
}

/// A file at a path.
struct File {
    path: &'static str,
    mime: &'static str,
    text: &'static str,
}

impl Home {
    /// Shows these captures.
    pub fn new(captures: Arc<dyn Captures>) -> Home {
        Home { captures }
    }

    /// Answers a request.
    pub fn answer(&self, question: &Question) -> Reply {
        let reply = self.choose(question).unwrap_or_else(|fault| Reply::page(500, pages::problem(&fault.0)));
        hold(reply, Policy::Home, question)
    }

    fn choose(&self, question: &Question) -> Result<Reply, ArchiveFault> {
        if !matches!(&*question.method, "GET" | "HEAD") {
            return Ok(Reply::page(405, pages::problem("Only GET is answered here.")));
        }
        let (path, query) = question.target.split_once('?').unwrap_or((&question.target, ""));
        Ok(match path {
            "/" => Reply::page(200, pages::start(&self.captures.start_pages(HOSTS_MAX)?)),
            CALENDAR => return self.calendar(query),
            "/assets/look.css" => Reply::new(200, CSS, LOOK),
            _ => match FILES.iter().find(|file| file.path == path) {
                Some(file) => Reply::new(200, file.mime, file.text),
                None => frame(question),
            },
        })
    }

    fn calendar(&self, query: &str) -> Result<Reply, ArchiveFault> {
        let given = query.split('&').find_map(|pair| pair.strip_prefix("url=")).unwrap_or_default();
        let given = address::unescaped(&given.replace('+', " ")).unwrap_or_default();
        let given = given.trim();
        let Some(url) = address::url(given) else {
            let page = pages::calendar(given, &[]);
            return Ok(Reply::page(404, page));
        };
        let captures = self.captures.captures(&url)?;
        let status = if captures.is_empty() { 404 } else { 200 };
        Ok(Reply::page(status, pages::calendar(url.as_str(), &captures)))
    }
}

/// Returns whether a path belongs to [`Home`], its start page aside: a server may have other pages beside them.
pub fn is_home_path(path: &str) -> bool {
    let is_capture = matches!(address::read(path), Place::Capture { .. });
    is_capture || path == CALENDAR || FILES.iter().any(|file| file.path == path)
}

/// The page with the frame that shows a capture.
fn frame(question: &Question) -> Reply {
    let Place::Capture { time, form, url } = address::read(&question.target) else {
        return Reply::page(404, pages::problem("There is nothing at this path."));
    };
    match address::url(url) {
        Some(url) => Reply::page(200, pages::frame(time, form, &url, &question.origins)),
        None => Reply::page(404, pages::problem("This is not the URL of a page of the web.")),
    }
}

//! Our own pages: search, calendar, and the frame around an archived page.

use std::sync::Arc;

use crawler_web::clock::Time;

use super::address::{self, Form, Place};
use super::captures::{ArchiveFault, Captures};
use super::message::{Question, Reply};
use super::moment::digits;
use super::policy::{Policy, hold};
use super::{CSS, JAVASCRIPT, pages};
use crate::web::url::CanonicalUrl;

/// The look of our own pages, here and elsewhere.
pub const LOOK: &str = include_str!("assets/look.css");
/// Hosts on the start page.
const HOSTS_MAX: usize = 500;
/// The path of all captures of a URL.
const CALENDAR: &str = "/calendar";
/// The path at which a URL or words are asked for.
const SEARCH: &str = "/search";
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
            CALENDAR => return self.calendar(&given(query, "url")),
            SEARCH => search(&given(query, "q")),
            "/assets/look.css" => Reply::new(200, CSS, LOOK),
            _ => match FILES.iter().find(|file| file.path == path) {
                Some(file) => Reply::new(200, file.mime, file.text),
                None => frame(question),
            },
        })
    }

    /// A page of our own with this body, below the form with what was `asked`.
    pub fn page(&self, question: &Question, status: u16, asked: &str, body: &str) -> Reply {
        let html = pages::page(asked, &pages::search_form(asked), body);
        hold(Reply::page(status, html), Policy::Home, question)
    }

    fn calendar(&self, given: &str) -> Result<Reply, ArchiveFault> {
        let Some(url) = address::url(given) else { return Ok(Reply::page(404, pages::calendar(given, &[]))) };
        let captures = self.captures.captures(&url)?;
        let status = if captures.is_empty() { 404 } else { 200 };
        Ok(Reply::page(status, pages::calendar(url.as_str(), &captures)))
    }
}

/// Returns whether a path belongs to [`Home`], its start page aside: a server may have other pages beside them.
pub fn is_home_path(path: &str) -> bool {
    let is_capture = matches!(address::read(path), Place::Capture { .. });
    is_capture || matches!(path, CALENDAR | SEARCH) || FILES.iter().any(|file| file.path == path)
}

/// Returns whether people who ask for `text` mean a URL, and not words.
pub fn is_url(text: &str) -> bool {
    !text.contains(char::is_whitespace) && address::url(text).is_some()
}

/// The path, at the origin of our own pages, of the one that shows the capture of `url` at `time`.
pub fn page_path(time: Time, url: &CanonicalUrl) -> String {
    address::path(&digits(time), Form::Replayed, url)
}

/// The value of a parameter in the query of a URL.
fn given(query: &str, name: &str) -> String {
    let value = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(own, _)| *own == name);
    let value = value.map_or(String::new(), |(_, value)| value.replace('+', " "));
    address::unescaped(&value).unwrap_or_default().trim().to_owned()
}

/// Leads from what was asked for to the captures of the URL. Words are the affair of a server that has an index.
fn search(asked: &str) -> Reply {
    if is_url(asked) {
        return Reply::found(format!("{CALENDAR}?url={}", address::escaped(asked)));
    }
    Reply::page(404, pages::problem("This is not the URL of a page of the web, and there is no search here."))
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

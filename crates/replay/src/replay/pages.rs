//! Pages of our own: what is missing, where to begin, the calendar of a URL, and the frame that shows a capture.

use std::fmt::Write;

use crate::web::url::CanonicalUrl;

use super::address::{Form, escaped, path};
use super::captures::{Capture, StartPage};
use super::message::Origins;
use super::moment::{digits, shown};

/// Text as it is written in HTML, in a text or between quotes.
pub fn html_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A page with the look of all; `header` stands behind the name of the program.
pub(super) fn page(title: &str, header: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=color-scheme content=\"light dark\"><title>{}</title>\
         <link rel=stylesheet href=\"/assets/look.css\"><link rel=stylesheet href=\"/assets/home.css\">\
         <link rel=alternate type=\"application/atom+xml\" href=\"/changes.atom\" title=Changes></head>\
         <body><a class=skip href=\"#main\">Skip to the archive</a>\
         <header><p class=brand><a href=\"/\">crawler</a></p>{header}</header>{body}",
        html_text(title)
    )
}

/// The form in which a URL or words are asked for; `asked` is what was.
pub(super) fn search_form(asked: &str) -> String {
    format!(
        "<form class=search role=search action=\"/search\"><label class=hidden for=q>Words or a URL</label>\
         <input id=q name=q type=search autocomplete=off autocapitalize=off spellcheck=false \
         value=\"{}\" placeholder=\"Words, or https://example.com/\"><button>Search</button></form>",
        html_text(asked)
    )
}

/// A capture of a URL that is named where another one is missing.
pub(super) struct Alternative {
    pub url: CanonicalUrl,
    pub capture: Capture,
}

/// Says that a URL is not in the archive, and names what is.
pub(super) fn missing(url: &str, others: &[Alternative], origin: &str) -> String {
    let mut body = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Not in the archive</title>\
         <h1>Not in the archive</h1><p>The crawl has not stored this URL: <code>{}</code>",
        html_text(url)
    );
    if !others.is_empty() {
        body.push_str("<p>The nearest captures of other URLs:<ul>");
    }
    for Alternative { url, capture } in others {
        let to = format!("{origin}{}", path(&digits(capture.time), Form::Replayed, url));
        let _ = write!(
            body,
            "<li><a href=\"{}\">{}</a> of {}",
            html_text(&to),
            html_text(url.as_str()),
            shown(capture.time)
        );
    }
    body
}

/// Says in one sentence why there is no answer.
pub(super) fn problem(sentence: &str) -> String {
    format!("<!doctype html><html lang=en><meta charset=utf-8><title>No answer</title><p>{}", html_text(sentence))
}

/// The page to begin with.
pub(super) fn start(pages: &[StartPage]) -> String {
    let mut body = "<main id=main tabindex=-1><h1>Archive</h1><h2>Hosts</h2>".to_owned();
    if pages.is_empty() {
        body.push_str("<p class=note>No page is stored yet.");
    }
    body.push_str("<ul class=captures>");
    for StartPage { url, time } in pages {
        let to = CanonicalUrl::parse(url).map(|url| path(&digits(*time), Form::Replayed, &url));
        let Ok(to) = to else { continue };
        let _ = write!(body, "<li><a href=\"{}\">{}</a> <time>{}</time>", html_text(&to), html_text(url), shown(*time));
    }
    page("Archive", &search_form(""), &(body + "</ul></main>"))
}

/// All captures of a URL by month, the newest first.
pub(super) fn calendar(url: &str, captures: &[Capture]) -> String {
    let mut body = "<main id=main tabindex=-1><h1>Captures</h1>".to_owned();
    if captures.is_empty() {
        let _ = write!(body, "<p>The crawl has not stored this URL: <code>{}</code>", html_text(url));
    }
    let mut month = String::new();
    for capture in captures.iter().rev() {
        let moment = shown(capture.time);
        if moment[..7] != month {
            body.push_str(if month.is_empty() { "" } else { "</ul>" });
            month = moment[..7].to_owned();
            let _ = write!(body, "<h2>{month}</h2><ul class=captures>");
        }
        let Ok(own) = CanonicalUrl::parse(&capture.url) else { continue };
        let to = path(&digits(capture.time), Form::Replayed, &own);
        let revisit = if capture.is_revisit { ", unchanged" } else { "" };
        let _ = write!(
            body,
            "<li><a href=\"{}\">{moment}</a> <span>{} {}{revisit}</span> <small>{}</small>",
            html_text(&to),
            capture.status,
            html_text(&capture.mime),
            html_text(&capture.url)
        );
    }
    page("Captures", &search_form(url), &(body + "</main>"))
}

/// The frame that shows a capture.
pub(super) fn frame(time: &str, form: Form, url: &CanonicalUrl, origins: &Origins) -> String {
    let at = path(time, form, url);
    let other = if form == Form::Rendered { Form::Replayed } else { Form::Rendered };
    let name = if form == Form::Rendered { "With scripts" } else { "As rendered" };
    let header = format!(
        "{}<nav><a id=calendar href=\"/calendar?url={}\">All captures</a> <a id=switch href=\"{}\">{name}</a></nav>\
         <time id=time>{}</time>",
        search_form(url.as_str()),
        escaped(url.as_str()),
        html_text(&path(time, other, url)),
        html_text(time),
    );
    let body = format!(
        "<main id=main tabindex=-1 class=framed><h1 class=hidden>{}</h1>\
         <iframe id=replay title=\"The archived page\" data-origin=\"{}\" src=\"{}/replay-start#{}\" \
         sandbox=\"allow-scripts allow-same-origin allow-forms allow-modals\" referrerpolicy=no-referrer></iframe>\
         </main><script src=\"/assets/home.js\"></script>",
        html_text(url.as_str()),
        html_text(&origins.replay),
        html_text(&origins.replay),
        html_text(&at),
    );
    page(url.as_str(), &header, &body)
}

//! Main content of pages by one engine: `engines NAME FILE...` prints a JSON line for each file, with the text and the
//! milliseconds that it took. The first line names the engine and its version is in Cargo.lock.
//!
//! The crawler gets the bytes; for the others each file is read as UTF-8 before the clock starts. A page on which the
//! engine fails has an empty text.

use std::time::{Duration, Instant};

use crawler_core::reading;
use crawler_web::web::charset;

/// A file.
struct Page {
    bytes: Vec<u8>,
    text: String,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("the name of an engine");
    let engine: fn(&Page) -> Option<String> = match name.as_str() {
        "crawler" => crawler,
        "crawler, text" => crawler_text,
        "dom_smoothie" => dom_smoothie,
        "dom_smoothie, own selection" => dom_smoothie_own,
        "legible" => legible,
        "trafilatura (Rust)" => trafilatura,
        "trafilatura (Rust), precision" => trafilatura_precision,
        "rs-trafilatura" => rs_trafilatura,
        _ => panic!("no engine has the name {name:?}"),
    };
    for path in args {
        let bytes = std::fs::read(&path).expect("the file is there");
        let page = Page { text: String::from_utf8_lossy(&bytes).into_owned(), bytes };
        let started = Instant::now();
        let text = engine(&page).unwrap_or_default();
        let ms = started.elapsed().as_secs_f64() * 1_000.0;
        println!("{}", serde_json::json!({ "path": path, "text": text, "ms": ms }));
    }
}

fn crawler(page: &Page) -> Option<String> {
    reading::main_text(&page.bytes, None, Duration::MAX).ok()?
}

/// The text as a browser shows it, main content or not.
fn crawler_text(page: &Page) -> Option<String> {
    let page = charset::to_utf8(&page.bytes, charset::of_html(&page.bytes, None));
    Some(reading::rendered_lines(&reading::tree::parse(&page, Duration::MAX).ok()?))
}

fn dom_smoothie(page: &Page) -> Option<String> {
    smoothie(page, dom_smoothie::CandidateSelectMode::Readability)
}

fn dom_smoothie_own(page: &Page) -> Option<String> {
    smoothie(page, dom_smoothie::CandidateSelectMode::DomSmoothie)
}

fn smoothie(page: &Page, candidate_select_mode: dom_smoothie::CandidateSelectMode) -> Option<String> {
    let config = dom_smoothie::Config {
        candidate_select_mode,
        text_mode: dom_smoothie::TextMode::Formatted,
        ..dom_smoothie::Config::default()
    };
    let mut reader = dom_smoothie::Readability::new(page.text.as_str(), None, Some(config)).ok()?;
    Some(reader.parse().ok()?.text_content.to_string())
}

fn legible(page: &Page) -> Option<String> {
    Some(legible::parse(&page.text, None, None).ok()?.text_content)
}

fn trafilatura(page: &Page) -> Option<String> {
    let options = trafilatura::Options::default().with_fallback(true).with_exclude_comments(true);
    Some(trafilatura::extract(&page.text, &options).ok()?.content_text)
}

fn trafilatura_precision(page: &Page) -> Option<String> {
    let options = trafilatura::Options::default().with_fallback(true).with_exclude_comments(true);
    let options = options.with_focus(trafilatura::ExtractionFocus::FavorPrecision);
    Some(trafilatura::extract(&page.text, &options).ok()?.content_text)
}

fn rs_trafilatura(page: &Page) -> Option<String> {
    Some(rs_trafilatura::extract(&page.text).ok()?.content_text)
}

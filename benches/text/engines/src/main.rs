//! Main content of pages by one engine: `engines NAME FILE...` prints a JSON line for each file, with the text and the
//! milliseconds that it took. The first line names the engine and its version is in Cargo.lock.
//!
//! Each file is read as UTF-8 before the clock starts. A page on which the engine fails has an empty text.

use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("the name of an engine");
    let engine = match name.as_str() {
        "dom_smoothie" => dom_smoothie,
        "dom_smoothie, own selection" => dom_smoothie_own,
        "legible" => legible,
        "trafilatura (Rust)" => trafilatura,
        "trafilatura (Rust), precision" => trafilatura_precision,
        "rs-trafilatura" => rs_trafilatura,
        _ => panic!("no engine has the name {name:?}"),
    };
    for path in args {
        let page = String::from_utf8_lossy(&std::fs::read(&path).expect("the file is there")).into_owned();
        let started = Instant::now();
        let text = engine(&page).unwrap_or_default();
        let ms = started.elapsed().as_secs_f64() * 1_000.0;
        println!("{}", serde_json::json!({ "path": path, "text": text, "ms": ms }));
    }
}

fn dom_smoothie(page: &str) -> Option<String> {
    smoothie(page, dom_smoothie::CandidateSelectMode::Readability)
}

fn dom_smoothie_own(page: &str) -> Option<String> {
    smoothie(page, dom_smoothie::CandidateSelectMode::DomSmoothie)
}

fn smoothie(page: &str, candidate_select_mode: dom_smoothie::CandidateSelectMode) -> Option<String> {
    let config = dom_smoothie::Config {
        candidate_select_mode,
        text_mode: dom_smoothie::TextMode::Formatted,
        ..dom_smoothie::Config::default()
    };
    let mut reader = dom_smoothie::Readability::new(page, None, Some(config)).ok()?;
    Some(reader.parse().ok()?.text_content.to_string())
}

fn legible(page: &str) -> Option<String> {
    Some(legible::parse(page, None, None).ok()?.text_content)
}

fn trafilatura(page: &str) -> Option<String> {
    let options = trafilatura::Options::default().with_fallback(true).with_exclude_comments(true);
    Some(trafilatura::extract(page, &options).ok()?.content_text)
}

fn trafilatura_precision(page: &str) -> Option<String> {
    let options = trafilatura::Options::default().with_fallback(true).with_exclude_comments(true);
    let options = options.with_focus(trafilatura::ExtractionFocus::FavorPrecision);
    Some(trafilatura::extract(page, &options).ok()?.content_text)
}

fn rs_trafilatura(page: &str) -> Option<String> {
    Some(rs_trafilatura::extract(page).ok()?.content_text)
}

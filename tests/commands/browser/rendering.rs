//! Tests of what the page shows of pages that a browser renders.

use std::time::Instant;

use serde_json::Value;

use super::{Open, chromium, slow_site, try_status};
use crate::site::{PATIENCE, ms};

/// Returns whether a browser is found that renders. The one that shows the console may be found in another way.
fn renders() -> bool {
    let renders = crawler::browser::find(None).is_some();
    if !renders {
        println!("skipped: no Chromium is on PATH that renders");
    }
    renders
}

#[test]
fn a_crawl_that_renders_shows_what_came_of_it() {
    let Some(mut browser) = chromium::start().filter(|_| renders()) else { return };
    let site = slow_site("[render]\nmode = \"always\"\npages = 1\nallow_unsandboxed = true\n");
    let console = Open::crawl(&site.crawl);
    browser.resize((1_280, 800), false);
    browser.prefer("light");
    browser.open(&console.url);
    browser.until("document.getElementById('rendering-section').checkVisibility()");
    let start = Instant::now();
    loop {
        let shown = |browser: &mut chromium::Browser| {
            browser.text("document.getElementById('figure-rendered').value").parse::<u64>().unwrap()
        };
        let before = try_status(&site);
        let on_page = shown(&mut browser);
        let rendered = |status: &Value| status["figures"]["gauges"]["rendering"]["pages"].as_u64();
        let (before, after) =
            (before.ok().as_ref().and_then(rendered), try_status(&site).ok().as_ref().and_then(rendered));
        // the page is as old as its last state, and no older
        if let (Some(before), Some(after)) = (before, after)
            && on_page > 0
            && on_page <= after
            && before > 1
        {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{before:?} {on_page} {after:?}");
        std::thread::sleep(ms(50));
    }
    let panel = browser.text("document.getElementById('rendering-section').innerText");
    for word in ["Rendered", "Showed more", "stored as served", "waiting for a browser", "refused or failed"] {
        assert!(panel.contains(word), "{word:?} is missing in\n{panel}");
    }
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        let found = browser.value(include_str!("contrast.js"));
        assert!(found["bad"].as_array().unwrap().is_empty(), "{scheme}: {found:#}");
    }
    browser.resize((390, 844), true);
    let width = "Math.max(...[...document.querySelectorAll('#rendering-section *')]
        .map(e => e.getBoundingClientRect().right))";
    let width = browser.value(width).as_f64().unwrap();
    assert!(width <= 390.5, "{width} px");
    browser.assert_quiet(&console.origin());
}

#[test]
fn a_crawl_that_renders_nothing_shows_nothing_of_it() {
    let Some(mut browser) = chromium::start() else { return };
    let site = slow_site("");
    let console = Open::crawl(&site.crawl);
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    assert_eq!(browser.value("document.getElementById('rendering-section').checkVisibility()"), false);
    browser.assert_quiet(&console.origin());
}
